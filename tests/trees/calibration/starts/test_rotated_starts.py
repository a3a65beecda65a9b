"""Rotations of directions are searched for inside of gains and delays, and with leakages."""

import numpy as np
import pytest
from planted_pulls import PATCHES_SLOT_S

import rimetree as rt
from rimetree.calibration.searches.rotated_directions import RotatedDirections


def patches(*polarised_jy):
    return rt.sky.SkyModel(
        [
            rt.sky.Source("a", 0.93, -0.485, (8.0, *(polarised_jy or (0.0, 0.0, 0.0))), patch="middle"),
            rt.sky.Source("b", 0.96, -0.468, (4.0, 0.0, 0.0, 0.0), patch="side"),
        ]
    )


SKIES = {"unpolarised": patches(), "polarised": patches(0.4, 0.2, 0.1)}


@pytest.mark.parametrize(
    ("sky", "terms"),
    [
        ("unpolarised", ["K: delay"]),
        ("polarised", ["K: delay"]),
        ("polarised", ["K: delay", "S: scalar, 1slot"]),
        ("polarised", ["K: delay", "X: crosshand"]),
        ("unpolarised", ["P: phase, 2slots", "L: leakage"]),
        ("polarised", ["K: delay", "L: leakage"]),
        ("unpolarised", ["G: diag, 2slots", "L: leakage"]),
        ("polarised", ["G: diag, 2slots", "L: leakage"]),
        ("polarised", ["F: full, 4chans"]),
    ],
    ids=str,
)
def test_inside_of(calibrated, sky, terms):
    """They had begun at 0. Delays, which were looked for with a model that is not turned, ended at 10 to 50 times the
    noise, others with angles of the other sign, which only polarised sources or leakages tell: some "converged", at 1.4
    times the noise. Gains and leakages took any turn that all directions have in common, and were ambiguous."""
    data = {"slot_s": PATCHES_SLOT_S, "middle_hz": 1.3e9, "width_hz": 8e6, "noise_jy": 0.1}
    report = calibrated([*terms, "R: rotation, per patch"], SKIES[sky], 2, **data)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(0.1, rel=0.02)


def test_nothing_is_searched_for_where_nothing_is_turned(solved, monkeypatch):
    """From random angles it ends in other minima each time, which took seconds."""
    monkeypatch.setattr(RotatedDirections, "_found", None)
    data = {"slots": 4, "channels": 4, "noise_jy": 0.1}
    report, *_ = solved(["B: diag, 1chan", "R: rotation, per patch"], lambda _: np.eye(2), SKIES["polarised"], **data)
    assert report.converged == report.solves
