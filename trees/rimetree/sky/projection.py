"""Shapes on the sky as nodes take them: by their axes as vectors, or as shapes in the (l, m) plane.

A small ellipse at (ra, dec) is drawn with the offsets x to the east and y to the north in the tangent plane at its own
place. Tangents to the east and to the north, as coordinates u, v, w of a phase centre (ra0, dec0), say what of a
baseline it sees (`tangents_at`). To first order the offsets become offsets in the plane of direction cosines by

    dl = cos(a) x - sin(dec) sin(a) y                                            a = ra - ra0
    dm = sin(dec0) sin(a) x + (cos(dec) cos(dec0) + sin(dec) sin(dec0) cos(a)) y

(the derivatives of the SIN projection; Calabretta & Greisen 2002, A&A 395, 1077, section 5.1.5): the position angle
turns by the convergence of meridians, and the axis along the direction from the centre is foreshortened by n. What is
lost is the third coordinate: w across the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def projected(
    shapes_rad: NDArray[np.float64], radec_rad: NDArray[np.float64], centre_rad: Sequence[float]
) -> NDArray[np.float64]:
    """[S,3] major and minor axis and position angle (radians) in the (l, m) plane of a phase centre (ra, dec), of
    ellipses that are drawn on the sky."""
    major, minor, angle = shapes_rad.T
    plane = tangents_at(radec_rad, centre_rad)[:, :, :2].T  # [lm, xy, source]
    axes = np.array([[major * np.sin(angle), minor * np.cos(angle)], [major * np.cos(angle), -minor * np.sin(angle)]])
    left, widths, _ = np.linalg.svd(np.einsum("ijs,jks->sik", plane, axes))
    # The direction of the longer axis (dl, dm); position angles count from north (m) to east (l).
    return np.column_stack([widths, np.arctan2(left[:, 0, 0], left[:, 1, 0]) % np.pi])


def axes_at(shapes_rad: NDArray[np.float64], tangents: NDArray[np.float64]) -> NDArray[np.float64]:
    """[S,6] components along u, v, w of the major and of the minor axis (radians) of ellipses drawn on tangents
    [S,2,3] to the east and to the north."""
    major, minor, angle = shapes_rad.T[:, :, None]
    (east, north), c, s = np.moveaxis(tangents, 1, 0), np.cos(angle), np.sin(angle)
    return np.hstack([major * (s * east + c * north), minor * (c * east - s * north)])


def tangents_at(radec_rad: NDArray[np.float64], centre_rad: Sequence[float]) -> NDArray[np.float64]:
    """[S,2,3] unit vectors to the east and to the north at (ra, dec) as coordinates u, v, w of a phase centre
    (ra0, dec0): the derivatives of l, m, n. With a baseline's they give its u and v as seen at that place."""
    (ra, dec), (ra_0, dec_0) = radec_rad.T, centre_rad
    sin_a, cos_a = np.sin(ra - ra_0), np.cos(ra - ra_0)
    east = [cos_a, np.sin(dec_0) * sin_a, -np.cos(dec_0) * sin_a]
    north = [
        -np.sin(dec) * sin_a,
        np.cos(dec) * np.cos(dec_0) + np.sin(dec) * np.sin(dec_0) * cos_a,
        np.cos(dec) * np.sin(dec_0) - np.sin(dec) * np.cos(dec_0) * cos_a,
    ]
    return np.moveaxis(np.array([east, north]), -1, 0)
