"""Minima next to those that are known, for a search that has few lucky starts.

Where antennas are few and directions resemble each other, two or three of a thousand random starts end in the lowest
minimum. Places next to low minima lead to lower ones ten times as often: from generation to generation the lowest are
kept, and others are begun at their phases, all shaken or those of one direction drawn anew (basin hopping: Wales & Doye
1997, Journal of Physical Chemistry A 101, 5111).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

SAME = 1e-5  # of chi-square: minima that differ by less are the same
_GENERATIONS, _PATIENCE = 16, 5  # at most, and after so many without a lower minimum no more
_PARENTS = 16
_SHAKEN_RAD = 0.7

#: (places, chi-square) of the minima next to places.
Climb = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


def shaken_minima(
    place: NDArray[np.float64],
    chi_square: NDArray[np.float64],
    climb: Climb,
    phases: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lowest minima, each once, and their chi-square, of places [start, unknown] and of those that they lead to.
    `phases`: numbers of the unknown phases of each direction."""
    count = max(1, 3 * len(place) // 4)
    place, chi_square = lowest_of(place, chi_square, _PARENTS)
    waited = 0
    for _ in range(_GENERATIONS if phases else 0):
        more = _shaken(place, count, phases, rng)
        before = chi_square[0]
        both = zip((place, chi_square), climb(more), strict=True)
        place, chi_square = lowest_of(*(np.concatenate(one) for one in both), _PARENTS)
        waited = waited + 1 if chi_square[0] >= before * (1 - SAME) else 0
        if waited == _PATIENCE:
            break
    return place, chi_square


def lowest_of(
    place: NDArray[np.float64], chi_square: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of places [start, unknown] the `count` lowest, and chi-square there; of minima that are the same one is
    enough."""
    order = np.argsort(chi_square, kind="stable")
    new = np.append(True, np.diff(chi_square[order]) > SAME * chi_square[order[1:]])
    some = order[new][:count]
    return place[some], chi_square[some]


def _shaken(place, count: int, phases: Sequence[NDArray[np.intp]], rng) -> NDArray[np.float64]:
    found = place[rng.integers(len(place), size=count)]
    every = np.concatenate(phases)
    for one in found[::2]:
        one[every] += rng.normal(0, _SHAKEN_RAD, len(every))
    for one in found[1::2]:
        own = phases[rng.integers(len(phases))]
        one[own] = rng.uniform(-np.pi, np.pi, len(own))
    return found
