"""What the data of some time slots are like before they are solved: how many are good, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ms import CORRELATION_NAMES, MsGroup, tiles

_PARALLEL = {"I", "XX", "YY", "RR", "LL"}


@dataclass(frozen=True, eq=False)
class DataCounts:
    """Of the baselines of each of `MsGroup.antennas`: good data (not flagged and of positive weight), all data,
    and the mean magnitude of the good parallel hands, in the unit of the column (0 where there are none)."""

    good: NDArray[np.int64]
    all: NDArray[np.int64]
    magnitude: NDArray[np.float64]


def count_data(group: MsGroup, column: str, time_range_s: tuple[float, float]) -> DataCounts:
    """Reads a column of visibilities, flags and weights."""
    number = {antenna: index for index, antenna in enumerate(group.antennas)}
    good, every = np.zeros(len(number), dtype=np.int64), np.zeros(len(number), dtype=np.int64)
    total, count = np.zeros(len(number)), np.zeros(len(number))
    for tile in tiles(group.path, [column], time_range_s=time_range_s, **group.selection):
        present = np.broadcast_to((tile["row"] >= 0)[..., None, None], tile["flag"].shape)
        usable = present & (tile["flag"] == 0) & (tile["weight"] > 0) & np.isfinite(tile["weight"])
        value = np.abs(tile["columns"][column])
        usable &= np.isfinite(value)
        hands = [CORRELATION_NAMES.get(kind) in _PARALLEL for kind in tile["correlation_type"]]
        parallel = usable[..., hands]
        magnitude = np.where(parallel, value[..., hands], 0)
        antenna = np.array([[number[a] for a in pair] for pair in tile["baselines"]])
        for table, cells in ((good, usable), (every, present), (total, magnitude), (count, parallel)):
            np.add.at(table, antenna, cells.sum(axis=(1, 2, 3), dtype=table.dtype)[:, None])
    return DataCounts(good, every, np.divide(total, count, out=np.zeros(len(total)), where=count > 0))


def starting_amplitudes(magnitude: NDArray[np.float64], flux_jy: float) -> NDArray[np.float64]:
    """Amplitudes of the antennas' gains for which a point source of this flux has such mean magnitudes.

    On V_pq = g_p g_q S the mean over q is about g_p times the mean gain times S. 1 where there are no data.
    """
    known = magnitude > 0
    if not known.any() or not flux_jy > 0:
        return np.ones(len(magnitude))
    return np.where(known, magnitude / np.sqrt(magnitude[known].mean() * flux_jy), 1.0)
