"""Solver: what cannot be solved is reported and flagged; nothing crashes, nothing is silently wrong."""

import os
import signal
import threading
import time

import numpy as np
import planted
import pytest

import rimetree as rt

N = 5
ONES = np.broadcast_to(np.eye(2, dtype=complex), (N, 2, 2))
METHODS = pytest.mark.parametrize("method", ["auto", "generic"])


def planted_case(seed=1, sigma=0.2, kind="diag", n=N):
    random = np.random.default_rng(seed)
    sky, gains = planted.fixed_sky(random, n), planted.gains_of(random, kind, n)
    return random, sky, gains, planted.with_noise(random, planted.apply(gains, sky), sigma)


@METHODS
def test_a_tile_without_good_data_keeps_its_values_and_is_flagged(method):
    """The first of two solution tiles is all flagged: the second is solved as if the first did not exist."""
    _, sky, _, data = planted_case()
    flags = {pq: np.zeros(v.shape, bool) for pq, v in data.items()}
    for bad in flags.values():
        bad[..., :3, :] = True
    tiles = {"time_edges_s": planted.TIMES_S[[0, 3, 5]] + np.array([-5, -5, 5])}
    forest = planted.gain_forest("diag", data, sky, ONES, flags=flags, parm=tiles, solver={"method": method})
    report = forest.solve("solver", planted.cells())
    empty, good = report.groups
    assert (empty.status, empty.equations, empty.rank, empty.converged) == ("no equations", 0, 0, False)
    assert empty.flagged == 10 * 4 * 3 * 4
    assert good.converged and not report.converged
    for parm in report.parms.values():
        assert parm.flag[0, 0] & rt.SolutionFlag.NO_DATA and parm.flag[1, 0] == 0
        assert np.isnan(parm.sigma[0, 0]) and np.isfinite(parm.sigma[1, 0])
    assert report.parms["G:1:xxr"].value[0, 0] == 1 and report.parms["G:1:xxi"].value[0, 0] == 0


@METHODS
def test_one_baseline_does_not_determine_two_gains(method):
    """The amplitude of one antenna can be exchanged for the other's. That all phases may turn together is no fault:
    what tells the two apart is known of Jones matrices only, so the general way reports the rank."""
    _, sky, _, data = planted_case(n=2)
    report = planted.gain_forest("diag", data, sky, ONES[:2], solver={"method": method}).solve(
        "solver", planted.cells()
    )
    (group,) = report.groups
    assert group.rank < group.unknowns
    if method == "auto":
        assert all(parm.flag & rt.SolutionFlag.UNDETERMINED for parm in report.parms.values())


def test_two_sets_of_antennas_are_good_for_the_baselines_between_them():
    """As in a set with baselines 0-3, 0-4, 1-3, 1-4, 2-3, 2-4 only: amplitudes may go from one set to the other."""
    _, sky, gains, _ = planted_case(sigma=0)
    sky = {(p, q): m for (p, q), m in sky.items() if p < 3 <= q}
    data = planted.apply(gains, sky)
    forest = planted.gain_forest("diag", data, sky, ONES)
    report = forest.solve("solver", planted.cells())
    assert report.converged
    assert all(parm.flag == rt.SolutionFlag.AMBIGUOUS for parm in report.parms.values())
    found = planted.solved_gains(report, "diag", N)
    np.testing.assert_allclose(planted.apply(found, sky)[1, 4], data[1, 4], atol=1e-9)
    assert np.max(np.abs(np.abs(found) - np.abs(gains))) > 1e-3


@METHODS
def test_more_unknowns_than_equations(method):
    """A single datum: a full Jones matrix on each side of it."""
    _, sky, _, data = planted_case(n=2, kind="full")
    one = {pq: np.ones(v.shape, bool) for pq, v in data.items()}
    one[0, 1][0, 0, 0, 0] = False
    forest = planted.gain_forest("full", data, sky, ONES[:2], flags=one, solver={"method": method})
    (group,) = forest.solve("solver", planted.cells()).groups
    assert group.equations == 2 and group.rank <= 2


