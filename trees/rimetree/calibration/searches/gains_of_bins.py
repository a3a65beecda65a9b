"""What any gains of antennas, others in each bin, leave of data: what chains of diagonal terms can leave at best; and
amplitudes of gains of which phases are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence

_ROUNDS = 30


def floor_of_gains(sums: Coherence, phase: NDArray[np.float64]) -> tuple[float, int]:
    """As of `Coherence.floor`, of gains that begin at a phase [antenna, time, freq, feed]: found in turns over antennas
    (Salvini & Wijnholds 2014, A&A 571, A97). `sums`: of parallel hands, with one part. NaN where bins have no more
    visibilities than that explains."""
    product = sums.matrix(sums.product[..., 0])  # [time, freq, feed, antenna, antenna]
    power = sums.matrix(sums.power[..., 0, 0]).real
    gain = np.exp(1j * np.moveaxis(phase, 0, -1))

    def best(gain: NDArray[np.complex128]) -> NDArray[np.complex128]:
        size = (power @ (np.abs(gain) ** 2)[..., None])[..., 0]
        return np.where(size > 0, (product @ gain[..., None])[..., 0] / np.where(size > 0, size, 1.0), 0.0)

    for _ in range(_ROUNDS):
        gain = 0.5 * (gain + best(gain))
    p, q = sums.baselines.T
    of = np.moveaxis(gain[..., p] * np.conj(gain[..., q]), -1, 0)  # [baseline, time, freq, feed]
    left = sums.data - 2 * (np.conj(of) * sums.product[..., 0]).real + np.abs(of) ** 2 * sums.power[..., 0, 0].real
    there = (power.sum(axis=-1) > 0).sum(axis=-1)
    freedom = 2 * sums.count.sum(axis=0) - np.maximum(2 * there - 1, 0)
    own = freedom > 0
    if not own.any():
        return math.nan, 0
    count = int(freedom[own].sum())
    return float(left.sum(axis=0)[own].sum() / count), count


def with_amplitudes(
    sums: Coherence, phasors: NDArray[np.complex128], cells: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
) -> NDArray[np.complex128]:
    """Phasors [antenna, time, freq, feed] times amplitudes that are the same where no term has another interval, found
    in turns as gains of bins are. `cells`: of each term, the interval of each bin in time and in frequency. `sums`: of
    one part."""
    at_time, at_frequency = (
        np.unique(np.stack([own[axis] for own in cells]), axis=1, return_inverse=True)[1].ravel() for axis in (0, 1)
    )
    p, q = sums.baselines.T
    there = (sums.product[..., :2, 0] * np.conj(phasors[p]) * phasors[q]).real

    def of_cells(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros((len(values), at_time.max() + 1, at_frequency.max() + 1, 2))
        np.add.at(total, (slice(None), at_time[:, None], at_frequency), values)
        return sums.matrix(total.astype(complex)).real

    product, power = of_cells(np.maximum(there, 0.0)), of_cells(sums.power[..., :2, 0, 0].real)
    size = product.sum(axis=(-2, -1), keepdims=True)[..., 0] / np.maximum(power.sum(axis=(-2, -1))[..., None], 1e-300)
    amplitude = np.sqrt(size) * np.ones(product.shape[:-1])
    for _ in range(_ROUNDS):
        below = (power @ (amplitude**2)[..., None])[..., 0]
        best = (product @ amplitude[..., None])[..., 0] / np.where(below > 0, below, 1.0)
        amplitude = 0.5 * (amplitude + np.where(below > 0, best, 0.0))
    return phasors * np.moveaxis(amplitude, -1, 0)[:, at_time][:, :, at_frequency]
