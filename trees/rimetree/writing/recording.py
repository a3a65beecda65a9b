"""Functions that are written for arrays, as nodes.

`rt.record(function, *children)` is a definition like any other. When it gets a name, the function is called once with
objects that stand for the values of the children: what it does with them becomes nodes below that name.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NoReturn, Protocol, runtime_checkable

import numpy as np

from .._core import Error
from ..arguments import checked
from ..units import TREE_UNITS, in_unit, is_quantity
from .definitions import PACKAGE_FOLDER, NodeDef, by_position, script_line
from .state import short


@runtime_checkable
class RecordableObject(Protocol):
    """An object with a method `evaluate(cells, *children)`."""

    def evaluate(self, cells, *children): ...


@checked
def record(function: Callable | RecordableObject, *children) -> Recorded:
    """Nodes from a function `function(cells, *children) -> value` that is written for arrays of values, as `PyNode`
    takes it; or from an object with a method `evaluate`.

    The function is called when the definition gets a name, once for each name, and its arithmetic becomes nodes: they
    are as fast as any others, on the host and on devices, have exact derivatives in both modes, and are read by sums
    over sources. What else the function uses, such as attributes of an object, is taken as it is then.

    What can be recorded: operators, NumPy's functions of numbers (`np.exp`, `np.sin`, `np.sqrt`, `np.arctan2`, ...),
    `np.stack` of new first dimensions, `x.real`, `x.imag`, `np.angle`, `x.sum(axis=k)` and indices of tensor
    dimensions; with numbers, arrays of shape [tensor dimensions..., 1, 1], `cells.freq_hz` and `cells.time_s[:, None]`.
    Products are element by element. What mixes cells, decides by values or needs their number cannot be: the Forest
    says so, with the line; use a `PyNode` for it.
    """
    return Recorded(getattr(function, "evaluate", function), children, script_line())


class Recorded(NodeDef):
    """A definition that is a function still; `Repository` asks for its nodes when it has a name."""

    __slots__ = ("function",)

    def __init__(self, function: Callable, children: tuple, origin: str):
        name = getattr(function, "__name__", "record")
        super().__init__(name, by_position(len(children)), children, {}, origin)
        self.function = function

    def with_nodes(self, nodes: tuple, state: dict) -> Recorded:
        return Recorded(self.function, nodes, self.origin)

    def _same_but_children(self, other: NodeDef) -> bool:
        return isinstance(other, Recorded) and self.function == other.function and len(self.nodes) == len(other.nodes)

    def steps(self, children: list) -> list[Step]:
        """What the function does with nodes, the result last. Raises `Error` for what cannot be recorded."""
        try:
            result = self.function(_Cells(), *(Step.of_node(child) for child in children))
            result = _as_step(result, "what the function returned")
        except NotRecordableError as problem:
            raise Error(f"{problem} ({_place_in_script()})") from None
        except Exception as problem:
            raise Error(f"{type(problem).__name__}: {problem} ({_place_in_script()})") from problem
        if result.cell_rank == 1:
            raise Error("the result has one axis, which would be that of time: write cells.freq_hz[None, :]")
        return result.in_order()


class NotRecordableError(Error, TypeError):
    """Something that is no arithmetic of each cell by itself."""


def _refuse(what: str) -> NoReturn:
    raise NotRecordableError(f"{what} cannot be recorded: see help(rt.record), or use a PyNode")


def _operator(ufunc):
    """An operator and its reflection."""
    return lambda self, other: ufunc(self, other), lambda self, other: ufunc(other, self)


class Step:
    """A value of the function: a node, or what is done with others. `cell_rank`: how many axes of cells its arrays
    would have at the end."""

    def __init__(self, class_name: str, operands: tuple, cell_rank: int, state: dict | None = None, node=None):
        self.class_name = class_name
        self.operands = operands  # Steps and numbers
        self.cell_rank = cell_rank
        self.state = state
        self.node = node
        self.origin = script_line(2)

    @classmethod
    def of_node(cls, node) -> Step:
        return cls("", (), 2, node=node)

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

    __add__, __radd__ = _operator(np.add)
    __sub__, __rsub__ = _operator(np.subtract)
    __mul__, __rmul__ = _operator(np.multiply)
    __truediv__, __rtruediv__ = _operator(np.divide)
    __pow__, __rpow__ = _operator(np.power)
    __mod__, __rmod__ = _operator(np.remainder)
    __floordiv__, __rfloordiv__ = _operator(np.floor_divide)
    __matmul__, __rmatmul__ = _operator(np.matmul)

    def __neg__(self) -> Step:
        return np.negative(self)

    def __pos__(self) -> Step:
        return self

    def __abs__(self) -> Step:
        return np.absolute(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        if method != "__call__" or keywords:
            _refuse(f"np.{ufunc.__name__} with {method if method != '__call__' else ', '.join(keywords)}")
        if ufunc in _FORMULAS:
            return _FORMULAS[ufunc](*inputs)
        if ufunc not in _CLASSES:
            _refuse(f"np.{ufunc.__name__}")
        return _step(_CLASSES[ufunc], inputs)

    def __array_function__(self, function, types, arguments, keywords):
        if function not in _FUNCTIONS:
            _refuse(f"np.{function.__name__}")
        return _FUNCTIONS[function](*arguments, **keywords)

    @property
    def real(self) -> Step:
        return _step("Real", (self,))

    @property
    def imag(self) -> Step:
        return _step("Imag", (self,))

    def conj(self) -> Step:
        return np.conjugate(self)

    conjugate = conj

    def sum(self, axis=None) -> Step:
        """Over a dimension of the tensor."""
        if not isinstance(axis, int) or axis < 0:
            _refuse(f"a sum over axis {axis} (axes from 0 count dimensions of the tensor)")
        return _step("Sum", (self,), {"reduction_axes": [], "tensor_axis": axis})

    def __getitem__(self, index) -> Step:
        try:
            selected = self._selected(index)
        except (TypeError, IndexError) as problem:
            _refuse(f"an index {short(index)} ({problem})")
        return selected

    def _selected(self, index) -> Step:
        definition = NodeDef.__getitem__(self, index)  # the rules of nodes
        return Step("Selector", (self,), self.cell_rank, definition.state)

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


class _Cells:
    """Stands for the cells of a request."""

    @property
    def freq_hz(self) -> _Centres:
        return _Centres("Freq", "freq_hz", 1)

    @property
    def time_s(self) -> _Centres:
        return _Centres("Time", "time_s", 0)

    def __getattr__(self, name: str):
        _refuse(f"cells.{name}")


class _Centres(Step):
    """Centres of cells along the axis `place` of [time, freq], as an array of one axis."""

    def __init__(self, class_name: str, name: str, place: int):
        super().__init__(class_name, (), 1)
        self._name, self._place = name, place

    def __getitem__(self, index) -> Step:
        wanted = [None, None]
        wanted[self._place] = slice(None)
        if list(index if isinstance(index, tuple) else (index,)) != wanted:
            _refuse(f"an index of cells.{self._name} other than {'[:, None]' if self._place == 0 else '[None, :]'}")
        return Step(self.class_name, (), 2)

    def usable(self) -> Step:
        if self._place == 0:
            _refuse(f"cells.{self._name} along the axis of channels: write cells.{self._name}[:, None]")
        return self


def _as_step(value, what: str) -> Step:
    if isinstance(value, _Centres):
        return value.usable()
    if isinstance(value, Step):
        return value
    return Step("Constant", (), 0, {"value": _number(value, what)})


def _number(value, what: str) -> np.ndarray:
    """Numbers without the axes of cells, along which they must not vary."""
    if is_quantity(value):
        value = in_unit(value, TREE_UNITS, what)[0]
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        _refuse(f"{what}, {short(value)},")
    if array.ndim == 0:
        return array
    if array.shape[-2:] not in ((1,), (1, 1)):
        _refuse(f"{what}: an array of shape {array.shape}, whose last two axes are cells and must be 1,")
    return array.reshape(array.shape[:-2])


def _step(class_name: str, inputs: tuple, state: dict | None = None) -> Step:
    """One node of values and numbers."""
    steps = [one.usable() if isinstance(one, _Centres) else one for one in inputs]
    operands = tuple(one if isinstance(one, Step) else _number(one, "an operand") for one in steps)
    if class_name == "Multiply":
        state = {"elementwise": True}
    elif class_name == "Pow" and not isinstance(operands[1], Step) and np.all(operands[1] == 2):
        class_name, operands = "Sqr", operands[:1]
    return Step(class_name, operands, max(one.cell_rank for one in operands if isinstance(one, Step)), state)


def _stack(values, axis=0) -> Step:
    steps = [_as_step(one, "what is stacked") for one in values]
    if axis != 0:
        _refuse(f"np.stack along axis {axis}, which is not 0,")
    if any(one.cell_rank == 1 for one in steps):
        _refuse("np.stack of values with one axis, which would become time (write cells.freq_hz[None, :]),")
    return Step("Composer", tuple(steps), 2, {"dims": np.zeros(1)})


def _place_in_script() -> str:
    """ "file:line" of the innermost frame of the exception that is being handled which is not of this package."""
    trace, place = sys.exc_info()[2], ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(PACKAGE_FOLDER):
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


_CLASSES = {
    np.add: "Add",
    np.subtract: "Subtract",
    np.multiply: "Multiply",
    np.divide: "Divide",
    np.power: "Pow",
    np.float_power: "Pow",
    np.negative: "Negate",
    np.absolute: "Abs",
    np.fabs: "Abs",
    np.conjugate: "Conj",
    np.sin: "Sin",
    np.cos: "Cos",
    np.tan: "Tan",
    np.arcsin: "Asin",
    np.arccos: "Acos",
    np.arctan2: "Atan2",
    np.exp: "Exp",
    np.log: "Log",
    np.sqrt: "Sqrt",
    np.square: "Sqr",
}
_FORMULAS = {
    np.positive: lambda x: x,
    np.reciprocal: lambda x: 1.0 / x,
    np.arctan: lambda x: np.arctan2(x, 1.0),
    np.exp2: lambda x: 2.0**x,
    np.log2: lambda x: np.log(x) / math.log(2),
    np.log10: lambda x: np.log(x) / math.log(10),
    np.hypot: lambda x, y: np.sqrt(x * x + y * y),
    np.deg2rad: lambda x: x * (math.pi / 180),
    np.radians: lambda x: x * (math.pi / 180),
    np.rad2deg: lambda x: x * (180 / math.pi),
    np.degrees: lambda x: x * (180 / math.pi),
}
_FUNCTIONS = {
    np.real: lambda x: x.real,
    np.imag: lambda x: x.imag,
    np.angle: lambda x: _step("Arg", (x,)),
    np.sum: lambda x, axis=None: x.sum(axis),
    np.stack: _stack,
}
