"""What evaluates a PyNode: between the runtime's arrays and the user's function."""

from __future__ import annotations

import numpy as np

from . import _core
from .cells import AXES, Cells


def register(evaluate) -> int:
    """The number by which a node's state refers to a function, or to an object with a method `evaluate`."""
    function = getattr(evaluate, "evaluate", evaluate)
    if not callable(function):
        raise TypeError(f"expected a function or an object with evaluate(), got {evaluate!r}")
    return _core.register_py_object(function)


def _call(function, axes, children, derivatives, rank) -> np.ndarray:
    """One evaluation, or, with `derivatives` (one array or None per child), a derivative along one parameter."""
    cells = Cells.from_runtime(axes)
    values = [_trim(np.asarray(child), cells) for child in children]
    if derivatives is None:
        return _full(function(cells, *values), rank)
    steps = [None if d is None else _trim(np.asarray(d), cells) for d in derivatives]
    # Along the direction of all children at once; the step balances rounding (eps/h) against curvature (h^2).
    scale = max((np.max(np.abs(d), initial=0.0) for d in steps if d is not None), default=0.0)
    size = max((np.max(np.abs(v), initial=0.0) for v in values), default=1.0) or 1.0
    if scale == 0.0:
        return np.zeros_like(_full(function(cells, *values), rank))
    h = np.finfo(float).eps ** (1 / 3) * size / scale
    ahead = [v if d is None else v + h * d for v, d in zip(values, steps, strict=True)]
    behind = [v if d is None else v - h * d for v, d in zip(values, steps, strict=True)]
    difference = _full(function(cells, *ahead), rank) - _full(function(cells, *behind), rank)
    return np.ascontiguousarray(difference / (2 * h))


def _trim(array: np.ndarray, cells: Cells) -> np.ndarray:
    """Without the axes that the cells do not have, which are the last."""
    drop = len(AXES) - cells.rank
    return array.reshape(array.shape[: array.ndim - drop]) if drop else array


def _full(result, rank: int) -> np.ndarray:
    """As [tensor dimensions..., time, freq, l, m] of float64 or complex128; missing trailing axes have length 1."""
    array = np.asarray(result)
    array = array.reshape(array.shape + (1,) * (rank + len(AXES) - array.ndim))
    return np.ascontiguousarray(array, dtype=np.complex128 if np.iscomplexobj(array) else np.float64)


_core.set_py_node_call(_call)
