"""Solver: as few iterations on a weakly polarised sky, where the phase between the feeds is hardly determined, as
elsewhere."""

import itertools

import numpy as np
import planted
import pytest

import rimetree as rt
from rimetree.evaluation.solving import SolutionFlag

N = 8


def weakly_polarised_sky(random, fraction):
    sky = {}
    for p, q in itertools.combinations(range(N), 2):
        intensity = 1 + 0.3 * planted.complex_gaussian(random, (6, 4))
        crossed = fraction * planted.complex_gaussian(random, (2, 6, 4))
        sky[p, q] = np.array([[intensity, crossed[0]], [crossed[1], intensity]])
    return sky


def solve(kind, fraction, sigma, *, seed, bad_start=False, method="auto"):
    """The one group of a solve for gains whose phases scatter by half a radian, or by all there is."""
    random = np.random.default_rng(seed)
    sky, gains = weakly_polarised_sky(random, fraction), planted.gains_of(random, kind, N)
    gains = gains * np.exp(1j * (np.pi if bad_start else 0.5) * random.uniform(-1, 1, (N, 1, 2)))
    data = planted.with_noise(random, planted.apply(gains, sky), sigma) if sigma else planted.apply(gains, sky)
    start, flags = np.broadcast_to(np.eye(2, dtype=complex), (N, 2, 2)), None
    if bad_start:  # and 30 % of the data flagged, and an antenna dead
        start = start * (5 * np.exp(2j * np.pi * random.random((N, 1, 1))))
        flags = {pq: (random.random(v.shape) < 0.3) | (4 in pq) for pq, v in data.items()}
    weight = {pq: np.array([[1 / (sigma or 1) ** 2]]) for pq in sky}
    forest = planted.gain_forest(kind, data, sky, start, weight=weight, flags=flags, solver={"method": method})
    report = forest.solve("solver", planted.cells())
    (group,) = report.groups
    assert group.converged
    if sigma:
        assert group.reduced_chi_square == pytest.approx(1, abs=0.1)
    return group.iterations, report


@pytest.mark.parametrize("method", ["auto", "generic"])
@pytest.mark.parametrize(
    ("kind", "fraction", "sigma", "bad_start", "most"),
    [
        # Where steps went straight and only damping was adapted, these took 60 to more than 200 iterations.
        ("diag", 1e-4, 0, False, 12),
        ("diag", 1e-4, 1e-3, False, 12),
        ("diag", 1e-4, 0.1, False, 12),
        ("diag", 1e-3, 0, False, 9),
        ("diag", 1e-3, 1e-3, False, 8),
        ("diag", 1e-3, 0.1, False, 13),
        ("diag", 1e-3, 1.0, False, 18),
        ("diag", 1e-3, 0.1, True, 22),
        ("full", 1e-3, 0.01, False, 12),
        ("full", 1e-3, 0.3, False, 40),
        ("phase", 1e-3, 0.1, False, 13),
        # What always was good stays so.
        ("diag", 1e-2, 1e-3, False, 5),
        ("diag", 0.1, 0, False, 5),
        ("diag", 0.1, 0.1, False, 7),
        ("diag", 0.1, 0.1, True, 12),
        ("full", 0.1, 0.01, False, 5),
    ],
)
def test_iterations(kind, fraction, sigma, bad_start, most, method):
    counts = [solve(kind, fraction, sigma, seed=s, bad_start=bad_start, method=method)[0] for s in range(3)]
    assert max(counts) <= most, counts


@pytest.mark.parametrize("iterations", [1, 2])
def test_solutions_of_a_fit_that_ended_far_away_are_flagged(iterations):
    """Residuals of a fit that has just begun are large, and so are errors that follow from them: steps which are short
    beside such errors do not say that a solution is near."""
    random = np.random.default_rng(5)
    sky, gains = weakly_polarised_sky(random, 0.1), planted.gains_of(random, "diag", N)
    gains = gains * np.exp(1j * np.pi * random.uniform(-1, 1, (N, 1, 2)))
    data = planted.with_noise(random, planted.apply(gains, sky), 0.01)
    start = np.broadcast_to(np.eye(2, dtype=complex), (N, 2, 2))
    flags = {pq: np.ones(v.shape, dtype=bool) for pq, v in data.items()}
    for flag in flags.values():
        flag[..., 0, 0] = False  # few data, large errors
    options = {"iterations": iterations, "method": "generic"}
    forest = planted.gain_forest("diag", data, sky, start, flags=flags, solver=options)
    report = forest.solve("solver", planted.cells())
    (group,) = report.groups
    assert group.status == "exhausted"
    for parm in report.parms.values():
        assert np.all(parm.flag & SolutionFlag.NOT_CONVERGED)


def test_errors_of_the_weakly_determined_phase():
    """Pulls of the phase between the feeds, which crossed hands of one per cent tell to 0.08 rad."""
    pulls = []
    for seed in range(40):
        random = np.random.default_rng(100 + seed)
        sky = weakly_polarised_sky(random, 0.01)
        gains = planted.gains_of(random, "phase", N)
        data = planted.with_noise(random, planted.apply(gains, sky), 0.03)
        # Of antenna 0 the first phase is known: all others are then determined.
        ns = rt.NodeScope()
        for p in range(N):
            planted.jones_parms(ns, "phase", p, gains[0] if p == 0 else np.eye(2))
        for (p, q), m in sky.items():
            model = ns.G(p) @ rt.Constant(m, cells_rank=2) @ ns.G(q).H
            ns.c(p, q) << rt.Condeq(rt.Constant(data[p, q], cells_rank=2), model, rt.Constant(1 / 0.03**2))
        names = [f"G:{p}:{part}" for p in range(N) for part in ("xp", "yp")][1:]
        ns.solver << rt.Solver(*(ns.c(p, q) for p, q in sky), parms=names)
        report = rt.Forest(ns).solve(ns.solver, planted.cells())
        assert report.converged and report.groups[0].rank == report.groups[0].unknowns == 2 * N - 1
        parm = report.parms["G:0:yp"]
        assert 0.02 < float(parm.sigma) < 0.2
        difference = float(parm.value) - np.angle(gains[0, 1, 1])
        pulls.append(np.angle(np.exp(1j * difference)) / float(parm.sigma))
    # 40 pulls: their mean square scatters by 0.22.
    assert np.mean(np.square(pulls)) == pytest.approx(1, abs=0.7)
    assert abs(np.mean(pulls)) < 4 / np.sqrt(len(pulls))


def test_turns_are_not_taken_where_unknowns_have_bounds():
    random = np.random.default_rng(1)
    sky, gains = weakly_polarised_sky(random, 0.1), planted.gains_of(random, "diag", N)
    data = planted.with_noise(random, planted.apply(gains, sky), 0.1)
    start = np.broadcast_to(np.eye(2, dtype=complex), (N, 2, 2))
    forest = planted.gain_forest("diag", data, sky, start, parm={"minimum": -0.1})
    report = forest.solve("solver", planted.cells())
    assert report.converged
    assert all(float(parm.value) >= -0.1 for parm in report.parms.values())
    assert any(parm.flag & rt.SolutionFlag.AT_BOUND for parm in report.parms.values())
