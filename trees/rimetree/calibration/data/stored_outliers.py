"""Data that stand out before they are averaged: looked for as they are stored, and left out of the means.

One bad visibility spoils the mean that it is in, and may not be seen there any more. So those whose magnitude stands
out are flagged for all readers of the set that is held open, and the set stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup, OpenSet, Tiles, run_options, without_averaging
from .outliers import standing_out

_PART_BYTES = 8 << 20  # of data that are looked at together, and the next ones are read meanwhile
_ENOUGH_SLOTS = 32  # of which a median tells what is usual; of more, some baselines at a time

#: Which data count, [time, channel, correlation], of a baseline of a tile.
GoodData = Callable[[dict, int], NDArray[np.bool_]]


class StoredOutliers:
    """What stands out by more than `most_sigma` in chunks of a group, by magnitudes (`standing_out`), each baseline,
    window and correlation by itself. The set that is held open is given anew in each call: functions of nodes lead to
    this object, and nodes stay until Python looks for circles."""

    def __init__(self, group: MsGroup, column: str, most_sigma: float):
        self._group, self._column, self._most = group, column, most_sigma
        self._count: dict[int, int] = {}  # visibilities, by chunk
        self._rows: dict[int, list[NDArray[np.int64]]] = {}

    def count(self, number: int) -> int:
        """Visibilities that are left out of a chunk."""
        return self._count.get(number, 0)

    def look(self, opened: OpenSet, number: int, span_s: tuple[float, float], good: GoodData) -> None:
        """Leaves out what stands out in a chunk, between these times (MJD, seconds); from now on nothing is left out of
        chunks before the last one. `good(tile, k)`: which data of a baseline count."""
        self.forget(opened, number - 1)
        self._count[number], self._rows[number] = 0, []
        options = {**without_averaging(self._group.selection), "time_range_s": span_s}
        for tile in self._parts(opened, options):
            rows, found = [], []
            for k in range(len(tile["baselines"])):
                out = self._standing_out(tile, k, good(tile, k))
                bad = out.any(axis=(1, 2))
                if bad.any():
                    rows.append(tile["row"][k][bad])
                    found.append(out[bad])
            if rows:
                self._rows[number].append(np.concatenate(rows))
                self._count[number] += sum(int(out.sum()) for out in found)
                opened.leave_out(tile, self._rows[number][-1], np.concatenate(found))

    def forget(self, opened: OpenSet, before: int | None = None) -> None:
        """Nothing is left out any more, of all chunks or those before one."""
        for number in [one for one in self._rows if before is None or one < before]:
            for rows in self._rows.pop(number):
                opened.leave_in(rows)

    def _standing_out(self, tile: dict, k: int, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[time, channel, correlation]."""
        size = np.abs(tile["columns"][self._column][k])
        return standing_out(np.where(good, size, np.nan), self._most, around="median")

    def _parts(self, opened: OpenSet, options: dict) -> Iterator[dict]:
        """The data of a chunk: all baselines of some slots, or some baselines of enough slots."""
        group = self._group
        outline = {**run_options(**{**options, "time_slots": group.n_time}), "coordinates_only": True}
        total = max((one["n_slot"] for one in Tiles(opened, [], outline).keys()), default=0)  # noqa: SIM118
        if not total:
            return
        of_slot = group.slot_bytes()
        slots, some = _PART_BYTES // of_slot, len(group.baselines)
        if slots < min(total, _ENOUGH_SLOTS):
            slots = min(total, _ENOUGH_SLOTS)
            some = max(1, _PART_BYTES * len(group.baselines) // (of_slot * slots))
        options["time_slots"] = -(-total // -(-total // slots))  # parts of one length
        for first in range(0, len(group.baselines), some):
            if some < len(group.baselines):
                options["baselines"] = group.baselines[first : first + some]
            yield from Tiles(opened, [self._column], run_options(**options), ahead=True)
