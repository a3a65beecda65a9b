"""Which of several solution sets, of spectral windows and fields, are those for some data."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence

import numpy as np

from ...arguments import checked
from ...ms import MsGroup
from ..errors import CalibrationError
from .solutions import Solutions


@checked
def solutions_for(sets: Sequence[Solutions], group: MsGroup) -> Solutions:
    """The solution set for a group: that of its own window, if it was made from this set, else that with the nearest
    frequencies."""
    return _of_window(sets, group, group.data_desc_ids[0]) or min(sets, key=lambda one: _distance_hz(one, group))


@checked
def chain_for(files: Sequence[Sequence[Solutions]], group: MsGroup) -> Solutions:
    """The terms of several files for a group, those of the first file outside those of the next. Raises
    `CalibrationError` where there are none."""
    if not files or not all(files):
        raise CalibrationError("there are no solutions")
    return functools.reduce(lambda outer, one: one.inside(outer), (solutions_for(sets, group) for sets in files))


def solutions_of_windows(sets: Sequence[Solutions], group: MsGroup) -> list[Solutions]:
    """The solution sets of the windows of a group, each once."""
    found = [_of_window(sets, group, one) for one in group.data_desc_ids]
    return list(dict.fromkeys(one for one in found if one is not None)) or [solutions_for(sets, group)]


def _of_window(sets: Sequence[Solutions], group: MsGroup, data_desc_id: int) -> Solutions | None:
    for solutions in sets:
        made_from = solutions.provenance
        # One set may be of several windows that were solved together.
        windows = str(made_from.get("data_desc_ids") or f"{made_from.get('data_desc_id', -1):.0f}").split()
        if made_from.get("measurement_set") == os.path.realpath(group.path) and str(data_desc_id) in windows:
            return solutions
    return None


def _distance_hz(solutions: Solutions, group: MsGroup) -> float:
    low, high = group.frequency_hz
    centre = np.concatenate([term.frequency_hz for term in solutions.terms])
    return float(np.abs(np.array([centre.min() - low, centre.max() - high])).max())
