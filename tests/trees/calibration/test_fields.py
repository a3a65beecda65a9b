"""Several fields that are observed in turns, each with gains and patches of its own."""

import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.solutions.outliers_of_solutions import without_outliers
from rimetree.cli import cli
from rimetree.cli.runs.calibrating_text import report_text

CENTRES = {0: (0.93, -0.485), 1: (0.96, -0.5)}
PATCHES = {0: ("middle", "north"), 1: ("centre", "side")}
SKIES = {
    field: rt.sky.SkyModel(
        [
            rt.sky.Source("a", *CENTRES[field], (60.0, 0.0, 0.0, 0.0), patch=names[0]),
            rt.sky.Source("b", CENTRES[field][0] + 0.01, CENTRES[field][1] + 0.01, (25.0, 0, 0, 0), patch=names[1]),
        ]
    )
    for field, names in PATCHES.items()
}
GAINS = {0: 1.0, 1: 2.0}  # as models of another scale give


@pytest.fixture
def turns(tmp_path, observe):
    """(path, {field: gains [antenna, feed]}, {patch: gains}) of CAL, TARGET, CAL again, with noise of 1 Jy."""
    path, rng = str(tmp_path / "a.ms"), np.random.default_rng(1)
    scans = [rt.ms.Scan(CENTRES[field], 30.0, name) for field, name in ((0, "CAL"), (1, "TARGET"), (0, "CAL"))]
    rt.ms.create(path, "kat-7", scans=scans, integration_s=10.0, bands=rt.ms.Band.regular(1.3e9, 4e6, 4))

    def some(size, turn):
        found = rng.uniform(0.9, 1.1, (7, 2)) * np.exp(1j * rng.uniform(-turn, turn, (7, 2)))
        return size * found * np.exp(-1j * np.angle(found[:1]))

    whole = {field: some(size, 3.0) for field, size in GAINS.items()}
    of_patch = {names[1]: some(1.0, 0.5) for names in PATCHES.values()}

    for field, sky in SKIES.items():

        def jones(antenna, patch, time_s, frequency_hz, field=field):
            gain = whole[field][antenna] if patch is None else of_patch.get(patch, np.ones((7, 2)))[antenna]
            return np.broadcast_to(np.diag(gain), (len(time_s), len(frequency_hz), 2, 2))

        seen = observe(path, sky, CENTRES[field], jones, noise_jy=1.0, field_id=field, seed=field)
        assert np.isfinite(seen).all()
    return path, whole, of_patch


def command(*arguments, code=0):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="rimetree")
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def calibrated(path, out, *terms, **options):
    options = CalibrationOptions(overwrite=True, reference="ANT-0", **options)
    return calibration.calibrate(path, SKIES, parse_terms(terms), out, options)


def test_patches_of_each_field(turns, tmp_path):
    """Solutions of a window are those of all fields: patches of which the first had none ended the run."""
    path, whole, of_patch = turns
    report = calibrated(path, tmp_path / "s.h5", "G: diag", "dE: diag, per patch")
    assert report.converged == report.solves == 2 and report.usable
    (found,) = calibration.read_h5parm(tmp_path / "s.h5")
    assert found["dE"].directions == (*PATCHES[0], *PATCHES[1])
    assert set(found.direction_radec_rad) == set(found["dE"].directions)
    for k, field in enumerate(found["dE"].field_ids):
        other, own = (found["dE"].directions.index(PATCHES[one][1]) for one in (1 - field, field))
        assert found["dE"].flag[k, 0, :, other].all() and not found["dE"].flag[k, 0, :, own].any()
        for term, at, wanted in (("G", 0, whole[field]), ("dE", own, of_patch[PATCHES[field][1]])):
            value, sigma = (of["amplitude"][k, 0, :, at] for of in (found[term].value, found[term].sigma))
            assert np.abs((value - np.abs(wanted)) / sigma).max() < 4
    # Another field's patches are not missing.
    assert set(report.flagged_fraction("dE").values()) == {0.0}
    assert "normalised" not in report_text(report, parse_terms(["G: diag", "dE: diag, per patch"]))


