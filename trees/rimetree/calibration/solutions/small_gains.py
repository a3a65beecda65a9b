"""Errors of phases of gains that are hardly larger than their errors.

Errors follow from the slope of the model, which grows with the gains. Where noise has made these larger than they
should be it has made their errors smaller, and the phases of the largest look as if they were sure. That shows by the
gains of all antennas: if their squares are less than 5 times those of their errors, phases are hardly told.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .term_solutions import TermSolutions

_SMALL = 0.2  # squares of errors (of real and imaginary part together) over those of gains, both of all antennas
_ON_DIAGONAL = ("", "0", "1", "00", "11")  # others need not be large


def with_errors_of_small_gains(found: TermSolutions, variance: float) -> TermSolutions:
    """Gains, with errors of their phases to which that of a gain of the usual size is added where such a one is hardly
    more than twice as large as its error. `variance`: by which weights differ from 1/sigma^2, and with them the squares
    of errors."""
    if set(found.value) != {"amplitude", "phase"}:
        return found
    amplitude, known = found.value["amplitude"], ~found.flag
    square = found.sigma["amplitude"] ** 2 + (amplitude * found.sigma["phase"]) ** 2
    known &= np.isfinite(square) & np.isin(found.elements, _ON_DIAGONAL)
    error, gain = (np.where(known, x, 0.0).sum(axis=2, keepdims=True) for x in (square, amplitude**2))
    part = np.divide(error, gain, out=np.zeros(error.shape), where=gain > 0)
    sigma = found.sigma["phase"]
    told = sigma > 0  # those that are held have none
    small = told & known & (variance * part > _SMALL)
    return replace(found, sigma={**found.sigma, "phase": np.where(small, np.sqrt(sigma**2 + part), sigma)})
