"""Coefficients of powers of the decimal logarithm, which files have, as those of the natural one, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable

_LN10 = math.log(10.0)


def natural(coefficients: Iterable[float]) -> tuple[float, ...]:
    """Of the exponent c0 + c1 x + ... with x = log10(nu/nu0), those with x = ln(nu/nu0)."""
    return tuple([c / _LN10**k for k, c in enumerate(coefficients)])


def decimal(coefficients: Iterable[float]) -> tuple[float, ...]:
    """The inverse of `natural`."""
    return tuple([c * _LN10**k for k, c in enumerate(coefficients)])
