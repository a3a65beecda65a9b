"""Flux calibrators by their names, wherever a sky model may be."""

import numpy as np

import rimetree as rt


def test_calibrators_are_listed(command):
    shown = command("sky", "calibrators", "--freq", "1GHz").stdout
    assert "Perley-Butler 2017" in shown and "Scaife-Heald 2012" in shown and "J1939-6342" in shown
    line = next(line for line in shown.splitlines() if line.startswith("3C286 "))
    assert "17.705" in line and "13h31m08.29s" in line and "50 to 50000" in line  # 10^1.2481 Jy
    assert "I Q U/Jy" not in command("sky", "calibrators").stdout
    ended = command("sky", "show", "3C286, scaife", "--freq", "150MHz")
    assert "27.477" in ended.stdout
    assert "3C286: a point, Stokes I as of Scaife-Heald 2012, 30 to 300 MHz" in ended.stderr


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
    assert "3C286: a point, Stokes I, Q, U as of Perley-Butler 2017, 50 to 50000 MHz" in found.output
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
