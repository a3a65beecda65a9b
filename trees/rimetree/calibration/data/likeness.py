"""Whether what a fit leaves of the data is noise: that of neighbouring channels, and times, is not alike.

Sources or terms that are missing, intervals that are too long, and fits that have ended in a minimum that is not the
lowest leave what changes little from one cell to the next. How large the noise is need not be known for that, and what
gains of each cell take of it does not look like it. Where terms have any phase in each cell it is alike only once these
are taken off: it is compared as it is, and relative to the model. (Of many channels those three apart are compared:
neighbours may have been smoothed by Hanning's window.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...forest import Forest
from ...ms import CORRELATION_NAMES, Tiles
from ...tile_values import tile_values
from ..plan.solve_trees import DataSelection, SolveTree, within_limits
from .coherence import Factors

#: Of noise alone: a fit that leaves more has not explained the data.
MOST_DEVIATIONS = 4.0

_CLEAR = 2 * MOST_DEVIATIONS
_CELLS = 1 << 12  # of all baselines that are looked at together: of that many a hundredth part shows
_MANY, _APART = 32, 3  # channels
_ELEMENTS = {"XX": 0, "XY": 1, "YX": 2, "YY": 3, "RR": 0, "RL": 1, "LR": 2, "LL": 3, "I": 0}


@dataclass(frozen=True)
class Likeness:
    """Of pairs of neighbours: the sum of products of what is left of both, that of the mean squares, and the variance
    that the former has where all is noise."""

    common: float = 0.0
    power: float = 0.0
    variance: float = 0.0

    @property
    def part(self) -> float:
        """Of what is left, so much is no noise, or more."""
        return self.common / self.power if self.power > 0 else 0.0

    @property
    def deviations(self) -> float:
        """By so many standard deviations of noise."""
        return self.common / math.sqrt(self.variance) if self.variance > 0 else 0.0

    def __add__(self, other: Likeness) -> Likeness:
        return Likeness(self.common + other.common, self.power + other.power, self.variance + other.variance)


def likeness_of(forest: Forest, tree: SolveTree, tiles: Tiles, data: DataSelection, factors: Factors) -> list[Likeness]:
    """Along frequency and along time, then the same relative to the model, of some baselines of the tile in the middle
    of a chunk, as a fit has left the forest. `factors`: of weights, 0 of data that are left out."""
    index = len(tiles) // 2
    tile = tiles[index]
    own = [k for k, pair in enumerate(tile["baselines"]) if pair in tree.compared]
    each = -(-len(own) * tile["flag"][0, ..., 0].size // _CELLS) if own else 1
    own = own[::each]
    if not own:
        return []
    names = [node for k in own for node in tree.compared[tile["baselines"][k]]]
    values, there = tile_values(forest, tiles, index, names)
    values = values.reshape(len(own), 2, 4, *values.shape[-2:])
    place = [_ELEMENTS[CORRELATION_NAMES[kind]] for kind in tile["correlation_type"]]
    seen, model = (np.moveaxis(values[:, k][:, place], 1, -1) for k in (0, 1))  # [baseline, time, channel, correlation]
    left = seen - model
    weight = tile["weight"][own]
    good = (tile["flag"][own] == 0) & (tile["row"][own] >= 0)[..., None, None] & (weight > 0)
    good &= np.isfinite(weight) & np.isfinite(left) & there.reshape(-1, 2).all(axis=1)[:, None, None, None]
    within = within_limits(tile, own, data)
    good = good if within is None else good & within[..., None]
    kept = np.stack([factors(tile["baselines"][k], tile["time_s"], tile["frequency_hz"]) for k in own])
    good &= kept.reshape(*kept.shape[:3], 4)[..., place] > 0
    left = np.where(good, left, 0.0) * np.sqrt(np.where(good, weight, 0.0))  # infinity times zero is no number
    size = np.abs(model)
    turned = left * np.conj(np.divide(model, size, out=np.ones_like(model), where=size > 0))
    return [along(one, good, axis) for one in (left, turned) for axis in (2, 1)]


def looks_like_noise(each: Iterable[Likeness], part: float) -> bool | None:
    """Whether neighbours along each axis are no more alike than noise makes them; None where too little was compared to
    show that so large a part of what is left is no noise."""
    compared = [one for one in each if part * one.power > _CLEAR * math.sqrt(one.variance) > 0]
    return all(one.deviations <= MOST_DEVIATIONS for one in compared) if compared else None


def along(left: NDArray[np.complex128], good: NDArray[np.bool_], axis: int) -> Likeness:
    """Of what is left, times the root of its weight, [baseline, time, channel, correlation] along time (axis 1) or
    frequency (2); what is not `good` may be anything."""
    apart = _APART if axis == 2 and left.shape[2] >= _MANY else 1
    one, other = ((slice(None),) * axis + (own,) for own in (slice(None, -apart), slice(apart, None)))
    both = good[one] & good[other]
    first, second = np.where(both, left[one], 0), np.where(both, left[other], 0)
    square = np.abs(first) ** 2 + np.abs(second) ** 2
    product = (first * np.conj(second)).real
    variance = 0.5 * np.abs(first) ** 2 * np.abs(second) ** 2
    return Likeness(float(product.sum()), float(0.5 * square.sum()), float(variance.sum()))


def most_alike(each: Iterable[list[Likeness]]) -> Likeness:
    """Of all chunks together, in the way by which more is no noise."""
    ways = itertools.zip_longest(*each, fillvalue=Likeness())
    return max((sum(own, Likeness()) for own in ways), key=lambda one: one.deviations, default=Likeness())
