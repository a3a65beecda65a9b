"""Values that are drawn: how far they scatter, how they drift, and what they have in common."""

import math

import numpy as np
import pytest

from rimetree.calibration import parse_made_term
from rimetree.calibration.making.random_values import Scatter, damped_walk, scattered, with_given

ANTENNAS = tuple(f"A{k}" for k in range(400))


def drawn(text, times=5, frequencies=3, directions=1, antennas=ANTENNAS, seed=0):
    """{quantity: [T, F, A, D, E]}; times are 60 s, frequencies 1 MHz apart."""
    made = parse_made_term(text)
    axes = {"time_s": 60.0 * np.arange(times), "frequency_hz": 1e6 * np.arange(frequencies), "antennas": antennas}
    random = np.random.default_rng(seed)
    xyz_m = {name: 1e6 + random.normal(scale=(500, 300, 5)) for name in antennas}
    shape = (times, frequencies, len(antennas), directions, len(made.term.elements))
    return with_given(made, scattered(made, Scatter(made, axes, shape, xyz_m, np.random.default_rng(seed + 1))))


def normal(values, scale):
    """Holds numbers to a normal distribution: moments within 5 standard deviations of what chance gives."""
    n = values.size
    assert abs(values.mean()) < 5 * scale / math.sqrt(n)
    assert values.std() == pytest.approx(scale, rel=5 / math.sqrt(2 * n))
    assert (np.abs(values) < scale).mean() == pytest.approx(0.6827, abs=5 * 0.47 / math.sqrt(n))


@pytest.mark.parametrize(
    ("kind", "amount", "quantity", "scale"),
    [
        ("phase", "20deg", "phase", math.radians(20)),
        ("delay", "5ns", "clock", 5e-9),
        ("rate", "1ps/s", "rate", 1e-12),
        ("tec", "0.1TECU", "tec", 0.1),
        ("rotation", "5deg", "rotation", math.radians(5)),
        ("faraday", "2rad/m2", "rotationmeasure", 2.0),
    ],
)
def test_values_scatter_by_what_was_said_around_the_mean(kind, amount, quantity, scale):
    values = drawn(f"P: {kind}, 1min, 1chan, spread {amount}")
    assert list(values) == [quantity]
    normal(values[quantity], scale)
    shifted = drawn(f"P: {kind}, 1min, 1chan, spread {amount}, mean -{amount}")[quantity] - values[quantity]
    np.testing.assert_allclose(shifted, -scale, rtol=1e-9)


def test_amplitudes_are_positive_and_their_logarithms_scatter():
    gains = drawn("G: diag, 1min, 1chan, amplitude 40%, phase 30deg, mean 2")
    normal(np.log(gains["amplitude"] / 2), 0.4)
    normal(gains["phase"], math.radians(30))
    assert abs(np.corrcoef(gains["amplitude"].ravel(), gains["phase"].ravel())[0, 1]) < 0.05
    normal(np.log(drawn("A: amplitude, 1min, 1chan, spread 10%")["amplitude"]), 0.1)


def test_only_what_was_said_scatters():
    gains = drawn("G: diag, 1min, phase 30deg")
    assert (gains["amplitude"] == 1).all()
    assert (drawn("G: scalar, mean 0.25")["amplitude"] == 0.25).all()
    assert (drawn("G: scalar, mean 0.25")["phase"] == 0).all()


@pytest.mark.parametrize(
    ("text", "mean"), [("D: leakage, 1min, 1chan, spread 3%", 1), ("J: full, 1min, 1chan, leakage 3%, mean 4", 4)]
)
def test_leakages_have_the_modulus_that_was_said(text, mean):
    values = drawn(text)
    jones = values["amplitude"] * np.exp(1j * values["phase"])
    assert (jones[..., [0, 3]] == mean).all()
    crossed = jones[..., [1, 2]]
    assert np.sqrt((np.abs(crossed) ** 2).mean()) == pytest.approx(0.03 * mean, rel=0.03)
    normal(crossed.real, 0.03 * mean / math.sqrt(2))
    normal(crossed.imag, 0.03 * mean / math.sqrt(2))


def test_a_phase_between_the_feeds_is_one_for_all_antennas():
    phase = drawn("X: crosshand, 1min, spread 30deg", times=400)["phase"]
    assert (phase[..., 0] == 0).all()
    assert (phase == phase[:, :, :1]).all()
    normal(phase[:, 0, 0, 0, 1], math.radians(30))


def test_antennas_may_have_solutions_in_common():
    values = drawn("K: delay, 1min, spread 1ns, common A1* A2", antennas=ANTENNAS[:20])["clock"]
    same = (values == values[:, :, 1:2]).all(axis=(0, 1, 3, 4))
    assert [name for name, is_same in zip(ANTENNAS, same, strict=False) if is_same] == [
        "A1", *(f"A1{k}" for k in range(10)),
    ]  # fmt: skip


def test_feeds_may_have_them_in_common_and_directions_have_not():
    values = drawn("P: phase, scalar, per patch, spread 1rad", directions=2)["phase"]
    assert values.shape[-2:] == (2, 1)
    assert abs(np.corrcoef(values[..., 0, 0].ravel(), values[..., 1, 0].ravel())[0, 1]) < 0.1


def test_a_plane_is_one_and_scatters_as_far_over_the_antennas():
    times = 300
    values = drawn("T: tec, 1min, plane, spread 0.1TECU", times=times, frequencies=1)["tec"][:, 0, :, 0, 0]
    singular = np.linalg.svd(values, compute_uv=False)
    assert singular[2] < 1e-10 * singular[0]  # two slopes, and nothing in the middle
    assert np.sqrt((values**2).mean()) == pytest.approx(0.1, rel=5 / math.sqrt(2 * 2 * times))


def test_walks_forget_at_the_scale_that_was_said():
    values = drawn("K: delay, 1min, 1chan, spread 1ns, over 5min, over 3MHz", times=40, frequencies=12)["clock"] / 1e-9
    values = values[..., 0, 0]
    for steps in (1, 3, 10):
        along_time = (values[steps:] * values[:-steps]).mean()
        along_frequency = (values[:, steps:] * values[:, :-steps]).mean()
        assert along_time == pytest.approx(math.exp(-steps / 5), abs=0.05)
        assert along_frequency == pytest.approx(math.exp(-steps / 3), abs=0.05)
    both = (values[2:, 3:] * values[:-2, :-3]).mean()
    assert both == pytest.approx(math.exp(-2 / 5 - 1), abs=0.05)
    assert values.std() == pytest.approx(1, rel=0.03)


def test_walks_go_on_over_gaps():
    places = np.array([0.0, 1.0, 1.0, 501.0])
    walk = damped_walk(np.random.default_rng(0).standard_normal((4, 100_000)), places, 2.0)
    correlation = np.corrcoef(walk)
    assert correlation[0, 1] == pytest.approx(math.exp(-0.5), abs=0.02)
    assert (walk[1] == walk[2]).all()
    assert abs(correlation[2, 3]) < 0.02
    np.testing.assert_allclose(walk.std(axis=1), 1, rtol=0.02)


def test_without_a_scale_each_interval_has_its_own():
    values = drawn("K: delay, 1min, 1chan, spread 1ns", times=30, frequencies=30)["clock"][..., 0, 0] / 1e-9
    assert abs((values[1:] * values[:-1]).mean()) < 0.01
    assert abs((values[:, 1:] * values[:, :-1]).mean()) < 0.01
