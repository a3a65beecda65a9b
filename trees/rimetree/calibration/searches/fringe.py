"""Starting values for delays and TEC: the fit has a minimum at every turn of phase, and the right one must be begun at.

A baseline to an antenna of known phase gives the spectrum of V conj(model), whose phase is x h(nu), with h = 2 pi nu
for a delay x; the x that brings it into phase is searched for (a fringe fit, as of Schwab & Cotton 1983, AJ 88, 688).
Antenna after antenna is found in this way, on its baselines to all that are known already; then each anew on its
baselines to all others; then all together where turns of phase make little difference (`turns`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .fringe_grid import in_order, magnitudes_on_grid, places_of
from .fringe_turns import search_turns
from .turns import with_best_turns

# A curve is sampled so finely that its highest peak has 95 % of its height; so many at most.
_AS_HIGH, _PEAKS = 0.95, 500
_SWEEPS = 5  # over all antennas, after each has been found once
_FEW_ANTENNAS = 16
_PARTS = 4  # of more antennas, which are found anew together


def search(spectrum: NDArray[np.complex128], rate: NDArray[np.float64], *, any_phase: bool) -> float:
    """The x for which sum of spectrum exp(-i x rate) is largest; channels without data are 0.

    Its magnitude counts if `any_phase`, else, once that has been found, its real part: then the phase itself tells x to
    within turns of the whole phase, and not only its slope. `spectrum` [channel] or, for spectra of several times each
    of which may have any phase, [time, channel]; `rate` [channel]. 0 where fewer than two channels have data.
    """
    spectrum = np.atleast_2d(spectrum)
    if not any_phase:
        return float(search_turns(spectrum.sum(axis=0, keepdims=True), rate)[0])
    used = (spectrum != 0).any(axis=0)
    value, h = in_order(spectrum[:, used], rate[used])
    places = places_of(h)
    if places is None:
        return 0.0
    step, half = places
    # Magnitudes do not depend on where rates count from: the middle of the band is the same for all spectra.
    magnitude = magnitudes_on_grid(value.T, h - 0.5 * (h[0] + h[-1]), step, half).sum(axis=1)
    middle = np.average(h, weights=np.abs(value).sum(axis=0))
    near = step * (_highest(magnitude, _AS_HIGH, _PEAKS) - half)
    return _largest(value.T, h - middle, (near[:, None] + step * np.linspace(-1, 1, 65)).ravel())


def searches(spectra: NDArray[np.complex128], rate: NDArray[np.float64], *, any_phase: bool) -> NDArray[np.float64]:
    """[antenna] `search` of several spectra [antenna, time, channel], together where the phase itself counts."""
    if any_phase:
        return np.array([search(one, rate, any_phase=True) for one in spectra])
    return search_turns(spectra.sum(axis=1), rate)


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


#: Finds the x [antenna] or [antenna, unknown] for which sums of spectra [antenna, time, channel] times exp(-i x . rate)
#: are largest: `searches`, or of several unknowns at a time.
Search = Callable[..., NDArray[np.float64]]


def fringe_fit(
    matrix: NDArray[np.complex128],
    rate: NDArray[np.float64],
    reference: int,
    *,
    any_phase: bool,
    find_x: Search = searches,
    origins: int = 1,
) -> NDArray[np.float64]:
    """The x of each antenna for which the sum of matrix_pq exp(-i (x_p - x_q) rate) is largest, 0 at the reference.

    `matrix` [time, channel, antenna, antenna], Hermitian: sums of weight V conj(model). With `any_phase` antennas may
    have any phase besides, another one at each time. 0 for antennas without data. `rate` [channel], or [unknown,
    channel] or [unknown, time, channel] for several unknowns, which `find_x` finds; then x are [antenna, unknown].
    `origins`: so many antennas are begun with, one after the other, where there are few: they may lead each other
    astray, which depends on the first.
    """
    n = matrix.shape[-1]
    matrix = matrix if any_phase else matrix.sum(axis=0, keepdims=True)
    begin = functools.partial(_antenna_by_antenna, matrix, rate, any_phase=any_phase, find_x=find_x)
    x, known, height = begin(reference)
    if 2 < known.sum() <= _FEW_ANTENNAS:
        strength = np.where(known & (np.arange(n) != reference), np.abs(matrix).sum(axis=(0, 1, 3)), 0)
        for first in np.argsort(-strength, kind="stable")[: min(origins, known.sum()) - 1]:
            other, _, higher = begin(int(first))
            if higher > height:
                x, height = other, higher
    if np.ndim(rate) > 1:
        return np.where(known[:, None], x - x[reference], 0.0)
    found = x[:, 0] if any_phase else with_best_turns(matrix.sum(axis=0), rate, x[:, 0])
    return np.where(known, found - found[reference], 0.0)


def _antenna_by_antenna(matrix, rate, first: int, *, any_phase: bool, find_x: Search):
    """x [antenna, unknown], found from a first antenna on; which antennas are known; the sum that is to be large.

    Few antennas one after the other; of many as many at a time as are known, and then a part of them.
    """
    n_time, n_channel, n, _ = matrix.shape
    rates = np.atleast_2d(rate)
    rates = rates if rates.ndim == 3 else rates[:, None]  # [unknown, time or 1, channel]
    x, phase = np.zeros((n, len(rates))), np.zeros((n_time, n))
    few = n <= _FEW_ANTENNAS
    strength = np.abs(matrix).sum(axis=(0, 1))
    known = np.arange(n) == first
    matrix = matrix * (1 - np.eye(n))  # with itself an antenna says nothing
    phasors = known * np.ones((n_time, n_channel, 1), complex)

    def find(some: NDArray[np.intp]) -> None:
        spectra = np.moveaxis((matrix[:, :, some] @ phasors[..., None])[..., 0], 2, 0)
        x[some] = find_x(spectra, rate, any_phase=any_phase).reshape(len(some), -1)
        turned = np.moveaxis(np.tensordot(x[some], rates, 1), 0, -1)  # [time or 1, channel, antenna]
        if any_phase:
            phase[:, some] = np.angle((np.moveaxis(spectra, 0, 2) * np.exp(-1j * turned)).sum(axis=1))
        phasors[..., some] = np.exp(1j * (turned + phase[:, None, some]))

    while True:
        reached = np.where(known, 0.0, strength[:, known].sum(axis=1))
        some = np.argsort(-reached, kind="stable")[: 1 if few else known.sum()]
        some = some[reached[some] > 0]
        if not len(some):
            break
        find(some)
        known[some] = True
    # The first too: all others may have gone astray together.
    everyone = np.flatnonzero(known)
    parts = len(everyone) if few else _PARTS
    for _ in range(_SWEEPS if len(everyone) > 2 else 0):
        before = x.copy()
        for part in range(parts):
            find(everyone[part::parts])
        if (np.abs(x - before) @ np.abs(rates).max(axis=(1, 2)) < 1e-3).all():
            break
    height = np.vdot(phasors, (matrix @ phasors[..., None])[..., 0]).real
    return x, known, float(height)
