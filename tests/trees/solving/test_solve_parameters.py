"""Solver: planted delays, leakages, fluxes and positions, bounds, priors, tied parameters, several directions."""

import itertools

import numpy as np
import planted
import pytest

import rimetree as rt

N = 6
BASELINES = list(itertools.combinations(range(N), 2))


def pulls_are_normal(values, truths, sigmas):
    pulls = (np.array(values) - np.array(truths)) / np.array(sigmas)
    n = len(pulls)
    # five standard deviations of chi-square around its expectation
    assert abs(np.sum(pulls**2) - n) < 5 * np.sqrt(2 * n) + 5, pulls


def test_delays():
    """A phase slope in frequency per antenna, with antenna 0 as reference, over 64 channels."""
    random = np.random.default_rng(1)
    freqs, sigma = 1.4e9 + 1e6 * np.arange(64), 0.3
    delays = np.concatenate([[0], random.uniform(-3e-9, 3e-9, N - 1)])
    sky = planted.fixed_sky(random, N, (2, 64))
    turns = np.exp(2j * np.pi * delays[:, None] * (freqs - freqs[0]))
    jones = turns[:, None, None, None, :] * np.eye(2)[None, :, :, None, None]
    for noise in (0.0, sigma):
        data = planted.with_noise(random, planted.apply(jones, sky), noise)
        ns = rt.NodeScope()
        ns.band << rt.Freq() - freqs[0]
        for p in range(N):
            ns.delay(p) << rt.Parm(0.0, solvable=p > 0)  # nanoseconds
            turn = ns.delay(p) * ns.band * (2e-9 * np.pi)
            ns.K(p) << rt.Matrix22(rt.Polar(1.0, turn), 0.0, 0.0, rt.Polar(1.0, turn))
        for p, q in BASELINES:
            model = ns.K(p) @ rt.Constant(sky[p, q], cells_rank=2) @ ns.K(q).H
            ns.c(p, q) << rt.Condeq(rt.Constant(data[p, q], cells_rank=2), model, weight_factor=1 / sigma**2)
        ns.solver << rt.Solver(*(ns.c(p, q) for p, q in BASELINES))
        report = rt.Forest(ns).solve(ns.solver, planted.cells(planted.TIMES_S[:2], freqs))
        assert report.converged and "1 x 64 blocks" in report.method
        found = [float(report.parms[f"delay:{p}"].value) for p in range(1, N)]
        if noise == 0:
            np.testing.assert_allclose(found, 1e9 * delays[1:], atol=1e-9)
        else:
            pulls_are_normal(found, 1e9 * delays[1:], [float(report.parms[f"delay:{p}"].sigma) for p in range(1, N)])


@pytest.mark.parametrize("sigma", [0.0, 0.2])
def test_leakages_with_gains(sigma):
    """D_p = [[1, d], [e, 1]] inside known diagonal gains: a chain of factors."""
    random = np.random.default_rng(2)
    sky = planted.fixed_sky(random, N)
    gains, leaks = planted.gains_of(random, "diag", N), 0.05 * planted.complex_gaussian(random, (N, 2))
    leakage = np.array([[[1, d], [e, 1]] for d, e in leaks])
    data = planted.with_noise(random, planted.apply(gains @ leakage, sky), sigma)
    ns = rt.NodeScope()
    for p in range(N):
        ns.G(p) << rt.Constant(gains[p])
        for name in "de":
            ns[name](p) << rt.ToComplex(rt.Parm(0.0, solvable=True), rt.Parm(0.0, solvable=True))
        ns.L(p) << rt.Matrix22(1.0, ns.d(p), ns.e(p), 1.0)
    for p, q in BASELINES:
        inner = ns.L(p) @ rt.Constant(sky[p, q], cells_rank=2) @ ns.L(q).H
        model = ns.G(p) @ inner @ ns.G(q).H
        ns.c(p, q) << rt.Condeq(rt.Constant(data[p, q], cells_rank=2), model, weight_factor=1 / (sigma or 1) ** 2)
    ns.solver << rt.Solver(*(ns.c(p, q) for p, q in BASELINES))
    forest = rt.Forest(ns)
    report = forest.solve(ns.solver, planted.cells())
    assert report.converged
    found = np.array([[forest.evaluate(ns[name](p)).item() for name in "de"] for p in range(N)])
    if sigma == 0:
        np.testing.assert_allclose(found, leaks, atol=1e-9)
    else:
        errors = [float(parm.sigma) for parm in report.parms.values()]
        assert np.max(np.abs(found - leaks)) < 6 * max(errors)
        assert report.groups[0].reduced_chi_square == pytest.approx(1, abs=0.2)


