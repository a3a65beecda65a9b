"""NumPy's functions of nodes make the nodes of rt.Exp and the like; nodes are compared by identity."""

import copy
import math

import astropy.units as u
import numpy as np
import pytest

import rimetree as rt
from rimetree.writing.numpy_functions import CLASSES

REAL = np.array([-2.5, -1.0, -0.3, -0.0, 0.0, 0.25, 1.0, 3.0, np.inf, np.nan])
COMPLEX = np.array([-2.5 + 1j, -1 - 1e-3j, 0.3j, -1j, 0.5, 2 - 3j, -4.0])
UFUNCS = [*CLASSES, np.positive, np.reciprocal, np.arctan, np.exp2, np.log2, np.log10, np.hypot]
UFUNCS += [np.deg2rad, np.radians, np.rad2deg, np.degrees]
NOT_COMPLEX = {np.fabs, np.arcsin, np.arccos, np.arctan2, np.arctan, np.hypot}
NOT_COMPLEX |= {np.deg2rad, np.radians, np.rad2deg, np.degrees}


def numbers_of(definition, **nodes):
    """Without the axes of cells."""
    ns = rt.NodeScope()
    made = definition(ns)  # of names that get their definitions later
    ns.result << made
    for name, value in nodes.items():
        ns[name] << rt.Constant(value)
    return rt.Forest(ns).evaluate(ns.result)[..., 0, 0]


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=4e-15, atol=1e-300)
    if not np.iscomplexobj(expected):
        assert not np.iscomplexobj(found)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda one: one.__name__)
def test_values_of_ufuncs_are_those_of_numpy(ufunc):
    with np.errstate(all="ignore"):
        for values in [REAL] if ufunc in NOT_COMPLEX else [REAL, COMPLEX]:
            if ufunc.nin == 1:
                assert_same(numbers_of(lambda ns: ufunc(ns.x), x=values), ufunc(values))
                continue
            others = 0.5 + np.arange(len(values))
            expected = ufunc(values, others)
            assert_same(numbers_of(lambda ns, others=others: ufunc(ns.x, others), x=values), expected)
            assert_same(numbers_of(lambda ns, values=values: ufunc(values, ns.y), y=others), expected)
            assert_same(numbers_of(lambda ns: ufunc(ns.x, ns.y), x=values, y=others), expected)
            assert_same(numbers_of(lambda ns: ufunc(ns.x + 0.0, 2), x=values), ufunc(values + 0.0, 2))


MATRIX = np.array([[1.0, 2.0, -4.0], [3.0, 0.5, 7.0]])


@pytest.mark.parametrize(
    "function",
    [np.real, np.imag, np.angle, lambda x: np.angle(x, deg=True), lambda x: np.stack([x, 2 * x]), np.matmul]
    + [lambda x, f=f, k=k: f(x, axis=k) for f in (np.sum, np.mean, np.max, np.amax, np.min, np.amin) for k in (0, 1)],
)
def test_other_functions(function):
    if function is np.matmul:
        for left, right in [(MATRIX, MATRIX.T), (MATRIX, MATRIX[0]), (MATRIX[:, 0], MATRIX), (MATRIX[0], MATRIX[1])]:
            assert_same(numbers_of(lambda ns, left=left: np.matmul(left, ns.x), x=right), left @ right)
            assert_same(numbers_of(lambda ns, right=right: np.matmul(ns.x, right), x=left), left @ right)
        return
    assert_same(numbers_of(lambda ns: function(ns.x), x=MATRIX), function(MATRIX))
    if function in (np.real, np.imag, np.angle):
        assert_same(numbers_of(lambda ns: function(ns.x), x=COMPLEX), function(COMPLEX))


def test_reductions_of_what_is_no_number():
    values = np.array([[1.0, np.nan], [2.0, 3.0]])
    for function in (np.sum, np.mean, np.max, np.min):
        assert_same(numbers_of(lambda ns, f=function: f(ns.x, axis=0), x=values), function(values, axis=0))


def same(one, other):
    return one.same_as(other) and one.origin.split(":")[0] == __file__ and not one.problems


