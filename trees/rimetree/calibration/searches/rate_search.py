"""Starting values for rates: the delay and the rate of each antenna together, as of a fringe fit over time and
frequency (Schwab & Cotton 1983, AJ 88, 688).

Phases are 2 pi nu (delay + rate (t - t0)), with t0 the middle of the rate's interval. What other terms may turn by as
they like, in intervals of theirs, cuts an interval of the rate into *blocks* of any phase. Places are looked at on a
grid, the highest is climbed to the top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.kinds import phase_per_unit
from ..terms.terms import Term
from .feed_differences import SIGNAL, of_first_against_second
from .fringe import fringe_fit
from .fringe_grid import magnitudes_on_grid
from .interval_search import IntervalSearch

_STEP_RAD = math.pi / 2  # between places of the grid, at the ends of what phases are in common
_MOST_PLACES = 2048  # of a rate or a delay, to either side
_AT_A_TIME = 1 << 22  # numbers
_MOST_NUMBERS = 1 << 26  # of an interval's matrices: more are not looked at, and rates begin at 0
_NEWTON = 6
_ORIGINS = 3  # antennas that are begun with


def search_rate(intervals: IntervalSearch, term: Term, free: Sequence[Term], sums: Coherence) -> NDArray[np.float64]:
    """[element, time, freq, antenna] rates (s/s) for which the data agree best with the model, whatever the delays are
    in an interval, and phases in those of the terms `free`. `sums`: of parallel hands, of one model, in bins of single
    time slots and channels."""
    shape = (*intervals.intervals_of(term, sums.bins.chunk), len(sums.antennas))
    feeds = [sums.matrix(sums.product[..., feed, 0]) for feed in (0, 1)]
    alike = term.elements == ("",) and all(one.elements == ("",) for one in free)
    feeds = [sum(feeds)] if alike else feeds
    together = [feeds] if term.elements == ("",) else [[own] for own in feeds]
    tiles, found = _Tiles.of(intervals, term, free, sums), np.zeros((len(together), *shape))
    for element, own in enumerate(together):
        for t, f in np.ndindex(shape[:2]):
            # Feeds that may have any phase each are like times that may.
            cells, at = tiles.cells(t, f, len(own))
            matrix = np.concatenate([one[np.ix_(*at)] for one in own])
            if len(at[0]) > 1 and matrix.size and matrix.size <= _MOST_NUMBERS:
                found[element, t, f] = cells.rates(matrix, intervals.reference)
    return found


def rate_difference_of_feeds(
    intervals: IntervalSearch, term: Term, free: Sequence[Term], sums: Coherence, turned: NDArray[np.complex128]
) -> NDArray[np.float64]:
    """[time, freq] rates: what feed 0 of all antennas has besides, relative to feed 1, as a polarised sky tells; 0
    where crossed hands have no signal.

    `sums`: as of `search_rate`, of all hands, without the rates that are known; `turned` [antenna, time, freq, feed]:
    phasors of what else is known.
    """
    seen = of_first_against_second(sums, turned)
    tiles = _Tiles.of(intervals, term, [one for one in free if len(one.elements) == 2], sums)
    found = np.zeros(intervals.intervals_of(term, sums.bins.chunk))
    for t, f in np.ndindex(found.shape):
        cells, at = tiles.cells(t, f)
        own = seen[:, :, at[0]][..., at[1]]
        if own.shape[2] > 1 and own.shape[3]:
            found[t, f] = cells.significant_rate(own.sum(axis=(0, 1)), float((np.abs(own) ** 2).sum()))
    return found


@dataclass(frozen=True, eq=False)
class _Tiles:
    """Of the solution intervals of a rate. `since_s` [time]: after their middle; `frequency_hz`; `intervals`: of each
    time and channel; `labels`: the intervals of each that others are in, whose phases are free."""

    since_s: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    intervals: tuple[NDArray[np.intp], NDArray[np.intp]]
    labels: list[tuple[NDArray[np.intp], NDArray[np.intp]]]

    @classmethod
    def of(cls, intervals: IntervalSearch, term: Term, free: Sequence[Term], sums: Coherence) -> _Tiles:
        own = intervals.cells(term, sums)
        centre = sums.bins.chunk.times[term.name].centre
        since_s = sums.bins.mean_times() - centre[own[0]]
        return cls(since_s, sums.frequency_hz, own, [intervals.cells(one, sums) for one in free])

    def cells(self, t: int, f: int, times: int = 1) -> tuple[_Cells, tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The cells of an interval, and which times and channels they are; so many `times`, each of any phase."""
        at, channels = np.flatnonzero(self.intervals[0] == t), np.flatnonzero(self.intervals[1] == f)
        of_feed = np.repeat(np.arange(times), len(at))
        of_time = np.stack([of_feed, *(np.tile(one[0][at], times) for one in self.labels)])
        of_channel = np.stack([np.zeros(len(channels), int), *(one[1][channels] for one in self.labels)])
        cells = _Cells.of(np.tile(self.since_s[at], times), self.frequency_hz[channels], of_time, of_channel)
        return cells, (at, channels)


