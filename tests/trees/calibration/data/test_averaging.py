"""Solving on averaged data: solutions are those of the data as they are stored."""

from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, DataSelection, parse_terms
from rimetree.cli import cli

CENTRE = (0.93, -0.485)
N_TIME, N_CHANNEL = 12, 16
#: So far from the centre that averaged cells are smeared by some tens of per cent on KAT-7's baselines.
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("near", CENTRE[0], CENTRE[1], (40.0, 0, 0, 0), patch="near"),
        rt.sky.Source("far", CENTRE[0] + 0.09, CENTRE[1] + 0.06, (60.0, 0, 0, 0), patch="far"),
    ]
)
BLOCKS = rt.ms.Selection(average_slots=3, average_channels=4)


@pytest.fixture
def planted(planted_gains):
    """planted(noise_jy=1.0, ...): as `planted_gains`."""

    def make(noise_jy=1.0, **more):
        return planted_gains(SKY, noise_jy, **more)

    return make


def calibrated(path, folder, terms=("G: diag, 6slots",), model=SKY, **options):
    options = {"reference": "ANT-0", "overwrite": True, "selection": BLOCKS, **options}
    return calibration.calibrate(
        path, model, parse_terms(list(terms)), folder / "sol.h5", CalibrationOptions(**options)
    )


def errors_of(report, gains):
    """Relative errors [antenna, interval, feed] of the gains, whose phases refer to antenna 0."""
    table = report.solutions[0]["G"]
    value = (table.value["amplitude"] * np.exp(1j * table.value["phase"]))[:, 0, :, 0]
    assert not table.flag.any()
    return np.moveaxis(value, 0, 1) / (gains * np.exp(-1j * np.angle(gains[:1]))) - 1


def test_gains_are_found_and_the_model_is_smeared(planted, tmp_path):
    """Without noise: what is left is that smearing is not quite linear in its phase."""
    path, gains = planted(noise_jy=0.0)
    report = calibrated(path, tmp_path)
    assert np.abs(errors_of(report, gains)).max() < 1e-4 and report.left < 1e-7
    assert calibrated(path, tmp_path, smearing=False).left > 1e-3  # which it would be if that did not matter


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"flag_data": 6.0},
        {"noise_per": "channel"},
        {"min_fraction": 0.1},
        {"in_turn": True},
        {"selection": rt.ms.Selection(average_s=30.0, average_hz=8.1e6)},
        {"selection": rt.ms.Selection(average_slots=3, average_channels=4, channels=[(4, 16)], scans=[1])},
        {"data": DataSelection(min_m=30.0)},
    ],
)
def test_noise_weights_and_flags(planted, tmp_path, options):
    flag = np.zeros((21, N_TIME, N_CHANNEL), bool)
    flag[np.random.default_rng(5).random((21, N_TIME)) < 0.2] = True  # whole rows: UVW follow what is left
    flag[:, :3, 4:8] = True  # a whole cell
    path, gains = planted(flag=flag)
    report = calibrated(path, tmp_path, **options)
    alone = calibrated(path, tmp_path, **{**options, "selection": rt.ms.Selection(channels=[(2, 14)])})
    assert report.converged == report.solves and 0.9 < report.noise_ratio < 1.1
    assert np.abs(errors_of(report, gains)).max() < 1.5 * np.abs(errors_of(alone, gains)).max() + 2e-3
    sigma = report.solutions[0]["G"].sigma["amplitude"].mean() / alone.solutions[0]["G"].sigma["amplitude"].mean()
    assert sigma < 1.2 and sum(c.equations for c in report.chunks) < sum(c.equations for c in alone.chunks) / 6


def test_phases_of_patches_and_delays_of_windows_together(planted, tmp_path):
    path, _ = planted(bands=2)
    report = calibrated(path, tmp_path, ["G: diag, 6slots", "K: delay, all windows"])
    assert report.noise_ratio == pytest.approx(1, abs=0.1)
    report = calibrated(path, tmp_path, ["G: diag, 6slots", "dE: phase, 6slots, per patch"], data_desc_id=0)
    assert report.noise_ratio == pytest.approx(1, abs=0.1) and report.converged == report.solves


