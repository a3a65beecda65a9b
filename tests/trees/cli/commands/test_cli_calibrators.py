"""Flux calibrators by their names, wherever a sky model may be."""

import re

import numpy as np
import pytest

import rimetree as rt
from rimetree.cli.options.models import _divided
from rimetree.sky_fluxes import stokes_i_at


def test_calibrators_are_listed(command):
    shown = command("sky", "calibrators", "--freq", "1GHz").stdout
    assert "Perley-Butler 2017" in shown and "Scaife-Heald 2012" in shown and "J1939-6342" in shown
    line = next(line for line in shown.splitlines() if line.startswith("3C286 "))
    assert "17.705" in line and "13h31m08.29s" in line and "50 to 50000" in line  # 10^1.2481 Jy
    assert "I Q U/Jy" not in command("sky", "calibrators").stdout
    ended = command("sky", "show", "3C286, scaife", "--freq", "150MHz")
    assert "27.477" in ended.stdout
    assert "3C286: Stokes I as of Scaife-Heald 2012, 30 to 300 MHz; a point" in ended.stderr


def test_gains_of_several_calibrators(command, tmp_path):
    """Each field against the source of its name."""
    path, fields = tmp_path / "obs.ms", []
    for name in ("3C147", "3C286"):
        ra, dec = np.degrees(rt.sky.calibrator(name).radec_rad[0])
        fields += ["--scan", name, f"{ra}deg", f"{dec}deg", "1min"]
    band = ["--freq", "6GHz", "--bandwidth", "400MHz", "--channels", "4", "--integration", "20s"]
    command("make-ms", path, "--telescope", "vla-d", *fields, *band)
    for field in ("3C147", "3C286"):
        command("simulate", path, "--sky", field, "--field", field, "--column", "DATA", "--no-smearing")
    given = ["--sky", "3C147=3C147", "--sky", "3C286=J1331+3030", "--term", "G: diag, 1min", "--no-smearing"]
    found = command("calibrate", path, *given, "--out", tmp_path / "g.h5")
    assert "3C286: Stokes I, Q, U as of Perley-Butler 2017, 50 to 50000 MHz; a point" in found.output
    (solutions,) = rt.calibration.read_h5parm(tmp_path / "g.h5")
    gains = np.abs(solutions["G"].gain()[..., [0, 1], [0, 1]])
    np.testing.assert_allclose(gains, 1, atol=1e-6)


def test_what_is_no_calibrator(command, tmp_path):
    text = command("sky", "show", "3C287", code=1).output
    assert "3C287: there is no such file, and no calibrator of this name; did you mean" in text
    assert "0408-65" in text


def test_a_calibrator_of_another_field(command, tmp_path):
    path = tmp_path / "obs.ms"
    times = ("--duration", "10s", "--integration", "10s", "--channels", "2")
    command("make-ms", path, "--telescope", "vla-d", "--phase-centre", "13h31m", "30d30m", "--field-name", "F", *times)
    text = command("simulate", path, "--sky", "3C147").output
    assert "nearest source of the sky model, 3C147, is 8" in text and "of field 0 (F): is it of this field?" in text
    assert "is it of this field?" not in command("simulate", path, "--sky", "3C286").output


@pytest.fixture
def fields(command, tmp_path):
    """A set of three fields, called as those of the VLA."""
    path, scans = tmp_path / "vla.ms", []
    for name, source in (("1331+305=3C286", "3C286"), ("0542+498", "3C147"), ("TARGET", "3C48")):
        ra, dec = np.degrees(rt.sky.calibrator(source).radec_rad[0])
        scans += ["--scan", name, f"{ra}deg", f"{dec}deg", "20s"]
    band = ["--freq", "6GHz", "--bandwidth", "400MHz", "--channels", "2", "--integration", "20s"]
    command("make-ms", path, "--telescope", "vla-d", *scans, *band)
    return path


def power(path):
    """Mean amplitude of RR, of each field."""
    return [np.abs(tile["columns"]["MODEL_DATA"][..., 0]).mean() for tile in rt.ms.tiles(path, ["MODEL_DATA"])]


@pytest.mark.parametrize("first", ["0=3C286", "1331+305=3C286=3C286", "*3C286=3C286", "1331*=1331+305=3C286"])
def test_models_of_fields_whose_names_have_an_equals_sign(command, fields, first):
    given = ["--sky", first, "--sky", "0542+498=3C147", "--sky", "TARGET=3C48", "--no-smearing"]
    text = command("simulate", fields, *given).output
    assert "field 0 (1331+305=3C286): 1 sources" in text and "3 tree(s) to evaluate" in text
    found = power(fields)
    for k, name in enumerate(("3C286", "3C147", "3C48")):
        (flux,) = stokes_i_at(rt.sky.calibrator(name), 6e9)
        np.testing.assert_allclose(found[k], flux, rtol=0.01)


