"""A delay and a TEC together where one of them is shared by several spectra, as those of feeds and short intervals.

Each spectrum by itself tells one of many combinations that differ by turns of phase and fit nearly as well. So for each
place of what is shared all spectra are fitted with an own value each, and that counts where they fit best together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .fringe_pairs import MOST_TEC, along, most_delay, peaks_of
from .fringe_turns import search_turns
from .phase_search import best_phases

_SWEEPS, _SWEEPS_OF_MANY, _MANY = 8, 1, 16  # over antennas
_STEP_RAD = 0.8  # between places
_MOST_PLACES = 4000  # to either side
_CLOSER, _FINE = 30, 9  # places that are looked at more closely, and how closely
_TURNS = 2 * math.pi * np.arange(-1, 2)  # that noise may take for each other
_NEWTON = 4
_AT_A_TIME = 1 << 20  # numbers
_MOST_NUMBERS = 1 << 23  # of one antenna: else the strongest spectra alone


def with_best_pairs(
    matrices: NDArray[np.complex128],
    rates: NDArray[np.float64],
    times: tuple[NDArray[np.intp], NDArray[np.intp]],
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    reference: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Delays [element, interval, antenna] and TEC [interval, antenna] that agree better, or `values` as they are.

    `matrices` [element, time, freq, antenna, antenna]: as of `fringe_pairs.delays_beside_tec`; `rates` [2, freq];
    `times`: the interval of each time, of delays and of TEC. Antennas are found from the phases of bins, then one after
    the other. Nothing is changed where neither of the two has intervals that are whole numbers of the other's.
    """
    delays, tec = (one.copy() for one in values)
    if not (_is_within(times[0], times[1]) or _is_within(times[1], times[0])):
        return delays, tec
    matrices = matrices * (1 - np.eye(matrices.shape[-1]))
    used = np.flatnonzero(np.abs(matrices).sum(axis=(0, 1, 2, 3)) > 0)

    def phasors_of(delays: NDArray[np.float64], tec: NDArray[np.float64]) -> NDArray[np.complex128]:
        """[element, time, freq, ...] of values [element, interval, ...] and [interval, ...]."""
        h = rates.reshape(2, -1, *(1,) * (delays.ndim - 2))
        return np.exp(1j * (delays[:, times[0]][:, :, None] * h[0] + tec[times[1]][:, None] * h[1]))

    def agreement(phasors: NDArray[np.complex128]) -> NDArray[np.float64]:
        return (np.conj(phasors) * (matrices @ phasors[..., None])[..., 0]).real

    phasors = phasors_of(delays, tec)
    free = np.exp(1j * best_phases(matrices, reference))
    free = free * np.conj(free[..., [reference]])
    begin = delays.copy(), tec.copy()
    strength = np.maximum(agreement(free), 0.0)
    for a in used[used != reference]:
        _find(strength[..., a] * free[..., a], rates, times, begin[0][..., a], begin[1][:, a])
    if agreement(phasors_of(*begin)).sum() > agreement(phasors).sum():
        (delays, tec), phasors = begin, phasors_of(*begin)
    for _ in range(_SWEEPS if len(used) <= _MANY else _SWEEPS_OF_MANY):
        better = False
        for a in used:  # the reference too: all others may have gone astray together
            spectra = np.einsum("etfq,etfq->etf", matrices[..., a, :], phasors)
            own = delays[..., a].copy(), tec[:, a].copy()
            _find(spectra, rates, times, *own)
            turned = phasors_of(*own)
            if np.vdot(turned, spectra).real > np.vdot(phasors[..., a], spectra).real * (1 + 1e-9):
                delays[..., a], tec[:, a], phasors[..., a], better = *own, turned, True
        if not better:
            break
    there = np.isin(np.arange(matrices.shape[-1]), used)
    at = [reference]
    return np.where(there, delays - delays[..., at], 0.0), np.where(there, tec - tec[:, at], 0.0)


def _is_within(fine: NDArray[np.intp], coarse: NDArray[np.intp]) -> bool:
    return all(len(np.unique(coarse[fine == k])) == 1 for k in np.unique(fine))


def _find(spectra, rates, times, delays, tec) -> None:
    """Of one antenna, into `delays` [element, interval] and `tec` [interval]. `spectra` [element, time, freq]."""
    if _is_within(times[0], times[1]):
        for k in np.unique(times[1]):
            intervals = np.unique(times[0][times[1] == k])
            rows = [spectra[:, times[0] == j].sum(axis=1) for j in intervals]  # of each [element, freq]
            value = np.concatenate(rows)
            tec[k], own = best_shared(value, rates, shared=1, around=0.0)
            delays[:, intervals] = own.reshape(len(intervals), -1).T
        return
    for k in np.unique(times[0]):
        intervals = np.unique(times[1][times[0] == k])
        rows = np.stack([spectra[:, times[1] == j].sum(axis=1) for j in intervals])  # [interval, element, freq]
        apart = np.zeros(len(delays))
        if len(delays) == 2:  # whatever the TEC are
            apart[1] = search_turns((rows[:, 1] * np.conj(rows[:, 0])).sum(axis=0)[None], rates[0])[0]
        value = (rows * np.exp(-1j * apart[:, None] * rates[0])).sum(axis=1)
        shared, tec[intervals] = best_shared(value, rates, shared=0, around=float(delays[0, k]))
        delays[:, k] = shared + apart