@METHODS
@pytest.mark.parametrize("bad", [np.nan, np.inf, complex(0, np.nan)])
def test_data_that_are_no_numbers_are_left_out_and_counted(method, bad):
    _, sky, _, data = planted_case()
    flags = {pq: np.zeros(v.shape, bool) for pq, v in data.items()}
    flags[0, 2][0, 0, 1, :] = True
    expected = planted.gain_forest("diag", data, sky, ONES, flags=flags, solver={"method": method})
    wanted = expected.solve("solver", planted.cells())
    data[0, 2][0, 0, 1, :] = bad
    found = planted.gain_forest("diag", data, sky, ONES, solver={"method": method}).solve("solver", planted.cells())
    assert (found.groups[0].not_finite, found.groups[0].flagged) == (4, 0)
    assert (wanted.groups[0].not_finite, wanted.groups[0].flagged) == (0, 4)
    for name, parm in wanted.parms.items():
        assert found.parms[name].value == parm.value


@METHODS
@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, -1.0])
def test_weights_that_are_no_weights_are_left_out_and_counted(method, bad):
    _, sky, _, data = planted_case()
    weight = {pq: np.full(v.shape, 25.0) for pq, v in data.items()}
    weight[1, 3][:, :, 2:, :] = bad
    forest = planted.gain_forest("diag", data, sky, ONES, weight=weight, solver={"method": method})
    (group,) = forest.solve("solver", planted.cells()).groups
    assert group.converged and group.bad_weight == 4 * 4 * 4
    assert group.equations == 2 * (10 * 4 * 24 - group.bad_weight)
    assert group.reduced_chi_square == pytest.approx(1, abs=0.2)


@METHODS
def test_a_model_that_is_not_finite(method):
    """Where it is so at the start the data are left out; where the starting values are, nothing can be solved."""
    _, sky, _, data = planted_case()
    sky[0, 1][:, :, 0, 0] = np.nan
    report = planted.gain_forest("diag", data, sky, ONES, solver={"method": method}).solve("solver", planted.cells())
    assert report.converged and report.groups[0].not_finite == 4
    start = np.array(ONES)
    start[2] = np.nan
    forest = planted.gain_forest("diag", data, sky, start, solver={"method": method})
    report = forest.solve("solver", planted.cells())
    assert not report.converged or report.parms["G:2:xxr"].flag != 0
    assert np.isnan(report.parms["G:2:xxr"].value) and report.parms["G:2:xxr"].flag != 0


@METHODS
def test_too_few_iterations_are_no_convergence(method):
    _, sky, _, data = planted_case()
    forest = planted.gain_forest("diag", data, sky, 0.6 * ONES, solver={"method": method, "iterations": 1})
    report = forest.solve("solver", planted.cells())
    assert (report.groups[0].status, report.groups[0].iterations) == ("exhausted", 1)
    # A value may be near its end by chance.
    assert np.mean([bool(parm.flag & rt.SolutionFlag.NOT_CONVERGED) for parm in report.parms.values()]) > 0.7
    assert report.groups[0].chi_square < report.groups[0].chi_square_before


@METHODS
def test_gains_of_zero_are_a_saddle_and_not_a_solution(method):
    """All derivatives vanish there: the report says that nothing is determined."""
    _, sky, _, data = planted_case()
    report = planted.gain_forest("diag", data, sky, 0 * ONES, solver={"method": method}).solve(
        "solver", planted.cells()
    )
    assert report.groups[0].rank == 0
    assert all(parm.flag != 0 for parm in report.parms.values())


@METHODS
def test_outliers_are_harmless_to_a_robust_solver(method):
    random, sky, gains, data = planted_case(sigma=0.1)
    weight = {pq: np.array([[100.0]]) for pq in sky}
    for visibilities in data.values():
        outlier = random.random(visibilities.shape) < 0.05
        visibilities[outlier] += 20 * planted.complex_gaussian(random, np.count_nonzero(outlier))
    errors = {}
    for dof in (0, 3):
        options = {"method": method, "robust_dof": dof, "iterations": 100}
        report = planted.gain_forest("diag", data, sky, ONES, weight=weight, solver=options).solve(
            "solver", planted.cells()
        )
        assert report.converged
        found = planted.in_gauge(planted.solved_gains(report, "diag", N), "diag")
        errors[dof] = np.max(np.abs(found - planted.in_gauge(gains, "diag")))
    sigma = float(report.parms["G:1:xxr"].sigma)
    assert errors[3] < 5 * sigma < errors[0] / 3


