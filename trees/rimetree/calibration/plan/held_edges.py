"""Where known terms change, so that no cell that data are averaged to reaches over that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup
from ..solutions.choosing import of_own_field
from ..solutions.solutions import Solutions
from ..terms.kinds import FREQUENCY_QUANTITIES, TIME_QUANTITIES
from ..terms.terms import Term
from .planning import GroupPlan

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldEdges:
    """`time_s`, `frequency_hz`: where any of some known terms changes; `moving`: {"time" or "channels": name of a term
    that changes along this axis all the time}."""

    time_s: Float64Array = field(default_factory=lambda: np.zeros(0))
    frequency_hz: Float64Array = field(default_factory=lambda: np.zeros(0))
    moving: dict[str, str] = field(default_factory=dict)


def joined_edges(edges: Sequence[HeldEdges], turning: str = "") -> HeldEdges:
    """Of all of them; `turning`: name of a term that turns feeds in time."""
    moving = {axis: name for one in edges for axis, name in one.moving.items()}
    if turning:
        moving["time"] = turning
    return HeldEdges(
        np.concatenate([np.zeros(0), *(one.time_s for one in edges)]),
        np.concatenate([np.zeros(0), *(one.frequency_hz for one in edges)]),
        moving,
    )


def edges_of_solutions(solutions: Solutions, group: MsGroup, interpolation: str) -> HeldEdges:
    """Of solutions that are held, those of the field of a group where they have any."""
    found = []
    for term in of_own_field(solutions, group).terms:
        intervals = (term.time_s, term.time_width_s), (term.frequency_hz, term.frequency_width_hz)
        found.append(_edges(term.name, set(term.value), *intervals, interpolation))
    return joined_edges(found)


def edges_of_plans(plans: Sequence[GroupPlan], terms: Sequence[Term], field_id: int, interpolation: str) -> HeldEdges:
    """Of what will be found for terms by plans, those of a field where it has any."""
    own = [plan for plan in plans if plan.group.field_id == field_id] or plans
    found = []
    for term in terms:
        times = [chunk.times[term.name] for plan in own for chunk in plan.chunks]
        bands = [plan.frequencies[term.name] for plan in own]
        intervals = [
            tuple(np.concatenate([getattr(axis, what) for axis in axes]) for what in ("centre", "width"))
            for axes in (times, bands)
        ]
        found.append(_edges(term.name, set(term.kind.quantities), *intervals, interpolation))
    return joined_edges(found)


def _edges(name: str, quantities: set[str], times: tuple, frequencies: tuple, interpolation: str) -> HeldEdges:
    linear, moving = interpolation != "nearest", {}
    if linear or TIME_QUANTITIES & quantities:
        moving["time"] = name
    if linear or FREQUENCY_QUANTITIES & quantities:
        moving["channels"] = name
    return HeldEdges(_between(*times), _between(*frequencies), moving)


def _between(centre: Float64Array, width: Float64Array) -> Float64Array:
    """Half-way between intervals that follow each other: from there on the next one is nearest."""
    order = np.argsort(centre, kind="stable")
    low, high = (centre - width / 2)[order], (centre + width / 2)[order]
    return 0.5 * (high[:-1] + low[1:])
