"""Nodes written in Python."""

import numpy as np
import pytest

import rimetree as rt


def test_arrays_in_and_out_with_cells_and_broadcasting():
    seen = {}

    def evaluate(cells, matrix, t):
        seen.update(matrix=matrix.shape, t=t.shape, freq=cells.freq_hz.copy(), width=cells.time_width_s.copy())
        return matrix * t * cells.freq_hz

    ns = rt.NodeScope()
    ns.m << rt.Constant([[1.0, 2.0], [3.0, 4.0]])
    ns.y << rt.PyNode(ns.m, rt.Time(), evaluate=evaluate, dims=[2, 2])
    ns.z << ns.y @ ns.m
    cells = rt.Cells([1.0, 2.0, 3.0], [10.0, 20.0], time_width_s=0.5)
    value = rt.Forest(ns).evaluate(ns.z, cells)
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = np.einsum("ij,t,f->ijtf", matrix @ matrix, [1, 2, 3], [10, 20])
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    assert seen["matrix"] == (2, 2, 1, 1) and seen["t"] == (3, 1)
    np.testing.assert_array_equal(seen["freq"], [10, 20])
    np.testing.assert_array_equal(seen["width"], [0.5, 0.5, 0.5])


def test_objects_with_evaluate_and_complex_results():
    class Rotator:
        def __init__(self, turns):
            self.turns = turns

        def evaluate(self, cells, x):
            return x * np.exp(2j * np.pi * self.turns)

    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=Rotator(0.25))
    assert rt.Forest(ns).evaluate(ns.y).item() == pytest.approx(2j)


def test_exceptions_name_the_node_the_script_and_the_place_in_the_function():
    def evaluate(cells):
        raise ValueError("no beam for this antenna")

    ns = rt.NodeScope()
    ns.beam << rt.PyNode(evaluate=evaluate)
    ns.y << rt.Sqr(ns.beam)
    message = (
        r"test_py_node.py:\d+: node 'beam' \(PyNode\): .*ValueError: no beam for this antenna \(.*test_py_node.py:\d+\)"
    )
    with pytest.raises(rt.Error, match=message):
        rt.Forest(ns).evaluate(ns.y)


def test_results_of_the_wrong_shape_are_errors():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(evaluate=lambda cells: np.zeros((3, 1, 1)), dims=[2])
    with pytest.raises(rt.Error, match=r"does not have the node's dimensions \[2\]"):
        rt.Forest(ns).evaluate(ns.y)


def test_derivatives_by_differences():
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.4, solvable=True)
    ns.q << rt.Constant(2.0)
    ns.y << rt.PyNode(ns.p, ns.q, evaluate=lambda cells, p, q: np.sin(p * q) + 1j * p**2)
    result = rt.Forest(ns).result(ns.y, derivatives=True)
    # Central differences with a step of eps^(1/3): accurate to about eps^(2/3) = 4e-11.
    assert result.derivatives[("p", 0)].item() == pytest.approx(2 * np.cos(0.8) + 0.8j, rel=1e-9)


def test_it_is_evaluated_again_only_when_it_must():
    calls = []

    def evaluate(cells, x):
        calls.append(1)
        return x + 1

    ns = rt.NodeScope()
    ns.x << rt.Parm(1.0)
    ns.y << rt.PyNode(ns.x, evaluate=evaluate, depends_on=[])
    forest = rt.Forest(ns)
    forest.evaluate(ns.y, rt.Cells([1.0], [1.0]))
    forest.evaluate(ns.y, rt.Cells([2.0], [1.0]))
    assert len(calls) == 1
    forest.set_state(ns.x, value=5.0)
    assert forest.evaluate(ns.y).item() == 6.0
    assert len(calls) == 2


def test_mistakes_in_the_definition():
    with pytest.raises(TypeError, match="needs evaluate="):
        rt.PyNode()
    with pytest.raises(TypeError, match="expected a function"):
        rt.PyNode(evaluate=3)
