"""Nodes written in Python whose functions compute in single precision."""

import numpy as np
import pytest

import rimetree as rt


@pytest.mark.parametrize("is_local", [True, False])
def test_derivatives_of_functions_in_single_precision(is_local):
    """Of which the steps for double precision see little but rounding."""

    def evaluate(cells, p, x):
        p, x = np.float32(p), np.float32(x)
        return np.sin(p * x) if is_local else np.sin(p * x) + np.mean(x)

    def value(p, x):
        return np.sin(p * x) if is_local else np.sin(p * x) + np.mean(x)

    n = 5000 if is_local else 50
    times = np.linspace(0.0, 1.0, n)
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.7, solvable=True)
    ns.scale << rt.Parm(1.3, solvable=True)
    ns.y << rt.PyNode(ns.p, ns.scale * rt.Time(), evaluate=evaluate)
    ns.chi2 << rt.ChiSquare(rt.Condeq(0.2, ns.y))
    forest = rt.Forest(ns)
    _, gradient = forest.value_and_gradient(ns.chi2, rt.Cells(times, 1e9))
    x = 1.3 * times
    slopes = times * 0.7 * np.cos(0.7 * x) + (0 if is_local else np.mean(times))
    expected = [np.sum(2 * (value(0.7, x) - 0.2) * one) for one in (x * np.cos(0.7 * x), slopes)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-3)
