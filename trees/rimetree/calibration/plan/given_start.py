"""Terms that begin at solutions of a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup
from ..solutions.choosing import of_own_field, solutions_for
from ..solutions.solutions import Solutions
from ..solutions.term_solutions import TermSolutions
from ..terms.grid import Axis
from ..terms.term_trees import Parameter

#: Quantities that are turned back by those of the reference antenna.
_TURNED = ("phase", "clock", "rate", "tec", "rotation", "rotationmeasure")


class GivenStart:
    """Values of parameters from solution sets, for one field and window: at the middle of each interval those of the
    nearest solution, relative to the reference antenna of the chunk as far as that changes no model."""

    def __init__(self, sets: Sequence[Solutions], group: MsGroup):
        own = of_own_field(solutions_for(sets, group), group).terms if sets else ()
        self._terms = {term.name: term for term in own}
        self._names = group.antenna_names

    def value(
        self, one: Parameter, times: Axis, frequencies: Axis, reference: int, held: Collection[int]
    ) -> NDArray[np.float64] | None:
        """[time, freq], or None where the sets have nothing for a parameter. `held`: elements of the parameter's term,
        and direction, of which a turn is held for the reference antenna."""
        term = self._terms.get(one.term)
        antenna, direction = self._names[one.antenna], one.direction or ""
        if term is None or antenna not in term.antennas or direction not in term.directions:
            return None
        if one.element >= len(term.elements):
            return None
        table = _at(term, antenna, direction, one.element, times.centre, frequencies.centre)
        turned = _turned_by(term, one.element, held)
        if turned is not None and self._names[reference] in term.antennas:
            place = direction, turned, times.centre, frequencies.centre
            of_reference = _at(term, self._names[reference], *place)
            for quantity in set(_TURNED) & table.keys():
                table[quantity] = table[quantity] - np.nan_to_num(of_reference[quantity])
        if one.part in ("re", "im"):
            if not {"amplitude", "phase"} <= table.keys():
                return None
            gain = table["amplitude"] * np.exp(1j * table["phase"])
            found = gain.real if one.part == "re" else gain.imag
        elif one.part in table:
            found = table[one.part]
        else:
            return None
        return np.where(np.isfinite(found), found, one.start)


def _turned_by(term: TermSolutions, element: int, held: Collection[int]) -> int | None:
    """The element of the reference antenna by whose turn one of the others is turned back: its own feed's (of a matrix,
    the column's) if that is held; else the first that is, as turns of both feeds alike change no model."""
    held = [one for one in sorted(held) if one < len(term.elements)]
    if term.kind == "leakage" or not held:
        return None
    name = term.elements[element]
    own = term.elements.index(2 * name[1] if len(name) == 2 else name)
    return own if own in held else held[0]


def _at(term: TermSolutions, antenna, direction, element, time_s, frequency_hz) -> dict[str, NDArray[np.float64]]:
    """{quantity: [time, freq]} of the nearest solutions, NaN where they are flagged."""
    place = (slice(None), slice(None), term.antennas.index(antenna), term.directions.index(direction), element)
    i = np.abs(time_s[:, None] - term.time_s).argmin(axis=1)
    j = np.abs(frequency_hz[:, None] - term.frequency_hz).argmin(axis=1)
    flag = term.flag[place][np.ix_(i, j)]
    return {q: np.where(flag, np.nan, table[place][np.ix_(i, j)]) for q, table in term.value.items()}