@METHODS
@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_robust_solver_finds_the_size_of_the_noise(method, unit):
    """Weights that are known but for a factor: values and errors are those with the right weights, 1/sigma^2, but for
    the few per cent to which the data tell sigma; and they do not depend on the factor at all."""
    random, sky, _, data = planted_case(sigma=0.1)
    for visibilities in data.values():
        outlier = random.random(visibilities.shape) < 0.05
        visibilities[outlier] += 20 * planted.complex_gaussian(random, np.count_nonzero(outlier))
    found = {}
    for name, weight, options in (("known", 100.0, {}), ("estimated", 100.0 * unit, {"estimate_noise": True})):
        weights = {pq: np.array([[weight]]) for pq in sky}
        solver = {"method": method, "robust_dof": 3, "iterations": 100, **options}
        found[name] = planted.gain_forest("diag", data, sky, ONES, weight=weights, solver=solver).solve(
            "solver", planted.cells()
        )
        assert found[name].converged
    assert found["known"].noise == 1
    assert found["estimated"].noise == pytest.approx(np.sqrt(unit), rel=0.25)
    gains = [planted.in_gauge(planted.solved_gains(report, "diag", N), "diag") for report in found.values()]
    sigma = float(found["known"].parms["G:1:xxr"].sigma)
    assert np.max(np.abs(gains[0] - gains[1])) < sigma
    for name, parm in found["known"].parms.items():
        assert float(found["estimated"].parms[name].sigma) == pytest.approx(float(parm.sigma), rel=0.25)


def test_the_size_of_the_noise_does_not_depend_on_the_weights():
    """However far the weights are off: also where the first estimate, of the model that a fit begins with, stays as it
    is from one look at the residuals to the next (of 200 weights within a factor of 1000 some are such)."""
    random, sky, _, data = planted_case(sigma=0.1)
    for visibilities in data.values():
        outlier = random.random(visibilities.shape) < 0.05
        visibilities[outlier] += 20 * planted.complex_gaussian(random, np.count_nonzero(outlier))
    found = []
    for unit in np.geomspace(1, 1000, 200):
        weights = {pq: np.array([[100.0 * unit]]) for pq in sky}
        solver = {"robust_dof": 3, "estimate_noise": True}
        report = planted.gain_forest("diag", data, sky, ONES, weight=weights, solver=solver)
        found.append(report.solve("solver", planted.cells()).noise / np.sqrt(unit))
    np.testing.assert_allclose(found, np.median(found), rtol=0.02)


def test_fast_and_general_robust_solutions_agree():
    _, sky, _, data = planted_case(sigma=0.3)
    found = []
    for method in ("auto", "generic"):
        options = {"method": method, "robust_dof": 4, "sigma_tolerance": 1e-6, "tolerance": 1e-10}
        found.append(planted.gain_forest("diag", data, sky, ONES, solver=options).solve("solver", planted.cells()))
    for name, parm in found[0].parms.items():
        assert float(parm.value) == pytest.approx(float(found[1].parms[name].value), abs=1e-7)
        assert float(parm.sigma) == pytest.approx(float(found[1].parms[name].sigma), rel=1e-4)


@METHODS
@pytest.mark.parametrize("kind", ["real", "complex", "mixed"])
def test_robust_errors_of_real_and_of_complex_data(kind, method):
    """A factor on a constant model, in many tiles: errors from the Fisher information of Student's t in d dimensions,
    (nu + d)/(nu + d + 2), and pulls that are as many as they should be. In a mixed group the average counts."""
    random = np.random.default_rng(8)
    dof, n_tile, n = 3.0, 1500, 20
    shape = (n_tile, n)
    parts = {"real": [1], "complex": [2], "mixed": [1, 2]}[kind]
    ns = rt.NodeScope()
    ns.g << rt.Parm(0.9, solvable=True, time_edges_s=np.arange(n_tile + 1.0))
    information, condeqs = np.zeros(n_tile), []
    for d in parts:
        noise = random.normal(size=(d, *shape)) * np.sqrt(dof / random.chisquare(dof, shape))
        noise = noise[0] + 1j * noise[1] if d == 2 else noise[0]
        data = 2.0 + 0.1 * noise
        model = 2.0 * np.ones(shape, complex if d == 2 else float)
        ns.c(d) << rt.Condeq(
            rt.Constant(data, cells_rank=2), ns.g * rt.Constant(model, cells_rank=2), weight_factor=100.0
        )
        condeqs.append((ns.c(d), data))
    ns.solver << rt.Solver(*(node for node, _ in condeqs), robust_dof=dof, method=method)
    report = rt.Forest(ns).solve(ns.solver, rt.Cells(np.arange(n_tile) + 0.5, 1e9 + 1e6 * np.arange(n)))
    assert report.converged and ("sums over" in report.method) == (method == "auto")
    found, sigma = report.parms["g"].value.ravel(), report.parms["g"].sigma.ravel()
    for d, (_, data) in zip(parts, condeqs, strict=True):
        square = 100 * np.abs(data - 2 * found[:, None]) ** 2
        information += 400 * np.sum((dof + d) / (dof + square), axis=1)
    dimensions = sum(parts)
    variance = dimensions / sum(d * (dof + d) / (dof + d + 2) for d in parts)
    np.testing.assert_allclose(sigma, np.sqrt(variance / information), rtol=1e-6)
    # 1500 pulls, whose mean square scatters by 3.7 %; tails of t make the errors of 20 to 60 data a little too small.
    assert np.mean(((found - 1) / sigma) ** 2) == pytest.approx(1.04, abs=0.15)


