"""Solving for gains of sources: a tree of many nodes, as old scripts write them, beside one of PSV nodes."""

from __future__ import annotations

import time

import numpy as np

from .. import nodes as rt
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError
from .trees import RADEC_0, TreeFigures, random_sky

SPELLINGS = ("PSV", "one node per source", "gains anew in each baseline")

#: Name, spelling of the tree, and whether it is evaluated as it is written.
CASES = {
    **{f"solve: {spelling}": (spelling, False) for spelling in SPELLINGS},
    "solve as written: one node per source": (SPELLINGS[1], True),
}


def solve_tree(spelling: str, n_source: int, n_station: int) -> tuple[NodeScope, np.ndarray]:
    """A Solver for diagonal complex gains of each source and station, from data without noise; and the gains.

    The data are made by PSV nodes; gains are [station, source, 2], dimensionless.
    """
    psv, anew = spelling == SPELLINGS[0], spelling == SPELLINGS[2]
    lmn, stokes, positions = random_sky(n_source, n_station)
    generator = np.random.default_rng(3)
    parts = 0.1 * generator.standard_normal((2, n_station, n_source, 2))
    gains = 1 + parts[0] + 1j * parts[1]
    stations, sources = range(n_station), range(n_source)
    ns = NodeScope()
    ns.radec_0 << rt.Constant(RADEC_0)
    ns.lmn << rt.Constant(lmn)
    ns.B << rt.Stokes(rt.Constant(stokes))
    for s in sources:
        ns.lmn(s) << rt.Constant(lmn[s])
        ns.B(s) << rt.Stokes(rt.Constant(stokes[s]))
    for p in stations:
        ns.uvw(p) << rt.UVW(ns.radec_0, positions[p], positions[0])
        planted = np.einsum("sk,kj->skj", gains[p], np.eye(2))
        ns.planted(p) << rt.Constant(planted)
        ns.plantedH(p) << rt.Constant(planted.conj())
        for s in sources:
            for k in range(2):
                ns.re(p, s, k) << rt.Parm(1.0, solvable=True)
                ns.im(p, s, k) << rt.Parm(0.0, solvable=True)
                ns.g(p, s, k) << rt.ToComplex(ns.re(p, s, k), ns.im(p, s, k))
            if not anew:
                ns.G(p, s) << rt.Matrix22(ns.g(p, s, 0), 0, 0, ns.g(p, s, 1))
                ns.GH(p, s) << rt.ConjTranspose(ns.G(p, s))
        if psv:
            ns.G(p) << rt.Composer(*(ns.G(p, s) for s in sources), dims=[n_source, 2, 2])
            ns.GH(p) << rt.Composer(*(ns.GH(p, s) for s in sources), dims=[n_source, 2, 2])

    def gain(p: int, s: int):
        return rt.Matrix22(ns.g(p, s, 0), 0, 0, ns.g(p, s, 1)) if anew else ns.G(p, s)

    def gain_h(q: int, s: int):
        return rt.ConjTranspose(gain(q, s)) if anew else ns.GH(q, s)

    pairs = [(p, q) for p in stations for q in stations if p < q]
    for p, q in pairs:
        uvw = ns.uvw(p, q)
        uvw << ns.uvw(p) - ns.uvw(q)
        ns.data(p, q) << rt.PSV(ns.lmn, ns.B, uvw, None, ns.planted(p), ns.plantedH(q))
        if psv:
            ns.V(p, q) << rt.PSV(ns.lmn, ns.B, uvw, None, ns.G(p), ns.GH(q))
        else:
            for s in sources:
                ns.K(p, q, s) << rt.VisPhaseShift(ns.lmn(s), uvw)
            ns.V(p, q) << rt.Add(
                *(rt.MatrixMultiply(ns.K(p, q, s), gain(p, s), ns.B(s), gain_h(q, s)) for s in sources)
            )
        ns.condeq(p, q) << rt.Condeq(ns.data(p, q), ns.V(p, q))
    ns.solver << rt.Solver(*(ns.condeq(p, q) for p, q in pairs))
    return ns, gains


def measure_solve(
    case: str, n_source: int = 5, n_station: int = 7, n_time: int = 32, n_freq: int = 64, seconds: float = 1.0
) -> TreeFigures:
    """Time one of `CASES` in processor time, from ones to the solution.

    Raises `WrongAnswerError` where the planted gains are not found, but for the phase that all stations share.
    """
    spelling, as_written = CASES[case]
    cells = Cells(5.2e9 + 10.0 * np.arange(n_time), 1.4e9 + 1e6 * np.arange(n_freq))
    times: list[float] = []
    started = time.perf_counter()
    while not times or time.perf_counter() - started < seconds:
        ns, gains = solve_tree(spelling, n_source, n_station)
        forest = Forest(ns, threads=1, as_written=as_written)
        begin = time.process_time()
        report = forest.solve(ns.solver.name, cells)
        times.append(time.process_time() - begin)
    error = _error(report, gains)
    if not error <= 1e-6:
        raise WrongAnswerError(f"{case}: wrong solution, off by {error:.2g}, so there is no speed")
    memory = forest.timing().peak_result_bytes
    return TreeFigures(case, "solves", 1.0, min(times), result_bytes=memory, error=error)


def _error(report, gains: np.ndarray) -> float:
    """Largest difference from the planted gains, with one phase for each source and feed taken out."""
    found = np.empty_like(gains)
    for p, s, k in np.ndindex(*gains.shape):
        value = [float(report.parms[f"{part}:{p}:{s}:{k}"].value) for part in ("re", "im")]
        found[p, s, k] = complex(*value)

    def turned(all_gains: np.ndarray) -> np.ndarray:
        return all_gains * np.exp(-1j * np.angle(all_gains[:1]))

    return float(np.abs(turned(found) - turned(gains)).max())
