"""Which of several solution sets, of spectral windows and fields, are those for some data."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arguments import checked
from ...ms import MsGroup
from ..errors import CalibrationError
from .one_turn import require_one_turn, turns_of
from .parallactic import with_own_turn
from .solutions import Solutions

#: In the provenance: the fields that solutions were made on.
FIELDS = "fields"
#: In the provenance: how the sky model was seen (`PredictedSky.seen`), empty where it is not known.
SEEN = "model_seen"


def fields_text(names: dict[int, str]) -> str:
    """{FIELD_ID: name} as a line each."""
    return "\n".join(f"{number} {name}" for number, name in sorted(names.items()))


def fields_of(solutions: Solutions) -> dict[int, str]:
    """{FIELD_ID: name} that solutions were made on, as far as they say so."""
    lines = str(solutions.provenance.get(FIELDS, "")).split("\n")
    return {int(number): name for number, _, name in (line.partition(" ") for line in lines) if number.isdigit()}


def of_own_field(solutions: Solutions, group: MsGroup) -> Solutions:
    """Of each term the solutions that were made on the field of a group (in another set: on one of its name), if it has
    any: intervals of fields that are observed in turns overlap, and models of others may be of another scale."""
    same = solutions.provenance.get("measurement_set") == os.path.realpath(group.path)
    named = [number for number, name in fields_of(solutions).items() if name == group.field_name]
    return solutions.of_fields([group.field_id] if same else named)


def of_group(solutions: Solutions, group: MsGroup) -> Solutions:
    """`of_own_field`, with the parallactic angles of the group."""
    return with_own_turn(of_own_field(solutions, group), group)


@checked
def solutions_for(sets: Sequence[Solutions], group: MsGroup) -> Solutions:
    """The solution set for a group: that of its own window, if it was made from this set, else that of the same feeds
    with the nearest frequencies. Terms that it lacks, as they were solved on other windows only, are those of the
    nearest that has them. Raises `CalibrationError` where several of another program are as near: which one is meant
    is not said then."""
    own = _nearest(sets, group)
    made_from = own.provenance.get("measurement_set")
    like = [one for one in sets if made_from and one.provenance.get("measurement_set") == made_from]
    chain = _in_order([[term.name for term in one.terms] for one in like])
    if all(own.has(name) for name in chain):
        return own
    having = {name: [one for one in like if one.has(name)] for name in chain}
    found = (own if own.has(name) else _nearest([one.only([name]) for one in having[name]], group) for name in chain)
    return replace(own, terms=tuple(one[name] for name, one in zip(chain, found, strict=True)))


def _in_order(chains: Sequence[Sequence[str]]) -> list[str]:
    """All names of some lists that are parts of one, in its order."""
    found: list[str] = []
    for chain in chains:
        for place, name in reversed(list(enumerate(chain))):
            if name not in found:
                after = [found.index(other) for other in chain[place + 1 :]]
                found.insert(min(after, default=len(found)), name)
    return found


def _nearest(sets: Sequence[Solutions], group: MsGroup) -> Solutions:
    own = _of_window(sets, group, group.data_desc_ids[0])
    if own is not None:
        return own
    distances = [(one.feed != group.feed, _distance_hz(one, group)) for one in sets]
    nearest = [one for one, distance in zip(sets, distances, strict=True) if distance == min(distances)]
    names = [one.name for one in nearest if one.name and "measurement_set" not in one.provenance]
    if len(nearest) > 1 and len(names) == len(nearest):
        raise CalibrationError(
            f"the solution sets {', '.join(names)} of one file are for the same frequencies: say which, e.g. "
            f"FILE:{names[0]}"
        )
    return nearest[0]


@checked
def chain_for(files: Sequence[Sequence[Solutions]], group: MsGroup) -> Solutions:
    """The terms of several files for a group, those of the first file outside those of the next; of its own field
    where a term has any. Parallactic angles are those of the group. Raises `CalibrationError` where there are none, and
    where feeds would turn twice."""
    if not files or not all(files):
        raise CalibrationError("there are no solutions")
    require_one_turn(name for sets in files for name in turns_of(sets))
    own = (of_group(solutions_for(sets, group), group) for sets in files)
    return functools.reduce(lambda outer, one: one.inside(outer), own)


def solutions_of_windows(sets: Sequence[Solutions], group: MsGroup) -> list[Solutions]:
    """The solution sets of the windows of a group, each once."""
    found = [_of_window(sets, group, one) for one in group.data_desc_ids]
    return list(dict.fromkeys(one for one in found if one is not None)) or [solutions_for(sets, group)]


def window_ids(solutions: Solutions) -> tuple[int, ...]:
    """The data descriptions that solutions were made on, as far as they say so: several, if solved together."""
    made_from = solutions.provenance
    ids = str(made_from.get("data_desc_ids") or f"{made_from.get('data_desc_id', -1):.0f}").split()
    return tuple(int(one) for one in ids if one != "-1")


def _of_window(sets: Sequence[Solutions], group: MsGroup, data_desc_id: int) -> Solutions | None:
    for solutions in sets:
        same = solutions.provenance.get("measurement_set") == os.path.realpath(group.path)
        if same and data_desc_id in window_ids(solutions):
            return solutions
    return None


def _distance_hz(solutions: Solutions, group: MsGroup) -> float:
    low, high = group.frequency_hz
    centre = np.concatenate([term.frequency_hz for term in solutions.terms])
    centre = centre[centre > 0]  # terms without a frequency, as delays of other programs, are for all
    if not len(centre):
        return 0.0
    return float(np.abs(np.array([centre.min() - low, centre.max() - high])).max())
