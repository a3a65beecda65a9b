"""Where fits of rotations of directions begin, inside of gains and with leakages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..model.model_trees import SkyPart
from ..plan.solve_trees import SolveTree
from ..searches.gains_around_directions import GainsAroundDirections
from ..searches.interval_search import IntervalSearch
from ..terms.terms import Term
from .named_values import named
from .starting_values import StartingValues


def rotated_starts(
    tree: SolveTree,
    rotation: Term,
    outside: Sequence[Term],
    parts: Sequence[SkyPart],
    intervals: IntervalSearch,
    sums: Coherence,
) -> StartingValues | None:
    """Of a rotation of directions and of terms of the whole sky that turn phases; None where that is too much.
    `sums`: of `Hands.INTENSITY`, for each part of the sky."""
    held = [name for own, name in tree.held_turns() if own == rotation.name]
    of_part = [part.directions[rotation.per] for part in parts]
    begins = []
    for one in GainsAroundDirections(intervals, rotation, outside, sums, of_part, held).run():
        values: dict[str, NDArray[np.float64]] = {}
        for name, own in one.angles.items():
            values |= named(tree.parameters, rotation, name, own, sums.antennas)
        for term in outside:
            values |= named(tree.parameters, term, None, one.chain[term.name], sums.antennas)
        begins.append(StartingValues(values, None if tree.scale is None else one.scale, lowest=False))
    return replace(begins[0], others=tuple(begins[1:])) if begins else None
