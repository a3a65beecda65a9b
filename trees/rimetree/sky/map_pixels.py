"""Pixels of images and of maps of the whole sky: which of them hold anything, and what their units are.

Cleaning with several scales, and smoothing, leave rounding of transforms in all pixels. The faintest are left out, if
each is less than single precision tells of the brightest and all together are next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .errors import SkyModelError
from .model import Skipped

if TYPE_CHECKING:
    from astropy.units import UnitBase

_FAINT, _FAINT_TOGETHER = 2.0**-24, 1e-5  # of the brightest pixel; of the sum of magnitudes
_CAPITALS = {"jy": "Jy", "pixel": "pixel", "pix": "pix"}  # names of units that CASA and others write in capitals


def pixels_with_flux(
    planes: NDArray[np.float64], name_of: Callable[[int], str], file: str
) -> tuple[NDArray[np.intp], tuple[Skipped, ...]]:
    """Which pixels hold anything in planes [any,pixel], and what was left out. Those that are NaN in all planes are
    outside of the image.

    `name_of` a pixel is for messages. Raises `SkyModelError` for infinite pixels, and for those that are blank in some
    planes and not in others.
    """
    if (endless := np.isinf(planes).any(axis=0)).any():
        first = name_of(int(endless.argmax()))
        raise SkyModelError(f"{endless.sum()} pixels are infinite, {first} the first of them", file=file)
    blank = np.isnan(planes)
    if (half := blank.any(axis=0) & ~blank.all(axis=0)).any():
        first = name_of(int(half.argmax()))
        raise SkyModelError(
            f"{half.sum()} pixels are blank in some planes and not in others, {first} the first of them", file=file
        )
    largest = np.where(blank[0], 0.0, np.abs(planes).max(axis=0, initial=0.0))
    faint = _rounding(largest)
    return np.flatnonzero((largest > 0) & ~faint), _left_out(largest, faint, file)


def _rounding(largest: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pixels are no more than rounding of the others, of the largest magnitude that each has."""
    found = np.zeros(largest.shape, bool)
    faint = np.flatnonzero((largest > 0) & (largest < _FAINT * largest.max(initial=0.0)))
    faint = faint[np.argsort(largest[faint])]
    found[faint[np.cumsum(largest[faint]) <= _FAINT_TOGETHER * largest.sum()]] = True
    return found


def _left_out(largest: NDArray[np.float64], faint: NDArray[np.bool_], file: str) -> tuple[Skipped, ...]:
    if not faint.any():
        return ()
    most, together = largest[faint].max() / largest.max(), largest[faint].sum() / largest.sum()
    reason = f"each is at most {most:.2g} of the brightest, as rounding is, and together they are {together:.2g} of all"
    return (Skipped(f"{faint.sum()} pixels", SkyModelError(reason, file=file)),)


def unit_named(text: str) -> UnitBase:
    """The unit that a FITS file names in any of the ways there are. Raises `ValueError` for what is none."""
    from astropy import units

    return units.Unit(re.sub("[A-Za-z]+", lambda word: _CAPITALS.get(word[0].lower(), word[0]), text))
