"""Axes of grids on which patterns of beams are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from .._core import Error
from ..fits_axes import regular_axis
from ..writing.scope import NodeDef

#: Units that angles may have in a header, in small letters.
RADIANS = {"deg": math.pi / 180, "rad": 1.0}


@dataclass(frozen=True)
class Axis:
    """`count` places from `first` on, `step` apart (rad or Hz); or on average, where all of them are listed in
    `places`, which ascend or descend."""

    first: float
    step: float
    count: int
    places: tuple[float, ...] = ()

    def steps(self, x) -> NodeDef:
        """How many steps a node is from the first place; of listed places, at most those to the last."""
        if not self.places:
            return (x - self.first) / self.step
        # Between each place and the next it goes from 0 to 1, and is that much before and behind.
        along = (x - rt.Constant(self.places[:-1])) / np.diff(self.places)
        return rt.MatrixMultiply(np.full((1, self.count - 1), 0.5), rt.Abs(along) - rt.Abs(along - 1) + 1)[0]

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest place."""
        last = self.places[-1] if self.places else self.first + (self.count - 1) * self.step
        return min(self.first, last), max(self.first, last)

    def holds(self, low: float, high: float) -> bool:
        """Whether all from one value to another is between the ends."""
        lowest, highest = self.ends
        return lowest <= low and high <= highest

    def scaled(self, factor: float) -> Axis:
        """The same, in another unit or the other way, if places are not listed."""
        return Axis(self.first * factor, self.step * factor, self.count)


def scale_of(header, number: int, name: str, units: Mapping[str, float]) -> float:
    """What the unit of an axis is in rad or Hz; raises `Error` for one that is not among `units`."""
    unit = str(header.get(f"CUNIT{number}", "")).strip().lower()
    if unit not in units:
        raise Error(f"axis {name} is in {unit or 'no unit'}, expected {', '.join(filter(None, units))}")
    return units[unit]


def read_axis(header, number: int, name: str, units: Mapping[str, float]) -> Axis:
    """A regular axis of a FITS image, counted from 1. Raises `Error` for what is none."""
    scale = scale_of(header, number, name, units)
    value, step, first = regular_axis(header, number)
    if not (math.isfinite(value) and math.isfinite(first) and math.isfinite(step) and step != 0):
        raise Error(f"CRVAL, CDELT or CRPIX of axis {name} is no number, or CDELT is 0")
    return Axis((value + (1 - first) * step) * scale, step * scale, header[f"NAXIS{number}"])
