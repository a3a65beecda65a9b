"""What feeds of all antennas differ by, as crossed hands of a polarised sky tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.kinds import phase_per_unit
from .fringe import search
from .interval_search import IntervalSearch

#: Power of a sum of visibilities, over that of noise; the highest of many tries.
SIGNAL = 20
_POLARISED = 1e-9  # of the power of a model: less in its crossed hands is rounding


def difference_of_feeds(intervals: IntervalSearch, term, sums, turned, *, any_phase: bool) -> NDArray[np.float64]:
    """[time, freq], as `term`: what feed 0 of all antennas has besides, relative to feed 1, as a polarised sky
    tells; 0 where crossed hands have no signal.

    `sums`: of all hands; `turned` [antenna, time, freq, feed]: phasors of what is known already.
    """
    cells = intervals.cells(term, sums)
    seen = of_first_against_second(sums, turned)
    found = np.zeros(intervals.intervals_of(term, sums.bins.chunk))
    rate = phase_per_unit(term.kind.quantities[0], sums.frequency_hz)
    for t, f in np.ndindex(found.shape):
        own = seen[:, :, cells[0] == t][..., cells[1] == f]
        spectrum, h = own.sum(axis=(0, 1)), rate[cells[1] == f]
        spectrum = spectrum if any_phase else spectrum.sum(axis=0)
        value = search(spectrum, h, any_phase=any_phase)
        height = (np.abs(spectrum @ np.exp(-1j * value * h)) ** 2).sum()
        if height > SIGNAL * (np.abs(own) ** 2).sum():
            found[t, f] = value
    return found


def differences_of_feeds(
    intervals: IntervalSearch, term, sums, parts: Sequence[str], values: Mapping[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    """{direction: as of `difference_of_feeds`}, as far as models of directions are polarised. `parts`: the direction of
    each part of the sums; `values` {direction: what is known of the term}."""
    cells, shape = intervals.cells(term, sums), intervals.intervals_of(term, sums.bins.chunk)
    rate = phase_per_unit(term.kind.quantities[0], sums.frequency_hz)
    phasors = {name: intervals.phasors(term, own, sums) for name, own in values.items()}
    found = {name: np.zeros(shape) for name in values}
    for at, spectra in common_spectra(sums, parts, phasors, cells, shape):
        h = rate[cells[1] == at[1]]
        for name, (spectrum, noise) in spectra.items():
            value = search(spectrum, h, any_phase=False)
            if abs(spectrum @ np.exp(-1j * value * h)) ** 2 > SIGNAL * noise:
                found[name][at] = value
    return found


#: (spectrum [channel], power of what single visibilities add to it).
Spectrum = tuple[NDArray[np.complex128], float]


def common_spectra(
    sums: Coherence,
    parts: Sequence[str],
    phasors: Mapping[str, NDArray[np.complex128]],
    cells: tuple[NDArray[np.intp], NDArray[np.intp]],
    shape: tuple[int, int],
) -> Iterator[tuple[tuple[int, int], dict[str, Spectrum]]]:
    """Of each interval (in time, in frequency): {direction: what its model of the first hand, XY or RL, is multiplied
    by besides, and of the second one divided by}, as follows from all directions together; 0 of those whose models are
    not polarised. `phasors` {direction: [antenna, time, freq, feed]}: what is known; `cells`: of each bin, the interval
    in time and in frequency, of which there are `shape`."""
    names = list(phasors)
    if not names:
        return
    of = np.array([[name == one for one in parts] for name in names], dtype=float)
    power = np.moveaxis(of @ sums.power @ of.T, 3, 0)  # [hand, baseline, time, freq, direction, direction]
    bright = power[:2].real.sum(axis=(0, 1, 2, 3)).diagonal()
    seen = power[2:].real.sum(axis=(0, 1, 2, 3)).diagonal() > _POLARISED * bright
    p, q = (np.stack([phasors[name][end] for name in names], axis=-1) for end in sums.baselines.T)
    turns = p[..., 0, :] * np.conj(q[..., 1, :]) * seen, np.conj(p[..., 1, :]) * q[..., 0, :] * seen
    crossed, other = np.moveaxis((sums.product @ of.T)[:, :, :, 2:], 3, 0)
    added = np.stack([np.conj(turns[0]) * crossed, np.conj(turns[1] * other)])
    total, noise = added.sum(axis=(0, 1)), (np.abs(added) ** 2).sum(axis=(0, 1))  # [time, freq, direction]
    square = sum(
        (np.conj(own)[..., :, None] * matrix * own[..., None, :]).sum(axis=0)
        for own, matrix in zip(turns, (power[2], np.conj(power[3])), strict=True)
    )
    for t, f in np.ndindex(*shape):
        at = np.ix_(cells[0] == t, cells[1] == f)
        own, model = total[at].sum(axis=0), square[at].sum(axis=0)
        turned = (np.linalg.pinv(model, rcond=1e-9, hermitian=True) @ own[..., None])[..., 0]
        turned = turned * model.real.diagonal(axis1=1, axis2=2)  # [freq, direction], with its weight
        yield (t, f), dict(zip(names, zip(turned.T, noise[at].sum(axis=(0, 1)).tolist(), strict=True), strict=True))


def of_first_against_second(sums: Coherence, turned: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[XY or YX, baseline, time, freq]: crossed hands turned back by phasors [antenna, time, freq, feed], YX conjugate:
    XY turns by the phase of the first feed, less that of the second, YX the other way round."""
    first, second = (turned[end] for end in sums.baselines.T)
    xy, yx = np.moveaxis(sums.product[..., 2:, 0], -1, 0)
    return np.stack(
        [xy * np.conj(first[..., 0]) * second[..., 1], np.conj(yx * np.conj(first[..., 1]) * second[..., 0])]
    )
