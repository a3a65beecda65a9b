"""Functions of Python nodes: how long they are there, which are the same, and what becomes of them in copies."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref

import pytest

import rimetree as rt


class Model:
    """What has the forest whose nodes call it, as classes of notebooks do."""

    def __init__(self):
        ns = rt.NodeScope()
        ns.y << rt.PyNode(ns.x << 2.0, evaluate=self)
        self.node, self.forest = ns.y, rt.Forest(ns)

    def evaluate(self, cells, x):
        return 3 * x


def test_functions_are_there_as_long_as_a_forest_has_them_and_no_longer():
    """They were kept until the process ended, with whatever they held."""
    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=(function := lambda cells, x: 3 * x), version=0)
    forest, name, seen = rt.Forest(ns), ns.y.name, weakref.ref(function)
    del ns, function
    gc.collect()
    forest.set_state(name, version=1)
    assert forest.evaluate(name).item() == 6.0
    del forest
    gc.collect()
    assert seen() is None


def test_definitions_keep_functions_for_forests_to_come():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=lambda cells, x: 3 * x)
    rt.Forest(ns)
    gc.collect()
    assert rt.Forest(ns).evaluate(ns.y).item() == 6.0


def test_objects_that_have_their_forest_are_collected():
    model = Model()
    assert model.forest.evaluate(model.node).item() == 6.0
    seen = weakref.ref(model)
    gc.collect()
    assert model.forest.evaluate(model.node).item() == 6.0
    del model
    gc.collect()
    assert seen() is None


def test_numbers_of_no_function_are_refused():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(evaluate=lambda cells: 1.0)
    forest = rt.Forest(ns)
    with pytest.raises(rt.Error, match="which is the number of no function"):
        forest.set_state(ns.y, object=10**9)
    assert forest.evaluate(ns.y).item() == 1.0


def thrice(cells, x):
    return 3 * x


def test_the_same_function_is_the_same_definition():
    """To define a node again in the same way was an error."""
    ns, model = rt.NodeScope(), Model()
    for _ in range(2):
        ns.y << rt.PyNode(ns.x << 2.0, evaluate=thrice)
        ns.z << rt.PyNode(ns.x, evaluate=model)
    assert rt.Forest(ns).evaluate(ns.y).item() == rt.Forest(ns).evaluate(ns.z).item() == 6.0
    ns.y << rt.PyNode(ns.x, evaluate=lambda cells, x: 3 * x)
    with pytest.raises(rt.ForestError, match="defined again and differently"):
        rt.Forest(ns)


def test_objects_without_a_hash_are_taken():
    class Unhashable:
        __hash__ = None

        def __call__(self, cells, x):
            return 3 * x

    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=Unhashable())
    assert rt.Forest(ns).evaluate(ns.y).item() == 6.0


def test_copies_have_the_same_functions():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=lambda cells, x: 3 * x)
    assert rt.Forest(copy.deepcopy(ns)).evaluate("y").item() == 6.0


def test_trees_read_by_another_process_have_their_own_functions(tmp_path):
    """A number had stood for whatever function that process had given it."""
    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=thrice)
    (tmp_path / "tree").write_bytes(pickle.dumps(ns))
    script = (
        "import pickle, sys, rimetree as rt; other = rt.NodeScope();"
        "other.y << rt.PyNode(evaluate=lambda cells: 0.0); sys.path.insert(0, sys.argv[2]);"
        "print(rt.Forest(pickle.load(open(sys.argv[1], 'rb'))).evaluate('y').item())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "tree"), os.path.dirname(__file__)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "6.0", done.stderr
