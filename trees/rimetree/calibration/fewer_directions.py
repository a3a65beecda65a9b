"""Whether a fit of phases of directions gets better if one of them is left out.

A search can end where phases of a direction without signal fit what is wrong with the others. That shows: chi-square is
larger than that with factors of each baseline by itself (`Coherence.floor`), and then it may become smaller with
fewer unknowns, which it never does in the best fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..solving import SolveReport
from .starting_values import StartingValues

_POOR = 1.2  # chi-square over what the data can be explained to
_AGAIN = 3  # more starts at most
_BETTER = 0.97  # chi-square of a fit with a direction less, over that before

#: The status of a fit that has converged to a minimum than which there may be lower ones.
BETTER_MAY_BE = "ended in a minimum that may not be the lowest"

#: (values at which it began, how it ended) of a fit without some directions.
Fit = Callable[[frozenset[str]], tuple[StartingValues, SolveReport | None]]
#: The same of a fit that begins at what another one, which began and ended so, has found.
Again = Callable[[StartingValues, SolveReport], tuple[StartingValues, SolveReport | None]]


@dataclass(frozen=True, eq=False)
class BestFit:
    """`begin`, `solved`: of the best fit; `doubtful`: another has been better than what the search had led to, and
    this is not as good as the data allow: there may be still better ones."""

    begin: StartingValues
    solved: SolveReport | None
    doubtful: bool = False


def best_fit(fit: Fit, names: Sequence[str], again: Again | None = None) -> BestFit:
    """The best of the fit to all directions `names` and, where it is poor, of those with fewer and those that begin
    `again`."""
    begin, solved = fit(frozenset())
    without: Collection[str] = frozenset()
    changed = False
    while solved is not None and _excess(begin, solved) > _POOR:
        left = [name for name in names if name not in without]
        if len(left) < 2:
            break
        found = []
        for name in _suspects(left, begin):
            found.append((name, *fit(frozenset({*without, name}))))
            if found[-1][2] is not None and _excess(*found[-1][1:]) <= _POOR:
                break
        name, *least = min(found, key=lambda one: _chi_square(one[2]))
        if not _chi_square(least[1]) < _BETTER * _chi_square(solved):
            break
        (begin, solved), without, changed = least, {*without, name}, True
    for _ in range(_AGAIN if names and again is not None else 0):
        if solved is None or _excess(begin, solved) <= _POOR:
            break
        other = again(begin, solved)
        if not _chi_square(other[1]) < _BETTER * _chi_square(solved):
            break
        (begin, solved), changed = other, True
    return BestFit(begin, solved, changed and solved is not None and _excess(begin, solved) > _POOR)


def _suspects(names: Sequence[str], begin: StartingValues) -> list[str]:
    """Those of which least has been found first."""
    return sorted(names, key=lambda name: begin.share.get(name, 1.0))


def _chi_square(solved: SolveReport | None) -> float:
    return math.inf if solved is None or not solved.chi_square else solved.noise**2 * solved.chi_square[-1]


def _excess(begin: StartingValues, solved: SolveReport) -> float:
    """Chi-square for each degree of freedom over that which factors of each baseline would leave."""
    freedom = sum(one.equations - one.rank for one in solved.groups)
    floor = begin.floor if begin.floor > 0 else 1.0  # as weights say, if the data do not
    return _chi_square(solved) / (freedom * floor) if freedom > 0 else 0.0
