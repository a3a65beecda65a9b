"""Gains beside several fixed factors, in whatever order they are multiplied: as fast, and with the same outcome."""

import itertools

import numpy as np
import pytest

import rimetree as rt

ANTENNAS = 5
CELLS = rt.Cells(time_s=5.24e9 + 60.0 * np.arange(6), freq_hz=1.34e9 + 4e7 * np.arange(4))
BASELINES = list(itertools.combinations(range(ANTENNAS), 2))
EAST_M = 144.0 * np.arange(ANTENNAS) ** 1.3
PLACES = [[1e-3, -2e-3], [3e-3, 1e-3]]

SPELLINGS = {
    "g B K g*": lambda ns, p, q, s: ns.g(p, s) * ns.B(s) * ns.K(p, q, s) * rt.Conj(ns.g(q, s)),
    "g K B g*": lambda ns, p, q, s: ns.g(p, s) * ns.K(p, q, s) * ns.B(s) * rt.Conj(ns.g(q, s)),
    "K g g* B": lambda ns, p, q, s: ns.K(p, q, s) * ns.g(p, s) * rt.Conj(ns.g(q, s)) * ns.B(s),
    "g K g* B": lambda ns, p, q, s: ns.g(p, s) * ns.K(p, q, s) * rt.Conj(ns.g(q, s)) * ns.B(s),
    "(g (K (g* B)))": lambda ns, p, q, s: ns.g(p, s) * (ns.K(p, q, s) * (rt.Conj(ns.g(q, s)) * ns.B(s))),
    "one node": lambda ns, p, q, s: rt.Multiply(ns.g(p, s), 0.5, ns.B(s), rt.Conj(ns.g(q, s)), 2.0, ns.K(p, q, s)),
    "flagged": lambda ns, p, q, s: ns.g(p, s) * ns.flagged * ns.K(p, q, s) * ns.B(s) * rt.Conj(ns.g(q, s)),
    "scalars": lambda ns, p, q, s: ns.g(p, s) * (1.0 + 0.2 * s) * ns.K(p, q, s) * rt.Conj(ns.g(q, s)),
}


def solve(spelling, method):
    random = np.random.default_rng(5)
    ns = rt.NodeScope()
    a = 7.29e-5 * (rt.Time() - 5.24e9)
    ns.turned << rt.Composer(rt.Cos(a), 0.8 * rt.Sin(a), 0.6 * rt.Sin(a))
    mask = np.zeros((2, 2, 6, 4), bool)
    mask[0, 1, 2], mask[1, 1, :, 3] = True, True
    ns.flagged << rt.Constant(np.ma.array(np.ones((2, 2, 6, 4)), mask=mask), cells_rank=2)
    for s, (x, y) in enumerate(PLACES):
        ns.B(s) << rt.Stokes([1.0 + s, 0.1, 0.2, -0.1])
        for p, q in BASELINES:
            ns.uvw(p, q, s) << (EAST_M[p] - EAST_M[q]) * ns.turned
            ns.K(p, q, s) << rt.VisPhaseShift([x, y, np.sqrt(1 - x**2 - y**2)], ns.uvw(p, q, s))
        for p in range(ANTENNAS):
            parts = [rt.Parm(one + 0.2 * random.normal(), solvable=True) for one in (1.0, 0.0)]
            ns.g(p, s) << rt.ToComplex(*parts)
    scalar = spelling == "scalars"
    for p, q in BASELINES:
        ns.seen(p, q) << rt.Add(*(SPELLINGS[spelling](ns, p, q, s) for s in range(2)))
        data = random.normal(size=(2, 2, 6, 4)) + 1j * random.normal(size=(2, 2, 6, 4)) + 3 * np.eye(2)[..., None, None]
        ns.c(p, q) << rt.Condeq(rt.Constant(data[0, 0] if scalar else data, cells_rank=2), ns.seen(p, q))
    ns.solver << rt.Solver(*(ns.c(*b) for b in BASELINES), method=method, iterations=4)
    return rt.Forest(ns).solve(ns.solver, CELLS)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_data_are_summed_up_whatever_stands_between_the_gains(spelling):
    summed, generic = solve(spelling, "auto"), solve(spelling, "generic")
    assert "sums over the data for 2" in summed.method
    assert "1 x 1 blocks" in summed.method
    np.testing.assert_allclose(summed.chi_square[:1], generic.chi_square[:1], rtol=1e-11)
    assert [group.equations for group in summed.groups] == [group.equations for group in generic.groups]
    assert summed.groups[0].flagged == generic.groups[0].flagged
    assert (summed.groups[0].flagged > 0) == (spelling == "flagged")
    for name, parm in summed.parms.items():
        assert parm.value == pytest.approx(generic.parms[name].value, abs=2e-3)  # wherever the four steps have led


@pytest.mark.parametrize("method", ["auto", "generic"])
def test_products_of_real_numbers_make_real_equations(method):
    ns = rt.NodeScope()
    for p in range(3):
        ns.a(p) << rt.Parm(1.0 + 0.1 * p, solvable=True)
    for p, q in itertools.combinations(range(3), 2):
        ns.c(p, q) << rt.Condeq((p + 1.0) * (q + 1.0) * 6.0, ns.a(p) * rt.Constant(2.0) * ns.a(q) * rt.Constant(3.0))
    ns.solver << rt.Solver(*(ns.c(p, q) for p, q in itertools.combinations(range(3), 2)), method=method)
    report = rt.Forest(ns).solve(ns.solver, rt.Cells(0.0, 1e9))
    assert sum(group.equations for group in report.groups) == 3
    assert [float(parm.value) for parm in report.parms.values()] == pytest.approx([1, 2, 3])
