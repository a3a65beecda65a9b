"""Signs that are left open: a reference gain that is held real may come out negative, with all others of its feed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...evaluation.solving import SolveReport
from ...forest import Forest
from ..terms.term_trees import Parameter
from ..terms.terms import Term
from .named_values import tables_of


def make_references_positive(
    terms: Sequence[Term], parameters: Sequence[Parameter], solved: dict[str, dict[str, np.ndarray]], reference: int
) -> None:
    """Turn the gains of a feed by half a turn, for all antennas, where the held gain of the reference is negative.

    `solved`: {name of the Parm: {"value": [time, freq], ...}}; changed in place. What terms inside others do to the
    feeds would change as well if they mix them: terms around such are left as they are.
    """
    for position, term in enumerate(terms):
        inner = [t for t in terms[position + 1 :] if t.per == term.per] + [t for t in terms if t.per and not term.per]
        if term.elements != ("",) and not all(other.kind.diagonal for other in inner):
            continue
        own = {(p.part, p.element, p.antenna, p.direction): p for p in parameters if p.term == term.name}
        held = {term.elements[p.element][-1:] for p in own.values() if p.part == "im" and p.referred}
        for (part, element, antenna, direction), parameter in own.items():
            name = term.elements[element]
            if antenna != reference or part != "im" or not parameter.referred or name not in ("", "0", "1", "00", "11"):
                continue
            real = solved.get(own["re", element, antenna, direction].node)
            if real is None:
                continue
            sign = np.where(real["value"] < 0, -1.0, 1.0)
            for one in own.values():
                column = term.elements[one.element][-1:]
                turns = column == name[-1:] or column not in held  # a feed whose phase the other's tells goes with it
                if one.direction == direction and turns and one.node in solved:
                    solved[one.node]["value"] = solved[one.node]["value"] * sign


def turned_in_forest(
    forest: Forest, terms: Sequence[Term], parameters: Sequence[Parameter], solved: SolveReport, reference: int
) -> bool:
    """Whether any term was normalised although it has gains that are half a turn off in some intervals, which have
    another mean. The Parms of the forest then hold turned ones, and are to be solved for again."""
    if not any(parm.normalised for parm in solved.parms.values()):
        return False
    tables = {name: tables_of(parm) for name, parm in solved.parms.items()}
    before = {name: table["value"] for name, table in tables.items()}
    make_references_positive(terms, parameters, tables, reference)
    turned = {
        name: table["value"]
        for name, table in tables.items()
        if not np.array_equal(table["value"], before[name], equal_nan=True)
    }
    for name, value in turned.items():
        forest.set_state(name, value=np.ascontiguousarray(value[:, :, None, None]))
    return bool(turned)
