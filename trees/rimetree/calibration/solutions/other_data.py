"""Whether solutions that are given are for data like these: what a user should hear before they are used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arguments import checked
from ...ms import MsGroup
from ...ms.selection import times_text
from ...some_names import some_names
from ..errors import CalibrationError
from ..terms.terms import Term
from .choosing import solutions_for
from .solutions import Solutions
from .term_solutions import TermSolutions

_MOST_OFF = 0.5  # of the solutions' band, by which data may be outside it: neighbouring windows are usual
_LONGEST_OFF_S = 3600.0  # by which data may be before or after solutions that change in time


@checked
def frequency_warning(group: MsGroup, solutions: Solutions) -> str:
    """What to say where no solution of some terms is for frequencies near to those of a group; empty: nothing."""
    far = [term for term in solutions.terms if _is_far(term, *group.frequency_hz)]
    if not far:
        return ""
    low = min(_band_hz(term)[0] for term in far) / 1e6
    high = max(_band_hz(term)[1] for term in far) / 1e6
    names = ", ".join(dict.fromkeys(term.name for term in far))
    return (
        f"solutions of {names} are for {low:.6g} to {high:.6g} MHz, the data of field {group.field_id}, window "
        f"{', '.join(map(str, group.data_desc_ids))} are at {group.frequency_hz[0] / 1e6:.6g} to "
        f"{group.frequency_hz[1] / 1e6:.6g} MHz: they get the nearest"
    )


@checked
def time_warning(group: MsGroup, solutions: Solutions) -> str:
    """What to say where terms that change in time have no solutions near to the times of a group; empty: nothing."""
    first_s, last_s = group.some_times_s[[0, -1]].tolist()
    far = [term for term in solutions.terms if len(term.time_s) > 1 and _hours_off(term, first_s, last_s)]
    if not far:
        return ""
    begin_s, end_s = min(_times_s(term)[0] for term in far), max(_times_s(term)[1] for term in far)
    names = ", ".join(dict.fromkeys(term.name for term in far))
    return (
        f"solutions of {names}, which change in time, are for {times_text(begin_s, end_s)} UTC, the data of field "
        f"{group.field_id} are of {times_text(first_s, last_s)}, up to "
        f"{max(_hours_off(term, first_s, last_s) for term in far):.3g} h away: they get the nearest"
    )


@checked
def feed_warning(group: MsGroup, solutions: Solutions) -> str:
    """What to say where solutions are of linear feeds and the data of circular ones, or the other way round; empty:
    nothing. (Other programs call the feeds of any set XX and YY.)"""
    names = [term.name for term in solutions.terms if term.elements != ("",)]
    own = str(solutions.provenance.get("program", "")).startswith("RimeTree")
    if not names or solutions.feed == group.feed or not (own or solutions.feed == "circular"):
        return ""
    return (
        f"solutions of {', '.join(dict.fromkeys(names))} are of {solutions.feed} feeds, those of field "
        f"{group.field_id} are {group.feed} ({' '.join(group.correlations)}): the first feed gets those of the first"
    )


@checked
def check_held(sets: Sequence[Solutions], group: MsGroup) -> None:
    """Raises `CalibrationError` where solutions that are to be held have nothing for any antenna of a group."""
    known = {name for one in sets for term in one.terms for name in term.antennas}
    own = [group.antenna_names[antenna] for antenna in group.antennas]
    if sets and not known & set(own):
        raise CalibrationError(
            f"what is to be held is for other antennas ({some_names(sorted(known))}) than those of field "
            f"{group.field_id} ({some_names(own)}): nothing could be solved on top of it"
        )


@checked
def held_warning(group: MsGroup, solutions: Solutions) -> str:
    """What to say where antennas of a group have nothing among the solutions that are held; empty: nothing."""
    names = (group.antenna_names[antenna] for antenna in group.antennas)
    missing = [name for name in names if not solutions.knows(name)]
    if not missing:
        return ""
    return f"--hold has no solutions for {len(missing)} antennas, {some_names(missing)}: their data are left out"


@checked
def start_warnings(sets: Sequence[Solutions], group: MsGroup, terms: Sequence[Term]) -> list[str]:
    """What to say of terms that were to begin at given solutions and find none there."""
    if not sets:
        return []
    given = {term.name: term for term in solutions_for(sets, group).terms}
    own, found = [group.antenna_names[antenna] for antenna in group.antennas], []
    for term in terms:
        if term.name not in given:
            found.append(f"--start has no term {term.name}, which begins as without it; there are {', '.join(given)}")
        elif not set(given[term.name].antennas) & set(own):
            found.append(
                f"--start has {term.name} for other antennas ({some_names(given[term.name].antennas)}) than the set "
                f"({some_names(own)}): it begins as without it"
            )
        elif given[term.name].of_directions != (term.per is not None):
            kinds = ("single directions", "the whole sky")
            there, wanted = kinds if given[term.name].of_directions else kinds[::-1]
            found.append(f"--start has {term.name} for {there}, but it is solved for {wanted}: it begins as without it")
    return found


def _band_hz(term: TermSolutions) -> tuple[float, float]:
    half = term.frequency_width_hz / 2
    return float((term.frequency_hz - half).min()), float((term.frequency_hz + half).max())


def _times_s(term: TermSolutions) -> tuple[float, float]:
    half = term.time_width_s / 2
    return float((term.time_s - half).min()), float((term.time_s + half).max())


def _hours_off(term: TermSolutions, first_s: float, last_s: float) -> float:
    """By how much times are outside those of a term; 0 where that is less than an hour, or than the solutions' span."""
    begin_s, end_s = _times_s(term)
    off_s = max(begin_s - first_s, last_s - end_s)
    return off_s / 3600 if off_s > max(_LONGEST_OFF_S, end_s - begin_s) else 0.0


def _is_far(term: TermSolutions, low_hz: float, high_hz: float) -> bool:
    """Whether frequencies are outside a band by more than half its width, or a tenth of its middle if that is more."""
    low, high = _band_hz(term)
    if not np.isfinite(low + high) or high <= low:
        return False
    most = max(_MOST_OFF * (high - low), 0.1 * (high + low) / 2)
    return low_hz > high + most or high_hz < low - most
