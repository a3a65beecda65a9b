"""Outliers of data that are averaged are found before, so that none is in a mean."""

import numpy as np
import pytest
from planted_columns import predicted_by_psv, write_column

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms
from rimetree.calibration.data import stored_outliers

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0))])
ALIKE = {"selection": rt.ms.Selection(average_slots=4, average_channels=4)}
BY_LOSS = {"average_loss": 0.02, "average_radius_rad": 0.001}


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """Two windows of 8 channels, 24 times, noise of 1 Jy: 3 % of the data are off by 500 Jy, and 1 % flagged ones by
    1e6, so that few means of 16 are of good data alone."""
    path = str(tmp_path_factory.mktemp("spoilt") / "a.ms")
    bands = [rt.ms.Band.regular(centre, 8e6, 8) for centre in (1.3e9, 1.4e9)]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=240.0, integration_s=10.0, bands=bands)
    rng = np.random.default_rng(5)
    gain = rng.uniform(0.7, 1.3, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))
    n_bad = 0
    for window in (0, 1):
        (tile,) = rt.ms.tiles(path, [], time_slots=100, data_desc_id=window)
        p, q = np.array(tile["baselines"]).T
        value = gain[p][:, None, None, :, None] * np.conj(gain[q])[:, None, None, None, :]
        value = value * predicted_by_psv(tile, SKY, CENTRE)
        value = value + rng.normal(size=value.shape) + 1j * rng.normal(size=value.shape)
        bad, flag = (rng.random(value.shape[:3]) < part for part in (0.03, 0.01))
        value[bad] += 500 * np.exp(2j * np.pi * rng.random((bad.sum(), 1, 1)))
        value[flag] += 1e6
        n_bad += 4 * int((bad & ~flag).sum())
        write_column(path, tile, value, flag=flag, options={"data_desc_id": window})
    return path, gain, n_bad


def deviations(report, gain):
    """Of amplitudes, from what was planted, over their errors."""
    pulls = []
    for solutions in report.solutions:
        term = solutions["G"]
        amplitude, sigma = (of["amplitude"][:, 0, :, 0] for of in (term.value, term.sigma))
        pulls.append((amplitude - np.abs(gain)) / sigma)
    return np.concatenate(pulls)


@pytest.mark.parametrize("term", ["G: diag, 8slots", "G: diag, 24slots, all windows"])
@pytest.mark.parametrize("averaged", [ALIKE, BY_LOSS], ids=["alike", "by loss"])
@pytest.mark.parametrize("part_bytes", [8 << 20, 30000], ids=["whole", "in parts"])
def test_outliers_are_in_no_mean(spoilt, tmp_path, monkeypatch, term, averaged, part_bytes):
    monkeypatch.setattr(stored_outliers, "_PART_BYTES", part_bytes)
    path, gain, n_bad = spoilt
    options = CalibrationOptions(flag_data=6.0, solver=SolverOptions(errors_from_residuals=True), **averaged)
    report = calibration.calibrate(path, SKY, parse_terms([term]), tmp_path / "g.h5", options)
    assert report.converged == report.solves
    assert 0.98 * n_bad < report.left_out < 1.03 * n_bad
    assert report.noise_ratio == pytest.approx(1, rel=0.05)
    assert 0.6 < np.sqrt(np.mean(deviations(report, gain) ** 2)) < 1.5
    # The set is as it was.
    (tile, _) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    assert 0.005 < tile["flag"].mean() < 0.015


@pytest.mark.parametrize(
    "more",
    [
        {"in_turn": True},
        {"noise_per": "baseline"},
        {"selection": rt.ms.Selection(average_slots=4, channels=[(2, 8)], antennas=["!ANT-3"])},
        {"selection": rt.ms.Selection(average_slots=4, phase_centre_rad=(0.931, -0.485))},
    ],
    ids=["in turn", "noise", "some", "moved"],
)
def test_with_other_options(spoilt, tmp_path, more):
    path, gain, n_bad = spoilt
    options = CalibrationOptions(flag_data=6.0, **{**ALIKE, **more})
    report = calibration.calibrate(path, SKY, parse_terms(["G: diag, 24slots"]), tmp_path / "g.h5", options)
    assert report.converged == report.solves and report.left_out > 0.4 * n_bad
    assert report.noise_ratio == pytest.approx(1, rel=0.05)
    term = report.solutions[0]["G"]
    known = np.abs(gain[[int(name.removeprefix("ANT-")) for name in term.antennas]])
    assert np.abs(term.value["amplitude"][0, 0, :, 0] / known - 1).max() < 0.01


def test_nothing_is_left_out_any_more_afterwards(spoilt):
    path, *_ = spoilt
    opened = rt.ms.OpenSet(path)
    (group,) = rt.ms.groups(path, data_desc_id=0)

    def flagged() -> int:
        return sum(int(tile["flag"].sum()) for tile in rt.ms.tiles(opened, [], **group.selection))

    def good(tile, k):
        return (tile["flag"][k] == 0) & (tile["row"][k] >= 0)[:, None, None]

    before = flagged()
    looked = stored_outliers.StoredOutliers(group, "DATA", 6.0)
    middle_s, span_s = 5e12, (0.0, 1e13)
    looked.look(opened, 0, span_s, good)
    assert looked.count(0) == flagged() - before > 400
    looked.look(opened, 1, (middle_s, 1e13), good)  # the chunk before may still be solved
    assert looked.count(1) == 0 and looked.count(0) == flagged() - before
    looked.look(opened, 2, (middle_s, 1e13), good)
    assert flagged() == before
    looked.look(opened, 3, span_s, good)
    looked.forget(opened)
    assert flagged() == before
