"""Which function stands for which node class, and the evaluation of a whole tree with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .values import MEMBERS, ROUNDING, RefusedError, Value, merged_all, merged_by_element, moved

OPINIONS: dict[str, Callable] = {}


def opinion(*names: str):
    """The decorated function says what nodes of these classes give."""

    def register(function):
        for name in names:
            OPINIONS[name] = function
        return function

    return register


@dataclass
class Call:
    """One node, as its opinion sees it.

    `children`: values by position, those of one label in a row (`labels` has one label each); `state`: all fields, with
    defaults; `cells`: a `rimetree.Cells`; `outside`: what does not follow from the tree: data of Spigots, and values of
    nodes that are only held to their properties (noise); `precision`: error of monolithic sums.
    """

    name: str
    class_name: str
    labels: list[str]
    children: list[Value]
    state: dict
    cells: object
    rng: np.random.Generator
    outside: dict = field(default_factory=dict)
    precision: float = 1e-12
    parms: list[dict] = field(default_factory=list)  # states of the Parms below

    def child(self, label: str) -> Value | None:
        """The only child of this label, None if it was left out."""
        found = [c for c, own in zip(self.children, self.labels, strict=True) if own == label]
        return found[0] if found else None

    def axis(self, name: str, part: str = "centre") -> np.ndarray:
        """Centres or widths along an axis of the cells; a request without that axis cannot be answered."""
        index = ("time", "freq", "l", "m").index(name)
        own = self.cells.to_runtime()[index]
        if own is None:
            raise RefusedError(f"the cells have no {name} axis")
        shape = [1, 1, 1, 1]
        shape[index] = -1
        return np.asarray(own[0 if part == "centre" else 1]).reshape(shape)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(1 if axis is None else len(axis[0]) for axis in self.cells.to_runtime())

    def result(self, x: np.ndarray, scale=None, *, by_element: bool = False, rounding: float = ROUNDING) -> Value:
        """A value of array `x`, with the children's flags, that may be wrong by `rounding * scale` (default |x|)."""
        x = np.broadcast_to(x, (MEMBERS, *x.shape[1:]))
        dims, extents = x.shape[1:-4], x.shape[-4:]
        merge = merged_by_element if by_element else merged_all
        flags, doubt = (merge(self.children, dims, extents, part) for part in ("flags", "doubt"))
        return Value(moved(x, np.abs(x) if scale is None else scale, self.rng, rounding), flags, doubt)


#: Classes that have something to say where a child is missing.
TAKE_MISSING = {"Add", "ChiSquare", "LogLikelihood", "MergeFlags", "VisDataMux"}


@dataclass
class Interpreter:
    """Gives the value of one node after the other; `values` has those of its children."""

    cells: object
    seed: int = 0
    outside: dict = field(default_factory=dict)
    precision: float = 1e-12

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self.values: dict[str, Value] = {}
        self.below: dict[str, dict[str, dict]] = {}  # for each node, states of the Parms below it, by name

    def add(self, node) -> Value:
        """The value of a `random_forests.tree.Node`. Raises `RefusedError` where there is to be none."""
        labels = [label for label, _ in node.children]
        inputs = [self.values[name] for _, name in node.children]
        state = node.full_state()
        options = (self.cells, self.rng, self.outside, self.precision)
        below = {node.name: state} if node.class_name == "Parm" else {}
        for _, name in node.children:
            below |= self.below[name]
        self.below[node.name] = below
        call = Call(node.name, node.class_name, labels, inputs, state, *options, list(below.values()))
        with np.errstate(all="ignore"):
            try:
                value = OPINIONS[node.class_name](call)
            except KeyError as field:
                raise RefusedError(f"state field {field} must be given") from None
            odd = ~np.all(np.isfinite(value.x), axis=0)
            # What follows from numbers that are not finite is a matter of conventions.
            value.doubt = value.doubt | odd if np.any(odd) else value.doubt
        if node.class_name not in TAKE_MISSING:  # what is missing has dimensions all the same
            value.missing = value.missing or any(child.missing for child in inputs)
        self.values[node.name] = value
        return value


def interpret(tree, cells, **options) -> dict[str, Value]:
    """Values of all nodes of a `random_forests.tree.Tree`, children before parents."""
    interpreter = Interpreter(cells, **options)
    for node in tree.nodes:
        interpreter.add(node)
    return interpreter.values
