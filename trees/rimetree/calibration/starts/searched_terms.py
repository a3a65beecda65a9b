"""Which terms of a chain are searched for, and by which hands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..plan.planning import GroupPlan
from ..plan.solve_trees import SolveTree
from ..searches.interval_search import SEARCHED
from ..terms.kinds import KINDS, ROTATIONS
from ..terms.terms import Term, has_amplitude
from .whole_sky import WholeSkySearch

_DIAGONAL = [kind.name for kind in KINDS.values() if kind.diagonal and kind.name != "rate"]


@dataclass(frozen=True)
class SearchedTerms:
    """Attributes
    ----------
    each : the term by which directions are searched for one after the other; empty where there is none
    around : terms of the whole sky
    several : whether other terms of directions turn phases, too
    circular : whether directions are searched for by the hands of circular feeds
    rotated : the rotation of directions that is searched for inside of gains, or with leakages
    crossed : directions of which crossed hands tell what all antennas have of one feed against the other
    in_doubt : whether the fit may end in any minimum, as parallel hands do not tell all
    scaled : whether the data's own scale belongs to no term
    """

    each: tuple[Term, ...]
    around: tuple[Term, ...]
    several: bool
    circular: bool
    rotated: Term | None
    crossed: frozenset[str | None]
    in_doubt: bool
    scaled: bool

    @classmethod
    def of(cls, plan: GroupPlan, tree: SolveTree, terms: Sequence[Term], whole: WholeSkySearch) -> SearchedTerms:
        """Of the terms that are solved for together."""
        of_directions = [term for term in terms if term.per is not None]
        rotations = [term for term in terms if term.kind.name in ROTATIONS]
        # Of directions alone: beside a phase half a turn more of it and of all rotations of an antenna is the same.
        rest = [term for term in terms if term not in rotations]
        alone = of_directions == rotations and len(rotations) == 1
        alone = alone and all(term.kind.name == "amplitude" and term.scalar for term in rest)
        circular = whole.by_circular_hands and alone
        apart = of_directions == rotations and len(rotations) == 1 and rotations[0].kind.name == "rotation"
        apart = apart and not circular and plan.group.feed == "linear" and len(plan.group.correlations) == 4
        inside = apart and all(one.kind.name in ("leakage", *_DIAGONAL) for one in rest)
        rates = [term for term in of_directions if term.kind.name == "rate"]  # which begin at 0
        turning = [term for term in of_directions if term.turns and term not in rates]
        each = of_directions if circular else turning[:1]
        # What all antennas have of one feed against the other, where it is not held, is told by crossed hands.
        of_feeds = {term.name for term in each if term.kind.name in SEARCHED and len(term.elements) == 2}
        free = [one for one in tree.parameters if one.element == 1 and not (one.referred or one.fixed)]
        directions = frozenset(one.direction for one in free if one.term in of_feeds)
        crossed = directions if len(plan.group.correlations) == 4 else frozenset()
        around = tuple(term for term in terms if term.per is None)
        several = len(turning) > 1
        turned = any(term.per is not None for term in rotations) and not circular
        return cls(
            each=tuple(each),
            around=around,
            several=several,
            circular=circular,
            rotated=rotations[0] if inside else None,
            crossed=crossed,
            in_doubt=turned
            or bool(rates)
            or any(term.plane for term in terms)
            or whole.in_doubt
            or bool(crossed and (around or several)),
            scaled=not has_amplitude(terms),
        )

    @property
    def in_two_steps(self) -> bool:
        """Whether directions are searched for once terms of the whole sky are known."""
        return bool(self.each and self.around)
