"""Solutions that were applied to a column in place are not applied to it a second time without a word."""

import os

import numpy as np
import pytest

import rimetree as rt


@pytest.fixture
def solved(command, kat7, sky_file, tmp_path):
    """A set with data, its solutions: (set, file, another file)."""
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.1)
    for name, interval in (("s.h5", "1slot"), ("t.h5", "1h")):
        command("calibrate", kat7, "--sky", sky_file, "--term", f"G: diag, {interval}", "--out", tmp_path / name)
    return kat7, tmp_path / "s.h5", tmp_path / "t.h5"


def data(path, column="DATA"):
    (tile,) = rt.ms.tiles(path, [column], time_slots=1000)
    return tile["columns"][column]


def test_the_same_solutions_in_place(command, solved, sky_file):
    ms, file, other = solved
    in_place = ("apply", ms, "--solutions", file, "--output-column", "DATA")
    command(*in_place)
    once = data(ms)
    said = command(*in_place, code=1).stderr
    assert "DATA of field 0, window 0 had the same solutions applied at 20" in said and "--again" in said
    for more in (("--scan", 1), ("--interpolation", "linear"), ("--subtract", "--sky", sky_file), ("--dry-run",)):
        command(*in_place, *more, code=1)
    np.testing.assert_array_equal(data(ms), once)
    command("apply", ms, "--solutions", file)  # to another column: as often as one likes
    command("apply", ms, "--solutions", file)
    command("apply", ms, "--solutions", other, "--output-column", "DATA")
    assert "had the same" in command(*in_place, code=1).stderr  # what came between does not matter
    assert "it is a second time" in command(*in_place, "--again").stderr
    command("simulate", ms, "--sky", sky_file, "--column", "DATA")  # other data
    command(*in_place)


def test_the_same_solutions_to_other_rows(command, solved):
    ms, file, _ = solved
    in_place = ("apply", ms, "--solutions", file, "--output-column", "DATA")
    command(*in_place, "--time", "0s~60s")
    assert "second time" not in command(*in_place, "--time", "60s~120s").stderr
    assert "would be a second time" in command(*in_place, "--time", "60s~180s", code=1).stderr
    command(*in_place, "--time", "120s~180s", "--antenna", "ANT-0,ANT-1")
    said = command(*in_place, "--time", "120s~180s", "--antenna", "ANT-1,ANT-2").stderr
    assert "of antennas" in said and "rows that are chosen now as well are a second time" in said
    assert "had the same" in command(*in_place, code=1).stderr  # all rows


def test_the_same_model_subtracted_in_place(command, solved, sky_file):
    ms, file, _ = solved
    given = ("apply", ms, "--solutions", file, "--output-column", "DATA", "--subtract", "--sky", sky_file)
    command(*given, "--no-correct")
    assert "had the same model subtracted at" in command(*given, "--no-correct", code=1).stderr
    assert "had the same model subtracted at" in command(*given, code=1).stderr
    command("apply", ms, "--solutions", file, "--output-column", "DATA")


def test_the_same_weights(command, solved, tmp_path):
    _, file, other = solved
    ms = tmp_path / "weighted.ms"
    how = "--telescope kat-7 --phase-centre 3h33m -27d48m --duration 5min --integration 60s --weight-spectrum"
    command("make-ms", ms, *how.split(), "--freq", "1400MHz", "--channels", 4, "--bandwidth", "16MHz")
    given = ("apply", ms, "--solutions", file, "--weights")
    command(*given)
    weights = next(iter(rt.ms.tiles(ms, ["DATA"], time_slots=1000)))["weight"].copy()
    assert "WEIGHT_SPECTRUM of field 0, window 0 had the same solutions applied at" in command(*given, code=1).stderr
    np.testing.assert_array_equal(next(iter(rt.ms.tiles(ms, ["DATA"], time_slots=1000)))["weight"], weights)
    command("apply", ms, "--solutions", file)
    assert "it is a second time" in command(*given, "--again").stderr
    assert "multiplied for other solutions" in command("apply", ms, "--solutions", other, "--weights").stderr


def test_notes_that_cannot_be_read(command, solved):
    ms, file, _ = solved
    notes = ms / "rimetree.DATA.applied"
    notes.write_text("nonsense\n")
    said = command("apply", ms, "--solutions", file, "--output-column", "DATA").stderr
    assert "rimetree.DATA.applied, which says what has been applied, cannot be read" in said
    assert os.path.getsize(notes) > 0
