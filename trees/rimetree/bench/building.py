"""How long trees of many nodes take to be written, built and planned; nothing is evaluated."""

from __future__ import annotations

import time

from .. import nodes as rt
from ..forest import Forest
from ..writing.families import over
from ..writing.indices import each
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError
from .trees import RADEC_0, TreeFigures, random_sky, sky_tree

CASES = ("written in loops", "written with indices", "built and planned", "built and planned as written")


def name_of(case: str) -> str:
    return f"forest: {case}"


def sky_by_indices(n_source: int, n_station: int) -> NodeScope:
    """The tree `sky_tree("one node per source", ...)`, all nodes of a name at once."""
    lmn, stokes, positions = random_sky(n_source, n_station)
    ns = NodeScope()
    ns.radec_0 << rt.Constant(RADEC_0)
    stations = range(n_station)
    a, s = each(stations), each(range(n_source))
    p, q = each([(p, q) for p in stations for q in stations if p < q], 2)
    ns.uvw(a) << rt.UVW(ns.radec_0, a.of(positions), positions[0])
    ns.lmn(s) << rt.Constant(s.of(lmn))
    ns.B(s) << rt.Stokes(rt.Constant(s.of(stokes)))
    ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
    ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q))
    ns.V(p, q) << rt.Add(*over(s, ns.K(p, q, s) * ns.B(s)))
    return ns


def measure_building(case: str, n_source: int = 1000, n_station: int = 7, seconds: float = 1.0) -> TreeFigures:
    """Nodes per second of processor time, of a sky with one node per source and baseline.

    Raises `ValueError` where `case` is none of `CASES`, and `WrongAnswerError` where the two ways to write it do not
    make the same nodes.
    """
    if case not in CASES:
        raise ValueError(f"case: {', '.join(CASES)}; got {case!r}")

    def in_loops() -> NodeScope:
        return sky_tree("one node per source", n_source, n_station)[0]

    def by_indices() -> NodeScope:
        return sky_by_indices(n_source, n_station)

    written = by_indices()
    nodes = _nodes_of(written)
    if nodes != _nodes_of(in_loops()):
        raise WrongAnswerError(f"{case}: nodes differ from those written in loops, so there is no speed")
    work = {
        CASES[0]: in_loops,
        CASES[1]: by_indices,
        CASES[2]: lambda: Forest(written, threads=1, as_written=False),
        CASES[3]: lambda: Forest(written, threads=1, as_written=True),
    }[case]
    started, times = time.perf_counter(), []
    while len(times) < 2 or time.perf_counter() - started < seconds:
        begin = time.process_time()
        made = work()
        times.append(time.process_time() - begin)
        del made
    return TreeFigures(name_of(case), "nodes", float(len(nodes)), min(times))


def _nodes_of(ns: NodeScope) -> dict[str, tuple]:
    """Class and children of each node."""
    return {name: (one.classname, [child.name for _, child in one.children]) for name, one in ns.AllNodes().items()}
