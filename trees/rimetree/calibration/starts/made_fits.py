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
        self._each: list[tuple[SolveReport | None, Moves]] = []
        self._alike: dict[int, list[Likeness]] = {}

    def add(self, solved: SolveReport | None, moves: Moves, *, in_doubt: bool) -> None:
        """How a fit has ended, and what was moved between terms after it."""
        self._each.append((solved, moves))
        if self._always or in_doubt:
            self._alike[len(self._each) - 1] = self._look()

    def end(self) -> None:
        """After the last fit: lets go of the data."""
        self._look = list

    def moves(self, solved: SolveReport | None) -> Moves | None:
        """After a fit; None where none was made."""
        return next((moves for one, moves in self._each if one is solved), None)

    def alike(self, solved: SolveReport | None) -> list[Likeness]:
        """Of what a fit has left, as of `likeness_of`, if that was looked at."""
        return next((self._alike.get(k, []) for k, (one, _) in enumerate(self._each) if one is solved), [])

    def alike_now(self, solved: SolveReport | None) -> list[Likeness]:
        """The same, of the last fit in any case."""
        if self._each and self._each[-1][0] is solved and solved is not None:
            self._alike.setdefault(len(self._each) - 1, self._look())
        return self.alike(solved)
