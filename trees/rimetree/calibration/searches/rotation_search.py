"""Searches for rotations and Faraday rotation of linear feeds: inside of gains, and what all antennas have of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..terms.kinds import phase_per_unit
from ..terms.terms import Term
from .feed_differences import common_spectra
from .fringe import search, searches
from .interval_search import IntervalSearch
from .rotations_inside_gains import (
    continued,
    double_angles,
    of_one_sign,
    of_one_sign_along_frequency,
    polarisations,
)


def search_rotation_inside_gains(intervals: IntervalSearch, term, sums) -> NDArray[np.float64]:
    """As `IntervalSearch.search_rotation`, where gains of each feed stand outside, of a sky of little polarisation; but
    for the sign of all. `sums`: of `Hands.INTENSITY`."""
    at_time, at_frequency = intervals.cells(term, sums)
    n_time, n_freq = intervals.intervals_of(term, sums.bins.chunk)
    found = np.zeros((1, n_time, n_freq, len(sums.antennas)))
    if term.kind.name == "rotation":
        cells = at_time[:, None] * n_freq + at_frequency
        turned = double_angles(sums, cells, intervals.reference)
        turned = of_one_sign_along_frequency(sums, turned.reshape(found.shape[1:]), (at_time, at_frequency))
        found[0] = np.angle(of_one_sign(sums, turned, cells)) / 2
        return found
    channels = np.arange(len(sums.frequency_hz))
    cells = at_time[:, None] * len(channels) + channels
    turned = double_angles(sums, cells, intervals.reference).reshape(-1, len(channels), len(sums.antennas))
    signed = of_one_sign(sums, np.stack([continued(one) for one in turned]), cells)
    rate = 2 * phase_per_unit(term.kind.quantities[0], sums.frequency_hz)
    for t, f in np.ndindex(n_time, n_freq):
        own = at_frequency == f
        found[0, t, f] = searches(np.moveaxis(signed[t, own], 0, 1)[:, None], rate[own], any_phase=False)
    return found


def common_inside_gains(
    intervals: IntervalSearch, term, values, gains, sums
) -> list[tuple[float, NDArray[np.float64]]]:
    """[(sign of all values, [time, freq] what all antennas are turned by besides)], as a polarised sky tells, for
    either sign; that which circular polarisation and the size of the linear one speak for is the first.

    `values`: as of `search_rotation_inside_gains`; `gains` [antenna, time, freq, feed]: what stands outside, of the
    bins. With the other sign gains of feed 1 are the negative of these.
    """
    cells = intervals.cells(term, sums)
    turned = intervals.phasors(term, values, sums)[..., 0]
    linear, circular = polarisations(sums, turned, gains)
    shape, rate = intervals.intervals_of(term, sums.bins.chunk), intervals.rate(term, sums)[0]
    found = []
    for sign in (1.0, -1.0):
        spectrum, score, common = linear[sign].sum(axis=0), sign * circular, np.zeros(shape)
        for t, f in np.ndindex(shape):
            own = spectrum[cells[0] == t][:, cells[1] == f].sum(axis=0)
            common[t, f] = angle_of(term, own, sums.frequency_hz[cells[1] == f], times=2)
            score += (own @ np.exp(-2j * common[t, f] * rate[cells[1] == f])).real
        found.append((score, sign, common))
    return [(sign, common) for _, sign, common in sorted(found, key=lambda one: -one[0])]


def common_rotation(intervals: IntervalSearch, term, sums, relative) -> NDArray[np.float64]:
    """[time, freq], rad or rad/m^2: what all antennas are turned by together, as a polarised sky tells; else 0.

    `sums`: of all hands of circular feeds; `relative`: values as of `IntervalSearch.search_rotation`. RL over RR turns
    by twice the angle of the second antenna, over LL by that of the first, whatever turns both feeds alike.
    """
    cells = intervals.cells(term, sums)
    turned = np.conj(intervals.phasors(term, relative, sums)[..., 0]) ** 2
    first, second = (turned[end] for end in sums.baselines.T)
    rr, ll, rl, lr = np.moveaxis(sums.product[..., 0], -1, 0)
    of_second, of_first = rl * np.conj(rr) + np.conj(lr) * ll, rl * np.conj(ll) + np.conj(lr) * rr
    spectrum = (of_second * second + of_first * first).sum(axis=0)
    found = np.zeros(intervals.intervals_of(term, sums.bins.chunk))
    for t, f in np.ndindex(found.shape):
        own = spectrum[cells[0] == t][:, cells[1] == f].sum(axis=0)
        found[t, f] = angle_of(term, own, sums.frequency_hz[cells[1] == f], times=2)
    return found


def common_rotations(intervals: IntervalSearch, term, sums, parts: Sequence[str], relative) -> dict[str, NDArray]:
    """{direction: as of `common_rotation`} of several, as far as their models are polarised; `parts`: the direction
    of each part of the sums; `relative` {direction: values}.

    What each multiplies its RL by, and divides its LR by, follows from all of them together (`common_spectra`).
    """
    cells, shape = intervals.cells(term, sums), intervals.intervals_of(term, sums.bins.chunk)
    phasors = {name: intervals.phasors(term, own, sums) for name, own in relative.items()}
    found = {name: np.zeros(shape) for name in relative}
    for at, spectra in common_spectra(sums, parts, phasors, cells, shape):
        for name, (spectrum, _) in spectra.items():
            found[name][at] = angle_of(term, spectrum, sums.frequency_hz[cells[1] == at[1]], times=2)
    return found


def angle_of(term: Term, spectrum: NDArray[np.complex128], frequency_hz: NDArray[np.float64], *, times: int) -> float:
    """The rotation (rad) or rotation measure by so many `times` which a spectrum is turned."""
    if term.kind.name == "rotation":
        return float(np.angle(spectrum.sum()) / times)
    return search(spectrum, times * phase_per_unit(term.kind.quantities[0], frequency_hz), any_phase=False)
