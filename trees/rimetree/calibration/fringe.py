"""Starting values for delays and TEC: the fit has a minimum at every turn of phase, and the right one must be begun at.

A baseline to an antenna of known phase gives the spectrum of V conj(model), whose phase is x h(nu), with h = 2 pi nu
for a delay x; the x that brings it into phase is searched for (a fringe fit, as of Schwab & Cotton 1983, AJ 88, 688).
Antenna after antenna is found in this way, on its baselines to all that are known already; then each anew on its
baselines to all others; then all together where turns of phase make little difference (`turns`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .kinds import TEC_PHASE_HZ
from .turns import with_best_turns

_POINTS = 200_000  # most that are tried
# A curve is sampled so finely that its highest peak has 95 % of its height; so many at most.
_AS_HIGH, _PEAKS = 0.95, 500
_HALF_AS_HIGH, _FEW_PEAKS = 0.5, 20
_TURNS = 50  # of the whole phase that are looked at more closely
_SWEEPS = 5  # over all antennas, after each has been found once
_FEW_ANTENNAS = 16
_MOST_ON_GRID = 1 << 18  # numbers of a matrix that takes values to a grid


def phase_rate(quantity: str, frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """h(nu): the phase in radians per unit of a "clock" (s) or "tec" (1e16 m^-2)."""
    return 2 * math.pi * frequency_hz if quantity == "clock" else TEC_PHASE_HZ / frequency_hz


def search(spectrum: NDArray[np.complex128], rate: NDArray[np.float64], *, any_phase: bool) -> float:
    """The x for which sum of spectrum exp(-i x rate) is largest; channels without data are 0.

    Its magnitude counts if `any_phase`, else, once that has been found, its real part: then the phase itself tells x to
    within turns of the whole phase, and not only its slope. `spectrum` [channel] or, for spectra of several times each
    of which may have any phase, [time, channel]; `rate` [channel]. 0 where fewer than two channels have data.
    """
    spectrum = np.atleast_2d(spectrum)
    spectrum = spectrum if any_phase else spectrum.sum(axis=0, keepdims=True)
    used = (spectrum != 0).any(axis=0)
    if used.sum() < 2:
        return 0.0
    order = np.argsort(rate[used])
    value, h = spectrum[:, used][:, order].T, rate[used][order]
    span, gap = h[-1] - h[0], np.diff(h)
    if not (span > 0 and (gap > 0).any()):
        return 0.0
    step = math.pi / (4 * span)
    half = min(math.ceil(math.pi / gap[gap > 0].min() / step), _POINTS // 2)
    middle = np.average(h, weights=np.abs(value).sum(axis=1))
    x = step * np.arange(-half, half + 1)
    # Magnitudes do not depend on where rates count from: the middle of the band is the same for all spectra.
    magnitude = magnitudes_on_grid(value, h - 0.5 * (h[0] + h[-1]), step, half)
    if any_phase:
        near = _highest(magnitude, _AS_HIGH, _PEAKS)
        return _largest(value, h - middle, (x[near][:, None] + step * np.linspace(-1, 1, 65)).ravel())
    # Noise may lower the real part where the magnitude is highest.
    near = _highest(magnitude, _HALF_AS_HIGH, _FEW_PEAKS)
    return _turn(value[:, 0], h, middle, x[near], 1 + math.ceil(2 * step * abs(middle)))


def _turn(value, h, middle: float, near: NDArray[np.float64], turns: int) -> float:
    """Of the x within some turns of any of `near` at which the whole phase is 0, the one with the largest real part."""
    terms = value * np.exp(-1j * near[:, None] * h)
    first = near + np.angle(terms.sum(axis=1)) / middle
    # There are many turns where the band is narrow: all are a few long steps and a few short ones away.
    step, few = 2 * math.pi / middle, math.isqrt(2 * turns) + 1
    long = step * (few * np.arange(few) - turns)
    begun = first[:, None] + long
    short_steps, long_steps = (np.exp(-1j * x[:, None] * h) for x in (step * np.arange(few), long))
    at_first = value * np.exp(-1j * first[:, None] * h)
    real = ((at_first[:, None] * long_steps) @ short_steps.T).real
    best = np.argpartition(-real, min(_TURNS, real.size - 1), axis=None)[:_TURNS]
    peak, far, turn = np.unravel_index(best, real.shape)
    x = begun[peak, far] + step * turn
    for _ in range(3):  # Newton's method
        terms = value * np.exp(-1j * x[:, None] * h)
        curvature = (terms.real * h**2).sum(axis=1)
        x = x + np.where(curvature > 0, (terms.imag * h).sum(axis=1) / np.where(curvature > 0, curvature, 1), 0)
    return float(x[np.argmax((value * np.exp(-1j * x[:, None] * h)).sum(axis=1).real)])


class _Spreading:
    """What the Gaussians of values in some places give to the points of a grid."""

    def __init__(self, place: NDArray[np.float64], size: int, spread: int, width: float):
        self._place, self._below = place, np.floor(place).astype(int)
        self._size, self._spread, self._width = size, spread, width
        self._whole: NDArray[np.float64] | None = None

    def places(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """(points, factors) [value], for the points near to each value one after the other."""
        for offset in range(1 - self._spread, self._spread + 1):
            distance = (self._place - self._below - offset) * (2 * math.pi / self._size)
            yield (self._below + offset) % self._size, np.exp(-(distance**2) / (4 * self._width))

    def whole(self) -> NDArray[np.float64]:
        """[point, value]."""
        if self._whole is None:
            whole = np.zeros((self._size, len(self._place)))
            for at, factor in self.places():
                np.add.at(whole, (at, np.arange(len(at))), factor)
            self._whole = whole  # complete, as other threads may look at it
        return self._whole


@functools.lru_cache(maxsize=8)
def _spreading(h: bytes, step: float, size: int, spread: int, width: float) -> _Spreading:
    return _Spreading(step * np.frombuffer(h) * size / (2 * math.pi), size, spread, width)


def magnitudes_on_grid(
    value: NDArray[np.complex128], h: NDArray[np.float64], step: float, half: int
) -> NDArray[np.float64]:
    """Sums over columns of |sum_f value_f exp(-i x h_f)| at x = step (-half ... half), good to 1e-6 of sum |value|.

    `value` [channel, column], `h` [channel] in any places: values go to a grid by Gaussians, are transformed, and what
    the Gaussians have done is divided out (Greengard & Lee 2004, SIAM Review 46, 443, their equations 10 to 12).
    """
    spread = 7  # grid points to either side
    n_mode = 2 * half + 2
    size = max(4 * spread, 1 << (2 * n_mode - 1).bit_length())
    ratio = size / n_mode
    width = math.pi * spread / (n_mode**2 * ratio * (ratio - 0.5))
    # The same for all spectra of a set, and small but for windows that are far from each other.
    spreading = _spreading(np.asarray(h).tobytes(), step, size, spread, width)
    if size * len(h) <= _MOST_ON_GRID:
        grid = spreading.whole() @ value
    else:
        grid = np.zeros((size, value.shape[1]), dtype=complex)
        for at, factor in spreading.places():
            np.add.at(grid, at, factor[:, None] * value)
    modes = np.arange(-half, half + 1)
    found = np.abs(np.fft.fft(grid, axis=0)[modes % size]).sum(axis=1)
    return found * (math.sqrt(math.pi / width) / size) * np.exp(modes.astype(float) ** 2 * width)


def _magnitudes(value, h, x) -> NDArray[np.float64]:
    parts = np.split(x, range(4096, len(x), 4096))
    return np.concatenate([np.abs(np.exp(-1j * some[:, None] * h) @ value).sum(axis=1) for some in parts])


def _highest(magnitude: NDArray[np.float64], fraction: float, most: int) -> NDArray[np.intp]:
    """Peaks of a curve that have this fraction of the height of the highest, the highest first.

    Spectral windows far from each other make many that are nearly as high.
    """
    padded = np.concatenate([[-1.0], magnitude, [-1.0]])
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    peaks = peaks[magnitude[peaks] >= fraction * magnitude.max()]
    return peaks[np.argsort(-magnitude[peaks], kind="stable")[:most]]


def _largest(value, h, x) -> float:
    magnitude = _magnitudes(value, h, x)
    # Of equal ones the smallest: aliases of a regular band have the same magnitude.
    equal = x[magnitude >= magnitude.max() * (1 - 1e-9)]
    return float(equal[np.argmin(np.abs(equal))])


#: Finds the x for which the sum of a spectrum [time, channel] times exp(-i x . rate) is largest: `search`, or one of
#: several unknowns at a time.
Search = Callable[..., float | NDArray[np.float64]]


def fringe_fit(
    matrix: NDArray[np.complex128],
    rate: NDArray[np.float64],
    reference: int,
    *,
    any_phase: bool,
    find_x: Search = search,
    origins: int = 1,
) -> NDArray[np.float64]:
    """The x of each antenna for which the sum of matrix_pq exp(-i (x_p - x_q) rate) is largest, 0 at the reference.

    `matrix` [time, channel, antenna, antenna], Hermitian: sums of weight V conj(model). With `any_phase` antennas may
    have any phase besides, another one at each time. 0 for antennas without data. `rate` [channel], or [unknown,
    channel] for several unknowns, which `find_x` finds; then x are [antenna, unknown]. `origins`: so many antennas are
    begun with, one after the other, where there are few: they may lead each other astray, which depends on the first.
    """
    n = matrix.shape[-1]
    begin = functools.partial(_antenna_by_antenna, matrix, rate, any_phase=any_phase, find_x=find_x)
    x, known, height = begin(reference)
    if 2 < known.sum() <= _FEW_ANTENNAS:
        strength = np.where(known & (np.arange(n) != reference), np.abs(matrix).sum(axis=(0, 1, 3)), 0)
        for first in np.argsort(-strength, kind="stable")[: min(origins, known.sum()) - 1]:
            other, _, higher = begin(int(first))
            if higher > height:
                x, height = other, higher
    if np.ndim(rate) == 2:
        return np.where(known[:, None], x - x[reference], 0.0)
    found = x[:, 0] if any_phase else with_best_turns(matrix.sum(axis=0), rate, x[:, 0])
    return np.where(known, found - found[reference], 0.0)


def _antenna_by_antenna(matrix, rate, first: int, *, any_phase: bool, find_x: Search):
    """x [antenna, unknown], found from a first antenna on; which antennas are known; the sum that is to be large."""
    n_time, _, n, _ = matrix.shape
    rates = np.atleast_2d(rate)
    x, phase = np.zeros((n, len(rates))), np.zeros((n_time, n))
    strength = np.abs(matrix).sum(axis=(0, 1))
    known = np.arange(n) == first

    def find(antenna: int) -> None:
        turned = np.exp(1j * ((x[known] @ rates).T[None] + phase[:, None, known]))
        spectrum = (matrix[:, :, antenna, known] * turned).sum(axis=-1)
        x[antenna] = find_x(spectrum, rate, any_phase=any_phase)
        if any_phase:
            phase[:, antenna] = np.angle((spectrum * np.exp(-1j * (x[antenna] @ rates))).sum(axis=1))

    while True:
        reached = np.where(known, 0.0, strength[:, known].sum(axis=1))
        antenna = int(np.argmax(reached))
        if not reached[antenna] > 0:
            break
        find(antenna)
        known[antenna] = True
    # The first too: all others may have gone astray together.
    everyone = np.flatnonzero(known)
    for _ in range(_SWEEPS if len(everyone) > 2 else 0):
        before = x.copy()
        for antenna in everyone:
            known[antenna] = False
            find(antenna)
            known[antenna] = True
        if (np.abs(x - before) @ np.abs(rates).max(axis=1) < 1e-3).all():
            break
    phasors = np.exp(1j * ((x @ rates).T[None] + phase[:, None]))  # [time, channel, antenna]
    height = np.einsum("tcp,tcpq,tcq->", np.conj(phasors), matrix, phasors, optimize=True).real
    return x, known, float(height)
