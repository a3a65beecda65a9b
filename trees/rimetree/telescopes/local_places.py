"""Places to the east, the north and upwards of another as geocentric ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .telescope import TelescopeError


def geocentric(
    enu_m: NDArray[np.float64], longitude_deg: float, latitude_deg: float, height_m: float
) -> NDArray[np.float64]:
    """[A,3] geocentric places (ITRF) of those [A,3] in the plane that touches the ellipsoid (WGS84) below a place,
    moved up to its height. Raises `TelescopeError` for what is no place."""
    from astropy.coordinates import EarthLocation

    if not (abs(latitude_deg) <= 90 and abs(longitude_deg) <= 360 and np.isfinite(height_m)):
        raise TelescopeError(f"{longitude_deg:g}, {latitude_deg:g} are no longitude and latitude in degrees")
    origin = EarthLocation.from_geodetic(longitude_deg, latitude_deg, height_m)
    longitude, latitude = np.radians([longitude_deg, latitude_deg])
    east = [-np.sin(longitude), np.cos(longitude), 0.0]
    up = [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    axes = np.array([east, np.cross(up, east), up])
    return np.array([origin.x.to_value("m"), origin.y.to_value("m"), origin.z.to_value("m")]) + enu_m @ axes
