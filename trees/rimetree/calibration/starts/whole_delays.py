"""Delays and TEC of the whole sky beside directions: before anything is known of these, and of feeds once all is.

A joint search climbs from phases that do not change along the band, and ends next to where these change by less than
half a turn over it. What all directions have in common along frequency is searched for first, whatever their phases
are. What all antennas have of one feed against the other is seen by crossed hands alone, once all else is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..plan.solve_trees import SolveTree
from ..searches.diagonal_gains import diagonals, on_baselines, on_hands
from ..searches.feed_differences import difference_of_feeds
from ..searches.interval_search import SEARCHED, IntervalSearch
from ..searches.search_sums import inside
from ..terms.kinds import phase_per_unit
from ..terms.terms import Term
from .named_values import named, sum_of
from .searched_terms import has_delays_of_feeds

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


def with_differences_of_feeds(
    sums: Coherence,
    tree: SolveTree,
    terms: Sequence[Term],
    intervals: IntervalSearch,
    directions: Sequence[Mapping[str | None, str]],
    known: Mapping[str, NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    """Values {Parm: [time, freq]} as they are `known`, with what crossed hands tell of delays of the whole sky.

    `sums`: of all hands; `terms`: all; `directions`: of each part of the sums, as of `SkyPart`.
    """
    free = {one.term for one in tree.parameters if one.element == 1 and not (one.referred or one.fixed)}
    told = [term for term in terms if term.per is None and term.name in free and has_delays_of_feeds(term)]
    if not told or sums.product.shape[3] < 4:
        return dict(known)
    cells, antennas = {term.name: intervals.cells(term, sums) for term in terms}, list(intervals.plan.group.antennas)
    left = np.zeros(sums.product.shape[:-1], complex)
    for k, part in enumerate(directions):
        gains = math.prod(
            diagonals(
                tree.parameters, term, None if term.per is None else part[term.per], known, sums, cells[term.name]
            )
            for term in terms
        )
        left += sums.product[..., k] * np.conj(on_hands(gains, sums))
    one = replace(sums, product=left[..., None])
    ones = np.ones((len(sums.antennas), *left.shape[1:3], 2))
    for term in told:
        any_phase = any(other is not term and _turns_feeds(other) for other in terms)
        own = difference_of_feeds(intervals, term, one, ones, any_phase=any_phase)
        values = np.stack([np.zeros_like(own), -own])[..., None] * np.ones(len(antennas))
        known = sum_of(known, named(tree.parameters, term, None, values, antennas))
    return dict(known)


def _turns_feeds(term: Term) -> bool:
    """Whether a term may turn one feed against the other."""
    return term.elements != ("",) and term.kind.name not in ("amplitude", "leakage")


def _in_phase(product: NDArray[np.complex128]) -> float:
    """How much of products [baseline, time, freq, feed, part] is left when channels are added."""
    return float(np.abs(product.sum(axis=2)).sum())
