"""Solutions made smooth along frequency, and solutions that stand out flagged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..arguments import checked
from .term_solutions import TermSolutions
from .terms import Term

_SIGMA_OF_FWHM = 1 / (2 * np.sqrt(2 * np.log(2)))
_MAD = 1.4826  # standard deviation over median of magnitudes, of normal noise


@checked
def smoothed(found: TermSolutions, term: Term) -> TermSolutions:
    """Solutions convolved along frequency with the kernels that a term asks for, weighted with 1/sigma^2.

    Amplitudes and phases together as complex gains, other quantities by themselves. Flagged solutions do not count and
    stay flagged. Errors are those of the weighted means of independent solutions.
    """
    if not term.smooth or len(found.frequency_hz) < 2:
        return found
    value = {q: array.copy() for q, array in found.value.items()}
    sigma = {q: array.copy() for q, array in found.sigma.items()}
    for a, antenna in enumerate(found.antennas):
        width_hz = term.kernel_hz(antenna)
        if width_hz > 0:
            distance = found.frequency_hz[:, None] - found.frequency_hz[None, :]
            kernel = np.exp(-0.5 * (distance / (width_hz * _SIGMA_OF_FWHM)) ** 2)
            _smooth_antenna(found, a, kernel, value, sigma)
    return replace(found, value=value, sigma=sigma)


def _smooth_antenna(found: TermSolutions, a: int, kernel: NDArray[np.float64], value: dict, sigma: dict) -> None:
    """`kernel` [freq, freq]; changes `value` and `sigma`."""
    at = (slice(None), slice(None), a)
    good = ~found.flag[at]
    gains = set(found.value) == {"amplitude", "phase"}
    if gains:
        amplitude, phase = found.value["amplitude"][at], found.value["phase"][at]
        mean, error = _weighted(amplitude * np.exp(1j * phase), found.sigma["amplitude"][at], good, kernel)
        size = np.abs(mean)
        new = {"amplitude": (size, error), "phase": (np.angle(mean), error / np.where(size > 0, size, 1))}
    else:
        new = {}
        for q, table in found.value.items():
            turns = np.exp(1j * table[at]) if q == "phase" else table[at]
            mean, error = _weighted(turns, found.sigma[q][at], good, kernel)
            new[q] = (np.angle(mean) if q == "phase" else mean, error)
    for q, (mean, error) in new.items():
        value[q][at] = np.where(good, mean, value[q][at])
        held = found.sigma[q][at] == 0  # what a reference antenna holds has no error
        sigma[q][at] = np.where(good, np.where(held, 0.0, error), sigma[q][at])


def _weighted(values, sigma, good, kernel) -> tuple[NDArray, NDArray]:
    """Weighted means over frequency of [time, freq, ...] and their standard deviations."""
    known = good & np.isfinite(sigma) & (sigma > 0)
    usual = np.median(sigma[known]) if known.any() else 1.0
    weight = np.where(good, 1 / np.where(known, sigma, usual) ** 2, 0.0)
    total = np.einsum("fg,tg...->tf...", kernel, weight)
    safe = np.where(total > 0, total, 1.0)
    mean = np.einsum("fg,tg...->tf...", kernel, weight * np.where(good, values, 0)) / safe
    variance = np.einsum("fg,tg...->tf...", kernel**2, weight) / safe**2
    return mean, np.sqrt(variance)


@checked
def without_outliers(found: TermSolutions, most_sigma: float) -> TermSolutions:
    """Solutions of which those are flagged that are further than so many standard deviations (by the median of
    magnitudes) from the median of an antenna, direction and element over times and frequencies: amplitudes by their
    logarithm, delays, TEC, rotations and rotation measures as they are; phases are not looked at."""
    flag = found.flag.copy()
    for quantity, table in found.value.items():
        if quantity == "phase":
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(table) if quantity == "amplitude" else table
        values = np.where(found.flag | ~np.isfinite(values), np.nan, values)
        if np.isnan(values).all():
            continue
        flat = values.reshape(-1, *values.shape[2:])
        good = np.isfinite(flat).any(axis=0)
        filled = np.where(good, flat, 0.0)
        middle = np.nanmedian(filled, axis=0)
        spread = _MAD * np.nanmedian(np.abs(filled - middle), axis=0)
        flag |= (np.abs(values - middle) > most_sigma * np.where(spread > 0, spread, np.inf)) & np.isfinite(values)
    return replace(found, flag=flag)
