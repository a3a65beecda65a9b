"""How well a fit explains the data, beside factors of each baseline by itself (`Coherence.floor`), which always explain
more: whether there may be a better minimum shows before anything else is known."""

from __future__ import annotations

import math

from ...evaluation.solving import SolveReport

POOR = 1.2  # chi-square over what the data can be explained to
SIGNIFICANT = 6.0  # standard deviations
_SURE = 2.0  # the same: so much is expected of the best fit
_ROUNDING = 1e-11  # of the power of data without noise, as of a simulation: numbers of single precision leave less


def chi_square_of(solved: SolveReport) -> float:
    """Where a fit has ended, as weights say; 0 of one without data."""
    return solved.noise**2 * solved.chi_square[-1] if solved.chi_square else 0.0


def freedom_of(solved: SolveReport) -> int:
    """The degrees of freedom of a fit."""
    return sum(one.equations - one.rank for one in solved.groups)


def excess(chi_square: float, freedom: int, floor: float) -> float:
    """Chi-square for each degree of freedom, over that of factors of each baseline (not > 0: as weights say, 1)."""
    return chi_square / (freedom * (floor if floor > 0 else 1.0)) if freedom > 0 else 0.0


def deviations_of(chi_square: float, freedom: int, floor: float, floor_freedom: int) -> float:
    """By how many standard deviations of noise chi-square is larger than factors of each baseline would leave; 0 where
    these say nothing."""
    more = freedom - floor_freedom  # which those factors have
    if not (floor > 0 and floor_freedom > 0 and more > 0):
        return 0.0
    sigma = math.sqrt(2 * more * (1 + more / floor_freedom))
    return (excess(chi_square, freedom, floor) - 1) * freedom / sigma


def is_significant(
    chi_square: float, freedom: int, floor: float, floor_freedom: int, deviations: float = SIGNIFICANT
) -> bool:
    """Whether chi-square is larger than factors of each baseline would leave by more than noise can make it."""
    return deviations_of(chi_square, freedom, floor, floor_freedom) > deviations


def is_good(chi_square: float, freedom: int, floor: float, floor_freedom: int, deviations: float = _SURE) -> bool:
    """Whether nothing says that there may be a better fit: not even a little larger than it should be."""
    poor = excess(chi_square, freedom, floor) > POOR
    return not (poor or is_significant(chi_square, freedom, floor, floor_freedom, deviations))


def is_exact(chi_square: float, power: float) -> bool:
    """Whether a fit leaves nothing of data of this power (sum of weight |V|^2) but rounding."""
    return chi_square <= _ROUNDING * power