@pytest.mark.parametrize("term", ["G: diag", "G: diag, 10s"])
def test_each_field_is_corrected_by_its_own_solutions(turns, tmp_path, term):
    """The interval of CAL reaches over that of TARGET, which had been corrected by it: 40 times the noise was left."""
    path, whole, _ = turns
    calibrated(path, tmp_path / "s.h5", term, "dE: diag, per patch")
    moved = tmp_path / "moved.ms"
    shutil.copytree(path, moved)
    for name, more in ((path, []), (moved, []), (path, ["--interpolation", "linear"])):
        command("apply", name, "--solutions", tmp_path / "s.h5", *more)
        assert_corrected(name, whole)
    command("apply", path, "--solutions", tmp_path / "s.h5", "--from-field", "CAL")
    with pytest.raises(AssertionError):
        assert_corrected(path, whole)


def assert_corrected(path, whole):
    for field, wanted in whole.items():
        (tile,) = rt.ms.tiles(path, ["DATA", "CORRECTED_DATA"], time_slots=100, field_id=field)
        p, q = np.transpose(tile["baselines"])
        data, corrected = (tile["columns"][name] for name in ("DATA", "CORRECTED_DATA"))
        exact = data[..., [0, 3]] / (wanted[p] * wanted[q].conj())[:, None, None]
        np.testing.assert_allclose(corrected[..., [0, 3]], exact, rtol=0.1)


def test_held_and_given_solutions_are_those_of_the_field(turns, tmp_path):
    path, _, _ = turns
    calibrated(path, tmp_path / "s.h5", "G: diag", "dE: diag, per patch")
    known = tuple(calibration.read_h5parm(tmp_path / "s.h5"))
    report = calibrated(path, tmp_path / "t.h5", "H: diag", held=known)
    np.testing.assert_allclose(report.solutions[0]["H"].value["amplitude"], 1, rtol=1e-6)
    assert report.noise_ratio == pytest.approx(1, abs=0.05)
    again = calibrated(path, tmp_path / "u.h5", "G: diag", "dE: diag, per patch", start=known)
    assert max(chunk.iterations for chunk in again.chunks) <= 1


def test_solutions_stand_out_of_those_of_their_field(turns, tmp_path):
    """Those of TARGET are twice as large; a tenth of an antenna's spoilt is found on either."""
    path, _, _ = turns
    report = calibrated(path, tmp_path / "s.h5", "G: diag, 10s, 1chan", flag_solutions=8.0)
    assert report.standing_out == {"G": 0}
    found = report.solutions[0]["G"]
    spoilt = {quantity: values.copy() for quantity, values in found.value.items()}
    at = [(np.flatnonzero(found.field_ids == field)[0], 1, 3, 0, 1) for field in (0, 1)]
    for one in at:
        spoilt["amplitude"][one] *= 3
    flagged = without_outliers(calibration.TermSolutions(**{**vars(found), "value": spoilt}), 8.0).flag
    assert flagged.sum() == 2 and all(flagged[one] for one in at)


def test_what_stands_out_is_told(turns, tmp_path):
    path, _, _ = turns
    report = calibrated(path, tmp_path / "s.h5", "G: diag, 10s, 1chan", flag_solutions=2.0)
    flagged = int(report.solutions[0]["G"].flag.sum())
    assert flagged > 5 and report.standing_out == {"G": flagged}
    assert f"for they stand out: {flagged} of G" in report_text(report, report.solutions[0].terms)


def test_directions_that_a_field_does_not_have_are_refused_before_solving(turns, tmp_path):
    path, _, _ = turns
    for field, sky in SKIES.items():
        rt.sky.write(sky, tmp_path / f"{field}.skymodel")
    skies = [word for field in SKIES for word in ("--sky", f"{field}={tmp_path}/{field}.skymodel")]
    line = ["calibrate", path, *skies, "--term", "dE: diag, per patch", "--out", tmp_path / "s.h5", "--apply"]
    refused = command(*line, "--direction", "north", code=1)
    assert "no term has solutions for such a direction on field 1; there are centre, side" in refused.stderr
    assert not (tmp_path / "s.h5").exists()
    command(*line, "--direction", "north", "--apply-to", "CAL")
