"""Beams as solutions: the matrices that skies are seen through, taken out of data."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration.solutions import beam_solutions

CENTRE = (0.1, -0.46)


@pytest.fixture
def path(tmp_path):
    """MWA tiles, five minutes around the transit of the centre, eight channels."""
    rt.ms.create(
        tmp_path / "a.ms", "mwa-phase1", phase_centre_rad=CENTRE, duration_s=300.0, integration_s=60.0,
        bands=rt.ms.Band.regular(1.5e8, 8e6, 8),
    )  # fmt: skip
    return tmp_path / "a.ms"


@pytest.fixture
def beams(path):
    """Three kinds: those of two tiles point elsewhere, one is a dish."""
    (group,) = rt.ms.groups(path)
    tile = rt.StationBeam.mwa_tile(group.antenna_xyz_m[0])
    found = [tile] * (max(group.antennas) + 1)
    found[1] = found[2] = tile.pointed_at((0.2, -0.4))
    found[3] = rt.Beam("gaussian", 0.3, 1.5e8, pointing_rad=(0.15, -0.46))
    return found


def column(path, name):
    (tile,) = rt.ms.tiles(path, [name], time_slots=100)
    return tile["columns"][name]


def predict(path, beams, into):
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (3.0, 0.4, -0.2, 0.1))])
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    sky = sky if beams is None else sky.seen_through(beams)
    rt.psv_tree(ns, sky, CENTRE, group.baselines, smearing=False, column=into)
    rt.Forest(ns).run(path)


def corrected(path, solutions):
    ns = rt.NodeScope()
    (group,) = rt.ms.groups(path)
    calibration.apply_tree(ns, group, solutions, interpolation="linear")
    rt.Forest(ns).run(path)
    return column(path, "CORRECTED_DATA")


def test_data_without_them_are_those_of_no_beam(path, beams):
    predict(path, beams, "DATA")
    predict(path, None, "EXPECTED")
    solutions = calibration.beam_solutions(path, beams, time_step_s=1.0, frequency_step_hz=1.0)
    (term,) = solutions.terms
    assert (term.name, term.kind, term.shape) == ("E", "full", (5, 8, 128, 1, 4))
    np.testing.assert_allclose(corrected(path, solutions), column(path, "EXPECTED"), atol=2e-5)
    rough = calibration.beam_solutions(path, beams, time_step_s=120.0, frequency_step_hz=3e6)
    assert rough.terms[0].shape[:2] == (3, 4)
    assert rough.terms[0].frequency_hz[0] == term.frequency_hz[0]
    assert rough.terms[0].frequency_hz[-1] == term.frequency_hz[-1]
    np.testing.assert_allclose(corrected(path, rough), column(path, "EXPECTED"), atol=2e-2)


def test_dishes_make_scalars_and_the_direction_counts(path):
    beam = rt.Beam("gaussian", 0.3, 1.5e8)
    (term,) = calibration.beam_solutions(path, beam, name="B").terms
    assert (term.name, term.kind) == ("B", "scalar")
    np.testing.assert_allclose(term.gain()[..., 0, 0], 1.0)
    (term,) = calibration.beam_solutions(path, beam, towards_rad=(CENTRE[0], CENTRE[1] + 0.1)).terms
    y = np.sin(0.1) / 0.3 * term.frequency_hz / 1.5e8
    np.testing.assert_allclose(term.gain()[0, :, 5, 0, 1, 1], np.exp2(-2 * y**2), rtol=1e-12)


def test_windows_may_differ_in_the_last_digits_of_a_time(path, monkeypatch):
    (expected,) = calibration.beam_solutions(path, rt.Beam.of_dish(4.0)).terms
    twice = [slot for time_s, scan in rt.ms.slot_scans(path) for slot in ((time_s, scan), (time_s + 2e-6, scan))]
    monkeypatch.setattr(beam_solutions, "slot_scans", lambda *_, **__: twice)
    (found,) = calibration.beam_solutions(path, rt.Beam.of_dish(4.0)).terms
    np.testing.assert_array_equal(found.time_s, expected.time_s)
    np.testing.assert_array_equal(found.time_width_s, expected.time_width_s)


def test_what_is_below_the_horizon_is_flagged(path):
    (group,) = rt.ms.groups(path)
    tile = rt.StationBeam.mwa_tile(group.antenna_xyz_m[0])
    (term,) = calibration.beam_solutions(path, tile, towards_rad=(CENTRE[0] + np.pi, 0.4)).terms
    assert term.flag.all()


def test_what_does_not_fit_is_refused(path, small_ms):
    with pytest.raises(rt.Error, match="there are 2 beams, but antenna 127 has data"):
        calibration.beam_solutions(path, [rt.Beam.of_dish(4.0), rt.Beam.of_dish(5.0)])
    circular = small_ms("circular.ms", correlation_type=(5, 6, 7, 8))
    with pytest.raises(rt.Error, match="MWA tile has linear feeds, but the visibilities are of circular ones"):
        calibration.beam_solutions(circular, rt.StationBeam.mwa_tile((-2559454.0, 5095372.0, -2849057.0)))
    for how in ({"time_step_s": 0.0}, {"frequency_step_hz": -1.0}):
        with pytest.raises(rt.Error, match="must be positive"):
            calibration.beam_solutions(path, rt.Beam.of_dish(4.0), **how)


def test_commands_write_and_use_them(path, tmp_path):
    from click.testing import CliRunner

    from rimetree.cli import cli

    def command(*arguments, code=0):
        result = CliRunner().invoke(cli, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        return result.output

    predict(path, [rt.StationBeam.mwa_tile(np.mean(list(rt.ms.groups(path)[0].antenna_xyz_m.values()), axis=0))] * 128,
            "DATA")  # fmt: skip
    out, sky = tmp_path / "beam.h5", tmp_path / "a.skymodel"
    said = command("beam-solutions", path, "--beam", "mwa", "--out", out)
    assert "through the MWA tile" in said and "E (full), 128 antennas, 5 times, 8 frequencies" in said
    assert "exists" in command("beam-solutions", path, "--beam", "mwa", "--out", out, code=1)
    assert "--beam" in command("beam-solutions", path, "--out", out, code=2)
    rt.sky.write(rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (3.0, 0.4, -0.2, 0.1))]), sky)
    how = ("--sky", sky, "--no-smearing", "--beam", "mwa", "--term", "G: diag, 10min")
    command("calibrate", path, *how, "--out", tmp_path / "g.h5")
    assert "nothing" not in command("plot-solutions", out, "-o", tmp_path / "beam.png")
    predict(path, None, "EXPECTED")
    command("apply", path, "--solutions", tmp_path / "g.h5", "--solutions", out, "--interpolation", "linear")
    np.testing.assert_allclose(column(path, "CORRECTED_DATA"), column(path, "EXPECTED"), atol=1e-3)
