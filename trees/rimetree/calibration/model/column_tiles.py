"""Model columns tile by tile beside the data: as `predicted_tiles`, without a tree, where nothing multiplies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ms import CORRELATION_NAMES, MsGroup, OpenSet, Tiles, run_options

#: Where a correlation is in the matrix of a visibility.
ELEMENTS = {
    **{name: ((k // 2, k % 2),) for names in ("XX XY YX YY", "RR RL LR LL") for k, name in enumerate(names.split())},
    "I": ((0, 0), (1, 1)),
}


def elements_of(tile: dict) -> list[tuple[int, int, int]]:
    """(row, column, place along the correlations of a tile) of the elements of a visibility's matrix that it has."""
    names = [CORRELATION_NAMES.get(kind, "") for kind in tile["correlation_type"]]
    return [(*at, c) for c, name in enumerate(names) for at in ELEMENTS.get(name, ())]


class ColumnValues:
    """Correlations of model columns as a tile has them: as `KeptValues` gives those that are predicted."""

    def __init__(self, tile: dict, columns: Sequence[str], apart: bool):
        self._columns, self._apart = [tile["columns"][name] for name in columns], apart
        self._place = {pair: k for k, pair in enumerate(tile["baselines"])}
        self._correlation = {(i, j): c for i, j, c in elements_of(tile)}

    def place(self, pair: tuple[int, int]) -> int | None:
        """Where a baseline is; None if the tile does not have it."""
        return self._place.get(pair)

    def element(self, places: NDArray[np.intp], i: int, j: int) -> NDArray[np.complex128]:
        """[baseline, column, time, channel] of the correlation of two feeds, on the baselines at these places; their
        sum is one column unless they are wanted apart."""
        own = [column[places, ..., self._correlation[i, j]] for column in self._columns]
        return np.stack(own, axis=1, dtype=complex) if self._apart else sum(one.astype(complex) for one in own)[:, None]


class ColumnTiles:
    """Columns of a set as the model; `apart`: each by itself, and not their sum."""

    def __init__(self, group: MsGroup, columns: Sequence[str], opened: OpenSet | None, *, apart: bool):
        self._group, self._columns, self._apart = group, list(columns), apart
        self._opened = opened or OpenSet(group.path)

    def each(self, column: str, on_tile: Callable[[dict, ColumnValues], None], **options) -> None:
        """Calls `on_tile` for each tile, read with this column; options as of `ms.run_options`."""
        options = run_options(**{**self._group.selection, **options})
        self.of_tiles(Tiles(self._opened, list(dict.fromkeys([column, *self._columns])), options, ahead=True), on_tile)

    def of_tiles(self, tiles: Iterable[dict], on_tile: Callable[[dict, ColumnValues], None]) -> None:
        """Calls `on_tile` for each of these tiles, which have been read with the columns of the model."""
        for tile in tiles:
            on_tile(tile, ColumnValues(tile, self._columns, self._apart))
