"""What a node computes, before it has a name, and how definitions and nodes are combined by operators."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from numbers import Number

import numpy as np

from ..units import TREE_UNITS, UnfitError, in_unit, is_quantity, masked_elements, without_mask
from .numpy_functions import NodeValueError, function_of_nodes, refuse_attribute, ufunc_of_nodes
from .script_lines import script_line
from .state import as_array, is_numbers, short

_NO_STATE: dict = {}


@functools.cache
def by_position(n_child: int) -> tuple[str, ...]:
    """Labels of children that have none."""
    return ("",) * n_child


@functools.cache
def shared_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """One list of labels for all nodes that have these."""
    return labels


class _OnlyOfTheClass:
    """What NumPy finds on the class, while the nodes themselves have None: masked arrays look there, and leave
    `masked * node` to the node."""

    def __init__(self, function):
        self._function = function

    def __get__(self, node, owner=None):
        return self._function if node is None else None


class Operators:
    """Arithmetic, 2x2 products, `.H`, `.T`, indices and NumPy's functions; docs/writing-trees.md has tables."""

    __slots__ = ()

    def __add__(self, other):
        return operation("Add", (self, other))

    def __radd__(self, other):
        return operation("Add", (other, self))

    def __sub__(self, other):
        return operation("Subtract", (self, other))

    def __rsub__(self, other):
        return operation("Subtract", (other, self))

    def __mul__(self, other):
        return operation("Multiply", (self, other))

    def __rmul__(self, other):
        return operation("Multiply", (other, self))

    def __truediv__(self, other):
        return operation("Divide", (self, other))

    def __rtruediv__(self, other):
        return operation("Divide", (other, self))

    def __matmul__(self, other):
        return operation("MatrixMultiply", (self, other))

    def __rmatmul__(self, other):
        return operation("MatrixMultiply", (other, self))

    def __pow__(self, other):
        return operation(*powers(self, other), exponent=True)

    def __rpow__(self, other):
        return operation("Pow", (other, self))

    def __neg__(self):
        return operation("Negate", (self,))

    def __pos__(self):
        return self

    def __abs__(self):
        return operation("Abs", (self,))

    @property
    def H(self):  # noqa: N802 - the mathematical notation
        """Conjugate transpose."""
        return operation("ConjTranspose", (self,))

    @property
    def T(self):  # noqa: N802 - the mathematical notation
        """Transpose."""
        return operation("Transpose", (self,))

    def __getitem__(self, index):
        """Elements of a tensor by NumPy's rules: `node[0]`, `node[0, 1]`, `node[:, 1]`, `node[[0, 2]]`.

        Indices count from 0 and belong to the first dimensions; those not named are taken whole. A list takes several
        of the first dimension. The number of dimensions is not known when a tree is written: so there are no negative
        indices, and no ranges but `:`.
        """
        if isinstance(index, list | np.ndarray) and np.ndim(index) == 1:
            rows = [[_index(one)] for one in index]
            return operation("Selector", (self,), {"index": np.array(rows, float).reshape(-1, 1), "multi": True})
        row = [-1 if _is_whole(one) else _index(one) for one in (index if isinstance(index, tuple) else (index,))]
        return operation("Selector", (self,), {"index": np.array([row], dtype=float)})

    # With indices, Python would take nodes for sequences without end.
    __iter__ = None
    __contains__ = None

    @_OnlyOfTheClass
    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return ufunc_of_nodes(operation, powers, ufunc, method, inputs, keywords)

    def __array_function__(self, function, types, arguments, keywords):
        return function_of_nodes(operation, function, arguments, keywords)

    def __eq__(self, other):
        """Nodes are compared by identity; with numbers that would be False without a word."""
        if isinstance(other, Number) or hasattr(type(other), "__array__"):
            raise NodeValueError(f"{short(self)} == {short(other)}")
        return NotImplemented

    __hash__ = object.__hash__

    def __getattr__(self, name: str):
        refuse_attribute(type(self).__name__, name)

    def _is_no_number(self):
        raise NodeValueError(
            f"{short(self)} as a number",
            "a node has values only in a Forest; functions of nodes are rt.Cos(x) or np.cos(x)",
        )

    __float__ = __complex__ = __int__ = _is_no_number  # as math.cos(x) asks for one

    def __bool__(self) -> bool:
        """What is asked for is nearly always whether it is zero, and Python would take it for true whatever it is."""
        raise NodeValueError(f"{short(self)} as a condition (if, and, or, not)")


def _is_whole(index) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _index(index) -> int:
    try:
        if isinstance(index, bool | np.bool_):
            raise TypeError
        number = operator.index(index)
    except TypeError:
        raise TypeError(
            f"{index!r} is no index of a node: expected integers from 0, `:` for a whole dimension, or one list of "
            "integers"
        ) from None
    if number < 0:
        raise IndexError(
            f"index {number} of a node: how long its dimensions are is known only in a Forest; count from 0"
        )
    return number