def best_shared(
    spectra: NDArray[np.complex128], rates: NDArray[np.float64], *, shared: int, around: float
) -> tuple[float, NDArray[np.float64]]:
    """(x, y [spectrum]) for which the sum of Re spectra exp(-i (x rate + y other rate)) is largest.

    `spectra` [spectrum, channel]; `rates` [2, channel] of delays and of TEC; `shared`: which of them x is of. Delays
    are looked for as far as channels tell them apart, TEC to MOST_TEC to either side; of too many places those next to
    `around`. Zeros of spectra with data in fewer than three channels.
    """
    channels = (spectra != 0).any(axis=0)
    rows = np.flatnonzero((spectra != 0).sum(axis=1) >= 3)
    if not len(rows):
        return 0.0, np.zeros(len(spectra))
    value, h = spectra[:, channels], rates[:, channels]
    limits = most_delay(h), MOST_TEC
    middle, slope = along(np.abs(value[rows]).sum(axis=0, keepdims=True), h)
    slopes = slope, 1 / slope  # of the delay by TEC; of the TEC by delay
    per_place = abs(middle[shared] + slopes[1 - shared] * middle[1 - shared])
    step = _STEP_RAD / per_place
    half = min(math.ceil(limits[shared] / step), _MOST_PLACES)
    begin = 0.0 if half < _MOST_PLACES else around
    places = begin + step * np.arange(-half, half + 1)
    each = [(value[k], _refined(value[k], h, peaks_of(value[k][None], h))) for k in rows]
    most = max(2, _MOST_NUMBERS // (len(places) * len(each[0][1]) * len(h[0])))
    strongest = np.argsort([-np.abs(one).sum() for one, _ in each], kind="stable")[:most]

    def fits(some, x: NDArray[np.float64], turns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = [_own(*each[k], h, shared, slopes, middle, limits, x, turns) for k in some]
        return sum(height for _, height in found), np.stack([y for y, _ in found])

    height, _ = fits(strongest, places, np.zeros(1))
    high = places[np.argsort(-height, kind="stable")[:_CLOSER]]
    closer = np.unique(high[:, None] + step * np.linspace(-0.5, 0.5, _FINE))
    height, own = fits(np.arange(len(rows)), closer, _TURNS)
    best = int(np.argmax(height))
    found = np.zeros(len(spectra))
    found[rows] = own[:, best]
    return float(closer[best]), found


def _refined(value, h, peaks) -> NDArray[np.float64]:
    """Peaks [peak, (delay, TEC)] of a grid, whose delays are where the magnitude is highest: a step of the grid is some
    turns."""
    found = peaks.copy()
    for _ in range(_NEWTON):
        turned = value * np.exp(-1j * (found @ h))  # [peak, channel]
        total = turned.sum(axis=1, keepdims=True)
        part = turned * np.conj(total)
        size = np.maximum(part.real.sum(axis=1, keepdims=True), 1e-300)
        away = h[0] - (part.real @ h[0])[:, None] / size
        curvature = (part.real * away**2).sum(axis=1)
        step = (part.imag * away).sum(axis=1) / np.where(curvature > 0, curvature, 1.0)
        found[:, 0] += np.where(curvature > 0, step, 0.0)
    return found


def _own(value, peaks, h, shared: int, slopes, middle, limits, x, turns) -> tuple[NDArray, NDArray]:
    """(y, height) [place]: the best of a spectrum at each x, next to its peaks of slope and curvature."""
    other = 1 - shared
    found_y, found_height = np.zeros(len(x)), np.full(len(x), -np.inf)
    some = max(1, _AT_A_TIME // (len(peaks) * len(h[0])))
    for first in range(0, len(x), some):
        at = slice(first, first + some)
        y = peaks[:, other] + slopes[other] * (x[at, None] - peaks[:, shared])  # [place, peak]
        total = _sums(value, h, shared, x[at, None], y)
        y = y[..., None] + (np.angle(total)[..., None] + turns) / middle[other]  # [place, peak, turn]
        height = _sums(value, h, shared, x[at, None, None], y).real
        height = np.where(np.abs(y) <= limits[other], height, -np.inf).reshape(len(y), -1)
        best = np.argmax(height, axis=1)
        found_y[at] = y.reshape(len(y), -1)[np.arange(len(y)), best]
        found_height[at] = height[np.arange(len(y)), best]
    return found_y, found_height


def _sums(value, h, shared: int, x, y) -> NDArray[np.complex128]:
    return np.exp(-1j * (x[..., None] * h[shared] + y[..., None] * h[1 - shared])) @ value
