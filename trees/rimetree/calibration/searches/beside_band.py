"""Searches for terms beside others that may have any phase along frequency, and for what feeds differ by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.terms import Term
from .diagonal_gains import on_baselines
from .fringe import phase_rate, search, searches
from .interval_search import IntervalSearch

_SURE = 0.7  # what phases of antennas must explain of visibilities, where they are found bin by bin
_SIGNAL = 20  # power of a sum of visibilities, over that of noise; the highest of many tries


def search_beside_band(
    intervals: IntervalSearch,
    term: Term,
    band: Sequence[Term],
    sums: Coherence,
    product,
    chunk,
    bins,
    *,
    any_phase: bool,
) -> NDArray[np.float64] | None:
    """As `IntervalSearch.search`, where other terms (`band`) have any phase along frequency: from phases of bins.

    Relative to the strongest time of each interval of these terms, where values are 0, or, where these act on both
    feeds alike, those of feed 1. Of terms of phases, too. `any_phase`: antennas may have any phase at each time
    besides. None where bins tell no phases, or where intervals of the term are longer than those of `band`.
    """
    if len(sums.baselines) <= len(sums.antennas):  # those to the reference have any phases
        return None
    free = np.exp(1j * intervals.free_phases(sums, product))
    agree = (product * on_baselines(np.conj(free), sums)).real
    if not agree.sum() > _SURE * np.abs(product).sum():
        return None
    at_time, at_frequency = intervals.cells(term, chunk, bins, sums)
    times = np.stack([intervals.cells(one, chunk, bins, sums)[0] for one in band])
    _, of_band = np.unique(times, axis=1, return_inverse=True)
    strength = np.zeros(free.shape)
    for end in sums.baselines.T:
        np.add.at(strength, end, np.maximum(agree, 0.0))
    rate = intervals.rate(term, sums)
    found = np.zeros((len(term.elements), *intervals.intervals_of(term, chunk), len(sums.antennas)))

    def value(seen: NDArray[np.complex128], rows: NDArray[np.intp], t: int, f: int) -> NDArray[np.float64]:
        spectra = seen[:, rows[at_time[rows % len(at_time)] == t]][:, :, at_frequency == f]
        if term.kind.name == "phase":
            return np.angle(spectra.sum(axis=(1, 2)))
        return searches(spectra, rate[at_frequency == f], any_phase=any_phase)

    differ = len(term.elements) == 2 and all(len(one.elements) == 1 for one in band)
    of_feeds = strength.min(axis=3) * free[..., 0] * np.conj(free[..., 1])
    if any(len(np.unique(of_band[at_time == t])) > 1 for t in np.unique(at_time)):
        if not differ:
            return None
        for t, f in np.ndindex(found.shape[1:3]):
            found[0, t, f] = value(of_feeds, np.arange(len(at_time)), t, f)
        return found
    for b in np.unique(of_band):
        rows = np.flatnonzero(of_band == b)
        strongest = rows[np.argmax(strength[:, rows].sum(axis=(0, 2, 3)))]
        seen = strength * free * np.conj(free[:, [strongest]])
        both, of_both = np.concatenate([seen[..., 0], seen[..., 1]], axis=1), np.append(rows, rows + len(at_time))
        for t, f in np.ndindex(found.shape[1:3]):
            if t not in at_time[rows]:
                continue
            if t != at_time[strongest] and len(term.elements) == 2:
                found[:, t, f] = value(seen[..., 0], rows, t, f), value(seen[..., 1], rows, t, f)
            elif t != at_time[strongest]:  # feeds may have any phase each as times may
                found[0, t, f] = value(both, of_both, t, f) if any_phase else value(seen.sum(axis=3), rows, t, f)
            if differ:
                found[0, t, f] += value(of_feeds, rows, at_time[strongest], f)
    return found


def difference_of_feeds(
    intervals: IntervalSearch, term, sums, turned, chunk, bins, *, any_phase: bool
) -> NDArray[np.float64]:
    """[time, freq], as `term`: what feed 0 of all antennas has besides, relative to feed 1, as a polarised sky
    tells; 0 where crossed hands have no signal.

    `sums`: of all hands; `turned` [antenna, time, freq, feed]: phasors of what is known already. XY turns by the
    phase of the first feed, less that of the second, YX the other way round.
    """
    cells = intervals.cells(term, chunk, bins, sums)
    first, second = (turned[end] for end in sums.baselines.T)
    xy, yx = np.moveaxis(sums.product[..., 2:, 0], -1, 0)
    xy = xy * np.conj(first[..., 0]) * second[..., 1]
    yx = yx * np.conj(first[..., 1]) * second[..., 0]
    seen = np.stack([xy, np.conj(yx)])
    found = np.zeros(intervals.intervals_of(term, chunk))
    rate = phase_rate(term.kind.quantities[0], sums.frequency_hz)
    for t, f in np.ndindex(found.shape):
        own = seen[:, :, cells[0] == t][..., cells[1] == f]
        spectrum, h = own.sum(axis=(0, 1)), rate[cells[1] == f]
        spectrum = spectrum if any_phase else spectrum.sum(axis=0)
        value = search(spectrum, h, any_phase=any_phase)
        height = (np.abs(spectrum @ np.exp(-1j * value * h)) ** 2).sum()
        if height > _SIGNAL * (np.abs(own) ** 2).sum():
            found[t, f] = value
    return found