def sky_forest(data, weight, uvw, radec, flux, **options):
    """Two point sources with unknown directions and fluxes, on baselines with given UVW."""
    ns = rt.NodeScope()
    ns.radec_0 << rt.Constant([0.9, -0.5])
    for s in range(2):
        for i, name in enumerate(("ra", "dec")):
            ns[name](s) << rt.Parm(radec[s][i], solvable=True)
        ns.flux(s) << rt.Parm(flux[s], solvable=True)
        ns.lmn(s) << rt.LMN(rt.Composer(ns.ra(s), ns.dec(s)), ns.radec_0)
        ns.B(s) << rt.Stokes(rt.Composer(ns.flux(s), 0.0, 0.0, 0.0))
    for b, (p, q) in enumerate(BASELINES):
        ns.uvw(p, q) << rt.Constant(uvw[b], cells_rank=2)
        terms = [rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q)) * ns.B(s) for s in range(2)]
        ns.c(p, q) << rt.Condeq(rt.Constant(data[p, q], cells_rank=2), rt.Add(*terms), weight_factor=weight)
    ns.solver << rt.Solver(*(ns.c(p, q) for p, q in BASELINES), **options)
    return rt.Forest(ns)


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_fluxes_and_positions(sigma):
    """A model that is no Jones term: the general way. Data from the definition, with NumPy."""
    random = np.random.default_rng(3)
    radec = np.array([[0.9005, -0.4996], [0.8997, -0.5004]])
    flux = np.array([2.0, 1.0])
    uvw = random.normal(scale=300.0, size=(len(BASELINES), 3, 6, 1))
    ra, dec = radec.T
    east = np.cos(dec) * np.sin(ra - 0.9)
    north = np.sin(dec) * np.cos(-0.5) - np.cos(dec) * np.sin(-0.5) * np.cos(ra - 0.9)
    lmn = np.stack([east, north, np.sqrt(1 - east**2 - north**2) - 1])
    data = {}
    for b, pq in enumerate(BASELINES):
        phase = 2 * np.pi * np.einsum("xs,xtf->stf", lmn, uvw[b]) * planted.FREQS_HZ / 299792458.0
        scalar = np.einsum("s,stf->tf", flux, np.exp(1j * phase))
        data[pq] = scalar * np.eye(2)[:, :, None, None]
    data = planted.with_noise(random, data, sigma)
    start = radec + np.array([[2e-5, -1e-5], [-2e-5, 2e-5]])
    weight = 1 / (sigma or 1) ** 2
    report = sky_forest(data, weight, uvw, start, [1.5, 1.5]).solve("solver", planted.cells())
    assert report.converged and "derivatives" in report.method
    names = [f"{name}:{s}" for s in range(2) for name in ("ra", "dec", "flux")]
    found = np.array([float(report.parms[name].value) for name in names])
    truth = np.array([radec[0, 0], radec[0, 1], flux[0], radec[1, 0], radec[1, 1], flux[1]])
    if sigma == 0:
        np.testing.assert_allclose(found, truth, rtol=1e-9)
    else:
        pulls_are_normal(found, truth, [float(report.parms[name].sigma) for name in names])
        assert report.groups[0].reduced_chi_square == pytest.approx(1, abs=0.2)