def _numbered(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """[cell] numbers of the columns that differ."""
    return np.ravel(np.unique(labels, axis=1, return_inverse=True)[1])


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells [time, channel] of an interval. `delay`, `rate` [time, channel]: phases per unit, relative to a place
    within; `of_time`, `of_channel`: the blocks that they are in, along either axis."""

    delay: NDArray[np.float64]
    rate: NDArray[np.float64]
    of_time: NDArray[np.intp]
    of_channel: NDArray[np.intp]

    @classmethod
    def of(cls, since_s, frequency_hz, time_labels, channel_labels) -> _Cells:
        """Of times since the middle of the interval; `time_labels`, `channel_labels` [label, ...]: those with the same
        are in a block."""
        delay = np.broadcast_to(phase_per_unit("clock", frequency_hz), (len(since_s), len(frequency_hz)))
        rate = phase_per_unit("rate", frequency_hz, since_s[:, None])
        return cls(delay, rate, _numbered(time_labels), _numbered(channel_labels))

    def rates(self, matrix: NDArray[np.complex128], reference: int) -> NDArray[np.float64]:
        """[antenna] of matrices [time, channel, antenna, antenna]."""
        n = matrix.shape[-1]
        place = self._of_blocks()
        there = place >= 0
        flat = np.where(there[..., None, None], matrix.reshape(-1, n, n)[place], 0)
        slopes = np.stack([self.delay.ravel()[place], self.rate.ravel()[place]]) * there

        def find(spectra: NDArray[np.complex128], _, *, any_phase: bool) -> NDArray[np.float64]:
            whole = np.zeros((len(spectra), self.delay.size), complex)
            whole[:, place[there]] = spectra[:, there]
            return np.array([self._best(one.reshape(self.delay.shape)) for one in whole])

        found = fringe_fit(flat, slopes, reference, any_phase=True, find_x=find, origins=_ORIGINS)
        return found[:, 1]

    def significant_rate(self, value: NDArray[np.complex128], noise: float) -> float:
        """Of values [time, channel] to which noise adds so much power; 0 where they are no more than that."""
        best = self._best(value)
        turned = value * np.exp(-1j * (best[0] * self.delay + best[1] * self.rate))
        return float(best[1]) if (np.abs(self._sums(turned)) ** 2).sum() > SIGNAL * noise else 0.0

    def _of_blocks(self) -> NDArray[np.intp]:
        """[block, cell] numbers of the cells of each block; -1 where it has no more."""
        label = (self.of_time[:, None] * (self.of_channel.max() + 1) + self.of_channel).ravel()
        order = np.argsort(label, kind="stable")
        blocks = np.split(order, 1 + np.flatnonzero(np.diff(label[order])))
        result = np.full((len(blocks), max(map(len, blocks))), -1)
        for own, block in zip(result, blocks, strict=True):
            own[: len(block)] = block
        return result

    def _best(self, value: NDArray[np.complex128]) -> NDArray[np.float64]:
        """(delay, rate) for which `value` [time, channel] is best in phase within the blocks."""
        used = np.abs(value) > 0
        if used.any(axis=1).sum() < 2:
            return np.zeros(2)
        rates, delays = self._rate_places(used), self._delay_places(used)
        most, best = 0.0, np.zeros(2)
        for some, turned in self._at_rates(value, rates):
            height = self._at_delays(turned, delays)  # [rate, delay]
            at = np.unravel_index(np.argmax(height), height.shape)
            if height[at] > most * (1 + 1e-9):
                most, best = height[at], np.array([delays[at[1]], rates[some][at[0]]])
        return self._climbed(value, best)

    def _rate_places(self, used: NDArray[np.bool_]) -> NDArray[np.float64]:
        times, middle = used.any(axis=1), 0.5 * (self.delay.min() + self.delay.max())
        since = self.rate[:, 0] / self.delay[:, 0]
        span, gap = 0.0, math.inf
        for label in np.unique(self.of_time[times]):
            own = np.sort(since[times & (self.of_time == label)])
            steps = np.diff(own)
            span = max(span, middle * (own[-1] - own[0]))
            gap = min([gap, *(middle * steps[steps > 0])])
        widest = max(np.ptp(self.delay[0, self.of_channel == label]) for label in np.unique(self.of_channel))
        span += widest * np.abs(since[times]).max()
        if not math.isfinite(gap):  # delays that change from block to block
            steps = np.diff(np.unique(self.delay[0]))
            gap = (steps.min() if len(steps) else math.inf) * np.abs(since[times]).max()
        return _places(span, gap)

    def _delay_places(self, used: NDArray[np.bool_]) -> NDArray[np.float64]:
        span, gap = 0.0, math.inf
        for label in np.unique(self.of_channel):
            own = np.sort(self.delay[0, used.any(axis=0) & (self.of_channel == label)])
            steps = np.diff(own)
            span = max(span, own[-1] - own[0]) if len(own) else span
            gap = min([gap, *steps[steps > 0]])
        return _places(span, gap)

    def _at_rates(self, value: NDArray[np.complex128], rates: NDArray[np.float64]):
        """(which rates, sums over the times of each block [rate, block, channel])."""
        order = np.argsort(self.of_time, kind="stable")
        first = np.flatnonzero(np.diff(self.of_time[order], prepend=-1))
        own, h = value[order], self.rate[order]
        turned = own * np.exp(-1j * rates[0] * h)
        step = np.exp(-1j * (rates[1] - rates[0]) * h) if len(rates) > 1 else None
        at_a_time = max(1, _AT_A_TIME // (len(first) * value.shape[1]))
        for begin in range(0, len(rates), at_a_time):
            some = slice(begin, min(begin + at_a_time, len(rates)))
            found = np.empty((some.stop - begin, len(first), value.shape[1]), complex)
            for k in range(len(found)):
                found[k] = np.add.reduceat(turned, first, axis=0)
                if step is not None:
                    turned *= step
            yield some, found

    def _at_delays(self, turned: NDArray[np.complex128], delays: NDArray[np.float64]) -> NDArray[np.float64]:
        """[rate, delay] of [rate, block, channel]."""
        height = np.zeros((len(turned), len(delays)))
        half = len(delays) // 2
        for label in np.unique(self.of_channel):
            own = self.of_channel == label
            columns = turned[..., own].reshape(-1, own.sum())
            if half == 0 or own.sum() == 1:
                height += np.abs(columns.sum(axis=1)).reshape(len(turned), -1).sum(axis=1)[:, None]
                continue
            h = self.delay[0, own]
            found = magnitudes_on_grid(columns.T, h - 0.5 * (h.min() + h.max()), delays[half + 1], half)
            height += found.T.reshape(len(turned), -1, len(delays)).sum(axis=1)
        return height

    def _climbed(self, value: NDArray[np.complex128], x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The top next to a place, by Newton's steps as long as these lead up."""
        slopes = np.stack([self.delay, self.rate])
        slopes = slopes - np.stack([self._means(np.abs(value), one) for one in slopes])
        scale = np.abs(slopes).max(axis=(1, 2))
        scale = np.where(scale > 0, scale, 1.0)
        slopes = slopes / scale[:, None, None]
        x = x * scale

        def at(x: NDArray[np.float64]) -> tuple[float, NDArray[np.complex128]]:
            turned = value * np.exp(-1j * np.tensordot(x, slopes, 1))
            sums = self._sums(turned)
            size = np.abs(sums)
            return float(size.sum()), turned * self._to_cells(np.conj(sums) / np.where(size > 0, size, 1))

        height, turned = at(x)
        for _ in range(_NEWTON):
            gradient = np.einsum("ktf,tf->k", slopes, turned.imag)
            curvature = np.einsum("ktf,ltf,tf->kl", slopes, slopes, turned.real)
            own, vectors = np.linalg.eigh(curvature)
            inverse = np.where(np.abs(own) > 1e-9 * np.abs(own).max(), 1 / np.maximum(np.abs(own), 1e-300), 0.0)
            step = vectors @ (inverse * (vectors.T @ gradient))
            for size in (1.0, 0.5, 0.25):
                higher, other = at(x + size * step)
                if higher > height:
                    break
            else:
                break
            x, height, turned = x + size * step, higher, other
        return x / scale

    def _sums(self, values: NDArray) -> NDArray:
        """[block of times, block of channels] of [time, channel]."""
        total = np.zeros((self.of_time.max() + 1, self.of_channel.max() + 1), values.dtype)
        np.add.at(total, (self.of_time[:, None], self.of_channel), values)
        return total

    def _to_cells(self, values: NDArray) -> NDArray:
        return values[self.of_time[:, None], self.of_channel]

    def _means(self, weight: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[time, channel]: of the block that each cell is in."""
        total = self._sums(weight)
        return self._to_cells(self._sums(weight * values) / np.where(total > 0, total, 1.0))


def _places(span: float, gap: float) -> NDArray[np.float64]:
    """Places around 0 so close that phases that span so much are missed by little, up to half a turn over a gap."""
    if not (span > 0 and 0 < gap < math.inf):
        return np.zeros(1)
    step = _STEP_RAD / span
    half = min(math.ceil(math.pi / gap / step), _MOST_PLACES)
    return step * np.arange(-half, half + 1)
