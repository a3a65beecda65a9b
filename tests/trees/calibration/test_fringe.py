"""The search for fringes finds planted delays and TEC, turns of phase away from zero."""

import math

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration.fringe import phase_rate, reference_spectra, search
from rimetree.calibration.model_trees import SkyPart

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


def test_spectra_do_not_depend_on_the_memory(kat7, observe):
    """A slot at a time or all at once, with flags and two windows: the same sums, which are those of plain NumPy."""
    path, sky = kat7
    (group,) = rt.ms.groups(path)
    parts = [SkyPart("", sky, {})]
    span = (0.0, 1e12)
    found = [
        reference_spectra(group, parts, CENTRE, "DATA", 2, span, memory_bytes=memory)
        for memory in (1, 100_000, 1 << 30)
    ]
    for spectra, frequency in found:
        assert sorted(spectra) == [0, 1, 3, 4, 5, 6]
        np.testing.assert_array_equal(frequency, np.concatenate([band.frequency_hz for band in BANDS]))
        for antenna, spectrum in spectra.items():
            np.testing.assert_allclose(spectrum, found[-1][0][antenna], rtol=1e-12, atol=1e-9)
    channel = 0
    for tile in rt.ms.tiles(path, ["DATA"], time_slots=100):
        n = len(tile["frequency_hz"])
        # A source at the phase centre: its visibilities are 20 Jy.
        k = tile["baselines"].index((2, 5))
        good = tile["flag"][k, ..., 3] == 0
        total = np.where(good, tile["columns"]["DATA"][k, ..., 3].astype(complex) * 20, 0).sum(axis=0)
        # Stored as (2, 5): the spectrum is that of (5, 2).
        np.testing.assert_allclose(found[0][0][5][1, channel : channel + n], np.conj(total), rtol=1e-6)
        channel += n


CENTRE = (0.93, -0.485)
BANDS = [rt.ms.Band.regular(1.5e9, 6e6, 3), rt.ms.Band.regular(1.3e9, 8e6, 4)]


@pytest.fixture
def kat7(tmp_path, observe):
    """A set of two windows with a source of 20 Jy seen through delays and noise, a fifth of it flagged."""
    path = str(tmp_path / "a.ms")
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=70.0, integration_s=10.0, bands=BANDS)
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (20.0, 0.0, 0.0, 0.0))])
    rng = np.random.default_rng(4)

    def jones(antenna, patch, time_s, frequency_hz):
        turned = np.exp(2j * np.pi * frequency_hz * 3e-9 * antenna)
        return np.broadcast_to(turned[None, :, None, None] * np.eye(2), (len(time_s), len(frequency_hz), 2, 2))

    for window, band in enumerate(BANDS):
        flag = rng.random((21, 7, len(band.frequency_hz))) < 0.2
        observe(path, sky, CENTRE, jones, noise_jy=1.0, flag=flag, data_desc_id=window)
    return path, sky
