"""The spectrum that goes through fluxes at some frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import SkyModelError, UnsupportedError

Stokes = tuple[float, float, float, float]

_INDEX_OF_ONE = -0.8
_CLOSE = 1e-3
_MOST_COEFFICIENTS = 4


def spectrum_through(entries: Sequence[tuple[float, Stokes]]) -> tuple[float, Stokes, tuple[float, ...]]:
    """Reference frequency, Stokes parameters there, and coefficients of powers of the natural logarithm, of a list of
    (frequency in Hz, Stokes parameters). Of one entry the spectral index is -0.8.

    Raises `SkyModelError` where there is no entry, or one contradicts another, and `UnsupportedError` where there is no
    such spectrum.
    """
    if not entries:
        raise SkyModelError("the list is empty")
    entries = list(dict.fromkeys(sorted(entries)))  # what is said twice is said
    if len(entries) == 1:
        ((reference_hz, at_reference),) = entries
        return reference_hz, at_reference, (_INDEX_OF_ONE,) if any(at_reference) else ()
    frequency_hz = np.array([frequency for frequency, _ in entries])
    if (same := np.flatnonzero(np.diff(frequency_hz) == 0)).size:
        raise SkyModelError(f"the list has different fluxes at {frequency_hz[same[0]] / 1e6:g} MHz")
    middle = len(entries) // 2
    reference_hz, at_reference = entries[middle]
    stokes = np.array([fluxes for _, fluxes in entries])
    if not stokes.any():
        return reference_hz, at_reference, ()
    ratio = stokes[:, 0] / at_reference[0] if at_reference[0] else np.zeros(len(entries))
    scaled = np.outer(ratio, at_reference)
    if (ratio <= 0).any() or np.abs(stokes - scaled).max() > _CLOSE * np.abs(stokes).max():
        raise UnsupportedError(
            "a list whose fluxes are 0 or change sign, or whose Q, U, V do not follow I, is not supported"
        )
    return reference_hz, at_reference, _exponent(np.log(frequency_hz / reference_hz), np.log(ratio))


def _exponent(x: np.ndarray, log_ratio: np.ndarray) -> tuple[float, ...]:
    """Coefficients c of the lowest order with which x (c0 + c1 x + ...) is `log_ratio`; both are 0 at the reference."""
    others = x != 0
    powers = np.vander(x[others], min(_MOST_COEFFICIENTS, others.sum()) + 1, increasing=True)[:, 1:]
    for order in range(1, powers.shape[1] + 1):
        found, *_ = np.linalg.lstsq(powers[:, :order], log_ratio[others], rcond=None)
        if np.abs(np.expm1(powers[:, :order] @ found - log_ratio[others])).max() <= _CLOSE:
            return tuple(float(value) for value in found)
    raise UnsupportedError(
        f"no spectrum of {powers.shape[1]} coefficients goes through all fluxes of the list to {_CLOSE:g}"
    )
