"""Which Parms of a chain of terms give way where data tell only the product of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .conventions import is_normalised_by
from .full_chains import ExchangePair, exchange_pairs
from .grid import Axis
from .models import Model
from .solve_trees import SolveTree
from .term_trees import Parameter
from .terms import Term


class ChainGauge:
    """What conventions hold of the terms of one solve. `ranks`: {term name: its place among those that give way}."""

    def __init__(self, tree: SolveTree, terms: Sequence[Term], model: Model):
        self._tree, self._terms, self._model = tree, list(terms), model

    def pairs(self, ranks: Mapping[str, int], axes: Mapping[str, tuple[Axis, Axis]]) -> list[ExchangePair]:
        """Pairs of terms that can exchange any matrix. `axes`: {term name: intervals in time, in frequency}."""
        return exchange_pairs(self._terms, ranks, axes, self._on_all_directions)

    def rank(self, one: Parameter, ranks: Mapping[str, int], pairs: Sequence[ExchangePair], reference: int) -> int:
        """The state field `normalised` of a Parm. What the reference antenna's inner matrices do not move for is held
        of its outer ones, if anything is open besides."""
        term = next(term for term in self._terms if term.name == one.term)
        counts = one.direction in (None, self._tree.brightest.get(term.per))
        if any(one.term in pair.names for pair in pairs):
            if counts and any(pair.unit == one.term for pair in pairs):
                return -1
            return -2 if one.antenna == reference and one.direction is None else 0
        return ranks[one.term] if counts and is_normalised_by(term, one.element) else 0

    def _on_all_directions(self, term: Term) -> bool:
        every = self._tree.directions[term.name] == tuple(self._model.directions(term.per))
        return every and not any(one.fixed for one in self._tree.parameters if one.term == term.name)
