"""Which times and channels share a solution, and which of them are solved for together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrationError
from .terms import Interval, Term

Float64Array = NDArray[np.float64]

_LEAST_CHUNKS = 8  # if there are so many intervals


@dataclass(frozen=True, eq=False)
class Axis:
    """Solution intervals along time or frequency.

    `edges` [N + 1], ascending, between which the cells lie; `centre`, `width` [N]: of what the cells of an interval
    cover; unit s or Hz.
    """

    edges: Float64Array
    centre: Float64Array
    width: Float64Array


@dataclass(frozen=True, eq=False)
class Chunk:
    """Time slots that are solved in one go: a whole number of solution intervals of every term.

    `slot_s` [slot]: their times (MJD, seconds); `times`: {term name: `Axis`}.
    """

    slot_s: Float64Array
    times: dict[str, Axis]


def chunks_of(
    slot_s: Sequence[float],
    slot_width_s: float,
    terms: Sequence[Term],
    scan: Sequence[int] | None = None,
    most_slots: int = 1,
    groups: int = 1,
) -> list[Chunk]:
    """Cuts the time slots of one field into chunks.

    A chunk is one solution interval of the term with the longest, or several that together have at most `most_slots`
    (and are not more than an eighth of all, so that progress is seen; with so many `groups` of which chunks are seen,
    that much less); intervals of the others are counted from where it begins, so that none reaches over its end. After
    a gap that is longer than an interval of slots or seconds the next one begins with the first slot, as where a field
    was left and returned to; over shorter gaps they count on. `scan`: the SCAN_NUMBER of each slot.
    """
    order = np.argsort(np.asarray(slot_s, dtype=float), kind="stable")
    slots = np.asarray(slot_s, dtype=float)[order]
    scans = np.zeros(len(slots), dtype=int) if scan is None else np.asarray(scan, dtype=int)[order]
    step_s = float(np.median(np.diff(slots))) if len(slots) > 1 else slot_width_s
    longest = [_labels(slots, scans, step_s, term.time) for term in terms]
    chunk_of = min(longest, key=lambda labels: len(np.unique(labels)))
    chunks, least = [], math.ceil(_LEAST_CHUNKS / groups)
    for some in _side_by_side([np.flatnonzero(chunk_of == label) for label in np.unique(chunk_of)], most_slots, least):
        own = np.concatenate(some)
        times = {}
        for term in terms:
            parts = [_labels(slots[one], scans[one], step_s, term.time) for one in some]
            times[term.name] = _axis(slots[own], slot_width_s, _counted_on(parts))
        chunks.append(Chunk(slots[own], times))
    return chunks


def _side_by_side(intervals: Sequence[NDArray[np.intp]], most: int, least: int) -> Iterator[list[NDArray[np.intp]]]:
    """Neighbouring intervals (the numbers of their slots) that have at most so many slots together, or at least one;
    so that they are at least so many."""
    some: list[NDArray[np.intp]] = []
    for one in intervals:
        if some and (sum(map(len, some)) + len(one) > most or len(some) >= len(intervals) // least):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def _counted_on(parts: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Labels of all parts, each of which counts from 0, such that no two parts share one."""
    first = np.cumsum([0, *(part.max() + 1 for part in parts[:-1])])
    return np.concatenate([part + begin for part, begin in zip(parts, first, strict=True)])


def times_of(
    slot_s: Sequence[float], slot_width_s: float, interval: Interval | None, scan: Sequence[int] | None = None
) -> Axis:
    """Cuts ascending time slots, of whatever fields, into solution intervals; arguments as of `chunks_of`."""
    slots = np.asarray(slot_s, dtype=float)
    scans = np.zeros(len(slots), dtype=int) if scan is None else np.asarray(scan, dtype=int)
    step_s = float(np.median(np.diff(slots))) if len(slots) > 1 else slot_width_s
    return _axis(slots, slot_width_s, _labels(slots, scans, step_s, interval))