def test_a_name_of_a_field_may_be_that_of_a_calibrator(command, fields):
    text = command("simulate", fields, "--sky", "1331+305=3C286", "--field", "0").output
    assert "3C286: Stokes I, Q, U" in text and "1331+305=3C286: 1 sources" in text


def test_fields_without_a_model(command, fields):
    text = command("simulate", fields, "--sky", "0=3C286", code=1).output
    assert "there is no model of field 1 (0542+498); give --sky 1=FILE, or choose fields with --field" in text
    command("simulate", fields, "--sky", "0=3C286", "--field", "0")
    assert "field 0 1331+305=3C286 has a model already" in re.sub(
        r"[()]", "", command("simulate", fields, "--sky", "0=3C286", "--sky", "0=3C48", code=2).output
    )
    assert "there is no field 'OTHER'" in command("simulate", fields, "--sky", "OTHER=3C286", code=1).output


def test_one_model_for_all_other_fields(command, fields):
    text = command("simulate", fields, "--sky", "3C48", "--sky", "0=3C286", "--no-smearing", "--sky", "1=3C147").output
    assert "field 2 (TARGET): 1 sources" in text
    found = power(fields)
    for k, name in enumerate(("3C286", "3C147", "3C48")):
        np.testing.assert_allclose(found[k], stokes_i_at(rt.sky.calibrator(name), 6e9)[0], rtol=0.01)
    text = command("simulate", fields, "--sky", "3C48", "--sky", "3C286", code=2).output
    assert "--sky 3C286: of several all but one must say their fields" in text
    assert "--sky 0=: there is no file behind the field" in command("simulate", fields, "--sky", "0=", code=2).output


def test_solutions_given_twice(command, fields, tmp_path):
    command("simulate", fields, "--sky", "0=3C286", "--field", "0", "--column", "DATA")
    command("calibrate", fields, "--field", "0", "--sky", "3C286", "--term", "G: diag", "--out", tmp_path / "g.h5")
    (tmp_path / "link.h5").symlink_to(tmp_path / "g.h5")
    twice = ["--solutions", tmp_path / "g.h5", "--solutions", tmp_path / "link.h5"]
    assert "link.h5 is given twice, and would be applied twice" in command("apply", fields, *twice, code=2).output
    (tmp_path / "again.h5").write_bytes((tmp_path / "g.h5").read_bytes())
    twice[-1] = tmp_path / "again.h5"
    assert "terms of the solutions: G, G" in command("apply", fields, *twice, "--field", "0").output
    assert "G, G_2; solution sets: 1" in command("convert-solutions", tmp_path / "both.h5", *twice).output
    (both,) = rt.calibration.read_h5parm(tmp_path / "both.h5")
    assert [term.name for term in both.terms] == ["G", "G_2"]


def test_voltages_are_warned_of_as_visibilities_are(command, tmp_path):
    given = ["--format", "int8", "--layout", "atca", "--phase-centre", "13h31m08.288s", "30d30m33s", "--noise", "40Jy"]
    given += ["--start", "2025-01-01T03:00:00", "--sample-rate", "2MHz", "--freq", "200GHz", "--duration", "1ms"]
    text = command("make-voltages", tmp_path / "v", *given, "--sky", "1934-638").output
    assert "1 sources are more than 90 deg from the phase centre" in text
    assert "199999 to 200001 MHz, is beyond the frequencies that the sky model has fluxes of, 408 to 100000 MHz" in text


def test_names_of_fields_are_as_long_as_they_can_be():
    assert _divided("A=B=3C48", ["A", "A=B"]) == (("A=B",), "3C48")
    assert _divided("A=B=3C48", ["A", "C"]) == (("A",), "B=3C48")
    assert _divided("3C48", ["A"]) == (None, "3C48")
    assert _divided("all = 3C48", ["A"]) == (("all",), "3C48")


def test_models_of_fields_are_added_once_each(command, fields):
    command("simulate", fields, "--sky", "3C48", "--column", "DATA")
    beside = ["--add-to", "DATA", "--column", "DATA"]
    command("simulate", fields, "--sky", "0=3C286", "--sky", "1=3C147", "--field", "0,1", *beside)
    assert "--again" in command("simulate", fields, "--sky", "1=3C147", "--field", "1", *beside, code=1).output
    command("simulate", fields, "--sky", "1=3C286", "--field", "1", *beside)


@pytest.mark.parametrize(("name", "is_told"), [("3C286", True), ("other", False)])
def test_a_degree_is_far_for_a_calibrator(command, tmp_path, name, is_told):
    path, model = tmp_path / "obs.ms", tmp_path / "model.skymodel"
    times = ("--duration", "10s", "--integration", "10s", "--channels", "2")
    command("make-ms", path, "--telescope", "vla-d", "--phase-centre", "13h31m08s", "29d30m", *times)
    place = rt.sky.calibrator("3C286").radec_rad[0]
    rt.sky.write(rt.sky.SkyModel([rt.sky.Source(name, *place, (1, 0, 0, 0))]), model)
    assert ("is 1.01 deg from the phase centre" in command("simulate", path, "--sky", model).output) == is_told
