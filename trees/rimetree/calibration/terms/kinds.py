"""Kinds of Jones terms: which real parameters one has, and what matrix [2,2] they make.

A gain stands in V_pq = J_p (model of p, q) J_q^H, so that it takes the model to the data. Phases are in radians, delays
in seconds (phase 2 pi nu delay), their rates in s/s (a delay rate (t - t0), with t0 the middle of the solution
interval), TEC in 1e16 electrons per square metre (phase -8.44797245e9 TEC / nu: the first order
of the dispersion of a cold plasma), rotations in radians ([[cos, -sin], [sin, cos]]), rotation measures in rad/m^2 (a
rotation by RM c^2/nu^2).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._core import SPEED_OF_LIGHT_M_S
from ..errors import CalibrationError

#: Phase in radians of 1 TECU at 1 Hz: e^2 1e16 m^-2 / (4 pi eps0 m_e c) (CODATA values, with the sign of a delay).
TEC_PHASE_HZ = -8.44797245e9

_FEEDS = ("0", "1")
_ALL = ("00", "01", "10", "11")


@dataclass(frozen=True)
class Kind:
    """A kind of term.

    `quantities`: the types of tables that its solutions are kept in ("amplitude", "phase", "clock", "rate", "tec",
    "rotation", "rotationmeasure"); `elements`: one name for each element of the matrix or feed that has values of its
    own ("" for a term that acts on both feeds alike); `diagonal`: whether its matrices are; `given`: elements that are
    what they are by definition, and have no solutions.
    """

    name: str
    summary: str
    quantities: tuple[str, ...]
    elements: tuple[str, ...]
    diagonal: bool = True
    given: tuple[str, ...] = ()


def neutral(quantity: str, elements: Sequence[str]) -> NDArray[np.float64]:
    """[element] values of a quantity with which a term changes nothing."""
    if quantity != "amplitude":
        return np.zeros(len(elements))
    return np.array([0.0 if element in ("01", "10") else 1.0 for element in elements])


def phase_per_unit(
    quantity: str, frequency_hz: NDArray[np.float64], from_middle_s: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """Phase in radians per unit of a "phase" or "rotation" (rad), "clock" (s), "rate" (s/s), "tec" (1e16 m^-2) or
    "rotationmeasure" (rad/m^2) at frequencies, and so long after the middle of the solution interval; both broadcast.
    """
    if quantity == "rate":
        return 2 * math.pi * frequency_hz * from_middle_s
    if quantity == "clock":
        return 2 * math.pi * frequency_hz
    if quantity == "tec":
        return TEC_PHASE_HZ / frequency_hz
    if quantity == "rotationmeasure":
        return (SPEED_OF_LIGHT_M_S / frequency_hz) ** 2
    return np.ones(np.shape(frequency_hz))


def jones_of(
    values: dict[str, NDArray[np.float64]], elements: Sequence[str], frequency_hz: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Matrices [..., 2, 2] of values {quantity: [..., element]} at frequencies that broadcast to [...], in the middle
    of the solution interval, where rates do nothing yet.

    Raises `CalibrationError` for a quantity of no known type.
    """
    if "rotation" in values or "rotationmeasure" in values:
        angle = _angle(values, np.asarray(frequency_hz, dtype=float))
        rows = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        return np.moveaxis(np.array(rows, dtype=complex), (0, 1), (-2, -1))
    frequency = np.asarray(frequency_hz, dtype=float)[..., None]
    gain = np.ones((), dtype=complex)
    for quantity, value in values.items():
        if quantity == "amplitude":
            gain = gain * value
        elif quantity == "phase":
            gain = gain * np.exp(1j * value)
        elif quantity in ("clock", "rate", "tec"):
            gain = gain * np.exp(1j * phase_per_unit(quantity, frequency) * value)
        else:
            raise CalibrationError(f"there is no matrix for solutions of type {quantity!r}")
    return _matrix(gain, elements)


