"""What H5parm files of other programs do not say of their tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..terms.kinds import ROTATIONS
from .term_solutions import TermSolutions

_OF_FREQUENCY = {"clock", "tec"}  # quantities that phases at several frequencies are taken apart into
_MOST = 100  # times and frequencies that are looked at
_LITTLE = 1e-6
_SHARE = 0.25


def warn_of_order(path: str, name: str, terms: Sequence[TermSolutions]) -> None:
    """Where it matters in which order terms stand; what acts on both feeds alike may stand anywhere."""
    others = [term for term in terms if not (term.diagonal and term.elements == ("",))]
    if len(others) < 2 or all(term.diagonal for term in others) or {t.kind for t in others} <= set(ROTATIONS):
        return
    warnings.warn(
        f"{path} does not say in which order the terms of {name} stand, and it matters: they are taken as "
        f"{', '.join(term.name for term in terms)}, the first outermost; FILE:{name}/TERM, once for each, gives "
        "another order",
        stacklevel=4,
    )


def warn_of_derived(path: str, name: str, terms: Sequence[TermSolutions]) -> None:
    """Where a table was made of another one, so that both together are twice what there is: smoothed phases beside the
    phases, or clocks and TEC beside the phases that they were fitted to. That is told by what is left when one is taken
    out of the other."""
    phases = [term for term in terms if "phase" in term.value]
    fitted = [term for term in terms if _OF_FREQUENCY & set(term.value)]
    pairs = [(one, [other]) for k, one in enumerate(phases) for other in phases[k + 1 :]]
    pairs += [(one, fitted) for one in phases if fitted and one.shape[1] > 1]
    amplitudes = [term for term in terms if "amplitude" in term.value and "phase" not in term.value]
    pairs += [(one, [other]) for k, one in enumerate(amplitudes) for other in amplitudes[k + 1 :]]
    for one, others in pairs:
        if _explain(others, one):
            made = ", ".join(term.name for term in others)
            warnings.warn(
                f"{path}: {one.name} and {made} of {name} seem to hold the same, once more or in other words, and are "
                f"taken together, as a product: choose, by --terms or as FILE:{name}/TERM",
                stacklevel=4,
            )
            return


def _explain(others: Sequence[TermSolutions], one: TermSolutions) -> bool:
    """Whether one term varies much less once the others are taken out of it."""
    antennas = [name for name in one.antennas if all(name in other.antennas for other in others)]
    places = {other.directions for other in others} | {one.directions}
    if len(antennas) < 2 or len(places) > 1:
        return False
    time_s, frequency_hz = (axis[:: max(1, len(axis) // _MOST)] for axis in (one.time_s, one.frequency_hz))

    def of(term: TermSolutions) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        matrices, bad = term.jones_of(antennas, term.directions[0], time_s, frequency_hz)
        return matrices[..., 0, 0], ~bad[..., 0]

    own, good = of(one)
    rest = own.copy()
    for other in others:
        values, known = of(other)
        rest, good = rest / values, good & known
    good &= good[:, :, :1] & (own != 0) & np.isfinite(rest) & (rest != 0)
    if not good.any():
        return False
    before, after = (_spread(values, good) for values in (own, rest))
    return before > _LITTLE and after < _SHARE * before


def _spread(values: NDArray[np.complex128], good: NDArray[np.bool_]) -> float:
    """How much gains [time, freq, antenna] vary, against those of the first antenna: 0 to 1 of phases; of amplitudes
    the variance of logarithms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        against = values / values[:, :, :1]
        phases = np.where(good, against / np.abs(against), 0)
        # What all cells of an antenna have in common does not count: phases are fitted by delays and TEC up to that.
        number = np.maximum(good.sum(axis=(0, 1)), 1)
        left = good - np.abs(phases.sum(axis=(0, 1)) / number)
        logarithms = np.where(good, np.log(np.abs(values)), 0)
    mean = logarithms.sum() / good.sum()
    return float(left[good].mean() + ((logarithms - mean)[good] ** 2).mean())
