"""Phases of a chain of terms as one linear fit for each antenna, and turns of phase that lie between its minima.

Phases of bins are sums of unknowns times rates, but for whole turns. Where a search has found most of it, what is left
is small, and least squares tell all unknowns at once. What an interval of a delay or a TEC has may still be turns off:
then its bins have as many more, as far as other terms cannot take them. Chi-square is a quadratic form of such turns of
all intervals, and its smallest values are looked at (`turns.smallest_integers`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .chain_unknowns import ChainUnknowns
from .turns import smallest_integers

_ROUNDS = 4  # of least squares, after each of which phases are within half a turn of others
_MOST_WORK = 4e9  # antennas times bins times the square of unknowns: about a second
_CANDIDATES, _TIMES = 12, 5
_NONE, _SINGULAR = 1e-9, 1e-6  # of what turns change before others take it; singular values of the fit


def is_small(terms: Sequence[ChainUnknowns], seen: NDArray[np.complex128]) -> bool:
    """Whether all unknowns of an antenna are fitted together."""
    return seen.size * sum(one.size for one in terms) ** 2 <= _MOST_WORK


def with_best_chain_turns(
    terms: Sequence[ChainUnknowns], seen: NDArray[np.complex128], values: Sequence[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Values [antenna, unknown] of each term, near others, for which phasors `seen` [antenna, time, freq, feed], with
    their weight, have the least phases left. As they are where there are too many unknowns."""
    if not is_small(terms, seen):
        return list(values)
    sizes = np.cumsum([one.size for one in terms])
    scale = np.concatenate([np.full(one.size, np.abs(one.rate).max()) for one in terms])
    rates, turning = np.zeros((seen[0].size, sizes[-1])), []
    for one, end in zip(terms, sizes, strict=True):
        cells, bins = one.cells.ravel(), np.arange(seen[0].size)
        rates[bins, end - one.size + cells] = np.broadcast_to(one.rate[:, None], one.cells.shape).ravel()
        if one.searched:
            turning.append((cells[:, None] == np.arange(one.size)).astype(float))
    if not turning:
        return list(values)
    turns = 2 * math.pi * np.concatenate(turning, axis=1)
    begin = np.concatenate(values, axis=1) * scale
    found = [
        _Antenna(own, rates / scale, turns).best(x) for own, x in zip(seen.reshape(len(seen), -1), begin, strict=True)
    ]
    return np.split(np.array(found) / scale, sizes[:-1], axis=1)


class _Antenna:
    """The fit for phasors `seen` [bin] with their weight; `rates` [bin, unknown]; `turns` [bin, interval]: what a turn
    in an interval adds."""

    def __init__(self, seen: NDArray[np.complex128], rates: NDArray[np.float64], turns: NDArray[np.float64]):
        self._seen, self._rates = seen, rates
        self._root = np.sqrt(np.abs(seen))
        weighted = self._root[:, None] * rates
        left, sizes, right = np.linalg.svd(weighted, full_matrices=False)
        good = sizes > _SINGULAR * sizes.max(initial=0.0)
        self._space, self._inverse = left[:, good], right[good].T / sizes[good]
        self._turns = self._told(turns)
        self._weighted = self._without(self._root[:, None] * self._turns)
        self._form = self._weighted.T @ self._weighted

    def _told(self, turns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of turns those that change anything which no unknown can take, nor the others before."""
        told: list[int] = []
        basis = np.zeros((len(turns), 0))
        weighted = self._root[:, None] * turns
        left = self._without(weighted)
        for k, own in enumerate(left.T):
            own = own - basis @ (basis.T @ own)
            size = np.linalg.norm(own)
            if size > math.sqrt(_NONE) * np.linalg.norm(weighted[:, k]):
                told.append(k)
                basis = np.concatenate([basis, own[:, None] / size], axis=1)
        return turns[:, told]

    def _without(self, weighted: NDArray[np.float64]) -> NDArray[np.float64]:
        """What unknowns cannot take."""
        return weighted - self._space @ (self._space.T @ weighted)

    def _left(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.angle(self._seen * np.exp(-1j * (self._rates @ x)))

    def _height(self, x: NDArray[np.float64]) -> float:
        return float((self._seen * np.exp(-1j * (self._rates @ x))).real.sum())

    def _step(self, phases: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._inverse @ (self._space.T @ (self._root * phases))

    def _refined(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        best, most = x, self._height(x)
        for _ in range(_ROUNDS):
            x = x + self._step(self._left(x))
            if self._height(x) > most:
                best, most = x, self._height(x)
        return best

    def best(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The x [unknown] next to one, or some turns from it, with the most in phase."""
        x = self._refined(x)
        for _ in range(_TIMES if self._turns.shape[1] else 0):
            other = self._turned(x)
            if not self._height(other) > self._height(x):
                break
            x = other
        return x

    def _turned(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The best that is a few turns from x, or x."""
        left = self._left(x)
        found = [x]
        for _, count in smallest_integers(self._form, 2 * self._weighted.T @ (self._root * left), _CANDIDATES):
            if count.any():
                found.append(self._refined(x + self._step(left + self._turns @ count)))
        return max(found, key=self._height)
