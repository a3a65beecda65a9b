"""How exact results are to be, and how exact they were found to be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from .._core import Error

#: What each precision stands for, as a fraction of the total flux.
PRECISIONS = {"double": 1e-12, "single": 1e-6}


@dataclass(frozen=True)
class Verification:
    """Results computed again, one by one and in extended precision, from the measurement equation alone.

    `count`: how many; `largest_error`: the largest difference, as a fraction of the total flux (0 if there were none);
    `where`: node and cell of it; `tolerance`: what was asked for.
    """

    count: int
    largest_error: float
    where: str
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether all that was verified is within the tolerance."""
        return self.largest_error <= self.tolerance

    def __str__(self) -> str:
        if self.count == 0:
            return "nothing was verified: no node of the forest that can be was evaluated"
        within = "within" if self.passed else "ABOVE"
        return (
            f"{self.count} visibilities computed again in extended precision: largest error {self.largest_error:.2g} "
            f"of the total flux ({self.where}), {within} the tolerance of {self.tolerance:.3g}"
        )


def tolerance_of(precision: str, tolerance: float | None) -> float:
    """The tolerance that two options ask for: `tolerance` if given, else that of the precision."""
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise Error(f'precision must be "double" or "single", not {precision!r}')
    if tolerance is None:
        return PRECISIONS[precision]
    if not (isinstance(tolerance, Real) and math.isfinite(tolerance) and PRECISIONS["double"] <= tolerance < 1):
        raise Error(
            f"tolerance must be a fraction of the total flux from {PRECISIONS['double']:.0e} to below 1, "
            f"not {tolerance!r}"
        )
    return float(tolerance)
