"""Functions written for arrays whose arithmetic becomes nodes: held to the PyNode of the same function."""

import operator
import re
from fractions import Fraction

import astropy.units as u
import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells([1.0, 2.0, 3.0], [1e8, 1.1e8])


def polynomial(cells, x, y):
    return 1 + x * (2 - y * (0.5 + x)) / 3 - (-x) ** 3 + x**2 + 2.0**y - +y


def powers(cells, x, y):
    return np.power(np.abs(x), 1.5) + np.square(y) + np.sqrt(2 + np.abs(x)) + np.reciprocal(2 + x * x) + np.exp2(y)


def angles(cells, x, y):
    return np.sin(x) * np.cos(y) + np.tan(0.1 * x) + np.arcsin(0.3 * np.sin(x)) - np.arccos(0.2 * np.cos(y))


def more_angles(cells, x, y):
    return np.arctan2(x, y) + np.arctan(x) + np.angle(x + 1j * y) + np.deg2rad(x) * np.degrees(y) + np.hypot(x, y)


def logarithms(cells, x, y):
    return np.log(2 + x * x) + np.log10(3 + y * y) * np.log2(4 + x * x) + np.exp(-x)


def complex_numbers(cells, x, y):
    z = x + 2j * y
    return z * z.conj() + np.conj(z) ** 2 + z.real - 1j * np.imag(z * z) + np.exp(1j * x) / (z + 3)


def of_cells(cells, x, y):
    return x * cells.freq_hz / 1e8 + y * cells.time_s[:, None] - np.sin(cells.freq_hz[None, :] / 1e8) + np.float64(2)


def matrices(cells, x, y):
    phase = np.exp(1j * x * cells.freq_hz / 1e8)
    return np.eye(2)[:, :, None, None] * phase + np.array([[1, 2], [3, 4]])[:, :, None, None] * y


def stacks(cells, x, y):
    x, y = x + 0 * y, y + 0 * x  # np.stack wants arrays of one shape
    rows = np.stack([x, y, x * y])
    return np.stack([rows[0] - rows[2], np.sum(rows, axis=0), rows[1]]).sum(axis=0)


def stacks_of_stacks(cells, x, y):
    x, y = x + 0 * y, y + 0 * x
    rows = np.stack([np.stack([x, 1.0 + y]), np.stack([y * 2, x])])
    return rows * rows[0, 1] + rows[1][0]


def changes_in_place(cells, x, y):
    total = 2 * x + 0 * y  # as large as all that is added, as NumPy wants
    same, before = total, 3 * total
    rows = np.stack([total, 2 * total])
    first, copied = rows[0], rows[[1]]
    total += y
    total *= cells.freq_hz[None, :] / 1e8
    rows -= 0.5
    copied /= 7.0
    return same * before + first * total + copied[0] + np.positive(first)


FUNCTIONS = [
    changes_in_place,
    polynomial,
    powers,
    angles,
    more_angles,
    logarithms,
    complex_numbers,
    of_cells,
    matrices,
    stacks,
]
DIMS = {matrices: [2, 2], stacks_of_stacks: [2, 2]}


def scope(definition):
    ns = rt.NodeScope()
    ns.x << rt.Parm(0.7, solvable=True) + rt.Constant([[0.0], [0.1], [-2.0]], cells_rank=2)
    ns.y << rt.Parm(-0.4, solvable=True) * rt.Constant([[1.0, 3.0]], cells_rank=2)
    ns.f << definition(ns)
    return ns


@pytest.mark.parametrize("function", [*FUNCTIONS, stacks_of_stacks])
def test_values_and_derivatives_are_those_of_the_function(function):
    recorded = scope(lambda ns: rt.record(function, ns.x, ns.y))
    called = scope(lambda ns: rt.PyNode(ns.x, ns.y, evaluate=function, dims=DIMS.get(function, [])))
    assert "PyNode" not in {node.classname for node in recorded.AllNodes().values()}
    one = rt.Forest(recorded).result("f", CELLS, derivatives=True)
    other = rt.Forest(called).result("f", CELLS, derivatives=True)
    np.testing.assert_allclose(np.broadcast_to(one.value, other.value.shape), other.value, rtol=1e-14)
    assert one.derivatives.keys() == other.derivatives.keys()
    for unknown, slope in other.derivatives.items():
        size = np.max(np.abs(slope))
        np.testing.assert_allclose(np.broadcast_to(one.derivatives[unknown], slope.shape), slope, atol=1e-8 * size)
    check = rt.Forest(recorded).check_derivatives("f", CELLS)
    assert check.good()


def test_on_a_device():
    ns = scope(lambda ns: rt.record(complex_numbers, ns.x, ns.y))
    host = rt.Forest(ns).evaluate("f", CELLS)
    np.testing.assert_allclose(rt.Forest(ns, device="simulated").evaluate("f", CELLS), host, rtol=1e-15)


