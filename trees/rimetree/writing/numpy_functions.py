"""NumPy's functions as node classes: which class has exactly the meaning of which function.

`rt.record` and nodes themselves (`np.exp(ns.x)`) go by the same tables.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from .._core import Error, node_classes
from .script_lines import script_line
from .state import short

CLASSES = {
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
#: What is written with others.
FORMULAS = {
    np.reciprocal: lambda x: 1.0 / x,
    np.arctan: lambda x: np.arctan2(x, 1.0),
    np.exp2: lambda x: 2.0**x,
    np.log2: lambda x: np.log(x) / math.log(2),
    np.log10: lambda x: np.log(x) / math.log(10),
    np.deg2rad: lambda x: x * (math.pi / 180),
    np.radians: lambda x: x * (math.pi / 180),
    np.rad2deg: lambda x: x * (180 / math.pi),
    np.degrees: lambda x: x * (180 / math.pi),
}
# Of nodes, but not of what is recorded.
_CLASSES_OF_NODES = {**CLASSES, np.matmul: "MatrixMultiply"}
_REDUCTIONS = {np.sum: "Sum", np.mean: "Mean", np.max: "Max", np.amax: "Max", np.min: "Min", np.amin: "Min"}
# What to write for functions that are near, but mean something else for tensors of some dimensions.
_INSTEAD = {
    np.dot: "a @ b or a * b",
    np.inner: "a @ b or a * b",
    np.vdot: "a.H @ b or rt.Conj(a) * b",
    np.transpose: "x.T or x.H",
    np.concatenate: "rt.Composer(*nodes)",
    np.reshape: "rt.Composer(x, dims=[...])",
    np.ravel: "rt.Composer(x, dims=[])",
    np.interp: "rt.Interpolate(table, place)",
    np.linalg.inv: "rt.MatrixInvert22(x)",
    np.maximum: "rt.Max(a, b), which leaves flagged cells out,",
    np.minimum: "rt.Min(a, b), which leaves flagged cells out,",
}
# What NumPy's arrays have and nodes do not.
_ATTRIBUTES = {
    "real": "rt.Real(x)",
    "imag": "rt.Imag(x)",
    "conj": "rt.Conj(x)",
    "conjugate": "rt.Conj(x)",
    "transpose": "x.T",
    "dot": "a @ b or a * b",
    "reshape": "rt.Composer(x, dims=[...])",
    "ravel": "rt.Composer(x, dims=[])",
    "flatten": "rt.Composer(x, dims=[])",
    **{
        name: f"np.{name}(x, axis=0) for a dimension of the tensor or rt.{name.title()}(x) for the cells"
        for name in ("sum", "mean", "max", "min")
    },
}
# What asks for values or dimensions.
_ASKING = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.shape, np.ndim, np.size}


class NodeValueError(Error, TypeError):
    """Something wants the values of a node while the tree is written."""

    def __init__(self, what: str, instead: str = ""):
        place = f"{place}: " if (place := script_line()) else ""
        super().__init__(
            f"{place}{what}: {instead or 'a node has values only in a Forest; `is` tells whether two are one node'}"
        )


def refuse_attribute(kind: str, name: str) -> NoReturn:
    """Raises `AttributeError` for what nodes do not have, and says what is written instead."""
    place = f"{place}: " if (place := script_line()) else ""
    if name in _ATTRIBUTES:
        raise AttributeError(f"{place}a node has no .{name}; write {_ATTRIBUTES[name]}")
    if name in ("shape", "ndim", "size"):
        raise AttributeError(f"{place}a node has no .{name}: its dimensions are known only in a Forest")
    raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def ufunc_of_nodes(make: Callable, powers: Callable, ufunc, method: str, inputs: tuple, keywords: dict):
    """The definition that a ufunc of nodes stands for. `make(class name, children, ...)`: definitions."""
    name = name_of(ufunc)
    if method != "__call__":
        instead = f"; {name_of(np.sum)}(x, axis=0) adds up a dimension" if ufunc is np.add else ""
        _refuse(f"{name}.{method}", instead)
    if keywords:
        instead = "; `a = a + node` is no change of an array" if "out" in keywords else ""
        raise NodeValueError(
            f"{name} of a node with {', '.join(f'{one}=' for one in keywords)}",
            f"it makes a node, which has values only in a Forest, so that it takes no such arguments{instead}",
        )
    if ufunc is np.positive:
        return inputs[0]
    if ufunc is np.hypot:
        return abs(make("ToComplex", inputs))  # squares would overflow
    if ufunc in FORMULAS:
        return FORMULAS[ufunc](*inputs)
    class_name = _CLASSES_OF_NODES.get(ufunc)
    if class_name is None:
        _refuse(name, _what_to_write(ufunc))
    return make(*powers(*inputs), exponent=True) if class_name == "Pow" else make(class_name, inputs)


def function_of_nodes(make: Callable, function, arguments: tuple, keywords: dict):
    """The definition that another function of NumPy stands for."""

    def reduced(a, axis=None):
        return make(_REDUCTIONS[function], (a,), {"reduction_axes": [], "tensor_axis": _dimension(function, axis)})

    def angle(z, deg=False):
        return np.degrees(make("Arg", (z,))) if deg else make("Arg", (z,))

    def stack(arrays, axis=0):
        if axis != 0:
            raise NodeValueError(f"np.stack of nodes along axis {short(axis)}", "only axis 0 makes a node, a Composer")
        return make("Composer", tuple(arrays), {"dims": np.zeros(1)})

    one_of = {np.real: lambda val: make("Real", (val,)), np.imag: lambda val: make("Imag", (val,))}
    written = reduced if function in _REDUCTIONS else {np.angle: angle, np.stack: stack, **one_of}.get(function)
    if written is None:
        _refuse(name_of(function), _what_to_write(function))
    try:
        inspect.signature(written).bind(*arguments, **keywords)
    except TypeError as problem:
        raise NodeValueError(f"{name_of(function)} of a node", f"{problem}") from None
    return written(*arguments, **keywords)


def name_of(function) -> str:
    """As a script writes it."""
    name, module = function.__name__, (getattr(function, "__module__", "") or "numpy").replace("numpy", "np", 1)
    if isinstance(function, np.ufunc):
        return f"np.{name}" if getattr(np, name, None) is function else name
    return f"{module}.{name}"


def _dimension(function, axis) -> int:
    try:
        dimension = operator.index(axis)
    except TypeError:
        dimension = -1
    if dimension < 0:
        name, class_name = name_of(function), _REDUCTIONS[function]
        raise NodeValueError(
            f"{name} of a node over axis {short(axis)}",
            f"{name}(x, axis=0) is over the first dimension of the tensor, rt.{class_name}(x) over cells",
        )
    return dimension


def _what_to_write(function) -> str:
    """What there is for a function that has no class of its own: a class of its name, or none."""
    if function in _ASKING:
        raise NodeValueError(f"{name_of(function)} of a node")
    instead = _INSTEAD.get(function)
    if instead is None:
        name = function.__name__.lower()
        instead = next((f"rt.{one['name']}(...)" for one in node_classes() if one["name"].lower() == name), None)
    return f"; write {instead} if that is meant" if instead else ""


def _refuse(name: str, instead: str = "") -> NoReturn:
    raise NodeValueError(
        f"{name} of a node",
        f"no node class has exactly this meaning{instead}; a function of arrays is a node by rt.PyNode, and by "
        "rt.record where it is arithmetic",
    )
