"""What is wrong with the set, its columns or its locks is said before anything is computed."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration.progress_file import ProgressFile

LOCK = """
import fcntl, os, struct, sys, time
file = os.open(sys.argv[1] + "/table.lock", os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhllhh", int(sys.argv[2]), 0, 0, 1, 0, 0))
print("locked", flush=True)
time.sleep(float(sys.argv[3]))
"""


@pytest.fixture
def locked():
    """A function: another process takes a lock (fcntl.F_RDLCK or F_WRLCK) on a set for so many seconds."""
    processes = []

    def take(path, kind, seconds):
        process = subprocess.Popen(
            [sys.executable, "-c", LOCK, str(path), str(kind), str(seconds)], stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout.readline() == "locked\n"

    yield take
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_dry_run_refuses_what_a_run_would(command, kat7, sky_file, tmp_path):
    for column, reason in (("UVW", "expected an array of Complex"), ("WEIGHT", "real numbers"), ("A B", "be called")):
        done = command("simulate", kat7, "--sky", sky_file, "--column", column, "--dry-run", code=1)
        assert reason in done.stderr
    arguments = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "s.h5", "--apply"]
    assert "column UVW" in command(*arguments, "--output-column", "UVW", code=1).stderr
    assert not list(tmp_path.glob("s.h5*"))


def test_others_that_read_are_tolerated(command, kat7, sky_file, locked):
    locked(kat7, fcntl.F_RDLCK, 600)
    command("simulate", kat7, "--sky", sky_file)
    (tile,) = rt.ms.tiles(kat7, ["MODEL_DATA"], time_slots=99)
    assert np.abs(tile["columns"]["MODEL_DATA"]).max() > 1


def test_others_that_write_are_named_before_solving_and_can_be_waited_for(command, kat7, sky_file, locked, tmp_path):
    locked(kat7, fcntl.F_WRLCK, 4)
    out = tmp_path / "s.h5"
    arguments = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--data-column", "MODEL_DATA"]
    done = command(*arguments, "--out", out, "--apply", code=1)
    assert "another program (process" in done.stderr and "has it open for writing" in done.stderr
    assert not list(tmp_path.glob("s.h5*"))
    done = command("simulate", kat7, "--sky", sky_file, "--wait", "60s")
    assert done.stderr.count("waiting for up to 60 s: ") == 1 and "(process" in done.stderr


def test_flags_wait_too(command, kat7, locked):
    command("flags", "save", kat7, "mine")
    locked(kat7, fcntl.F_WRLCK, 2)
    assert "has it open for writing" in command("flags", "restore", kat7, "mine", code=1).stderr
    done = command("flags", "restore", kat7, "mine", "--wait", "60s")
    assert done.stderr.count("waiting for up to 60 s: ") == 1 and "flags of mine restored" in done.stdout


def test_other_errors_are_not_waited_for(command, kat7, sky_file, locked):
    locked(kat7, fcntl.F_RDLCK, 600)
    begun = time.monotonic()
    done = command("simulate", kat7, "--sky", sky_file, "--column", "UVW", "--wait", "60s", code=1)
    assert "expected an array of Complex" in done.stderr and "waiting" not in done.stderr
    assert time.monotonic() - begun < 30


def test_waiting_is_ended_by_ctrl_c(process, kat7, sky_file, locked):
    """Restoring flags, and writing after a solve, could not be interrupted while they waited."""
    rt.ms.save_flags(kat7, "mine")
    locked(kat7, fcntl.F_WRLCK, 600)
    with pytest.raises(rt.ms.SetLockedError, match="has it open for writing"):
        rt.ms.check_writable(kat7, ["DATA"], wait_s=0.3)
    program, environment = process
    for what in (["simulate", kat7, "--sky", sky_file], ["flags", "restore", kat7, "mine"]):
        line = [*program, *map(str, what), "--wait", "10min"]
        with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True) as run:
            assert "waiting for up to 600 s" in run.stderr.readline()
            run.send_signal(signal.SIGINT)
            assert run.wait(20) == 130


def test_where_reports_cannot_be_written_nothing_is_solved(command, kat7, sky_file, tmp_path):
    """It was found out after the solving."""
    what = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "s.h5"]
    done = command(*what, "--report", "-", "--report", tmp_path / "none" / "r.html", code=1)
    assert done.stderr == f"error: {tmp_path}/none/r.html: there is no folder to write this file to\n"
    (tmp_path / "r.txt").mkdir()
    assert "this is a folder, not a file" in command(*what, "--report", tmp_path / "r.txt", code=1).stderr
    for words in (["image", kat7, "-o"], ["simulate", kat7, "--sky", sky_file, "--report"]):
        assert "there is no folder" in command(*words, tmp_path / "none" / "r.png", code=1).stderr
    assert not list(tmp_path.glob("s.h5*")) and not list(tmp_path.glob(".*"))
    # Solutions as well: it named a temporary file. And what a number should be is said in plain words.
    missing = tmp_path / "none" / "s.h5"
    done = command(*what[:-1], missing, code=1)
    assert done.stderr.splitlines()[-1] == f"error: {missing}: there is no folder to write this file to"
    done = command(*what[:-1], tmp_path / "t.h5", "--start", tmp_path / "r.txt", code=1)
    assert done.stderr.splitlines()[-1].endswith("r.txt: this is a folder, not a file of solutions")
    for option, kind in (("--flag-data", "number"), ("--iterations", "whole number")):
        assert f"is not a valid {kind}." in command(*what, option, "many", code=2).stderr


def test_where_flags_cannot_be_saved_nothing_is_solved(command, kat7, sky_file, tmp_path):
    """It was found out after the solving."""
    (tmp_path / "kat7.ms.flagversions").write_text("")
    what = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "s.h5", "--apply"]
    assert "kat7.ms.flagversions: it is no folder" in command(*what, code=1).stderr
    assert not list(tmp_path.glob("s.h5*"))
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.1)
    command(*what, "--no-flag-version")
    assert "it is no folder" in command("apply", kat7, "--solutions", tmp_path / "s.h5", code=1).stderr


def test_visibilities_are_not_written_where_weights_are(command, sky_file, tmp_path):
    """They had taken their place, without a word."""
    path = tmp_path / "a.ms"
    about = ("--telescope", "kat-7", "--phase-centre", "4h00m00s", "-30d00m", "--duration", "1min", "--channels", 2)
    command("make-ms", path, *about, "--weight-spectrum")
    command("calibrate", path, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "s.h5", code=None)
    for words in (["simulate", "--sky", sky_file, "--column"], ["apply", "--solutions", tmp_path / "s.h5"]):
        option = [] if words[-1] == "--column" else ["--output-column"]
        done = command(words[0], path, *words[1:], *option, "WEIGHT_SPECTRUM", code=1)
        assert "WEIGHT_SPECTRUM holds weights: visibilities are not written there" in done.stderr
    script = tmp_path / "tree.py"
    script.write_text(
        "import rimetree as rt\n"
        "def define_forest(ns, ms):\n"
        "    for p, q in ms.baselines:\n"
        "        given = dict(station_1_index=p, station_2_index=q, output_column='WEIGHT_SPECTRUM')\n"
        "        ns.sink(p, q) << rt.Sink(rt.Constant(VALUE), **given)\n"
    )
    text = script.read_text()
    script.write_text(text.replace("VALUE", "4.0j"))
    assert "cannot be written as weights" in command("run", script, path, code=1).stderr
    assert all((tile["weight"] == 1).all() for tile in rt.ms.tiles(path))
    script.write_text(text.replace("VALUE", "4.0"))
    command("run", script, path)
    assert all((tile["weight"] == 4).all() for tile in rt.ms.tiles(path))  # of crossed hands, too


def test_antennas_without_held_solutions_are_named(command, kat7, sky_file, tmp_path):
    """Their data were left out without a word, and their solutions "without data"."""
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.1)
    what = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--overwrite", "--out"]
    assert "--hold" not in command(*what, tmp_path / "s.h5").stderr
    (found,) = rt.calibration.read_h5parm(tmp_path / "s.h5")
    other = dataclasses.replace(found["G"], antennas=("X", "Y", *found["G"].antennas[2:]))
    rt.calibration.write_h5parm(tmp_path / "s.h5", rt.calibration.Solutions((other,)))
    for more in ((), ("--dry-run",)):
        done = command(*what, tmp_path / "t.h5", "--hold", tmp_path / "s.h5", *more)
        assert "warning: --hold has no solutions for 2 antennas, ANT-0, ANT-1: their data are left out" in done.stderr


def test_exposures_of_zero_are_named(command, small_ms, tmp_path):
    """`create` takes no 0; what is shorter than a microsecond counts as 0."""
    path = small_ms(exposure_s=1e-9)
    sky_file = tmp_path / "a.skymodel"
    rt.sky.write(rt.sky.SkyModel([rt.sky.Source("a", 0.9, -0.5, (2, 0, 0, 0))]), sky_file)
    command("simulate", path, "--sky", sky_file, "--column", "DATA", "--noise", 0.1)
    what = ("calibrate", path, "--sky", sky_file, "--out", tmp_path / "s.h5", "--overwrite")
    for term in ("G: diag, 1slot", "G: diag"):
        done = command(*what, "--term", term)
        assert "EXPOSURE is 0, negative or no number in field 0" in done.stderr and "time_edges_s" not in done.stderr
    (found,) = rt.calibration.read_h5parm(tmp_path / "s.h5")
    assert found["G"].shape[0] == 1 and np.isfinite(found["G"].gain()).all()


def test_one_hand_is_not_half_flagged(command, sky_file, tmp_path):
    rt.ms.create(
        tmp_path / "rr.ms",
        "vla-d",
        phase_centre_rad=(0.9272, -0.4852),
        duration_s=60.0,
        integration_s=30.0,
        correlations="RR",
        bands=rt.ms.Band.regular(1.4e9, 2e6, 2),
    )
    command("simulate", tmp_path / "rr.ms", "--sky", sky_file, "--column", "DATA", "--noise", 0.01)
    done = command(
        *(
            "calibrate",
            tmp_path / "rr.ms",
            "--sky",
            sky_file,
            "--term",
            "G: diag",
            "--out",
            tmp_path / "s.h5",
            "--apply",
        )
    )
    assert "values flagged: none" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("VLA") or line.startswith("W")]
    assert all(row[-1] == "0.0" for row in rows) and "50.0" not in done.stdout
    assert "0 % are newly flagged" in done.stdout


def test_draw_of_a_script_that_needs_a_set(command, tmp_path):
    script = tmp_path / "tree.py"
    script.write_text(
        "import rimetree as rt\n\ndef define_forest(ns, ms):\n    ns.a << rt.Constant(len(ms.baselines))\n"
    )
    done = command("draw", script, "-o", tmp_path / "a.svg", code=1)
    assert f"{script}:4: this script needs a Measurement Set" in done.stderr
    assert "AttributeError" not in done.stderr


def test_a_full_disk_names_the_file(tmp_path):
    """A limit on file sizes stands for the full disk: both end in an OSError of write that names no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    progress = ProgressFile(tmp_path / "sol.h5", {"a": 1})
    progress.begin()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match=r"sol\.h5\.progress") as caught:
            progress.add({}, {"x": np.random.default_rng(1).normal(size=10000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == os.fspath(progress.path)


def test_what_two_hands_cannot_be_corrected_for_is_refused_before_solving(command, sky_file, tmp_path):
    rt.ms.create(
        tmp_path / "two.ms",
        "kat-7",
        phase_centre_rad=(0.9272, -0.4852),
        duration_s=60.0,
        integration_s=30.0,
        correlations="XX YY",
        bands=rt.ms.Band.regular(1.4e9, 2e6, 2),
    )
    what = ["calibrate", tmp_path / "two.ms", "--sky", sky_file, "--term", "F: full", "--out", tmp_path / "s.h5"]
    done = command(*what, "--apply", code=1)
    said = f"window 0 of {tmp_path / 'two.ms'} has correlations XX YY; matrices that mix the feeds can only be"
    assert said in done.stderr
    assert not list(tmp_path.glob("s.h5*"))


@pytest.mark.parametrize(
    ("term", "says"),
    [
        ("D: leakage", "a leakage: leave the term out"),
        ("X: crosshand", "a crosshand phase: leave the term out"),
        ("R: rotation", "a rotation: leave the term out"),
        ("F: full", "a full matrix: solve for diag"),
    ],
)
def test_what_one_feed_does_not_tell_is_refused_before_solving(command, small_ms, sky_file, tmp_path, term, says):
    """All was flagged at the end, with NumPy's "Mean of empty slice" beside it."""
    path = small_ms(correlation_type=[9])
    what = ["calibrate", path, "--sky", sky_file, "--term", "G: diag", "--term", term, "--out", tmp_path / "s.h5"]
    done = command(*what, code=1)
    assert f'term "{term}": window 0 of {path} has XX alone, and one feed tells nothing of {says}' in done.stderr
    assert not list(tmp_path.glob("s.h5*"))


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--in-turn",)])
def test_what_the_sky_does_not_tell_is_refused_before_solving(command, small_ms, sky_file, tmp_path, more):
    """All was "without data" at the end."""
    what = ["calibrate", small_ms(), "--sky", sky_file, "--term", "G: diag", "--term", "X: crosshand", *more]
    done = command(*what, "--out", tmp_path / "s.h5", code=3)
    assert 'term "X: crosshand": not determined by this sky: no source of the model has U or V' in done.stderr
    assert not list(tmp_path.glob("s.h5*"))


def test_where_nothing_is_told_nothing_is_solved(command, small_ms, tmp_path):
    """A field whose sky tells nothing of the only term ended the command: "there is nothing to solve for"."""
    path = small_ms(n_field=2, n_time=4)
    for field, (ra, u) in enumerate(((0.9, 0.5), (1.0, 0.0))):
        rt.sky.write(rt.sky.SkyModel([rt.sky.Source("a", ra, -0.5, (2, 0, u, 0))]), tmp_path / f"{field}.skymodel")
        command("simulate", path, "--sky", tmp_path / f"{field}.skymodel", "--column", "DATA", "--field", field)
    skies = [word for field in (0, 1) for word in ("--sky", f"{field}={tmp_path / str(field)}.skymodel")]
    done = command("calibrate", path, *skies, "--term", "X: crosshand", "--out", tmp_path / "s.h5")
    assert 'term "X: crosshand": not determined by the sky of field 1 (no source' in done.stderr
    assert "nothing to solve for, flagged: 4 not determined by this sky" in done.stderr
    assert "1 of 2 solves converged (1 converged, 1 no equations)" in done.stdout


@pytest.fixture
def gains_away(command, small_ms, tmp_path):
    """(a set whose data are far from the model; its sky model)."""
    path, model = small_ms(), tmp_path / "a.skymodel"
    other = rt.sky.Source("b", 0.901, -0.501, (1, 0.5, 0, 0))
    rt.sky.write(rt.sky.SkyModel([rt.sky.Source("a", 0.9, -0.5, (30, 0, 0, 0)), other]), model)
    command("simulate", path, "--sky", model, "--column", "DATA", "--noise", 0.5)
    rt.sky.write(rt.sky.SkyModel([rt.sky.Source("a", 0.901, -0.5, (2, 0, 0, 0)), other]), model)
    return path, model


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (("--apply", "--direction", "Z"), 1, "--direction Z: no term has solutions for such a direction; there are"),
        (
            ("--hold", "s.h5"),
            2,
            "s.h5 is held (--hold), and solutions on top of it cannot replace it: give another --out",
        ),
        (("--robust", "1e9"), 2, "is not in the range"),
        (("--average-loss", "0.1", "--average-radius", "0deg"), 2, "'0deg': must be positive"),
        (("--scan", "99"), 1, "has no scan 99; it has 1"),
        (("--uvmax", "0.001m"), 3, "no good data are on baselines as long as --uvmin and --uvmax say"),
        (("--iterations", "1"), 3, "(32 not converged); more than 1 iterations (--iterations) may help"),
    ],
)
def test_errors_say_what_to_do(command, gains_away, tmp_path, monkeypatch, more, status, message):
    path, sky_file = gains_away
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.h5").write_bytes(b"")
    what = ["calibrate", path, "--sky", sky_file, "--term", "G: full", "--out", "s.h5", "--overwrite"]
    assert message in " ".join(command(*what, *more, code=status).stderr.split())
    if status < 3:
        assert (tmp_path / "s.h5").read_bytes() == b""
