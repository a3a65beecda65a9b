"""Random forests, each evaluated by RimeTree and by a second opinion in NumPy (tests/support/second_opinion).

Some thousand cases run here. RIMETREE_RANDOM_CASES=1000000 multiplies their number by what it takes to reach so many,
RIMETREE_RANDOM_SEED=n begins elsewhere. A case that fails is cut down and printed as a script; its seed repeats it.
"""

import os
from collections import Counter

import numpy as np
import pytest
from random_forests import PROPOSALS, Case, Count, differences, grow, psv_case, random_options, smallest
from random_forests.comparing import PLACES
from random_forests.gradients import gradient_case, gradient_difference
from random_forests.ms_cases import fill, ms_difference, ms_tree, tile_of
from random_forests.shrinking import with_less
from random_forests.solving import solver_difference, solving_case
from random_forests.tree import cells_text
from second_opinion import OPINIONS

import rimetree as rt
from rimetree.nodes import class_infos

SEED = int(os.environ.get("RIMETREE_RANDOM_SEED", 0))
ASKED = int(os.environ.get("RIMETREE_RANDOM_CASES", 0))
CASES = {"classes": 1200, "psv": 240, "solver": 40}
FACTOR = max(1, -(-ASKED // sum(CASES.values())))
PORTIONS = 4  # tests for each kind, so that a failure leaves the others


def seeds(kind: str, portion: int) -> range:
    count = CASES[kind] * FACTOR // PORTIONS
    first = SEED + 10_000_000 * list(CASES).index(kind) + portion * count
    return range(first, first + count)


def complain(seed: int, place: str, case: Case, said: str) -> None:
    small = smallest(case, lambda one: differences(one, (place,)) is not None)
    again = differences(small, (place,)) or (place, said)
    pytest.fail(f"seed {seed}, {place}: {said}\n\ncut down: {again[1]}\n\n{small.script(place)}", pytrace=False)


def compare(kind: str, portion: int, make) -> Count:
    count = Count()
    for seed in seeds(kind, portion):
        case = make(np.random.default_rng(seed))
        found = differences(case, count=count)
        if found:
            complain(seed, found[0], case, found[1])
    return count


def test_every_class_has_an_opinion():
    own = {info["name"] for info in class_infos() if hasattr(rt, info["name"])}
    assert own == set(OPINIONS)


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_trees_of_all_classes(portion):
    count = compare("classes", portion, lambda rng: Case(*grow(rng), **random_options(rng)))
    # Nearly all numbers can be told, so that the comparison says something.
    assert count.doubtful < 0.1 * count.compared and count.refused > 0


def test_the_generator_knows_all_classes_but_those_with_cases_of_their_own():
    assert set(PROPOSALS) | {"Solver", "Spigot", "Sink", "VisDataMux"} == set(OPINIONS)


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_psv_with_all_combinations_of_its_inputs(portion):
    count = compare("psv", portion, psv_case)
    assert count.doubtful < 0.1 * count.compared


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_solvers_end_where_scipy_does(portion):
    count, cases = Counter(), seeds("solver", portion)
    for seed in cases:
        case, place = solving_case(np.random.default_rng(seed)), list(PLACES)[seed % 3]
        said = solver_difference(case, place, count)
        if said:
            ending = 'forest = rt.Forest(ns)\nprint(forest.solve("solver", cells), forest.parameter_vector())'
            script = case.tree.script(cells_text(case.cells), ending)
            pytest.fail(f"seed {seed}, {place}: {said}\n\n{script}", pytrace=False)
    assert count["not converged"] <= 0.2 * len(cases)


@pytest.mark.parametrize("place", ["host", "threads", "simulated"])
def test_gradients_are_those_of_the_second_opinion(place):
    count = Count()
    for seed in range(SEED, SEED + 12 * FACTOR):
        case = gradient_case(np.random.default_rng(seed))
        said = gradient_difference(case, place, count)
        if said:
            ending = 'forest = rt.Forest(ns)\nprint(forest.value_and_gradient("sum", cells))'
            script = case.tree.script(cells_text(case.cells), ending)
            pytest.fail(f"seed {seed}, {place}: {said}\n\n{script}", pytrace=False)
    assert count.doubtful < 0.1 * count.compared


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_runs_over_a_set_in_which_baselines_are_missing(small_ms, device):
    path = small_ms(pairs=[(0, 1), (0, 2), (1, 2)], columns=("DATA", "MODEL_DATA"))
    fill(path, np.random.default_rng(SEED))
    tile, seen = tile_of(path), 0
    for seed in range(SEED, SEED + 10 * FACTOR):
        tree, values = ms_tree(np.random.default_rng(seed), tile, [(0, 1), (0, 2), (1, 2), (0, 3), (2, 3)])
        said = ms_difference(path, tree, tile, values, device)
        if said:
            pytest.fail(f"seed {seed}, {device}: {said}\n\n{tree.script('None', '')}", pytrace=False)
        seen += sum(values[child].missing for node in tree.nodes for _, child in node.children)
    assert seen > 0


@pytest.mark.parametrize("wrong", ["value", "flags"])
def test_an_error_is_found_and_cut_down(wrong, monkeypatch):
    """A class that is wrong now and then: the case that shows it is as small as can be."""

    def broken(call):
        result = right(call)
        result.x = result.x + (1e-9 if wrong == "value" else 0)
        result.flags = result.flags | (1 if wrong == "flags" else 0)
        return result

    right = OPINIONS["Cos"]
    monkeypatch.setitem(OPINIONS, "Cos", broken)
    for seed in range(1000):
        case = Case(*grow(np.random.default_rng(seed)))
        if differences(case, ("host",)):
            small = smallest(case, lambda one: differences(one, ("host",)) is not None)
            assert [node.class_name for node in small.tree.nodes] == ["Constant", "Cos"]
            assert "rt.Cos(ns[" in small.script("host")
            return
    raise AssertionError("nothing was found")


def test_cutting_down_leaves_nodes_the_children_that_they_need():
    least = {info["name"]: info["minimum_children"] for info in class_infos()}
    for seed in range(60):
        for tree in with_less(grow(np.random.default_rng(seed))[0]):
            assert all(len(node.children) >= least[node.class_name] for node in tree.nodes)