def test_mistakes_are_errors():
    ns = rt.NodeScope()
    ns.x << rt.Parm(1.0)
    ns.c << rt.Condeq(rt.Constant(1.0), ns.x)
    ns.nothing << rt.Solver(ns.c)
    ns.not_solvable << rt.Solver(ns.c, parms=["x"])
    forest = rt.Forest(ns)
    with pytest.raises(rt.Error, match="nothing to solve for"):
        forest.solve(ns.nothing)
    with pytest.raises(rt.Error, match=r'"x".*solvable=True'):
        forest.solve(ns.not_solvable)
    with pytest.raises(rt.Error, match="is no Solver"):
        forest.solve(ns.c)
    for state in ({"iterations": -1}, {"robust_dof": -1.0}, {"method": "magic"}, {"tolerance": 0.0}):
        with pytest.raises(rt.ForestError):
            bad = rt.NodeScope()
            bad.s << rt.Solver(rt.Condeq(rt.Constant(1.0), rt.Parm(0.0, solvable=True)), **state)
            rt.Forest(bad)


def test_mistakes_that_are_told_before_anything_is_solved():
    """They had been told when the Solver was asked for."""
    ns = rt.NodeScope()
    ns.x << rt.Parm(1.0, solvable=True)
    ns.no_condeq << rt.Solver(ns.x)
    ns.no_parm << rt.Solver(rt.Condeq(rt.Constant(1.0), ns.x), parms=["x", "y"])
    with pytest.raises(rt.ForestError) as raised:
        rt.Forest(ns)
    assert "'no_condeq'" in str(raised.value).replace('"', "'") and "must be Condeq nodes" in str(raised.value)
    assert "no_parm" in str(raised.value) and '"y"' in str(raised.value)


def test_too_many_unknowns_for_the_memory_is_an_error_beforehand():
    ns = rt.NodeScope()
    for k in range(1500):
        ns.x(k) << rt.Parm(0.0, solvable=True)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(1.0), rt.Add(*(ns.x(k) for k in range(1500)))))
    forest = rt.Forest(ns, memory_bytes=20_000_000)
    with pytest.raises(rt.Error, match="1500, take 51 MiB, more than the memory budget of 19 MiB"):
        forest.solve(ns.solver)


