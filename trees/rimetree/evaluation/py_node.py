"""What evaluates a PyNode and takes it backwards: between the runtime's arrays and the user's functions."""

from __future__ import annotations

import itertools
import weakref
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..units import TREE_UNITS, in_unit, is_quantity, refuse_mask
from .cells import AXES, Cells

#: Numbers of children that are moved one by one where cells depend on each other.
_MOST_DIFFERENCES = 4096
_DOUBLE = float(np.finfo(float).eps)


@dataclass(frozen=True)
class _Functions:
    """What a node's number stands for."""

    evaluate: object
    pull_back: object = None


class Number(int):
    """The number by which a node's state refers to functions, which are there as long as a definition or a forest has
    it. Copied and read by another process it is that of the same functions."""

    functions: _Functions

    def __deepcopy__(self, memo) -> Number:
        return self

    def __reduce__(self):
        return register, (self.functions.evaluate, self.functions.pull_back)


_by_number: weakref.WeakValueDictionary[int, _Functions] = weakref.WeakValueDictionary()
_number_of: weakref.WeakKeyDictionary[_Functions, int] = weakref.WeakKeyDictionary()
_new_numbers = itertools.count()


def register(evaluate, pull_back=None) -> Number:
    """The number of functions, or of an object with methods of these names; the same for the same ones."""
    function = getattr(evaluate, "evaluate", evaluate)
    pull_back = pull_back or getattr(evaluate, "pull_back", None)
    if not callable(function):
        raise TypeError(f"expected a function or an object with evaluate(), got {evaluate!r}")
    if pull_back is not None and not callable(pull_back):
        raise TypeError(f"expected pull_back to be a function, got {pull_back!r}")
    functions = _Functions(function, pull_back)
    try:
        number = Number(_number_of.setdefault(functions, next(_new_numbers)))
    except TypeError:  # of objects that have no hash
        number = Number(next(_new_numbers))
    number.functions = _by_number.setdefault(int(number), functions)
    return number


def _call(functions, axes, children, derivatives, rank, flags) -> tuple[np.ndarray, np.ndarray | None]:
    """One evaluation, or, with `derivatives` (one array or None per child), a derivative along one parameter; and the
    mask of the result [1 or tensor element, time, freq, l, m], None where it has none of its own.

    `flags`: of each child [1 or tensor element, time, freq, l, m] or None; None alone for a function that does not want
    to see them.
    """
    cells = Cells.from_runtime(axes)
    values, masks = _inputs(children, flags, cells)
    function = functions.evaluate if masks is None else _seeing(functions.evaluate, masks)
    if derivatives is None:
        result = _unambiguous(function(cells, *values), cells, rank)
        if masks is None or not isinstance(result, np.ma.MaskedArray):
            return _full(result, rank), None
        return _full(result.data, rank), _mask(result, rank)
    steps = [None if d is None else _trim(np.asarray(d), cells) for d in derivatives]
    slope, _ = _difference(function if masks is None else _unmasked(function), cells, values, steps, rank)
    return np.ascontiguousarray(slope), None


def _inputs(children, flags, cells: Cells) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
    """The children's values [tensor dimensions..., axes of the cells], and their masks of the same shapes, or None for
    a function that does not want to see them; flags may vary on more axes than values, which then do likewise."""
    values = [_trim(np.asarray(child), cells) for child in children]
    if flags is None:
        return values, None
    masks = []
    for k, (value, flag) in enumerate(zip(values, flags, strict=True)):
        rank = value.ndim - cells.rank
        mask = np.zeros((1,) * value.ndim, bool)
        if flag is not None:
            mask = _trim(np.asarray(flag) != 0, cells)
            mask = mask.reshape((value.shape[:rank] if len(mask) > 1 else (1,) * rank) + mask.shape[1:])
        values[k], mask = np.broadcast_arrays(value, mask)
        masks.append(mask)
    return values, masks


def _seeing(function, masks: list[np.ndarray]):
    """A function of arrays that calls one of masked arrays."""

    def call(cells, *values):
        return function(cells, *(np.ma.array(v, mask=m.copy()) for v, m in zip(values, masks, strict=True)))

    return call


def _unmasked(function):
    """The function, whose results are plain arrays: what is flagged is left out by others."""

    def call(cells, *values):
        result = function(cells, *values)
        return result.data if isinstance(result, np.ma.MaskedArray) else result

    return call


def _mask(result: np.ma.MaskedArray, rank: int) -> np.ndarray:
    """The mask of a result as the runtime takes it."""
    mask = np.ma.getmaskarray(result)
    full = mask.reshape(mask.shape + (1,) * (rank + len(AXES) - mask.ndim)).astype(float)
    full = full.reshape(-1, *full.shape[rank:])
    return np.ascontiguousarray(full[:1] if (full == full[:1]).all() else full)


