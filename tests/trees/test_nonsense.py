"""What can only give nonsense is refused, and what is hardly meant is warned of."""

import warnings

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells([10.0, 20.0], [1e8, 2e8])
UVW = [120.0, -80.0, 30.0]


def direction(l, m):  # noqa: E741 - the field's name
    return [l, m, np.sqrt(1 - l * l - m * m)]


GOOD = [direction(0.1, -0.2), direction(0.0, 0.0), direction(-0.3, 0.5)]
BAD = {
    "n - 1": ([*GOOD[:2], [0.1, 0.2, np.sqrt(0.95) - 1]], r"direction 2 is .*0.2, -0.0253.*not n - 1"),
    "n - 1 at the centre": ([[0.0, 0.0, 0.0]], r"direction 0 is .*not n - 1"),
    "n = 1": ([GOOD[0], [0.1, 0.2, 1.0]], r"direction 1 is .*must be 1"),
    "degrees": ([[30.0, 2.0, 0.9]], r"not beyond 1"),
    "off the sphere": ([[0.1, 0.2, 0.9]], r"must be 1"),
}


@pytest.mark.parametrize("node_class", ["PSV", "VisPhaseShift"])
@pytest.mark.parametrize("name", BAD)
def test_directions_off_the_sphere_are_refused_when_the_forest_is_built(node_class, name):
    lmn, message = BAD[name]
    ns = rt.NodeScope()
    # Not the Constant itself, but what is made of it.
    ns.lmn << rt.Identity(rt.Constant(lmn))
    if node_class == "PSV":
        ns.V << rt.PSV(ns.lmn, rt.Constant(np.ones(len(lmn))), rt.Constant(UVW))
    else:
        ns.V << rt.VisPhaseShift(ns.lmn, rt.Constant(UVW))
    with pytest.raises(rt.ForestError, match=rf"test_nonsense.py:\d+: node 'V': child \"lmn\": .*{message}"):
        rt.Forest(ns)


def test_swapped_children_are_refused():
    ns = rt.NodeScope()
    ns.K << rt.VisPhaseShift(rt.Constant(UVW), rt.Constant(GOOD[0]))
    ns.V << rt.PSV(rt.Constant([UVW]), rt.Constant([1.0]), rt.Constant(GOOD[0]))
    with pytest.raises(rt.ForestError, match="is this the uvw") as caught:
        rt.Forest(ns)
    assert [node for node, _, _ in caught.value.errors] == ["K", "V"]


def test_directions_of_six_digits_and_those_that_are_no_numbers_pass():
    ns = rt.NodeScope()
    ns.V << rt.PSV(rt.Constant(np.round(GOOD, 6)), rt.Constant(np.ones(3)), rt.Constant(UVW))
    ns.K << rt.VisPhaseShift(rt.Constant([np.nan, 0.1, 1.0]), rt.Constant(UVW))
    ns.l << rt.Parm(0.1, solvable=True)
    # A direction that a fit moves is the fit's business.
    ns.moving << rt.VisPhaseShift(rt.Composer(ns.l, 0.2, 0.9), rt.Constant(UVW))
    forest = rt.Forest(ns)
    assert np.isfinite(forest.evaluate(ns.V, CELLS)).all()
    assert np.isfinite(forest.evaluate(ns.moving, CELLS)).all()


def test_constants_that_are_changed_are_looked_at_again():
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(GOOD)
    ns.V << rt.PSV(rt.Identity(ns.lmn), rt.Constant(np.ones(3)), rt.Constant(UVW))
    forest = rt.Forest(ns)
    before = forest.evaluate(ns.V, CELLS).copy()
    with pytest.raises(rt.Error, match="not n - 1"):
        forest.set_state(ns.lmn, value=[GOOD[0], GOOD[1], [0.1, 0.2, np.sqrt(0.95) - 1]])
    np.testing.assert_array_equal(forest.evaluate(ns.V, CELLS), before)  # nothing has changed
    forest.set_state(ns.lmn, value=[GOOD[0]] * 3)
    assert np.abs(forest.evaluate(ns.V, CELLS) - before).max() > 0.1


def test_products_of_matrices_element_by_element_are_warned_of():
    def build(**fields):
        ns = rt.NodeScope()
        ns.a << rt.Constant([[1.0, 2.0], [3.0, 4.0]])
        ns.scaled << 2.0 * ns.a * rt.Freq()
        ns.b << (rt.Multiply(ns.a, ns.scaled, **fields) if fields else ns.a * ns.scaled)
        return rt.Forest(ns)

    with pytest.warns(
        UserWarning, match=r"test_nonsense.py:\d+: node \"b\": multiplies 2x2 matrices element by .* a @ b"
    ):
        forest = build()
    assert len(forest.warnings()) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(elementwise=True)


def test_a_product_in_a_loop_is_warned_of_once():
    ns = rt.NodeScope()
    for p in range(10):
        ns.a(p) << rt.Constant(np.eye(2))
        ns.b(p) << ns.a(p) * ns.a(p)
    with pytest.warns(UserWarning) as caught:
        rt.Forest(ns)
    assert len(caught) == 1


@pytest.mark.parametrize("node_class", ["Max", "Min", "Mean"])
def test_an_extreme_or_mean_of_nothing_is_missing(node_class):
    ns = rt.NodeScope()
    ns.none << rt.Constant(np.zeros((0, 2)))
    ns.y << getattr(rt, node_class)(ns.none, tensor_axis=0)
    ns.sum << rt.Sum(ns.none, tensor_axis=0)
    for device in ("none", "simulated"):
        forest = rt.Forest(ns, device=device)
        assert forest.result(ns.y, CELLS).value is None
        with pytest.raises(rt.Error, match="'y' has no data"):
            forest.evaluate(ns.y, CELLS)
        np.testing.assert_array_equal(np.squeeze(forest.evaluate(ns.sum, CELLS)), [0, 0])


def test_cells_outside_of_all_solution_tiles_are_counted():
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True, time_edges_s=[0.0, 15.0, 30.0], freq_edges_hz=[1.5e8, 2.5e8])
    ns.q << rt.Parm(1.0, solvable=True)
    data = np.arange(12.0).reshape(4, 3)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(data, cells_rank=2), ns.p + 0.0 * ns.q))
    forest = rt.Forest(ns)
    report = forest.solve(ns.solver, rt.Cells([10.0, 20.0, 30.0, 40.0], [1e8, 2e8, 3e8]))
    # 30 s is the end of the last tile, and 40 s beyond it.
    assert (report.parms["p"].slots_outside, report.parms["p"].channels_outside) == (1, 2)
    assert (report.parms["q"].slots_outside, report.parms["q"].channels_outside) == (0, 0)
    np.testing.assert_allclose(np.ravel(report.parms["p"].value), [data[0].mean(), data[1:].mean()])
    told = [text for text in forest.warnings() if "outside" in text]
    assert len(told) == 2
    assert 'Parm "p": 1 time slots lie outside' in told[0]
    assert 'Parm "p": 2 channels lie outside' in told[1]


def test_numbers_of_threads():
    ns = rt.NodeScope()
    ns.x << 1.0
    for threads in (-1, 0):
        with pytest.raises(rt.Error, match="threads"):
            rt.Forest(ns, threads=threads)
