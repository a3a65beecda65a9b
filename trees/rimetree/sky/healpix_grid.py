"""The grids of maps of the whole sky in HEALPix pixels, which files of several formats hold.

Source: Gorski et al. 2005, ApJ 622, 759 (pixels); Rayleigh and Jeans' law, I = 2 k T nu^2 / c^2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._core import SPEED_OF_LIGHT_M_S
from .errors import SkyModelError, UnsupportedError

_BOLTZMANN_J_K = 1.380649e-23


def require_pixels(numbers: NDArray[np.int64], side: int, order: str, file: str) -> None:
    """Raises `SkyModelError` for a grid that there is not, and for numbers of pixels that it does not have, or that
    come twice; `UnsupportedError` for an order that is neither "ring" nor "nested"."""
    if side < 1:
        raise SkyModelError(f"NSIDE is {side}, expected the number of pixels along the side of a base pixel", file=file)
    if order not in ("ring", "nested"):
        raise UnsupportedError(f"pixels are in the order {order!r}, expected ring or nested", file=file)
    if order == "nested" and side & (side - 1):
        raise SkyModelError(f"NSIDE is {side}, expected a power of two, as pixels are in nested order", file=file)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < 12 * side**2:
        raise SkyModelError(f"pixels {numbers.min()} to {numbers.max()}, expected 0 to {12 * side**2 - 1}", file=file)
    if len(np.unique(numbers)) < len(numbers):
        raise SkyModelError("a pixel is given twice", file=file)


def pixel_sr(side: int) -> float:
    """The solid angle of a pixel."""
    return 4 * math.pi / (12 * side**2)


def jy_sr_per_kelvin(frequency_hz: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
    """The brightness, in Jy/sr, of 1 K at a frequency."""
    return 2e26 * _BOLTZMANN_J_K * (frequency_hz / SPEED_OF_LIGHT_M_S) ** 2


def pixel_positions(numbers: NDArray[np.int64], side: int, order: str, frame: str) -> NDArray[np.float64]:
    """[pixel,2] right ascension and declination (ICRS) of the middles of pixels in a frame of astropy's."""
    from astropy.coordinates import SkyCoord
    from astropy_healpix.core import healpix_to_lonlat

    there = SkyCoord(*healpix_to_lonlat(numbers, side, order=order), frame=frame).icrs
    return np.column_stack([there.ra.rad % (2 * np.pi), there.dec.rad])
