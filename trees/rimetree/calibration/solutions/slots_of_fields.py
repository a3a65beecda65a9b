"""Times at which known terms have values: those of the time slots of fields."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CalibrationError

_SAME_TIME_S = 1e-3


def distinct(time_s: ArrayLike) -> NDArray[np.float64]:
    """Times that ascend, each once: spectral windows may differ in the last digits of a time."""
    times = np.unique(np.asarray(time_s, dtype=float))
    return times[np.diff(times, prepend=-np.inf) >= _SAME_TIME_S]


def require_one_field_at_a_time(time_s: NDArray[np.float64], path: str | os.PathLike, what_to_do: str) -> None:
    """`time_s`: of all fields, ascending. Raises `CalibrationError` where two are at the same time."""
    if (np.diff(time_s) < _SAME_TIME_S).any():
        raise CalibrationError(
            f"{os.fspath(path)} has several fields at the same times, and solutions are chosen by time: {what_to_do}"
        )