def line_forest(y, *, sigma=1.0, slope=None, offset=None, **solver):
    """y = slope x + offset on the times x = 0, 1, 2, ..."""
    ns = rt.NodeScope()
    ns.slope << rt.Parm(**{"value": 0.0, "solvable": True, **(slope or {})})
    ns.offset << rt.Parm(**{"value": 0.0, "solvable": True, **(offset or {})})
    ns.c << rt.Condeq(
        rt.Constant(np.asarray(y)[:, None], cells_rank=2), ns.slope * rt.Time() + ns.offset, weight_factor=1 / sigma**2
    )
    ns.solver << rt.Solver(ns.c, **solver)
    return rt.Forest(ns), rt.Cells(np.arange(float(len(y))), [1e9])


def test_a_straight_line_is_that_of_linear_regression():
    random = np.random.default_rng(4)
    y, sigma = 2 * np.arange(20.0) + 1 + random.normal(scale=0.1, size=20), 0.1
    forest, cells = line_forest(y, sigma=sigma, sigma_tolerance=1e-9)
    report = forest.solve("solver", cells)
    (slope, offset), covariance = np.polyfit(np.arange(20.0), y, 1, cov="unscaled", w=np.full(20, 1 / sigma))
    assert float(report.parms["slope"].value) == pytest.approx(slope, rel=1e-10)
    assert float(report.parms["offset"].value) == pytest.approx(offset, rel=1e-10)
    assert float(report.parms["slope"].sigma) == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-9)
    assert float(report.parms["offset"].sigma) == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-9)
    (group,) = report.groups
    assert (group.equations, group.unknowns, group.rank) == (20, 2, 2)  # real data: one equation each
    residual = y - slope * np.arange(20.0) - offset
    assert group.chi_square == pytest.approx(np.sum(residual**2) / sigma**2, rel=1e-9)
    scaled, _ = line_forest(y, errors_from_residuals=True)
    report = scaled.solve("solver", cells)
    expected = np.sqrt(np.polyfit(np.arange(20.0), y, 1, cov=True)[1][0, 0])
    assert float(report.parms["slope"].sigma) == pytest.approx(expected, rel=1e-9)


def test_bounds_hold_and_are_reported():
    forest, cells = line_forest(2 * np.arange(20.0) + 1, offset={"maximum": 0.5})
    report = forest.solve("solver", cells)
    assert report.converged
    assert float(report.parms["offset"].value) == 0.5
    assert report.parms["offset"].flag == rt.SolutionFlag.AT_BOUND
    x = np.arange(20.0)  # least squares of 2 x + 1 = a x + 0.5
    assert float(report.parms["slope"].value) == pytest.approx(np.sum(x * (2 * x + 0.5)) / np.sum(x * x), rel=1e-9)
    inside, _ = line_forest(2 * np.arange(20.0) + 1, offset={"maximum": 1.5, "minimum": -3.0, "value": -2.0})
    report = inside.solve("solver", cells)
    assert float(report.parms["offset"].value) == pytest.approx(1, abs=1e-9) and report.parms["offset"].flag == 0


@pytest.mark.parametrize("method", ["auto", "generic"])
def test_unknowns_that_all_end_at_bounds_are_known(method):
    ns = rt.NodeScope()
    ns.gain << rt.Parm(0.0, solvable=True, minimum=-0.3, maximum=0.4)
    ns.sky << rt.Constant([[1.0], [2.0 - 1.0j]], cells_rank=2)
    ns.solver << rt.Solver(rt.Condeq(2.0 * ns.sky, ns.gain * ns.sky), method=method)
    report = rt.Forest(ns).solve(ns.solver, rt.Cells([0.0, 1.0], [1e9]))
    assert report.converged and ("Jones term" in report.method) == (method == "auto")
    assert float(report.parms["gain"].value) == 0.4
    assert report.parms["gain"].flag == rt.SolutionFlag.AT_BOUND


