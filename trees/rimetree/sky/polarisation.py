"""Linear polarisation as formats say it: a degree and an angle."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._core import SPEED_OF_LIGHT_M_S


def polarised(stokes: Sequence[float], fraction: float, angle_rad: float) -> list[float]:
    """Stokes parameters with Q and U of a degree and an angle of linear polarisation."""
    linear = stokes[0] * fraction
    return [stokes[0], linear * math.cos(2 * angle_rad), linear * math.sin(2 * angle_rad), stokes[3]]


def turned_rad(rm_rad_m2: float, ref_freq_hz: float) -> float:
    """By how much a rotation measure turns the angle of polarisation from zero wavelength to a frequency."""
    return rm_rad_m2 * (SPEED_OF_LIGHT_M_S / ref_freq_hz) ** 2