def test_nodes_are_those_of_the_classes_and_lines_those_of_the_script():
    ns = rt.NodeScope()
    a = np.array([1.0, 2.0])
    assert same(np.exp(ns.x), rt.Exp(ns.x)) and same(np.arctan2(ns.x, a), rt.Atan2(ns.x, a))
    assert same(np.conj(ns.x), rt.Conj(ns.x)) and same(np.angle(ns.x), rt.Arg(ns.x))
    assert same(np.power(ns.x, 2), rt.Sqr(ns.x)) and same(np.power(2, ns.x), rt.Pow(2, ns.x))
    assert same(np.max(ns.x, axis=1), rt.Max(ns.x, reduction_axes=[], tensor_axis=1))
    assert same(np.stack([ns.x, 3.0]), rt.Composer(ns.x, 3.0, dims=[0])) and np.positive(ns.x) is ns.x
    assert same(np.multiply(a, ns.x), a * ns.x) and same(np.matmul(ns.x, a), ns.x @ a)
    for quantity in (3 * u.km, [1, 2] * u.km):
        plain = quantity.to_value(u.m)
        assert same(quantity * ns.x, plain * ns.x) and same(quantity / ns.x, plain / ns.x)
        assert same(quantity + ns.x, plain + ns.x) and same(np.subtract(ns.x, quantity), ns.x - plain)
        assert same(np.arctan2(quantity, ns.x), rt.Atan2(plain, ns.x))
    assert np.power(ns.x, 3 * u.m).problems and np.exp(ns.x + u.Quantity(1, "kg")).nodes[0].problems
    assert (3 * u.km * ns.x).origin == (3 * ns.x).origin
    masked = np.ma.array(a, mask=[False, True])
    for product in (masked * ns.x, ns.x * masked, np.multiply(masked, ns.x)):
        assert sorted(getattr(one, "class_name", "") for one in product.nodes) == ["", "MergeFlags"]
    p, q = rt.each([(0, 1), (0, 2)])
    ns.K(p, q) << np.exp(1j * ns.phase(p, q)) * np.sqrt(ns.a(p))
    assert {label_and_node[1].name for label_and_node in ns.K(0, 2).children} == {"K:0:2/{Exp}", "K:0:2/{Sqrt}"}


MISTAKES = {
    r"np\.exp of a node with where=": lambda x, a: np.exp(x, where=[True, False]),
    r"np\.add of a node with out=.* `a = a \+ node`": lambda x, a: np.add(a, x, out=a),
    r"np\.exp of a node with out=": lambda x, a: np.exp(a, out=x),
    r"np\.sin of a node with dtype=, casting=": lambda x, a: np.sin(x, dtype=float, casting="safe"),
    r"np\.add\.reduce of a node: .*np\.sum\(x, axis=0\)": lambda x, a: np.add.reduce(x),
    r"np\.multiply\.outer of a node": lambda x, a: np.multiply.outer(a, x),
    r"np\.cosh of a node: no node class .* rt\.PyNode": lambda x, a: np.cosh(x),
    r"np\.linalg\.norm of a node: .* rt\.Norm": lambda x, a: np.linalg.norm(x),
    r"np\.linalg\.inv of a node: .* rt\.MatrixInvert22": lambda x, a: np.linalg.inv(x),
    r"np\.dot of a node: .* a @ b": lambda x, a: np.dot(a, x),
    r"np\.maximum of a node: .* rt\.Max": lambda x, a: np.maximum(x, 3 * u.m),
    r"np\.sum of a node over axis None: .* rt\.Sum\(x\) over cells": lambda x, a: np.sum(x),
    r"np\.mean of a node over axis -1": lambda x, a: np.mean(x, axis=-1),
    r"np\.sum of a node over axis \(0, 1\)": lambda x, a: np.sum(x, axis=(0, 1)),
    r"np\.max of a node: .*'keepdims'": lambda x, a: np.max(x, axis=0, keepdims=True),
    r"np\.sum of a node: .*'out'": lambda x, a: np.sum(a, axis=0, out=x),
    r"np\.stack of nodes along axis 1": lambda x, a: np.stack([x, a], axis=1),
    r"np\.less of a node: a node has values only in a Forest": lambda x, a: x > a,
    r"np\.shape of a node: a node has values only in a Forest": lambda x, a: np.shape(x),
    r"np\.where of a node": lambda x, a: np.where(x, a, 0.0),
    r"<node x \(not defined\)> == 3: .* `is` tells": lambda x, a: x == 3,
    r"<node x .* == 3j": lambda x, a: x != 3j,
    r"<node x .* == 4": lambda x, a: x == 4,
    r"<node x .* == array": lambda x, a: x == a,
    r"np\.equal of a node": lambda x, a: a == x,
    r"<node x .* == <Quantity 3. m>": lambda x, a: 3 * u.m != x,
    r"<node x .* == 1:": lambda x, a: x in [1, x],
    r"<Add from .*> == 0": lambda x, a: x + a == 0,
    r"<node x .*> as a condition \(if, and, or, not\): .* only in a Forest": lambda x, a: 1.0 if x else 2.0,
    r"<Add from .*> as a condition": lambda x, a: x + 1 or a,
    r"<node x .* as a condition": lambda x, a: not x,
}


