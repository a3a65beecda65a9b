"""Fits of all that turns or scales a direction's model, on sums over the data: many at a time, from different places.

What antennas do is diagonal here, so that logarithms of their factors are sums of unknowns times known rates: an
amplitude's logarithm, a phase, a delay times 2 pi nu. Sums over the data of each bin (`Coherence`) then say chi-square
exactly, and a step of Levenberg and Marquardt's costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
class _SumsOfRows:
    """Sums of rows of a table: `source` [entry] of these, `value` [entry] times which they are added up; those from
    `begin` on, up to the next, to what has the number `place`."""

    source: NDArray[np.intp]
    value: NDArray[np.float64]
    begin: NDArray[np.intp]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, entries: Sequence[_Entries]) -> _SumsOfRows:
        place, source, value = (np.concatenate(some) for some in zip(_NO_ENTRIES, *entries, strict=True))
        order = np.argsort(place, kind="stable")
        place, begin = np.unique(place[order], return_index=True)
        return cls(source[order], value[order], begin, place)

    def of_table(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """[place, start] from rows [row, start]."""
        entries = table[self.source]
        entries *= self.value[:, None]
        return np.add.reduceat(entries, self.begin, axis=0) if len(entries) else entries


#: (place, source, value) as of `_SumsOfRows`, in any order.
_Entries = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]
_NO_ENTRIES: _Entries = np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0)


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
        """Numbers of kinds [kind] among real numbers [real or imaginary part, rate, direction or all]."""
        # The real part of conj(i) z is the imaginary part of z.
        return (self.turns * self.rates + self.rate) * self.directions + self.direction

    def curvatures(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """(numbers, signs) of pairs of kinds among real numbers [real or imaginary part, pair of rates, direction or
        all, direction or all]."""
        pairs = self.pair_of_rates()
        n, imaginary = self.directions, self.turns[first] != self.turns[second]
        number = imaginary * (pairs.max(initial=-1) + 1) + pairs[self.rate[first], self.rate[second]]
        number = (number * n + self.direction[first]) * n + self.direction[second]
        # The real part of conj(f) g z is that of z, -i z, or i z.
        return number, np.where(imaginary & self.turns[second], -1.0, 1.0)

    def pair_of_rates(self) -> NDArray[np.intp]:
        """[rate, rate]: the number of each pair."""
        found = np.zeros((self.rates, self.rates), np.intp)
        first, second = np.triu_indices(self.rates)
        found[first, second] = found[second, first] = np.arange(len(first))
        return found


def _slope_entries(kinds: _Kinds, ends: list[NDArray[np.float64]], to: list[NDArray[np.intp]]) -> Iterator[_Entries]:
    """Of unknowns in rows [number, baseline]. `ends` {kind: what each unknown does to each baseline [baseline,
    unknown]}, `to` {kind: numbers of its unknowns}."""
    for number, own, numbers in zip(kinds.slopes(), ends, to, strict=True):
        baseline, unknown = np.nonzero(own)
        yield numbers[unknown], number * len(own) + baseline, own[baseline, unknown]


def _curvature_entries(
    kinds: _Kinds, ends: list[NDArray[np.float64]], to: list[NDArray[np.intp]], count: int
) -> Iterator[_Entries]:
    """As `_slope_entries`, of two unknowns among `count`, the first one not behind the second."""
    first, second = np.triu_indices(len(to))
    two = [_two_ends(one) for one in ends]
    for number, sign, k, m in zip(*kinds.curvatures(first, second), first, second, strict=True):
        (number_k, value_k), (number_m, value_m) = two[k], two[m]
        own = sign * value_k[:, :, None] * value_m[:, None]
        row, column = np.broadcast_arrays(to[k][number_k][:, :, None], to[m][number_m][:, None])
        # Of two kinds that share an unknown its square counts twice.
        for one, other in [(row, column)] if k == m else [(row, column), (column, row)]:
            there = (own != 0) & (one <= other)
            yield (one * count + other)[there], number * len(own) + np.nonzero(there)[0], own[there]


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


def _over_bins(factors: NDArray[np.float64], values: NDArray[np.complex128]) -> list[NDArray[np.float64]]:
    """Sums over bins of factors [factor, bin] times values [bin, ..., start]: the real parts, and the imaginary ones,
    [factor and ..., start]."""
    sums = factors @ np.ascontiguousarray(values).reshape(len(values), -1).view(float)
    sums = sums.view(complex).reshape(-1, values.shape[-1])
    return [sums.real, sums.imag]


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
        self._product = np.moveaxis(sums.product, 0, -1)[..., None].copy()  # [time, freq, feed, direction, baseline, 1]
        self._power = np.moveaxis(sums.power, 0, -1)[..., None].copy()
        # Of unknowns that scale, and that turn: what those of antennas [baseline, antenna] do to the logarithm.
        first, second = (np.eye(sums.antennas)[own] for own in sums.baselines.T)
        self._ends = first + second, first - second
        #: Of unknowns that scale [unknown].
        self.real = np.zeros(self.count, bool)
        for one in unknowns:
            if not one.turns:
                self.real[one.index[one.index >= 0]] = True
        self._most_rate = most_rates(unknowns, self.count)
        # Numbers of the unknowns in each bin [time, freq, antenna], and the feeds and directions that they act on.
        self._in_bins = [
            (
                one.index[one.cells],
                [(feed, k) for feed in np.flatnonzero(one.feeds) for k in np.flatnonzero(one.directions)],
            )
            for one in unknowns
        ]
        self._scales = not all(one.turns for one in unknowns)
        cells = np.stack([one.cells for one in unknowns])
        self._groups, at = np.unique(cells.reshape(len(cells), -1), axis=1, return_inverse=True)
        self._bins_of = [np.flatnonzero(np.ravel(at) == group) for group in range(self._groups.shape[1])]
        self._sums_of_rows: dict[frozenset[int], tuple[_SumsOfRows, _SumsOfRows]] = {}

    def seen(self, place: NDArray[np.float64]) -> NDArray[np.complex128]:
        """[time, freq, feed, direction, baseline, start]: factors of each direction's model."""
        shape = *self._sums.product.shape[1:], self._sums.antennas, len(place)
        own = np.concatenate([place.T, np.zeros((1, len(place)))])  # -1: those that are 0
        turned, scaled = np.zeros((2, *shape))  # phases, and logarithms of amplitudes
        for one, (numbers, acts_on) in zip(self._unknowns, self._in_bins, strict=True):
            value = own[numbers] * one.rate[:, None, None]  # [time, freq, antenna, start]
            log = turned if one.turns else scaled
            for feed, direction in acts_on:
                log[:, :, feed, direction] += value
        antennas = np.empty(shape, complex)
        np.cos(turned, out=antennas.real)
        np.sin(turned, out=antennas.imag)
        if self._scales:
            antennas *= np.exp(scaled)
        p, q = self._sums.baselines.T
        return antennas[..., p, :] * np.conj(antennas[..., q, :])

    def chi_square(self, seen: NDArray[np.complex128]) -> NDArray[np.float64]:
        """[start]"""
        left = np.conj(seen) * (2 * self._product - self._times_power(seen))
        return self._sums.data - left.real.sum(axis=(0, 1, 2, 3, 4))

    def _times_power(self, seen):
        total = self._power[:, :, :, :, 0] * seen[:, :, :, None, 0]
        for direction in range(1, seen.shape[3]):
            total += self._power[:, :, :, :, direction] * seen[:, :, :, None, direction]
        return total

    def normal(
        self, seen: NDArray[np.complex128], held: Collection[int] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half the slope downwards [start, unknown], and half the curvature [start, unknown, unknown]; 0 of those that
        are `held`."""
        conj, of_model = np.conj(seen), self._times_power(seen)
        residual = conj * (self._product - of_model)
        of_model *= conj
        _, n_freq, n_feed, n_direction, n_baseline, n_start = seen.shape
        bins = (-1, n_feed, n_direction, n_baseline, n_start)
        residual, of_model, seen, conj = (x.reshape(bins) for x in (residual, of_model, seen, conj))
        n = n_direction + self._any_of_all
        power = self._power.reshape(-1, n_feed, n_direction, *self._power.shape[4:])
        first, second = np.triu_indices(len(self._rates))
        slopes, curvatures = [], []
        for own in self._bins_of:
            rates = self._rates[:, own % n_freq]
            if len(own) == len(seen):
                own = slice(None)  # which copies nothing
            for feed in range(n_feed):
                both = np.empty((rates.shape[1], n, n, n_baseline, n_start), complex)
                each = both[:, :n_direction, :n_direction]
                np.multiply(conj[own, feed, :, None], power[own, feed], out=each)
                each *= seen[own, feed, None]
                left = residual[own, feed]
                if self._any_of_all:  # whose sums the model has made already
                    every = of_model[own, feed]
                    both[:, :n_direction, -1], both[:, -1, :n_direction] = every, np.conj(every)
                    both[:, -1, -1] = every.sum(axis=1)
                    left = np.concatenate([left, left.sum(axis=1, keepdims=True)], axis=1)
                slopes += _over_bins(rates, left)
                curvatures += _over_bins(rates[first] * rates[second], both)
        of_slope, of_curvature = self._rows_added(frozenset(held))
        slope, curvature = np.zeros((n_start, self.count)), np.zeros((n_start, self.count, self.count))
        slope[:, of_slope.place] = of_slope.of_table(np.concatenate(slopes)).T
        row, column = np.divmod(of_curvature.place, self.count)
        curvature[:, row, column] = curvature[:, column, row] = of_curvature.of_table(np.concatenate(curvatures)).T
        return slope, curvature

    def _rows_added(self, held: frozenset[int]) -> tuple[_SumsOfRows, _SumsOfRows]:
        """To slopes and to curvatures, of rows [group of bins, feed, number, baseline]."""
        if held not in self._sums_of_rows:
            slopes, curvatures = [], []
            n_baseline, _, _, n_feed, n_direction = self._sums.product.shape
            n_rate, n = len(self._rates), n_direction + self._any_of_all
            sizes = 2 * n_rate * n * n_baseline, n_rate * (n_rate + 1) * n**2 * n_baseline
            for at, (group, feed) in enumerate(np.ndindex(self._groups.shape[1], n_feed)):
                kinds, *what = self._kinds(group, feed, held)
                for found, entries, size in zip(
                    (slopes, curvatures),
                    (_slope_entries(kinds, *what), _curvature_entries(kinds, *what, self.count)),
                    sizes,
                    strict=True,
                ):
                    found += [(place, at * size + source, value) for place, source, value in entries]
            self._sums_of_rows[held] = _SumsOfRows.of(slopes), _SumsOfRows.of(curvatures)
        return self._sums_of_rows[held]

    def _kinds(self, group: int, feed: int, held: Collection[int]):
        """(kinds of unknowns that act on a feed in a group of bins, `ends`, `to`) as of `_slope_entries`."""
        cells, acting, ends, to = self._groups[:, group], [], [], []
        for k, one in enumerate(self._unknowns):
            numbers = one.index[cells[k]]
            there = np.setdiff1d(numbers, [-1, *held])
            if one.feeds[feed] and len(there):
                acting.append(k)
                ends.append(self._ends[int(one.turns)] @ (numbers[:, None] == there))
                to.append(there)
        n_direction = self._sums.product.shape[4]
        some = [self._unknowns[k] for k in acting]
        kinds = _Kinds(
            self._rate_of[acting],
            np.array([n_direction if _of_all(one) else np.argmax(one.directions) for one in some], np.intp),
            np.array([one.turns for one in some], bool),
            len(self._rates),
            n_direction + self._any_of_all,
        )
        return kinds, ends, to

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
                seen = seen if again.all() else seen[..., again]
                slope[own[again]], curvature[own[again]] = self.normal(seen, held)
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
