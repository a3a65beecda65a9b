"""Whether a fit of phases of directions gets better if one of them is left out.

A search can end where phases of a direction without signal fit what is wrong with the others. That shows: chi-square is
larger than that with factors of each baseline by itself (`Coherence.floor`), and then it may become smaller with
fewer unknowns, which it never does in the best fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from ...evaluation.solving import SolveReport
from ..directions.goodness import (
    POOR,
    SIGNIFICANT,
    chi_square_of,
    deviations_of,
    excess,
    freedom_of,
    is_good,
    is_significant,
)
from .starting_values import StartingValues

_AGAIN = 10  # more starts at most
_SHORT = 3.0  # standard deviations: by so much it is worth another search
_HALF_THERE = 0.7  # of a model, beside what is found of the others: less is odd
_BETTER = 0.97  # chi-square of a fit with a direction less, over that before

#: The status of a fit that has converged to a minimum than which there may be lower ones.
BETTER_MAY_BE = "ended in a minimum that may not be the lowest"

#: (values at which it began, how it ended) of a fit without some directions.
Fit = Callable[[frozenset[str]], tuple[StartingValues, SolveReport | None]]
#: The same of a fit that begins at what another one, which began and ended so, has found.
Again = Callable[[StartingValues, SolveReport], tuple[StartingValues, SolveReport | None]]

#: Whether what the last fit has left looks like noise, or so large a part of it is none; None where nothing tells.
IsNoise = Callable[[SolveReport, float], bool | None]


@dataclass(frozen=True, eq=False)
class BestFit:
    """`begin`, `solved`: of the best fit; `doubtful`: another has been better than what the search had led to, and
    this is not as good as the data allow: there may be still better ones; `hidden`: of the directions without which it
    is, those that would not stand out from noise."""

    begin: StartingValues
    solved: SolveReport | None
    doubtful: bool = False
    hidden: tuple[str, ...] = ()


def best_fit(fit: Fit, names: Sequence[str], is_noise: IsNoise = lambda *_: None) -> BestFit:
    """The best of the fit to all directions `names` and, where it is poor, of those with fewer. `is_noise` is asked
    where data do not say how large noise is, for weights may be off by any factor."""
    begin, solved = fit(frozenset())
    if solved is not None and names and weights_are_off(begin, solved, is_noise):
        return BestFit(begin, solved)
    without: Collection[str] = frozenset()
    changed = False
    # Where the lowest minimum has been found models are to blame for what is left.
    while solved is not None and not begin.lowest and (_excess(begin, solved) > POOR or _significant(begin, solved)):
        left = [name for name in names if name not in without]
        suspects = _suspects(left, begin, all_of_them=_excess(begin, solved) > POOR)
        if len(left) < 2 or not suspects:
            break
        found = []
        for name in suspects:
            found.append((name, *fit(frozenset({*without, name}))))
            if found[-1][2] is not None and not _significant(*found[-1][1:]) and _excess(*found[-1][1:]) <= POOR:
                break
        name, *least = min(found, key=lambda one: _chi_square(one[2]))
        # Fewer unknowns are never better than the best fit.
        if not _chi_square(least[1]) < _BETTER * _chi_square(solved) and not _is_less(begin, least[1], solved):
            break
        (begin, solved), without, changed = least, {*without, name}, True
    return BestFit(begin, solved, changed and solved is not None and _excess(begin, solved) > POOR)


def with_more_starts(
    found: BestFit,
    again: Again,
    falls_short: Callable[[StartingValues, SolveReport], float],
    is_noise: IsNoise = lambda *_: None,
) -> BestFit:
    """The best of a fit and of those that begin `again` where the last one has ended, as long as that is poor, or falls
    short of what data can be explained to. `is_noise`: as of `best_fit`."""
    for left in reversed(range(_AGAIN + 1)):
        begin, solved = found.begin, found.solved
        if solved is None or begin.lowest:
            break
        poor = _excess(begin, solved) > POOR and not weights_are_off(begin, solved, is_noise)
        # Models are to blame for what a poor fit leaves, unless one is left out that would explain it.
        short = 0.0 if poor and not begin.absent else falls_short(begin, solved)
        if not (poor or short > _SHORT):
            break
        other = again(begin, solved) if left else (begin, solved)
        noise = chi_square_of(solved) / max(1, freedom_of(solved))
        enough = (1 - _BETTER) * chi_square_of(solved) if poor else SIGNIFICANT**2 * noise
        if not chi_square_of(solved) - _chi_square(other[1]) > enough:
            return replace(found, doubtful=found.doubtful or short > SIGNIFICANT)
        found = BestFit(*other, doubtful=_excess(*other) > POOR)
    return found


def is_explained(found: BestFit, deviations: float | None = None, *, by_weights: bool = True) -> bool:
    """Whether a fit leaves no more than noise, so that nothing says that there may be a better one. `deviations`: as of
    `is_good` (None: what that has). `by_weights`: where data do not say how large noise is, weights do."""
    if found.solved is None:
        return False
    begin, freedom = found.begin, freedom_of(found.solved)
    where = _chi_square(found.solved), freedom, begin.floor, begin.floor_freedom
    if deviations is None:
        return is_good(*where)
    return by_how_much(found, by_weights=by_weights) <= deviations and is_good(*where, deviations)


def by_how_much(found: BestFit, *, by_weights: bool = True) -> float:
    """By how many standard deviations of noise a fit leaves more than data or, where these do not say how large noise
    is, weights say (`by_weights`, else 0)."""
    begin, freedom = found.begin, freedom_of(found.solved)
    if begin.floor > 0:
        return deviations_of(_chi_square(found.solved), freedom, begin.floor, begin.floor_freedom)
    return (_excess(begin, found.solved) - 1) * math.sqrt(freedom / 2) if by_weights else 0.0


def weights_are_off(begin: StartingValues, solved: SolveReport, is_noise: IsNoise) -> bool:
    """Whether a fit leaves much more than weights say, which alone say how large noise is, but what looks like it."""
    found = _excess(begin, solved)
    return found > POOR and not begin.floor > 0 and bool(is_noise(solved, 1 - 1 / found))


def weights_are_too_small(found: BestFit) -> bool:
    """Whether nothing says how large noise is: weights alone could, and a fit leaves much less than they say."""
    return not found.begin.floor > 0 and _excess(found.begin, found.solved) < 1 / POOR


def _suspects(names: Sequence[str], begin: StartingValues, *, all_of_them: bool) -> list[str]:
    """Names of directions that may not be in the sky, those of which least has been found first."""
    share = {name: begin.share.get(name, 1.0) for name in names}
    return sorted((name for name in names if all_of_them or share[name] < _HALF_THERE), key=lambda name: share[name])


def _chi_square(solved: SolveReport | None) -> float:
    return math.inf if solved is None or not solved.chi_square else chi_square_of(solved)


def _excess(begin: StartingValues, solved: SolveReport) -> float:
    """Chi-square for each degree of freedom over that which factors of each baseline would leave."""
    return excess(_chi_square(solved), freedom_of(solved), begin.floor)


def _significant(begin: StartingValues, solved: SolveReport) -> bool:
    """Whether chi-square is larger than factors of each baseline would leave by more than noise can make it."""
    return is_significant(_chi_square(solved), freedom_of(solved), begin.floor, begin.floor_freedom)


def _is_less(begin: StartingValues, one: SolveReport | None, other: SolveReport) -> bool:
    """Whether chi-square is less by much more than what a fit leaves open where it ends."""
    return begin.floor > 0 and _chi_square(other) - _chi_square(one) > SIGNIFICANT**2 * begin.floor
