"""Fits that begin where a model has no slope."""

import numpy as np
import pytest

import rimetree as rt

N, PLACES = 3, np.array([[0.0, 0.0], [0.01, 0.005], [-0.012, 0.008], [0.004, -0.011]])


def distance(how, x, y):
    """From where a dish points, by which its beam is written."""
    if how == "sqrt":
        return rt.Sqrt(rt.Sqr(x) + rt.Sqr(y))
    if how == "power":
        return (rt.Sqr(x) + rt.Sqr(y)) ** 0.5
    if how == "norm":
        return rt.Norm(rt.Composer(x, y))
    if how == "angle":
        return rt.Acos(rt.Sqrt(1 - rt.Sqr(x) - rt.Sqr(y)))
    angle = rt.Atan2(y, x)
    return rt.Norm(rt.Composer(x, y)) * (rt.Sqr(rt.Cos(angle)) + rt.Sqr(rt.Sin(angle)))


def tree(how, offsets, data=None):
    ns = rt.NodeScope()
    for p in range(N):
        ns.o(p) << rt.Composer(*(ns.offset(p, k) << rt.Parm(offsets[p][k], solvable=True) for k in (0, 1)))
        for s, place in enumerate(PLACES):
            ns.r(p, s) << distance(how, place[0] - ns.o(p)[0], place[1] - ns.o(p)[1])
            ns.E(p, s) << rt.Cos(65e-9 * rt.Freq() * ns.r(p, s)) ** 3
    ns.model << rt.Composer(*(ns.E(p, s) for p in range(N) for s in range(len(PLACES))))
    if data is not None:
        ns.solve << rt.Solver(rt.Condeq(rt.Constant(data, cells_rank=2), ns.model))
    return ns


@pytest.mark.parametrize("how", ["sqrt", "power", "norm", "angle", "polar"])
def test_a_source_in_the_middle_of_a_beam(how):
    """One source where the dishes are thought to point made all derivatives no numbers: nothing could be solved for."""
    cells = rt.Cells(freq_hz=[1.2e9, 1.3e9, 1.4e9])
    offsets = np.random.default_rng(2).normal(0, 1e-3, (N, 2))
    written = tree(how, offsets)
    ns = tree(how, np.zeros((N, 2)), rt.Forest(written).evaluate(written.model, cells))
    forest = rt.Forest(ns)
    report = forest.solve(ns.solve, cells)
    assert report.converged == 1
    found = [[forest.get_state(ns.offset(p, k))["value"].item() for k in (0, 1)] for p in range(N)]
    np.testing.assert_allclose(found, offsets, atol=1e-8)
