"""A Condeq's weights reach what sums its residuals, whatever name it goes by; where they do not, that is said."""

import warnings

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells(freq_hz=[1e9])


def tree(how):
    """A scope with residuals (3 - p, 4 - p) of weights 5 and 1 as `ns.c`, and what `how` makes of them as `ns.r`."""
    ns = rt.NodeScope()
    ns.p << rt.Parm(2.0, solvable=True)
    ns.c << rt.Condeq(rt.Constant([3.0, 4.0]), rt.Composer(ns.p, ns.p), rt.Constant([5.0, 1.0]))
    how(ns)
    return ns


NAMED = {
    "itself": lambda ns: None,
    "another name": lambda ns: ns.r << ns.c,
    "names of names": lambda ns: [ns.q << rt.Identity(ns.c), ns.r << ns.q],
}


@pytest.mark.parametrize("how", NAMED.values(), ids=NAMED)
def test_another_name_has_the_weights(how):
    ns = tree(how)
    residual = ns.r if ns.r.initialized() else ns.c
    ns.chi << rt.ChiSquare(residual)
    ns.log << rt.LogLikelihood(residual)
    ns.solve << rt.Solver(residual)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = rt.Forest(ns)
    assert forest.evaluate(ns.chi, CELLS).item() == 5 * 1 + 1 * 4
    value, gradient = forest.value_and_gradient(ns.chi, CELLS)
    assert value == 9 and gradient.tolist() == [-2 * (5 * 1 + 1 * 2)]
    expected = -0.5 * 9 + 0.5 * (np.log(5 / (2 * np.pi)) + np.log(1 / (2 * np.pi)))
    assert forest.evaluate(ns.log, CELLS).item() == pytest.approx(expected, rel=1e-14)
    forest.evaluate(ns.solve, CELLS)
    assert forest.evaluate(ns.p, CELLS).item() == pytest.approx((5 * 3 + 4) / 6)


@pytest.mark.parametrize("make", [lambda c: c[0], lambda c: c * 2.0, lambda c: rt.Composer(c, c)])
def test_weights_that_are_lost_are_told_of(make):
    ns = tree(lambda ns: ns.r << make(ns.c))
    ns.chi << rt.ChiSquare(ns.r)
    with pytest.warns(UserWarning, match='node "chi": .* that of node "c" does not count'):
        rt.Forest(ns)


def test_residuals_without_weights_lose_none():
    ns = rt.NodeScope()
    ns.c << rt.Condeq(rt.Constant([3.0, 4.0]), rt.Constant(1.0))
    ns.chi << rt.ChiSquare(ns.c[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rt.Forest(ns).evaluate(ns.chi, CELLS).item() == 4
