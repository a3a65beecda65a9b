"""Ctrl-C, SIGTERM and kill -9 while a simulation writes: the set stays readable and says how far it is complete.
Ctrl-C while solutions are used: the run goes on there."""

import math
import re
import signal
import subprocess
import time

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration, cli

CENTRE = (math.radians(53.125), math.radians(-27.8))
#: A tree script that reads a column.
COPY = """
import rimetree as rt
def define_forest(ns, ms):
    for p, q in ms.baselines:
        antennas = dict(station_1_index=p, station_2_index=q)
        ns.s(p, q) << rt.Sink(rt.Spigot(input_column="MODEL_DATA", **antennas), output_column="DATA", **antennas)
"""


@pytest.fixture
def long_run(tmp_path, process):
    """Starts a simulation that takes long, and waits until its journal names a complete time -> (process, set)."""
    ms = tmp_path / "long.ms"
    rt.ms.create(
        ms,
        "kat-7",
        phase_centre_rad=CENTRE,
        duration_s=20000.0,
        integration_s=5.0,
        bands=rt.ms.Band.regular(1.4e9, 1.6e7, 16),
        correlations="XX YY",
    )
    sky = rt.sky.synthetic.random(
        6000, rt.sky.synthetic.SyntheticSky(ra_rad=CENTRE[0], dec_rad=CENTRE[1], flux_jy=(0.5, 1.0))
    )
    rt.sky.write(sky, tmp_path / "many.skymodel")
    arguments, environment = process
    options = ["simulate", str(ms), "--sky", str(tmp_path / "many.skymodel"), "--time-slots", "20"]
    running = subprocess.Popen(
        [*arguments, *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = ms / "rimetree.MODEL_DATA.progress"
    deadline = time.monotonic() + 60
    while not (journal.exists() and "\ncomplete" in journal.read_text()):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield running, ms
    if running.poll() is None:
        running.kill()
    running.communicate()


def check_complete_part(ms, text):
    """Up to the time named everything is written, and far from everything is."""
    until = re.search(r"DATA_DESC_ID 0, FIELD_ID 0 is complete up to (\S+) UTC", text)[1]
    (journal,) = rt.ms.inspect(ms)["progress"]
    (complete,) = journal["complete"]
    assert until in journal["text"]
    (tile,) = rt.ms.tiles(ms, ["MODEL_DATA"], time_slots=100000)
    written = (tile["columns"]["MODEL_DATA"] != 0).all(axis=(0, 2, 3))
    before = tile["time_s"] <= complete["time_s"] + 1
    assert before.any()
    assert written[before].all()
    assert not written.all()
    assert np.isfinite(tile["columns"]["MODEL_DATA"]).all()


def test_ctrl_c(long_run, command):
    running, ms = long_run
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert "error: interrupted" in errors
    check_complete_part(ms, errors)
    check_complete_part(ms, command("inspect-ms", ms).stdout)


def test_sigterm(long_run, command):
    """Batch systems end what takes too long by it."""
    running, ms = long_run
    running.send_signal(signal.SIGTERM)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 128 + signal.SIGTERM
    assert "error: interrupted" in errors and "Traceback" not in errors
    check_complete_part(ms, errors)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_files_that_are_not_complete_are_removed(process, sky_file, tmp_path, number):
    """They had stayed, as large as all voltages, by names that are not listed."""
    folder = tmp_path / "out"
    folder.mkdir()
    centre = ["--phase-centre", "3h32m30s", "-27d48m", "--start", "2025-01-01T20:00:00"]
    what = ["make-voltages", folder / "volts", "--format", "int8", "--layout", "kat-7", *centre, "--sky", sky_file]
    what += ["--sample-rate", "10MHz", "--freq", "1.4GHz", "--duration", "60s", "--noise", "10", "--rms", "10"]
    arguments, environment = process
    running = subprocess.Popen(
        [*arguments, *map(str, what)],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # where tests run with nohup it is ignored
    )
    deadline = time.monotonic() + 60
    while not list(folder.iterdir()):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 128 + number and "error: interrupted" in errors
    assert not list(folder.iterdir())


LOST = """
import os, signal, time
from rimetree.cli.errors import Interrupted, guarded


class Callback:
    def __del__(self):
        os.kill(os.getpid(), signal.{number})
        time.sleep(0.5)


try:
    with guarded(False):
        Callback()  # what is raised in it is gone
        time.sleep(20)
except Interrupted as problem:
    raise SystemExit(problem.exit_code)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_not_lost_in_a_callback(tmp_path, process, number):
    """It had been, now and then: while modules were imported."""
    script = tmp_path / "lost.py"
    script.write_text(LOST.format(number=number.name))
    (python, *_), environment = process
    began = time.monotonic()
    found = subprocess.run([python, script], env=environment, capture_output=True, text=True, timeout=60)
    assert found.returncode == 128 + number and found.stderr == ""
    assert time.monotonic() - began < 15


def test_kill_9(long_run, command, sky_file, tmp_path):
    running, ms = long_run
    running.kill()
    running.communicate(timeout=30)
    report = command("inspect-ms", ms).stdout
    assert "column MODEL_DATA is incomplete" in report
    check_complete_part(ms, report)
    # Who reads the column is told: half of a model had been taken for the whole, without a word.
    script = tmp_path / "copy.py"
    script.write_text(COPY)
    solved = ("--term", "G: diag, 1slot", "--time", "0s~5s", "--out", tmp_path / "s.h5", "--overwrite")
    readers = (
        ("image", ms, "--column", "MODEL_DATA", "-o", tmp_path / "a.png", "--size", 64),
        ("calibrate", ms, "--sky", sky_file, "--data-column", "MODEL_DATA", *solved),
        ("calibrate", ms, "--model-column", "MODEL_DATA", *solved, "--dry-run"),
        ("apply", ms, "--data-column", "MODEL_DATA", "--solutions", tmp_path / "s.h5", "--dry-run"),
        ("run", script, ms, "--dry-run"),
    )
    for words in readers:
        assert command(*words).stderr.count("column MODEL_DATA is incomplete") == 1, words[0]
    assert "incomplete" not in command("image", ms, "-o", tmp_path / "a.png", "--size", 64, code=None).stderr
    # A later run completes the column, and nothing is said any more.
    command("simulate", ms, "--sky", sky_file)
    assert "incomplete" not in command("inspect-ms", ms).stdout
    assert not any("incomplete" in command(*words).stderr for words in readers)


def test_ctrl_c_between_fields(small_ms, small_sky):
    """A run that is one of several leaves the journal until the last: no field is silently missing."""
    path = small_ms(n_field=2, n_time=4)
    groups = rt.ms.groups(path)
    rows = sum(group.n_row for group in groups)
    for index, group in enumerate(groups):
        ns = rt.NodeScope()
        rt.psv_tree(ns, small_sky, group.phase_centre_rad, group.baselines)
        rt.Forest(ns).run(path, part=(index, 2, rows), **group.selection)
        progress = rt.ms.inspect(path)["progress"]
        if index == 0:
            (journal,) = progress
            assert (journal["rows_written"], journal["rows_expected"]) == (12, 24)
            assert [one["field_id"] for one in journal["complete"]] == [0]
        else:
            assert progress == []


def column_of(path, name):
    (tile,) = rt.ms.tiles(path, [name], time_slots=100000)
    return tile["columns"][name], tile["flag"]


@pytest.fixture
def interrupted_apply(command, kat7, sky_file, tmp_path, monkeypatch):
    """interrupted_apply(*options): a calibration that ended by Ctrl-C after it had applied its solutions, which flags
    antennas without long baselines -> (its arguments, what it said)."""
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.05)
    what = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag, 1slot", "--uvmin", "120m", "--apply"]

    def run(*options):
        arguments = [*what, "--out", tmp_path / "sol.h5", *options]
        correct = calibration.correct

        def until_ctrl_c(*given, **how):
            correct(*given, **how)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(calibration, "correct", until_ctrl_c)
            return arguments, command(*arguments, code=130).stderr

    return run


def test_ctrl_c_while_solutions_are_applied(command, interrupted_apply, kat7, tmp_path):
    before = column_of(kat7, "DATA")[1]
    arguments, said = interrupted_apply()
    assert "all chunks are solved" in said and "--resume goes on after them" in said
    assert "give --resume" in command(*arguments, code=1).stderr
    data, flag = column_of(kat7, "CORRECTED_DATA")
    assert (flag & ~before).any()
    resumed = command(*arguments, "--resume", "--output-column", "AGAIN")
    assert resumed.stderr.count("solved before") == len(re.findall(r"^\[\d", resumed.stderr, re.MULTILINE)) > 0
    np.testing.assert_array_equal(column_of(kat7, "AGAIN")[0], data)
    assert not (tmp_path / "sol.h5.progress").exists()
    assert "there is nothing to resume" in command(*arguments, "--resume", code=1).stderr


def test_data_that_were_corrected_in_place_are_not_corrected_twice(command, interrupted_apply):
    arguments, _ = interrupted_apply("--output-column", "DATA")
    assert "other visibilities in DATA" in command(*arguments, "--resume", code=1).stderr


def test_what_began_to_be_corrected_in_place_is_not_corrected_again(command, kat7, sky_file, tmp_path):
    """There was a warning that the column is incomplete, and its beginning was corrected twice."""
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA")
    given = ["--solutions", tmp_path / "s.h5"]
    calibrate = ["calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "s.h5", "--overwrite"]
    command(*calibrate)
    (group,) = rt.ms.groups(kat7)
    ns = rt.NodeScope()
    for p, q in group.baselines:
        antennas = {"station_1_index": p, "station_2_index": q}
        ns.s(p, q) << rt.Sink(2 * rt.Spigot(input_column="DATA", **antennas), output_column="DATA", **antennas)
    rt.Forest(ns).run(kat7, part=(0, 2, 2 * group.n_row), **group.selection)
    before = column_of(kat7, "DATA")[0]
    for words in (
        ["apply", kat7, *given, "--output-column", "DATA"],
        [*calibrate, "--apply", "--output-column", "DATA"],
    ):
        done = command(*words, code=1)
        assert "column DATA is incomplete" in done.stderr and "would be a second time" in done.stderr
    np.testing.assert_array_equal(column_of(kat7, "DATA")[0], before)
    command("apply", kat7, *given)  # to another column: that can be repeated
    (kat7 / "rimetree.DATA.progress").unlink()
    command("apply", kat7, *given, "--output-column", "DATA")


def test_ctrl_c_before_a_command_has_begun(command, monkeypatch):
    def at_once(debug):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "guarded", at_once)
    assert "error: interrupted" in command("info", code=130).stderr
