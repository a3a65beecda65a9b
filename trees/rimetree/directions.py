"""Directions on the sky: unit vectors, direction cosines, angles between them, means. All angles are in radians.

Forms that do not cancel near the phase centre (Calabretta & Greisen 2002, A&A 395, 1077, section 5.1.5; Sinnott 1984,
Sky and Telescope 68, 158).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import Error


def require_direction(name: str, radec_rad: ArrayLike) -> NDArray[np.float64]:
    """[2], right ascension and declination (rad); raises `Error`, under this name, for what is none, as degrees."""
    found = np.asarray(radec_rad, dtype=float)
    if found.shape != (2,) or not np.isfinite(found).all() or abs(found[1]) > math.pi / 2 + 1e-9:
        raise Error(f"{name} must be right ascension and a declination within +-pi/2, in radians, not {found.tolist()}")
    return found


def unit_vectors(radec_rad: ArrayLike) -> NDArray[np.float64]:
    """[..., 3] x, y and z of directions [..., 2] (right ascension and declination, or longitude and latitude)."""
    ra, dec = np.moveaxis(np.asarray(radec_rad, dtype=float), -1, 0)
    return np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)], axis=-1)


def direction_cosines(radec_rad: ArrayLike, centre_rad: Sequence[float]) -> NDArray[np.float64]:
    """[..., 3] direction cosines l, m, n of directions [..., 2] around a phase centre, as the node `LMN` has them."""
    ra, dec = np.moveaxis(np.asarray(radec_rad, dtype=float), -1, 0)
    ra_0, dec_0 = centre_rad
    versine = 2 * np.sin((ra - ra_0) / 2) ** 2
    east = np.cos(dec) * np.sin(ra - ra_0)
    north = np.sin(dec - dec_0) + np.cos(dec) * np.sin(dec_0) * versine
    towards = np.cos(dec - dec_0) - np.cos(dec) * np.cos(dec_0) * versine
    return np.stack([east, north, towards], axis=-1)


def angles_from(centre_rad: Sequence[float], radec_rad: ArrayLike) -> NDArray[np.float64]:
    """[...] angles between directions [..., 2] and a centre."""
    ra, dec = np.moveaxis(np.asarray(radec_rad, dtype=float), -1, 0)
    ra_0, dec_0 = centre_rad
    square = np.sin((dec - dec_0) / 2) ** 2 + np.cos(dec) * np.cos(dec_0) * np.sin((ra - ra_0) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(np.clip(square, 0, 1)))


def mean_direction(radec_rad: ArrayLike, weight: ArrayLike) -> tuple[float, float]:
    """Right ascension, from 0 to 2 pi, and declination of the mean of directions [source, 2] with weights [source], of
    which not all are 0."""
    x, y, z = np.average(unit_vectors(radec_rad), axis=0, weights=weight)
    return float(np.arctan2(y, x) % (2 * np.pi)), float(np.arctan2(z, np.hypot(x, y)))
