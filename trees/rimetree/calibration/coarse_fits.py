"""Fits of phases alone to parts of a band, on sums over its channels, for the beginning of a search.

Slopes of phases along frequency have many minima of their own, and most of the work of a fit is theirs. In the middle
of a band they change little, so that the phases there, which are searched for first, lead to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .joint_fit import DirectionSums, JointFit, Unknowns
from .joint_unknowns import TermUnknowns

_PARTS = 0.5, 1.0, 0.25  # of the band


@dataclass(frozen=True, eq=False)
class CoarseFit:
    """`numbers`: of its unknowns among the loose ones; `size`: how many numbers its sums have."""

    fit: JointFit
    numbers: NDArray[np.intp]
    size: int

    def numbers_of(self, loose: Sequence[int]) -> list[int]:
        """Numbers of loose unknowns among its own."""
        return [int(k) for k in np.flatnonzero(np.isin(self.numbers, loose))]


def coarse_fits(sums: DirectionSums, unknowns: TermUnknowns) -> list[CoarseFit]:
    """Of the whole band and, where phases have slopes, of parts in its middle."""
    slopes = set(unknowns.slope)
    own = [one for one in unknowns.loose if not slopes.issuperset(one.index[one.index >= 0])]
    cells = np.concatenate([one.cells for one in own])  # [kind and time, freq]
    intervals = np.ravel(np.unique(cells, axis=1, return_inverse=True)[1])
    found = {}
    for part in _PARTS if slopes else (1.0,):
        chosen = [_middle(np.flatnonzero(intervals == one), part) for one in np.unique(intervals)]
        found.setdefault(tuple(map(tuple, chosen)), _fit(sums, own, chosen))
    return list(found.values())


def _middle(channels: NDArray[np.intp], part: float) -> NDArray[np.intp]:
    count = max(1, round(part * len(channels)))
    first = (len(channels) - count) // 2
    return channels[first : first + count]


def _fit(sums: DirectionSums, unknowns: Sequence[Unknowns], chosen: Sequence[NDArray[np.intp]]) -> CoarseFit:
    product, power = (
        np.stack([x[:, :, some].sum(axis=2) for some in chosen], axis=2) for x in (sums.product, sums.power)
    )
    together = all(one.feeds.all() for one in unknowns)
    if together:  # feeds are like channels
        product, power = product.sum(axis=3, keepdims=True), power.sum(axis=3, keepdims=True)
    numbers = np.unique(np.concatenate([one.index[one.index >= 0] for one in unknowns]))
    first = [some[0] for some in chosen]
    fewer = [
        replace(
            one,
            rate=one.rate[first],
            cells=one.cells[:, first],
            feeds=one.feeds[:1] if together else one.feeds,
            index=np.where(one.index >= 0, np.searchsorted(numbers, one.index), -1),
        )
        for one in unknowns
    ]
    fit = JointFit(DirectionSums(sums.baselines, product, power, sums.data, sums.antennas), fewer)
    return CoarseFit(fit, numbers, power.size)
