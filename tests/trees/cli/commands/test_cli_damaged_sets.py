"""Sets with numbers that cannot be: what is wrong with them is said, by every command, as it is."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import calibrate, parse_terms

CENTRE = (0.9273, -0.4848)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (5.0, 0.0, 0.0, 0.0))])


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "a.ms"
    bands = rt.ms.Band.regular(1.3125e9, 8e6, 4)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60, integration_s=20, bands=bands)
    return path


def solve(path, tmp_path):
    return calibrate(path, SKY, parse_terms(["G: diag"]), tmp_path / "s.h5")


@pytest.mark.parametrize("value", [0.0, -1.0e9, np.nan, np.inf])
def test_frequencies_that_are_none(made, tmp_path, value, patched):
    """Data at 0 Hz were calibrated, and NaN ended in a message about a state field."""
    frequency = rt.ms.Band.regular(1.3125e9, 8e6, 4).frequency_hz[1]
    patched(made / "SPECTRAL_WINDOW", frequency, value)
    (warning,) = [one for one in rt.ms.inspect(made)["warnings"] if "frequency in CHAN_FREQ" in one]
    assert "spectral window 0: 1 channels" in warning
    said = r"spectral window 0 of .*a\.ms: channel 1 has CHAN_FREQ .* Hz, expected a positive frequency"
    with pytest.raises(rt.Error, match=said):
        list(rt.ms.tiles(made, ["DATA"]))
    with pytest.raises(rt.Error, match=said):
        solve(made, tmp_path)


def test_widths_that_are_no_numbers(made, tmp_path, patched):
    patched(made / "SPECTRAL_WINDOW", 2e6, np.nan)
    assert any("a CHAN_WIDTH that is not a number" in one for one in rt.ms.inspect(made)["warnings"])
    with pytest.raises(rt.Error, match="has CHAN_WIDTH nan Hz, expected a finite number"):
        solve(made, tmp_path)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_cells_have_positive_frequencies(value):
    with pytest.raises(rt.Error, match="freq_hz must be positive, not"):
        rt.Cells(time_s=[0.0], freq_hz=[1e9, value])


def test_times_that_are_no_numbers(made, tmp_path, patched):
    """It said that there were no rows between different antennas, and that nobody had been exposed."""
    (tile,) = rt.ms.tiles(made, [])
    patched(made, tile["time_s"][1], np.nan)
    summary = rt.ms.inspect(made)
    assert "column TIME" in summary["rows_problem"] and summary["warnings"] == [summary["rows_problem"]]
    with pytest.raises(rt.Error, match=r"column TIME of .*, row 21 is not a finite number"):
        solve(made, tmp_path)


def test_times_that_are_not_in_utc(command, made, tmp_path, patched):
    """TAI had been taken for UTC without a word, by which feeds turn half a minute too early."""
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    words = ("calibrate", made, "--sky", tmp_path / "a.skymodel", "--term", "G: diag", "--term", "P: parallactic")
    command(*words, "--out", tmp_path / "s.h5", "--dry-run")
    assert rt.ms.inspect(made)["time_reference"] == "UTC"
    patched(made, b"UTC", b"TAI")
    assert "TIME is in TAI, and is taken for UTC" in command("inspect-ms", made).stdout
    said = command(*words, "--out", tmp_path / "s.h5", "--dry-run", code=1).stderr
    assert 'term "P: parallactic": TIME of' in said and "is in TAI, and must be in UTC" in said


def test_exposures_that_are_no_numbers(command, made, patched):
    """`inspect-ms` ended in a TypeError."""
    patched(made, 20.0, np.nan)
    done = command("inspect-ms", made)
    assert "63 rows have an EXPOSURE that is not a number" in done.stdout and "1 warning:" in done.stdout
    assert "EXPOSURE no number, INTERVAL" in done.stdout


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nothing_is_predicted_where_exposures_are_no_numbers(command, made, tmp_path, patched, value):
    """What was predicted where that was so in all rows of a time slot was not smeared in time, and looked all right."""
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    patched(made, 20.0, value)
    words = ("simulate", made, "--sky", tmp_path / "a.skymodel", "--column", "DATA")
    command(*words)
    assert all(np.isnan(tile["columns"]["DATA"][..., [0, 3]]).all() for tile in rt.ms.tiles(made, ["DATA"]))
    command(*words, "--no-smearing")
    assert all(np.isfinite(tile["columns"]["DATA"]).all() for tile in rt.ms.tiles(made, ["DATA"]))


@pytest.mark.parametrize("value, said", [(0.0, "EXPOSURE is 0 s or negative in all rows"), (np.nan, "63 rows have")])
def test_exposures_that_smear_nothing_are_named_by_whatever_predicts(command, made, tmp_path, patched, value, said):
    """`inspect-ms` alone had named them."""
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    sky = ("--sky", tmp_path / "a.skymodel")
    command("simulate", made, *sky, "--column", "DATA")
    patched(made, 20.0, value)
    for words in (
        ("simulate", made, *sky, "--dry-run"),
        ("calibrate", made, *sky, "--term", "G: diag", "--out", tmp_path / "s.h5", "--dry-run"),
    ):
        assert f"warning: {said}" in command(*words).stderr, words[0]
        assert said not in command(*words, "--no-smearing").stderr, words[0]
    refused = command("simulate", made, *sky, "--sefd", "400Jy", code=1).stderr
    assert "nobody knows how much noise they have; give --noise" in refused


def test_phase_centres_that_are_no_numbers(command, made, tmp_path, patched):
    """Commands ended in a TypeError."""
    patched(made / "FIELD", CENTRE[1], np.nan)
    assert "the phase centre is not a number" in command("inspect-ms", made).stdout
    with pytest.raises(rt.Error, match=r"the phase centre of field 0 .* is not a number"):
        solve(made, tmp_path)


def test_positions_that_are_no_numbers(command, made, patched):
    x, _, _ = next(one for one in rt.ms.inspect(made)["antennas"] if one["id"] == 3)["position_m"]
    patched(made / "ANTENNA", x, np.nan)
    assert "antennas whose position is not a number: ANT-3 (3)" in command("inspect-ms", made, "--antennas").stdout


@pytest.mark.parametrize("column", ["UVW", "NOTHING"])
def test_a_column_without_visibilities_is_named_before_anything_is_done(command, made, tmp_path, column):
    """UVW ended in a page about nodes, and a dry run took what there is not."""
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    what = ("calibrate", made, "--sky", tmp_path / "a.skymodel", "--term", "G: diag", "--out", tmp_path / "s.h5")
    for more in ((), ("--dry-run",)):
        done = command(*what, "--data-column", column, *more, code=1)
        assert f"has no column of visibilities {column}; columns of visibilities are: DATA" in done.stderr
    command("simulate", made, "--sky", tmp_path / "a.skymodel", "--column", "DATA")
    command(*what)
    done = command("apply", made, "--solutions", tmp_path / "s.h5", "--data-column", column, "--dry-run", code=1)
    assert f"no column of visibilities {column}" in done.stderr


def test_visibilities_get_no_name_of_something_else(command, made, tmp_path):
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    what = ("simulate", made, "--sky", tmp_path / "a.skymodel", "--column", "SIGMA_SPECTRUM")
    for more in ((), ("--dry-run",)):
        assert "in Measurement Sets that is the name of something else" in command(*what, *more, code=1).stderr
    assert rt.ms.inspect(made)["columns"][0]["name"] == "DATA" and len(rt.ms.inspect(made)["columns"]) == 1


FULL = """
set -e
mount -t tmpfs -o size=3m tmpfs "$1"
cp -r "$2" "$1/full.ms"
dd if=/dev/zero of="$1/rest" bs=1k 2>/dev/null || true
truncate -s -"$4" "$1/rest"
exec "$3" -c '
import sys, rimetree as rt
for action in (
    lambda path: rt.ms.check_writable(path, ["CORRECTED_DATA"]),
    lambda path: rt.ms.check_writable(path, ["DATA"]),
    lambda path: rt.ms.save_flags(path, "mine"),
):
    try:
        action(sys.argv[1])
    except rt.Error as problem:
        print(problem)
