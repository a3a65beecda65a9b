"""Options from files of settings, options that choose data, and what a dry run looks at."""

import re
import subprocess

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration


@pytest.fixture
def observed(command, kat7, sky_file):
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.05)
    return kat7


def test_settings(command, observed, sky_file, tmp_path):
    settings = tmp_path / "cal.toml"
    settings.write_text(
        f'term = ["B: diag, 1chan", "G: diag, 2min"]\nin-turn = true\nsky = "{sky_file}"\nchannels = "0~2"\n'
        'out = "nowhere/sol.h5"\niterations = 40\nfield = [0]\nuvmin = "10m"\n'
    )
    out = tmp_path / "sol.h5"
    done = command("calibrate", observed, "--settings", settings, "--out", out)  # the command line comes first
    assert "[1/4] B: field 0" in done.stderr
    (found,) = calibration.read_h5parm(out)
    assert [term.name for term in found.terms] == ["B", "G"] and found["B"].shape[1] == 3
    one = command("calibrate", observed, "--settings", settings, "--out", tmp_path / "g.h5", "--term", "G: diag")
    assert "[1/1] G: field 0" in one.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("in-trun = true", "there is no option 'in-trun'; did you mean 'in-turn'?"),
        ("in-turn = 1", "expected true or false"),
        ("term = ", "is no TOML"),
        ("[term]\na = 1", "expected text, a number or a list"),
        ('channels = "5-7"', "expected channels such as 5~60"),
        (None, "No such file"),
    ],
)
def test_wrong_settings(command, observed, tmp_path, text, says):
    file = tmp_path / "cal.toml"
    if text is not None:
        file.write_text(text)
    result = command("calibrate", observed, "--settings", file, "--term", "G: diag", "--out", "x.h5", code=2)
    assert says in result.stderr


def test_options_that_choose_data(command, observed, sky_file, tmp_path):
    """One antenna left out, one minute of five, two of four channels."""
    out = tmp_path / "sol.h5"
    command(
        *("calibrate", observed, "--sky", sky_file, "--term", "G: diag, 1slot, 1chan", "--out", out),
        *("--antenna", "!ANT-3", "--time", "0s~90s", "--channels", "1,3"),
    )
    (found,) = calibration.read_h5parm(out)
    assert found["G"].shape == (2, 2, 6, 1, 2) and "ANT-3" not in found["G"].antennas
    begin = rt.ms.inspect(observed)["first_time"]
    both = ("--time", f"{begin[:19]}~{begin[:19]}", "--time", "3min~10min")
    command("calibrate", observed, "--sky", sky_file, "--term", "G: diag, 1slot", "--out", out, "--overwrite", *both)
    assert calibration.read_h5parm(out)[0]["G"].shape[0] in (2, 3)
    for arguments, code, says in (
        (["--time", "10min"], 2, "expected FROM~TO"),
        (["--time", "20min~30min"], 1, "no rows are left"),
        (["--antenna", "XX*"], 1, "there is no antenna 'XX*'"),
        (["--baseline", "ANT-0"], 1, "with & between them"),
        (["--scan", "9"], 1, "has no scan 9; it has 1"),
        (["--channels", "8~9"], 1, "has the channels 0 to 3"),
    ):
        result = command(
            *("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "n.h5", *arguments),
            code=code,
        )
        assert says in result.stderr


SCRIPT = """
import rimetree as rt
def define_forest(ns, ms):
    for p, q in ms.baselines:
        ns.V(p, q) << rt.Spigot(station_1_index=p, station_2_index=q)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="{column}")
"""


def test_dry_run_of_a_script_looks_at_its_columns(command, observed, tmp_path):
    script = tmp_path / "tree.py"
    for column, code in (("NEW_DATA", 0), ("UVW", 1)):
        script.write_text(SCRIPT.format(column=column))
        result = command("run", script, observed, "--dry-run", code=code)
        assert code == 0 or re.search("error: .*UVW", result.stderr)
    assert "NEW_DATA" not in {c["name"] for c in rt.ms.inspect(observed)["columns"]}
    assert np.isfinite(next(rt.ms.tiles(observed, ["DATA"]))["columns"]["DATA"]).all()


PATCHES = """FORMAT = Name, Type, Patch, Ra, Dec, I
, , A1, 03:32:30, -27.48.00
, , A2, 03:33:00, -27.53.00
, , B, 03:32:00, -27.45.00
a, POINT, A1, 03:32:30.0, -27.48.00, 2.0
b, POINT, A2, 03:33:00.0, -27.53.00, 1.0
c, POINT, B, 03:32:00.0, -27.45.00, 0.5
"""


def test_patches_by_name_or_pattern(command, observed, tmp_path):
    sky = tmp_path / "patches.skymodel"
    sky.write_text(PATCHES)
    out = tmp_path / "g.h5"
    what = ("calibrate", observed, "--sky", sky, "--term", "G: diag, per patch", "--out", out, "--overwrite")
    for names, kept in (("A*", ["A1", "A2"]), ("!A1", ["A2", "B"]), ("A*,!A2", ["A1"]), ("B", ["B"])):
        command(*what, "--patch", names)
        assert calibration.read_h5parm(out)[0].directions == kept
    assert "there is no patch 'C*'; there are A1, A2, B" in command(*what, "--patch", "C*", code=1).stderr
    assert "nothing is left" in command(*what, "--patch", "!*", code=1).stderr
    command(*what)
    again = ("apply", observed, "--solutions", out, "--subtract", "--sky", sky, "--no-correct", "--output-column")
    command(*again, "ONE", "--patch", "A*")
    command(*again, "TWO", "--keep", "B")
    command(*again, "THREE", "--keep", "A*")
    one, two, three = (
        next(rt.ms.tiles(observed, [name], time_slots=99))["columns"][name] for name in ("ONE", "TWO", "THREE")
    )
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, three)