def channels_of_windows(
    windows: Sequence[tuple[Sequence[float], Sequence[float]]], interval: Interval | None, *, together: bool
) -> Axis:
    """As `channels_of`, of several windows (frequencies, widths): `together` as if they were one, else each by itself.

    Raises `CalibrationError` where windows that are to have solutions of their own overlap.
    """
    if together or len(windows) == 1:
        frequency, width = (np.concatenate([np.asarray(window[i], dtype=float) for window in windows]) for i in (0, 1))
        return channels_of(frequency, width, interval)
    axes = sorted((channels_of(*window, interval) for window in windows), key=lambda axis: axis.edges[0])
    for below, above in itertools.pairwise(axes):
        if above.edges[0] < below.edges[-1] - 1e-6 * (below.edges[-1] - below.edges[0]):
            raise CalibrationError(
                f"spectral windows overlap ({below.edges[0] / 1e6:.6g} to {below.edges[-1] / 1e6:.6g} MHz and "
                f"{above.edges[0] / 1e6:.6g} to {above.edges[-1] / 1e6:.6g} MHz); where they do, solutions that each "
                'has of its own cannot be solved for beside those of a term of "all windows". Add "all windows" to '
                "this term too, with an interval in MHz if it has one in channels; or solve one window at a time"
            )
    # An edge between two windows is half-way, as edges between channels are.
    inner = [(below.edges[-1] + above.edges[0]) / 2 for below, above in itertools.pairwise(axes)]
    edges = [axes[0].edges[:1]]
    for axis, edge in zip(axes, [*inner, axes[-1].edges[-1]], strict=True):
        edges += [axis.edges[1:-1], [edge]]
    return Axis(
        np.concatenate(edges), np.concatenate([a.centre for a in axes]), np.concatenate([a.width for a in axes])
    )


def channels_of(frequency_hz: Sequence[float], width_hz: Sequence[float], interval: Interval | None) -> Axis:
    """Cuts channels, which may come in any order, into solution intervals of ascending frequency.

    A number of channels counts them along frequency, from the end of the band at which the set begins; Hz count from
    the lower edge.
    """
    frequency, width = np.asarray(frequency_hz, dtype=float), np.abs(np.asarray(width_hz, dtype=float))
    order = np.argsort(frequency, kind="stable")
    if interval is None:
        labels = np.zeros(len(frequency), dtype=int)
    elif interval.count is not None:
        labels = np.arange(len(frequency)) // interval.count
        if len(frequency) > 1 and frequency[0] > frequency[-1]:
            labels = (labels.max() - labels)[::-1]
    else:
        lowest = (frequency - width / 2).min()
        labels = np.floor((frequency[order] - lowest) / interval.quantity).astype(int)
    return _axis(frequency[order], width[order], labels)


def _labels(slots: Float64Array, scans: NDArray[np.intp], step_s: float, interval: Interval | None) -> NDArray[np.intp]:
    """The number of the interval that each of the ascending slots is in; `step_s`: from one slot to the next."""
    if interval is None:
        return np.zeros(len(slots), dtype=int)
    if interval.scans is not None:  # a number that returns later is another scan
        return np.cumsum(np.diff(scans, prepend=scans[:1]) != 0) // interval.scans
    length_s = step_s * interval.count if interval.count is not None else interval.quantity
    gaps = np.flatnonzero(np.diff(slots) - step_s > length_s + 1e-3 * step_s) + 1
    return _counted_on([_labels_of_stretch(one, step_s, interval) for one in np.split(slots, gaps)])


def _labels_of_stretch(slots: Float64Array, step_s: float, interval: Interval) -> NDArray[np.intp]:
    if interval.count is not None:
        return np.arange(len(slots)) // interval.count
    # Counted from the beginning of the first slot: TIME jitters, and slots need not fit into the interval.
    return np.floor((slots - slots[0]) / interval.quantity + 1e-3 * step_s / interval.quantity).astype(int)


def _axis(centres: Float64Array, width: Float64Array | float, labels: NDArray[np.intp]) -> Axis:
    """The intervals of ascending cells that have the same label."""
    width = np.broadcast_to(width, centres.shape)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    low = np.array([(centres[g] - width[g] / 2).min() for g in groups])
    high = np.array([(centres[g] + width[g] / 2).max() for g in groups])
    # Cells belong to the interval that holds their centre: edges are half-way between neighbouring cells.
    inner = [(centres[a[-1]] + centres[b[0]]) / 2 for a, b in itertools.pairwise(groups)]
    return Axis(np.array([low[0], *inner, high[-1]]), (low + high) / 2, high - low)
