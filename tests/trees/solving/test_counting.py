"""How often a residual counts: once for each cell on which it, its weight or its flags vary."""

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells(np.arange(1.0, 4.0), 1e8 * np.arange(1.0, 6.0))
ALONG_TIME, ALONG_FREQ = np.arange(1.0, 4.0)[:, None], np.arange(1.0, 6.0)[None, :]

CASES = {  # data, what the Parm is multiplied by, weight, real numbers that count
    "no axes": (2.0, 1.0, 1.0, 1),
    "data along time": (ALONG_TIME, 1.0, 1.0, 3),
    "model along freq": (2.0, ALONG_FREQ, 1.0, 5),
    "weight along freq": (2.0, 1.0, ALONG_FREQ, 5),
    "data along time, model along freq": (ALONG_TIME, ALONG_FREQ, 1.0, 15),
    "complex": (2.0 + 1j, 1.0, 1.0, 2),
}


def constant(value):
    return rt.Constant(value, cells_rank=np.ndim(value))


@pytest.mark.parametrize("device", ["none", "simulated"])
@pytest.mark.parametrize("method", ["auto", "generic"])
@pytest.mark.parametrize("name", CASES)
def test_solver_chi_square_and_likelihood_count_alike(name, method, device):
    data, factor, weight, n = CASES[name]
    full = np.full((3, 5), 3.0)
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.5, solvable=True)
    ns.condeq << rt.Condeq(constant(data), ns.p * constant(factor), constant(weight), weight_factor=0.7)
    # Another equation, so that it matters how often the first one counts.
    ns.other << rt.Condeq(constant(full), ns.p * constant(1.0))
    residuals = [ns.condeq, ns.other]
    ns.chi2 << rt.ChiSquare(*residuals)
    ns.lnl << rt.LogLikelihood(*residuals)
    ns.solver << rt.Solver(*residuals, method=method)
    forest = rt.Forest(ns, device=device)
    assert forest.check_derivatives(ns.chi2, CELLS).good()
    report = forest.solve(ns.solver, CELLS)
    assert report.method.startswith("sums over the data" if method == "auto" else "derivatives")

    # The same cells, written out.
    d, f, w = np.broadcast_arrays(data, factor, weight)
    w = 0.7 * w
    p = (np.sum(w * d.real * f) + np.sum(full)) / (np.sum(w * f * f) + full.size)
    chi_square = np.sum(w * np.abs(d - p * f) ** 2) + np.sum((full - p) ** 2)
    assert forest.parameter_vector()[0] == pytest.approx(p, rel=1e-12)
    (group,) = report.groups
    assert group.equations == n + full.size
    assert group.chi_square == pytest.approx(chi_square, rel=1e-12)
    assert forest.evaluate(ns.chi2, CELLS).item() == pytest.approx(chi_square, rel=1e-12)
    likelihood = 0.5 * (n / d.size * np.sum(np.log(w)) - chi_square - (n + full.size) * np.log(2 * np.pi))
    assert forest.evaluate(ns.lnl, CELLS).item() == pytest.approx(likelihood, rel=1e-12)


def test_flags_that_vary_make_a_residual_count_on_their_cells():
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.5, solvable=True)
    ns.data << rt.MergeFlags(rt.Constant(2.0), rt.ZeroFlagger(rt.Time() - 1.5, oper="LT"))  # the first of three times
    ns.condeq << rt.Condeq(ns.data, ns.p * rt.Constant(1.0))
    ns.chi2 << rt.ChiSquare(ns.condeq)
    for method in ("auto", "generic"):
        ns[f"solver_{method}"] << rt.Solver(ns.condeq, method=method)
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.chi2, CELLS).item() == pytest.approx(2 * 1.5**2)
    for method in ("auto", "generic"):
        (group,) = forest.solve(f"solver_{method}", CELLS).groups
        assert (group.equations, group.flagged) == (2, 1)


@pytest.mark.parametrize("method", ["auto", "generic"])
def test_data_and_priors_are_reported_apart(method):
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.5, solvable=True, prior_mean=1.0, prior_sigma=0.5)
    ns.q << rt.Parm(0.5, solvable=True)
    data = np.array([[2.0, 2.5, 3.0]])
    ns.condeq << rt.Condeq(constant(data), ns.p * constant(1.0))
    ns.second << rt.Condeq(constant(data + 1), ns.p * ns.q * constant(1.0))
    ns.solver << rt.Solver(ns.condeq, ns.second, method=method)
    report = rt.Forest(ns).solve(ns.solver, rt.Cells([1.0], [1e8, 2e8, 3e8]))
    p, q = (report.parms[name].value.item() for name in "pq")
    (group,) = report.groups
    assert (group.equations, group.priors, group.rank) == (6, 1, 2)
    assert group.prior_chi_square_before == pytest.approx(1.0)
    assert group.prior_chi_square == pytest.approx((p - 1) ** 2 / 0.25)
    data_part = np.sum((data - p) ** 2) + np.sum((data + 1 - p * q) ** 2)
    assert group.chi_square == pytest.approx(data_part, rel=1e-12)
    assert group.reduced_chi_square == pytest.approx((data_part + group.prior_chi_square) / (6 + 1 - 2))
    assert report.prior_chi_square[0] == pytest.approx(1.0)
    assert len(report.prior_chi_square) == len(report.chi_square)
    assert "of 1 priors 1 ->" in str(report)
    # q takes what p leaves, so that p is where the first equation and the prior together are smallest.
    assert p == pytest.approx((7.5 + 1 / 0.25) / (3 + 1 / 0.25), rel=1e-9)


def test_data_that_are_left_out_are_counted_and_named():
    data, weight = np.ma.masked_array(np.arange(20.0), np.arange(20) == 1), np.ones(20)
    data[3] = np.nan
    weight[[5, 6, 7]] = -1, 0, np.nan
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.0, solvable=True)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(data, cells_rank=1), ns.p, rt.Constant(weight, cells_rank=1)))
    report = rt.Forest(ns).solve(ns.solver, rt.Cells(np.arange(20.0)))
    (group,) = report.groups
    assert (group.flagged, group.bad_weight, group.not_finite, group.equations) == (1, 3, 1, 15)
    assert "; left out: 1 flagged, 3 without a positive weight, 1 not finite" in str(report)
