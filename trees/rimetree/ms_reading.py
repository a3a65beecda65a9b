"""Reading Measurement Sets in time-slot groups, and holding a set open for many readings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from . import _core
from .arguments import ArgumentError, checked


class OpenSet:
    """A Measurement Set that stays open for reading: what its rows are is read once, whoever reads it.

    Functions that read take it in the place of a path. It is closed when nobody refers to it any more.
    """

    @checked
    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        self._core = _core.open_set(self.path)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"OpenSet({self.path!r})"


def source_of(path: str | os.PathLike | OpenSet):
    """What the extension module opens: the path, or the set that is open already."""
    if isinstance(path, OpenSet):
        return path._core
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"path must be text, a path or an OpenSet, not {path!r}")
    return os.fspath(path)


class Tiles(Sequence):
    """Time-slot groups of a Measurement Set: a sequence of dicts as `rimetree.ms.tiles` says, each read when asked for.

    `options`: as `rimetree.ms.run_options` makes them. The last one read stays in memory. `ahead`: while one is looked
    at the next is read.
    """

    @checked
    def __init__(self, path: str | os.PathLike | OpenSet, columns: Sequence[str], options: dict, *, ahead=False):
        self._core = _core.open_tiles(source_of(path), {**options, "columns": list(columns)})
        self._ahead = ahead

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, index: int) -> dict:
        tile = self._core.read(index, self._ahead)
        tile["columns"] = {name: np.asarray(values) for name, values in tile["columns"].items()}
        return {name: np.asarray(value) if isinstance(value, _core.Array) else value for name, value in tile.items()}

    def __iter__(self) -> Iterator[dict]:
        return (self[index] for index in range(len(self)))

    def begin(self) -> None:
        """Begin to read the first one in the background."""
        self._core.begin()

    def keys(self) -> list[dict]:
        """What each is, without reading any: `data_desc_id`, `field_id`, `layer`, `n_slot`, `n_row`, `first_time_s`,
        `last_time_s`; windows that are joined one by one."""
        return self._core.tiles()

    def baselines(self) -> list[tuple[int, int]]:
        """(ANTENNA1, ANTENNA2) pairs that have rows in any, ascending."""
        return self._core.baselines()
