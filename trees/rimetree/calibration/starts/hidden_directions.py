"""Which of the directions that a fit has left out may be in the data all the same, hidden by noise.

What is not found is absent if it would stand out were it there, with as much of its model in the data as of the
direction that explains most of them. A faint one would not: of it the data say neither. What others can do in its place
does not stand out either: a bright one need turn a little only, where time is too short to tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..directions.goodness import chi_square_of, freedom_of
from ..directions.significance import explained_of_noise, is_hidden
from ..searches.diagonal_gains import on_baselines
from ..searches.interval_search import MOVING, IntervalSearch
from ..terms.terms import has_amplitude
from .fewer_directions import BestFit
from .small_changes import AMPLITUDE, PHASE, left_of, numbered
from .solved_directions import ChunkSearch, SolvedDirections

_DRAWS = 3  # of phases, of all intervals together


def hidden(one: ChunkSearch, found: BestFit) -> tuple[str, ...]:
    """Of the directions without which the best fit to a chunk is. None where no direction says how much there is of
    models."""
    solved, absent = found.solved, set(found.begin.absent)
    if solved is None or not absent or not (chi_square_of(solved) > 0 and freedom_of(solved) > 0):
        return ()
    noise = chi_square_of(solved) / freedom_of(solved)
    names: list[str] = []
    for per in dict.fromkeys(term.per for term in one.terms if term.per is not None):
        directions = SolvedDirections.of(one, solved, per)
        if directions is None:
            continue
        size = {name: directions.size(name) for name in dict.fromkeys(directions.parts) if name not in absent}
        brightest = max(size, key=lambda name: size[name], default=None)
        if brightest is None or not size[brightest] > 0:
            continue
        own = directions.scale**2 * size[brightest]
        if is_hidden(own / noise, _of_noise(one, directions, brightest)):  # as where there is noise alone
            continue
        found_of_model = own / directions.power(brightest).sum()
        for name in dict.fromkeys(one for one in directions.parts if one in absent):
            expected = found_of_model * _apart(directions, one.search.intervals, name, list(size)) / noise
            if directions.power(name).any() and is_hidden(expected, _of_noise(one, directions, name)):
                names.append(name)
    return tuple(names)


def _apart(directions: SolvedDirections, intervals: IntervalSearch, name: str, others: Sequence[str]) -> float:
    """How much of the power of a direction's model others cannot take: the mean over some phases that it may have."""
    rng = np.random.default_rng(0)  # the same data give the same solutions
    sums, turns, scales = directions.sums, [], False
    for other in others:
        factors = directions.seen(other)
        for term in directions.terms_of(other):
            rate = intervals.rate(term, sums) if term.kind.name in MOVING else None
            turns.append((other, factors if rate is None else factors * (rate / np.abs(rate).max())[..., None]))
            scales = scales or has_amplitude([term])
    each = [directions.cells[term.name] for term in directions.terms]
    feeds_apart = any(len(term.elements) > 1 for term in directions.terms)
    cells = numbered(each, sums.product.shape[1:4], feeds_apart=feeds_apart)
    changed = np.full((1 + len(turns), 2), scales)
    changed[:, PHASE] = changed[0, AMPLITUDE] = True
    found, draws = 0.0, math.ceil(_DRAWS / (cells.max() + 1))
    for _ in range(draws):
        phase = rng.uniform(-np.pi, np.pi, (len(sums.antennas), cells.max() + 1))[:, cells]
        seen = [(name, on_baselines(np.exp(1j * phase), sums)), *turns]
        found += left_of([0], seen, directions, cells, changed)[0]
    return found / draws


def _of_noise(one: ChunkSearch, directions: SolvedDirections, name: str) -> float:
    """Variances of noise that a search for a direction's unknowns explains."""
    searched = {term.name for term in directions.terms if term.kind.name in MOVING}
    solved = {own.node for own in one.tree.solved(one.reference)}
    count = [0, 0]
    for term, unknowns in directions.unknowns(name, solved).items():
        count[term in searched] += unknowns
    return explained_of_noise(phases=count[False], turns=count[True])
