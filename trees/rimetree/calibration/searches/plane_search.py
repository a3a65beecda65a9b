"""Starting values of terms in a plane over the array: the slopes for which data and model are most in phase.

With u = h(nu) (place_p - place_q), the sum of Re V conj(model) exp(-i u . slopes) over baselines and channels is an
image of the direction's surroundings. It is made by a fast Fourier transform on a grid of u; its highest peaks are then
climbed on the sum itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PIXELS = 256  # on a side; at the longest baseline a pixel is a quarter of a turn
_PEAKS, _AS_HIGH = 8, 0.8  # that are climbed, at most, and of which height over that of the highest
_STEPS = 30  # of a climb
_SAME = 1e-9


def best_slopes(sums: NDArray[np.complex128], u: NDArray[np.float64], place: int = 0) -> NDArray[np.float64]:
    """[slope] for which the sum of Re sums exp(-i u . slopes) is largest, `sums` [any], `u` [any, slope]; 0 where there
    is nothing. Of equal peaks that which is nearest to 0. `place`: not the highest, but that of so many higher ones."""
    used = sums != 0
    sums, u = sums[used], u[used]
    longest = np.abs(u).max(initial=0.0)
    if longest == 0:
        return np.zeros(u.shape[1])
    starts = _peaks(sums, u, longest, _AS_HIGH if place == 0 else 0.0)
    if place > 0:
        starts = starts[place : place + 1] if place < len(starts) else starts[-1:]
    peaks = [_climbed(sums, u, start) for start in starts]
    height = np.array([height for _, height in peaks])
    slopes = np.array([slopes for slopes, _ in peaks])
    equal = slopes[height >= height.max() - _SAME * np.abs(sums).sum()]
    return equal[np.argmin(np.linalg.norm(equal, axis=1))]


def _peaks(sums: NDArray[np.complex128], u: NDArray[np.float64], longest: float, as_high: float) -> NDArray[np.float64]:
    """[peak, slope]: the highest of an image, to a pixel, the highest first."""
    pixel = 0.5 * np.pi / longest
    cells = np.rint(u * (_PIXELS * pixel / (2 * np.pi))).astype(int)
    grid = np.zeros((_PIXELS,) * u.shape[1], complex)
    np.add.at(grid, tuple(cells.T), sums)
    image = np.fft.fftshift(np.fft.fftn(grid).real)
    highest = image >= as_high * image.max()
    for axis in range(image.ndim):
        for step in (-1, 1):
            highest &= image >= np.roll(image, step, axis)
    places = np.argwhere(highest)
    order = np.argsort(-image[highest], kind="stable")[:_PEAKS]
    return (places[order] - _PIXELS // 2) * pixel


def _climbed(
    sums: NDArray[np.complex128], u: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """The peak that is reached by steps of Newton, which are halved until they lead up, and its height."""
    turned = sums * np.exp(-1j * (u @ slopes))
    height = float(turned.real.sum())
    for _ in range(_STEPS):
        sizes, axes = np.linalg.eigh((u * turned.real[:, None]).T @ u)
        along = axes.T @ (turned.imag @ u)
        step = axes @ (along / np.maximum(np.abs(sizes), _SAME * max(np.abs(sizes).max(), 1e-300)))
        before = height
        for _ in range(_STEPS):
            other = sums * np.exp(-1j * (u @ (slopes + step)))
            if other.real.sum() >= before:
                slopes, turned, height = slopes + step, other, float(other.real.sum())
                break
            step = 0.5 * step
        if height - before <= _SAME * abs(height):
            break
    return slopes, height
