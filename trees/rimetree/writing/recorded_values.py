"""What a function gets that is recorded: it stands for arrays, and what is done with it becomes nodes.

A `Value` is the array as the function sees it, which may be changed under all of its names (`y += x`). What it was at
some moment is a `Step`, which stays as it is; operands are Steps.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from .._core import Error
from ..units import TREE_UNITS, UnfitError, in_unit, is_quantity
from .definitions import NodeDef, by_position
from .numpy_functions import CLASSES, FORMULAS
from .script_lines import script_line
from .state import as_array, short

_ANY_NODE = NodeDef("Identity", (), (), {}, "")


class NotRecordableError(Error, TypeError):
    """Something that is no arithmetic of each cell by itself."""


def _refuse(what: str) -> NoReturn:
    raise NotRecordableError(f"{what} cannot be recorded: see help(rt.record), or use a PyNode")


class Step:
    """What a value is at some moment: a node, or what is done with others. `cell_rank`: how many axes of cells its
    arrays would have at the end."""

    def __init__(self, class_name: str, operands: tuple, cell_rank: int, state: dict | None = None, node=None):
        self.class_name = class_name
        self.operands = operands  # Steps and numbers
        self.cell_rank = cell_rank
        self.state = state
        self.node = node
        self.origin = script_line(3)

    def in_order(self) -> list[Step]:
        """All steps that this one needs, each after its operands and once, itself last."""
        done: dict[int, Step] = {}
        waiting = [(self, False)]
        while waiting:
            step, ready = waiting.pop()
            if id(step) in done:
                continue
            if ready:
                done[id(step)] = step
            else:
                waiting.append((step, True))
                waiting += [(one, False) for one in step.operands if isinstance(one, Step)]
        return list(done.values())

    def definition(self, nodes: dict[int, object]) -> NodeDef:
        """With the nodes that its operands have got, by id."""
        children = tuple(nodes[id(one)] if isinstance(one, Step) else one for one in self.operands)
        return NodeDef(self.class_name, by_position(len(children)), children, self.state or {}, self.origin)


def _operator(ufunc):
    """An operator, its reflection, and the one that changes the value itself."""

    def change(self, other):
        self._change(ufunc(self, other))
        return self

    return lambda self, other: ufunc(self, other), lambda self, other: ufunc(other, self), change


class Value:
    """An array, as the function sees it. `kept`: what it is, if it is none that the function may change."""

    def __init__(self, step: Step, kept: str = ""):
        self._step = step
        self._kept = kept

    @classmethod
    def of_node(cls, node) -> Value:
        return cls(Step("", (), 2, node=node), "what the function gets")

    def now(self) -> Step:
        return self._step

    def usable(self) -> Step:
        """As `now`, as an operand."""
        return self.now()

    def _change(self, value: Value) -> None:
        """Under all names of this array, as NumPy does; what was computed with it before stays."""
        if self._kept:
            _refuse(f"a change of {self._kept} (`y += x`; `y = y + x` makes a new array)")
        self._step = value.now()

    __add__, __radd__, __iadd__ = _operator(np.add)
    __sub__, __rsub__, __isub__ = _operator(np.subtract)
    __mul__, __rmul__, __imul__ = _operator(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _operator(np.divide)
    __pow__, __rpow__, __ipow__ = _operator(np.power)
    __mod__, __rmod__, __imod__ = _operator(np.remainder)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operator(np.floor_divide)
    __matmul__, __rmatmul__, __imatmul__ = _operator(np.matmul)

    def __neg__(self) -> Value:
        return np.negative(self)

    def __pos__(self) -> Value:
        return np.positive(self)

    def __abs__(self) -> Value:
        return np.absolute(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        if method != "__call__" or keywords:
            _refuse(f"np.{ufunc.__name__} with {method if method != '__call__' else ', '.join(keywords)}")
        if ufunc in _FORMULAS:
            return _FORMULAS[ufunc](*inputs)
        if ufunc not in CLASSES:
            _refuse(f"np.{ufunc.__name__}")
        return _value(CLASSES[ufunc], inputs)

    def __array_function__(self, function, types, arguments, keywords):
        if function not in _FUNCTIONS:
            _refuse(f"np.{function.__name__}")
        recorded = _FUNCTIONS[function]
        try:
            inspect.signature(recorded).bind(*arguments, **keywords)
        except TypeError as problem:
            _refuse(f"np.{function.__name__} with these arguments ({problem})")
        return recorded(*arguments, **keywords)

    @property
    def real(self) -> Value:
        return _Part(self, lambda whole: _step("Real", (whole,)))

    @property
    def imag(self) -> Value:
        return _Part(self, lambda whole: _step("Imag", (whole,)))

    def conj(self) -> Value:
        # Of real numbers NumPy gives the array itself, and whether these are real is not known here.
        return Value(np.conjugate(self).now(), "y.conj()")

    conjugate = conj

    def sum(self, axis=None) -> Value:
        """Over a dimension of the tensor."""
        try:
            dimension = operator.index(axis)
        except TypeError:
            dimension = -1
        if dimension < 0:
            _refuse(f"a sum over axis {axis} (axes from 0 count dimensions of the tensor)")
        return _value("Sum", (self,), {"reduction_axes": [], "tensor_axis": dimension})

    def __getitem__(self, index) -> Value:
        try:
            state = _ANY_NODE[index].state  # the rules of nodes
        except (TypeError, IndexError) as problem:
            _refuse(f"an index {short(index)} ({problem})")

        def select(whole: Step) -> Step:
            return Step("Selector", (whole,), whole.cell_rank, state)

        has_list = any(isinstance(one, list | np.ndarray) for one in (index if isinstance(index, tuple) else (index,)))
        return Value(select(self.now())) if has_list else _Part(self, select)  # by a list NumPy makes a new array

    def __setitem__(self, index, value):
        _refuse("a change of a part of an array (`y[0] = x`; np.stack makes arrays of parts)")

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f".{name}")

    def _is_no_number(self, *_):
        _refuse("a decision or a number that depends on values")

    __bool__ = __float__ = __complex__ = __int__ = __index__ = _is_no_number
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _is_no_number

    def _is_no_array(self, *_, **__):
        _refuse("making an array of values (np.stack makes tensors of them)")

    __array__ = __iter__ = __len__ = _is_no_array
    __hash__ = object.__hash__


class _Part(Value):
    """A view of another array, which changes with it."""

    def __init__(self, whole: Value, part_of: Callable[[Step], Step]):
        self._whole, self._part_of, self._seen = whole, part_of, whole.now()
        super().__init__(part_of(self._seen), "a part of an array")

    def now(self) -> Step:
        if (whole := self._whole.now()) is not self._seen:
            self._seen, self._step = whole, self._part_of(whole)
        return self._step


class RecordedCells:
    """Stands for the cells of a request."""

    @property
    def freq_hz(self) -> _Centres:
        return _Centres("Freq", "freq_hz", 1)

    @property
    def time_s(self) -> _Centres:
        return _Centres("Time", "time_s", 0)

    def __getattr__(self, name: str):
        _refuse(f"cells.{name}")


class _Centres(Value):
    """Centres of cells along the axis `place` of [time, freq], as an array of one axis."""

    def __init__(self, class_name: str, name: str, place: int):
        super().__init__(Step(class_name, (), 1), f"cells.{name}")
        self._name, self._place = name, place

    def __getitem__(self, index) -> Value:
        wanted = [None, None]
        wanted[self._place] = slice(None)
        if list(index if isinstance(index, tuple) else (index,)) != wanted:
            _refuse(f"an index of cells.{self._name} other than {'[:, None]' if self._place == 0 else '[None, :]'}")
        return Value(Step(self._step.class_name, (), 2), self._kept)

    def usable(self) -> Step:
        if self._place == 0:
            _refuse(f"cells.{self._name} along the axis of channels: write cells.{self._name}[:, None]")
        return self._step


def step_of(value, what: str) -> Step:
    if isinstance(value, Value):
        return value.usable()
    return Step("Constant", (), 0, {"value": _number(value, what)})


def _number(value, what: str) -> np.ndarray:
    """Numbers without the axes of cells, along which they must not vary."""
    if value is None:
        _refuse(f"{what}, None,")
    try:
        array = as_array(in_unit(value, TREE_UNITS, what)[0] if is_quantity(value) else value, what)
    except UnfitError as problem:
        raise NotRecordableError(str(problem)) from None
    if array.ndim == 0:
        return array
    if array.shape[-2:] not in ((1,), (1, 1)):
        _refuse(f"{what}: an array of shape {array.shape}, whose last two axes are cells and must be 1,")
    return array.reshape(array.shape[:-2])


def _value(class_name: str, inputs: tuple, state: dict | None = None) -> Value:
    """A new array of values and numbers."""
    operands = tuple(one.usable() if isinstance(one, Value) else _number(one, "an operand") for one in inputs)
    return Value(_step(class_name, operands, state))


def _step(class_name: str, operands: tuple, state: dict | None = None) -> Step:
    """One node of Steps and numbers."""
    if class_name == "Multiply":
        state = {"elementwise": True}
    elif class_name == "Pow" and not isinstance(operands[1], Step) and np.array_equal(operands[1], 2):
        class_name, operands = "Sqr", operands[:1]
    return Step(class_name, operands, max(one.cell_rank for one in operands if isinstance(one, Step)), state)


def _stack(values, axis=0) -> Value:
    steps = [step_of(one, "what is stacked") for one in values]
    if axis != 0:
        _refuse(f"np.stack along axis {axis}, which is not 0,")
    if any(one.cell_rank == 1 for one in steps):
        _refuse("np.stack of values with one axis, which would become time (write cells.freq_hz[None, :]),")
    return Value(Step("Composer", tuple(steps), 2, {"dims": np.zeros(1)}))


_FORMULAS = {
    **FORMULAS,
    np.positive: lambda x: Value(x.usable()),
    np.hypot: lambda x, y: abs(_value("ToComplex", (x, y))),  # squares would overflow
}


def _angle(z, deg=False) -> Value:
    angle = _value("Arg", (z,))
    return np.degrees(angle) if deg else angle


_FUNCTIONS = {
    np.real: lambda x: x.real,
    np.imag: lambda x: x.imag,
    np.angle: _angle,
    np.sum: lambda a, axis=None: a.sum(axis),
    np.stack: _stack,
}
