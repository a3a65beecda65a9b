"""Which of some intervals is the one for each of some places, along time or frequency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]

#: Distances that are looked at together.
_BLOCK = 1 << 20


def nearest(centre: Float64Array, width: Float64Array, at: Float64Array) -> NDArray[np.intp]:
    """For each place the interval that holds it, else the one whose edge is nearest; the first of several.

    Intervals may overlap and stand in any order. Where both edges follow each other as the centres do, as those of
    channels, only two are looked at for each place: all of ten thousands of channels would be gigabytes.
    """
    order = np.argsort(centre, kind="stable")
    middle, extent = centre[order], width[order]
    edges = (middle - extent / 2, middle + extent / 2)  # which may be infinite
    if not all((edge[1:] >= edge[:-1]).all() for edge in edges):
        step = max(1, _BLOCK // len(centre))
        blocks = (at[first : first + step, None] for first in range(0, len(at), step))
        return np.concatenate([np.zeros(0, np.intp), *(np.argmin(_far(centre, width, x), axis=1) for x in blocks)])
    right = np.searchsorted(middle, at)
    near = np.clip([right - 1, right], 0, len(middle) - 1)
    near = np.searchsorted(middle, middle)[near]  # of intervals alike the first
    (left_far, right_far), (left, right) = _far(middle[near], extent[near], at), order[near]
    return np.where((right_far < left_far) | ((right_far == left_far) & (right < left)), right, left)


def _far(centre: Float64Array, width: Float64Array, at: Float64Array) -> Float64Array:
    """How far a place is from an interval; of those that hold it (or touch it) the one with the nearer centre is."""
    distance = np.abs(at - centre)
    return np.maximum(distance - width / 2, 0) + 1e-9 * distance