def test_many_unknowns_that_hardly_share_data_need_little_memory():
    """2000 unknowns of a time slot each, and two that all times share: a dense matrix would need 91 MiB."""
    random = np.random.default_rng(1)
    x, y = random.normal(size=2000), np.array([0.3, -0.2])
    data = x[:, None] + y + 0.1 * random.normal(size=(2000, 2))
    ns = rt.NodeScope()
    ns.x << rt.Parm(0.0, solvable=True, time_edges_s=np.arange(2001.0))
    ns.y << rt.Parm(0.0, solvable=True, freq_edges_hz=[0.0, 1.0, 2.0])
    ns.solver << rt.Solver(
        rt.Condeq(rt.Constant(data, cells_rank=2), ns.x + ns.y, weight_factor=100.0), sigma_tolerance=1e-9
    )
    forest = rt.Forest(ns, memory_bytes=20_000_000)
    report = forest.solve(ns.solver, rt.Cells(np.arange(2000.0) + 0.5, [0.5, 1.5]))
    (group,) = report.groups
    assert group.converged and group.unknowns == 2002 and group.rank == 2001
    # A constant can go from x to y: differences of y are the mean differences of the data.
    difference = np.diff(report.parms["y"].value.ravel())[0]
    assert difference == pytest.approx(np.mean(data[:, 1] - data[:, 0]), abs=1e-9)
    np.testing.assert_allclose(np.diff(report.parms["x"].value.ravel()), np.diff(data.mean(axis=1)), atol=1e-9)
    # The pseudo-inverse by NumPy, of the scaled matrix as the Solver has it.
    normal = np.zeros((2002, 2002))
    normal[:2000, :2000], normal[2000:, 2000:] = 200 * np.eye(2000), 200000 * np.eye(2)
    normal[:2000, 2000:] = 100
    normal[2000:, :2000] = 100
    scale = 1 / np.sqrt(np.diag(normal))
    sigma = scale * np.sqrt(np.diag(np.linalg.pinv(normal * np.outer(scale, scale), rcond=1e-12, hermitian=True)))
    np.testing.assert_allclose(report.parms["x"].sigma.ravel(), sigma[:2000], rtol=1e-9)
    np.testing.assert_allclose(report.parms["y"].sigma.ravel(), sigma[2000:], rtol=1e-9)


def test_progress_is_told_and_its_exception_ends_the_solve():
    _, sky, _, data = planted_case()
    forest = planted.gain_forest("diag", data, sky, 0.3 * ONES)
    told = []
    report = forest.solve("solver", planted.cells(), progress=lambda *state: told.append(state))
    assert [state[:2] for state in told] == [("solver", i) for i in range(len(told))]
    assert [state[2] for state in told] == report.chi_square[: len(told)]
    assert told[-1][3:] == (0, 1) and told[0][3:] == (1, 1)
    assert report.chi_square[-1] < report.chi_square[0]

    class EnoughError(Exception):
        pass

    def stop(solver, iteration, *_):
        if iteration == 2:
            raise EnoughError

    forest = planted.gain_forest("diag", data, sky, 0.3 * ONES)
    with pytest.raises(EnoughError):
        forest.solve("solver", planted.cells(), progress=stop)
    assert forest.get_state("G:0:xxr")["value"] == 0.3  # as before
    assert forest.solve("solver", planted.cells()).converged


def test_ctrl_c_ends_a_solve():
    _, sky, _, data = planted_case()
    forest = planted.gain_forest("diag", data, sky, 0.3 * ONES)
    main = threading.get_ident()

    def interrupt(solver, iteration, *_):
        if iteration == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # longer than the interval at which the runtime looks for signals

    assert main == threading.main_thread().ident
    with pytest.raises(KeyboardInterrupt):
        forest.solve("solver", planted.cells(), progress=interrupt)
    assert forest.get_state("G:0:xxr")["value"] == 0.3


def test_errors_of_a_robust_solution():
    """The centre of 50 complex data with Student's t errors, in 400 tiles: pulls have variance 1, and the estimate is
    better than the mean. (Complex t with 3 degrees of freedom: a complex Gaussian over the root of chi-square/3.)"""
    random = np.random.default_rng(11)
    n_tile, n_data, dof = 400, 50, 3
    gauss = planted.complex_gaussian(random, (n_tile, n_data))
    y = 2 - 1j + gauss / np.sqrt(random.chisquare(dof, (n_tile, n_data)) / dof)
    ns = rt.NodeScope()
    edges = np.arange(n_tile + 1) - 0.5
    for name in ("re", "im"):
        ns[name] << rt.Parm(0.0, solvable=True, time_edges_s=edges)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(y, cells_rank=2), rt.ToComplex(ns.re, ns.im)), robust_dof=float(dof))
    report = rt.Forest(ns).solve(ns.solver, rt.Cells(np.arange(float(n_tile)), 1 + np.arange(float(n_data))))
    assert report.converged and len(report.groups) == n_tile
    pulls, errors = [], []
    for name, truth in (("re", 2), ("im", -1)):
        parm = report.parms[name]
        errors.append(parm.value.ravel() - truth)
        pulls.append(errors[-1] / parm.sigma.ravel())
    # 800 pulls: their variance scatters by 5 %
    assert np.var(pulls) == pytest.approx(1, abs=0.2)
    assert np.std(errors) < 0.9 * np.std((y.mean(axis=1) - (2 - 1j)).real)
