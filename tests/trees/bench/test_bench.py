"""The benchmark: its grid, that wrong answers have no speed, and what it records."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree import bench
from rimetree.bench import measuring
from rimetree.cli import cli
from rimetree.sky.source import PROFILES

PEAK = {"double_per_second": 5e10, "single_per_second": 1e11, "instruction_set": "none"}
SMALL = "wsrt/I/double/1"


def case_of(name: str) -> bench.PsvCase:
    return next(case for case in bench.grid() if case.name == name)


def test_the_grid_has_what_it_should_and_no_name_twice():
    cases = bench.grid()
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    assert {case.n_source for case in cases} == {1, 10, 100, 1000, 10000, 100000}
    for field, values in {
        "telescope": {"wsrt", "meerkat"},
        "stokes": {"I", "IQUV"},
        "smearing": {False, True},
        "profile": {None, *PROFILES},
        "jones": {None, "constant", "varying", "real", "complex", "diagonal"},
        "n_channel": {64, 32768},
        "accuracy": {"double", "single", "1e-6"},
    }.items():
        assert {getattr(case, field) for case in cases} == values
    assert set(case.name for case in bench.quick()) <= set(names)


def test_filters_take_cases_with_all_parts():
    names = [case.name for case in bench.select(bench.grid(), ["meerkat/1000/single", "wsrt/jones-varying"])]
    assert len(names) == len(set(names)) > 3
    for name in names:
        parts = set(name.split("/"))
        assert parts >= {"meerkat", "1000", "single"} or parts >= {"wsrt", "jones-varying"}
    assert bench.select(bench.grid(), ["meerkat/10"]) != bench.select(bench.grid(), ["meerkat/1000"])
    assert bench.select(bench.grid(), ["200000"]) == []
    assert bench.select(bench.grid()) == bench.grid()


def test_cases_by_name():
    assert bench.select(bench.grid(), names=[SMALL]) == [case_of(SMALL)]
    both = bench.select(bench.grid(), ["meerkat/10000"], [SMALL])
    assert both[0] == case_of(SMALL) and len(both) > 2
    with pytest.raises(rt.Error, match=r"no case wsrt/I$"):
        bench.select(bench.grid(), names=["wsrt/I"])


@pytest.mark.parametrize(
    "name, multiply_adds",
    [
        ("wsrt/I/double/1", 6),
        ("wsrt/IQUV/smearing/double/10", 12),
        ("wsrt/IQUV/jones-constant/double/100", 21),
        ("wsrt/IQUV/jones-varying/double/100", 84),
    ],
)
def test_useful_multiply_adds(name, multiply_adds):
    assert case_of(name).multiply_adds == multiply_adds


@pytest.mark.parametrize(
    "name",
    [
        SMALL,
        "wsrt/IQUV/smearing/single/10",
        "wsrt/I/smearing/gaussians/double/1000",
        "wsrt/IQUV/jones-varying/double/100",
        "wsrt/I/32768-channels/1e-6/100",
    ],
)
def test_a_measurement_is_checked_and_complete(name):
    case = case_of(name)
    measured = bench.measure(case, peak=PEAK, threads=2, seconds=0.02)
    assert 0 < measured.verification.largest_error <= case.allowed_error
    assert measured.verification.count >= 20
    assert measured.n_baseline == 91
    assert len(measured.totals_s) >= 5
    assert 1 <= measured.n_slot <= 72
    assert measured.source_visibilities == case.n_source * 91 * measured.n_slot * case.n_channel
    clocks = measured.clocks
    assert 0 < clocks.computing_s < clocks.needed_s < clocks.total_s
    assert clocks.framework_s > 0 and clocks.unchanged_s > 0 and clocks.changed_s > 0
    assert measured.result_bytes >= measured.group_slots * 91 * case.n_channel * 64
    assert measured.method in ("delay method", "direct in double precision", "direct in single precision")
    assert (measured.of_peak is None) == (measured.method == "delay method")
    assert 0.1 < measured.of_estimate < 10  # of a few rows, on a busy machine
    assert measured.threads == 2


@pytest.mark.parametrize("method, rate", [("double", 5e10), ("single", 1e11)])
def test_the_peak_is_that_of_the_methods_precision(method, rate, monkeypatch):
    monkeypatch.setattr(measuring, "_method", lambda notes: f"direct in {method} precision")
    measured = bench.measure(case_of(SMALL), peak=PEAK, seconds=0.02)
    assert measured.of_peak == pytest.approx(6 * measured.rate_per_core / rate)


def test_a_device_has_no_part_of_the_cores_peak(monkeypatch):
    monkeypatch.setenv("RIMETREE_DEVICE", "simulated")
    measured = bench.measure(case_of(SMALL), peak=PEAK, seconds=0.02)
    assert measured.method.endswith("in double precision on simulated device") and measured.of_peak is None


def test_the_estimate_is_that_of_all_rows():
    note = (
        "PSV: 100 sources, 45 rows, 64 channels to 1e-12 of the total flux: direct (error below 1e-12; about {} of one"
    )
    assert measuring._estimate(["other", note.format("13.5 ms") + " core, 1e9 ..."], 90) == pytest.approx(0.027)
    assert measuring._estimate([note.format("2 s") + " core, 1e9 ..."], 45) == pytest.approx(2)
    assert np.isnan(measuring._estimate(["other"], 45))


def test_every_pass_computes_anew():
    problem = measuring.problem_of(case_of(SMALL), threads=1)
    for n in range(3):
        measuring._pass(problem, 40, 32, later_s=1e-3 * n)
        psv = problem.forest.timing().classes["PSV"]
        assert (psv["evaluations"], psv["reused"], psv["batches"]) == (2 * 91, 0, 2)


def test_long_cases_compute_fewer_time_slots():
    problem = measuring.problem_of(case_of("meerkat/IQUV/double/1000"), threads=1)
    slots, group = measuring._time_slots(problem, 0.1)
    more, _ = measuring._time_slots(problem, 1.0)
    assert 1 <= slots < more < 480
    assert slots % group == 0


@pytest.fixture
def single_is_wrong(monkeypatch):
    """Cases in single precision are held to what is asked of double precision, so that their answers are wrong."""
    monkeypatch.setattr(bench.PsvCase, "allowed_error", 1e-12)


def test_a_wrong_answer_has_no_speed(single_is_wrong):
    with pytest.raises(bench.WrongAnswerError, match=r"wsrt/I/single/10: wrong answer.*ABOVE the tolerance of 1e-12"):
        bench.measure(case_of("wsrt/I/single/10"), peak=PEAK, seconds=0.02)
    assert bench.measure(case_of("wsrt/I/double/10"), peak=PEAK, seconds=0.02).rate > 0


def test_what_was_not_verified_has_no_speed(monkeypatch):
    monkeypatch.setattr(measuring, "_VERIFIED", 0)
    with pytest.raises(bench.WrongAnswerError, match="nothing was verified"):
        bench.measure(case_of(SMALL), peak=PEAK, seconds=0.02)


def test_not_a_number_is_a_wrong_answer():
    problem = measuring.problem_of(case_of(SMALL), threads=1)
    problem.forest.set_state("stokes_0", value=np.full((1, 4), np.nan))
    with pytest.raises((bench.WrongAnswerError, rt.Error)):
        measuring.verify(problem, 2)


def run(*arguments):
    return CliRunner().invoke(cli, ["bench", "psv", *map(str, arguments)])


def test_wrong_answers_on_the_command_line(single_is_wrong, tmp_path):
    names = ("--case", "wsrt/I/double/10", "--case", "wsrt/I/single/10")
    result = run(*names, "--seconds", 0.02, "--json", tmp_path / "r.json", "--plot", tmp_path / "r.png")
    assert result.exit_code == 1
    assert "wsrt/I/single/10: NO SPEED, wrong answer" in result.output
    cases = json.loads((tmp_path / "r.json").read_text())["cases"]
    right, wrong = sorted(cases, key=lambda case: case["name"])
    assert set(wrong) == {"name", "error"}
    assert right["name"] == "wsrt/I/double/10" and right["source_visibilities_per_second"] > 0


def test_figures_plot_and_comparison(tmp_path):
    old, new, plot = tmp_path / "old.json", tmp_path / "new.json", tmp_path / "plot.png"
    names = ("--case", "wsrt/I/double/10", "--case", "wsrt/I/1e-6/1000")
    arguments = (*names, "--seconds", 0.02, "--threads", 1)
    assert run(*arguments, "--json", old).exit_code == 0
    record = json.loads(old.read_text())
    assert {"date", "machine", "versions", "load_average_at_the_start", "load_average_at_the_end"} <= set(record)
    assert record["machine"]["threads"] == 1
    assert record["machine"]["peak_multiply_adds_per_second_of_a_core"]["double"] > 1e8
    for case in record["cases"]:
        seconds = case["seconds"]
        parts = ("computation_only", "needed_copies", "avoidable_copies", "framework")
        assert sum(seconds[part] for part in parts) == pytest.approx(seconds["total"])
        case["source_visibilities_per_processor_second"] /= 4
    old.write_text(json.dumps(record))
    result = run(*arguments, "--json", new, "--plot", plot, "--compare", old)
    assert result.exit_code == 0, result.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "2 cases in common" in result.output
    ratios = bench.speed_ups(bench.read_record(new).cases, bench.read_record(old))
    assert set(ratios) == {"wsrt/I/double/10", "wsrt/I/1e-6/1000"}
    assert all(ratio > 1.3 for ratio in ratios.values())  # four times, but for the noise of short runs
    line = next(line for line in result.output.splitlines() if line.startswith("wsrt/I/double/10 "))
    assert f"{ratios['wsrt/I/double/10']:.2f}" in line


def test_the_table_says_where_time_slots_were_left_out():
    result = run("--case", "meerkat/IQUV/double/100", "--seconds", 0.05)
    assert result.exit_code == 0, result.output
    assert " of 480 time slots" in result.output


def test_list_and_what_is_not_there(tmp_path):
    assert run("--list", "--quick").output.split() == [case.name for case in bench.quick()]
    assert run("--filter", "no-such-part").exit_code == 1
    assert run("--quick", "--plot", tmp_path / "x.gif").exit_code == 2
    assert run("--quick", "--json", tmp_path / "no" / "x.json").exit_code == 2
    (tmp_path / "x.json").write_text('{"cases": []}')
    result = run("--quick", "--compare", tmp_path / "x.json")
    assert result.exit_code == 1
    assert "is not a file that rimetree bench wrote" in result.output


def test_tuning_stores_the_best_variants_and_says_where(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = CliRunner().invoke(cli, ["bench", "tune", "--device", "simulated", "--seconds", "0"])
    assert done.exit_code == 0, done.output
    path = tmp_path / "rimetree" / "tuning.json"
    assert str(path) in done.output
    (device,) = json.loads(path.read_text())["devices"].values()
    assert set(device) == {
        f"{kernel} {precision}" for kernel in ("direct", "matrix") for precision in ("double", "single")
    }
    assert done.output.count("  best") == 4
    assert all(0 < entry["efficiency"] < 10 for entry in device.values())


def test_without_a_device_there_is_nothing_to_tune(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(bench, "device_names", list)
    done = CliRunner().invoke(cli, ["bench", "tune"])
    assert done.exit_code == 1 and "no GPU here" in done.output
    assert not (tmp_path / "rimetree").exists()


def test_a_spoilt_tuning_file_is_left_alone_with_a_warning(tmp_path):
    """In a process of its own: the file is read once."""
    (tmp_path / "rimetree").mkdir()
    (tmp_path / "rimetree" / "tuning.json").write_text("{")
    script = (
        "import rimetree as rt; "
        "rt.predict([[1.0, 2.0, 3.0]], [1e9], [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0, 0.0]], device='simulated')"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert "tuning.json is not used" in done.stderr