def test_a_model_column_is_averaged_as_the_data(planted, observe, tmp_path):
    path, gains = planted(noise_jy=0.0, flag=np.random.default_rng(5).random((21, N_TIME, N_CHANNEL)) < 0.4)
    one = lambda _antenna, _patch, time_s, frequency_hz: np.broadcast_to(  # noqa: E731
        np.eye(2), (len(time_s), len(frequency_hz), 2, 2)
    )
    observe(path, SKY, CENTRE, one, column="MODEL_DATA")
    report = calibrated(path, tmp_path, model=calibration.ModelColumns({"": "MODEL_DATA"}))
    assert np.abs(errors_of(report, gains)).max() < 1e-6  # exact where cells are flagged in part, too


def test_solutions_are_applied_to_data_that_are_not_averaged(planted, tmp_path):
    path, _ = planted(noise_jy=0.0)
    sky, out = tmp_path / "a.skymodel", str(tmp_path / "sol.h5")
    rt.sky.write(SKY, sky)
    arguments = [
        "calibrate",
        path,
        "--sky",
        str(sky),
        "--term",
        "G: diag, 6slots",
        "--out",
        out,
        "--apply",
        "--subtract",
    ]
    shown = CliRunner().invoke(cli, [*arguments, "--average-time", "3", "--average-channels", "8MHz"])
    assert shown.exit_code == 0, shown.output
    assert "warning" not in shown.output
    (tile,) = rt.ms.tiles(path, ["DATA", "CORRECTED_DATA"], time_slots=100)
    assert tile["columns"]["CORRECTED_DATA"].shape[1:3] == (N_TIME, N_CHANNEL) and not tile["flag"].any()
    assert np.std(tile["columns"]["CORRECTED_DATA"]) < 1e-3 * np.std(tile["columns"]["DATA"])
    pointlike = [*arguments[:-2], "--no-smearing", "--dry-run", "--overwrite"]
    assert "far sources do not fit" in CliRunner().invoke(cli, [*pointlike, "--average-time", "3"]).output
    assert "do not fit" not in CliRunner().invoke(cli, pointlike).output


@pytest.mark.parametrize("options", [{"average_slots": 3}, {"average_channels": 4}, {"average_width_hz": 8e6}])
@pytest.mark.parametrize("time_slots", [1, 4, 100])
def test_tiles_hold_whole_cells(planted, options, time_slots):
    path, _ = planted()
    (whole,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    found = list(rt.ms.tiles(path, ["DATA"], time_slots=time_slots, **options))
    data = np.concatenate([tile["columns"]["DATA"] for tile in found], axis=1)
    slots, channels = (3, 1) if "average_slots" in options else (1, 4)
    shape = (21, N_TIME // slots, slots, N_CHANNEL // channels, channels, 4)
    np.testing.assert_allclose(data, whole["columns"]["DATA"].reshape(shape).mean(axis=(2, 4)), atol=2e-5)
    uvw_m = np.concatenate([tile["uvw_m"] for tile in found], axis=1)
    np.testing.assert_allclose(uvw_m, whole["uvw_m"].reshape(21, -1, slots, 3).mean(axis=2), rtol=1e-12)
    for one, other in pairwise(found):
        assert one["time_s"][-1] < other["time_s"][0]


def test_what_cannot_be_averaged_is_refused(planted, tmp_path):
    path, _ = planted()
    ns = rt.NodeScope()
    ns.sink << rt.Sink(rt.Constant(np.eye(2)), station_1_index=0, station_2_index=1, output_column="DATA")
    with pytest.raises(rt.Error, match="averaged for reading only"):
        rt.Forest(ns).run(path, average_channels=2)
    with pytest.raises(rt.Error, match="at least one by one"):
        list(rt.ms.tiles(path, [], average_slots=0))
    with pytest.raises(calibration.CalibrationError, match="smaller --average-time"):
        calibrated(path, tmp_path, ["G: diag, 1slots"])
    with pytest.warns(UserWarning, match="reach over the end of a solution interval of term B"):
        calibrated(path, tmp_path, ["G: diag, 6slots", "B: amplitude, 6chan"])


@pytest.mark.parametrize("options", ["time 1.5", "time 0", "time -2", "time 3Hz", "channels 2.0", "channels 4s"])
def test_numbers_are_whole_and_quantities_have_units(tmp_path, options):
    name, value = options.split()
    path = tmp_path / "a.ms"
    path.mkdir()
    arguments = ["calibrate", str(path), "--sky", "a.txt", "--term", "G: diag", "--out", str(tmp_path / "a.h5")]
    shown = CliRunner().invoke(cli, [*arguments, f"--average-{name}", value])
    assert shown.exit_code == 2 and f"Invalid value for '--average-{name}'" in shown.output
