"""A model tile by tile beside the data: for what looks at both with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...forest import Forest
from ...ms import MsGroup, OpenSet, Tiles, run_options
from ...tile_values import columns_read, tile_values
from ...writing.scope import NodeScope, NodeStub
from .held import Held
from .model_trees import SkyPart, model_nodes

Pair = tuple[int, int]


class KeptValues(Mapping[Pair, NDArray[np.complex128]]):
    """{(p, q): [node, 2, 2, time, channel]} of the baselines that a tile has.

    `array` [baseline, node, 2, 2, time, channel]: of some baselines, of which `there` says whether they have
    values.
    """

    def __init__(self, place: dict[Pair, int], array: NDArray[np.complex128], there: NDArray[np.bool_]):
        self._place, self.array, self.there = place, array, there

    def __getitem__(self, pair: Pair) -> NDArray[np.complex128]:
        place = self.place(pair)
        if place is None:
            raise KeyError(pair)
        return self.array[place]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair, place in self._place.items() if self.there[place])

    def __len__(self) -> int:
        return int(self.there.sum())

    def place(self, pair: Pair) -> int | None:
        """Where a baseline is along the array; None if it has no values."""
        place = self._place.get(pair)
        return None if place is None or not self.there[place] else place

    def element(self, places: NDArray[np.intp], i: int, j: int) -> NDArray[np.complex128]:
        """[baseline, node, time, channel]: the correlation of two feeds, of the baselines at these places."""
        return self.array[places, :, i, j]


#: What is done with a tile and the values of its baselines.
OnTile = Callable[[dict, KeptValues], None]


class KeptTiles:
    """Values of nodes of a tree beside the data, tile by tile.

    `nodes`: {(p, q): those whose values are wanted, [2, 2] each; as many of each}. `portion_bytes`: values that are
    made at a time, of some of the baselines of a tile; None: those of all.
    """

    def __init__(self, nodes: dict[Pair, Sequence[NodeStub]], portion_bytes: int | None = None):
        self._nodes = {pair: [node.name for node in wanted] for pair, wanted in nodes.items()}
        self._portion_bytes = portion_bytes

    def each(self, forest: Forest, opened: OpenSet, column: str, on_tile: OnTile, **options) -> None:
        """Calls `on_tile` for each tile, or for portions of its baselines, one after the other; read with this column,
        options as of `ms.run_options`."""
        columns = list(dict.fromkeys([column, *columns_read(forest)]))
        reading = Tiles(opened, columns, run_options(**options), ahead=True)
        for index in range(len(reading)):
            tile = reading[index]
            # Tiles may have few of the baselines.
            pairs = [pair for pair in tile["baselines"] if pair in self._nodes]
            if not pairs:
                on_tile(tile, KeptValues({}, np.zeros((0, 0, 2, 2, 0, 0), complex), np.zeros(0, bool)))
                continue
            of_cells = 64 * len(self._nodes[pairs[0]]) * len(tile["time_s"]) * len(tile["frequency_hz"])
            step = len(pairs) if self._portion_bytes is None else max(1, self._portion_bytes // of_cells)
            for first in range(0, len(pairs), step):
                on_tile(tile, self._values(forest, reading, index, pairs[first : first + step]))
                if step < len(pairs):
                    forest.forget()  # of all portions together, results are as large as those of all baselines

    def _values(self, forest: Forest, reading: Tiles, index: int, pairs: Sequence[Pair]) -> KeptValues:
        """The values of some baselines of a tile."""
        values, there = tile_values(forest, reading, index, [name for pair in pairs for name in self._nodes[pair]])
        places = {pair: k for k, pair in enumerate(pairs)}
        array = values.reshape(len(pairs), -1, *values.shape[1:])
        return KeptValues(places, array, there.reshape(len(pairs), -1).all(axis=1))


class PredictedTiles:
    """Visibilities of parts of the sky without terms to solve for, but with what is held inside them; the tree is made
    once.

    `apart`: each part by itself, and not their sum. `pairs`: baselines (None: all of the group). `portion_bytes`: as of
    `KeptTiles`.
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
        portion_bytes: int | None = None,
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
        self._kept = KeptTiles(seen, portion_bytes)
        self._forest = Forest(ns)

    def each(self, column: str, on_tile: OnTile, **options) -> None:
        """Calls `on_tile` for each tile, read with this column; options as of `ms.run_options`."""
        self._kept.each(self._forest, self._opened, column, on_tile, **{**self._group.selection, **options})


def _part_node(ns: NodeScope, p: int, q: int, k: int) -> NodeStub:
    """A part of the sky as a baseline sees it, with what is held for its direction."""
    held = ns.held(p, q, k)
    return held if held.initialized() else ns.coherency(p, q, k)


def slots_within(group: MsGroup, n_model: int, memory_bytes: int, n_column: int = 0) -> int:
    """Time slots whose data, of all baselines and with so many further columns, and so many models of a baseline take
    so much."""
    visibilities = group.n_channel * len(group.correlations)
    data = len(group.baselines) * visibilities * (8 * (1 + n_column) + 4 + 1)  # columns, weight, flag
    models = n_model * group.n_channel * 4 * 16 * 2  # as computed and as kept
    return max(1, int(memory_bytes / (2 * (data + models))))
