"""Where the sources are that a beam is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import nodes as rt
from .._core import Error
from ..directions import require_direction
from ..writing.scope import NodeDef, NodeScope, NodeStub


@dataclass(frozen=True)
class Place:
    """Directions of `n_source` sources, as nodes: `radec` [S,2]; `centre` [2], right ascension and declination of where
    a beam points; `lmn` [S,3], direction cosines from there."""

    radec: Any
    centre: Any
    lmn: Any
    n_source: int

    @classmethod
    def of(cls, ns: NodeScope, radec_rad: NDArray[np.float64], centre_rad: Sequence[float]) -> Place:
        """Constant ones; `ns.lmn` are the direction cosines."""
        radec, centre = rt.Constant(radec_rad), rt.Constant(centre_rad)
        return cls(radec, centre, ns.lmn << rt.LMN(radec, centre), len(radec_rad))

    def unit(self) -> NodeDef:
        """[S,2,2], unit matrices."""
        return rt.Constant(np.tile(np.eye(2), (self.n_source, 1, 1)))


def horizon_nodes(centre, axes: NDArray[np.float64]) -> NodeDef:
    """[3,3]: unit vectors (ITRF) `axes` as coordinates u, v, w of a direction [2]."""
    return rt.Composer(*(rt.UVW(centre, axis, np.zeros(3)) for axis in axes), dims=[3, 3])


def drift_frame(azel_rad: Sequence[float]) -> NDArray[np.float64]:
    """[3,3]: what u, v and w are for a direction that stands, of this azimuth and elevation: unit vectors as components
    to the east, the north and the zenith. v is upwards, or where azimuth points at the zenith."""
    azimuth, elevation = azel_rad
    level = np.array([np.sin(azimuth), np.cos(azimuth), 0.0])
    w = level * np.cos(elevation) + [0.0, 0.0, np.sin(elevation)]
    v = [0.0, 0.0, np.cos(elevation)] - level * np.sin(elevation)
    return np.stack([np.cross(v, w), v, w])


def drifting(ns: NodeScope, k: int, place: Place, horizon, azel_rad: Sequence[float]) -> NodeStub:
    """`ns.drifting(k)` [S,3]: direction cosines of sources that drift through a beam of this azimuth and elevation.
    `horizon` [3,3]: of `horizon_nodes`, of the centre of the place."""
    return ns.drifting(k) << rt.MatrixMultiply(
        place.lmn, rt.Transpose(rt.MatrixMultiply(drift_frame(azel_rad), horizon))
    )


def require_pointings(of: str, *, radec_rad: ArrayLike | None, azel_rad: ArrayLike | None) -> None:
    """Raises `Error` for pointings that are none, or two."""
    if radec_rad is not None and azel_rad is not None:
        raise Error(f"a {of} follows the sky (pointing_rad) or stands (azel_rad), not both")
    if radec_rad is not None:
        require_direction(f"pointing_rad of a {of}", radec_rad)
    if azel_rad is not None and not (
        np.shape(azel_rad) == (2,) and np.isfinite(azel_rad).all() and 0 <= azel_rad[1] <= np.pi / 2 + 1e-9
    ):
        raise Error(f"azel_rad of a {of} must be an azimuth and an elevation of 0 to 90 deg, not {azel_rad} rad")


def pointing_text(radec_rad: Sequence[float] | None, azel_rad: Sequence[float] | None) -> str:
    """ " towards 53.1 -27.8 deg", " at azimuth 90 and elevation 60 deg", or nothing."""
    if radec_rad is not None:
        return " towards {:.7g} {:.7g} deg".format(*np.degrees(radec_rad))
    if azel_rad is not None:
        return " at azimuth {:.6g} and elevation {:.6g} deg".format(*np.degrees(azel_rad))
    return ""
