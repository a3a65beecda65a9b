"""Fits of phases alone to parts of a band, on sums over its channels, for the beginning of a search.

Slopes of phases along frequency have many minima of their own, and most of the work of a fit is theirs. In the middle
of a band they change little, so that the phases there, which are searched for first, lead to them. Where terms have
many intervals along frequency, as a bandpass has, one or two in the middle are searched; the others follow one after
the other, with the phases of directions as they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .joint_fit import DirectionSums, JointFit, Unknowns
from .joint_unknowns import TermUnknowns

_PARTS = 0.5, 1.0, 0.25  # of the band
_MOST_INTERVALS = 3  # along frequency, that are searched together
_SOME_INTERVALS = (0.5, 1), (0.5, 2), (0.25, 1), (0.75, 1)  # of more: next to which part of the band, and how many
_STARTS = 6  # of an interval that follows


@dataclass(frozen=True, eq=False)
class CoarseFit:
    """`numbers`: of its unknowns among the loose ones; `size`: how many numbers its sums have; `rest`: fits to each of
    the other intervals along frequency, the next one first, of which some unknowns are known before; `exact`:
    whether no phase changes within any of its sums."""

    fit: JointFit
    numbers: NDArray[np.intp]
    size: int
    rest: Sequence[CoarseFit] = ()
    exact: bool = False

    def numbers_of(self, loose: Sequence[int]) -> list[int]:
        """Numbers of loose unknowns among its own."""
        return [int(k) for k in np.flatnonzero(np.isin(self.numbers, loose))]

    def extended(self, place: NDArray[np.float64], steps: int, held: Sequence[int], rng) -> NDArray[np.float64]:
        """Loose places [some, unknown], of which those of this fit are known, with those of the other intervals."""
        known = self.numbers
        for one in self.rest:
            new = np.flatnonzero(~np.isin(one.numbers, [*known, *held]))
            begin = np.repeat(place[:, one.numbers], _STARTS, axis=0)
            turning = np.setdiff1d(new, np.flatnonzero(one.fit.real))
            begin[:, turning] = rng.uniform(-np.pi, np.pi, (len(begin), len(turning)))
            begin[:, np.setdiff1d(new, turning)] = self._mean_size(place)
            found, chi_square = one.fit.climbed(begin, steps, np.setdiff1d(np.arange(one.fit.count), new))
            best = np.argmin(chi_square.reshape(len(place), _STARTS), axis=1)
            place[:, one.numbers] = found.reshape(len(place), _STARTS, -1)[np.arange(len(place)), best]
            known = np.union1d(known, one.numbers)
        return place

    def _mean_size(self, place: NDArray[np.float64]) -> float:
        """Of the logarithms of amplitudes that are known."""
        own = place[:, self.numbers[self.fit.real[: len(self.numbers)]]]
        return float(own.mean()) if own.size else 0.0


def coarse_fits(sums: DirectionSums, unknowns: TermUnknowns) -> list[CoarseFit]:
    """Of the whole band and, where phases have slopes, of parts in its middle."""
    slopes = set(unknowns.slope)
    own = [one for one in unknowns.loose if not slopes.issuperset(one.index[one.index >= 0])]
    cells = np.concatenate([one.cells for one in own])  # [kind and time, freq]
    intervals = np.ravel(np.unique(cells, axis=1, return_inverse=True)[1])
    every = np.unique(intervals)
    if len(every) > _MOST_INTERVALS:
        place = np.array([np.flatnonzero(intervals == one).mean() for one in every])
        channels = [np.flatnonzero(intervals == one) for one in every]
        exact = not slopes or all(len(one) == 1 for one in channels)
        parts = [_fit(sums, own, [one]) for one in channels]
        found = []
        for where, count in _SOME_INTERVALS:
            order = np.argsort(np.abs(place - where * (len(intervals) - 1)), kind="stable")
            first = _fit(sums, own, [channels[k] for k in order[:count]])
            found.append(replace(first, rest=[parts[k] for k in order[count:]], exact=exact))
        return found
    found = {}
    for part in _PARTS if slopes else (1.0,):
        chosen = [_middle(np.flatnonzero(intervals == one), part) for one in every]
        found.setdefault(tuple(map(tuple, chosen)), replace(_fit(sums, own, chosen), exact=not slopes))
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
    first = [some[0] for some in chosen]
    fewer = []
    for one in unknowns:
        there, cells = np.unique(one.cells[:, first], return_inverse=True)
        cells = cells.reshape(len(one.cells), len(first))
        feeds = one.feeds[:1] if together else one.feeds
        fewer.append(replace(one, rate=one.rate[first], cells=cells, feeds=feeds, index=one.index[there]))
    numbers = np.unique(np.concatenate([one.index[one.index >= 0] for one in fewer]))
    fewer = [replace(one, index=np.where(one.index >= 0, np.searchsorted(numbers, one.index), -1)) for one in fewer]
    fit = JointFit(DirectionSums(sums.baselines, product, power, sums.data, sums.antennas), fewer)
    return CoarseFit(fit, numbers, power.size)
