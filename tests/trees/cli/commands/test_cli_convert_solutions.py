"""`rimetree convert-solutions`, and tables of CASA wherever solutions are taken."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import read_h5parm


@pytest.fixture
def solved(command, kat7, sky_file, tmp_path):
    """A set with noise, and solutions of two terms: (set, H5parm)."""
    command("simulate", kat7, "--sky", sky_file, "--noise", "0.1", "--column", "DATA")
    terms = ("--term", "B: diag, 1chan", "--term", "G: diag, 2slots")
    command("calibrate", kat7, "--sky", sky_file, *terms, "--out", tmp_path / "sol.h5")
    return kat7, tmp_path / "sol.h5"


def column_of(path, name):
    (tile,) = rt.ms.tiles(path, [name], time_slots=100)
    return tile["columns"][name]


def test_there_and_back(command, solved, tmp_path):
    """Data are corrected by tables as by the file that they were written from, and so they are by a file of those."""
    ms, file = solved
    done = command("convert-solutions", tmp_path / "obs", "--solutions", file, "--ms", ms)
    tables = [tmp_path / "obs.B", tmp_path / "obs.G"]
    assert f"wrote {tables[0]}, {tables[1]}" in done.stderr
    back = tmp_path / "back.h5"
    both = ("--solutions", tables[0], "--solutions", tables[1])
    assert f"wrote {back}: B, G; solution sets: 1" in command("convert-solutions", back, *both).stderr
    command("apply", ms, "--solutions", file)
    command("apply", ms, *both, "--output-column", "BY_TABLES")
    command("apply", ms, "--solutions", back, "--output-column", "BY_BACK")
    expected = column_of(ms, "CORRECTED_DATA")
    assert abs(expected - column_of(ms, "DATA")).max() > 1e-3
    np.testing.assert_allclose(column_of(ms, "BY_TABLES"), expected, atol=2e-5)
    np.testing.assert_array_equal(column_of(ms, "BY_BACK"), column_of(ms, "BY_TABLES"))


def test_tables_go_wherever_solutions_go(command, solved, sky_file, tmp_path):
    ms, file = solved
    command("convert-solutions", tmp_path / "obs", "--solutions", file, "--terms", "G", "--ms", ms)
    table = tmp_path / "obs.G"
    assert not (tmp_path / "obs.B").exists()
    command("plot-solutions", table, "-o", tmp_path / "g.png")
    command("simulate", ms, "--sky", sky_file, "--solutions", table, "--no-flag-version")
    held = ("--hold", table, "--term", "B: diag, 1chan", "--start", file)
    command("calibrate", ms, "--sky", sky_file, *held, "--out", tmp_path / "b.h5")
    (found,) = read_h5parm(tmp_path / "b.h5")
    assert {term.name for term in found.terms} >= {"B"}


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["obs"], 2, "obs.TERM would be tables of CASA, which have the windows of a set: give --ms"),
        (["new.h5", "--direction", "a"], 2, "--direction is for tables of CASA"),
        (["sol.h5"], 1, "exists; choose another name or give --overwrite"),
        (["new.h5", "--from-field", "0"], 2, "--from-field goes with --ms"),
        (["new.h5", "--ms", "none.ms"], 1, "there is no Measurement Set none.ms"),
        (["new.h5", "--solutions", "none"], 1, "there is no such file"),
    ],
)
def test_what_cannot_be_converted(command, solved, tmp_path, options, code, said):
    _, file = solved
    out, *rest = options
    assert said in command("convert-solutions", tmp_path / out, "--solutions", file, *rest, code=code).stderr


def test_files_of_other_windows_are_not_joined(command, solved, tmp_path):
    _, file = solved
    (one,) = read_h5parm(file)
    rt.calibration.write_h5parm(tmp_path / "two.h5", [one, one])
    files = ("--solutions", file, "--solutions", tmp_path / "two.h5")
    refused = command("convert-solutions", tmp_path / "all.h5", *files, code=1)
    assert "the files have 1, 2 solution sets: only those for the same windows can be one" in refused.stderr