def _difference(function, cells: Cells, values: list, steps: list, rank: int) -> tuple[np.ndarray, float]:
    """The derivative along the direction of all children at once, as a central difference, and the rounding of what the
    function returns."""
    # The step balances rounding (eps/h) against curvature (h^2), for the child that moves most in units of what moves.
    sizes = [
        (np.max(np.abs(v * (d != 0)), initial=0.0) or 1.0) / np.max(np.abs(d))
        for v, d in zip(values, steps, strict=True)
        if d is not None and np.any(d)
    ]
    if not sizes:
        still = function(cells, *values)
        return np.zeros_like(_full(still, rank)), _rounding(still)

    def moved(by: float):
        return function(cells, *(v if d is None else v + by * d for v, d in zip(values, steps, strict=True)))

    h = _DOUBLE ** (1 / 3) * min(sizes)
    ahead = moved(h)
    if (rounding := _rounding(ahead)) > _DOUBLE:
        h = rounding ** (1 / 3) * min(sizes)
        ahead = moved(h)
    return (_full(ahead, rank) - _full(moved(-h), rank)) / (2 * h), rounding


def _rounding(result) -> float:
    """How coarsely numbers of a function are rounded: in their precision it may have computed as well."""
    kind = getattr(result, "dtype", None)
    return float(np.finfo(kind).eps) if isinstance(kind, np.dtype) and kind.kind in "fc" else _DOUBLE


def _pull_back(functions, axes, children, wanted, adjoint, rank, flags) -> list:
    """The adjoints of the children that are wanted (else None), from that of the result. `flags`: as of `_call`.

    An adjoint is dL/dRe + i dL/dIm of the real number L that is differentiated.
    """
    cells = Cells.from_runtime(axes)
    values, masks = _inputs(children, flags, cells)
    adjoint = np.asarray(adjoint)
    if functions.pull_back is None:
        function = functions.evaluate if masks is None else _unmasked(_seeing(functions.evaluate, masks))
        adjoints = _pull_back_by_differences(function, cells, values, wanted, adjoint, rank)
    else:
        if masks is not None:
            values = [np.ma.array(v, mask=m.copy()) for v, m in zip(values, masks, strict=True)]
        adjoints = functions.pull_back(cells, _trim(adjoint, cells), *values)
        if len(values) == 1 and not isinstance(adjoints, (list, tuple)):
            adjoints = [adjoints]
        if len(adjoints) != len(values):
            raise ValueError(f"pull_back() returned {len(adjoints)} adjoints for {len(values)} children")
    unseen = ~np.any(adjoint.reshape((-1, *adjoint.shape[rank:])), axis=0)  # cells on which nothing depends
    return [
        _as_adjoint(a, np.asarray(child), unseen) if want and a is not None else None
        for a, child, want in zip(adjoints, children, wanted, strict=True)
    ]


