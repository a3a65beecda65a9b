"""The model side of a calibration: the sky seen by a baseline, direction by direction, with Jones terms around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ... import nodes as rt
from ...sky import SkyModel
from ...sky_trees import sky_nodes, uvw_nodes
from ...writing.families import NodeFamily
from ...writing.indices import Index, each
from ...writing.scope import NodeDef, NodeScope, NodeStub
from ..errors import CalibrationError


@dataclass(frozen=True)
class SkyPart:
    """Sources that share all Jones terms, or a column of the set with their visibilities; `directions`: {"patch": name,
    "source": name} of those it is in. `stokes_i`: of data that hold Stokes I alone, to which both parallel hands of the
    model are compared, so that both are what feeds see in the mean."""

    name: str
    sky: SkyModel | None
    directions: dict[str, str]
    column: str = ""
    stokes_i: bool = False


def sky_parts(sky: SkyModel, per: Iterable[str | None]) -> list[SkyPart]:
    """Cuts a sky model into parts such that each of the `per` ("patch", "source", None) is one thing for a part.

    Raises `CalibrationError` where patches are asked for and a source is in none.
    """
    wanted = set(per) - {None}
    if "patch" in wanted:
        homeless = [source.name for source in sky if not source.patch]
        if homeless:
            raise CalibrationError(
                f"{len(homeless)} sources are in no patch of the sky model: {', '.join(homeless[:5])}"
                f"{', ...' if len(homeless) > 5 else ''}; put them into one, or solve per source"
            )
    if "source" in wanted:
        return [SkyPart(s.name, sky.select(names=[s.name]), {"source": s.name, "patch": s.patch}) for s in sky]
    if "patch" in wanted:
        return [SkyPart(name, sky.select(patches=[name]), {"patch": name}) for name in sky.patches]
    return [SkyPart("", sky, {})]


def model_nodes(
    ns: NodeScope,
    parts: Sequence[SkyPart],
    baselines: Sequence[tuple[int, int]],
    phase_centre_rad: Sequence[float],
    jones: Callable[[int, SkyPart | None], Sequence[NodeStub]],
    *,
    feed: str,
    smearing: bool = True,
    inside: Callable[[int, SkyPart | None], Sequence[NodeStub]] = lambda *_: (),
) -> None:
    """`ns.model(p, q)`: sum over the parts of the sky, with the Jones terms around each part and around the sum.

    `jones(antenna, part)` gives the matrices of an antenna from the left to the right: those of a part of the sky, or
    with None those of the whole sky. `inside` gives, likewise, those that stand right of them; they are multiplied
    first, so that what is the same at each step of a solve is made once.
    """
    if any(part.sky is not None for part in parts):
        uvw_nodes(ns, baselines, smearing=smearing)
    p, q = each(baselines, members=2)
    around = _Around(ns, p, q)
    coherencies = []
    for k, part in enumerate(parts):
        node = ns.coherency(p, q, k)
        if part.sky is None:
            # FLAG is of the data: a product of matrices would spread it over all four visibilities.
            node << rt.Spigot(station_1_index=p, station_2_index=q, input_column=part.column, flag_bit=0)
        else:
            sky = sky_nodes(ns.Subscope(f"sky{k}"), part.sky, phase_centre_rad, feed=feed)
            seen = sky.psv(p, q, ns.uvw(p, q))
            node << (_mean_of_feeds(ns.of_feeds(p, q, k) << seen) if part.stokes_i else seen)
        node = around(ns.held(p, q, k), node, inside, part)
        coherencies.append(around(ns.corrupted(p, q, k), node, jones, part))
    total = coherencies[0]
    if len(coherencies) > 1:
        total = ns.sky_sum(p, q) << rt.Add(*coherencies)
    total = around(ns.held_sum(p, q), total, inside, None)
    ns.model(p, q) << rt.Identity(around(ns.observed(p, q), total, jones, None))


def _mean_of_feeds(seen: NodeFamily) -> NodeDef:
    """Stokes I of visibilities [2,2] in the place of both parallel hands."""
    stokes_i = 0.5 * (rt.Selector(seen, index=[0, 0]) + rt.Selector(seen, index=[1, 1]))
    return rt.Matrix22(stokes_i, 0.0, 0.0, stokes_i)


class _Around:
    """Writes nodes of baselines (p, q): matrices of p, what is between them, and those of q, conjugated."""

    def __init__(self, ns: NodeScope, p: Index, q: Index):
        self._ns, self._p, self._q = ns, p, q
        # In the order of baselines: parameters are in that in which their terms are asked for.
        pairs = zip(p.values, q.values, strict=True)
        self._antennas = list(dict.fromkeys(antenna for pair in pairs for antenna in pair))

    def __call__(self, nodes: NodeFamily, inner: NodeFamily, matrices: Callable, part: SkyPart | None) -> NodeFamily:
        """`nodes`, bound; `inner` where no matrices are around it."""
        of = {antenna: matrices(antenna, part) for antenna in self._antennas}
        left = [self._p.of(column) for column in zip(*(of[p] for p in self._p.values), strict=True)]
        if not left:
            return inner
        of = {antenna: [_conjugate(self._ns, node) for node in own] for antenna, own in of.items()}
        right = [self._q.of(column) for column in zip(*(of[q] for q in self._q.values), strict=True)]
        return nodes << rt.MatrixMultiply(*left, inner, *reversed(right))


def _conjugate(ns: NodeScope, node: NodeStub) -> NodeStub:
    """One for each node, however many baselines it is in."""
    found = ns.conjugate(node.name)
    return found if found.initialized() else found << rt.ConjTranspose(node)
