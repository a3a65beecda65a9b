"""What any gains of antennas, others in each bin, leave of data: what chains of diagonal terms can leave at best."""

from __future__ import annotations

import math

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
