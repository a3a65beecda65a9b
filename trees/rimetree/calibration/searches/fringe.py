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
    matrices: NDArray[np.complex128],
    rate: NDArray[np.float64],
    reference: int,
    *,
    any_phase: bool,
    find_x: Search = searches,
    origins: int = 1,
) -> NDArray[np.float64]:
    """[tile, antenna] the x for which the sum of matrix_pq exp(-i (x_p - x_q) rate) is largest in each tile, 0 at the
    reference.

    `matrices` [tile, time, channel, antenna, antenna], Hermitian: sums of weight V conj(model). With `any_phase`
    antennas may have any phase besides, another one at each time. 0 for antennas without data. `rate` [channel], or
    [unknown, channel] or [unknown, time, channel] for several unknowns, which `find_x` finds; then x are [tile,
    antenna, unknown]. `origins`: so many antennas are begun with, one after the other, where there are few: they may
    lead each other astray, which depends on the first.
    """
    n = matrices.shape[-1]
    matrices = matrices if any_phase else matrices.sum(axis=1, keepdims=True)
    begin = functools.partial(_antenna_by_antenna, rate=rate, any_phase=any_phase, find_x=find_x)
    x, known, height = begin(matrices, np.full(len(matrices), reference))
    count = known.sum(axis=1)
    strength = np.where(known & (np.arange(n) != reference), np.abs(matrices).sum(axis=(1, 2, 4)), 0)
    strongest = np.argsort(-strength, axis=1, kind="stable")
    for k in range(min(origins, n) - 1):
        own = np.flatnonzero((count > 2) & (count <= _FEW_ANTENNAS) & (k < count - 1))
        if not len(own):
            break
        other, _, higher = begin(matrices[own], strongest[own, k])
        better = higher > height[own]
        x[own[better]], height[own[better]] = other[better], higher[better]
    if np.ndim(rate) == 1:
        x = x[..., 0]
        if not any_phase:
            x = np.stack([with_best_turns(own[0], rate, one) for own, one in zip(matrices, x, strict=True)])
    known = known.reshape(known.shape + (1,) * (x.ndim - 2))
    return np.where(known, x - x[:, [reference]], 0.0)


def _antenna_by_antenna(matrix, first: NDArray[np.intp], *, rate, any_phase: bool, find_x: Search):
    """x [tile, antenna, unknown], found from the `first` antenna [tile] on; which antennas are known [tile, antenna];
    the sum that is to be large [tile].

    Few antennas one after the other; of many as many at a time as are known, and then a part of them.
    """
    n_tile, n_time, n_channel, n, _ = matrix.shape
    rates = np.atleast_2d(rate)
    rates = rates if rates.ndim == 3 else rates[:, None]  # [unknown, time or 1, channel]
    x = np.zeros((n_tile, n, len(rates)))
    few = n <= _FEW_ANTENNAS
    strength = np.abs(matrix).sum(axis=(1, 2))
    known = np.arange(n) == first[:, None]
    matrix = matrix * (1 - np.eye(n))  # with itself an antenna says nothing
    phasors = known[:, None, None] * np.ones((n_time, n_channel, 1), complex)

    def find(tile: NDArray[np.intp], some: NDArray[np.intp]) -> None:
        """Antennas, each of its tile."""
        spectra = np.einsum("atcn,atcn->atc", matrix[tile, :, :, some], phasors[tile])
        x[tile, some] = find_x(spectra, rate, any_phase=any_phase).reshape(len(tile), -1)
        turned = np.tensordot(x[tile, some], rates, 1)  # [antenna, time or 1, channel]
        if any_phase:
            turned = turned + np.angle((spectra * np.exp(-1j * turned)).sum(axis=2, keepdims=True))
        phasors[tile, :, :, some] = np.exp(1j * turned)

    while True:
        reached = np.where(known, 0.0, (strength @ known[..., None])[..., 0])
        order = np.argsort(-reached, axis=1, kind="stable")
        next_ones = np.arange(n) < (1 if few else known.sum(axis=1, keepdims=True))
        tile, place = np.nonzero(next_ones & (np.take_along_axis(reached, order, axis=1) > 0))
        if not len(tile):
            break
        some = order[tile, place]
        find(tile, some)
        known[tile, some] = True
    # The first too: all others may have gone astray together.
    rank, parts = np.cumsum(known, axis=1) - 1, n if few else _PARTS
    going = known.sum(axis=1) > 2
    for _ in range(_SWEEPS):
        before = x.copy()
        for part in range(parts):
            tile, some = np.nonzero(known & going[:, None] & (rank % parts == part))
            if len(tile):
                find(tile, some)
        going &= (np.abs(x - before) @ np.abs(rates).max(axis=(1, 2)) >= 1e-3).any(axis=1)
        if not going.any():
            break
    height = (np.conj(phasors) * (matrix @ phasors[..., None])[..., 0]).real.sum(axis=(1, 2, 3))
    return x, known, height
