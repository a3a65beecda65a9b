"""State fields between Python and the runtime."""

from __future__ import annotations

import numpy as np

#: What a state field's type is called in documentation.
STATE_TYPES = {
    "boolean": "bool",
    "integer": "int",
    "real": "float",
    "text": "str",
    "text_list": "list of str",
    "array": "array",
}


def as_array(value) -> np.ndarray:
    """A C-contiguous array of float64 or complex128, whatever array-like it is made from."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"expected numbers, got {value!r}")
    return np.asarray(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64, order="C")


def to_runtime(value, kind: str):
    """A state value in the form the runtime takes, for a field of type `kind` (a key of `STATE_TYPES`)."""
    if value is None:
        return None
    if kind == "array":
        return as_array(value)
    if kind == "boolean" and isinstance(value, np.bool_):
        return bool(value)
    if kind == "integer" and isinstance(value, np.integer):
        return int(value)
    if kind == "real" and isinstance(value, np.floating | np.integer):
        return float(value)
    if kind == "text_list":
        return [value] if isinstance(value, str) else list(value)
    return value


def from_runtime(value):
    """A state value as the runtime gives it back; arrays become NumPy arrays, scalars numbers."""
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    array = np.asarray(value)
    return array[()] if array.ndim == 0 else array
