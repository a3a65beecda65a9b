"""Delays and TEC of the whole sky beside directions, before anything is known of these.

A joint search climbs from phases that do not change along the band, and ends next to where these change by less than
half a turn over it. What all directions have in common along frequency is searched for first, whatever their phases
are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..plan.solve_trees import SolveTree
from ..searches.diagonal_gains import on_baselines
from ..searches.interval_search import SEARCHED, IntervalSearch
from ..searches.search_sums import inside
from ..terms.kinds import phase_per_unit
from ..terms.terms import Term
from .named_values import named

_ORIGINS = 3  # of a fringe fit


def without_slopes(
    sums: Coherence, tree: SolveTree, terms: Sequence[Term], intervals: IntervalSearch
) -> tuple[Coherence, dict[str, NDArray[np.float64]]]:
    """Sums of parallel hands in which delays and TEC of the whole sky change phases little along the band, and the
    values {Parm: [time, freq]} that were taken out, to be added to those that are found in these sums. Nothing is taken
    out where that leaves the data no more in phase along frequency.
    """
    taken: dict[str, NDArray[np.float64]] = {}
    for term in terms:
        if term.per is not None or term.kind.name not in SEARCHED:
            continue
        own = _slopes(term, sums, intervals)
        turned = sums.product * on_baselines(np.conj(intervals.phasors(term, own, sums)), sums)[..., None]
        if _in_phase(turned) > _in_phase(sums.product):
            values = named(tree.parameters, term, None, own, list(intervals.plan.group.antennas))
            sums, taken = inside(sums, tree, [term], intervals, values), taken | values
    return sums, taken


def _slopes(term: Term, sums: Coherence, intervals: IntervalSearch) -> NDArray[np.float64]:
    """[element, time, freq, antenna] values of a term, each part of the model having any phase at any time."""
    parts = range(sums.product.shape[4])
    feeds = [np.stack([sums.matrix(sums.product[..., feed, k]) for k in parts]) for feed in (0, 1)]
    feeds = [np.concatenate(feeds)] if term.elements == ("",) else feeds
    rate = phase_per_unit(term.kind.quantities[0], sums.frequency_hz)
    shape = (*intervals.intervals_of(term, sums.bins.chunk), len(sums.antennas))
    return intervals.fringes(feeds, rate, intervals.cells(term, sums), shape, any_phase=True, origins=_ORIGINS)


def _in_phase(product: NDArray[np.complex128]) -> float:
    """How much of products [baseline, time, freq, feed, part] is left when channels are added."""
    return float(np.abs(product.sum(axis=2)).sum())