def test_what_is_used_twice_is_one_node():
    def squares(cells, x):
        for _ in range(40):
            x = x * x - x  # as a tree without shared nodes 2^40 of them
        return x

    ns = rt.NodeScope()
    ns.y << rt.record(squares, ns.x << 0.5)
    assert len(ns.AllNodes()) == 1 + 80
    x = 0.5
    for _ in range(40):
        x = x * x - x
    assert rt.Forest(ns).evaluate(ns.y).item() == pytest.approx(x, rel=1e-13)


def test_objects_are_recorded_as_they_are_when_they_get_a_name():
    class Scale:
        factor = 2.0

        def evaluate(self, cells, x):
            return self.factor * x if self.factor > 1 else x

    scale = Scale()
    ns = rt.NodeScope()
    ns.y << rt.record(scale, ns.x << 3.0)
    scale.factor = 0.5
    ns.z << rt.record(scale, ns.x)
    forest = rt.Forest(ns)
    assert [forest.evaluate(ns.y).item(), forest.evaluate(ns.z).item()] == [6.0, 3.0]


def test_names_and_binding_again():
    ns = rt.NodeScope()
    for _ in range(2):
        ns.x << 3.0
        ns.y(1) << rt.record(np_square, ns.x) + 1
        ns.z << rt.record(np_square, ns.x)
    assert list(ns.AllNodes()) == ["x", "y:1", "{1}", "y:1/{np_square}", "z"]
    assert ns.z.classname == "Sqr"
    ns.z << rt.record(np_square, ns.y(1))
    with pytest.raises(rt.ForestError, match="defined again and differently"):
        rt.Forest(ns)


def np_square(cells, x):
    return x**2


def test_indices():
    ns = rt.NodeScope()
    p, q = rt.each([(0, 1), (0, 2), (1, 2)])
    for antenna in range(3):
        ns.x(antenna) << float(antenna + 1)
    ns.y(p, q) << rt.record(lambda cells, a, b: a - 10 * b, ns.x(p), ns.x(q))
    ns.sum << rt.Add(*rt.over(p, rt.record(np_square, ns.y(p, q))))
    forest = rt.Forest(ns)
    assert [forest.evaluate(ns.y(*pq)).item() for pq in [(0, 1), (0, 2), (1, 2)]] == [-19.0, -29.0, -28.0]
    assert forest.evaluate(ns.sum).item() == 19**2 + 29**2 + 28**2


def test_the_argument_or_a_number_itself():
    ns = rt.NodeScope()
    ns.same << rt.record(lambda cells, x: x, ns.x << 3.0)
    ns.number << rt.record(lambda cells, x: 4.0, ns.x)
    ns.cells << rt.record(lambda cells: cells.freq_hz[None, :])
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.same).item() == 3.0
    assert forest.evaluate(ns.number).item() == 4.0
    np.testing.assert_array_equal(forest.evaluate(ns.cells, CELLS), [[1e8, 1.1e8]])


def test_numbers_of_all_types_and_powers_that_are_tensors():
    numbers = [True, 3, np.int32(3), np.float32(3), np.longdouble(3), np.complex64(3j), Fraction(3, 4), 3 * u.km]
    numbers += [np.array([[[1]], [[2]]]), np.array([[[1]], [[2j]]], np.complex64), np.ma.array([[[1]], [[2]]])]
    for number in numbers:
        plain = np.asarray(number.to_value(u.m) if isinstance(number, u.Quantity) else number).astype(complex)
        ns = rt.NodeScope()
        ns.x << 1.5
        ns.product << rt.record(lambda cells, x, number=number: x * number, ns.x)
        ns.number << rt.record(lambda cells, x, number=number: number, ns.x)
        ns.both << rt.record(lambda cells, x, number=number: np.stack([x * number, number]), ns.x)
        forest = rt.Forest(ns)
        for name, expected in {"product": 1.5 * plain, "number": plain, "both": [1.5 * plain, plain]}.items():
            value, expected = forest.evaluate(name), np.asarray(expected)
            dims = expected.shape if plain.ndim == 0 else expected.shape[:-2]
            np.testing.assert_array_equal(value, expected.reshape(*dims, 1, 1))
    ns = rt.NodeScope()
    ns.squares << rt.record(lambda cells, x: x ** np.array([[[2]], [[2]]]), ns.x << 1.5)
    assert rt.Forest(ns).evaluate(ns.squares).shape == (2, 1, 1)


def test_moduli_that_have_no_squares_and_other_spellings():
    ns = rt.NodeScope()
    ns.x << rt.Constant([3e200, 3e-200, 0.0])
    ns.length << rt.record(lambda cells, x: np.hypot(x, 4 / 3 * x), ns.x)
    ns.degrees << rt.record(lambda cells, x: np.angle(1j * x[0], deg=True), ns.x)
    ns.sum << rt.record(lambda cells, x: np.sum(x, axis=np.int64(0)), ns.x)
    forest = rt.Forest(ns)
    np.testing.assert_allclose(forest.evaluate(ns.length).ravel(), [5e200, 5e-200, 0.0], rtol=1e-15)
    assert forest.evaluate(ns.degrees).item() == 90.0
    assert forest.evaluate(ns.sum).item() == 3e200