def _angle(values: dict[str, NDArray[np.float64]], frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rotations, or of rotation measures at some frequencies."""
    if "rotation" in values:
        return values["rotation"][..., 0]
    return values["rotationmeasure"][..., 0] * phase_per_unit("rotationmeasure", frequency_hz)


def _matrix(gain: NDArray[np.complex128], elements: Sequence[str]) -> NDArray[np.complex128]:
    result = np.zeros((*gain.shape[:-1], 2, 2), dtype=complex)
    for k, element in enumerate(elements):
        if element in ("", "0"):
            result[..., 0, 0] = gain[..., k]
        if element in ("", "1"):
            result[..., 1, 1] = gain[..., k]
        if len(element) == 2:
            result[..., int(element[0]), int(element[1])] = gain[..., k]
    return result


_KINDS = [
    Kind("scalar", "one complex gain for both feeds", ("amplitude", "phase"), ("",)),
    Kind("diag", "a complex gain for each feed", ("amplitude", "phase"), _FEEDS),
    Kind("full", "a full complex matrix", ("amplitude", "phase"), _ALL, diagonal=False),
    Kind("phase", "a phase for each feed", ("phase",), _FEEDS),
    Kind("amplitude", "a real amplitude for each feed", ("amplitude",), _FEEDS),
    Kind("delay", "a delay for each feed", ("clock",), _FEEDS),
    Kind("rate", "a rate of change of the delay, for each feed", ("rate",), _FEEDS),
    Kind("tec", "a difference of electron content", ("tec",), ("",)),
    Kind("rotation", "a rotation of linear feeds", ("rotation",), ("",), diagonal=False),
    Kind("crosshand", "a phase between the feeds, the same for all antennas", ("phase",), _FEEDS, given=("0",)),
    Kind("parallactic", "the known turn of feeds of alt-azimuth mounts", ("rotation",), ("",), diagonal=False),
    Kind("faraday", "a Faraday rotation of linear feeds", ("rotationmeasure",), ("",), diagonal=False),
    Kind("leakage", "complex leakages off the diagonal", ("amplitude", "phase"), _ALL, False, ("00", "11")),
]

#: {name: Kind} of everything that a term can be.
KINDS = {kind.name: kind for kind in _KINDS}

#: Quantities from which a matrix follows by the frequency of a cell, not only by the interval that the cell is in.
FREQUENCY_QUANTITIES = {"clock", "rate", "tec", "rotationmeasure"}

#: Quantities from which a matrix follows by the time of a cell, likewise.
TIME_QUANTITIES = {"rate"}

#: Kinds that say what one feed has of, or is to, the other.
OF_TWO_FEEDS = ("rotation", "faraday", "crosshand", "leakage")

#: Kinds that turn linear feeds.
ROTATIONS = ("rotation", "faraday")

#: Kinds that bring what one feed receives into the other by factors of their own; by these, or as feeds are turned.
LEAKING = ("full", "leakage")
MIXING = (*LEAKING, *ROTATIONS)

#: Kinds that can be made to act on both feeds alike.
CAN_BE_SCALAR = ("phase", "amplitude", "delay", "rate")

#: Kinds of which the values of antennas can be made to lie in a plane over the array.
IN_PLANES = ("tec", "phase", "delay")

#: Kinds that turn phases, and do nothing besides; of both feeds or each.
TURNING = ("phase", "delay", "rate", "tec")


def observed_elements(elements: Sequence[str], correlations: Collection[str]) -> list[bool]:
    """Which matrix elements data of these correlations can tell something of: all but those of a feed that is in none
    of them ("1" and "11" where there is RR only)."""
    feeds = {"XR": "0", "YL": "1"}
    present = {number for name in correlations for hand in name for letters, number in feeds.items() if hand in letters}
    return [not present or set(element) <= present for element in elements]


def kind_of(quantities: set[str], n_element: int) -> str:
    """The kind of term that tables of these types, with so many elements, are solutions of.

    Raises `CalibrationError` if there is none.
    """
    if quantities == {"amplitude", "phase"} and n_element in (1, 2, 4):
        return {1: "scalar", 2: "diag", 4: "full"}[n_element]
    single = {"phase": "phase", "amplitude": "amplitude", "clock": "delay", "tec": "tec", "rotation": "rotation"}
    single |= {"rotationmeasure": "faraday", "rate": "rate"}
    if len(quantities) == 1 and n_element in (1, 2):
        (quantity,) = quantities
        if quantity in single:
            return single[quantity]
    raise CalibrationError(
        f"solutions of type {' and '.join(sorted(quantities))} with {n_element} elements are of no "
        f"known kind of term; known are {', '.join(KINDS)}"
    )
