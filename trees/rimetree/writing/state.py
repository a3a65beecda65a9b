"""State fields between Python and the runtime."""

from __future__ import annotations

import math
from array import array
from numbers import Complex, Number, Real

import numpy as np

from .._core import Error
from ..units import UnfitError, in_unit, is_quantity, refuse_mask

#: What a state field's type is called in documentation.
STATE_TYPES = {
    "boolean": "bool",
    "integer": "int",
    "real": "float",
    "text": "str",
    "text_list": "list of str",
    "array": "array",
}

_KINDS_OF_NUMBERS = (Number, np.ndarray, np.generic, list, tuple, range, memoryview, array)
_INT64 = range(-(2**63), 2**63)


def is_numbers(value) -> bool:
    """Whether a value is of a kind that numbers are given in (what it holds may still be something else)."""
    return isinstance(value, _KINDS_OF_NUMBERS) or hasattr(type(value), "__array__") or is_quantity(value)


def as_array(value, what: str = "value") -> np.ndarray:
    """A new C-contiguous array of float64 or complex128, whatever array-like it is made from.

    Never a view: what a script does to its own array afterwards changes no node. Raises `UnfitError`, with `what` in
    the message, where it holds something else than numbers, units or masked elements.
    """
    kind = type(value)
    if kind is float or kind is int or kind is complex or kind is bool:
        return _array_of_number(value, what)
    if is_quantity(value):
        raise UnfitError(f"{what} is in {value.unit}, expected plain numbers")
    if hasattr(kind, "units"):
        raise UnfitError(f"{what} has a unit of an unknown kind: give an astropy Quantity or plain numbers")
    try:
        found = np.array(refuse_mask(value, what))
    except Error:
        raise
    except Exception:  # rows of different lengths, quantities in a list, what an object's __array__ raises
        raise UnfitError(
            f"{what} is no array of numbers: {short(value)}; rows must be of one length, and a unit stands outside the "
            "list, as in [1, 2] * u.deg"
        ) from None
    if found.dtype.kind == "O" and all(isinstance(one, Number) for one in found.flat):
        complex_ones = any(isinstance(one, complex | np.complexfloating) for one in found.flat)
        try:  # fractions, decimal numbers, integers of more than 64 bits
            found = found.astype(np.complex128 if complex_ones else np.float64)
        except (OverflowError, TypeError, ValueError):
            raise UnfitError(f"{what} holds numbers that double precision cannot: {short(value)}") from None
    if found.dtype.kind not in "biufc":
        hint = " (give seconds of MJD, time.utc.mjd * 86400)" if hasattr(kind, "mjd") else ""
        raise UnfitError(f"expected numbers for {what}, got {short(value)}{hint}")
    return found.astype(np.complex128 if found.dtype.kind == "c" else np.float64, order="C", copy=False)


def _array_of_number(value: Complex, what: str) -> np.ndarray:
    try:
        return np.array(value, dtype=np.complex128 if type(value) is complex else np.float64)
    except OverflowError:
        raise UnfitError(f"{what} is a number that double precision cannot hold") from None


def short(value) -> str:
    """A value as text of at most a line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def to_runtime(value, kind: str, what: str = "value"):
    """A state value in the form the runtime takes, for a field of type `kind` (a key of `STATE_TYPES`).

    Raises `UnfitError` where it is none. A type that is not known is left to the runtime.
    """
    if value is None:
        return None
    convert = _CONVERSIONS.get(kind)
    return value if convert is None else convert(value, what)


def _boolean(value, what: str) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise UnfitError(f"{what} must be True or False, not {short(value)}")


def _integer(value, what: str) -> int:
    if type(value) is not int:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise UnfitError(f"{what} must be an integer, not {short(value)}")
        value = int(value)
    if value not in _INT64:
        raise UnfitError(f"{what} must be an integer of 64 bits, not {value}")
    return value


def _real(value, what: str) -> float:
    if type(value) is not float:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = refuse_mask(value, what)[()]
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            raise UnfitError(f"{what} must be a real number, not {short(value)}")
        try:
            value = float(value)
        except OverflowError:
            raise UnfitError(f"{what} is a number that double precision cannot hold") from None
    if not math.isfinite(value):
        raise UnfitError(f"{what} must be a finite number, not {value}")
    return value


def _text(value, what: str) -> str:
    if isinstance(value, str):
        return str(value)
    raise UnfitError(f"{what} must be a string, not {short(value)}")


def _text_list(value, what: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise UnfitError(f"{what} must be a list of strings, not {short(value)}")
    return list(value)


_CONVERSIONS = {
    "array": as_array,
    "boolean": _boolean,
    "integer": _integer,
    "real": _real,
    "text": _text,
    "text_list": _text_list,
}


def with_unit(value, kind: str, accepted: tuple[str, ...], what: str):
    """As `to_runtime`, of a value that may bring a unit: the value, and the unit that it was converted to or None."""
    if not is_quantity(value):
        return to_runtime(value, kind, what), None
    if kind not in ("array", "real"):
        raise UnfitError(f"{what} takes no unit, but is in {value.unit}")
    numbers, unit = in_unit(value, accepted, what)
    return to_runtime(numbers, kind, what), unit


def from_runtime(value):
    """A state value as the runtime gives it back; arrays become NumPy arrays, scalars numbers."""
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    array = np.asarray(value)
    return array[()] if array.ndim == 0 else array
