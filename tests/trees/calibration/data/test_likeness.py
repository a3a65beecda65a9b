"""Neighbouring channels and times of what is no noise are alike, whatever the noise is."""

import numpy as np
import pytest
from planted_chains import N_CHANNEL, N_TIME, SKY, diagonal, gains

import rimetree as rt
from rimetree.calibration.data.likeness import Likeness, along, looks_like_noise, most_alike
from rimetree.cli.runs import calibrating_text
from rimetree.cli.runs.calibrating_text import report_text

NOISE = 7.0
SHAPE = (30, 20, 16, 2)  # [baseline, time, channel, correlation]


def noise(rng, shape=SHAPE):
    return NOISE * (rng.normal(size=(*shape, 2)) @ [1, 1j])


@pytest.mark.parametrize("axis", [1, 2])
def test_noise_alone_is_not_alike(axis):
    rng = np.random.default_rng(0)
    sizes = rng.lognormal(0, 1, SHAPE)  # weights that are far from right
    found = along(noise(rng) * sizes, rng.random(SHAPE) < 0.8, axis)
    assert abs(found.deviations) < 4 and found.power > 0


@pytest.mark.parametrize("axis", [1, 2])
def test_what_changes_slowly_is_no_noise(axis):
    rng = np.random.default_rng(1)
    phase = np.linspace(0, 1, SHAPE[axis]).reshape([-1 if k == axis else 1 for k in range(4)])
    found = along(noise(rng) + 3.0 * np.exp(1j * phase), np.ones(SHAPE, bool), axis)
    assert found.part == pytest.approx(9 / (9 + 2 * NOISE**2), rel=0.15) and found.deviations > 6


def test_what_looks_like_noise():
    rng = np.random.default_rng(4)
    quiet, signal = (along(noise(rng) + level, np.ones(SHAPE, bool), 2) for level in (0.0, 3.0))
    assert looks_like_noise([quiet, Likeness()], 0.5) is True and looks_like_noise([quiet, signal], 0.5) is False
    assert looks_like_noise([Likeness(), Likeness()], 1.0) is None and looks_like_noise([], 1.0) is None
    # Of 30 x 20 x 15 x 2 pairs a part of 0.06 shows, of 60 half of what is left does not.
    few = along(noise(rng)[:1, :2], np.ones(SHAPE, bool)[:1, :2], 2)
    assert looks_like_noise([quiet], 0.065) is True and looks_like_noise([quiet], 0.01) is None
    assert looks_like_noise([few], 0.5) is None and looks_like_noise([few], 0.9) is True


def test_channels_that_were_smoothed_by_hannings_window_are_compared_further_apart():
    rng = np.random.default_rng(2)
    every = noise(rng, (30, 20, 66, 2))
    smoothed = 0.25 * every[:, :, :-2] + 0.5 * every[:, :, 1:-1] + 0.25 * every[:, :, 2:]
    assert abs(along(smoothed, np.ones(smoothed.shape, bool), 2).deviations) < 4


def test_the_axis_along_which_more_is_no_noise_counts():
    one, other = Likeness(1.0, 10.0, 0.01), Likeness(0.5, 10.0, 0.01)
    found = most_alike([[one, other], [one, other]])
    assert found.part == pytest.approx(0.1) and found.deviations == pytest.approx(2 / np.sqrt(0.02))
    assert not most_alike([[], []]).deviations


@pytest.mark.parametrize("missing_jy", [0.0, 0.6])
def test_a_source_that_is_missing_is_told_though_it_is_less_than_the_noise(solved, missing_jy):
    """Nothing had been said of what is less than half of the noise."""
    gain = diagonal(gains(np.random.default_rng(3), 1, 1))
    faint = rt.sky.Source("c", 0.935, -0.488, (missing_jy, 0.0, 0.0, 0.0), patch="side")
    seen = rt.sky.SkyModel([*SKY.sources, faint]) if missing_jy else SKY
    report, solutions, _ = solved(["G: diag"], lambda antenna: gain[antenna], seen, model=SKY)
    assert report.converged == report.solves and report.over_noise < 1.2
    text = report_text(report, solutions.terms)
    assert ("is no noise" in text) == bool(missing_jy)
    if missing_jy:
        assert report.no_noise.part == pytest.approx(1 - 1 / report.noise_ratio**2, rel=0.4)


@pytest.mark.parametrize(
    ("part", "said"), [(0.047, "at least 4.7 %"), (0.9985, "at least 99 %"), (1.02, "at least 99 %")]
)
def test_how_much_is_said_without_an_exponent(part, said):
    """It had been "1e+02 %"."""
    (line,) = calibrating_text.no_noise_lines(Likeness(part, 1.0, 1e-5))
    assert line.startswith(said)


def test_what_phases_of_each_cell_hide_is_told(solved):
    """Relative to the model it is alike: nothing had been said of it."""
    rng = np.random.default_rng(5)
    own = {"amplitude": 0.0, "phase": np.pi}
    gain = diagonal(gains(rng, N_TIME, 1, **own) * gains(rng, 1, N_CHANNEL, **own))
    faint = rt.sky.Source("c", 0.935, -0.488, (3.0, 0.0, 0.0, 0.0), patch="side")
    seen = rt.sky.SkyModel([*SKY.sources, faint])
    report, *_ = solved(["B: phase, 1chan", "P: phase, 1slot"], lambda antenna: gain[antenna], seen, model=SKY)
    assert report.noise_ratio > 1.2 and report.no_noise.deviations > 6
    assert max(Likeness(*one).deviations for chunk in report.chunks for one in chunk.alike[:2]) < 4


@pytest.mark.parametrize(("missing_jy", "said"), [(0.0, False), (3.0, True)])
def test_weights_tell_it_where_there_are_no_neighbours(solved, missing_jy, said):
    """Of one channel and time: "converged", and no word of what is left."""
    seen = rt.sky.SkyModel([*SKY.sources, rt.sky.Source("c", 0.935, -0.488, (missing_jy, 0.0, 0.0, 0.0), patch="side")])
    report, solutions, _ = solved(["G: diag"], lambda _: np.eye(2), seen, model=SKY, slots=1, channels=1)
    assert report.converged == report.solves and 0.5 < report.noise_ratio < 2
    text = report_text(report, solutions.terms)
    assert "is no noise" not in text and ("more than noise" in text) == said
