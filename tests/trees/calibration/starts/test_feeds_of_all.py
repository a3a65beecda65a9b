"""What all antennas have of one feed against the other, which crossed hands alone tell."""

import numpy as np
import pytest
from planted_chains import SKY
from planted_pulls import PATCHES, PATCHES_SLOT_S

import rimetree as rt

#: So faint that a fit leaves less than weights of 1 say, whatever it leaves of crossed hands.
FAINT = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (9.0, 0.0, 0.0, 0.0))])
FAINT_PATCHES = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (8.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.96, -0.468, (4.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)
HARDLY_POLARISED = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (60.0, 3.0, 1.2, 0.6))])


def assert_explained(report, noise_jy):
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(noise_jy, rel=0.02)


@pytest.mark.parametrize("seed", [0, 4])
def test_leakages_tell_delays_of_an_unpolarised_sky(calibrated, seed):
    """Crossed hands of a baseline have any phase there, but the same at all frequencies. Delays had begun at 0 and
    ended some turns off, at more than twice the noise."""
    assert_explained(calibrated(["K: delay", "D: leakage"], SKY, seed, width_hz=5e6), 1.0)


@pytest.mark.parametrize(
    "terms",
    [
        ["P: phase, 1slot", "F: full, 1chan"],
        ["B: diag, 1chan", "P: phase, 1slot", "D: leakage"],
        ["G: diag, 2slots", "P: phase, 1slot", "F: full, 1chan"],
        ["P: phase, 1slot", "X: crosshand", "F: full, 1chan"],
    ],
    ids="*".join,
)
def test_it_is_looked_for_where_weights_say_nothing(calibrated, terms):
    """Fits that leave less than weights say had been taken for right: 3 to 6 times the noise, some "converged"."""
    assert_explained(calibrated(terms, FAINT, 5, noise_jy=0.05), 0.05)


@pytest.mark.parametrize(
    "terms",
    [
        ["K: delay", "D: leakage", "H: phase, scalar, per patch"],
        ["G: diag, 5slots", "D: leakage", "T: tec, per patch"],
        ["P: phase, 1slot", "F: full, 1chan", "D: diag, per patch"],
        ["P: phase, 1slot", "D: leakage", "H: phase, 5slots, per patch"],
    ],
    ids="*".join,
)
def test_leakages_tell_it_beside_directions(calibrated, terms):
    """As what is known of directions turns the model."""
    sky, noise_jy = (PATCHES, 1.0) if terms[0].startswith("K") else (FAINT_PATCHES, 0.1)
    data = {"slot_s": PATCHES_SLOT_S, "middle_hz": 1.3e9, "width_hz": 5e6, "noise_jy": noise_jy}
    assert_explained(calibrated(terms, sky, 0, **data), noise_jy)


def test_phases_beside_gains_of_a_polarised_sky(calibrated):
    """They had been left to the fit, which stayed half a turn off in a slot: three times the noise, "converged"."""
    terms = ["G: diag, 2slots", "P: phase, 1slot", "A: amplitude, 4chans"]
    assert_explained(calibrated(terms, HARDLY_POLARISED, 2, noise_jy=0.2), 0.2)


def test_nothing_is_freed_where_crossed_hands_are_noise(solved):
    """Phases of slots that are free explain more of noise than as many unknowns do: all was ambiguous then."""
    terms = ["P: phase, 1slot", "F: full, 1chan", "L: leakage"]
    data = {"slot_s": PATCHES_SLOT_S, "noise_jy": 0.05, "seed": 1, "width_hz": 5e6}
    report, *_ = solved(terms, lambda antenna: np.eye(2), FAINT_PATCHES, **data)
    assert_explained(report, 0.05)


@pytest.mark.parametrize(
    "terms",
    [["L: leakage"], ["A: amplitude, 4chans", "L: leakage"]],
    ids="*".join,
)
def test_leakages_of_the_reference_without_gains(calibrated, terms):
    """Of an unpolarised sky they are told in the second order only, as leakages have diagonals of 1: they had been held
    at 0, and 2 % more than the noise was left, "converged"; beside amplitudes a phase of them was held."""
    assert_explained(calibrated(terms, FAINT, 3, noise_jy=0.05), 0.05)
