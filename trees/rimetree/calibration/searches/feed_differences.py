"""What feeds of all antennas differ by, as crossed hands of a polarised sky tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from .fringe import phase_rate, search
from .interval_search import IntervalSearch

_SIGNAL = 20  # power of a sum of visibilities, over that of noise; the highest of many tries


def difference_of_feeds(
    intervals: IntervalSearch, term, sums, turned, chunk, bins, *, any_phase: bool
) -> NDArray[np.float64]:
    """[time, freq], as `term`: what feed 0 of all antennas has besides, relative to feed 1, as a polarised sky
    tells; 0 where crossed hands have no signal.

    `sums`: of all hands; `turned` [antenna, time, freq, feed]: phasors of what is known already.
    """
    cells = intervals.cells(term, chunk, bins, sums)
    seen = of_first_against_second(sums, turned)
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


def of_first_against_second(sums: Coherence, turned: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[XY or YX, baseline, time, freq]: crossed hands turned back by phasors [antenna, time, freq, feed], YX conjugate:
    XY turns by the phase of the first feed, less that of the second, YX the other way round."""
    first, second = (turned[end] for end in sums.baselines.T)
    xy, yx = np.moveaxis(sums.product[..., 2:, 0], -1, 0)
    return np.stack(
        [xy * np.conj(first[..., 0]) * second[..., 1], np.conj(yx * np.conj(first[..., 1]) * second[..., 0])]
    )
