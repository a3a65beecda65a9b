"""Starting values of delays and TEC together: each by itself would be taken for the other.

Of a spectrum exp(i (2 pi nu delay + C TEC / nu)) the slope tells one combination of both, and its curvature, which is
slight, another; the phase in the middle tells which of many that differ by turns are right (Mevius et al. 2016, Radio
Science 51, 927, on clocks and TEC of LOFAR).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .fringe import Search, fringe_fit

#: 1e16 m^-2, to either side.
MOST_TEC = 12.0
_MOST_TRIED, _MOST_DELAYS = 481, 20_000
_KEPT = 5  # peaks of slope and curvature
_CLIMBED = 50  # places that are climbed from
_PAIRED = 300  # places of one feed for which the other's delay is looked for
_NEWTON = 5


Tiles = tuple[NDArray[np.intp], NDArray[np.intp]]


def delays_beside_tec(
    matrices: NDArray[np.complex128],
    rates: NDArray[np.float64],
    own: Tiles,
    of_tec: Tiles,
    reference: int,
    *,
    any_phase,
) -> NDArray[np.float64]:
    """[element, time, freq, antenna]: delays of their intervals, of antennas that have a TEC beside them.

    `matrices` [element, time, freq, antenna, antenna]: of each feed, or of the sum of both (as tiles of `fringe_fit`);
    `rates` [2, freq]; `own`, `of_tec`: the interval of each time and of each freq, of delays and of TEC. Delays are the
    median of what is found on each interval that both share.
    """
    result = np.zeros((len(matrices), own[0].max() + 1, own[1].max() + 1, matrices.shape[-1]))
    for t, f in np.ndindex(result.shape[1:3]):
        found = []
        for i, j in itertools.product(np.unique(of_tec[0][own[0] == t]), np.unique(of_tec[1][own[1] == f])):
            at = (own[0] == t) & (of_tec[0] == i), (own[1] == f) & (of_tec[1] == j)
            found.append(_delays_of(matrices[:, at[0]][:, :, at[1]], rates[:, at[1]], reference, any_phase))
        result[:, t, f] = np.median(found, axis=0)
    return result


def _delays_of(matrices, rates, reference: int, any_phase: bool) -> NDArray[np.float64]:
    """[element, antenna] of one interval."""
    if len(matrices) == 1 or any_phase:
        how = {"any_phase": any_phase, "find_x": _one_by_one(search_delay_and_tec)}
        return fringe_fit(matrices, rates, reference, **how)[..., 0]
    # The channels of both feeds, one after the other: unknown are the delay of each, and one TEC.
    both, none = np.concatenate(matrices, axis=1), np.zeros_like(rates[0])
    of_delay, of_tec = rates
    rates = np.stack([[*of_delay, *none], [*none, *of_delay], [*of_tec, *of_tec]])
    how = {"any_phase": False, "find_x": _one_by_one(search_delays_and_tec)}
    return fringe_fit(both[None], rates, reference, **how)[0, :, :2].T


def _one_by_one(search: Callable[..., NDArray[np.float64]]) -> Search:
    """A search of a spectrum [time, channel] as one of those of several antennas."""
    return lambda spectra, rates, *, any_phase: np.stack([search(one, rates, any_phase=any_phase) for one in spectra])


def search_delay_and_tec(
    spectrum: NDArray[np.complex128], rates: NDArray[np.float64], *, any_phase: bool
) -> NDArray[np.float64]:
    """(delay, TEC) for which the sum of spectrum exp(-i x . rates) is largest, as `fringe.search`. `rates` [2,
    channel].

    With `any_phase` its magnitude counts. Zeros where fewer than three channels have data.
    """
    spectra = np.atleast_2d(spectrum)
    used = (spectra != 0).any(axis=0)
    if used.sum() < 3:
        return np.zeros(2)
    value, h = spectra[:, used], rates[:, used]
    x = peaks_of(value, h)
    if any_phase:
        return _climbed(value, h, x, any_phase=True)
    total = value.sum(axis=0, keepdims=True)
    return _climbed(total, h, np.concatenate([_turns(total, h, one) for one in x]), any_phase=False)


def search_delays_and_tec(
    spectrum: NDArray[np.complex128], rates: NDArray[np.float64], *, any_phase: bool = False
) -> NDArray[np.float64]:
    """(delay of a feed, delay of the other, TEC of both) for which the sum of spectrum exp(-i x . rates) is largest.

    `spectrum` [..., channel]: the channels of one feed, then those of the other; `rates` [3, channel]. What one feed
    tells is one of many combinations that fit nearly as well; the other feed tells which. A feed with data in fewer
    than three channels tells nothing, and has the delay of the other.
    """
    if any_phase:
        raise ValueError("phases tell which delays fit: where they may be any, feeds are searched one by one")
    total = np.atleast_2d(spectrum).sum(axis=0)
    half = len(total) // 2
    feeds = []
    for feed, own in enumerate((slice(0, half), slice(half, None))):
        used = total[own] != 0
        if used.sum() < 3:
            other = slice(half, None) if feed == 0 else slice(0, half)
            delay, tec = search_delay_and_tec(total[other], rates[[1 - feed, 2], other], any_phase=False)
            return np.array([delay, delay, tec])
        feeds.append((total[own][used][None], rates[[feed, 2], own][:, used]))
    (value, h), second = feeds
    x = np.concatenate([_turns(value, h, one) for one in peaks_of(value, h)])
    scale = np.abs(h).max(axis=1)
    x = x[np.argsort(-_height(value, h / scale[:, None], x * scale, False), kind="stable")[:_PAIRED]]
    x = np.stack([x[:, 0], _delays_at(*second, x[:, 1]), x[:, 1]], axis=1)
    used = total != 0
    return _climbed(total[None, used], rates[:, used], x, any_phase=False)


def _delays_at(value, h, tec: NDArray[np.float64]) -> NDArray[np.float64]:
    """[place]: the delay that fits best at each TEC, with the slope of a peak and 0 for the phase in the middle."""
    middle, slope = along(value, h)
    peaks = peaks_of(value, h)
    delay = peaks[:, 0] + slope * (tec[:, None] - peaks[:, 1])  # [place, peak]

    def sums():
        return (value[0] * np.exp(-1j * (delay[..., None] * h[0] + (tec[:, None] * h[1])[:, None]))).sum(axis=-1)

    delay = delay + np.angle(sums()) / middle[0]
    height = np.where(np.abs(delay) <= most_delay(h), sums().real, -np.inf)
    return delay[np.arange(len(tec)), np.argmax(height, axis=1)]


def _trials(h: NDArray[np.float64]) -> NDArray[np.float64]:
    """TEC between which the curvature changes by half a radian."""
    line = np.polyfit(h[0], h[1], 1)
    curvature = np.abs(h[1] - np.polyval(line, h[0])).max()
    half = math.ceil(min(2 * MOST_TEC * curvature, (_MOST_TRIED - 1) // 2))
    return np.linspace(-MOST_TEC, MOST_TEC, 2 * half + 1) if half > 0 else np.zeros(1)


def peaks_of(value, h) -> NDArray[np.float64]:
    """Places [place, 2] with the highest magnitudes, on a grid of TEC and delays."""
    tec = _trials(h)
    step = math.pi / (4 * np.ptp(h[0]))
    half = min(math.ceil(most_delay(h) / step), _MOST_DELAYS // 2)
    delay = step * np.arange(-half, half + 1)
    turned = value * np.exp(-1j * tec[:, None, None] * h[1])  # [tec, time, channel]
    height = np.abs(turned @ np.exp(-1j * h[0][:, None] * delay)).sum(axis=1)  # [tec, delay]
    best = np.argmax(height, axis=1)
    first = np.argsort(-height.max(axis=1), kind="stable")[:_KEPT]
    return np.stack([delay[best[first]], tec[first]], axis=1)


def most_delay(h) -> float:
    """Beyond this delays turn neighbouring channels by more than half a turn, and have aliases that do not."""
    gap = np.diff(np.sort(h[0]))
    return math.pi / gap[gap > 0].min()


def _turns(value, h, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places [place, 2] with the slope of x, whose phase in the middle of the band is 0 but for whole turns."""
    middle, slope = along(value, h)
    per_tec = middle[1] + slope * middle[0]
    phase = np.angle((value * np.exp(-1j * (x @ h))).sum())
    count = math.ceil(2 * MOST_TEC * abs(per_tec) / (2 * math.pi))
    steps = (phase + 2 * math.pi * np.arange(-count, count + 1)) / per_tec
    found = x + np.stack([slope * steps, steps], axis=1)
    within = np.abs(found[:, 0]) <= most_delay(h)
    return found[within] if within.any() else x[None]


