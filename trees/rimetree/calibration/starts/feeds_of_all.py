"""What all antennas have of one feed against the other, of terms of the whole sky, once all else is known.

Crossed hands alone tell it: of a polarised model by their phase. Of any model leakages and full matrices make crossed
hands, too: of a baseline they have any phase, but the same one within the intervals of the matrices. Terms that stand
outside of these turn the crossed hands of all baselines alike.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import Hands
from ..model.model_trees import SkyPart
from ..plan.planning import CalibrationOptions
from ..plan.solve_trees import SolveTree
from ..searches.diagonal_gains import diagonals, on_hands
from ..searches.feed_differences import of_first_against_second
from ..searches.interval_search import SEARCHED, IntervalSearch
from ..searches.phases_of_rows import Rows
from ..searches.search_sums import SearchSums
from ..terms.conventions import as_fine
from ..terms.grid import Chunk
from ..terms.kinds import LEAKING, phase_per_unit
from ..terms.term_trees import Parameter
from ..terms.terms import Term

_LAST = ("1", "11")  # elements of the second feed
_NEAR_RAD = 0.5  # of what is found after a fit: it has been found by that


class FeedsOfAll:
    """The search for a chain of terms. `polarised`: whether crossed hands of the model have signal."""

    def __init__(self, tree: SolveTree, terms: Sequence[Term], parts: Sequence[SkyPart], *, polarised: bool):
        self._tree, self._terms, self._parts, self._polarised = tree, list(terms), list(parts), polarised
        self._elements = {term.name: dict(enumerate(term.elements)) for term in terms}
        whole = [term for term in terms if term.per is None]
        mixing = next((k for k, term in enumerate(whole) if term.kind.name in LEAKING), None)
        self._outer = whole if mixing is None else whole[:mixing]
        self._mixing = [] if mixing is None else [term for term in whole if term.kind.name in LEAKING]
        self._free = {
            one.term
            for one in tree.parameters
            if one.part not in ("re", "amplitude") and not (one.referred or one.fixed) and self._is_last(one)
        }

    def told(self, released: Collection[str], *, fitted: bool = False) -> list[Term]:
        """Terms of which crossed hands tell it, slopes along frequency first. `released`: as of `SolveTree.solved`;
        `fitted`: also those of which fits mostly find it, and searches for the whole sky."""
        free = self._free | {one.term for one in self._tree.parameters if one.node in released and self._is_last(one)}
        found = [term for term in self._outer if _turns_feeds(term) and term.name in free]
        if not (self._mixing or self._polarised):
            return []
        if not (self._mixing or fitted):
            directions = any(term.per is not None for term in self._terms)
            found = [term for term in found if term.kind.name in SEARCHED and directions]
        return sorted(found, key=lambda term: term.kind.name not in SEARCHED)

    def _is_last(self, one: Parameter) -> bool:
        return self._element(one) in _LAST

    def _mixes(self, one: Parameter) -> bool:
        return one.direction is None and self._element(one) in ("01", "10")

    def _element(self, one: Parameter) -> str:
        return self._elements.get(one.term, {}).get(one.element, "")

    def found(
        self,
        reader: SearchSums,
        intervals: IntervalSearch,
        chunk: Chunk,
        reference: int,
        options: CalibrationOptions,
        known: Mapping[str, NDArray[np.float64]],
        released: Collection[str] = (),
        *,
        fitted: bool = False,
    ) -> Mapping[str, NDArray[np.float64]]:
        """Values {Parm: [time, freq]} as they are `known`, with what all antennas have besides, and without what
        mixes feeds then; the same mapping, where nothing is found. `reference`: as of `SearchSums.read`; `released`,
        `fitted`: as of `told`."""
        unknown = [
            term
            for term in self.told(released, fitted=fitted)
            if any(one.node in known for one in self._of(term)) and not self._is_taken(term, intervals, chunk)
        ]
        sums = None
        if unknown:
            sums = reader.read(chunk, self._terms, True, reference, options, hands=Hands.INTENSITY)
        if sums is None:
            return known
        cells = {term.name: intervals.cells(term, sums) for term in self._terms}
        rows = self._rows(sums, cells, known)
        mixed = {one.node for one in self._tree.parameters if self._mixes(one)}
        values = {name: value for name, value in known.items() if name not in mixed}
        most_rad = 0.0
        steady = [] if self._polarised else [cells[term.name] for term in self._mixing]
        while unknown:
            term = unknown.pop(0)
            others = [cells[one.name] for one in unknown]
            absolute = self._polarised and not any(_turns_feeds(one) for one in unknown)
            rate = phase_per_unit(term.kind.quantities[0], sums.frequency_hz) if term.kind.name in SEARCHED else None
            shape = intervals.intervals_of(term, chunk)
            own = rows.found(cells[term.name], shape, [*steady, *others], rate, absolute=absolute)
            rows = rows.without(cells[term.name], own, rate)
            values |= self._turned(term, own, values)
            most_rad = max(most_rad, np.abs(own).max() * (1.0 if rate is None else np.ptp(rate)))
        return values if most_rad > (_NEAR_RAD if fitted else 0.0) else known

    def _is_taken(self, term: Term, intervals: IntervalSearch, chunk: Chunk) -> bool:
        """Whether full matrices inside of a term can do all that it does, so that data do not tell which does it."""

        def takes(one: Term) -> bool:
            single = intervals.intervals_of(one, chunk)[1] >= intervals.plan.n_channel
            return as_fine(one, term) and (single or term.kind.name not in SEARCHED)

        return any(takes(one) for one in self._mixing if one.kind.name == "full")

    def _of(self, term: Term) -> list[Parameter]:
        """Parms of the second feed of a term."""
        return [one for one in self._tree.parameters if one.term == term.name and self._is_last(one)]

    def _turned(self, term: Term, own: NDArray[np.float64], values) -> dict[str, NDArray[np.float64]]:
        """Values of the second feed of all antennas, with so much less."""
        found, of = {}, {(one.antenna, one.part): one for one in self._of(term)}
        for (antenna, part), one in of.items():
            if part == "re":
                other = of[antenna, "im"]
                gain = values.get(one.node, one.start) + 1j * values.get(other.node, other.start)
                turned = gain * np.exp(-1j * own)
                found |= {one.node: turned.real, other.node: turned.imag}
            elif part in ("phase", "clock"):
                found[one.node] = values.get(one.node, one.start) - own
        return found

    def _rows(self, sums: Coherence, cells, known) -> Rows:
        """Crossed hands without what is known, of which those of all rows are turned alike; a row by itself has any
        phase."""
        n = len(self._parts)
        product = sums.product[..., n:] if self._polarised else sums.product[..., :n]
        ones = np.ones((len(sums.antennas), *product.shape[1:3], 2), complex)

        def gains(terms: Sequence[Term], part: SkyPart) -> NDArray[np.complex128]:
            of = [(term, None if term.per is None else part.directions[term.per]) for term in terms]
            own = (diagonals(self._tree.parameters, *one, known, sums, cells[one[0].name]) for one in of)
            return math.prod(own, start=ones)

        if self._polarised:
            left = sum(
                product[..., k] * np.conj(on_hands(gains(self._terms, part), sums))
                for k, part in enumerate(self._parts)
            )
            seen = of_first_against_second(replace(sums, product=left[..., None]), ones)
            return Rows(seen.sum(axis=(0, 1))[None])
        inner = [term for term in self._terms if term not in self._outer]
        outer = gains(self._outer, self._parts[0])
        found = []
        for feed in (0, 1):  # of the crossed hands, what has come from this one
            left = np.zeros(product.shape[:-1], complex)
            for k, part in enumerate(self._parts):
                own = gains(inner, part)[..., [feed, feed]]
                left += product[..., k] * np.conj(on_hands(own, sums))
            found.append(of_first_against_second(replace(sums, product=left[..., None]), outer))
        rows = np.concatenate(found)
        return Rows(rows.reshape(-1, *rows.shape[2:]))


def _turns_feeds(term: Term) -> bool:
    """Whether a term may turn one feed against the other, but for rates, which are searched for by themselves."""
    return term.elements != ("",) and term.kind.name not in ("amplitude", "leakage", "rate")
