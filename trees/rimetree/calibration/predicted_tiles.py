"""A model tile by tile beside the data: for what looks at both with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from ..forest import Forest
from ..ms import MsGroup, OpenSet, tiles
from ..scope import NodeScope, NodeStub
from .held import Held
from .model_trees import SkyPart, model_nodes

_PER_BASELINE = {"depends_on": ["domain", "data"]}

Pair = tuple[int, int]


class KeptValues(Mapping[Pair, NDArray[np.complex128]]):
    """{(p, q): [node, 2, 2, time, channel]} of the baselines that a tile has.

    `array` [baseline, node, 2, 2, time, channel]: of all baselines of the tree, in its order, of which `there` says
    whether the tile has them. It is written over by the next tile.
    """

    def __init__(self, pairs: Sequence[Pair], n_node: int):
        self._place = {pair: k for k, pair in enumerate(pairs)}
        self._n_node = n_node
        self.array = np.zeros((len(pairs), n_node, 2, 2, 0, 0), complex)
        self.there = np.zeros(len(pairs), bool)

    def __getitem__(self, pair: Pair) -> NDArray[np.complex128]:
        place = self._place[pair]
        if not self.there[place]:
            raise KeyError(pair)
        return self.array[place]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair, place in self._place.items() if self.there[place])

    def __len__(self) -> int:
        return int(self.there.sum())

    def place(self, pair: Pair) -> int | None:
        """Where a baseline is along the array; None if the tile does not have it."""
        place = self._place.get(pair)
        return None if place is None or not self.there[place] else place

    def keep(self, place: int, cells: tuple[int, int], values: Sequence[NDArray]) -> None:
        """What the nodes of a baseline gave, on so many times and channels."""
        if self.array.shape[-2:] != cells:
            self.array = np.empty((*self.array.shape[:4], *cells), complex)
        for node, value in enumerate(values):
            self.array[place, node] = value
        self.there[place] = True


#: What is done with a tile and the values of its baselines.
OnTile = Callable[[dict, KeptValues], None]


class KeptTiles:
    """Values of nodes of a tree beside the data, tile by tile: `ns.VisDataMux` looks at all of them.

    `nodes`: {(p, q): those whose values are wanted, [2, 2] each; as many of each}.
    """

    def __init__(self, ns: NodeScope, nodes: dict[Pair, Sequence[NodeStub]]):
        self._values = KeptValues(list(nodes), len(next(iter(nodes.values()), ())))
        self._tile_done: Callable[[], None] = lambda: None
        for place, ((p, q), wanted) in enumerate(nodes.items()):
            ns.keep(p, q) << rt.PyNode(*wanted, evaluate=self._keeper(place), **_PER_BASELINE)
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

    def _keeper(self, place: int) -> Callable:
        def keep(cells, *values):
            self._values.keep(place, (len(cells.time_s), len(cells.freq_hz)), values)
            return 0.0

        return keep

    def _done(self, _cells) -> float:
        self._tile_done()
        self._values.there[:] = False
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
        seen: dict[Pair, Sequence[NodeStub]] = {
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
