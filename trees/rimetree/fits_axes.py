"""Axes of FITS images along which places are regular."""

from __future__ import annotations

#: Units that frequencies may have in a header, in small letters.
HERTZ = {"": 1.0, "hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}


def regular_axis(header, number: int, value: float = 0.0) -> tuple[float, float, float]:
    """Of an axis, counted from 1: the value at its reference pixel, the step, and the reference pixel, in the header's
    unit. `value`: that of a header without CRVAL.

    A CD keyword says the step where there is one. CDELT beside it does not count (Greisen & Calabretta 2002, A&A 395,
    1061, section 2.1.2).
    """
    step = float(header.get(f"CDELT{number}", 1.0)) * float(header.get(f"PC{number}_{number}", 1.0))
    step = float(header.get(f"CD{number}_{number}", step))
    return float(header.get(f"CRVAL{number}", value)), step, float(header.get(f"CRPIX{number}", 1.0))
