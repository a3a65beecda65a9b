"""Unknowns as a vector, gradients, and the check of derivatives from Python."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.evaluation.parameters import DerivativeCheck, NodeCheck

CELLS = rt.Cells(time_s=[5.0e9, 5.0e9 + 10], freq_hz=[1.0e9, 1.1e9, 1.2e9])


def small_forest():
    """Residuals of a gain times a source: a polynomial gain in two tiles, a position, a flux, and a frozen Parm."""
    ns = rt.NodeScope()
    ns.gain << rt.Parm(
        [[1.0, 0.1]],
        freq_0_hz=1.1e9,
        freq_scale_hz=1e8,
        time_edges_s=[5.0e9 - 5, 5.0e9 + 5, 5.0e9 + 15],
        prior_sigma=0.5,
        prior_mean=1.0,
        solvable=True,
    )
    ns.frozen << rt.Parm(0.01)
    ns.l << rt.Parm(0.02, minimum=-0.1, maximum=0.1, solvable=True)
    ns.flux << rt.Parm(2.0, solvable=True)
    ns.lmn << rt.Composer(ns.l, ns.frozen, 0.9, dims=[1, 3])
    ns.V << rt.PSV(ns.lmn, rt.Composer(ns.flux), rt.Constant([100.0, -70.0, 30.0]))
    data = np.arange(24.0).reshape(2, 2, 2, 3) * (0.1 + 0.05j)
    ns.residual << rt.Condeq(rt.Constant(data, cells_rank=2), ns.gain * ns.V, weight_factor=3.0)
    ns.chi2 << rt.ChiSquare(ns.residual)
    ns.likelihood << rt.LogLikelihood(ns.residual, posterior=True)
    return rt.Forest(ns)


def test_vector_and_parms():
    forest = small_forest()
    assert [(one.name, one.unknowns, one.shape) for one in forest.parameters()] == [
        ("gain", slice(0, 4), (2, 1, 1, 2)),
        ("l", slice(4, 5), ()),
        ("flux", slice(5, 6), ()),
    ]
    gain, direction, _ = forest.parameters()
    np.testing.assert_array_equal(gain.prior_sigma, [0.5, 0, 0.5, 0])
    np.testing.assert_array_equal(gain.prior_mean, [1, 0, 1, 0])
    assert (direction.minimum, direction.maximum) == (-0.1, 0.1)
    assert gain.maximum[0] == np.inf
    np.testing.assert_array_equal(forest.parameter_vector(), [1, 0.1, 1, 0.1, 0.02, 2])
    forest.set_parameters([1, 2, 3, 4, 0.05, 6])
    np.testing.assert_array_equal(forest.parameter_vector(), [1, 2, 3, 4, 0.05, 6])
    np.testing.assert_array_equal(forest.get_state("gain")["value"], [[[[1, 2]]], [[[3, 4]]]])
    with pytest.raises(rt.Error, match="5 numbers, but the solvable Parms have 6 unknowns"):
        forest.set_parameters(np.zeros(5))


@pytest.mark.parametrize("node", ["chi2", "likelihood"])
def test_gradient_is_that_of_finite_differences(node):
    forest = small_forest()
    x = forest.parameter_vector()
    value, gradient = forest.value_and_gradient(node, CELLS)
    assert value == pytest.approx(forest.evaluate(node, CELLS).item(), rel=1e-14)
    for k in range(len(x)):
        step = 1e-7 * np.eye(len(x))[k]
        above, _ = forest.value_and_gradient(node, CELLS, x + step)
        below, _ = forest.value_and_gradient(node, CELLS, x - step)
        # The phase moves by 2e-4 radians at most, of which the square is left, and rounding of 1e-16 value / step.
        assert gradient[k] == pytest.approx((above - below) / 2e-7, rel=1e-6, abs=1e-8 * abs(value))


def test_chi_square_is_of_a_chi_square_node():
    forest = small_forest()
    value, gradient = forest.chi_square("chi2", CELLS)
    residual = forest.evaluate("residual", CELLS)
    assert value == pytest.approx(3 * np.sum(np.abs(residual) ** 2), rel=1e-13)
    assert gradient.shape == (6,)
    with pytest.raises(rt.Error, match="no ChiSquare"):
        forest.chi_square("residual", CELLS)
    with pytest.raises(rt.Error, match="one real number"):
        forest.value_and_gradient("residual", CELLS)


def test_check_derivatives():
    forest = small_forest()
    check = forest.check_derivatives("chi2", CELLS)
    assert check.good()
    assert check.reverse_difference < 1e-12
    assert {*(("gain", k) for k in range(4)), ("l", 0), ("flux", 0)} == set(check.forward)  # two tiles of two each
    assert "forward and reverse mode differ" in str(check)
    assert {node.node_class for node in check.nodes if not node.extended} == {"ChiSquare"}


@pytest.mark.parametrize("lost", [0, 1])
def test_what_is_no_number_is_no_agreement(lost):
    nodes = [NodeCheck(f"x{i}", "Sin", np.nan if i == lost else 1e-3, 1e-12, True) for i in range(8)]
    unknowns = {("a", 0): 1.0, ("a", 1): 2.0}
    moved = dict(unknowns)
    moved[("a", lost)] = np.nan
    assert np.isnan(DerivativeCheck([], unknowns, moved).reverse_difference)
    assert not DerivativeCheck([], unknowns, moved).good()
    assert not DerivativeCheck([], moved, unknowns).good()
    assert str(DerivativeCheck(nodes, {}, {})).splitlines()[1].startswith(f"  x{lost} "), "the worst comes first"
