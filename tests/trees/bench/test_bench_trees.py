"""The benchmark of trees: each case agrees with NumPy or with the PSV node, and what it records."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree import bench
from rimetree.bench import beam_terms, building, jones, operations, slopes, solves, spellings, trees
from rimetree.cli import cli


@pytest.mark.parametrize("case", operations.operations(), ids=lambda case: case.name)
def test_operations_are_numpys(case):
    from dataclasses import replace

    small = replace(case, n_node=2, shape=(3, 5))
    measured = operations.measure_operation(small, seconds=0.01)
    assert measured.error <= case.tolerance
    assert measured.seconds > 0 and measured.numpy_seconds > 0 and measured.bytes > 0
    per_cell = 1 if case.unit != "additions" else (case.n_child - 1) * int(np.prod(case.dims))
    assert measured.count == 2 * 15 * per_cell
    assert (measured.of_memory is not None) == case.limited_by_memory


@pytest.mark.parametrize("sky", trees.SKIES, ids=lambda sky: sky.name)
def test_skies_are_that_of_psv(sky):
    measured = trees.measure_sky(sky, n_source=5, n_station=3, n_time=2, n_freq=3, seconds=0.01)
    assert measured.count == 5 * 3 * 2 * 3
    assert measured.error < 1e-13


@pytest.mark.parametrize("spelling", spellings.SPELLINGS, ids=lambda one: one.name)
def test_spellings_are_taken_together(spelling):
    """All sources of a baseline in one PSV node, so that none is slow by how it is written."""
    measured = spellings.measure_spelling(spelling, n_source=16, n_station=3, n_time=2, n_freq=3, seconds=0.01)
    assert measured.error < 1e-13 and measured.of_psv > 0
    ns, roots = spellings.spelled(spelling.write, 16, 3)
    forest = rt.Forest(ns)
    forest.results(roots, rt.Cells([0.0, 10.0], [1.0e9, 1.1e9], time_width_s=10.0, freq_width_hz=1e6))
    classes = forest.timing().classes
    terms = {"TEC": {"Exp"}, "beams": {"Cos", "Pow"}, "rotated beams": {"Cos", "Pow"}}.get(spelling.like, set())
    assert not ({"VisPhaseShift", "Exp", "Polar", "Cos", "Pow"} - terms) & set(classes)
    assert classes["PSV"]["evaluations"] == 3


def test_derivatives_of_the_chain_are_numpys():
    measured = slopes.measure_chain_derivative(shape=(3, 5), seconds=0.01)
    assert measured.count == 15
    assert measured.error < 1e-13
    assert measured.seconds > 0 and measured.numpy_seconds > 0


@pytest.mark.parametrize("case", solves.CASES)
def test_solves_find_the_planted_gains(case):
    measured = solves.measure_solve(case, n_source=2, n_station=4, n_time=6, n_freq=5, seconds=0.01)
    assert measured.error < 1e-6
    assert measured.seconds > 0


def test_wrong_solutions_have_no_speed(monkeypatch):
    monkeypatch.setattr(solves, "_error", lambda *given: 0.1)
    with pytest.raises(bench.WrongAnswerError, match="wrong solution"):
        solves.measure_solve("solve: PSV", n_source=2, n_station=4, n_time=3, n_freq=3, seconds=0.01)


@pytest.mark.parametrize("kind", beam_terms.KINDS)
@pytest.mark.parametrize("asked", jones.ASKED)
def test_jones_terms_are_numpys(kind, asked):
    measured = jones.measure_jones(kind, n_source=7, n_station=4, n_freq=5, seconds=0.01, asked=asked)
    assert measured.count == 7 * 6 * 5
    assert measured.error < 1e-12  # NumPy rounds phases of thousands of turns
    assert measured.seconds > 0
    assert (measured.evaluations is None) == (asked == "value")
    assert asked == "value" or measured.evaluations > 1


@pytest.mark.parametrize("case", building.CASES)
def test_forests_are_counted_in_nodes(case):
    measured = building.measure_building(case, n_source=5, n_station=3, seconds=0.01)
    stations = 1 + 3 * 2 + 1  # radec_0; uvw of each, and its position; that of the reference is the first one's
    assert measured.count == stations - 1 + 5 * 3 + 3 * (1 + 2 * 5 + 1)
    assert measured.seconds > 0


def test_forests_that_differ_have_no_speed(monkeypatch):
    monkeypatch.setattr(building, "sky_by_indices", lambda *given: building.sky_tree("PSV", *given)[0])
    with pytest.raises(bench.WrongAnswerError, match="nodes differ"):
        building.measure_building(building.CASES[0], n_source=5, n_station=3)


def test_wrong_slopes_have_no_speed(monkeypatch):
    monkeypatch.setattr(jones, "_error_of_slopes", lambda *given: 0.1)
    with pytest.raises(bench.WrongAnswerError, match="diagonal terms: wrong gradient"):
        jones.measure_jones("diagonal", n_source=7, n_station=3, n_freq=5, asked="gradient")


def test_wrong_terms_have_no_speed(monkeypatch):
    monkeypatch.setattr(jones, "_by_numpy", lambda *given: np.zeros((2, 2, 5)))
    with pytest.raises(bench.WrongAnswerError, match="diagonal terms: wrong answer"):
        jones.measure_jones("diagonal", n_source=7, n_station=3, n_freq=5)


def test_what_is_wrong_has_no_speed():
    from dataclasses import replace

    wrong = replace(operations.operations()[0], numpy=lambda a: a[0] - a[1], n_node=1, shape=(2, 2))
    with pytest.raises(bench.WrongAnswerError, match="add: wrong answer"):
        operations.measure_operation(wrong, seconds=0.01)


def test_command_line(tmp_path):
    file = tmp_path / "trees.json"
    run = CliRunner().invoke(
        cli, ["bench", "trees", "--filter", "sky: PSV", "--sources", "3", "--seconds", "0.01", "--json", str(file)]
    )
    assert run.exit_code == 0, run.output
    assert "sky: PSV" in run.output
    record = json.loads(file.read_text())
    assert record["format"] == "rimetree bench trees 1"
    assert [case["name"] for case in record["cases"]] == ["sky: PSV"]
    assert record["cases"][0]["per_second"] > 0
    assert CliRunner().invoke(cli, ["bench", "trees", "--filter", "nothing"]).exit_code == 1
