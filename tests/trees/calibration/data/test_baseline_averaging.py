"""Solving on data that are averaged by baseline, over as much as loses a stated part of a source."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, DataSelection, SolverOptions, parse_terms, session
from rimetree.cli import cli

CENTRE = (0.93, -0.485)
N_TIME, N_CHANNEL = 12, 16
RADIUS = 0.05
#: KAT-7's shortest baselines lose next to nothing of it over minutes and tens of MHz, its longest much.
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("near", CENTRE[0], CENTRE[1], (40.0, 0, 0, 0), patch="near"),
        rt.sky.Source("far", CENTRE[0], CENTRE[1] + RADIUS, (60.0, 0, 0, 0), patch="far"),
    ]
)


@pytest.fixture
def planted(planted_gains):
    """planted(noise_jy=0.0, sky=SKY, ...): as `planted_gains`."""

    def make(noise_jy=0.0, sky=SKY, **more):
        return planted_gains(sky, noise_jy, **more)

    return make


def calibrated(path, folder, terms=("G: diag, 6slots",), model=SKY, **options):
    options = {"reference": "ANT-0", "overwrite": True, "average_loss": 0.02, **options}
    return calibration.calibrate(
        path, model, parse_terms(list(terms)), folder / "sol.h5", CalibrationOptions(**options)
    )


def plan_of(path, terms=("G: diag, 6slots",), model=SKY, **options):
    stages = calibration.plan_stages(
        path, parse_terms(list(terms)), CalibrationOptions(**{"average_loss": 0.02, **options}), model
    )
    return stages[-1].plans[0]


def gains_of(report, name="G"):
    """[antenna, interval, feed]"""
    table = report.solutions[0][name]
    assert not table.flag.any()
    value = (table.value["amplitude"] * np.exp(1j * table.value["phase"]))[:, 0, :, 0]
    return np.moveaxis(value, 0, 1)


def errors_of(report, gains):
    return gains_of(report) / (gains * np.exp(-1j * np.angle(gains[:1]))) - 1


def averaged_amplitudes(path, plan):
    """{baseline: (least amplitude of its averaged cells over those as stored, their number)} of a set of one source."""
    selection, found = plan.group.selection, {}
    (whole,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    stored = dict(zip(whole["baselines"], np.abs(whole["columns"]["DATA"][..., 0]), strict=True))
    for tile in rt.ms.tiles(path, ["DATA"], time_slots=100, **selection):
        for k, pair in enumerate(tile["baselines"]):
            value = np.abs(tile["columns"]["DATA"][k, ..., 0])
            found[pair] = value.min() / stored[pair].max(), value.size
    return found


@pytest.mark.parametrize("loss", [0.002, 0.02, 0.2])
def test_no_baseline_loses_more_than_is_stated(planted, tmp_path, observe, loss):
    """The data are one source of 1 Jy at the stated distance, in eight directions from the phase centre in turn."""
    path, _ = planted()
    plan = plan_of(path, average_loss=loss, average_radius_rad=RADIUS)
    worst = {pair: 1.0 for pair in plan.group.baselines}
    for angle in np.arange(8) * np.pi / 4:
        # The direction cosines of the source are RADIUS's, whatever the angle.
        dec = np.arcsin(np.cos(RADIUS) * np.sin(CENTRE[1]) + np.sin(RADIUS) * np.cos(CENTRE[1]) * np.cos(angle))
        ra = CENTRE[0] + np.arcsin(np.sin(RADIUS) * np.sin(angle) / np.cos(dec))
        sky = rt.sky.SkyModel([rt.sky.Source("one", ra, dec, (1.0, 0, 0, 0))])
        one = np.broadcast_to(np.eye(2), (N_TIME, N_CHANNEL, 2, 2))
        observe(path, sky, CENTRE, lambda *_, one=one: one)
        for pair, (amplitude, count) in averaged_amplitudes(path, plan).items():
            worst[pair] = min(worst[pair], amplitude)
            kind = next(kind for kind in plan.averaging.kinds if pair in kind.baselines)
            assert count == 2 * -(-6 // kind.slots) * -(-N_CHANNEL // kind.channels)
    lost = 1 - np.array(list(worst.values()))
    assert lost.max() <= 1.001 * plan.averaging.loss + 1e-6 <= 1.001 * loss + 1e-5
    assert lost.max() > 0.6 * plan.averaging.loss  # it is no idle bound
    kinds = plan.averaging.kinds
    assert len(kinds) > 1 and plan.averaging.cells < 0.5 * plan.averaging.cells_before
    # Long baselines are averaged less.
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    length_m = dict(zip(tile["baselines"], np.linalg.norm(tile["uvw_m"][:, 0], axis=-1), strict=True))
    means = [np.mean([length_m[pair] for pair in kind.baselines]) for kind in kinds]
    assert means[0] > 1.5 * means[-1]


def test_cells_left_are_counted(planted):
    path, _ = planted()
    plan = plan_of(path, ("G: diag, 5slots", "B: amplitude, 6chan"))
    cells = sum(tile["flag"][..., 0].size for tile in rt.ms.tiles(path, [], time_slots=100, **plan.group.selection))
    assert cells == plan.averaging.cells < 0.5 * plan.averaging.cells_before
    assert plan.averaging.cells_before == 21 * N_TIME * N_CHANNEL
    assert sum(len(kind.baselines) for kind in plan.averaging.kinds) == 21


@pytest.mark.parametrize("terms", [("G: diag, 5slots", "B: amplitude, 6chan"), ("G: diag, 35s, 10MHz", "D: leakage")])
def test_no_cell_reaches_over_the_end_of_a_solution_interval(planted, terms):
    path, _ = planted()
    plan = plan_of(path, terms, average_loss=0.9, average_radius_rad=0.0)
    tiles = list(rt.ms.tiles(path, [], time_slots=100, **plan.group.selection))
    assert max(len(tile["time_s"]) for tile in tiles) < N_TIME and len(tiles) == len(plan.averaging.kinds)
    edges_s = np.concatenate([axis.edges[1:-1] for axis in plan.chunks[0].times.values()])
    edges_hz = np.concatenate([axis.edges[1:-1] for axis in plan.frequencies.values()])
    for tile in tiles:
        for centre, width, edges in (
            (tile["time_s"], tile["interval_s"], edges_s),
            (tile["frequency_hz"], tile["channel_width_hz"], edges_hz),
        ):
            assert not (np.abs(centre[:, None] - edges) < 0.49 * width[:, None]).any()


def test_gains_are_found_and_the_model_is_smeared(planted, tmp_path):
    """Without noise: what is left is that smearing is not quite linear in its phase."""
    path, gains = planted()
    report = calibrated(path, tmp_path)
    assert np.abs(errors_of(report, gains)).max() < 1e-4 and report.left < 1e-7
    assert report.averaging[0]["largest_loss"] <= 0.02 and len(report.averaging[0]["kinds"]) > 1
    assert calibrated(path, tmp_path, smearing=False).left > 1e-5  # which it would be if that did not matter


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": SolverOptions(robust_dof=4)},
        {"solver": SolverOptions(errors_from_residuals=True)},
        {"flag_data": 6.0},
        {"noise_per": "channel"},
        {"noise_per": "baseline"},
        {"min_fraction": 0.1},
        {"in_turn": True},
        {"data": DataSelection(min_m=30.0)},
        {"terms": ("G: full, 6slots",)},
        {"terms": ("G: diag, 6slots", "B: diag, 5chan")},
        {"terms": ("G: diag, 6slots", "B: diag, 5chan"), "in_turn": True},
        {"terms": ("G: diag, 6slots", "dE: phase, 6slots, per patch")},
        {"terms": ("K: delay", "G: diag, 6slots")},
        {"terms": ("G: diag, 6slots", "P: parallactic")},
        {"selection": rt.ms.Selection(channels=[(4, 9), (11, 16)])},
        {"device": "simulated"},
        {"device": "simulated", "solver": SolverOptions(robust_dof=4)},
        {"terms": ("G: diag, 6slots", "K: delay"), "device": "simulated"},
        {"terms": ("G: diag, 6slots", "dE: diag, per patch"), "solver": SolverOptions(successive=True)},
    ],
)
def test_solutions_are_those_of_the_data_as_they_are_stored(planted, tmp_path, options):
    """To a part of their errors: what averaging costs is the part that is stated, of the signal."""
    flag = np.zeros((21, N_TIME, N_CHANNEL), bool)
    rng = np.random.default_rng(5)
    flag[rng.random((21, N_TIME)) < 0.2] = True  # whole rows: UVW follow what is left
    flag[:, :3, 4:8] = True
    flag[4] = True
    path, _ = planted(noise_jy=1.0, flag=flag)
    report = calibrated(path, tmp_path, **options)
    stored = calibrated(path, tmp_path, **{**options, "average_loss": 0.0})
    assert report.converged == report.solves and 0.85 < report.noise_ratio / stored.noise_ratio < 1.15
    assert sum(c.equations for c in report.chunks) < 0.6 * sum(c.equations for c in stored.chunks)
    for term in stored.solutions[0].terms:
        own = report.solutions[0][term.name]
        np.testing.assert_array_equal(own.flag, term.flag)
        for quantity, value in term.value.items():
            good, sigma = ~term.flag & (term.sigma[quantity] > 0), term.sigma[quantity]
            if not good.any():  # parallactic angles are known
                continue
            difference = own.value[quantity] - value
            if quantity == "phase":
                difference = np.angle(np.exp(1j * difference))
            pulls = (difference[good] / sigma[good]).ravel()
            # (Robust fits of fewer data, each of more, are others.)
            assert np.sqrt(np.mean(pulls**2)) < (0.7 if report.chunks[0].noise != 1 else 0.5), (term.name, quantity)
            ratio = own.sigma[quantity][good].mean() / sigma[good].mean()
            assert 0.9 < ratio < 1.2, (term.name, quantity)


def test_of_a_source_in_the_middle_nothing_is_lost(planted, tmp_path):
    """Whatever is flagged: its phase is the same all over a cell."""
    near = SKY.select(patches=["near"])
    flag = np.random.default_rng(5).random((21, N_TIME, N_CHANNEL)) < 0.4
    path, _ = planted(noise_jy=1.0, flag=flag, sky=near)
    stored = calibrated(path, tmp_path, model=near, average_loss=0.0)
    report = calibrated(path, tmp_path, model=near)
    assert report.averaging[0]["cells"] == 2 * 21
    np.testing.assert_allclose(gains_of(report), gains_of(stored), rtol=1e-5)


def test_phases_refer_to_the_same_antenna(planted, tmp_path):
    """Of the first antenna single channels are flagged, which averaged cells do not show."""
    flag = np.zeros((21, N_TIME, N_CHANNEL), bool)
    flag[:6, ::3, 1::4] = True
    path, _ = planted(flag=flag, autocorrelations=True)
    of = [calibrated(path, tmp_path, reference=None, average_loss=loss).chunks[0].reference for loss in (0.0, 0.02)]
    assert of == ["ANT-1", "ANT-1"]


def test_portions_of_time_change_nothing(planted, tmp_path, monkeypatch):
    path, _ = planted(noise_jy=1.0)
    terms = ("G: diag, 6slots", "A: amplitude, 12slots")
    whole = gains_of(calibrated(path, tmp_path, terms))
    check = session.check_memory
    monkeypatch.setattr(session, "check_memory", lambda *a: replace(check(*a), slots=1))  # as far as cells are whole
    np.testing.assert_allclose(gains_of(calibrated(path, tmp_path, terms)), whole, rtol=1e-9)


def test_windows_together_and_one_by_one(planted, tmp_path):
    path, gains = planted(bands=2)
    one_by_one = calibrated(path, tmp_path)
    assert len(one_by_one.solutions) == 2 and len(one_by_one.averaging) == 2
    assert np.abs(errors_of(one_by_one, gains)).max() < 1e-4
    together = calibrated(path, tmp_path, ["G: diag, 6slots, all windows"])
    assert np.abs(errors_of(together, gains)).max() < 1e-4 and len(together.averaging) == 1
    # Of both windows the one with the larger turns counts.
    assert together.averaging[0]["cells"] == 2 * one_by_one.averaging[1]["cells"]


def test_a_model_column_is_averaged_as_the_data(planted, observe, tmp_path):
    path, gains = planted(flag=np.random.default_rng(5).random((21, N_TIME, N_CHANNEL)) < 0.4)
    one = np.broadcast_to(np.eye(2), (N_TIME, N_CHANNEL, 2, 2))
    observe(path, SKY, CENTRE, lambda *_: one, column="MODEL_DATA")
    model = calibration.ModelColumns({"": "MODEL_DATA"})
    report = calibrated(path, tmp_path, model=model, average_radius_rad=RADIUS)
    assert np.abs(errors_of(report, gains)).max() < 1e-6  # exact where cells are flagged in part, too
    with pytest.raises(calibration.CalibrationError, match="give that distance"):
        calibrated(path, tmp_path, model=model)


def test_axes_along_which_terms_change_are_kept(planted):
    path, _ = planted()
    plan = plan_of(path, ("K: delay", "G: diag, 6slots"))
    assert plan.averaging.kept == {"channels": "K"} and {kind.channels for kind in plan.averaging.kinds} == {1}
    assert max(kind.slots for kind in plan.averaging.kinds) > 1
    plan = plan_of(path, ("G: diag, 6slots", "P: parallactic"))
    assert plan.averaging.kept == {"time": "P"} and {kind.slots for kind in plan.averaging.kinds} == {1}
    plan = plan_of(path, ("K: delay", "G: diag, 6slots", "P: parallactic"))
    assert [(kind.slots, kind.channels) for kind in plan.averaging.kinds] == [(1, 1)]
    assert "average_baselines" not in plan.group.selection and plan.averaging.loss == 0


def test_held_solutions_are_not_mixed(planted, tmp_path):
    """Those of 4 slots and 3 channels are held while others of 6 slots and all channels are solved for."""
    path, _ = planted(noise_jy=1.0)
    calibrated(path, tmp_path, ["H: diag, 4slots, 3chan"], average_loss=0.0)
    held = calibration.read_h5parm(tmp_path / "sol.h5")
    plan = plan_of(path, held=held, average_loss=0.9, average_radius_rad=0.0)
    (tile,) = rt.ms.tiles(path, [], time_slots=100, **plan.group.selection)
    slots = np.round((tile["time_s"] - tile["time_s"][0] + tile["interval_s"][0] / 2) / 10, 6)
    np.testing.assert_allclose(slots, [2, 5, 7, 10])  # the middles of 4, 2, 2 and 4
    np.testing.assert_allclose(tile["channel_width_hz"] / 2e6, [3, 3, 3, 3, 3, 1])
    linear = plan_of(path, held=held, interpolation="linear")
    assert linear.averaging.kept == {"time": "H", "channels": "H"}


@pytest.mark.parametrize(
    ("terms", "channels"),
    [("G: diag, 6slots, 8chan", {1, 2, 4, 8}), ("G: diag, 6slots, 5chan", {1, 2, 4, 5}), ("G: diag, 6slots", {1, 16})],
)
def test_channels_stay_regular_where_that_is_possible(planted, terms, channels):
    """A model is predicted much faster on them."""
    path, _ = planted()
    for loss in (0.001, 0.01, 0.1, 0.5):
        plan = plan_of(path, (terms,), average_loss=loss, average_radius_rad=0.2)
        found = {kind.channels for kind in plan.averaging.kinds}
        assert found <= channels | {2, 4, 8}
        assert len(found) > 1 or loss in (0.001, 0.5)


def test_trees_that_write_do_not_average(planted):
    path, _ = planted()
    ns = rt.NodeScope()
    ns.sink << rt.Sink(rt.Constant(np.eye(2)), station_1_index=0, station_2_index=1, output_column="DATA")
    with pytest.raises(rt.Error, match="averaged for reading only"):
        rt.Forest(ns).run(path, average_baselines=[(2, 1, [(0, 1)])])
    with pytest.raises(rt.Error, match="at least one by one"):
        list(rt.ms.tiles(path, [], average_baselines=[(0, 1, [(0, 1)])]))
    with pytest.raises(rt.Error, match="pairs of numbers"):
        list(rt.ms.tiles(path, [], average_baselines=[(2, 1, [0, 1, 2])]))


@pytest.mark.parametrize("time_slots", [1, 5, 100])
def test_tiles_of_baselines_that_are_averaged_differently(planted, time_slots):
    path, _ = planted(noise_jy=1.0)
    (whole,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    some = [(0, 1), (3, 2)]  # in either order
    options = {"average_baselines": [(3, 4, some), (2, 1, [(0, 2)])], "time_slots": time_slots}
    found: dict = {}
    for tile in rt.ms.tiles(path, ["DATA"], **options):
        for k, pair in enumerate(tile["baselines"]):
            found.setdefault(pair, []).append(tile["columns"]["DATA"][k])
    assert set(found) == set(whole["baselines"])
    for k, pair in enumerate(whole["baselines"]):
        slots, channels = {(0, 1): (3, 4), (2, 3): (3, 4), (0, 2): (2, 1)}.get(pair, (1, 1))
        shape = (N_TIME // slots, slots, N_CHANNEL // channels, channels, 4)
        expected = whole["columns"]["DATA"][k].reshape(shape).mean(axis=(1, 3))
        np.testing.assert_allclose(np.concatenate(found[pair]), expected, atol=2e-5)


def arguments(path, folder, *others):
    rt.sky.write(SKY, folder / "a.skymodel")
    found = ["calibrate", path, "--sky", str(folder / "a.skymodel"), "--term", "G: diag, 6slots"]
    return [*found, "--out", str(folder / "sol.h5"), "--overwrite", "--average-loss", "0.02", *others]


def test_the_command_says_what_it_averages(planted, tmp_path):
    path, _ = planted()
    shown = CliRunner().invoke(cli, arguments(path, tmp_path, "--dry-run"))
    assert shown.exit_code == 0, shown.output
    assert "% of the cells are left" in shown.output and "2.865 deg from the phase centre loses at most" in shown.output
    averaging = plan_of(path).averaging
    for kind in averaging.kinds:
        assert [str(kind.slots), str(kind.channels), str(len(kind.baselines))] in [
            line.split()[:3] for line in shown.output.splitlines()
        ]
    files = [str(tmp_path / f"a.{ending}") for ending in ("json", "txt")]
    shown = CliRunner().invoke(cli, arguments(path, tmp_path, "--report", files[0], "--report", files[1]))
    assert shown.exit_code == 0, shown.output
    with open(files[0], encoding="utf-8") as file:
        (found,) = json.load(file)["averaging"]
    assert found["cells"] == averaging.cells and found["largest_loss"] == pytest.approx(averaging.loss)
    assert sum(kind["baselines"] for kind in found["kinds"]) == 21
    with open(files[1], encoding="utf-8") as file:
        assert "averaged by baseline: field 0, window 0, G: " in file.read()


def test_solutions_are_applied_to_data_that_are_not_averaged(planted, tmp_path):
    path, _ = planted()
    shown = CliRunner().invoke(cli, arguments(path, tmp_path, "--apply", "--subtract"))
    assert shown.exit_code == 0, shown.output
    (tile,) = rt.ms.tiles(path, ["DATA", "CORRECTED_DATA"], time_slots=100)
    assert tile["columns"]["CORRECTED_DATA"].shape[1:3] == (N_TIME, N_CHANNEL) and not tile["flag"].any()
    assert np.std(tile["columns"]["CORRECTED_DATA"]) < 1e-3 * np.std(tile["columns"]["DATA"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--average-time", "2"], "--average-loss says for each baseline what --average-time says for all"),
        (["--average-channels", "4MHz"], "what --average-channels says for all"),
        (["--average-loss", "0"], "Invalid value for '--average-loss'"),
        (["--average-loss", "1"], "Invalid value for '--average-loss'"),
    ],
)
def test_what_contradicts_is_refused(planted, tmp_path, options, message):
    path, _ = planted()
    shown = CliRunner().invoke(cli, arguments(path, tmp_path, *options))
    assert shown.exit_code == 2 and message in shown.output
    alone = [one for one in arguments(path, tmp_path) if one not in ("--average-loss", "0.02")]
    shown = CliRunner().invoke(cli, [*alone, "--average-radius", "1deg"])
    assert shown.exit_code == 2 and "goes with --average-loss" in shown.output


def test_a_run_that_was_interrupted_goes_on_with_the_same_averaging(planted, tmp_path):
    path, _ = planted(noise_jy=1.0)
    whole = gains_of(calibrated(path, tmp_path))
    options = CalibrationOptions(reference="ANT-0", average_loss=0.02)
    terms, out = parse_terms(["G: diag, 6slots"]), tmp_path / "again.h5"

    def stop(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibration.calibrate(path, SKY, terms, out, options, on_chunk=stop)
    with pytest.raises(calibration.CalibrationError, match="averaging"):
        other = CalibrationOptions(reference="ANT-0", average_loss=0.1, resume=True)
        calibration.calibrate(path, SKY, terms, out, other)
    again = CalibrationOptions(reference="ANT-0", average_loss=0.02, resume=True)
    report = calibration.calibrate(path, SKY, terms, out, again)
    assert report.chunks[0].resumed and not report.chunks[1].resumed
    np.testing.assert_array_equal(gains_of(report), whole)
