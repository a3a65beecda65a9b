"""Starting values for rates: the delay and the rate of each antenna together, as of a fringe fit over time and
frequency (Schwab & Cotton 1983, AJ 88, 688).

Phases are 2 pi nu (delay + rate (t - t0)), with t0 the middle of the rate's interval. What other terms may turn by as
they like, in intervals of theirs, cuts an interval of the rate into *blocks* of any phase. Places are looked at on a
grid, the highest is climbed to the top.
"""

from __future__ import annotations

import functools
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
_SAME_RAD = 0.5  # in which channels may differ by a rate
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
        since_s = sums.bins.since_middle_s(term.name, own[0])
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
    """The cells [time, channel] of an interval, block after block. `since_s`, `frequency_hz`: of times and channels;
    `order`: which of all they are; `of_time`, `of_channel`: the blocks that they are in, along either axis, ascending.
    """

    since_s: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    order: tuple[NDArray[np.intp], NDArray[np.intp]]
    of_time: NDArray[np.intp]
    of_channel: NDArray[np.intp]

    @classmethod
    def of(cls, since_s, frequency_hz, time_labels, channel_labels) -> _Cells:
        """Of times since the middle of the interval; `time_labels`, `channel_labels` [label, ...]: those with the same
        are in a block."""
        labels = _numbered(time_labels), _numbered(channel_labels)
        order = tuple(np.argsort(own, kind="stable") for own in labels)
        of_time, of_channel = (own[at] for own, at in zip(labels, order, strict=True))
        return cls(since_s[order[0]], frequency_hz[order[1]], order, of_time, of_channel)

    @functools.cached_property
    def slopes(self) -> NDArray[np.float64]:
        """[delay or rate, time, channel]: phases per unit."""
        rate = phase_per_unit("rate", self.frequency_hz, self.since_s[:, None])
        return np.stack([np.broadcast_to(phase_per_unit("clock", self.frequency_hz), rate.shape), rate])

    def rates(self, matrix: NDArray[np.complex128], reference: int) -> NDArray[np.float64]:
        """[antenna] of matrices [time, channel, antenna, antenna]."""
        n, (_, *shape) = matrix.shape[-1], self.slopes.shape
        place = self._of_blocks()
        there = place >= 0
        flat = np.where(there[..., None, None], matrix[np.ix_(*self.order)].reshape(-1, n, n)[place], 0)
        slopes = self.slopes.reshape(2, -1)[:, place] * there

        def find(spectra: NDArray[np.complex128], _, *, any_phase: bool) -> NDArray[np.float64]:
            whole = np.zeros((len(spectra), math.prod(shape)), complex)
            whole[:, place[there]] = spectra[:, there]
            return np.array([self._best(one.reshape(shape)) for one in whole])

        found = fringe_fit(flat[None], slopes, reference, any_phase=True, find_x=find, origins=_ORIGINS)
        return found[0, :, 1]

    def significant_rate(self, value: NDArray[np.complex128], noise: float) -> float:
        """Of values [time, channel] to which noise adds so much power; 0 where they are no more than that."""
        value = value[np.ix_(*self.order)]
        best = self._best(value)
        turned = value * np.exp(-1j * np.tensordot(best, self.slopes, 1))
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
        if (np.abs(value) > 0).any(axis=1).sum() < 2:
            return np.zeros(2)
        most, best = 0.0, np.zeros(2)
        rates, delays = self._rates, self._delays
        at_a_time = max(1, _AT_A_TIME // (len(self._time_edges) * value.shape[1]))
        for first in range(0, len(rates), at_a_time):
            some = slice(first, first + at_a_time)
            height = self._at_delays(self._at_rates(value, some), delays)  # [rate, delay]
            at = np.unravel_index(np.argmax(height), height.shape)
            if height[at] > most * (1 + 1e-9):
                most, best = height[at], np.array([delays[at[1]], rates[some][at[0]]])
        return self._climbed(value, best)

    @functools.cached_property
    def _time_edges(self) -> NDArray[np.intp]:
        """[block] the first time of each."""
        return np.flatnonzero(np.diff(self.of_time, prepend=-1))

    @functools.cached_property
    def _channel_edges(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.diff(self.of_channel, prepend=-1))

    @functools.cached_property
    def _rates(self) -> NDArray[np.float64]:
        """Places of rates."""
        delay, longest = self.slopes[0, 0], np.abs(self.since_s).max()
        middle, widest = 0.5 * (delay.min() + delay.max()), _longest(np.split(delay, self._channel_edges[1:]))
        times = np.split(self.since_s, self._time_edges[1:])
        gap = middle * _usual_step(times)
        if not math.isfinite(gap):  # of delays that change from block to block
            gap = longest * _usual_step(np.split(delay, self._channel_edges[1:]))
        return _places(middle * _longest(times) + widest * longest, gap)

    @functools.cached_property
    def _delays(self) -> NDArray[np.float64]:
        """Places of delays."""
        blocks = np.split(self.slopes[0, 0], self._channel_edges[1:])
        return _places(_longest(blocks), _usual_step(blocks))

    @functools.cached_property
    def _bands(self) -> list[NDArray[np.intp]]:
        """Channels so near to each other that a rate does the same to them."""
        order = np.argsort(self.frequency_hz, kind="stable")
        turned = np.abs(self._rates).max() * np.abs(self.since_s).max() * 2 * math.pi * self.frequency_hz[order]
        number = np.floor((turned - turned[0]) / _SAME_RAD).astype(int)
        return np.split(order, 1 + np.flatnonzero(np.diff(number)))

    def _turns(self, some: slice, band: NDArray[np.intp]) -> NDArray[np.complex128]:
        """[rate, time] by which rates turn back what is in a band."""
        return np.exp(-1j * np.outer(self._rates[some], self.slopes[1][:, band].mean(axis=1)))

    @functools.cached_property
    def _every_turn(self) -> list[NDArray[np.complex128]] | None:
        """`_turns` of all rates and each band, where that is not too much."""
        if len(self._bands) * len(self._rates) * len(self.since_s) > _AT_A_TIME:
            return None
        return [self._turns(slice(None), band) for band in self._bands]

    def _at_rates(self, value: NDArray[np.complex128], some: slice) -> NDArray[np.complex128]:
        """[rate, block, channel] sums over the times of each block."""
        found = np.empty((len(self._rates[some]), len(self._time_edges), value.shape[1]), complex)
        ends = [*self._time_edges[1:], len(value)]
        for k, band in enumerate(self._bands):
            turns = self._turns(some, band) if self._every_turn is None else self._every_turn[k][some]
            for block, (first, end) in enumerate(zip(self._time_edges, ends, strict=True)):
                found[:, block, band] = turns[:, first:end] @ value[first:end, band]
        return found

    def _at_delays(self, turned: NDArray[np.complex128], delays: NDArray[np.float64]) -> NDArray[np.float64]:
        """[rate, delay] of [rate, block, channel]."""
        height = np.zeros((len(turned), len(delays)))
        half = len(delays) // 2
        for own in np.split(np.arange(turned.shape[2]), self._channel_edges[1:]):
            columns = turned[..., own].reshape(-1, len(own))
            if half == 0 or len(own) == 1:
                height += np.abs(columns.sum(axis=1)).reshape(len(turned), -1).sum(axis=1)[:, None]
                continue
            h = self.slopes[0, 0, own]
            found = magnitudes_on_grid(columns.T, h - 0.5 * (h.min() + h.max()), delays[half + 1], half)
            height += found.T.reshape(len(turned), -1, len(delays)).sum(axis=1)
        return height

    def _climbed(self, value: NDArray[np.complex128], x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The top next to a place, by Newton's steps as long as these lead up."""
        slopes = self.slopes - np.stack([self._means(np.abs(value), one) for one in self.slopes])
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
        if len(self._time_edges) * len(self._channel_edges) == 1:
            return values.sum(keepdims=True)
        return np.add.reduceat(np.add.reduceat(values, self._channel_edges, axis=1), self._time_edges, axis=0)

    def _to_cells(self, values: NDArray) -> NDArray:
        return values[self.of_time[:, None], self.of_channel]

    def _means(self, weight: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[time, channel]: of the block that each cell is in."""
        total = self._sums(weight)
        return self._to_cells(self._sums(weight * values) / np.where(total > 0, total, 1.0))


def _longest(blocks: Sequence[NDArray[np.float64]]) -> float:
    return max(float(np.ptp(own)) for own in blocks)


def _usual_step(blocks: Sequence[NDArray[np.float64]]) -> float:
    """From a value to the next; infinite where there are none."""
    steps = np.concatenate([np.diff(np.unique(own)) for own in blocks])
    return float(np.median(steps)) if len(steps) else math.inf


def _places(span: float, gap: float) -> NDArray[np.float64]:
    """Places around 0 so close that phases that span so much are missed by little, up to half a turn over a gap."""
    if not (span > 0 and 0 < gap < math.inf):
        return np.zeros(1)
    step = _STEP_RAD / span
    half = min(math.ceil(math.pi / gap / step), _MOST_PLACES)
    return step * np.arange(-half, half + 1)
