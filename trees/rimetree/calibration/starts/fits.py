"""The fit of a chunk: begun where a search says, without directions that make it worse or that the data do not have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...evaluation.solving import SolveReport
from ..data.likeness import looks_like_noise
from ..directions.goodness import SIGNIFICANT, chi_square_of, freedom_of
from ..terms.gauge import told_by_terms
from .fewer_directions import (
    BestFit,
    best_fit,
    by_how_much,
    is_explained,
    weights_are_off,
    weights_are_too_small,
    with_more_starts,
)
from .gain_signal import without_noise
from .hidden_directions import hidden
from .made_fits import MadeFits
from .mirrored import mirrored
from .named_values import tables_of
from .searched_again import SearchAgain
from .solved_directions import ChunkSearch
from .starting_values import Run, StartingValues

#: Standard deviations of noise in one of many solves of terms of the whole sky.
_MANY_SOLVES, _TOGETHER = 4.0, 4.5  # one that says so, the root of the sum of all squares
_MOST_TURNS, _MOST_INTERVALS = 8, 12  # of a term; of which each is turned by itself


def fit_chunk(one: ChunkSearch, run: Run, fits: MadeFits) -> BestFit:
    """The best fit to a chunk. `run`: fits Parms to it, and adds to `fits` what it has made."""
    where = one.chunk, one.reference, one.options
    begun = bool(one.options.start)

    def fit(without: frozenset[str]) -> tuple[StartingValues, SolveReport | None]:
        begin = StartingValues({}, absent=tuple(without)) if begun else one.search.begin(*where, run, without)
        return begin, run(begin, None) if begin.solved is None else begin.solved

    def again(before: StartingValues, solved: SolveReport) -> tuple[StartingValues, SolveReport | None]:
        begin = searched.begin(before, solved)
        return begin, run(begin, None)

    names = () if begun else list(one.tree.presence)

    def is_noise(solved: SolveReport, part: float) -> bool | None:
        return looks_like_noise(fits.alike_now(solved), part)

    found = best_fit(fit, names, is_noise)
    if one.search.in_two_steps and names:
        searched = SearchAgain(one, one.search.of_directions)
        found = with_more_starts(found, again, searched.falls_short, is_noise)
    found = without_noise(one, found, fit)
    # The search knows averages only: the fit itself may explain all that there is.
    deviations = None if names else _MANY_SOLVES

    def explains(found: BestFit) -> bool:
        # Of terms of the whole sky alone other starts cost little, and find what is too small to look alike.
        if names and found.solved is not None and weights_are_off(found.begin, found.solved, is_noise):
            return True
        return is_explained(found, deviations) and is_unlike(found)

    def is_unlike(found: BestFit) -> bool:
        each = [own.deviations for own in fits.alike(found.solved)]
        each += [] if deviations is None else [by_how_much(found)]
        # Each says it by itself: what is little of one is not of all.
        return max(each, default=0.0) <= _MANY_SOLVES and math.hypot(*(max(0.0, own) for own in each)) <= _TOGETHER

    for other in found.begin.others:
        if not explains(found):
            before = replace(found.begin, others=())
            own = {"values": other.values, "scale": other.scale, "others": (before,)}
            found = _from(found, replace(before, **own, solved=None), run)
    other_sign = mirrored(one, found)
    if other_sign is not None and not (begun or explains(found)):
        found = _from(found, other_sign, run)
    # Outliers are in all that a robust fit is compared with but in how alike neighbours are.
    enough = explains if one.options.solver.robust_dof > 0 else functools.partial(is_explained, deviations=deviations)
    turns = [] if begun or names else _hidden_turns(one)
    for of_term in turns:
        if not explains(found):
            found = _other_turns(one, found, of_term, run)
    # What is told by little shows in how alike neighbours are.
    by_little = weights_are_too_small(found) or bool(_told(one))
    explained = enough(found) and (not by_little or explains(found))
    if not begun and found.solved is not None and (not explained or weights_are_too_small(found)):
        found = _with_feeds(one, found, run, is_unlike, explained=explained)
    explained = found.begin.lowest is not False or explains(found)
    if not (names or begun or explained):
        found = _from(found, replace(found.begin, values={}, solved=None), run)  # a search may have gone astray
        explained = explains(found)
    doubtful = found.doubtful or not explained
    return replace(found, doubtful=doubtful, hidden=hidden(one, found))


def _from(found: BestFit, begin: StartingValues, run: Run) -> BestFit:
    """The fit that begins elsewhere, if it ends lower."""
    solved = run(begin, None)
    if solved is None or found.solved is None or not chi_square_of(solved) < chi_square_of(found.solved):
        return found
    return replace(found, begin=begin, solved=solved)


def _hidden_turns(one: ChunkSearch) -> list[dict[str, float]]:
    """Of each term {Parm: what turns an antenna's last feed once more}, as of `WholeSkySearch.hidden_turns`; of a
    Faraday rotation where the sky is not polarised, what turns antennas by a quarter, as amplitudes of both feeds may
    be exchanged."""
    steps, found = one.search.hidden_turns, []
    for term in one.terms:
        last = len(term.elements) - 1
        parms = [p for p in one.tree.parameters if p.term == term.name and p.element == last and not p.fixed]
        referred = any(parm.referred for parm in parms)
        if term.name in steps and not (referred and last):  # of two feeds: data do not tell the one of the reference
            found.append({parm.node: (0.5 if referred else 1.0) * steps[term.name] for parm in parms})
    return found


def _other_turns(one: ChunkSearch, found: BestFit, turns: Mapping[str, float], run: Run) -> BestFit:
    """The fit from where the polarisation is turned once more, or less, in all intervals or in one of them, if that
    ends much lower. `turns`: as of `_hidden_turns`, of one term."""
    own = {parm.node: parm for parm in one.tree.parameters if parm.node in turns}
    if found.solved is None or not own:
        return found
    told = [node for node in own if node in found.solved.parms]
    shape = tables_of(found.solved.parms[told[0]])["value"].shape if told else (0,)
    count = math.prod(shape)
    each = [np.arange(count).reshape(shape) == k for k in range(count)] if 1 < count <= _MOST_INTERVALS else []
    for where in [np.ones(shape, bool), *each] if count else ():
        for way in (-1, 1):
            for _ in range(_MOST_TURNS):
                known = {name: tables_of(parm)["value"] for name, parm in found.solved.parms.items()}
                if any(parm.referred for parm in own.values()):
                    known |= _exchanged(one, known, own[told[0]].term, where)
                # What is held at 0 is turned by being released.
                known |= {name: known.get(name, np.zeros(shape)) + way * step * where for name, step in turns.items()}
                released = found.begin.released | {name for name in turns if name not in found.solved.parms}
                begin = replace(found.begin, values={**found.begin.values, **known}, released=released)
                solved = run(begin, None)
                if solved is None or not _is_much_lower(solved, found.solved):
                    break
                found = replace(found, begin=begin, solved=solved)
    return found


def _exchanged(one: ChunkSearch, known: Mapping[str, np.ndarray], turned: str, where: np.ndarray) -> dict:
    """Values of amplitudes inside of a term, where that is turned by a quarter: those of the other feed. `where` [time,
    freq]: in these of its intervals."""
    place = [term.name for term in one.terms].index(turned)
    found: dict[str, np.ndarray] = {}
    for term in one.terms[place + 1 :]:
        if term.kind.name != "amplitude" or len(term.elements) != 2:
            continue
        centres, edges = one.chunk.times[term.name].centre, one.chunk.times[turned].edges
        there = where[np.searchsorted(edges[1:-1], centres, side="right")].any(axis=1)[:, None]
        feeds: dict[tuple, dict[int, str]] = {}
        for parm in one.tree.parameters:
            if parm.term == term.name and parm.node in known:
                feeds.setdefault((parm.antenna, parm.direction), {})[parm.element] = parm.node
        for pair in feeds.values():
            for node, other in ((pair[0], pair[1]), (pair[1], pair[0])) if len(pair) == 2 else ():
                found[node] = np.where(there, known[other], known[node])
    return found


def _is_much_lower(one: SolveReport, other: SolveReport) -> bool:
    """Whether a fit leaves less by more than what another leaves open where it ends."""
    noise = chi_square_of(one) / max(1, freedom_of(one))
    return chi_square_of(other) - chi_square_of(one) > SIGNIFICANT**2 * noise


def _told(one: ChunkSearch) -> frozenset[str]:
    """Parms of the reference antenna that are held though data may tell them, and what would be held instead."""
    released, instead = told_by_terms(one.terms)
    found = set()
    elements = {term.name: term.elements for term in one.terms}
    for own in one.tree.parameters:
        if own.antenna != one.reference or own.fixed or own.term not in elements:
            continue
        place = own.term, own.part, elements[own.term][own.element]
        everywhere = instead.get(place, False) or own.direction in (None, *one.tree.brightest.values())
        if place in released if own.referred else place in instead and everywhere:
            found.add(own.node)
    return frozenset(found)


def _with_feeds(
    one: ChunkSearch, found: BestFit, run: Run, is_unlike: Callable[[BestFit], bool], *, explained: bool
) -> BestFit:
    """The fit with what crossed hands tell of all antennas' feeds, if that ends much lower; and without what is held of
    the reference antenna though data may tell it, if that explains the data: else they hardly tell it, and fits do not
    end. `is_unlike`: whether neighbours are not alike in what a fit leaves; `explained`: whether weights say that the
    fit leaves no more than noise; of noise alone phases that are free take much more than as many unknowns do, so that
    they are to be found in crossed hands then."""
    known = {name: tables_of(parm)["value"] for name, parm in found.solved.parms.items()}
    told = _told(one)
    near = replace(
        found.begin, values={**found.begin.values, **known}, released=told | found.begin.released, solved=None
    )
    turned = one.search.with_feeds(near, one.chunk, one.reference, one.options, fitted=True)
    begins = [turned] if turned.values is not near.values else []
    if told and not explained:
        begins += [near, *(replace(near, values=own.values) for own in (found.begin, *found.begin.others))]
    for begin in begins:
        solved = run(begin, None)
        if solved is None or not _is_much_lower(solved, found.solved):
            continue
        other = replace(found, begin=begin, solved=solved)
        if not told or (is_explained(other, _MANY_SOLVES, by_weights=False) and is_unlike(other)):
            return other
    return found
