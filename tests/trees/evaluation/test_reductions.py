"""Sums, means and extremes over cells and tensors, with and without flags: the same numbers by rows and one by one."""

import itertools

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells(np.arange(4.0), [1e8, 2e8, 3e8])
AXES = [[], ["time"], ["freq"], ["time", "freq"]]


def values(shape, is_complex):
    generator = np.random.default_rng(2)
    real = generator.normal(size=shape)
    return real + 1j * generator.normal(size=shape) if is_complex else real


def expected(name, arrays, axes, tensor_axis):
    """By NumPy, of children of one shape on the cells; shorter ones count once for each cell that is reduced."""
    full = [np.broadcast_to(a, (*a.shape[:-2], 4, 3)) for a in arrays]
    stacked = np.stack(full)
    over = (0, *(stacked.ndim - 2 + ["time", "freq"].index(axis) for axis in axes))
    over += (1 + tensor_axis,) if tensor_axis >= 0 else ()
    keep = stacked.ndim - 2, stacked.ndim - 1
    result = getattr(np, name.lower())(stacked, axis=over, keepdims=True)
    return result.reshape([n for i, n in enumerate(result.shape) if i in keep or i not in over])


def forest(name, arrays, axes, tensor_axis, flagged):
    ns = rt.NodeScope()
    ns.scale << rt.Parm(1.5, solvable=True)
    for k, array in enumerate(arrays):
        ns.x(k) << ns.scale * rt.Constant(array, cells_rank=2)
        ns.seen(k) << (rt.MergeFlags(ns.x(k), rt.ZeroFlagger(rt.Time() - 100.0, oper="GT")) if flagged else ns.x(k))
    children = [ns.seen(k) for k in range(len(arrays))]
    ns.y << getattr(rt, name)(*children, reduction_axes=axes, tensor_axis=tensor_axis)
    return rt.Forest(ns)


@pytest.mark.parametrize("name", ["Sum", "Mean"])
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize(
    ("shapes", "tensor_axis"),
    [([(4, 3)], -1), ([(4, 1), (1, 3)], -1), ([(5, 2, 4, 3)], 0), ([(5, 2, 1, 3)], 1), ([(2, 4, 3), (2, 4, 3)], 0)],
    ids=str,
)
def test_values_and_derivatives(name, axes, shapes, tensor_axis):
    for kinds in itertools.product([False, True], repeat=len(shapes)):
        arrays = [values(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
        plain = forest(name, arrays, axes, tensor_axis, flagged=False)
        result = plain.result("y", CELLS, derivatives=True)
        wanted = expected(name, arrays, axes, tensor_axis)
        slope = np.broadcast_to(result.derivatives[("scale", 0)], wanted.shape)
        np.testing.assert_allclose(np.broadcast_to(result.value, wanted.shape), 1.5 * wanted, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(slope, wanted, rtol=1e-13, atol=1e-15)
        assert plain.check_derivatives("y", CELLS).good()


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("axes", AXES, ids=str)
def test_no_flags_and_flags_of_nothing_give_the_same_bits(name, axes):
    arrays = [values((5, 2, 4, 3), False)]
    one = forest(name, arrays, axes, 0, flagged=False).result("y", CELLS, derivatives=True)
    other = forest(name, arrays, axes, 0, flagged=True).result("y", CELLS, derivatives=True)
    np.testing.assert_array_equal(one.value, other.value)
    slopes = one.derivatives[("scale", 0)], other.derivatives[("scale", 0)]
    np.testing.assert_allclose(*slopes, rtol=1e-14)


def test_extremes_keep_what_is_not_a_number():
    array = values((4, 3), False)
    array[1, 2] = np.nan
    for name, axes in itertools.product(["Max", "Min"], AXES[1:]):
        found = forest(name, [array], axes, -1, flagged=False).evaluate("y", CELLS)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(found, 1.5 * expected(name, [array], axes, -1))


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("axes", [["time"], ["freq"], ["time", "freq"]], ids=str)
@pytest.mark.parametrize("n_time", [7, 8, 21])
def test_many_outcomes_are_those_of_rows_one_by_one(name, axes, n_time, monkeypatch):
    """Outcomes are made several at a time; where something is flagged, one by one. A value that is NaN stays so."""
    monkeypatch.setenv("RIMETREE_DEVICE", "none")  # it is about the order in which the host sums
    array = values((3, n_time, 19), is_complex=False)
    array[1, 4, 5] = np.nan
    cells = rt.Cells(np.arange(float(n_time)), np.arange(19.0) + 1e8)
    plain, flagged = (forest(name, [array], axes, -1, flagged=seen).result("y", cells).value for seen in (False, True))
    over = tuple({"time": 1, "freq": 2}[axis] for axis in axes)
    wanted = 1.5 * getattr(np, name.lower())(array, axis=over, keepdims=True)
    np.testing.assert_allclose(plain, wanted, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(flagged, plain)
