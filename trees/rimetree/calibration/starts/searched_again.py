"""Directions that are searched for again, once a fit says what terms of the whole sky are: which solution intervals the
fit explains less well than others, and which of two searches explains each of them better.

A search beside terms of the whole sky that are not yet right finds the wrong turn in some intervals. A fit to all of
them ends near: of many intervals one that is wrong hardly shows in the whole, but it does beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolveReport
from ..directions.baseline_factors import BaselineFactors, orders
from ..directions.goodness import deviations_of
from ..terms.terms import Term
from .named_values import tables_of
from .solved_directions import ChunkSearch, SolvedDirections
from .starting_values import StartingValues

_MOST_BYTES = 64 << 20  # of factors of baselines
_MOST_TURNS, _MOST_SPAN_RAD = 4, 1.0  # of phases of baselines that are looked for besides what was found


@dataclass(frozen=True, eq=False)
class SearchAgain:
    """Of the term of directions that turns phases, in one chunk."""

    one: ChunkSearch
    term: Term

    def falls_short(self, begin: StartingValues, solved: SolveReport) -> float:
        """By how many standard deviations of noise a fit leaves more than with factors of each baseline besides, of all
        times or of that interval of the term of which it leaves most."""
        known = self._left_by(solved)
        if known is None:
            return 0.0
        rate = self.one.search.intervals.rate(self.term, known.sums)[0]
        # Whole turns in the middle of the band are found wrong, and change phases by little over the band.
        span = min(_MOST_SPAN_RAD, _MOST_TURNS * 2 * np.pi * float(np.ptp(rate) / np.abs(rate).mean()))
        some = known.of_some(_MOST_BYTES // known.sums.power[:1].nbytes // orders(span, len(rate)) ** 2)
        # What is taken to be absent may be there.
        sums, at_frequency = some.as_found(()), known.cells[self.term.name][1]
        floor, floor_freedom = BaselineFactors(sums, some.parts, at_frequency, span).of_times()
        count = 2 * some.sums.count.sum(axis=(0, 2, 3))
        at_time = known.cells[self.term.name][0]
        parms = self.one.tree.planes.parms(self._nodes(known))
        free = len(parms) * self._shape[1] * len(some.sums.baselines) / len(known.sums.baselines)
        each = np.stack([some.left(begin.absent).sum(axis=1), count, floor, floor_freedom])
        own = np.stack([each[:, at_time == t].sum(axis=1) for t in range(self._shape[0])])
        own[:, 1] -= free
        return max(
            deviations_of(chi_square, int(freedom), left / max(1, left_freedom), int(left_freedom))
            for chi_square, freedom, left, left_freedom in (*own, own.sum(axis=0))
        )

    def begin(self, before: StartingValues, solved: SolveReport) -> StartingValues:
        """Where another fit begins: what terms of the whole sky are in one that began at `before`, and what is found
        of directions beside these, or was known, in each interval of the term that which explains it best."""
        where = self.one.chunk, self.one.reference, self.one.options
        whole = {parm.node for parm in self.one.tree.parameters if parm.direction is None}
        tables = {name: tables_of(parm)["value"] for name, parm in solved.parms.items()}
        around = {name: value for name, value in tables.items() if name in whole}
        found = self.one.search.run_directions(*where, around)
        found = replace(found, values={**before.values, **around, **found.values}, scale=before.scale)
        found = replace(found, lowest=before.lowest)
        known = self._left_by(solved)
        if known is None or set(found.absent) != set(before.absent):
            return found
        values, least = self._values(known, tables), self._of_intervals(known, known.left(found.absent))
        for other in (found.values, self._together(around, tables, found)):
            of_other = self._values(known, {**tables, **other})
            own = {**known.tables, **{node: {"value": value} for node, value in of_other.items()}}
            left = self._of_intervals(known, replace(known, tables=own).left(found.absent))
            values = {node: np.where(left < least, value, values[node]) for node, value in of_other.items()}
            least = np.minimum(left, least)
        return replace(found, values={**found.values, **values})

    def _together(self, around, known, found: StartingValues) -> Mapping[str, NDArray]:
        """Values of all directions, searched for at once from those that are `known`; none where that is too much."""
        where = self.one.chunk, [self.term], self.one.reference, self.one.options
        sums = self.one.search.sums_inside(*where, around)
        if sums is None:
            return {}
        joint = self.one.search.together_inside(sums.of_parallel_hands(), found.absent, known)
        return {} if joint is None else joint.values

    def _values(self, known: SolvedDirections, values: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Of the term's Parms that were solved for."""
        return {node: np.broadcast_to(values[node], self._shape) for node in self._nodes(known)}

    def _nodes(self, known: SolvedDirections) -> list[str]:
        """Parms of the term that were solved for."""
        own = dict.fromkeys(parm.node for parm in self.one.tree.parameters if parm.term == self.term.name)
        return [node for node in own if node in known.tables]

    def _left_by(self, solved: SolveReport) -> SolvedDirections | None:
        """None where parallel hands do not tell what is left."""
        others = [term for term in self.one.terms if term.per != self.term.per]
        if not all(term.per is None and term.kind.diagonal for term in others):
            return None
        return SolvedDirections.of(self.one, solved, self.term.per)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.one.search.intervals.intervals_of(self.term, self.one.chunk)

    def _of_intervals(self, own: SolvedDirections, of_bins: NDArray) -> NDArray:
        """[time, freq] sums over the bins of each interval of the term."""
        at_time, at_frequency = own.cells[self.term.name]
        total = np.zeros(self._shape, of_bins.dtype)
        np.add.at(total, (at_time[:, None], at_frequency), of_bins)
        return total
