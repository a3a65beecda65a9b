"""Numbers in tree scripts: of any kind and library, copied when they are written, or refused with node and line."""

from array import array
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rimetree as rt


def test_what_is_written_is_copied():
    ns = rt.NodeScope()
    buffer, edges, dims = np.zeros(2), np.array([0.0, 1.0, 2.0]), [2]
    for i in range(2):
        buffer[:] = i
        ns.constant(i) << rt.Constant(buffer)
        ns.child(i) << rt.Sqr(buffer)
        ns.operand(i) << buffer + rt.Constant(0.0)
        ns.bound(i) << buffer
        ns.shared(i) << rt.Sqr(ns.MakeConstant(buffer))
        later = rt.Identity(memoryview(buffer).obj)
        parm = rt.Parm(1.0, time_edges_s=edges)
        noise = rt.GaussNoise(dims=dims)
        buffer[:], edges[:], dims[0] = 99, 99, 3
        ns.later(i) << later
        ns.parm(i) << parm
        ns.noise(i) << noise
        edges[:], dims[0] = [0, 1, 2], 2
    forest = rt.Forest(ns)
    for name in ("constant", "child", "operand", "bound", "shared", "later"):
        for i in range(2):
            np.testing.assert_array_equal(forest.evaluate(ns[name](i)).ravel(), [i, i], err_msg=name)
    np.testing.assert_array_equal(forest.get_state(ns.parm(1))["time_edges_s"], [0, 1, 2])
    np.testing.assert_array_equal(forest.get_state(ns.noise(1))["dims"], [2])


NUMBERS = [
    2**70,
    np.int8(3),
    np.bool_(True),
    np.float32(0.5),
    Fraction(1, 4),
    Decimal("0.25"),
    1 + 2j,
    True,
    np.array(3),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
def test_all_sorts_of_numbers_are_numbers(number):
    ns = rt.NodeScope()
    ns.state << rt.Constant(number)
    ns.child << rt.Identity(number)
    ns.operand << ns.state + number
    ns.left << number * ns.state
    ns.listed << rt.Constant([number, 1])
    forest = rt.Forest(ns)
    expected = complex(number) if np.iscomplexobj(number) else float(number)
    for name, value in (("state", expected), ("child", expected), ("operand", 2 * expected), ("left", expected**2)):
        assert forest.evaluate(ns[name]).item() == value, name
    np.testing.assert_array_equal(forest.evaluate(ns.listed)[:, 0, 0], [expected, 1])


def test_arrays_of_any_library_are_numbers():
    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], dtype=dtype)

    ns = rt.NodeScope()
    given = [
        range(1, 3),
        memoryview(np.array([1, 2])),
        array("d", [1, 2]),
        Foreign(),
        np.array([[2, 1]], ">i4")[0, ::-1],
    ]
    for k, value in enumerate(given):
        ns.child(k) << rt.Identity(value)
        ns.state(k) << rt.Constant(value)
        ns.bound(k) << value
    forest = rt.Forest(ns)
    for k in range(len(given)):
        for name in ("child", "state", "bound"):
            np.testing.assert_array_equal(forest.evaluate(ns[name](k))[:, 0, 0], [1, 2])


NO_NUMBERS = ["text", [1, None], [[1, 2], [3]], np.array(["a"]), np.array([1, 2], "M8[s]"), 10**400, [object()], {1: 2}]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_said_with_node_and_line(value):
    ns = rt.NodeScope()
    ns.x << rt.Constant(value)
    with pytest.raises(rt.ForestError, match=r"test_written_numbers.py:\d+: node 'x': .*'value'"):
        rt.Forest(ns)
