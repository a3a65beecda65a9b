"""Solutions with little signal are flagged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..terms.kinds import FREQUENCY_QUANTITIES, phase_per_unit
from .term_solutions import TermSolutions

_CROSSED = ("01", "10")  # elements that may be small whatever the signal


def without_faint(found: TermSolutions, least: float, variance: float = 1.0) -> TermSolutions:
    """Solutions of which those are flagged that have less signal over noise than the `least`. `variance`: of errors,
    over the squares of what `found` says."""
    return replace(found, flag=found.flag | (signal_over_noise(found) < least * math.sqrt(variance)))


def signal_over_noise(found: TermSolutions) -> NDArray[np.float64]:
    """[time, freq, antenna, direction, element]: amplitudes over their errors; of phases, and of what phases or angles
    follow from, one radian over the error of the phase: root mean square over the interval, about its mean. Infinite
    where errors are 0 or not known, and off the diagonal.

    All of these are the same number for a gain and for a delay that the same data tell.
    """
    quantity = "amplitude" if "amplitude" in found.value else next(iter(found.value))
    sigma = found.sigma[quantity]
    known = np.isfinite(sigma) & (sigma > 0)
    signal = np.abs(found.value[quantity]) if quantity == "amplitude" else 1.0 / _spread(found, quantity)
    ratio = np.where(known, signal / np.where(known, sigma, 1.0), np.inf)
    crossed = np.array([element in _CROSSED for element in found.elements])
    return np.where(crossed, np.inf, ratio)


def _spread(found: TermSolutions, quantity: str) -> NDArray[np.float64]:
    """[time, freq, 1, 1, 1] phase per unit over the intervals: root mean square, where it goes evenly; 1 of phases."""
    shape = (len(found.time_s), len(found.frequency_hz))
    if quantity not in FREQUENCY_QUANTITIES:
        return np.ones((*shape, 1, 1, 1))
    frequency, width = found.frequency_hz, found.frequency_width_hz
    if quantity == "rate":
        ends = [phase_per_unit("rate", frequency, sign * found.time_width_s[:, None] / 2) for sign in (-1, 1)]
    else:
        ends = [np.broadcast_to(phase_per_unit(quantity, frequency + sign * width / 2), shape) for sign in (-1, 1)]
    spread = np.abs(ends[1] - ends[0]) / math.sqrt(12)
    return np.where(spread > 0, spread, 1.0)[..., None, None, None]
