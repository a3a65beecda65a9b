"""Solver: planted Jones matrices are found, by the fast path and by the general one alike."""

import itertools

import numpy as np
import planted
import pytest

import rimetree as rt

KINDS = ["scalar", "diag", "full", "phase", "amplitude"]
N = 6
ONES = np.broadcast_to(np.eye(2, dtype=complex), (N, 2, 2))


@pytest.mark.parametrize("method", ["auto", "generic"])
@pytest.mark.parametrize("kind", KINDS)
def test_planted_gains_without_noise(kind, method):
    random = np.random.default_rng(1)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, kind, N)
    forest = planted.gain_forest(kind, planted.apply(gains, sky), sky, ONES, solver={"method": method})
    report = forest.solve("solver", planted.cells())
    assert report.converged
    assert ("sums over the data" in report.method) == (method == "auto")
    found = planted.in_gauge(planted.solved_gains(report, kind, N), kind)
    np.testing.assert_allclose(found, planted.in_gauge(gains, kind), atol=1e-9)
    (group,) = report.groups
    assert group.chi_square < 1e-18 * group.equations
    assert group.rank == group.unknowns - (0 if kind == "amplitude" else 1)


def _in_gauge_of_tiles(report):
    """Values of all Parms; of numbers of two Parms with the phase of the first antenna's first taken from all."""
    values = {name: parm.value for name, parm in report.parms.items()}
    pairs = [(name, name[:-1] + "i") for name in values if name.endswith("r") and name[:-1] + "i" in values]
    numbers = {re: values[re] + 1j * values[im] for re, im in pairs}
    for re, im in pairs:
        turned = numbers[re] * np.exp(-1j * np.angle(numbers[min(numbers)]))
        values[re], values[im] = turned.real, turned.imag
    return values


@pytest.mark.parametrize("kind", KINDS)
def test_fast_path_gives_what_the_general_one_gives(kind):
    """With noise, flags and weights, in several solution tiles."""
    random = np.random.default_rng(2)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, kind, N)
    data = planted.with_noise(random, planted.apply(gains, sky), 0.5)
    weight = {pq: random.uniform(0.5, 2, v.shape) for pq, v in data.items()}
    flags = {pq: random.random(v.shape) < 0.3 for pq, v in data.items()}
    tiles = {"time_edges_s": planted.TIMES_S[[0, 2, 5]] - 5, "freq_edges_hz": [1.3e9, 1.4015e9, 1.5e9]}
    reports = []
    for method in ("auto", "generic"):
        options = {"method": method, "sigma_tolerance": 1e-7, "tolerance": 1e-10}
        forest = planted.gain_forest(kind, data, sky, ONES, weight=weight, flags=flags, parm=tiles, solver=options)
        reports.append(forest.solve("solver", planted.cells()))
    fast, general = reports
    assert fast.converged and general.converged
    assert len(fast.groups) == len(general.groups) == 4
    values = [_in_gauge_of_tiles(report) for report in reports]
    for name, parm in fast.parms.items():
        assert parm.value.shape == (2, 2, 1, 1)
        np.testing.assert_allclose(values[0][name], values[1][name], atol=1e-7)
        np.testing.assert_array_equal(parm.flag, 0)
        # With the common phase, which is free, errors of real and imaginary parts turn into each other.
        both = [name, name[:-1] + "i"] if name.endswith("r") and name[:-1] + "i" in fast.parms else [name]
        if not (name.endswith("i") and name[:-1] + "r" in fast.parms):
            variances = [sum(report.parms[part].sigma ** 2 for part in both) for report in reports]
            np.testing.assert_allclose(np.sqrt(variances[0]), np.sqrt(variances[1]), rtol=1e-4)
    for one, other in zip(fast.groups, general.groups, strict=True):
        assert (one.equations, one.flagged, one.rank) == (other.equations, other.flagged, other.rank)
        assert one.chi_square == pytest.approx(other.chi_square, rel=1e-10)
        assert one.chi_square_before == pytest.approx(other.chi_square_before, rel=1e-10)


