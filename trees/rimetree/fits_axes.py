"""FITS images, and their axes along which places are regular."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._core import Error

#: Units that frequencies may have in a header, in small letters.
HERTZ = {"": 1.0, "hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}


def regular_axis(header, number: int, value: float = 0.0) -> tuple[float, float, float]:
    """Of an axis, counted from 1: the value at its reference pixel, the step, and the reference pixel, in the header's
    unit. `value`: that of a header without CRVAL.

    A CD keyword says the step where there is one. CDELT beside it does not count (Greisen & Calabretta 2002, A&A 395,
    1061, section 2.1.2). Raises `Error` for what is no number.
    """
    step = header_number(header, f"CDELT{number}", 1.0) * header_number(header, f"PC{number}_{number}", 1.0)
    step = header_number(header, f"CD{number}_{number}", step)
    return header_number(header, f"CRVAL{number}", value), step, header_number(header, f"CRPIX{number}", 1.0)


def header_number(header, key: str, default: float) -> float:
    """The number of a keyword, also where it is written as text. Raises `Error` for what is none."""
    value = header.get(key, default)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Error(f"{key} is no number: {value!r}") from None


def only_image(file: str) -> tuple:
    """Header and data (float64) of the only image in a file. Raises `Error`, without the file's name."""
    from astropy.io import fits

    try:
        with fits.open(file, memmap=False) as units:
            images: list[tuple[fits.Header, NDArray[np.float64]]] = [
                (unit.header, np.asarray(unit.data, dtype=float))
                for unit in units
                if unit.is_image and unit.data is not None and unit.data.ndim >= 2
            ]
    except (OSError, TypeError, ValueError) as problem:
        raise Error(f"no FITS image that can be read: {problem}") from problem
    if len(images) != 1:
        raise Error(f"the FITS file holds {len(images) or 'no'} images, expected one")
    return images[0]