class NodeDef(Operators):
    """What a node computes: class, children and state, not yet a name.

    A definition is a recipe: bound to two names, or used in two places, it makes two nodes; it never changes.
    `labels`: of the children, "" for one by position. `problems`: what is wrong with it; `Forest` says so, with the
    names of the nodes made of it.
    """

    __slots__ = ("class_name", "labels", "nodes", "origin", "problems", "state")

    def __init__(
        self,
        class_name: str,
        labels: tuple[str, ...],
        nodes: tuple,
        state: dict,
        origin: str,
        problems: Iterable[str] = (),
    ):
        self.class_name = class_name
        self.labels = labels
        self.nodes = nodes
        self.state = state or _NO_STATE
        self.origin = origin
        self.problems = problems or ()

    @property
    def children(self) -> list[tuple[str, object]]:
        """(label, child) pairs."""
        return list(zip(self.labels, self.nodes, strict=True))

    def with_nodes(self, nodes: tuple, state: dict) -> NodeDef:
        """This definition with other children and another state."""
        return NodeDef(self.class_name, self.labels, nodes, state, self.origin, self.problems)

    def same_as(self, other: NodeDef) -> bool:
        """Whether binding both to one name is harmless."""
        pairs = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if isinstance(one, NodeDef) and isinstance(two, NodeDef):
                if not one._same_but_children(two):
                    return False
                pairs += [(a, b) for a, b in zip(one.nodes, two.nodes, strict=True) if a is not b]
            elif not _same_value(one, two):
                return False
        return True

    def _same_but_children(self, other: NodeDef) -> bool:
        return (
            self.class_name == other.class_name
            and not self.problems
            and not other.problems
            and self.labels == other.labels
            and self.state.keys() == other.state.keys()
            and all(_same_value(value, other.state[name]) for name, value in self.state.items())
        )

    def __repr__(self) -> str:
        return f"<{self.class_name} from {self.origin}>"


def _same_value(a, b) -> bool:
    if isinstance(a, Operators) or isinstance(b, Operators):
        return a is b
    if isinstance(a, Number | np.ndarray) and isinstance(b, Number | np.ndarray):
        return np.iscomplexobj(a) == np.iscomplexobj(b) and np.array_equal(a, b, equal_nan=True)
    return a == b


def operation(class_name: str, children: tuple, state: dict | None = None, exponent: bool = False) -> NodeDef:
    """The definition that an operator stands for; with `exponent` the last child is a pure number."""
    problems: list[str] = []
    if not TAKEN_AS_THEY_ARE.issuperset(map(type, children)):
        placed = []
        for position, child in enumerate(children):
            if type(child) not in TAKEN_AS_THEY_ARE:
                units = ("",) if exponent and position else TREE_UNITS
                child = numbers_of_child(child, units, f"operand {position + 1}", problems)
            placed.append(child)
        children = tuple(placed)
    return NodeDef(class_name, by_position(len(children)), children, state or _NO_STATE, script_line(3), problems)


def powers(base, exponent) -> tuple[str, tuple]:
    """Class and children of a power. Squares have a class of their own, which takes no logarithm."""
    if type(exponent) in (int, float) and exponent == 2:
        return "Sqr", (base,)
    return "Pow", (base, exponent)


def numbers_of_child(child, units: tuple[str, ...], what: str, problems: list[str]):
    """A copy of numbers given as a child: an array, or where elements are masked a definition that flags them.

    What is no number is given back: that it cannot be a child is said when the name of its parent is known.
    """
    if isinstance(child, list | tuple) and any(isinstance(one, Operators) for one in child):
        problems.append(f"{what} is a list of nodes: rt.Composer(*nodes) makes a vector of them")
        return None
    if not is_numbers(child):
        return child
    try:
        if is_quantity(child):
            child, _ = in_unit(child, units, what)
        if (mask := masked_elements(child)) is None:
            return as_array(child, what)
        origin = script_line()
        return flagged(_plain_constant(without_mask(child, fill=0), origin), _plain_constant(mask, origin), origin)
    except UnfitError as problem:
        problems.append(str(problem))
        return None


def _plain_constant(numbers, origin: str) -> NodeDef:
    return NodeDef("Constant", (), (), {"value": as_array(numbers)}, origin)


def constant(value, origin: str) -> NodeDef:
    """The definition of a constant that is written as numbers."""
    problems: list[str] = []
    numbers = numbers_of_child(value, TREE_UNITS, "value", problems)
    if isinstance(numbers, NodeDef):
        return numbers
    return NodeDef("Constant", (), (), {"value": numbers}, origin, problems)


def flagged(values: NodeDef, mask: NodeDef, origin: str) -> NodeDef:
    """Values with flags where a mask is not 0."""
    flags = NodeDef("ZeroFlagger", by_position(1), (mask,), {"oper": "NE"}, origin)
    return NodeDef("MergeFlags", by_position(2), (values, flags), {}, origin)


def cannot_be_a_child(parent: str, class_name: str, label: str, child, origin: str) -> TypeError:
    """The error for something that is neither node nor numbers."""
    which = f"child {label!r}" if label else "a child"
    return TypeError(
        f"node {parent!r} ({class_name}, {origin}) cannot have {short(child)} as {which}: expected a node, a "
        "definition or numbers"
    )


#: Types of children that never change and need no conversion: the quick way for what trees are mostly made of.
TAKEN_AS_THEY_ARE = {NodeDef, bool, complex, float, int, str, type(None)}
