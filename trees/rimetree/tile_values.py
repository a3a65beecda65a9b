"""Values of nodes beside the data of a Measurement Set, for those who look at both."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from . import _core
from .arguments import ArgumentError
from .evaluation.asking import count, node_names
from .forest import Forest
from .ms.reading import Tiles
from .writing.scope import NodeStub


def columns_read(forest: Forest) -> list[str]:
    """Columns of visibilities that the Spigots of a forest look at: what `Tiles` for `tile_values` must read."""
    return _core.columns_read(forest._core)


def tile_values(
    forest: Forest, tiles: Tiles, index: int, nodes: Iterable[NodeStub | str]
) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
    """(values, there) of nodes of equal tensor dimensions beside the data of tile `index`.

    `values` [node, ...dims, time, channel] are on all cells of the tile; `there` [node] says which nodes have any.
    Those of baselines without rows have none, and what stands in their place says nothing. Flags are not looked at.
    Raises `Error` where a node failed.
    """
    if not isinstance(tiles, Tiles):
        raise ArgumentError(f"tiles must be rt.ms.Tiles, not {tiles!r}")
    names = node_names(nodes, forest._tree)
    values, there = _core.tile_values(forest._core, tiles._core, count(index, "index"), names)
    return np.asarray(values), np.array(there, bool)
