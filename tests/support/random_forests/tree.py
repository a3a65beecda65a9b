"""A tree as data: it can be built for RimeTree, interpreted, cut down, and printed as a script."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import rimetree as rt
from rimetree.nodes import class_infos


@functools.cache
def infos() -> dict[str, dict]:
    return {info["name"]: info for info in class_infos()}


@functools.cache
def defaults(class_name: str) -> dict:
    return {spec["name"]: spec["default"] for spec in infos()[class_name]["state"] if not spec["required"]}


@dataclass(frozen=True)
class Node:
    """A node: its class, children as (label, name), and the state fields that the script gives."""

    name: str
    class_name: str
    children: tuple[tuple[str, str], ...] = ()
    state: dict = field(default_factory=dict)
    inline: bool = False  # whether a script writes it as an expression, without a name, where it is used once

    def full_state(self) -> dict:
        return {**defaults(self.class_name), **self.state}


@dataclass(frozen=True)
class Tree:
    """Nodes, children before parents; `roots`: those whose results are looked at."""

    nodes: list[Node]
    roots: list[str]

    def named(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    def pruned(self) -> Tree:
        """Without nodes that no root needs."""
        needed, todo = set(), list(self.roots)
        by_name = {node.name: node for node in self.nodes}
        while todo:
            name = todo.pop()
            if name not in needed:
                needed.add(name)
                todo += [child for _, child in by_name[name].children]
        return Tree([node for node in self.nodes if node.name in needed], self.roots)

    def scope(self) -> rt.NodeScope:
        """As scripts write it: by names, or as expressions where `inline` says so; by operators where there is one.

        Names with ":" are a name and its qualifiers, those with "::" in a subscope.
        """
        ns = rt.NodeScope()
        uses = Counter(child for node in self.nodes for _, child in node.children)
        parts: dict[str, object] = {}
        for node in self.nodes:
            made = definition(node, parts)
            if node.inline and uses[node.name] == 1 and node.name not in self.roots:
                parts[node.name] = made
            else:
                parts[node.name] = stub_of(ns, node.name) << made
        return ns

    def script(self, cells_text: str, ending: str) -> str:
        """A Python script that evaluates the tree."""
        lines = ["import numpy as np", "import rimetree as rt", "", "ns = rt.NodeScope()"]
        lines += [f"ns[{node.name!r}] << {definition_text(node)}" for node in self.nodes]
        return "\n".join([*lines, f"cells = {cells_text}", ending])


def stub_of(ns: rt.NodeScope, name: str):
    if "::" in name:
        subscope, own = name.split("::")
        return stub_of(ns.Subscope(*subscope.split(":")), own)
    basename, *qualifiers = name.split(":")
    return getattr(ns, basename)(*qualifiers) if qualifiers else getattr(ns, basename)


def arranged(node: Node) -> tuple[list[str], dict[str, str]]:
    """Children by position as long as they stand in the order of the class, the others by label."""
    order = [spec["label"] for spec in infos()[node.class_name]["children"]]
    labels = [label for label, _ in node.children]
    positions = sorted(labels, key=order.index)
    complete = (
        labels == positions and all(label in labels for label in order[: order.index(labels[-1])]) if labels else True
    )
    if complete:
        return [name for _, name in node.children], {}
    repeated = {label for label in labels if labels.count(label) > 1}
    if repeated:
        return [name for _, name in padded(node, order)], {}
    return [], {label: name for label, name in node.children}


def padded(node: Node, order: list[str]) -> list[tuple[str, str | None]]:
    """Children in order with None for those that were left out."""
    found = []
    for label in order:
        own = [child for child in node.children if child[0] == label]
        found += own or [(label, None)]
    while found and found[-1][1] is None:
        found.pop()
    return found


OPERATORS = {
    ("Add", 2): lambda a, b: a + b,
    ("Subtract", 2): lambda a, b: a - b,
    ("Multiply", 2): lambda a, b: a * b,
    ("Divide", 2): lambda a, b: a / b,
    ("MatrixMultiply", 2): lambda a, b: a @ b,
    ("Negate", 1): lambda a: -a,
    ("Abs", 1): abs,
    ("ConjTranspose", 1): lambda a: a.H,
}


def definition(node: Node, stubs: dict):
    placed, labelled = arranged(node)
    operator = OPERATORS.get((node.class_name, len(placed)))
    if node.inline and operator and not node.state:
        return operator(*(stubs[name] for name in placed))
    return getattr(rt, node.class_name)(
        *(None if name is None else stubs[name] for name in placed),
        **{label: stubs[name] for label, name in labelled.items()},
        **node.state,
    )


def literal(value) -> str:
    """A value as text that gives the same bits."""
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=10**9, floatmode="unique", precision=None):
            return f"np.array({value.tolist()!r})".replace("inf", "np.inf").replace("nan", "np.nan")
    if callable(value):
        return getattr(value, "text", repr(value))
    return repr(value)


def definition_text(node: Node) -> str:
    placed, labelled = arranged(node)
    parts = [repr(name) and (f"ns[{name!r}]" if name is not None else "None") for name in placed]
    parts += [f"{label}=ns[{name!r}]" for label, name in labelled.items()]
    parts += [f"{key}={literal(value)}" for key, value in node.state.items()]
    return f"rt.{node.class_name}({', '.join(parts)})"


def cells_text(cells: rt.Cells) -> str:
    names = (("time_s", "time_width_s"), ("freq_hz", "freq_width_hz"), ("l", None), ("m", None))
    parts = []
    for axis, (centre, width) in zip(cells.to_runtime(), names, strict=True):
        if axis is not None:
            parts.append(f"{centre}={axis[0].tolist()!r}")
            parts += [f"{width}={axis[1].tolist()!r}"] if width else []
    return f"rt.Cells({', '.join(parts)})"
