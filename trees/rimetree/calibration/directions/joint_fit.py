"""Fits of all that turns or scales a direction's model, on sums over the data: many at a time, from different places.

What antennas do is diagonal here, so that logarithms of their factors are sums of unknowns times known rates: an
amplitude's logarithm, a phase, a delay times 2 pi nu. Sums over the data of each bin (`Coherence`) then say chi-square
exactly, and a step of Levenberg and Marquardt's costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NOTHING = 1e-150  # of a curvature
_RIDGE = 1e-9  # of the curvature: what data do not tell stays where it is
_LEAST_DAMPING, _MOST_DAMPING = 1e-9, 1e9
_LONGEST = 1.0  # step of a logarithm of an amplitude
_MOST = 20.0  # such a logarithm


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


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where what baselines say of kinds of unknowns goes. `which` [kind, rate and direction]: what a kind is of those;
    `first`, `second` [pair]: kinds; `ends` [kind, unknown of the kind, baseline]: what each unknown does to each
    baseline; `to` {kind: numbers of its unknowns}. An unknown meets others on few baselines: `source` [entry] of pair
    and baseline, `value` [entry] times which goes to `place` (of two unknowns), whose entries are those from `begin`
    on."""

    which: NDArray[np.complex128]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    ends: list[NDArray[np.float64]]
    to: list[NDArray[np.intp]]
    source: NDArray[np.intp]
    value: NDArray[np.float64]
    begin: NDArray[np.intp]
    place: NDArray[np.intp]

    @classmethod
    def of(
        cls, which, ends: list[NDArray[np.float64]], to: list[NDArray[np.intp]], count: int, baselines: int
    ) -> _Layout:
        """`ends` [baseline, unknown] of each kind; `count`: of all unknowns."""
        first, second = np.triu_indices(len(to))
        two = [_two_ends(one) for one in ends]
        place, source, value = ([np.zeros(0, kind)] for kind in (np.intp, np.intp, float))
        for pair, (k, m) in enumerate(zip(first, second, strict=True)):
            (number_k, value_k), (number_m, value_m) = two[k], two[m]
            own = (value_k[:, :, None] * value_m[:, None]).ravel()
            row, column = np.broadcast_arrays(to[k][number_k][:, :, None], to[m][number_m][:, None])
            there = np.flatnonzero(own)
            of = pair * baselines + there // (own.size // baselines)
            sides = [(row, column)] if k == m else [(row, column), (column, row)]
            for one, other in sides:
                place.append((one * count + other).ravel()[there])
                source.append(of)
                value.append(own[there])
        place, source, value = (np.concatenate(some) for some in (place, source, value))
        order = np.argsort(place, kind="stable")
        place, begin = np.unique(place[order], return_index=True)
        return cls(which, first, second, [one.T for one in ends], to, source[order], value[order], begin, place)

    def add(self, slope, curvature, first, both) -> None:
        """To slope [unknown, start] and curvature [unknown and unknown, start] what baselines say: `first` [start,
        baseline, kind], `both` [start, baseline, kind, kind]."""
        for kind, (ends, to) in enumerate(zip(self.ends, self.to, strict=True)):
            slope[to] += ends @ first[:, :, kind].T
        if len(self.place):
            pairs = np.moveaxis(both[:, :, self.first, self.second], (2, 1), (0, 1)).reshape(-1, both.shape[0])
            curvature[self.place] += np.add.reduceat(pairs[self.source] * self.value[:, None], self.begin, axis=0)


