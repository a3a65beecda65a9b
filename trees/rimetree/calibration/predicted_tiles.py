"""A model tile by tile beside the data: for what looks at both with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from ..forest import Forest
from ..ms import MsGroup, OpenSet, tiles
from ..scope import NodeScope, NodeStub
from .held import Held
from .model_trees import SkyPart, model_nodes

_PER_BASELINE = {"depends_on": ["domain", "data"]}

#: What is done with a tile: `on_tile(tile, {(p, q): [part, 2, 2, time, channel]})`.
OnTile = Callable[[dict, dict[tuple[int, int], NDArray[np.complex128]]], None]


class KeptTiles:
    """Values of nodes of a tree beside the data, tile by tile: `ns.VisDataMux` looks at all of them.

    `nodes`: {(p, q): those whose values are wanted, [2, 2] each}.
    """

    def __init__(self, ns: NodeScope, nodes: dict[tuple[int, int], Sequence[NodeStub]]):
        self._values: dict[tuple[int, int], NDArray] = {}
        self._tile_done: Callable[[], None] = lambda: None
        for (p, q), wanted in nodes.items():
            ns.keep(p, q) << rt.PyNode(*wanted, evaluate=self._keeper((p, q)), **_PER_BASELINE)
        ns.done << rt.PyNode(evaluate=self._done, **_PER_BASELINE)
        ns.VisDataMux << rt.VisDataMux(None, ns.done, *(ns.keep(p, q) for p, q in nodes))

    def each(self, forest: Forest, opened: OpenSet, column: str, on_tile: OnTile, **options) -> None:
        """Calls `on_tile` for each tile, read with this column; options as of `ms.run_options`."""
        reading = iter(tiles(opened, [column], **options))
        self._tile_done = lambda: on_tile(next(reading), self._values)
        try:
            forest.run(opened, **options)
        finally:
            # The tree refers to this object, and what is called may refer to the tree: a circle that no collector of
            # garbage sees, and that would keep the set open.
            self._tile_done = lambda: None

    def _keeper(self, pair: tuple[int, int]) -> Callable:
        def keep(cells, *values):
            shape = (2, 2, len(cells.time_s), len(cells.freq_hz))
            self._values[pair] = np.array([np.broadcast_to(value, shape) for value in values])
            return 0.0

        return keep

    def _done(self, _cells) -> float:
        self._tile_done()
        self._values.clear()
        return 0.0


class PredictedTiles:
    """Visibilities of parts of the sky without terms to solve for, but with what is held inside them; the tree is made
    once.

    `apart`: each part by itself, and not their sum. `pairs`: baselines (None: all of the group).
    """

    def __init__(
        self,
        group: MsGroup,
        parts: Sequence[SkyPart],
        phase_centre_rad: Sequence[float],
        *,
        apart: bool,
        pairs: Sequence[tuple[int, int]] | None = None,
        held: Held | None = None,
        smearing: bool = True,
        opened: OpenSet | None = None,
    ):
        self._group, self._opened = group, opened or OpenSet(group.path)
        held = held or Held(group)
        pairs = group.baselines if pairs is None else pairs
        ns = NodeScope()

        def inside(antenna: int, part: SkyPart | None) -> list[NodeStub]:
            return held.inside(ns, antenna, part)

        model_nodes(
            ns, parts, pairs, phase_centre_rad, lambda *_: [], feed=group.feed, smearing=smearing, inside=inside
        )
        seen = {
            (p, q): [_part_node(ns, p, q, k) for k in range(len(parts))] if apart else [ns.model(p, q)]
            for p, q in pairs
        }
        self._kept = KeptTiles(ns, seen)
        self._forest = Forest(ns)

    def each(self, column: str, on_tile: OnTile, **options) -> None:
        """Calls `on_tile` for each tile, read with this column; options as of `ms.run_options`."""
        self._kept.each(self._forest, self._opened, column, on_tile, **{**self._group.selection, **options})


def _part_node(ns: NodeScope, p: int, q: int, k: int) -> NodeStub:
    """A part of the sky as a baseline sees it, with what is held for its direction."""
    held = ns.held(p, q, k)
    return held if held.initialized() else ns.coherency(p, q, k)


def slots_within(group: MsGroup, n_model: int, memory_bytes: int) -> int:
    """Time slots whose data, of all baselines, and so many models of a baseline take so much."""
    visibilities = group.n_channel * len(group.correlations)
    data = len(group.baselines) * visibilities * (8 + 4 + 1)  # column, weight, flag
    models = n_model * group.n_channel * 4 * 16 * 2  # as computed and as kept
    return max(1, int(memory_bytes / (2 * (data + models))))
