"""Solutions made smooth along frequency, by the fit or after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ..data.coherence import Coherence
from ..plan.planning import CalibrationOptions, GroupPlan
from ..solutions.term_solutions import TermSolutions
from ..terms.terms import Term

_SIGMA_OF_FWHM = 1 / (2 * np.sqrt(2 * np.log(2)))


def width_inside_hz(terms: Sequence[Term], plan: GroupPlan, options: CalibrationOptions) -> float:
    """Over which width the fit itself can make solutions smooth: the smallest that any term with several solutions
    along frequency asks for of any antenna, 0 where one of these asks for none. What is left to do comes after it."""
    if options.flag_solutions > 0:  # what stands out is flagged before others have had a part of it
        return 0.0
    several = [term for term in terms if len(plan.frequencies[term.name].centre) > 1]
    antennas = [plan.group.antenna_names[antenna] for antenna in plan.group.antennas]
    return min((term.kernel_hz(name) for term in several for name in antennas), default=0.0)


@checked
def smoothed(found: TermSolutions, term: Term, inside_hz: float = 0.0) -> TermSolutions:
    """Solutions convolved along frequency with the kernels that a term asks for, weighted with 1/sigma^2.

    Amplitudes and phases together as complex gains, other quantities by themselves. Flagged solutions do not count and
    stay flagged. Errors are those of the weighted means of independent solutions. `inside_hz`: over which width the fit
    has made them smooth already, with errors as if it had not.
    """
    if not term.smooth or len(found.frequency_hz) < 2:
        return found
    value = {q: array.copy() for q, array in found.value.items()}
    sigma = {q: array.copy() for q, array in found.sigma.items()}
    for a, antenna in enumerate(found.antennas):
        width_hz = term.kernel_hz(antenna)
        if width_hz > 0:
            distance = found.frequency_hz[:, None] - found.frequency_hz[None, :]
            rest_hz = np.sqrt(max(0.0, width_hz**2 - inside_hz**2))
            _smooth_antenna(found, a, _kernel(distance, rest_hz), value, sigma)
            if inside_hz > 0:  # means of means are not more certain than the data of the whole kernel are
                of_values = {q: array.copy() for q, array in value.items()}
                _smooth_antenna(found, a, _kernel(distance, width_hz), of_values, sigma)
    return replace(found, value=value, sigma=sigma)


def _kernel(distance_hz: NDArray[np.float64], width_hz: float) -> NDArray[np.float64]:
    if width_hz == 0:
        return np.eye(len(distance_hz))
    return np.exp(-0.5 * (distance_hz / (width_hz * _SIGMA_OF_FWHM)) ** 2)


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


def smooth_sums(sums: Coherence, width_hz: float) -> Coherence:
    """Sums of data and model in bins along frequency, of which each gets those of others near to it."""
    kernel = _kernel(sums.frequency_hz[:, None] - sums.frequency_hz[None, :], width_hz)
    kernel /= kernel.sum(axis=0)

    def convolved(array: NDArray) -> NDArray:
        return np.moveaxis(np.tensordot(kernel, array, axes=(1, 2)), 0, 2)

    return replace(sums, **{name: convolved(getattr(sums, name)) for name in ("product", "power", "data")})
