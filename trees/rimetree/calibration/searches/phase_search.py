"""Phases of antennas for which visibilities agree best with a model, whatever they were before.

The sum of Re(conj(phasor_p) D_pq phasor_q) over baselines is largest; D is the Hermitian matrix of sums of weight V
conj(model). Its maxima are many where noise is large: it is climbed from several places (the phases of the dominant
eigenvector, and those on the baselines to each antenna), and the highest counts. All antennas take a step at once many
times, and then one after the other, in turns: with D made positive semidefinite by a multiple of the unit matrix, which
changes no maximum, no such step leads down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SWEEPS = 100
_TOGETHER = 30  # steps of all antennas at once before each sweep over them: together they cost half as much as it
_SAME = 1e-9  # of the height: a sweep that adds less is the last
_FEW_ANTENNAS = 16  # among more the eigenvector is good enough
_BATCH = 1 << 22  # numbers that are looked at together


def best_phases(matrix: NDArray[np.complex128], reference: int) -> NDArray[np.float64]:
    """[..., antenna] phases (rad) of matrices [..., antenna, antenna], 0 at the reference and without data."""
    n = matrix.shape[-1]
    flat = matrix.reshape(-1, n, n)
    step = max(1, _BATCH // (n * n * (n + 1 if n <= _FEW_ANTENNAS else 1)))
    found = [_climbed(flat[first : first + step], reference) for first in range(0, len(flat), step)]
    return np.concatenate([*found, np.zeros((0, n))]).reshape(matrix.shape[:-1])


def _climbed(matrix: NDArray[np.complex128], reference: int) -> NDArray[np.float64]:
    n = matrix.shape[-1]
    values, vectors = np.linalg.eigh(matrix)
    starts = vectors[..., -1][:, None, :]
    if n <= _FEW_ANTENNAS:
        starts = np.concatenate([starts, np.swapaxes(matrix, -1, -2) + np.eye(n)], axis=1)
    phasor = _unit(starts)  # [matrix, start, antenna]
    height = _height(matrix, phasor)
    positive = np.swapaxes(matrix, -1, -2) + np.maximum(0.0, -values[:, :1, None]) * np.eye(n)
    rising = np.arange(len(matrix))
    for _ in range(_SWEEPS):
        now = _risen(matrix[rising], positive[rising], phasor[rising])
        phasor[rising], before = now, height[rising]
        height[rising] = _height(matrix[rising], now)
        rising = rising[(height[rising] - before > _SAME * np.abs(height[rising])).any(axis=1)]
        if len(rising) == 0:
            break
    best = phasor[np.arange(len(matrix)), np.argmax(height, axis=1)]
    data = np.abs(matrix).sum(axis=-1) > 0
    origin = np.where(data[:, [reference]], best[:, [reference]], 1)
    phase = np.where(data, np.angle(best * np.conj(origin)), 0.0)
    phase[:, reference] = 0.0
    return phase


def _risen(matrix, positive, phasor: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Phasors after steps of all antennas at once, and a sweep over them."""
    for _ in range(_TOGETHER):
        phasor = _unit(phasor @ positive)
    for antenna in range(matrix.shape[-1]):
        phasor[..., antenna] = _unit((phasor @ matrix[:, antenna, :, None])[..., 0])
    return phasor


def _unit(value: NDArray[np.complex128]) -> NDArray[np.complex128]:
    size = np.abs(value)
    if size.all():
        return value / size
    return np.where(size > 0, value / np.where(size > 0, size, 1), 1)


def _height(matrix: NDArray[np.complex128], phasor: NDArray[np.complex128]) -> NDArray[np.float64]:
    return (np.conj(phasor) * (phasor @ np.swapaxes(matrix, -1, -2))).real.sum(axis=-1)