def test_a_prior_weighs_like_a_datum():
    """One datum y = 3 +- 2 and the prior 1 +- 1: mean (3/4 + 1)/(1/4 + 1), variance 1/(1/4 + 1)."""
    ns = rt.NodeScope()
    ns.x << rt.Parm(0.0, solvable=True, prior_mean=1.0, prior_sigma=1.0)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(3.0), ns.x, weight_factor=0.25))
    report = rt.Forest(ns).solve(ns.solver)
    assert float(report.parms["x"].value) == pytest.approx(1.75 / 1.25)
    assert float(report.parms["x"].sigma) == pytest.approx(np.sqrt(1 / 1.25))


def test_tied_and_frozen_parameters():
    """The same Parm in two places has one value; one that is not solvable, or not named, keeps its value."""
    ns = rt.NodeScope()
    ns.x << rt.Parm(0.0, solvable=True)
    ns.y << rt.Parm(5.0)
    ns.z << rt.Parm(7.0, solvable=True)
    ns.a << rt.Condeq(rt.Constant(4.0), ns.x + ns.y - 5.0)
    ns.b << rt.Condeq(rt.Constant(6.0), 2 * ns.x + ns.z - 7.0)
    ns.solver << rt.Solver(ns.a, ns.b, parms=["x"])
    forest = rt.Forest(ns)
    report = forest.solve(ns.solver)
    assert set(report.parms) == {"x"}
    assert float(report.parms["x"].value) == pytest.approx((4 + 2 * 6) / 5)  # least squares of x = 4, 2x = 6
    assert forest.get_state(ns.y)["value"] == 5.0 and forest.get_state(ns.z)["value"] == 7.0


def test_polynomials_per_solution_tile():
    """Degree 1 in time in each of two tiles, from data that jump between them."""
    times = np.arange(10.0)
    y = np.where(times < 5, 1 + 2 * times, 100 - 3 * times)
    ns = rt.NodeScope()
    ns.p << rt.Parm(np.zeros((2, 1, 2, 1)), solvable=True, time_edges_s=[-0.5, 4.5, 9.5])
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(y[:, None], cells_rank=2), ns.p))
    report = rt.Forest(ns).solve(ns.solver, rt.Cells(times, [1e9]))
    assert len(report.groups) == 2 and report.groups[1].time_s == (4.5, 9.5)
    np.testing.assert_allclose(report.parms["p"].value[:, 0, :, 0], [[1, 2], [100, -3]], rtol=1e-9)


def test_mixed_tilings_are_solved_together():
    """A bandpass per channel for all times and a gain per time for all channels: one group. The prior settles what the
    data leave open; the oracle is NumPy's least squares with the prior as further equations."""
    random = np.random.default_rng(5)
    times, freqs = np.arange(5.0), 1e9 + 1e6 * np.arange(4)
    y = random.normal(size=(5, 4))
    ns = rt.NodeScope()
    ns.a << rt.Parm(0.0, solvable=True, time_edges_s=np.arange(6.0) - 0.5)
    ns.b << rt.Parm(0.0, solvable=True, freq_edges_hz=1e9 + 1e6 * (np.arange(5) - 0.5), prior_sigma=0.5)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(y, cells_rank=2), ns.a + ns.b, weight_factor=100.0))
    report = rt.Forest(ns).solve(ns.solver, rt.Cells(times, freqs))
    (group,) = report.groups
    assert group.converged and (group.unknowns, group.equations, group.priors) == (9, 20, 4)
    rows = [10 * np.eye(9)[t] + 10 * np.eye(9)[5 + f] for t in range(5) for f in range(4)]
    design = np.array(rows + [2 * np.eye(9)[5 + f] for f in range(4)])
    expected = np.linalg.lstsq(design, np.concatenate([10 * y.ravel(), np.zeros(4)]), rcond=None)[0]
    np.testing.assert_allclose(report.parms["a"].value.ravel(), expected[:5], atol=1e-9)
    np.testing.assert_allclose(report.parms["b"].value.ravel(), expected[5:], atol=1e-9)
    sigma = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose(report.parms["a"].sigma.ravel(), sigma[:5], rtol=1e-9)


