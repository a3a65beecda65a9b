"""Rotations and Faraday rotations per patch are searched for by the hands of circular feeds, or it is told that another
minimum may be lower."""

import numpy as np
import pytest
from patch_sky import patch_sky

import rimetree as rt
from rimetree.calibration.starts.fewer_directions import BETTER_MAY_BE

N, N_SLOT, N_CHANNEL, PATCHES = 7, 6, 16, 3
FREQUENCY_HZ = np.array(rt.ms.Band.regular(150e6, 1e6 * N_CHANNEL, N_CHANNEL).frequency_hz)
CIRCLE = {"rotation": lambda nu: np.ones(len(nu)), "faraday": lambda nu: (299792458.0 / nu) ** 2}
QUANTITY = {"rotation": "rotation", "faraday": "rotationmeasure"}


def rotated(angle):
    rows = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.moveaxis(rows, (0, 1), (-2, -1)).astype(complex)


@pytest.fixture
def calibrated(solved):
    """calibrated(kind, most, terms, polarised=(), absent=(), turned=0, scale=1, seed=0): (the report; {patch: what was
    planted [antenna]}) of data with rotations of each patch up to `most`, and phases of all up to `turned`."""

    def run(kind, most, terms, *, polarised=(), absent=(), turned=0.0, scale=1.0, seed=0):
        rng = np.random.default_rng(seed)
        sources = [
            rt.sky.Source(
                one.name,
                one.ra_rad,
                one.dec_rad,
                (one.stokes_jy[0], *(np.array([0.2, -0.1, 0.05]) * one.stokes_jy[0] * (one.patch in polarised))),
                patch=one.patch,
            )
            for one in patch_sky(PATCHES)[1].sources
        ]
        planted = {one.patch: rng.uniform(-most, most, N) for one in sources}
        for name in planted.keys() - set(polarised):  # of which all together is not told
            planted[name] -= planted[name][0]
        phases = rng.uniform(-turned, turned, N)

        def jones(antenna):
            return np.sqrt(scale) * np.exp(1j * phases[antenna]) * np.eye(2)

        def of_patch(antenna, patch):
            return rotated(planted[patch][antenna] * CIRCLE[kind](FREQUENCY_HZ)) * (patch not in absent)

        data = {"middle_hz": 150e6, "width_hz": 1e6, "channels": N_CHANNEL, "slots": N_SLOT, "seed": seed + 1}
        report, *_ = solved(terms, jones, rt.sky.SkyModel(sources), of_patch, noise_jy=scale, **data)
        return report, planted

    return run


@pytest.mark.parametrize(
    ("polarised", "absent", "scale"),
    [((), (), 1.0), (("p0", "p1", "p2"), (), 1.0), (("p0",), ("p1",), 1e3)],
    ids=["unpolarised", "polarised", "one absent"],
)
@pytest.mark.parametrize(("kind", "most"), [("rotation", np.pi), ("faraday", 2.0)])
def test_from_anywhere(calibrated, kind, most, polarised, absent, scale):
    """Up to 8 rad. They had been begun at 0, and ended in wrong minima, "converged"."""
    report, planted = calibrated(kind, most, [f"R: {kind}, per patch"], polarised=polarised, absent=absent, scale=scale)
    assert report.converged == report.solves
    assert report.noise_ratio == pytest.approx(scale, rel=0.02)
    assert set(report.flagged_of) == {f"R, {name}" for name in absent}
    term = report.solutions[0]["R"]
    for k, name in enumerate(term.directions):
        found = term.value[QUANTITY[kind]][0, 0, :, k, 0] - planted[name]
        if kind == "rotation":  # half a turn of all is none of linear feeds
            found = np.angle(np.exp(2j * found)) / 2
        assert name in absent or np.abs(found).max() < 0.01


def test_beside_an_amplitude_of_both_feeds(calibrated):
    report, _ = calibrated("rotation", 3.0, ["A: amplitude, scalar", "R: rotation, per patch"])
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("gain", ["G: scalar", "G: diag"])
def test_what_is_not_searched_for_is_told(calibrated, gain):
    """Beside gains of any phase: it was "converged" with 20 times the noise."""
    report, _ = calibrated("faraday", 2.0, [gain, "F: faraday, per patch"], turned=3.0)
    assert report.noise_ratio > 2
    assert {status for one in report.chunks for status in one.statuses} == {BETTER_MAY_BE}
    report, _ = calibrated("faraday", 0.05, [gain, "F: faraday, per patch"], turned=3.0)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1.0, rel=0.02)


def test_where_no_direction_has_signal(calibrated):
    """Nothing is left to search for: a traceback."""
    report, _ = calibrated("rotation", 3.0, ["R: rotation, per patch"], absent=("p0", "p1", "p2"))
    assert not report.usable