def along(value, h) -> tuple[NDArray[np.float64], float]:
    """The rates in the middle of the band, and by how much the delay changes with TEC such that the slope stays."""
    weight = np.abs(value).sum(axis=0)
    middle = np.average(h, axis=1, weights=weight)
    away = h - middle[:, None]
    return middle, -(weight * away[0] * away[1]).sum() / (weight * away[0] ** 2).sum()


def _climbed(value, h, x: NDArray[np.float64], *, any_phase: bool) -> NDArray[np.float64]:
    """The highest of the maxima next to places [place, unknown]; of equal ones that with the least TEC, the last."""
    scale = np.abs(h).max(axis=1)
    y, rates = x * scale, h / scale[:, None]
    y = y[np.argsort(-_height(value, rates, y, any_phase), kind="stable")[:_CLIMBED]]
    for _ in range(_NEWTON):
        turned = np.exp(-1j * (y @ rates))[:, None, :] * value  # [place, time, channel]
        total = turned.sum(axis=-1, keepdims=True)
        phasor = np.conj(total) / np.maximum(np.abs(total), 1e-300) if any_phase else 1.0
        part = turned * phasor
        slope = np.einsum("ptc,kc->pk", part.imag, rates)
        curvature = np.einsum("ptc,kc,lc->pkl", part.real, rates, rates)
        if any_phase:  # the phase of each time follows
            mean = np.einsum("ptc,kc->ptk", part.real, rates)
            curvature -= np.einsum("ptk,ptl->pkl", mean / np.maximum(np.abs(total), 1e-300), mean)
        steps = np.linalg.solve(curvature + 1e-12 * _trace(curvature) * np.eye(len(h)), slope[..., None])[..., 0]
        y = y + np.where((np.linalg.eigvalsh(curvature)[:, :1] > 0) & np.isfinite(steps), steps, 0.0)
    height = _height(value, rates, y, any_phase)
    equal = y[height >= height.max() - 1e-9 * abs(height.max())]
    return equal[np.argmin(np.abs(equal[:, -1]))] / scale


def _height(value, rates, y, any_phase: bool) -> NDArray[np.float64]:
    """[place] of places in units of the largest rates."""
    sums = (np.exp(-1j * (y @ rates))[:, None, :] * value).sum(axis=-1)
    return (np.abs(sums) if any_phase else sums.real).sum(axis=-1)


def _trace(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.trace(np.abs(matrices), axis1=1, axis2=2), 1e-300)[:, None, None]
