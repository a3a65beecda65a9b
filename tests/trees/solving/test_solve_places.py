"""Places of sources that are solved for: however sums over them are written, as fast and with the same outcome."""

import itertools

import numpy as np
import pytest

import rimetree as rt

S, ANTENNAS = 8, 7
CENTRE = [1.0, 1.0]
CELLS = rt.Cells(time_s=5.24e9 + 240.0 * np.arange(10), freq_hz=1.34e9 + 4e7 * np.arange(4))
BASELINES = list(itertools.combinations(range(ANTENNAS), 2))
PLACES = CENTRE + np.random.default_rng(0).uniform(-4e-3, 4e-3, (S, 2))
EAST_M = 144.0 * np.arange(ANTENNAS) ** 1.3


def tree(ns, off, spelling, solvable):
    """ns.V(p, q): the sum over points whose places are `off` from PLACES."""
    a = 7.29e-5 * (rt.Time() - 5.24e9)
    turned = ns.turned << rt.Composer(rt.Cos(a), 0.8 * rt.Sin(a), 0.6 * rt.Sin(a))
    for s in range(S):
        ns.radec(s) << rt.Composer(*(rt.Parm(PLACES[s, k] + off, solvable=solvable) for k in (0, 1)))
        ns.lmn(s) << rt.LMN(ns.radec(s), CENTRE)
        ns.B(s) << rt.Stokes([1.0 + s / S, 0.1, 0, 0])
    for p in range(ANTENNAS):
        ns.uvw(p) << EAST_M[p] * turned
        for s in range(S) if spelling == "stations" else ():
            ns.K(p, s) << rt.VisPhaseShift(ns.lmn(s), ns.uvw(p))
    for p, q in BASELINES:
        ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
        if spelling == "stations":
            ns.V(p, q) << rt.Add(*(ns.K(p, s) @ ns.B(s) @ ns.K(q, s).H for s in range(S)))
        elif spelling == "baselines":
            ns.V(p, q) << rt.Add(*(rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) * ns.B(s) for s in range(S)))
        else:
            ns.V(p, q) << rt.Add(*(rt.PSV(ns.lmn(s), ns.B(s), ns.uvw(p, q)) for s in range(S)))


def solve(spelling, **options):
    ns = rt.NodeScope()
    tree(ns, 0.0, spelling, False)
    forest = rt.Forest(ns)
    data = [forest.evaluate(ns.V(*b), CELLS) for b in BASELINES]
    ns = rt.NodeScope()
    tree(ns, 2e-6, spelling, True)
    equations = [rt.Condeq(rt.Constant(d, cells_rank=2), ns.V(*b)) for d, b in zip(data, BASELINES, strict=True)]
    ns.solver << rt.Solver(*equations)
    forest = rt.Forest(ns, **options)
    return forest, forest.solve(ns.solver, CELLS)


@pytest.mark.parametrize("spelling", ["stations", "baselines", "psv"])
def test_places_are_found_however_sums_are_written(spelling):
    _, report = solve(spelling)
    assert report.converged
    found = np.array([parm.value for parm in report.parms.values()]).reshape(S, 2)
    np.testing.assert_allclose(found, PLACES, atol=1e-12)
    _, written = solve(spelling, as_written=True)
    assert len(report.chi_square) == len(written.chi_square)
    np.testing.assert_allclose(report.chi_square[:2], written.chi_square[:2], rtol=1e-9)


@pytest.mark.parametrize("spelling", ["stations", "baselines"])
def test_derivatives_of_places_are_made_as_written_and_values_together(spelling, monkeypatch):
    monkeypatch.setenv("RIMETREE_DEVICE", "none")  # it is about the host's methods
    forest, report = solve(spelling)
    assert report.method == "derivatives of every Condeq"  # a sum for each cell would be more than the data
    assert not any("cell by cell" in note for note in forest.notes())
    assert any("(derivatives cost less so)" in note for note in forest.notes())
    ns = rt.NodeScope()
    tree(ns, 0.0, spelling, True)
    forest = rt.Forest(ns)
    forest.evaluate(ns.V(0, 1), CELLS)
    assert any(note.startswith("PSV:") for note in forest.notes())


def test_gains_of_many_directions_are_still_summed_up():
    """Where each cell has its own gains, that is no more work than derivatives are, and begins from anywhere."""
    ns = rt.NodeScope()
    tree(ns, 0.0, "baselines", False)
    value = np.ones((10, 1, 1, 1))
    edges = 5.24e9 - 120 + 240.0 * np.arange(11)
    for p, s in itertools.product(range(ANTENNAS), range(3)):
        parts = [rt.Parm(value * one, solvable=True, time_edges_s=edges) for one in (1.0, 0.0)]
        ns.g(p, s) << rt.ToComplex(*parts)
    for p, q in BASELINES:
        seen = [rt.PSV(ns.lmn(s), ns.B(s), ns.uvw(p, q)) for s in range(3)]
        ns.seen(p, q) << rt.Add(*(ns.g(p, s) * one * rt.Conj(ns.g(q, s)) for s, one in enumerate(seen)))
    ns.solver << rt.Solver(*(rt.Condeq(np.eye(2), ns.seen(*b)) for b in BASELINES), iterations=1)
    assert "sums over the data for 3" in rt.Forest(ns).solve(ns.solver, CELLS).method
