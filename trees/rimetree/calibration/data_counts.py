"""How many good data each antenna has in some time slots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ms import MsGroup, tiles


def good_data(group: MsGroup, time_range_s: tuple[float, float]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([antenna], [antenna]) good data and all data of the baselines of each of `group.antennas`.

    Good are those that are neither flagged nor without positive weight.
    """
    number = {antenna: index for index, antenna in enumerate(group.antennas)}
    good, all_ = np.zeros(len(number), dtype=np.int64), np.zeros(len(number), dtype=np.int64)
    for tile in tiles(group.path, [], time_range_s=time_range_s, **group.selection):
        present = (tile["row"] >= 0)[..., None, None]
        usable = present & (tile["flag"] == 0) & (tile["weight"] > 0) & np.isfinite(tile["weight"])
        counts = usable.sum(axis=(1, 2, 3))
        total = present.sum(axis=(1, 2, 3)) * tile["flag"].shape[2] * tile["flag"].shape[3]
        for (p, q), some, every in zip(tile["baselines"], counts, total, strict=True):
            for antenna in (p, q):
                good[number[antenna]] += some
                all_[number[antenna]] += every
    return good, all_
