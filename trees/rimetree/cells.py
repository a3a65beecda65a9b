"""The time and frequency grid of an evaluation."""

from __future__ import annotations

import numpy as np

from ._core import Error

AXES = ("time", "freq", "l", "m")


class Cells:
    """Centres and widths of cells.

    Parameters (all optional; scalars or sequences): `time_s` and `time_width_s` in seconds of MJD (UTC), `freq_hz` and
    `freq_width_hz` in Hz, `l` and `m` direction cosines for nodes that use these axes. A width not given is the
    spacing of the centres (0 for a single cell).
    """

    def __init__(self, time_s=None, freq_hz=None, *, time_width_s=None, freq_width_hz=None, l=None, m=None):  # noqa: E741
        self._axes = [
            _axis("time", time_s, time_width_s),
            _axis("freq", freq_hz, freq_width_hz),
            _axis("l", l, None),
            _axis("m", m, None),
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


def _axis(name: str, centre, width):
    if centre is None:
        if width is not None:
            raise Error(f"cells have widths along the {name} axis but no centres")
        return None
    centres = np.atleast_1d(np.ascontiguousarray(centre, dtype=np.float64))
    if centres.ndim != 1:
        raise Error(f"the {name} axis has {centres.ndim} dimensions; expected 1")
    if width is None:
        widths = np.abs(np.gradient(centres)) if len(centres) > 1 else np.zeros(len(centres))
    else:
        widths = np.ascontiguousarray(np.broadcast_to(np.abs(np.asarray(width, dtype=np.float64)), centres.shape))
    return centres, widths
