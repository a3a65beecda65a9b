"""Solutions that stand out are flagged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ..medians import median_and_sigma
from .term_solutions import TermSolutions


@checked
def without_outliers(found: TermSolutions, most_sigma: float) -> TermSolutions:
    """Solutions of which those are flagged that are further than so many standard deviations (by the median of
    magnitudes) from the median of an antenna, direction and element over times and frequencies: amplitudes by their
    logarithm, delays, TEC, rotations and rotation measures as they are; phases are not looked at. Each field by itself:
    models of some may be too bright."""
    flag = found.flag.copy()
    fields = np.zeros(len(found.time_s)) if found.field_ids is None else found.field_ids
    for quantity, table in found.value.items():
        if quantity == "phase":
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(table) if quantity == "amplitude" else table
        values = np.where(found.flag, np.nan, values)
        for one in np.unique(fields):
            flag[fields == one] |= _standing_out(values[fields == one], most_sigma)
    return replace(found, flag=flag)


def _standing_out(values: NDArray[np.float64], most_sigma: float) -> NDArray[np.bool_]:
    """Of [time, freq, ...], those far from the median over times and frequencies; what is not finite does not count."""
    values = np.where(np.isfinite(values), values, np.nan)
    flat = values.reshape(-1, *values.shape[2:])
    filled = np.where(np.isfinite(flat).any(axis=0), flat, 0.0)
    middle, spread = median_and_sigma(filled)
    return (np.abs(values - middle) > most_sigma * np.where(spread > 0, spread, np.inf)) & np.isfinite(values)
