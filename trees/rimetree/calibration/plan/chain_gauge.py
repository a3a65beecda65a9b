"""Which Parms of a chain of terms give way where data tell only the product of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.models import Model
from ..terms.conventions import is_normalised_by
from ..terms.full_chains import ExchangePair, exchange_pairs
from ..terms.grid import Axis
from ..terms.term_trees import Parameter
from ..terms.terms import Term
from .solve_trees import SolveTree


class ChainGauge:
    """What conventions hold of the terms of one solve. `ranks`: {term name: its place among those that give way}."""

    def __init__(self, tree: SolveTree, terms: Sequence[Term], model: Model):
        self._tree, self._terms, self._model = tree, list(terms), model

    def pairs(self, ranks: Mapping[str, int], axes: Mapping[str, tuple[Axis, Axis]]) -> list[ExchangePair]:
        """Pairs of terms that can exchange any matrix. `axes`: {term name: intervals in time, in frequency}."""
        return exchange_pairs(self._terms, ranks, axes, self._on_all_directions)

    def rank(self, one: Parameter, ranks: Mapping[str, int], pairs: Sequence[ExchangePair], reference: int) -> int:
        """The state field `normalised` of a Parm. What the reference antenna's inner matrices do not move for is held
        of its outer ones, if anything is open besides. Of directions the brightest comes first: there is settled what a
        term of the whole sky has in common with them; what terms of directions have in common, for each direction."""
        if one.term not in ranks:  # it is held
            return 0
        term = next(term for term in self._terms if term.name == one.term)
        counts = one.direction in (None, self._tree.brightest.get(term.per))
        own = [pair for pair in pairs if one.term in pair.names]
        if own:
            if any(pair.unit == one.term and (counts or pair.of_directions) for pair in own):
                return -1
            whole = one.direction is None or any(pair.of_directions for pair in own)
            return -2 if one.antenna == reference and whole else 0
        if one.term in self._tree.turning and one.antenna == reference and one.element == 1:
            return -2  # what is open between its phase and matrices inside is held as it is
        if ranks[one.term] == 0 or not is_normalised_by(term, one.element):
            return 0
        return 2 * ranks[one.term] - (0 if counts else 1)

    def _on_all_directions(self, term: Term) -> bool:
        every = self._tree.directions[term.name] == tuple(self._model.directions(term.per))
        return every and not any(one.fixed for one in self._tree.parameters if one.term == term.name)
