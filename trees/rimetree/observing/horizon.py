"""Where directions are above a telescope's horizon; geometric, without refraction."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..directions import unit_vectors
from ..telescopes import Telescope
from .antenna_uvw import evaluate_uvw
from .mounts import horizon

_NAMED = 5


def horizontal(
    array: Telescope, radec_rad: NDArray[np.float64], time_s: NDArray[np.float64], dut1_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([time, direction], [time, direction]) elevations and hour angles (radians, within +-pi) of directions
    [direction, 2]; times as of `evaluate_uvw`."""
    itrs = _itrs(radec_rad, time_s, dut1_s)
    up = unit_vectors((array.longitude_rad, array.latitude_rad))
    hour_angle = array.longitude_rad - np.arctan2(itrs[..., 1], itrs[..., 0])
    return np.arcsin(np.clip(itrs @ up, -1, 1)), np.remainder(hour_angle + math.pi, 2 * math.pi) - math.pi


def elevations_of_antennas(
    array: Telescope, radec_rad: NDArray[np.float64], time_s: NDArray[np.float64], dut1_s: float
) -> NDArray[np.float64]:
    """[time, antenna] elevations of a direction, each antenna's by its own zenith; times as of `evaluate_uvw`."""
    up = horizon(array.ecef_m)[:, 2]
    return np.arcsin(np.clip(_itrs(radec_rad[None], time_s, dut1_s)[:, 0] @ up.T, -1, 1))


def _itrs(radec_rad: NDArray[np.float64], time_s: NDArray[np.float64], dut1_s: float) -> NDArray[np.float64]:
    """[time, direction, 3] unit vectors of directions [direction, 2]."""
    # Seen from right ascension and declination 0, u, v and w are y, z and x: of unit vectors along the ITRS's axes.
    axes = np.roll(evaluate_uvw(np.eye(3), np.zeros(3), np.zeros(2), time_s, dut1_s), 1, axis=-1)
    return np.moveaxis(axes @ unit_vectors(radec_rad).T, 1, -1)


def warn_of_horizon(what: str, elevation_rad: NDArray[np.float64], stacklevel: int) -> None:
    """Of a direction that is below it at some of the times."""
    below = float((elevation_rad < 0).mean())
    if below > 0:
        low, high = (math.degrees(one) for one in (elevation_rad.min(), elevation_rad.max()))
        warnings.warn(
            f"{what} is below the horizon {100 * below:.0f} % of the time (elevation {low:.1f} to {high:.1f} deg)",
            stacklevel=stacklevel + 1,
        )


def warn_of_antennas(
    what: str,
    names: Sequence[str],
    elevation_rad: NDArray[np.float64],
    middle_rad: NDArray[np.float64],
    stacklevel: int,
) -> None:
    """Of antennas that have a direction below their own horizon while it is above that in the middle of the array, as
    telescopes of VLBI may; elevations [time, antenna] and [time]."""
    hidden = (elevation_rad < 0) & (middle_rad >= 0)[:, None]
    lowest = np.where(hidden, elevation_rad, math.pi).min(axis=0)
    below = np.flatnonzero(hidden.any(axis=0))
    if len(below):
        worst = below[np.argsort(lowest[below])]
        named = [f"{names[a]} (elevation {math.degrees(lowest[a]):.1f} deg)" for a in worst[:_NAMED]]
        warnings.warn(
            f"{what} is below the horizon of {len(below)} of {len(names)} antennas at some of the times, and is seen "
            f"by them as if it were not: {', '.join(named)}{', ...' if len(below) > _NAMED else ''}",
            stacklevel=stacklevel + 1,
        )


def warn_of_sources(names: Sequence[str], elevation_rad: NDArray[np.float64], stacklevel: int) -> None:
    """Of sources that are below it at some of the times; elevations [time, source]."""
    lowest = elevation_rad.min(axis=0)
    below = np.flatnonzero(lowest < 0)
    if len(below):
        named = [f"{names[s]} (elevation {math.degrees(lowest[s]):.1f} deg)" for s in below[:_NAMED]]
        warnings.warn(
            f"{len(below)} of {len(names)} sources are below the horizon, and are seen as if they were not: "
            f"{', '.join(named)}{', ...' if len(below) > _NAMED else ''}",
            stacklevel=stacklevel + 1,
        )
