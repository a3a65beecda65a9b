"""Coordinates of antennas seen from a direction, in the frame that the direction is given in."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..telescopes import Telescope

_MAS_RAD = math.radians(1 / 3.6e6)
#: Frame bias: the pole of J2000 (mean equator and equinox) in the ICRS along x and y, and the offset of its equinox
#: (IERS Conventions 2010, section 5.4.4).
_POLE_X_RAD, _POLE_Y_RAD, _EQUINOX_RAD = -16.6170 * _MAS_RAD, -6.8192 * _MAS_RAD, -14.6 * _MAS_RAD
#: From vectors in the ICRS to those in J2000; of second order in 8e-8.
_BIAS = np.array(
    [
        [1.0, _EQUINOX_RAD, -_POLE_X_RAD],
        [-_EQUINOX_RAD, 1.0, -_POLE_Y_RAD],
        [_POLE_X_RAD, _POLE_Y_RAD, 1.0],
    ]
)


def evaluate_uvw(
    xyz_m: NDArray[np.float64],
    xyz_0_m: NDArray[np.float64],
    centre_rad: NDArray[np.float64],
    time_s: NDArray[np.float64],
    dut1_s: float,
) -> NDArray[np.float64]:
    """[time, point, 3] coordinates (m) of points [point, 3] (ITRF, m) by a forest of `UVW` nodes, with u to the east
    and v to the north in the ICRS. `centre_rad`: right ascension and declination, ICRS; `time_s`: UTC, seconds of MJD.
    """
    from .. import nodes as rt
    from ..evaluation.cells import Cells
    from ..forest import Forest
    from ..writing.scope import NodeScope

    ns = NodeScope()
    ns.radec_0 << rt.Constant(centre_rad)
    ns.xyz_0 << rt.Constant(xyz_0_m)
    for p, position in enumerate(xyz_m):
        ns.xyz(p) << rt.Constant(position)
        ns.uvw(p) << rt.UVW(ns.radec_0, ns.xyz(p), ns.xyz_0, dut1_s=dut1_s)
    ns.all << rt.Composer(*(ns.uvw(p) for p in range(len(xyz_m))), dims=[0])
    values = Forest(ns).evaluate(ns.all, Cells(time_s, time_width_s=0.0))  # [point, 3, time, 1]
    values = np.broadcast_to(values[..., 0], (len(xyz_m), 3, len(time_s)))
    return np.moveaxis(values, 2, 0)


def antenna_uvw(
    array: Telescope, centre_rad: NDArray[np.float64], time_s: NDArray[np.float64], dut1_s: float, frame: str
) -> NDArray[np.float64]:
    """[time, antenna, 3] coordinates (m) of the antennas of an array around its middle, for a direction in `frame`
    ("ICRS" or "J2000") and along that frame's east and north; times as of `evaluate_uvw`."""
    if frame == "ICRS":
        return evaluate_uvw(array.ecef_m, array.centre_ecef_m, centre_rad, time_s, dut1_s)
    # Towards right ascension and declination 0, u, v and w are y, z and x.
    yzx_m = evaluate_uvw(array.ecef_m, array.centre_ecef_m, np.zeros(2), time_s, dut1_s)
    x, y, z = np.moveaxis(np.roll(yzx_m, 1, axis=-1) @ _BIAS.T, -1, 0)
    (sin_ra, sin_dec), (cos_ra, cos_dec) = np.sin(centre_rad), np.cos(centre_rad)
    outwards = cos_ra * x + sin_ra * y
    return np.stack(
        [cos_ra * y - sin_ra * x, cos_dec * z - sin_dec * outwards, sin_dec * z + cos_dec * outwards], axis=-1
    )