@pytest.mark.parametrize("message", MISTAKES)
def test_what_no_class_does_is_said_with_its_line(message):
    with pytest.raises(TypeError, match=message) as raised:
        MISTAKES[message](rt.NodeScope().x, np.array([1.0, 2.0]))
    assert isinstance(raised.value, rt.Error)
    assert "test_numpy_on_nodes.py:" in str(raised.value).split(": ")[0]


def test_nodes_are_compared_by_identity():
    ns = rt.NodeScope()
    assert ns.x == ns.x and ns.x != ns.y and ns.x in [ns.y, ns.x] and ns.x in {ns.x: 1, 3: 2}
    assert ns.x is not None and ns.x != "x" and ns.x not in (None, "x", ns.y)
    definition = ns.x + 1
    assert definition == definition and definition != ns.x + 1 and len({definition, ns.x, ns.y}) == 3
    ns.z << ns.x + 3.0
    ns.z << ns.x + ns.y  # another child where the first had a number
    ns.w << ns.x + np.array([1.0, 2.0])
    ns.w << ns.x + ns.y
    assert [error[2].split(";")[0] for error in ns._repository.errors] == ["defined again and differently"] * 2


@pytest.mark.parametrize(
    "write, kind, message",
    [
        (lambda x: x.real, AttributeError, r"a node has no .real; write rt.Real\(x\)"),
        (lambda x: (x + 1.0).conj(), AttributeError, r"a node has no .conj; write rt.Conj\(x\)"),
        (lambda x: x.sum(), AttributeError, r"np.sum\(x, axis=0\) for a dimension .* or rt.Sum\(x\) for the cells"),
        (lambda x: x.reshape(2, 3), AttributeError, r"write rt.Composer\(x, dims="),
        (lambda x: x.shape, AttributeError, "its dimensions are known only in a Forest"),
        (lambda x: x.nothing, AttributeError, "'NodeStub' object has no attribute 'nothing'"),
        (lambda x: np.reshape(x, (2, 3)), rt.Error, r"write rt.Composer\(x, dims="),
        (lambda x: np.interp(x, [0, 1], [2, 3]), rt.Error, "write rt.Interpolate"),
        (lambda x: math.cos(x), rt.Error, r"as a number: a node has values only in a Forest; .* rt.Cos\(x\) or np.cos"),
        (lambda x: x << rt.Cos, TypeError, r"cannot bind 'x' to Cos, which is to be called: write Cos\(...\)"),
        (lambda x: x << rt.NodeScope(), TypeError, "cannot bind 'x' to <NodeScope"),
    ],
)
def test_what_arrays_have_and_nodes_do_not(write, kind, message):
    """It is told what is written instead; Python says only that it is not there."""
    with pytest.raises(kind, match=message):
        write(rt.NodeScope().x)


def test_nodes_are_copied_and_asked_for_what_they_have():
    ns = rt.NodeScope()
    ns.x << rt.Constant(2.0)
    assert copy.copy(ns.x + 1.0).class_name == "Add" and not hasattr(ns.x, "real") and not hasattr(ns.x, "__len__")