' "$1/full.ms"
"""


def with_room(made, tmp_path, room: str) -> str:
    """What is said on a disk on which so much room is left."""
    (tmp_path / "disk").mkdir()
    apart = [] if os.geteuid() == 0 else ["--map-root-user"]
    run = ["unshare", "--mount", *apart, "bash", "-c", FULL, "bash", tmp_path / "disk", made, sys.executable, room]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=300)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("file systems cannot be mounted here")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_is_named_when_a_set_is_opened_for_writing(made, tmp_path):
    """casacore ended the program when it closed the table."""
    said = with_room(made, tmp_path, "0")
    assert said.count("the disk is full; free some space") == 2 and "opening" in said


def test_a_disk_that_is_nearly_full_is_named(made, tmp_path):
    """casacore ended the program when it closed a flag version; a column that was there "needed 64 MiB"."""
    said = with_room(made, tmp_path, "100K").splitlines()
    assert "column CORRECTED_DATA of" in said[0] and "needs 64" in said[0] and "only 1" in said[0]
    assert "writing column DATA of" in said[1] and "and 64 MiB shall stay free" in said[1]
    assert "saving flags of" in said[2] and "needs 1 MiB" in said[2] and said[2].endswith("are free; free some space")


def test_data_of_zeros_are_named(command, made, tmp_path):
    """A new set that nothing was simulated into had solutions "without data"."""
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    what = ("calibrate", made, "--sky", tmp_path / "a.skymodel", "--term", "G: diag", "--out", tmp_path / "s.h5")
    assert "DATA holds nothing but zeros" in command(*what, code=3).stderr


@pytest.mark.parametrize("what", ["frame", "direction"])
def test_a_phase_centre_that_is_in_doubt_is_named_by_whatever_predicts(command, made, tmp_path, patched, what):
    """A frame that is not fixed to the sky was named by `inspect-ms` alone."""
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    if what == "frame":
        patched(made / "FIELD", b"J2000", b"HADEC")
        said = "the phase centre is given in the frame HADEC and was not converted to J2000: it counts as J2000"
        advice = "; sources may stand in wrong places: give --phase-centre if they do"
    else:
        patched(made / "FIELD", CENTRE[1], CENTRE[1] + 0.1)
        said = "UVW of field 0 "
        advice = "give --phase-centre (about 53.1"
    (warning,) = [one for one in rt.ms.inspect(made)["warnings"] if said in one]
    sky = ("--sky", tmp_path / "a.skymodel")
    command("simulate", made, *sky, "--column", "DATA", "--phase-centre", f"{CENTRE[0]}rad", f"{CENTRE[1]}rad")
    for words in (
        ("calibrate", made, *sky, "--term", "G: diag", "--out", tmp_path / "s.h5", "--dry-run"),
        ("simulate", made, *sky, "--dry-run"),
        ("image", made, *sky, "-o", tmp_path / "a.png", "--size", "64"),
    ):
        done = command(*words)
        assert f"warning: {warning}" in done.stderr and advice in done.stderr, words[0]
        done = command(*words, "--phase-centre", "53.1305deg", "-27.7770deg")
        assert "phase centre" not in done.stderr and "--phase-centre" not in done.stderr, words[0]