@pytest.mark.parametrize("kind", ["scalar", "diag"])
def test_gains_of_any_phase_take_few_steps(kind):
    """Far from where it begins, each gain is found with the others held, in turns, before steps of all are taken."""
    random = np.random.default_rng(12)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, kind, N)
    turn = np.exp(2j * np.pi * random.random((N, 2)))
    gains = gains * (turn[:, :1, None] if kind == "scalar" else turn[:, :, None])
    data = planted.with_noise(random, planted.apply(gains, sky), 0.01)
    report = planted.gain_forest(kind, data, sky, ONES).solve("solver", planted.cells())
    found = planted.in_gauge(planted.solved_gains(report, kind, N), kind)
    np.testing.assert_allclose(found, planted.in_gauge(gains, kind), atol=0.03)
    assert report.converged and report.groups[0].iterations <= 5
    # The line of chi-square begins where the solve did.
    assert report.chi_square[0] == pytest.approx(report.groups[0].chi_square_before)
    assert report.chi_square[0] > 100 * report.chi_square[1]


@pytest.mark.parametrize("kind", ["diag", "phase"])
def test_errors_are_those_of_the_solutions(kind):
    """Pulls (found - planted)/sigma over many noise realisations have chi-square as many as they are."""
    random = np.random.default_rng(3)
    n_tile, shape = 60, (120, 4)
    times = 5e9 + 10.0 * np.arange(shape[0])
    sky = planted.fixed_sky(random, N, shape)
    gains = planted.gains_of(random, kind, N)
    sigma = 0.4
    data = planted.with_noise(random, planted.apply(gains, sky), sigma)
    flags = {pq: random.random(v.shape) < 0.3 for pq, v in data.items()}
    edges = times[0] - 5 + 20.0 * np.arange(n_tile + 1)
    weight = {pq: np.array([[1 / sigma**2]]) for pq in sky}
    forest = planted.gain_forest(kind, data, sky, 0.3 * ONES, weight=weight, flags=flags, parm={"time_edges_s": edges})
    report = forest.solve("solver", planted.cells(times))
    assert report.converged and len(report.groups) == n_tile
    chi = np.array([group.reduced_chi_square for group in report.groups])
    freedom = sum(group.equations - group.rank for group in report.groups)
    assert np.mean(chi) == pytest.approx(1, abs=5 * np.sqrt(2 / freedom))
    # Amplitudes are free of the common phase. Phases have the mean that the pseudo-inverse gives them: none.
    pulls = []
    for p, (corner, i) in itertools.product(range(N), [("x", 0), ("y", 1)]):
        if kind == "phase":
            parm = report.parms[f"G:{p}:{corner}p"]
            pulls.append((parm.value.ravel() - np.angle(gains[p, i, i]), parm.sigma.ravel()))
        else:
            re, im = report.parms[f"G:{p}:{corner * 2}r"], report.parms[f"G:{p}:{corner * 2}i"]
            found = np.abs(re.value + 1j * im.value).ravel()
            pulls.append((found - abs(gains[p, i, i]), np.minimum(re.sigma, im.sigma).ravel()))
    values, errors = (np.array(x) for x in zip(*pulls, strict=True))
    if kind == "phase":
        values = values - values.mean(axis=0)
    # About 660 independent pulls, of which chi-square scatters by 5.5 %.
    assert np.mean((values / errors) ** 2) == pytest.approx(1, abs=0.2)


def test_bad_starting_values_and_a_dead_antenna():
    random = np.random.default_rng(4)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, "diag", N, 0.5)
    sigma = 0.3
    data = planted.with_noise(random, planted.apply(gains, sky), sigma)
    flags = {pq: random.random(v.shape) < 0.3 for pq, v in data.items()}
    for pq in flags:
        if 4 in pq:
            flags[pq][:] = True
    weight = {pq: np.array([[1 / sigma**2]]) for pq in sky}
    start = ONES * (5 * np.exp(2j * np.pi * random.random((N, 1, 1))))
    report = planted.gain_forest("diag", data, sky, start, weight=weight, flags=flags).solve("solver", planted.cells())
    (group,) = report.groups
    assert group.converged and group.reduced_chi_square == pytest.approx(1, abs=0.1)
    alive = [0, 1, 2, 3, 5]
    for p in range(N):
        for part, begin in (("xxr", start[p, 0, 0].real), ("yyi", start[p, 1, 1].imag)):
            parm = report.parms[f"G:{p}:{part}"]
            assert parm.flag == (rt.SolutionFlag.NO_DATA if p == 4 else 0)
            if p == 4:
                assert parm.value == begin and np.isnan(parm.sigma)
    found = planted.in_gauge(planted.solved_gains(report, "diag", N), "diag")[alive]
    wanted = planted.in_gauge(gains, "diag")[alive]
    assert np.max(np.abs(found - wanted)) < 6 * max(float(report.parms[f"G:{p}:xxr"].sigma) for p in alive)


