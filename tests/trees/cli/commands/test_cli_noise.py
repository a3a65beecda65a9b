"""`rimetree simulate --noise`: every row and channel has noise of its own, however a set is put together."""

import os
import struct

import numpy as np
import pytest

import rimetree as rt


def noise_of(command, path, tmp_path, *options, column="MODEL_DATA"):
    """[row, channel, correlation] what `simulate` writes for a sky of nothing, in the order of rows."""
    sky = tmp_path / "empty.skymodel"
    sky.write_text("# (Name, Type, Ra, Dec, I) = format\na, POINT, 3h26m15s, -28.38.52, 0\n")
    command("simulate", path, "--sky", sky, "--noise", "0.5", "--column", column, *options)
    rows, values = [], []
    for tile in rt.ms.tiles(path, [column], time_slots=100):
        there = tile["row"] >= 0
        rows.append(tile["row"][there])
        values.append(tile["columns"][column][there])
    return np.concatenate(values)[np.argsort(np.concatenate(rows))]


TWICE_S = np.repeat(5.0e9 + 10.0 * np.arange(3), 2)


@pytest.mark.parametrize(
    "changes",
    [{"n_window": 2}, {"time_s": TWICE_S, "n_field": 2}, {"time_s": TWICE_S}],
    ids=["windows", "fields", "rows"],
)
def test_rows_of_one_time_and_frequency_have_noise_of_their_own(command, small_ms, tmp_path, changes):
    """Windows that are alike, fields that are observed at once, and repeated rows had the same numbers each."""
    path = small_ms(**changes)
    found = noise_of(command, path, tmp_path)
    assert len(found) == 36
    assert len(np.unique(found.ravel())) == found.size
    # 2304 real and as many imaginary parts: 5 standard deviations are 5 %.
    assert np.std([found.real, found.imag]) == pytest.approx(0.5, rel=0.055)


@pytest.mark.parametrize("changes", [{"n_window": 2}, {"time_s": TWICE_S, "n_field": 2}, {"time_s": TWICE_S}])
def test_noise_is_that_of_the_row_however_rows_are_taken(command, small_ms, tmp_path, changes):
    path = small_ms(**changes)
    expected = noise_of(command, path, tmp_path)
    assert (noise_of(command, path, tmp_path, "--time-slots", "1", "--threads", "1", column="A") == expected).all()
    for one in range(2):
        which = "--ddid" if "n_window" in changes else "--field"
        if which == "--field" and "n_field" not in changes:
            return
        found = noise_of(command, path, tmp_path, which, one, column="B")
    assert (found == expected).all(), "written in two runs"


def test_a_seed_without_noise_is_refused(command, small_ms, tmp_path):
    """It had added none, without a word."""
    refused = command("simulate", small_ms(), "--sky", tmp_path / "a.skymodel", "--seed", "3", code=2)
    assert "--seed goes with --noise" in refused.stderr


def test_noise_of_stokes_i_is_as_large_as_was_asked_for(command, small_ms, tmp_path, patched):
    """Of two feeds with that noise each the mean had been written: 0.7 of it."""
    path = small_ms(correlation_type=(9,), n_time=40)
    xx, stokes_i = (struct.pack("<iii", 1, 1, number) for number in (9, 1))  # an array of one element
    patched(os.path.join(path, "POLARIZATION"), xx, stokes_i)
    found = noise_of(command, path, tmp_path)
    # 1920 real and as many imaginary parts: 5 standard deviations are 6 %.
    assert np.std([found.real, found.imag]) == pytest.approx(0.5, rel=0.06)
