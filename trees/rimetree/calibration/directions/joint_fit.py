"""Fits of all that turns or scales a direction's model, on sums over the data: many at a time, from different places.

What antennas do is diagonal here, so that logarithms of their factors are sums of unknowns times known rates: an
amplitude's logarithm, a phase, a delay times 2 pi nu. Sums over the data of each bin (`Coherence`) then say chi-square
exactly, and a step of Levenberg and Marquardt's costs microseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._core import open_factor_fit


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Unknowns of one kind: by them the logarithm of an antenna's factor grows, times `rate` [freq], times i if it
    `turns`.

    `directions` [direction] and `feeds` [2]: those it acts on; `cells` [time, freq]: which of the unknowns holds in
    each bin; `index` [cell, antenna]: their numbers among all, -1 of those that are 0 (several may share one).
    """

    rate: NDArray[np.float64]
    turns: bool
    directions: NDArray[np.bool_]
    feeds: NDArray[np.bool_]
    cells: NDArray[np.intp]
    index: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class DirectionSums:
    """As `Coherence`, of directions instead of parts; `data`: the sum of all."""

    baselines: NDArray[np.intp]
    product: NDArray[np.complex128]
    power: NDArray[np.complex128]
    data: float
    antennas: int


def most_rates(unknowns: Sequence[Unknowns], count: int) -> NDArray[np.float64]:
    """[unknown] of so many: by how much a unit of it turns or scales at most. A second of delay is many radians."""
    found = np.zeros(count)
    for one in unknowns:
        np.maximum.at(found, one.index[one.index >= 0], np.abs(one.rate).max())
    return np.where(found > 0, found, 1.0)


class JointFit:
    """Chi-square of places [start, unknown], its slope and curvature, and its minima (runtime/fit/factor_fit.h)."""

    def __init__(self, sums: DirectionSums, unknowns: Sequence[Unknowns]):
        self.count = 1 + max((int(one.index.max(initial=-1)) for one in unknowns), default=-1)
        #: Of unknowns that scale [unknown].
        self.real = np.zeros(self.count, bool)
        for one in unknowns:
            if not one.turns:
                self.real[one.index[one.index >= 0]] = True
        _, n_time, n_freq, n_feed, n_direction = sums.product.shape
        self._fit = open_factor_fit(
            {
                "baselines": np.ascontiguousarray(sums.baselines, np.int32),
                "product": np.ascontiguousarray(sums.product, complex),
                "power": np.ascontiguousarray(sums.power, complex),
                "data": float(sums.data),
                "most_rate": most_rates(unknowns, self.count),
                "n_antenna": sums.antennas,
                "n_time": n_time,
                "n_freq": n_freq,
                "n_feed": n_feed,
                "n_direction": n_direction,
            },
            [
                {
                    "rate": np.ascontiguousarray(one.rate, float),
                    "turns": bool(one.turns),
                    "directions": np.ascontiguousarray(one.directions, bool),
                    "feeds": np.ascontiguousarray(one.feeds, bool),
                    "number": np.ascontiguousarray(one.index[one.cells], np.int32),  # [time, freq, antenna]
                }
                for one in unknowns
            ],
        )

    def chi_square(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """[start]"""
        return np.array(self._fit.chi_square(_places(place)))

    def normal(
        self, place: NDArray[np.float64], held: Collection[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half the slope downwards [start, unknown], and half the curvature [start, unknown, unknown]; 0 of those that
        are `held`."""
        slope, curvature = self._fit.normal(_places(place), [int(k) for k in held])
        return np.array(slope), np.array(curvature)

    def climbed(
        self, place: NDArray[np.float64], steps: int, held: Sequence[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(places, chi-square) of the minima next to places, or after so many steps; `held`: numbers of unknowns that
        stay as they are."""
        found, chi_square, *_ = self._fit.climb(_places(place), steps, [int(k) for k in held])
        return np.array(found), np.array(chi_square)


def _places(place: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(place, float)
