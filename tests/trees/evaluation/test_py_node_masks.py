"""Functions of PyNodes that see flags as masks, and flag."""

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells(time_s=[0.0, 1.0, 2.0], freq_hz=[1e9, 2e9, 3e9, 4e9])
VALUES = np.arange(12.0).reshape(3, 4)
BAD = np.zeros((3, 4), bool)
BAD[1, 2] = BAD[0, 0] = True


def result_of(evaluate, *children, dims=(), masked=True, **node):
    ns = rt.NodeScope()
    ns.y << rt.PyNode(*children, evaluate=evaluate, dims=dims, masked=masked, **node)
    return rt.Forest(ns).result(ns.y, CELLS)


def flagged():
    return rt.Constant(np.ma.array(VALUES, mask=BAD), cells_rank=2)


def test_masks_are_the_flags_of_children():
    seen = {}

    def evaluate(cells, x, clean):
        seen.update(x=x, clean=clean)
        return x + clean

    result = result_of(evaluate, flagged(), rt.Constant(VALUES, cells_rank=2))
    np.testing.assert_array_equal(seen["x"].mask, BAD)
    assert isinstance(seen["clean"], np.ma.MaskedArray) and not np.ma.getmaskarray(seen["clean"]).any()
    np.testing.assert_array_equal(result.flags != 0, BAD)
    np.testing.assert_array_equal(result.value[~BAD], 2 * VALUES[~BAD])


def test_a_function_flags_and_takes_flags_back():
    found = result_of(lambda cells, x: np.ma.masked_greater(np.ma.getdata(x), 9.0), flagged())
    np.testing.assert_array_equal(found.flags != 0, VALUES > 9)
    none = result_of(lambda cells, x: x.filled(0.0), flagged())
    np.testing.assert_array_equal(none.flags != 0, BAD)  # a plain array says nothing of flags
    clean = result_of(lambda cells, x: np.ma.array(x.filled(0.0)), flagged())
    assert clean.flags is None or not clean.flags.any()
    assert clean.value[1, 2] == 0


def test_without_masked_functions_get_arrays_and_may_not_flag():
    found = result_of(lambda cells, x: x * (not isinstance(x, np.ma.MaskedArray)), flagged(), masked=False)
    np.testing.assert_array_equal(found.flags != 0, BAD)
    assert (found.value == VALUES)[~BAD].all()
    with pytest.raises(rt.Error, match="masked elements"):
        ns = rt.NodeScope()
        ns.y << rt.PyNode(flagged(), evaluate=lambda cells, x: np.ma.masked_greater(x, 9.0))
        rt.Forest(ns).evaluate(ns.y, CELLS)


def test_elements_of_tensors_have_masks_of_their_own():
    bad = np.zeros((2, 3, 4), bool)
    bad[1, 0] = True
    tensor = rt.Constant(np.ma.array(np.stack([VALUES, VALUES]), mask=bad), cells_rank=2)
    seen = {}

    def evaluate(cells, x):
        seen["mask"] = np.ma.getmaskarray(x).copy()
        return np.ma.array(x[::-1])

    result = result_of(evaluate, tensor, dims=[2])
    np.testing.assert_array_equal(seen["mask"], bad)
    np.testing.assert_array_equal(result.flags != 0, bad[::-1])


def test_flags_that_vary_where_values_do_not():
    """A number for all cells, of which some are flagged: it is given on all axes on which flags vary."""
    ns = rt.NodeScope()
    ns.bad << rt.ZeroFlagger(rt.Constant(BAD.any(axis=1).astype(float), cells_rank=1), oper="GT")
    ns.x << rt.MergeFlags(rt.Constant([[1.0, 2.0], [3.0, 4.0]]), ns.bad)
    ns.y << rt.PyNode(ns.x, evaluate=lambda cells, x: x.sum(axis=(2, 3), keepdims=True), dims=[2, 2], masked=True)
    seen = []
    ns.z << rt.PyNode(ns.x, evaluate=lambda cells, x: seen.append(x.shape) or x, dims=[2, 2], masked=True)
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.y, CELLS)[:, :, 0, 0].tolist() == [[1.0, 2.0], [3.0, 4.0]]  # one time of three is good
    assert np.array(forest.result(ns.z, CELLS).flags).reshape(-1).astype(bool).tolist() == [True, True, False]
    assert seen == [(2, 2, 3, 1)]


@pytest.mark.parametrize("with_adjoint", [False, True])
def test_derivatives_leave_out_what_is_flagged(with_adjoint):
    """A mean over what is good, by differences and by an adjoint of one's own."""

    def evaluate(cells, x):
        return np.ma.array(x.mean(axis=(-2, -1), keepdims=True))

    def pull_back(cells, adjoint, x):
        return np.ma.array(np.where(x.mask, 0, adjoint / x.count()) * np.ones_like(x.data), mask=x.mask)

    ns = rt.NodeScope()
    ns.a << rt.Parm(2.0, solvable=True)
    ns.x << ns.a * ns.a * flagged()
    own = {"pull_back": pull_back} if with_adjoint else {}
    ns.y << rt.PyNode(ns.x, evaluate=evaluate, masked=True, **own)
    ns.chi2 << rt.ChiSquare(rt.Condeq(30.0, ns.y))
    forest = rt.Forest(ns)
    mean = VALUES[~BAD].mean()
    assert forest.evaluate(ns.y, CELLS).item() == pytest.approx(4 * mean)
    result = forest.result(ns.y, CELLS, derivatives=True)
    assert not result.flags.any() if result.flags is not None else True
    value, gradient = forest.value_and_gradient(ns.chi2, CELLS)
    assert value == pytest.approx((30 - 4 * mean) ** 2)
    assert gradient == pytest.approx([-2 * (30 - 4 * mean) * 4 * mean], rel=1e-6)
    ns.solver << rt.Solver(rt.Condeq(30.0, ns.y))
    solved = rt.Forest(ns).solve(ns.solver, CELLS)
    assert solved.parms["a"].value == pytest.approx(np.sqrt(30 / mean), rel=1e-6)


def test_a_flagger_over_a_set(small_ms):
    """What a script flags is written: outliers by the median of the good data of a baseline."""
    path = small_ms(n_time=4, pairs=[(0, 1), (0, 2)])
    ns = rt.NodeScope()
    station = {"station_1_index": 0, "station_2_index": 1}

    def burst(cells):
        values = np.ones((len(cells.time_s), len(cells.freq_hz)))
        values[1, 3] = 50.0
        return values

    ns.v << rt.PyNode(evaluate=burst) * np.eye(2)
    ns.s << rt.Sink(ns.v, **station, output_column="DATA")
    rt.Forest(ns).run(path)

    def outliers(cells, v):
        size = np.ma.abs(v)
        far = (size > 5 * np.ma.median(size[0, 0]) + 1e-9).filled(False).any(axis=(0, 1))
        return np.ma.array(v.data, mask=np.ma.getmaskarray(v) | far)

    flagger = rt.NodeScope()
    flagger.d << rt.Spigot(**station, input_column="DATA")
    flagger.f << rt.PyNode(flagger.d, evaluate=outliers, dims=[2, 2], masked=True)
    flagger.s << rt.Sink(flagger.f, **station, output_column="DATA", write_flags=True)
    rt.Forest(flagger).run(path)
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=10)
    row = [tuple(pair) for pair in tile["baselines"]].index((0, 1))
    expected = np.zeros((4, 8), bool)
    expected[1, 3] = True
    np.testing.assert_array_equal(tile["flag"][row].reshape(4, 8, -1).all(axis=-1), expected)
    assert not tile["flag"][1 - row].any()
