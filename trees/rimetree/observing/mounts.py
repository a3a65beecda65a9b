"""How antennas of alt-azimuth mounts see the sky turn: parallactic angles, azimuth and elevation, and what the turn
does to feeds. All of it is made of `UVW` nodes: the coordinates of a unit vector, such as the direction of the zenith,
are its components to the east, to the north and along the direction that they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import Error
from ..arguments import checked
from ..directions import require_direction
from ..writing.scope import NodeDef, NodeStub

#: Names of mounts (ANTENNA::MOUNT) by which feeds turn on the sky, and of those by which they do not.
TURNING, STANDING = ("ALT-AZ", "ALTAZ", "AZEL"), ("EQUATORIAL",)

NO_PLACE_M = 1e6
"""Nearer to the middle of the Earth than this there are no antennas, but positions that are not known."""


def horizon(xyz_m: NDArray[np.float64]) -> NDArray[np.float64]:
    """[..., 3, 3]: unit vectors (ITRF) to the east, to the north and to the geodetic zenith of places [..., 3]."""
    import erfa

    longitude, latitude, _ = erfa.gc2gd(1, np.asarray(xyz_m, dtype=float))
    (c, s), (up, out) = ((f(longitude) for f in (np.cos, np.sin)), (f(latitude) for f in (np.sin, np.cos)))
    east = np.stack([-s, c, np.zeros_like(s)], axis=-1)
    north = np.stack([-up * c, -up * s, out], axis=-1)
    zenith = np.stack([out * c, out * s, up], axis=-1)
    return np.stack([east, north, zenith], axis=-2)


@checked
def parallactic_angle(radec_rad: NodeStub | NodeDef | Sequence[float], xyz_m: Sequence[float]) -> NodeDef:
    """The parallactic angle of a direction at a place, rad: that from north through east to the zenith.

    `radec_rad`: a node, or right ascension and declination (ICRS). `xyz_m`: the place, ITRF. By it feeds and beams of
    alt-azimuth mounts turn on the sky (`feed_rotation`). The zenith is the geodetic one; refraction, aberration and
    UT1 - UTC are left out, which is up to 2e-4 rad, and more next to the zenith.
    """
    zenith = horizon(require_place("parallactic_angle: xyz_m", xyz_m))[2]
    to_zenith = _along(radec_rad, zenith)
    return rt.Atan2(to_zenith[0], to_zenith[1])


@checked
def azimuth_elevation(radec_rad: NodeStub | NodeDef | Sequence[float], xyz_m: Sequence[float]) -> NodeDef:
    """[2]: azimuth (from north through east) and elevation of a direction at a place, rad.

    Arguments, and what is left out, as for `parallactic_angle`.
    """
    axes = horizon(require_place("azimuth_elevation: xyz_m", xyz_m))
    to_east, to_north, up = (_along(radec_rad, axis)[2] for axis in axes)
    level = rt.Sqrt(rt.Sqr(to_east) + rt.Sqr(to_north))
    return rt.Composer(rt.Atan2(to_east, to_north), rt.Atan2(up, level))


@checked
def feed_rotation(angle_rad: NodeStub | NodeDef | float, *, feed: Literal["linear", "circular"] = "linear") -> NodeDef:
    """[2,2]: the Jones matrix of feeds that are turned on the sky by an angle, north through east.

    Linear feeds: [[cos, sin], [-sin, cos]]; circular ones: phases -angle (R) and angle (L). With a `parallactic_angle`
    it is what the term `parallactic` of a calibration stands for.
    """
    if feed == "circular":
        return rt.Matrix22(rt.Polar(1.0, rt.Negate(angle_rad)), 0.0, 0.0, rt.Polar(1.0, angle_rad))
    cosine, sine = rt.Cos(angle_rad), rt.Sin(angle_rad)
    return rt.Matrix22(cosine, sine, rt.Negate(sine), cosine)


def _along(radec_rad, itrf: NDArray[np.float64]) -> NodeDef:
    """[3]: components of a unit vector to the east, to the north and along a direction."""
    is_node = isinstance(radec_rad, NodeStub | NodeDef)
    return rt.UVW(radec_rad if is_node else require_direction("radec_rad", radec_rad), itrf, np.zeros(3))


def require_place(name: str, xyz_m: Sequence[float]) -> NDArray[np.float64]:
    """[3], a position on the Earth; raises `Error` for what is none, under this name."""
    place = np.asarray(xyz_m, dtype=float)
    if place.shape != (3,):
        raise Error(f"{name} must be a position [3], got an array of shape {list(place.shape)}")
    if not NO_PLACE_M < np.linalg.norm(place) < np.inf:
        raise Error(f"{name} is {place.tolist()}, which is no place on the Earth")
    return place
