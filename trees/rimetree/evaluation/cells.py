"""The grid of an evaluation: time, frequency and, for images and beams, direction cosines."""

from __future__ import annotations

import numpy as np

from .._core import Error
from ..arguments import numbers

AXES = ("time", "freq", "l", "m")


class Cells:
    """Centres and widths of cells.

    Parameters (all optional; scalars or sequences): `time_s` and `time_width_s` in seconds of MJD (UTC), `freq_hz` and
    `freq_width_hz` in Hz, `l` and `m` direction cosines for nodes that use these axes; or Quantities of such units. A
    width not given is the spacing of the centres (0 for a single cell). Centres are in any order and copied; an axis
    that is given has one at least. Raises `Error` for anything else, and for frequencies of 0 Hz or below.
    """

    def __init__(self, time_s=None, freq_hz=None, *, time_width_s=None, freq_width_hz=None, l=None, m=None):  # noqa: E741
        self._axes = [
            _axis("time_s", time_s, "time_width_s", time_width_s, "s"),
            _axis("freq_hz", freq_hz, "freq_width_hz", freq_width_hz, "Hz"),
            _axis("l", l),
            _axis("m", m),
        ]

    @classmethod
    def from_runtime(cls, axes) -> Cells:
        """From the runtime's list of (centres, widths) or None per axis."""
        cells = cls()
        cells._axes = [None if axis is None else tuple(np.asarray(part) for part in axis) for axis in axes]
        return cells

    def to_runtime(self) -> list:
        """The runtime's form: (centres, widths) or None per axis."""
        return self._axes

    def _part(self, axis: int, part: int) -> np.ndarray:
        if self._axes[axis] is None:
            raise Error(f"these cells have no {AXES[axis]} axis")
        return self._axes[axis][part]

    @property
    def time_s(self) -> np.ndarray:
        return self._part(0, 0)

    @property
    def time_width_s(self) -> np.ndarray:
        return self._part(0, 1)

    @property
    def freq_hz(self) -> np.ndarray:
        return self._part(1, 0)

    @property
    def freq_width_hz(self) -> np.ndarray:
        return self._part(1, 1)

    @property
    def l(self) -> np.ndarray:  # noqa: E743 - the field's name for the direction cosine
        return self._part(2, 0)

    @property
    def m(self) -> np.ndarray:
        return self._part(3, 0)

    @property
    def shape(self) -> tuple[int, ...]:
        """(time, freq), followed by l and m if the grid has them; 1 for an axis it does not have."""
        lengths = [1 if axis is None else len(axis[0]) for axis in self._axes]
        return tuple(lengths[: self.rank])

    @property
    def rank(self) -> int:
        """Number of axes of results: 2, or 4 if the grid has l or m."""
        return 4 if self._axes[2] is not None or self._axes[3] is not None else 2

    def __repr__(self) -> str:
        parts = [
            f"{len(axis[0])} {name} {_span(axis[0], scale)} {unit}".rstrip()
            for name, unit, scale, axis in zip(AXES, ("s", "MHz", "", ""), (1, 1e6, 1, 1), self._axes, strict=True)
            if axis is not None
        ]
        return f"<Cells: {', '.join(parts) or 'no axes'}>"


def _span(centres: np.ndarray, scale: float) -> str:
    first, last = np.round(centres[[0, -1]] / scale, 6)
    return f"{first:.15g} to {last:.15g}" if len(centres) > 1 else f"at {first:.15g}"


def _axis(name: str, centre, name_of_width: str = "", width=None, unit: str = ""):
    if centre is None:
        if width is not None:
            raise Error(f"{name_of_width} is given without {name}: cells have widths along an axis only with centres")
        return None
    centres = np.atleast_1d(_finite(centre, name, unit))
    if centres.ndim != 1:
        raise Error(f"{name} has {centres.ndim} dimensions; expected 1")
    if len(centres) == 0:
        raise Error(f"{name} is empty: an axis of cells has one centre at least (leave it out for none)")
    if name == "freq_hz" and (centres <= 0).any():
        raise Error(f"freq_hz must be positive, not {centres.min():g} Hz")
    if width is None:
        return centres, spacings_of(centres)
    widths = np.abs(_finite(width, name_of_width, unit))
    if widths.shape not in ((), (1,), centres.shape):
        raise Error(f"{name_of_width} has shape {list(widths.shape)}; expected a number or [{len(centres)}]")
    return centres, np.ascontiguousarray(np.broadcast_to(widths, centres.shape))


def spacings_of(centres: np.ndarray) -> np.ndarray:
    """[n] the distance of each from its neighbours, wherever in the list these are; 0 for a single one. Distances that
    are the same but for the rounding of centres are the same: unequal widths of channels take PSV longer."""
    n = len(centres)
    if n < 2:
        return np.zeros(n)
    order = np.argsort(centres, kind="stable")
    ascending = centres[order]
    found = np.gradient(ascending)
    # Each distance is of two centres, each good to half a unit in its last place.
    if np.ptp(found) <= 2 * np.spacing(np.abs(centres).max()):
        found[:] = (ascending[-1] - ascending[0]) / (n - 1)
    spacings = np.empty(n)
    spacings[order] = found
    return spacings


def _finite(value, name: str, unit: str) -> np.ndarray:
    array = numbers(value, name, unit)
    if not np.isfinite(array).all():
        raise Error(f"{name} must be finite, not {array[~np.isfinite(array)].flat[0]}")
    return array