def _as_adjoint(adjoint, child: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """An adjoint in the form and type of a child, summed over cells on which the child does not vary."""
    rank = child.ndim - len(AXES)
    full = _full(adjoint.filled(0) if isinstance(adjoint, np.ma.MaskedArray) else adjoint, rank)
    if np.issubdtype(child.dtype, np.floating):
        full = full.real
    if any(n not in (m, u) for n, m, u in zip(full.shape[rank:], child.shape[rank:], unseen.shape, strict=True)) or (
        full.shape[:rank] != child.shape[:rank]
    ):
        raise ValueError(f"pull_back() returned an adjoint of shape {full.shape} for a child of shape {child.shape}")
    # Values that are flagged may be NaN, and must not spread.
    full = np.where(unseen & ~np.isfinite(full), 0, full) if full.shape[rank:] == unseen.shape else full
    axes = tuple(rank + i for i, n in enumerate(child.shape[rank:]) if n == 1)
    return np.ascontiguousarray(np.broadcast_to(np.sum(full, axis=axes, keepdims=True), child.shape), dtype=child.dtype)


def _pull_back_by_differences(function, cells: Cells, values: list, wanted: list, adjoint: np.ndarray, rank: int):
    """Adjoints of the children by central differences: see PyNode.

    One difference for each tensor element of a child, which moves on all cells at once, does where a cell of the result
    depends on that cell of the children only. That is tried on a random direction; if it is not so each number moves by
    itself.
    """
    slopes = _Slopes(function, cells, values, adjoint, rank)
    wanted = [k for k, want in enumerate(wanted) if want]
    if all(_broadcasts(_full(values[k], slopes.rank_of(k)).shape[slopes.rank_of(k) :], slopes.extents) for k in wanted):
        found = {k: slopes.by_elements(k) for k in wanted}
        if slopes.are_local(wanted):
            return [found.get(k) for k in range(len(values))]
    if sum(values[k].size for k in wanted) > _MOST_DIFFERENCES:
        raise ValueError("cells of the result depend on other cells, and on many numbers: PyNode needs a pull_back()")
    return [slopes.by_numbers(k) if k in wanted else None for k in range(len(values))]


class _Slopes:
    """Differences of a function, and what they are to the adjoints of its children."""

    def __init__(self, function, cells: Cells, values: list, adjoint: np.ndarray, rank: int):
        self._function, self._cells, self._values, self._adjoint, self._rank = function, cells, values, adjoint, rank
        self.extents = adjoint.shape[rank:]
        random = np.random.default_rng(0)
        self._direction = [random.normal(size=v.shape) * (np.max(np.abs(v), initial=0.0) or 1.0) for v in values]
        self._expected = np.zeros(adjoint.shape)  # along it, by the differences for elements
        self._rounding = _DOUBLE  # the coarsest that was seen

    def rank_of(self, k: int) -> int:
        return self._values[k].ndim - self._cells.rank

    def along(self, steps: dict) -> np.ndarray:
        """The derivative of the result where something depends on it, else zero."""
        steps = [steps.get(k) for k in range(len(self._values))]
        slope, rounding = _difference(self._function, self._cells, self._values, steps, self._rank)
        self._rounding = max(self._rounding, rounding)
        return np.where(self._adjoint == 0, 0, np.broadcast_to(slope, self._adjoint.shape))

    def share(self, slope: np.ndarray) -> np.ndarray:
        """Cell by cell, what a slope is to the number that is differentiated."""
        return np.sum(np.real(np.conj(self._adjoint) * slope), axis=tuple(range(self._rank)))

    def steps(self, k: int, places):
        """Steps of a child at each of some places, along the real and the imaginary axis."""
        for place in np.ndindex(places):
            for unit in (1.0, 1j) if np.iscomplexobj(self._values[k]) else (1.0,):
                step = np.zeros_like(self._values[k])
                step[place] = unit
                yield place, unit, step

    def by_elements(self, k: int) -> np.ndarray:
        rank = self.rank_of(k)
        full = _full(self._values[k], rank)
        found, extents = np.zeros_like(full), full.shape[rank:]
        shorter = tuple(axis for axis, n in enumerate(extents) if n == 1)
        for element, unit, step in self.steps(k, full.shape[:rank]):
            slope = self.along({k: step})
            if unit == 1.0:
                self._expected = self._expected + slope * self._direction[k][element].reshape(extents)
            found[element] += unit * np.sum(self.share(slope), axis=shorter, keepdims=True)
        return found

    def are_local(self, wanted: list) -> bool:
        actual = self.along({k: self._direction[k] for k in wanted})
        size = np.max(np.abs(actual), initial=0.0)
        close = 1e-6 if self._rounding <= _DOUBLE else 1e-3
        return bool(np.max(np.abs(actual - self._expected), initial=0.0) <= close * size)

    def by_numbers(self, k: int) -> np.ndarray:
        found = np.zeros_like(self._values[k])
        for place, unit, step in self.steps(k, found.shape):
            found[place] += unit * np.sum(self.share(self.along({k: step})))
        return found


def _unambiguous(result, cells: Cells, rank: int):
    """What a function returned, unless it has one number for each of as many times as there are channels: who thinks of
    NumPy's rules means channels, whereas it is trailing axes that may be left out. Nor may it have more axes than there
    are: those of a tuple of arrays could be taken for the node's dimensions and times."""
    shape = np.shape(result)
    if len(shape) > rank + cells.rank:
        raise ValueError(
            f"the function returned {'several arrays' if isinstance(result, tuple | list) else 'an array'} of shape "
            f"{list(shape)}; expected at most {rank + cells.rank} axes, {rank} of dims and {cells.rank} of cells"
        )
    counts = [0 if axis is None else len(axis[0]) for axis in cells.to_runtime()[:2]]
    if len(shape) == rank + 1 and shape[-1] > 1 and counts == [shape[-1]] * 2:
        n = shape[-1]
        raise ValueError(
            f"the function returned an array {list(shape)}, which could be for {n} times or for {n} channels: give "
            f"both axes, {[*shape, 1]} or {[*shape[:-1], 1, n]}"
        )
    return result


def _broadcasts(extents: tuple, to: tuple) -> bool:
    return all(n in (1, m) for n, m in zip(extents, to, strict=True))


def _trim(array: np.ndarray, cells: Cells) -> np.ndarray:
    """Without the axes that the cells do not have, which are the last."""
    drop = len(AXES) - cells.rank
    return array.reshape(array.shape[: array.ndim - drop]) if drop else array


def _full(result, rank: int) -> np.ndarray:
    """As [tensor dimensions..., time, freq, l, m] of float64 or complex128; missing trailing axes have length 1."""
    if is_quantity(result):
        result = in_unit(result, TREE_UNITS, "what the function returned")[0]
    array = np.asarray(refuse_mask(result, "what the function returned"))
    if array.dtype.kind not in "biufc":
        what = "nothing (None)" if result is None else f"{type(result).__name__} of {array.dtype}"
        raise TypeError(f"the function returned {what}; expected an array of real or complex numbers")
    array = array.reshape(array.shape + (1,) * (rank + len(AXES) - array.ndim))
    return np.ascontiguousarray(array, dtype=np.complex128 if np.iscomplexobj(array) else np.float64)


_core.set_py_node_calls(_call, _pull_back, _by_number.__getitem__)
