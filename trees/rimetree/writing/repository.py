"""All names and definitions of one tree, and the names that nodes get which a script does not name.

What a script names has no braces in it; automatic names have: `{5}` is a constant that several nodes may share,
`y/{Sqr}` below y. So neither can take the other's name.
"""

from __future__ import annotations

from numbers import Number

import numpy as np

from .._core import Error
from ..units import TREE_UNITS
from .definitions import NodeDef, by_position, cannot_be_a_child, constant, numbers_of_child
from .families import NodeFamily
from .indices import Index, Indexed
from .names import full_name
from .recording import Recorded
from .script_lines import script_line
from .state import is_numbers, short
from .stubs import NO_KEYWORDS, NodeStub


class Repository:
    """What all scopes of one tree share."""

    def __init__(self):
        self.stubs: dict[str, NodeStub] = {}
        self.definitions: dict[str, NodeDef] = {}
        self.named_children: dict[str, list[str]] = {}  # names, where a child is something else than a node
        self.errors: list[tuple[str, str, str]] = []
        self._counts: dict[str, int] = {}
        self._constants: dict[bytes, str] = {}
        self._numbers: dict[float, str] = {}
        self._recorded: dict[str, Recorded] = {}  # what names were bound to whose nodes come from a function
        self.identity = object()  # what forests know the tree by

    def named(self, basename: str, quals: tuple, kwquals: dict) -> NodeStub | NodeFamily:
        """The node of a name that a script gives, or all nodes of a name with indices."""
        if any(type(one) is Index for one in (*quals, *kwquals.values())):
            return NodeFamily(self, basename, quals, kwquals)
        return self.stub(basename, quals, kwquals)

    def stub(self, basename: str, quals: tuple, kwquals: dict) -> NodeStub:
        """The node of a name without indices."""
        name = full_name(basename, quals, kwquals)
        stub = self.stubs.get(name)
        return self.new_stub(name, basename, quals, kwquals) if stub is None else stub

    def new_stub(self, name: str, basename: str, quals: tuple, kwquals: dict) -> NodeStub:
        """A node that there was not."""
        _check_name(name, basename)
        stub = self.stubs[name] = NodeStub(self, basename, quals, kwquals, name)
        return stub

    def stubs_of(
        self, basename: str, names: list[str], rows: list[tuple], n_quals: int, keys: list[str]
    ) -> list[NodeStub]:
        """The nodes of many names; a row has the qualifiers of one, `n_quals` of them by position."""
        known = self.stubs
        nodes = []
        for name, row in zip(names, rows, strict=True):
            stub = known.get(name)
            if stub is None:
                kwquals = dict(zip(keys, row[n_quals:], strict=True)) if keys else NO_KEYWORDS
                stub = self.new_stub(name, basename, row[:n_quals] if keys else row, kwquals)
            nodes.append(stub)
        return nodes

    def automatic(self, prefix: str, text: str, quals: tuple = (), kwquals: dict | None = None):
        """A node that is named by the tree: `prefix{text}`, then `prefix{text 2}`, ..."""
        wanted = f"{prefix}{{{text}"
        number = self._counts[wanted] = self._counts.get(wanted, 0) + 1
        basename = f"{wanted}}}" if number == 1 else f"{wanted} {number}}}"
        name = full_name(basename, quals, kwquals or {})
        stub = self.stubs[name] = NodeStub(self, basename, quals, kwquals or NO_KEYWORDS, name)
        return stub

    def bind(self, stub, definition) -> None:
        """Say what a node computes."""
        if not isinstance(definition, NodeDef):
            definition = self._as_definition(stub, definition)
        name = stub.name
        old = self._recorded.get(name, self.definitions.get(name))
        if old is not None:
            if not old.same_as(definition):
                message = f"defined again and differently; first defined at {old.origin}"
                self.errors.append((name, definition.origin, message))
            return
        waiting = [(name, definition)]
        while waiting:  # not by recursion: a sum of thousands of terms is as many definitions deep
            waiting += reversed(self._define(*waiting.pop()))

    def _define(self, name: str, definition: NodeDef) -> list[tuple[str, NodeDef]]:
        """Record one definition; (name, definition) of the children that have got their names with it."""
        if type(definition) is Recorded:
            return self._define_recorded(name, definition)
        for problem in definition.problems:
            self.errors.append((name, definition.origin, problem))
        for field, value in definition.state.items():
            if type(value) is Indexed:
                raise Error(
                    f"{definition.origin}: state field {field!r} of node {name!r} has a value for each value of "
                    f"{value.index!r}: the name of the node must have that index too"
                )
        self.definitions[name] = definition
        for child in definition.nodes:
            if type(child) is not NodeStub or child._repository is not self:
                try:
                    return self._name_children(name, definition)
                except Exception:  # a script that goes on all the same must not get a node with some of its children
                    del self.definitions[name], self.named_children[name]
                    raise
        return []

    def _name_children(self, name: str, definition: NodeDef) -> list[tuple[str, NodeDef]]:
        self.named_children[name] = names = []
        unnamed = []
        for label, child in definition.children:
            if isinstance(child, NodeDef):
                stub = self.automatic(f"{name.partition('/{')[0]}/", child.class_name)
                names.append(stub.name)
                unnamed.append((stub.name, child))
            else:
                names.append(self._child_name(name, definition, label, child))
        return unnamed

    def _define_recorded(self, name: str, definition: Recorded) -> list[tuple[str, NodeDef]]:
        self._recorded[name] = definition
        below = f"{name.partition('/{')[0]}/"
        unnamed = self._name_children(name, definition)
        names = self.named_children.pop(name)
        try:
            *before, last = definition.steps([NodeStub(self, child, (), NO_KEYWORDS, child) for child in names])
        except Error as problem:
            self.errors.append((name, definition.origin, str(problem)))
            return [*unnamed, (name, constant(0.0, definition.origin))]
        nodes: dict[int, NodeStub] = {}
        for step in before:
            if step.node is not None:
                nodes[id(step)] = step.node
                continue
            nodes[id(step)] = self.automatic(below, step.class_name)
            unnamed.append((nodes[id(step)].name, step.definition(nodes)))
        result = last.node if last.node is not None else last.definition(nodes)
        return [*unnamed, (name, result if isinstance(result, NodeDef) else self._as_definition(None, result))]

    def child_names(self, name: str) -> list[tuple[str, str]]:
        """(label, name) of each child of a node that is defined; "" where an optional child is left out."""
        definition, names = self.definitions[name], self.named_children.get(name)
        if names is None:
            names = [child.name for child in definition.nodes]
        return list(zip(definition.labels, names, strict=True))

    def _as_definition(self, stub, value) -> NodeDef:
        if isinstance(value, NodeStub):
            return NodeDef("Identity", by_position(1), (value,), {}, script_line())
        if is_numbers(value):
            return constant(value, script_line())
        if callable(value) and (name := getattr(value, "__name__", "")):
            raise TypeError(f"cannot bind {stub.name!r} to {name}, which is to be called: write {name}(...)")
        raise TypeError(f"cannot bind {stub.name!r} to {short(value)}: expected a node, a definition or numbers")

    def _child_name(self, parent: str, definition: NodeDef, label: str, child) -> str:
        if child is None:
            return ""
        if type(child) is float and (known := self._numbers.get(child)) is not None:
            return known
        if isinstance(child, Number | np.ndarray):
            problems: list[str] = []
            stub = self._constant(child, problems)
            self.errors += [(parent, definition.origin, problem) for problem in problems]
            if stub is not None and type(child) is float and child != 0:  # -0 is another number, and equal
                self._numbers[child] = stub.name
            return stub.name if stub is not None else ""
        if isinstance(child, str):
            return child
        if isinstance(child, NodeFamily | Indexed):
            raise Error(
                f"{definition.origin}: a child of node {parent!r} is {child!r}, which is not one node: the name of the "
                "node must have its indices too, or rt.over(index, nodes) makes a list of children"
            )
        if not isinstance(child, NodeStub):
            raise cannot_be_a_child(parent, definition.class_name, label, child, definition.origin)
        if child._repository is not self:
            self.errors.append((parent, definition.origin, f"child {child.name!r} belongs to another tree"))
        return child.name

    def constant(self, value) -> NodeStub:
        """The node of a constant, shared by all who use the same value. Raises `Error` for what is no number."""
        problems: list[str] = []
        stub = self._constant(value, problems)
        if stub is None:
            raise Error((problems or [f"expected numbers for value, got {short(value)}"])[0])
        return stub

    def _constant(self, value, problems: list[str]) -> NodeStub | None:
        numbers = numbers_of_child(value, TREE_UNITS, "value", problems)
        if isinstance(numbers, NodeDef):  # flagged where it is masked
            stub = self.automatic("", "masked")
            self.bind(stub, numbers)
            return stub
        if not isinstance(numbers, np.ndarray):
            return None
        key = numbers.dtype.char.encode() + repr(numbers.shape).encode() + numbers.tobytes()
        name = self._constants.get(key)
        if name is None:
            stub = self.automatic("", _text_of_constant(numbers))
            self.bind(stub, NodeDef("Constant", (), (), {"value": numbers}, script_line()))
            name = self._constants[key] = stub.name
        return self.stubs[name]


def _check_name(name: str, basename: str) -> None:
    if not basename or basename.endswith("::"):
        raise Error("a node needs a name")
    if "{" in name or "}" in name:
        raise Error(
            f"{script_line()}: {name!r} is no name: braces are for automatic nodes (is an f missing before the quotes?)"
        )
    if not name.isprintable():
        raise Error(f"{script_line()}: {name!r} is no name: it has characters that cannot be printed")


def _text_of_constant(array: np.ndarray) -> str:
    """What the name of a constant says of it: its value where that is short, else its dimensions."""
    return _text(array.tolist()) if array.size <= 4 else f"array {'x'.join(map(str, array.shape))}"


def _text(value) -> str:
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list) else repr(value).removesuffix(".0")
