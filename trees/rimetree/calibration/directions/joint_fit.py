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
_GROWTH, _MOST_LESS = 2.0, 1 / 3  # of the damping: after one step that was too long, and a good one
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
    """Where what baselines say of kinds of unknowns goes.

    `of_kind` [kind]: which of the numbers of a slope is a kind's; `ends` [kind, unknown of the kind, baseline]: what
    each unknown does to each baseline; `to` {kind: numbers of its unknowns}. `of_pair` [pair]: which of the numbers of
    a curvature is that of two kinds. An unknown meets others on few baselines: `source` [entry] of pair
    and baseline, `value` [entry] times which goes to `place` (of two unknowns, the first one not behind the second):
    to the first `alone` of these an entry each, then to each of the others those from `begin` on.
    """

    of_kind: NDArray[np.intp]
    ends: list[NDArray[np.float64]]
    to: list[NDArray[np.intp]]
    of_pair: NDArray[np.intp]
    source: NDArray[np.intp]
    value: NDArray[np.float64]
    place: NDArray[np.intp]
    alone: int
    begin: NDArray[np.intp]

    @classmethod
    def of(cls, kinds: _Kinds, ends: list[NDArray[np.float64]], to: list[NDArray[np.intp]], count: int) -> _Layout:
        """`ends` [baseline, unknown] of each kind; `count`: of all unknowns."""
        first, second = np.triu_indices(len(to))
        two = [_two_ends(one) for one in ends]
        of_pair, sign_of_pair = kinds.curvatures(first, second)
        place, source, value = ([np.zeros(0, kind)] for kind in (np.intp, np.intp, float))
        for pair, (k, m) in enumerate(zip(first, second, strict=True)):
            (number_k, value_k), (number_m, value_m) = two[k], two[m]
            baselines = len(value_k)
            own = (value_k[:, :, None] * value_m[:, None]).ravel() * sign_of_pair[pair]
            row, column = (
                x.ravel() for x in np.broadcast_arrays(to[k][number_k][:, :, None], to[m][number_m][:, None])
            )
            # Of two kinds that share an unknown its square counts twice.
            for one, other in [(row, column)] if k == m else [(row, column), (column, row)]:
                there = np.flatnonzero((own != 0) & (one <= other))
                place.append(one[there] * count + other[there])
                source.append(pair * baselines + there // (own.size // baselines))
                value.append(own[there])
        place, source, value = (np.concatenate(some) for some in (place, source, value))
        place, at, entries = np.unique(place, return_inverse=True, return_counts=True)
        rank = np.argsort(entries > 1, kind="stable")  # of places: those with one entry first
        back = np.empty(len(rank), np.intp)
        back[rank] = np.arange(len(rank))
        order = np.argsort(back[np.ravel(at)], kind="stable")
        alone = int((entries == 1).sum())
        begin = (np.cumsum(entries[rank]) - entries[rank])[alone:] - alone
        ends = [one.T for one in ends]
        return cls(kinds.slopes(), ends, to, of_pair, source[order], value[order], place[rank], alone, begin)

    def add(self, slope, curvature, first, both) -> None:
        """To slope [unknown, start] and curvature [unknown and unknown, start], where the first unknown is not behind
        the second, what baselines say: `first` [start, baseline, number], `both` [start, baseline, number]."""
        for number, ends, to in zip(self.of_kind, self.ends, self.to, strict=True):
            slope[to] += ends @ first[:, :, number].T
        if len(self.place):
            pairs = both[:, :, self.of_pair].transpose(2, 1, 0).reshape(-1, both.shape[0])
            entries = pairs[self.source]
            entries *= self.value[:, None]
            curvature[self.place[: self.alone]] += entries[: self.alone]
            if len(self.begin):
                curvature[self.place[self.alone :]] += np.add.reduceat(entries[self.alone :], self.begin, axis=0)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of unknowns [kind]: the number of the `rate` of each, its `direction` (that behind the last one: all), and
    whether it `turns`; there are so many `rates` and `directions`, all of them counted as one more where any kind acts
    on these."""

    rate: NDArray[np.intp]
    direction: NDArray[np.intp]
    turns: NDArray[np.bool_]
    rates: int
    directions: int

    def slopes(self) -> NDArray[np.intp]:
        """Numbers of kinds [kind] among real numbers [rate, direction or all, real or imaginary part]."""
        # The real part of conj(i) z is the imaginary part of z.
        return (self.rate * self.directions + self.direction) * 2 + self.turns

    def curvatures(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """(numbers, signs) of pairs of kinds among real numbers [pair of rates, direction or all, direction or all,
        real or imaginary part]."""
        of_rates = self.pair_of_rates()[self.rate[first], self.rate[second]]
        n = self.directions
        imaginary = self.turns[first] != self.turns[second]
        number = ((of_rates * n + self.direction[first]) * n + self.direction[second]) * 2 + imaginary
        # The real part of conj(f) g z is that of z, -i z, or i z.
        return number, np.where(imaginary & self.turns[second], -1.0, 1.0)

    def pair_of_rates(self) -> NDArray[np.intp]:
        """[rate, rate]: the number of each pair."""
        found = np.zeros((self.rates, self.rates), np.intp)
        first, second = np.triu_indices(self.rates)
        found[first, second] = found[second, first] = np.arange(len(first))
        return found


def _two_ends(ends: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(which unknowns, what they do) [baseline, 2 or fewer], of all that do something: those of its antennas."""
    order = np.argsort(-np.abs(ends), axis=1, kind="stable")[:, :2]
    return order, np.take_along_axis(ends, order, axis=1)


def _of_all(unknowns: Unknowns) -> bool:
    return len(unknowns.directions) > 1 and bool(unknowns.directions.all())


def most_rates(unknowns: Sequence[Unknowns], count: int) -> NDArray[np.float64]:
    """[unknown] of so many: by how much a unit of it turns or scales at most. A second of delay is many radians."""
    found = np.zeros(count)
    for one in unknowns:
        np.maximum.at(found, one.index[one.index >= 0], np.abs(one.rate).max())
    return np.where(found > 0, found, 1.0)


def _total(values: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """The sum along the last axis, which is short."""
    total = values[..., 0].copy()
    for k in range(1, values.shape[-1]):
        total += values[..., k]
    return total


def _less_damping(
    gained: NDArray[np.float64], step: NDArray[np.float64], slope: NDArray[np.float64], curvature: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What the damping is multiplied with after steps [start, unknown] that `gained` [start]: little where slope and
    curvature had told that gain, more than 1 where they had told much more (Nielsen 1999, IMM-REP-1999-05)."""
    told = 2 * np.einsum("si,si->s", slope, step)
    told -= np.einsum("si,si->s", step, (curvature @ step[..., None])[..., 0])
    ratio = np.clip(gained / np.maximum(told, _NOTHING), 0, 1)
    return np.maximum(_MOST_LESS, 1 - (2 * ratio - 1) ** 3)


class JointFit:
    """Chi-square of places [start, unknown], its slope and curvature."""

    def __init__(self, sums: DirectionSums, unknowns: Sequence[Unknowns]):
        self._sums, self._unknowns = sums, list(unknowns)
        self.count = 1 + max((int(one.index.max(initial=-1)) for one in unknowns), default=-1)
        self._rates, of = np.unique([one.rate for one in unknowns], axis=0, return_inverse=True)
        self._rate_of = np.ravel(of)
        self._any_of_all = any(map(_of_all, unknowns))
        self._pairs_of_rates = np.triu_indices(len(self._rates))
        # Of unknowns that scale, and that turn: what those of antennas [baseline, antenna] do to the logarithm.
        first, second = (np.eye(sums.antennas)[own] for own in sums.baselines.T)
        self._ends = first + second, first - second
        #: Of unknowns that scale [unknown].
        self.real = np.zeros(self.count, bool)
        for one in unknowns:
            if not one.turns:
                self.real[one.index[one.index >= 0]] = True
        self._most_rate = most_rates(unknowns, self.count)
        # Numbers of the unknowns in each bin [antenna, time, freq], and the feeds and directions that they act on.
        self._in_bins = [
            (
                np.moveaxis(one.index[one.cells], -1, 0),
                [(feed, k) for feed in np.flatnonzero(one.feeds) for k in np.flatnonzero(one.directions)],
            )
            for one in unknowns
        ]
        self._scales = not all(one.turns for one in unknowns)
        cells = np.stack([one.cells for one in unknowns])
        self._groups, at = np.unique(cells.reshape(len(cells), -1), axis=1, return_inverse=True)
        self._group_of = np.ravel(at)
        self._layouts: dict[tuple, _Layout] = {}

    def seen(self, place: NDArray[np.float64]) -> NDArray[np.complex128]:
        """[start, baseline, time, freq, feed, direction]: factors of each direction's model."""
        n_time, n_freq, n_feed, n_direction = self._sums.product.shape[1:]
        own = np.concatenate([place, np.zeros((len(place), 1))], axis=1)  # -1: those that are 0
        # Phases, and logarithms of amplitudes.
        turned, scaled = np.zeros((2, len(place), self._sums.antennas, n_time, n_freq, n_feed, n_direction))
        for one, (numbers, acts_on) in zip(self._unknowns, self._in_bins, strict=True):
            value = own[:, numbers] * one.rate  # [start, antenna, time, freq]
            log = turned if one.turns else scaled
            for feed, direction in acts_on:
                log[..., feed, direction] += value
        antennas = np.empty(turned.shape, complex)
        np.cos(turned, out=antennas.real)
        np.sin(turned, out=antennas.imag)
        if self._scales:
            antennas *= np.exp(scaled)
        p, q = self._sums.baselines.T
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
        n_start, n_baseline, _, n_freq, n_feed, n_direction = seen.shape
        slope, curvature = np.zeros((self.count, n_start)), np.zeros((self.count**2, n_start))
        conj, of_model = np.conj(seen), self._times_power(seen)
        residual = conj * (self._sums.product - of_model)
        of_model *= conj
        bins = (n_start, n_baseline, -1, n_feed, n_direction)
        residual, of_model, seen, conj = (x.reshape(bins) for x in (residual, of_model, seen, conj))
        n = n_direction + self._any_of_all
        power = self._sums.power.reshape(n_baseline, -1, n_feed, n_direction, n_direction)
        first, second = self._pairs_of_rates
        for group in range(self._groups.shape[1]):
            own = np.flatnonzero(self._group_of == group)
            rates = self._rates[:, own % n_freq]
            for feed in range(n_feed):
                both = np.empty((n_start, n_baseline, len(own), n, n), complex)
                each = both[..., :n_direction, :n_direction]
                np.multiply(conj[:, :, own, feed, :, None], power[:, own, feed], out=each)
                each *= seen[:, :, own, feed, None, :]
                left = residual[:, :, own, feed]
                if self._any_of_all:  # whose sums the model has made already
                    every = of_model[:, :, own, feed]
                    both[..., :n_direction, -1], both[..., -1, :n_direction] = every, np.conj(every)
                    both[..., -1, -1] = _total(every)
                    left = np.concatenate([left, _total(left)[..., None]], axis=-1)
                both = both.reshape(n_start, n_baseline, len(own), -1)
                self._layout(group, feed, frozenset(held)).add(
                    slope,
                    curvature,
                    (rates @ left.view(float)).reshape(n_start, n_baseline, -1),
                    ((rates[first] * rates[second]) @ both.view(float)).reshape(n_start, n_baseline, -1),
                )
        curvature = np.ascontiguousarray(curvature.T).reshape(n_start, self.count, -1)
        upper = curvature + np.swapaxes(curvature, 1, 2)
        np.einsum("sii->si", upper)[:] *= 0.5
        return np.ascontiguousarray(slope.T), upper

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
            n_direction = self._sums.product.shape[4]
            some = [self._unknowns[k] for k in acting]
            kinds = _Kinds(
                self._rate_of[acting],
                np.array([n_direction if _of_all(one) else np.argmax(one.directions) for one in some], np.intp),
                np.array([one.turns for one in some], bool),
                len(self._rates),
                n_direction + self._any_of_all,
            )
            self._layouts[key] = _Layout.of(kinds, ends, index, self.count)
        return self._layouts[key]

    def climbed(
        self, place: NDArray[np.float64], steps: int, held: Sequence[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(places, chi-square) of the minima next to places, or after so many steps; `held`: numbers of unknowns that
        stay as they are."""
        place = np.where(self.real, np.clip(place, -_MOST, _MOST), place)
        seen = self.seen(place)
        chi_square = self.chi_square(seen)
        damping, growth = np.full(len(place), 1e-2), np.full(len(place), _GROWTH)
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
            gained = chi_square[own] - found
            better = gained >= 0
            ended = better & (gained <= 1e-7 * chi_square[own])
            less = _less_damping(gained, step, slope[own], curvature[own])
            damping[own] *= np.where(better, less, growth[own])
            damping = np.maximum(damping, _LEAST_DAMPING)
            growth[own] = np.where(better, _GROWTH, _GROWTH * growth[own])
            going[own] = ~ended & (damping[own] < _MOST_DAMPING)
            moved = own[better]
            place[moved], chi_square[moved] = other[better], found[better]
            again = better & ~ended
            if again.any():
                slope[own[again]], curvature[own[again]] = self.normal(seen[again], held)
        return place, chi_square

    def _step(self, slope, curvature, damping) -> NDArray[np.float64]:
        # Of steps in radians: else the curvature of a delay would make nothing of a phase's.
        rate = self._most_rate
        damped = curvature / (rate[:, None] * rate)
        size = np.diagonal(damped, axis1=1, axis2=2)
        size = np.maximum(size, np.maximum(1e-12 * size.max(axis=1, keepdims=True), _NOTHING))
        np.einsum("sii->si", damped)[:] += size * (_RIDGE + damping[:, None])
        step = np.linalg.solve(damped, (slope / rate)[..., None])[..., 0] / rate
        return np.where(self.real, np.clip(step, -_LONGEST, _LONGEST), step)
