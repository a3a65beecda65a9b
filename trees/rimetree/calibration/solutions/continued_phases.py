"""Phases that go on from one solution to the next, beside delays, TEC and rates.

A phase beside a delay is that at frequency 0, where no data are: from one interval to the next it may change by many
turns, as errors of the delay do times the frequency, and only both together change by little. Besides, a rate says by
how much. So phases go on by as little as they can at their own frequency, with all that stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..terms.kinds import phase_per_unit
from .nearest import nearest
from .term_solutions import TermSolutions

Float64Array = NDArray[np.float64]

_SLOPES = ("clock", "rate", "tec")
_FEED = {"": "0", "0": "0", "1": "1", "00": "0", "11": "1"}  # of elements on the diagonal


def continued_phases(terms: Sequence[TermSolutions]) -> Mapping[str, Float64Array]:
    """{name of a term with phases: [time, freq, antenna, direction, element], which go on along time}, of those beside
    which slopes of phases change from interval to interval."""
    found = {}
    for term in terms:
        beside = [
            one for one in terms if _is_slope(one) and (not one.of_directions or one.directions == term.directions)
        ]
        if "phase" not in term.value or not beside or len(term.time_s) < 2:
            continue
        known = np.zeros(term.shape)
        for one in beside:
            known += sum(_expected(term, one, quantity) for quantity in _SLOPES if quantity in one.value)
        found[term.name] = _continued(term.value["phase"] - known, ~term.flag) + known
    return found


def _is_slope(term: TermSolutions) -> bool:
    """Whether solutions change the slope of phases from one to the next."""
    return bool(set(_SLOPES) & set(term.value)) and len(term.time_s) > 1


def _expected(term: TermSolutions, beside: TermSolutions, quantity: str) -> Float64Array:
    """What phases of a term change by, as far as a quantity of another one (or of itself) makes them, so that both
    together go on."""
    i = nearest(beside.time_s, beside.time_width_s, term.time_s)
    j = nearest(beside.frequency_hz, beside.frequency_width_hz, term.frequency_hz)
    result = np.zeros(term.shape)
    since = term.time_s - beside.time_s[i]
    per_unit = phase_per_unit(quantity, term.frequency_hz, since[:, None])[..., None]
    turning = phase_per_unit("clock", term.frequency_hz)[:, None]  # by a rate, in a second
    for d in range(len(term.directions)):
        for e, element in enumerate(term.elements):
            feed = "" if beside.elements == ("",) else _FEED.get(element)
            if element not in _FEED or feed not in beside.elements:
                continue
            own = beside.elements.index(feed)
            values = np.zeros((len(term.time_s), len(term.frequency_hz), len(term.antennas)))
            for a, antenna in enumerate(term.antennas):
                if antenna in beside.antennas:
                    place = (..., beside.antennas.index(antenna), d if beside.of_directions else 0, own)
                    there = np.where(beside.flag[place], 0.0, beside.value[quantity][place])
                    values[..., a] = there[np.ix_(i, j)]
            result[..., d, e] = -per_unit * values
            if quantity == "rate":
                steps = 0.5 * (values[1:] + values[:-1]) * np.diff(term.time_s)[:, None, None]
                result[1:, ..., d, e] += turning * np.cumsum(steps, axis=0)
    return result


def _continued(phase: Float64Array, good: NDArray[np.bool_]) -> Float64Array:
    """[time, ...] unwrapped along time over what is good."""
    if good.all():
        return np.unwrap(phase, axis=0)
    result = phase.copy()
    for at in np.ndindex(phase.shape[1:]):
        own = good[(slice(None), *at)]
        result[(own, *at)] = np.unwrap(phase[(own, *at)])
    return result
