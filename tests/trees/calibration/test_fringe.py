"""The search for fringes finds planted delays and TEC, turns of phase away from zero."""

import math

import numpy as np
import pytest

from rimetree.calibration.fringe import phase_rate, search

FREQUENCY = np.linspace(1.30e9, 1.36e9, 60)


@pytest.mark.parametrize("delay", [0.0, 3e-9, -41.3e-9, 180e-9])
def test_delays_to_within_their_width(delay):
    rate = phase_rate("clock", FREQUENCY)
    spectrum = np.exp(1j * rate * delay)
    # Slope alone: to a fraction of 1/bandwidth; with the phase itself: to a fraction of 1/frequency.
    assert search(spectrum * np.exp(2j), rate, any_phase=True) == pytest.approx(delay, abs=0.1 / 60e6)
    assert search(spectrum, rate, any_phase=False) == pytest.approx(delay, abs=0.1 / 1.3e9)


@pytest.mark.parametrize("tec", [0.02, -1.3, 2.5])
def test_tec(tec):
    frequency = np.linspace(120e6, 160e6, 80)[::-1]
    rate = phase_rate("tec", frequency)
    found = search(np.exp(1j * rate * tec), rate, any_phase=False)
    assert abs(found - tec) * np.abs(rate).max() < math.pi / 4


def test_noise_and_missing_channels():
    rng = np.random.default_rng(1)
    rate = phase_rate("clock", FREQUENCY)
    spectrum = np.exp(1j * rate * 77e-9) + 0.5 * (rng.normal(size=60) + 1j * rng.normal(size=60))
    spectrum[rng.random(60) < 0.3] = 0
    assert search(spectrum, rate, any_phase=False) == pytest.approx(77e-9, abs=0.1 / 60e6)


def test_without_two_channels_there_is_nothing_to_find():
    rate = phase_rate("clock", FREQUENCY)
    assert search(np.zeros(60, complex), rate, any_phase=False) == 0
    one = np.zeros(60, complex)
    one[3] = 1j
    assert search(one, rate, any_phase=False) == 0
    assert search(np.ones(2, complex), np.ones(2), any_phase=True) == 0


@pytest.mark.parametrize("delay", [27.13e-9, -21.07e-9, 15.01e-9])
def test_two_windows_far_apart(delay):
    """Peaks every 5 ns are within 1 % of each other; their highest is found between the points that are tried."""
    frequency = np.concatenate([1.3e9 + 2e6 * np.arange(4), 1.5e9 + 2e6 * np.arange(4)])
    rate = phase_rate("clock", frequency)
    found = search(np.exp(1j * rate * delay), rate, any_phase=True)
    assert found == pytest.approx(delay, abs=0.1 / 200e6)
