"""The fits that have been made to a chunk, of which one is the best, and what is known of each."""

from __future__ import annotations

from collections.abc import Callable

from ...evaluation.solving import SolveReport
from ..data.likeness import Likeness
from ..plan.moves import Moves


class MadeFits:
    """`look`: says how alike neighbouring channels and times are of what the last fit has left; `always`: or only of
    fits that are in doubt."""

    def __init__(self, look: Callable[[], list[Likeness]] = list, *, always: bool = False):
        self._look, self._always = look, always
        self._each: list[tuple[SolveReport | None, Moves, list[Likeness]]] = []

    def add(self, solved: SolveReport | None, moves: Moves, *, in_doubt: bool) -> None:
        """How a fit has ended, and what was moved between terms after it."""
        self._each.append((solved, moves, self._look() if self._always or in_doubt else []))

    def end(self) -> None:
        """After the last fit: lets go of the data."""
        self._look = list

    def moves(self, solved: SolveReport | None) -> Moves | None:
        """After a fit; None where none was made."""
        return next((moves for one, moves, _ in self._each if one is solved), None)

    def alike(self, solved: SolveReport | None) -> list[Likeness]:
        """Of what a fit has left, along frequency and along time, if that was looked at."""
        return next((alike for one, _, alike in self._each if one is solved), [])