def test_outliers(command, observed, sky_file, tmp_path):
    what = ("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "g.h5")
    done = command(*what, "--flag-data", 2, "--noise-per", "baseline")
    assert re.search(r"visibilities left out, for they stand out: [1-9]", done.stdout)
    assert "SIGMA" in command("calibrate", "--help").stdout


def test_weights_of_corrected_data(command, observed, sky_file, tmp_path):
    """Without the column nothing begins; with it weights are those of gains."""
    out = tmp_path / "g.h5"
    what = ("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", out)
    assert "WEIGHT_SPECTRUM" in command(*what, "--apply", "--weights", code=1).stderr and not out.exists()
    assert "--weights goes with --apply" in command(*what, "--weights", code=2).stderr
    path = str(tmp_path / "spectrum.ms")
    rt.ms.create(
        path,
        "kat-7",
        phase_centre_rad=(0.927, -0.485),
        duration_s=60.0,
        integration_s=30.0,
        bands=[rt.ms.Band.regular(1.4e9, 4e6, 4)],
        weight_spectrum=True,
    )
    command("simulate", path, "--sky", sky_file, "--column", "DATA", "--noise", 0.05)
    command("calibrate", path, *what[2:], "--apply", "--weights")
    gain = np.abs(calibration.read_h5parm(out)[0]["G"].gain()[0, 0, :, 0])
    (tile,) = rt.ms.tiles(path, [], time_slots=10)
    for k, (p, q) in enumerate(tile["baselines"]):
        expected = np.outer(np.diag(gain[p]), np.diag(gain[q])).ravel() ** 2
        np.testing.assert_allclose(tile["weight"][k, 0, 0], expected, rtol=1e-5)
    again = ("apply", path, "--solutions", out, "--weights", "--again")
    assert "weights of corrected data are in" in command(*again).stderr


@pytest.mark.parametrize("home", [None, ""])
def test_sets_are_opened_where_nobody_has_a_home(kat7, process, home):
    """casacore refuses to open tables there, as in services: all commands that open a set had failed."""
    arguments, environment = process
    environment = {name: value for name, value in environment.items() if name != "HOME"}
    if home is not None:
        environment["HOME"] = home
    done = subprocess.run([*arguments, "inspect-ms", str(kat7)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "no warnings" in done.stdout, done.stderr
