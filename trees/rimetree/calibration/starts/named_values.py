"""Values of a term as searches have them, arrays over intervals and antennas, and as its Parms do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolvedParm
from ..terms.term_trees import Parameter
from ..terms.terms import Term


def named(
    parameters: Sequence[Parameter], term: Term, direction: str | None, values: NDArray, antennas: Sequence[int]
) -> dict[str, NDArray[np.float64]]:
    """{name of a Parm: [time, freq]} of values [element, time, freq, antenna], which are complex for gains."""
    return {
        one.node: _part(one.part, values[one.element, :, :, antennas.index(one.antenna)])
        for one in parameters
        if one.term == term.name and one.direction == direction
    }


def by_direction(
    parameters: Sequence[Parameter],
    term: Term,
    values: Mapping[str, NDArray[np.float64]],
    shape: tuple[int, int],
    antennas: Sequence[int],
) -> dict[str, NDArray[np.float64]]:
    """{direction: [element, time, freq, antenna]} of {name of a Parm: [time, freq]}, `shape` of these; 0 where a Parm
    has none."""
    found: dict[str, NDArray[np.float64]] = {}
    for one in parameters:
        if one.term == term.name and one.node in values:
            own = found.setdefault(one.direction, np.zeros((len(term.elements), *shape, len(antennas))))
            own[one.element, :, :, antennas.index(one.antenna)] = values[one.node]
    return found


def sum_of(
    values: Mapping[str, NDArray[np.float64]], more: Mapping[str, NDArray[np.float64]], sign: int = 1
) -> dict[str, NDArray[np.float64]]:
    """{name of a Parm: values} and, of those that `values` has, so much more."""
    return {name: one + sign * more[name] if name in more else one for name, one in values.items()}


def _part(part: str, values: NDArray) -> NDArray[np.float64]:
    """A real parameter's share of values."""
    if not np.iscomplexobj(values):
        return values
    return {"re": np.real, "im": np.imag, "amplitude": np.abs, "phase": np.angle}[part](values)


def tables_of(parm: SolvedParm) -> dict[str, np.ndarray]:
    """Arrays [time, freq] of a Parm with one coefficient per solution tile."""
    return {
        key: np.asarray(getattr(parm, key)).reshape(np.shape(parm.value)[:2] if np.ndim(parm.value) == 4 else (1, 1))
        for key in ("value", "sigma", "cross", "flag")
    }