def test_solutions_stay_in_the_forest():
    random = np.random.default_rng(5)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, "diag", N)
    forest = planted.gain_forest("diag", planted.apply(gains, sky), sky, ONES)
    report = forest.solve("solver", planted.cells())
    assert forest.get_state("G:2:xxr")["value"] == report.parms["G:2:xxr"].value
    residual = forest.evaluate("condeq:1:3", planted.cells())
    assert np.max(np.abs(residual)) < 1e-12
    again = forest.solve("solver", planted.cells())
    assert again.groups[0].iterations == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("method", ["auto", "generic"])
def test_same_bits_from_any_number_of_threads(method, threads):
    random = np.random.default_rng(6)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, "full", N)
    data = planted.with_noise(random, planted.apply(gains, sky), 0.5)
    tiles = {"time_edges_s": planted.TIMES_S[[0, 2, 4, 5]] - 5}

    def solve(n):
        forest = planted.gain_forest("full", data, sky, ONES, parm=tiles, solver={"method": method}, threads=n)
        return forest.solve("solver", planted.cells())

    one, many = solve(1), solve(threads)
    assert one.chi_square == many.chi_square
    for name, parm in one.parms.items():
        np.testing.assert_array_equal(parm.value, many.parms[name].value)
        np.testing.assert_array_equal(parm.sigma, many.parms[name].sigma)


@pytest.mark.parametrize("method", ["auto", "generic"])
def test_known_gains_among_unknown_ones(method):
    """Antennas 0 and 1 are known: their baseline has nothing to solve for, and there is no free phase."""
    random = np.random.default_rng(7)
    sky, gains = planted.fixed_sky(random, N), planted.gains_of(random, "diag", N)
    data = planted.apply(gains, sky)
    ns = rt.NodeScope()
    for p in range(N):
        if p < 2:
            ns.G(p) << rt.Constant(gains[p])
        else:
            planted.jones_parms(ns, "diag", p, np.eye(2, dtype=complex))
    for (p, q), m in sky.items():
        model = ns.G(p) @ rt.Constant(m, cells_rank=2) @ ns.G(q).H
        ns.c(p, q) << rt.Condeq(rt.Constant(data[p, q], cells_rank=2), model)
    ns.solver << rt.Solver(*(ns.c(p, q) for p, q in sky), method=method)
    report = rt.Forest(ns).solve(ns.solver, planted.cells())
    assert ("sums over" in report.method) == (method == "auto")
    (group,) = report.groups
    assert group.rank == group.unknowns == 16 and group.equations == 2 * 4 * 24 * 14
    for p in range(2, N):
        found = [float(report.parms[f"G:{p}:{part}"].value) for part in ("xxr", "xxi", "yyr", "yyi")]
        wanted = [gains[p, 0, 0].real, gains[p, 0, 0].imag, gains[p, 1, 1].real, gains[p, 1, 1].imag]
        np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("robust_dof", [0.0, 4.0])
def test_data_that_do_not_fit_into_memory_are_looked_at_in_portions(robust_dof):
    """The sums over the data are made of some baselines at a time, whose results then are let go: the same bits."""
    random = np.random.default_rng(9)
    sky, gains = planted.fixed_sky(random, N, (40, 4)), planted.gains_of(random, "diag", N)
    data = planted.with_noise(random, planted.apply(gains, sky), 0.3)
    flags = {pq: random.random(v.shape) < 0.3 for pq, v in data.items()}
    times = planted.TIMES_S[0] + 10.0 * np.arange(40)
    reports = []
    for memory_bytes in (100_000_000, 200_000):
        forest = planted.gain_forest(
            "diag",
            data,
            sky,
            ONES,
            flags=flags,
            solver={"robust_dof": robust_dof},
            memory_bytes=memory_bytes,
            device="none",
        )
        reports.append(forest.solve("solver", planted.cells(times)))
        # 15 data and 15 models, of 10 kB each, and what the flags are made from.
        peak = forest.timing().peak_result_bytes
        assert (peak > 300_000) if memory_bytes > 1_000_000 else (peak < 150_000)
    whole, portions = reports
    assert whole.converged and "sums over the data" in portions.method
    assert whole.groups[0].flagged == portions.groups[0].flagged > 0
    assert whole.chi_square == portions.chi_square
    for name, parm in whole.parms.items():
        assert (parm.value, parm.sigma) == (portions.parms[name].value, portions.parms[name].sigma)