MISTAKES = {
    "a decision or a number that depends on values": lambda cells, x: x if x > 0 else -x,
    "np.remainder": lambda cells, x: x % 2,
    "np.matmul": lambda cells, x: x @ x,
    "np.greater": lambda cells, x: np.where(np.greater(x, 0), 1, 0),
    "np.roll": lambda cells, x: np.roll(x, 1),
    "np.mean": lambda cells, x: np.mean(x, axis=0),
    "np.add with reduce": lambda cells, x: np.add.reduce(x),
    "np.exp with out": lambda cells, x: np.exp(x, out=np.zeros(3)),
    "making an array of values": lambda cells, x: np.array([[x, 1.0], [0.0, x]]),
    "a decision": lambda cells, x: float(x),
    r"\.shape": lambda cells, x: np.zeros(x.shape),
    r"cells\.time_width_s": lambda cells, x: cells.time_width_s * x,
    r"write cells\.time_s\[:, None\]": lambda cells, x: cells.time_s * x,
    r"an index of cells\.freq_hz other than \[None, :\]": lambda cells, x: cells.freq_hz[:, None] * x,
    "a sum over axis -1": lambda cells, x: x.sum(axis=-1),
    "an index -1": lambda cells, x: x[-1],
    r"an array of shape \(3,\)": lambda cells, x: np.ones(3) * x,
    "the result has one axis": lambda cells, x: 2 * cells.freq_hz,
    "np.stack of values with one axis": lambda cells, x: np.stack([cells.freq_hz, 2 * cells.freq_hz]),
    "an operand has masked elements": lambda cells, x: x * np.ma.array([[[1.0]], [[2.0]]], mask=[[[0]], [[1]]]),
    r"np\.sum with these arguments .*'keepdims'": lambda cells, x: np.sum(x, axis=0, keepdims=True),
    "making an array of values .* PyNode": lambda cells, x: np.stack([[x, x], [x, x]]),
    "expected numbers for an operand": lambda cells, x: x + np.array(["a"]),
    "what the function returned, None": lambda cells, x: None,
    "ZeroDivisionError: division by zero": lambda cells, x: 1 / 0 * x,
    r"takes 1 positional argument.*called with the cells and the values of 1 node \(": lambda cells: 1.0,
    r"a change of what the function gets": lambda cells, x: operator.iadd(x, 1),
    r"a change of cells\.freq_hz": lambda cells, x: x * operator.itruediv(cells.freq_hz[None, :], 1e9),
    r"a change of a part of an array": lambda cells, x: operator.iadd((2 * x)[0], 1),
    r"a change of a part": lambda cells, x: operator.setitem(2 * x, 0, 1.0),
    r"a change of y\.conj\(\)": lambda cells, x: operator.imul((2 * x).conj(), 1.0),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_what_cannot_be_recorded_is_said_with_its_line(message):
    ns = rt.NodeScope()
    ns.y << rt.record(MISTAKES[message], ns.x << rt.Constant([1.0, 2.0]))
    with pytest.raises(rt.ForestError, match=message) as raised:
        rt.Forest(ns)
    (node, line, _), *others = raised.value.errors
    assert node == "y" and "test_recording.py:" in line and not others
    if "one axis" not in message:
        assert re.search(r"\(\S*test_recording.py:\d+\)$", raised.value.errors[0][2])


def test_a_function_that_is_not_of_python_has_no_line():
    ns = rt.NodeScope()
    ns.y << rt.record(np.sin, ns.x << 1.0)
    with pytest.raises(rt.ForestError, match=r"use a PyNode$"):
        rt.Forest(ns)


def test_what_must_not_be_changed_must_not_by_a_py_node():
    for change in (lambda cells, x: operator.iadd(x, 1), lambda cells, x: x * operator.itruediv(cells.freq_hz, 1e9)):
        ns = rt.NodeScope()
        ns.y << rt.PyNode(ns.x << 1.0, evaluate=change)
        with pytest.raises(rt.Error, match=r"read-only \(\S*test_recording.py"):
            rt.Forest(ns).evaluate(ns.y, CELLS)


def test_mistakes_in_the_definition():
    with pytest.raises(TypeError, match="record: function must be a function or a RecordableObject, not 3"):
        rt.record(3)
    ns = rt.NodeScope()
    ns.y << rt.record(lambda cells, a, b: a * b, ns.a << rt.Constant([1.0, 2.0]), ns.b << rt.Constant([1.0, 2.0, 3.0]))
    with pytest.raises(rt.ForestError, match=r"test_recording.py:\d+: .*y"):
        rt.Forest(ns)
