"""How long functions of Python nodes are there."""

import gc
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