def _two_ends(ends: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(which unknowns, what they do) [baseline, 2 or fewer], of all that do something: those of its antennas."""
    order = np.argsort(-np.abs(ends), axis=1, kind="stable")[:, :2]
    return order, np.take_along_axis(ends, order, axis=1)


class JointFit:
    """Chi-square of places [start, unknown], its slope and curvature."""

    def __init__(self, sums: DirectionSums, unknowns: Sequence[Unknowns]):
        self._sums, self._unknowns = sums, list(unknowns)
        self.count = 1 + max((int(one.index.max(initial=-1)) for one in unknowns), default=-1)
        self._rates, of = np.unique([one.rate for one in unknowns], axis=0, return_inverse=True)
        self._rate_of = np.ravel(of)
        # Of unknowns that scale, and that turn: what those of antennas [baseline, antenna] do to the logarithm.
        first, second = (np.eye(sums.antennas)[own] for own in sums.baselines.T)
        self._ends = first + second, first - second
        self._factor = np.where([one.turns for one in unknowns], 1j, 1.0)
        #: Of unknowns that scale [unknown].
        self.real = np.zeros(self.count, bool)
        for one in unknowns:
            if not one.turns:
                self.real[one.index[one.index >= 0]] = True
        cells = np.stack([one.cells for one in unknowns])
        self._groups, at = np.unique(cells.reshape(len(cells), -1), axis=1, return_inverse=True)
        self._group_of = np.ravel(at)
        self._layouts: dict[tuple, _Layout] = {}

    def seen(self, place: NDArray[np.float64]) -> NDArray[np.complex128]:
        """[start, baseline, time, freq, feed, direction]: factors of each direction's model."""
        n_time, n_freq, n_feed, n_direction = self._sums.product.shape[1:]
        own = np.concatenate([place, np.zeros((len(place), 1))], axis=1)  # -1: those that are 0
        log = np.zeros((len(place), n_time, n_freq, n_feed, n_direction, self._sums.antennas), complex)
        for one, factor in zip(self._unknowns, self._factor, strict=True):
            value = factor * one.rate[:, None] * own[:, one.index][:, one.cells]  # [start, time, freq, antenna]
            for feed in np.flatnonzero(one.feeds):
                log[:, :, :, feed, one.directions] += value[:, :, :, None]
        p, q = self._sums.baselines.T
        antennas = np.moveaxis(np.exp(log), -1, 1)
        return antennas[:, p] * np.conj(antennas[:, q])

    def chi_square(self, seen: NDArray[np.complex128]) -> NDArray[np.float64]:
        """[start]"""
        left = np.conj(seen) * (2 * self._sums.product - self._times_power(seen))
        return self._sums.data - left.real.sum(axis=(1, 2, 3, 4, 5))

    def _times_power(self, seen):
        return (self._sums.power @ seen[..., None])[..., 0]

    def normal(
        self, seen: NDArray[np.complex128], held: Collection[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half the slope downwards [start, unknown], and half the curvature [start, unknown, unknown]; 0 of those that
        are `held`."""
        n_start, n_baseline, _, _, n_feed, n_direction = seen.shape
        slope, curvature = np.zeros((self.count, n_start)), np.zeros((self.count**2, n_start))
        residual = np.conj(seen) * (self._sums.product - self._times_power(seen))
        bins = (n_start, n_baseline, -1, n_feed, n_direction)
        residual, seen = residual.reshape(bins), seen.reshape(bins)
        power = self._sums.power.reshape(n_baseline, -1, n_feed, n_direction, n_direction)
        n_freq = self._sums.product.shape[2]
        for group in range(self._groups.shape[1]):
            own = np.flatnonzero(self._group_of == group)
            rates = self._rates[:, own % n_freq]
            pairs = (rates[:, None] * rates[None]).reshape(-1, len(own))
            for feed in range(n_feed):
                layout = self._layout(group, feed, frozenset(held))
                there = seen[:, :, own, feed]
                both = np.conj(there)[..., :, None] * power[:, own, feed] * there[..., None, :]
                both = (pairs @ both.reshape(n_start, n_baseline, len(own), -1)).reshape(
                    n_start, n_baseline, len(rates), len(rates), n_direction, n_direction
                )
                both = np.swapaxes(both, 3, 4).reshape(n_start, n_baseline, len(rates) * n_direction, -1)
                first = (rates @ residual[:, :, own, feed]).reshape(n_start, n_baseline, -1)
                which = layout.which.conj()
                layout.add(slope, curvature, (first @ which.T).real, (which @ both @ layout.which.T).real)
        return np.ascontiguousarray(slope.T), np.ascontiguousarray(curvature.T).reshape(n_start, self.count, -1)

    def _layout(self, group: int, feed: int, held: frozenset[int]) -> _Layout:
        key = group, feed, held
        if key not in self._layouts:
            cells, acting, ends, index = self._groups[:, group], [], [], []
            for k, one in enumerate(self._unknowns):
                numbers = one.index[cells[k]]
                there = np.setdiff1d(numbers, [-1, *held])
                if one.feeds[feed] and len(there):
                    acting.append(k)
                    ends.append(self._ends[int(one.turns)] @ (numbers[:, None] == there))
                    index.append(there)
            shape = len(acting), len(self._rates), self._sums.product.shape[4]
            which = np.zeros(shape, complex)
            for row, k in enumerate(acting):
                which[row, self._rate_of[k], self._unknowns[k].directions] = self._factor[k]
            which = which.reshape(len(acting), np.prod(shape[1:]))
            self._layouts[key] = _Layout.of(which, ends, index, self.count, len(self._sums.baselines))
        return self._layouts[key]

    def climbed(
        self, place: NDArray[np.float64], steps: int, held: Sequence[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(places, chi-square) of the minima next to places, or after so many steps; `held`: numbers of unknowns that
        stay as they are."""
        place = np.where(self.real, np.clip(place, -_MOST, _MOST), place)
        seen = self.seen(place)
        chi_square = self.chi_square(seen)
        damping = np.full(len(place), 1e-2)
        slope, curvature = self.normal(seen, held)
        going = np.ones(len(place), bool)
        for _ in range(steps):
            own = np.flatnonzero(going)
            if not len(own):
                break
            step = self._step(slope[own], curvature[own], damping[own])
            other = place[own] + step
            other = np.where(self.real, np.clip(other, -_MOST, _MOST), other)
            seen = self.seen(other)
            found = self.chi_square(seen)
            better = found <= chi_square[own]
            ended = better & (chi_square[own] - found <= 1e-7 * chi_square[own])
            damping[own] = np.where(better, np.maximum(damping[own] / 10, _LEAST_DAMPING), damping[own] * 8)
            going[own] = ~ended & (damping[own] < _MOST_DAMPING)
            moved = own[better]
            place[moved], chi_square[moved] = other[better], found[better]
            again = better & ~ended
            if again.any():
                slope[own[again]], curvature[own[again]] = self.normal(seen[again], held)
        return place, chi_square

    def _step(self, slope, curvature, damping) -> NDArray[np.float64]:
        size = np.diagonal(curvature, axis1=1, axis2=2)
        size = np.maximum(size, np.maximum(1e-12 * size.max(axis=1, keepdims=True), _NOTHING))
        damped = curvature + np.eye(self.count) * (size * (_RIDGE + damping[:, None]))[:, None]
        step = np.linalg.solve(damped, slope[..., None])[..., 0]
        return np.where(self.real, np.clip(step, -_LONGEST, _LONGEST), step)