def directions_forest(kind, data, skies, rest, **solver):
    """Gains per direction and antenna on the visibilities of each direction, and a part of the sky without gains."""
    ns = rt.NodeScope()
    for d, p in itertools.product(range(len(skies)), range(N)):
        planted.jones_parms(ns, kind, p, np.eye(2, dtype=complex), name=f"G{d}")
    for p, q in BASELINES:
        terms = [
            ns[f"G{d}"](p) @ rt.Constant(sky[p, q], cells_rank=2) @ ns[f"G{d}"](q).H for d, sky in enumerate(skies)
        ]
        model = rt.Add(*terms, rt.Constant(rest[p, q], cells_rank=2))
        ns.c(p, q) << rt.Condeq(rt.Constant(data[p, q], cells_rank=2), model, weight_factor=25.0)
    ns.solver << rt.Solver(*(ns.c(p, q) for p, q in BASELINES), **solver)
    return rt.Forest(ns)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_several_directions(kind):
    """Jointly and one after the other; without noise the planted gains, with noise the same solution either way."""
    random = np.random.default_rng(6)
    n_dir, shape = 3, (12, 8)
    cells = planted.cells(5e9 + 10.0 * np.arange(12), 1.4e9 + 1e6 * np.arange(8))
    skies = [planted.fixed_sky(random, N, shape) for _ in range(n_dir)]
    for sky in skies:
        for pq in sky:
            sky[pq] *= np.exp(2j * np.pi * random.random(shape))  # as far apart as directions are
    rest = {pq: planted.complex_gaussian(random, (2, 2, *shape)) for pq in BASELINES}
    gains = [planted.gains_of(random, kind, N, 0.15) for _ in range(n_dir)]
    applied = [planted.apply(g, sky) for g, sky in zip(gains, skies, strict=True)]
    data = {pq: sum(one[pq] for one in applied) + rest[pq] for pq in BASELINES}
    report = directions_forest(kind, data, skies, rest).solve("solver", cells)
    assert report.converged and f"{n_dir} {'diagonal' if kind == 'diag' else 'full'} Jones terms" in report.method
    for d in range(n_dir):
        found = planted.in_gauge(planted.solved_gains(report, kind, N, f"G{d}"), kind)
        np.testing.assert_allclose(found, planted.in_gauge(gains[d], kind), atol=1e-9)
    noisy = planted.with_noise(random, data, 0.2)
    joint, successive, general = (
        directions_forest(kind, noisy, skies, rest, **options).solve("solver", cells)
        for options in ({}, {"directions": "successive"}, {"method": "generic"})
    )
    for report in (joint, successive, general):
        assert report.converged and report.groups[0].reduced_chi_square == pytest.approx(1, abs=0.1)
    for other in (successive, general):
        assert other.groups[0].chi_square == pytest.approx(joint.groups[0].chi_square, rel=1e-7)
        sigma = float(joint.parms["G1:2:" + ("xxr" if kind == "diag" else "00r")].sigma)
        for d in range(n_dir):
            one, two = (planted.solved_gains(report, kind, N, f"G{d}") for report in (joint, other))
            difference = np.abs(planted.in_gauge(one, kind) - planted.in_gauge(two, kind))
            assert np.max(difference) < 0.05 * sigma


def test_a_report_says_how_many_unknowns_data_tell():
    """A sum of two is one number; and at its start a square has no slope, so that nothing moves."""
    ns = rt.NodeScope()
    ns.a << rt.Parm(0.0, solvable=True)
    ns.b << rt.Parm(0.0, solvable=True)
    ns.sum << rt.Solver(rt.Condeq(2.0, ns.a + ns.b))
    ns.square << rt.Solver(rt.Condeq(2.0, ns.a * ns.a), rt.Condeq(1.0, ns.b))
    ns.both << rt.Solver(rt.Condeq(2.0, ns.a), rt.Condeq(1.0, ns.b))
    for solver, text in {
        "sum": "1 equations for 2 unknowns, of which the data tell 1;",
        "square": "2 equations for 2 unknowns, of which the data tell 1;",
        "both": "2 equations for 2 unknowns;",
    }.items():
        assert text in str(rt.Forest(ns).solve(solver, rt.Cells(freq_hz=[1e9])))
