"""Where fringes are looked for: places of a delay or a TEC so close to each other that no peak is missed, and what a
spectrum is there."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_POINTS = 200_000  # most that are tried
_SPREAD = 7  # points of a grid to either side of a value
_MOST_ON_GRID = 1 << 18  # numbers of a matrix that takes values to a grid


def in_order(
    spectra: NDArray[np.complex128], rate: NDArray[np.float64]
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Spectra [..., channel] and rates, the smallest rate first."""
    order = np.argsort(rate)
    return spectra[..., order], rate[order]


def places_of(h: NDArray[np.float64]) -> tuple[float, int] | None:
    """(step, half): fringes of phases x h are looked for at x = step (-half ... half), `h` [channel] growing. None
    where there is nothing to look for."""
    if len(h) < 2:
        return None
    span, gap = h[-1] - h[0], np.diff(h)
    if not (span > 0 and (gap > 0).any()):
        return None
    step = math.pi / (4 * span)
    return step, min(math.ceil(math.pi / gap[gap > 0].min() / step), _POINTS // 2)


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


def points_of_grid(half: int) -> int:
    """Of the grid that `magnitudes_on_grid` takes values to."""
    return max(4 * _SPREAD, 1 << (4 * half + 3).bit_length())


def magnitudes_on_grid(
    value: NDArray[np.complex128], h: NDArray[np.float64], step: float, half: int
) -> NDArray[np.float64]:
    """|sum_f value_f exp(-i x h_f)| [x, column] at x = step (-half ... half), good to 1e-6 of sum |value|.

    `value` [channel, column], `h` [channel] in any places: values go to a grid by Gaussians, are transformed, and what
    the Gaussians have done is divided out (Greengard & Lee 2004, SIAM Review 46, 443, their equations 10 to 12).
    """
    n_mode, size = 2 * half + 2, points_of_grid(half)
    ratio = size / n_mode
    width = math.pi * _SPREAD / (n_mode**2 * ratio * (ratio - 0.5))
    # The same for all spectra of a set, and small but for windows that are far from each other.
    spreading = _spreading(np.asarray(h).tobytes(), step, size, _SPREAD, width)
    if size * len(h) <= _MOST_ON_GRID:
        grid = spreading.whole() @ value
    else:
        grid = np.zeros((size, value.shape[1]), dtype=complex)
        for at, factor in spreading.places():
            np.add.at(grid, at, factor[:, None] * value)
    modes = np.arange(-half, half + 1)
    found = np.abs(np.fft.fft(grid, axis=0)[modes % size])
    return found * ((math.sqrt(math.pi / width) / size) * np.exp(modes.astype(float) ** 2 * width))[:, None]
