"""Writing trees: names, qualifiers and definitions, in MeqTrees' idiom.

ns = NodeScope()
ns.x << rt.Constant(1.0)  # bind the name "x"
ns.y(0, 1) << ns.x + 2.0  # "y:0:1"; numbers become Constants
ns.J(0) @ ns.B @ ns.J(1).H  # 2x2 products and conjugate transpose

Nothing is checked here but names; `Forest` reports everything that is wrong, all at once, with the line of the script.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from numbers import Number

import numpy as np

from .state import as_array, to_runtime

_PACKAGE = __name__.rpartition(".")[0]


def script_line() -> str:
    """ "file:line" of the innermost frame outside this package: where the user wrote what is being made."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


class Operators:
    """What nodes and definitions can be combined with; the results are definitions, not yet nodes."""

    __slots__ = ()

    def __add__(self, other):
        return _operation("Add", self, other)

    def __radd__(self, other):
        return _operation("Add", other, self)

    def __sub__(self, other):
        return _operation("Subtract", self, other)

    def __rsub__(self, other):
        return _operation("Subtract", other, self)

    def __mul__(self, other):
        return _operation("Multiply", self, other)

    def __rmul__(self, other):
        return _operation("Multiply", other, self)

    def __truediv__(self, other):
        return _operation("Divide", self, other)

    def __rtruediv__(self, other):
        return _operation("Divide", other, self)

    def __matmul__(self, other):
        return _operation("MatrixMultiply", self, other)

    def __rmatmul__(self, other):
        return _operation("MatrixMultiply", other, self)

    def __pow__(self, other):
        return _operation("Pow", self, other)

    def __neg__(self):
        return _operation("Negate", self)

    def __abs__(self):
        return _operation("Abs", self)

    @property
    def H(self):  # noqa: N802 - the mathematical notation
        """Conjugate transpose."""
        return _operation("ConjTranspose", self)

    # NumPy must leave `array + node` to the node.
    __array_ufunc__ = None


class NodeDef(Operators):
    """What a node computes: class, children and state, not yet a name."""

    __slots__ = ("children", "class_name", "origin", "state")

    def __init__(self, class_name: str, children: list[tuple[str, object]], state: dict, origin: str):
        self.class_name = class_name
        self.children = children
        self.state = state
        self.origin = origin

    def same_as(self, other: NodeDef) -> bool:
        """Whether binding both to one name is harmless."""
        return (
            self.class_name == other.class_name
            and len(self.children) == len(other.children)
            and all(
                a[0] == b[0] and (a[1] is b[1] or _same_child(a[1], b[1]))
                for a, b in zip(self.children, other.children, strict=True)
            )
            and self.state.keys() == other.state.keys()
            and all(_same_value(value, other.state[name]) for name, value in self.state.items())
        )

    def __repr__(self) -> str:
        return f"<{self.class_name} from {self.origin}>"


def _same_child(a, b) -> bool:
    if isinstance(a, NodeDef) and isinstance(b, NodeDef):
        return a.same_as(b)
    if isinstance(a, Number | np.ndarray) and isinstance(b, Number | np.ndarray):
        return _same_value(a, b)
    return False


def _same_value(a, b) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    return a == b


def _operation(class_name: str, *children) -> NodeDef:
    return NodeDef(class_name, [("", child) for child in children], {}, script_line())


def node_definition(class_name: str, labels: list[str], fields: dict, children: tuple, keywords: dict) -> NodeDef:
    """A definition from a call: children by position or label, everything else state."""
    placed = [("", child) for child in children]
    placed += [(name, keywords.pop(name)) for name in list(keywords) if name in labels and name not in fields]
    origin = keywords.pop("origin", None) or script_line()
    if class_name == "Constant" and children:  # MeqTrees' short form: Constant(value)
        placed, keywords["value"] = placed[1:], children[0]
    if class_name == "Parm" and children:
        placed, keywords["value"] = placed[1:], children[0]
    state = {name: to_runtime(value, fields.get(name, "")) for name, value in keywords.items()}
    return NodeDef(class_name, placed, state, origin)


class NodeStub(Operators):
    """A name in a scope, with or without a definition yet. `stub(q, ...)` adds qualifiers, `stub << def` binds."""

    __slots__ = ("_repository", "basename", "kwquals", "name", "quals")

    def __init__(self, repository: _Repository, basename: str, quals: tuple, kwquals: dict):
        self._repository = repository
        self.basename = basename
        self.quals = quals
        self.kwquals = kwquals
        self.name = _full_name(basename, quals, kwquals)

    def __call__(self, *quals, **kwquals) -> NodeStub:
        return self._repository.stub(self.basename, self.quals + quals, {**self.kwquals, **kwquals})

    def __lshift__(self, definition) -> NodeStub:
        self._repository.bind(self, definition)
        return self

    def __pow__(self, definition):
        # MeqTrees' `stub ** def`: bind unless bound; with a bound stub on the left and a number or node it is a power.
        if isinstance(definition, NodeDef) and not self.initialized():
            return self << definition
        if isinstance(definition, NodeDef) and self.initialized():
            return self
        return _operation("Pow", self, definition)

    def initialized(self) -> bool:
        """Whether it has a definition."""
        return self.name in self._repository.definitions

    @property
    def definition(self) -> NodeDef:
        """What it is bound to; KeyError if nothing."""
        return self._repository.definitions[self.name]

    @property
    def classname(self) -> str:
        return self.definition.class_name

    @property
    def children(self) -> list[tuple[str, NodeStub]]:
        """(label, node) pairs."""
        return [
            (label, self._repository.stubs[name])
            for label, name in self._repository.child_names[self.name]
            if name in self._repository.stubs
        ]

    def __repr__(self) -> str:
        return f"<node {self.name}{'' if self.initialized() else ' (not defined)'}>"


def _text_of(qualifier) -> str:
    if isinstance(qualifier, str):
        return qualifier
    if isinstance(qualifier, list | tuple):
        return ",".join(_text_of(item) for item in qualifier)
    return str(getattr(qualifier, "name", qualifier))


def _full_name(basename: str, quals: tuple, kwquals: dict) -> str:
    parts = [basename, *(_text_of(qualifier) for qualifier in quals)]
    parts += [f"{key}={_text_of(value)}" for key, value in sorted(kwquals.items())]
    return ":".join(parts)


class _Repository:
    """All names and definitions that scopes of one tree share."""

    def __init__(self):
        self.stubs: dict[str, NodeStub] = {}
        self.definitions: dict[str, NodeDef] = {}
        self.child_names: dict[str, list[tuple[str, str]]] = {}
        self.errors: list[tuple[str, str, str]] = []
        self._anonymous: dict[str, int] = {}
        self._constants: dict[bytes, str] = {}

    def stub(self, basename: str, quals: tuple, kwquals: dict) -> NodeStub:
        name = _full_name(basename, quals, kwquals)
        stub = self.stubs.get(name)
        if stub is None:
            stub = self.stubs[name] = NodeStub(self, basename, quals, kwquals)
        return stub

    def bind(self, stub: NodeStub, definition) -> None:
        if not isinstance(definition, NodeDef):
            definition = self._as_definition(stub, definition)
        old = self.definitions.get(stub.name)
        if old is not None:
            if not old.same_as(definition):
                self.errors.append(
                    (stub.name, definition.origin, f"defined again and differently; first defined at {old.origin}")
                )
            return
        self.definitions[stub.name] = definition
        self.child_names[stub.name] = [
            (label, self._child_name(stub.name, child)) for label, child in definition.children
        ]

    def _as_definition(self, stub: NodeStub, value) -> NodeDef:
        if isinstance(value, NodeStub):
            return NodeDef("Identity", [("", value)], {}, script_line())
        if isinstance(value, Number | np.ndarray | list | tuple):
            return NodeDef("Constant", [], {"value": as_array(value)}, script_line())
        raise TypeError(f"cannot bind {stub.name!r} to {value!r}: expected a node, a definition or numbers")

    def _child_name(self, parent: str, child) -> str:
        if child is None:
            return ""
        if isinstance(child, NodeStub):
            if child._repository is not self:
                self.errors.append((parent, script_line(), f"child {child.name!r} belongs to another tree"))
            return child.name
        if isinstance(child, str):
            return child
        if isinstance(child, NodeDef):
            stub = self.stub(self._unused(f"{parent}/{child.class_name}"), (), {})
            self.bind(stub, child)
            return stub.name
        if isinstance(child, Number | np.ndarray | list | tuple):
            return self.constant(child).name
        raise TypeError(f"node {parent!r} cannot have {child!r} as a child: expected a node, a definition or numbers")

    def constant(self, value) -> NodeStub:
        """The node of a constant, shared by all who use the same value."""
        array = as_array(value)
        key = array.dtype.char.encode() + repr(array.shape).encode() + array.tobytes()
        name = self._constants.get(key)
        if name is None:
            name = f"c{array[()]:g}" if array.ndim == 0 and array.dtype.kind == "f" else "c"
            name = self._constants[key] = name if name not in self.stubs and name != "c" else self._unused("c")
            self.bind(self.stub(name, (), {}), NodeDef("Constant", [], {"value": array}, script_line()))
        return self.stubs[name]

    def _unused(self, name: str) -> str:
        while True:
            number = self._anonymous.get(name, 0)
            self._anonymous[name] = number + 1
            candidate = f"{name}{number or ''}"
            if candidate not in self.stubs:
                return candidate


class NodeScope:
    """Names of a tree. `ns.x` and `ns["x"]` are nodes, made on first use."""

    def __init__(self, prefix: str = "", quals: tuple = (), *, _repository: _Repository | None = None):
        self._prefix = prefix
        self._quals = quals
        self._repository = _repository or _Repository()

    def __getattr__(self, name: str) -> NodeStub:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> NodeStub:
        return self._repository.stub(self._prefix + name, self._quals, {})

    def __setattr__(self, name: str, value) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self[name] << value

    def __setitem__(self, name: str, value) -> None:
        self[name] << value

    def __lshift__(self, definition: NodeDef) -> NodeStub:
        """Bind a definition to a name made from its class."""
        if not isinstance(definition, NodeDef):
            raise TypeError(f"expected a node definition, got {definition!r}")
        return self[self._repository._unused(self._prefix + definition.class_name)] << definition

    def __call__(self, *quals) -> NodeScope:
        """The scope whose names all carry these qualifiers."""
        return NodeScope(self._prefix, self._quals + quals, _repository=self._repository)

    QualScope = __call__

    def Subscope(self, name: str, *quals) -> NodeScope:  # noqa: N802 - MeqTrees' name
        """A scope of names `name:quals::...` of the same tree."""
        return NodeScope(f"{self._prefix}{_full_name(name, quals, {})}::", (), _repository=self._repository)

    def MakeConstant(self, value) -> NodeStub:  # noqa: N802 - MeqTrees' name
        """The node of a constant, shared by all who use the same value."""
        return self._repository.constant(value)

    def Search(self, name: str = "", class_name: str = "") -> list[NodeStub]:  # noqa: N802 - MeqTrees' name
        """Nodes whose name matches the regular expression and whose class is the one given."""
        pattern = re.compile(name)
        return [
            node
            for node in self.AllNodes().values()
            if pattern.match(node.name) and (not class_name or node.classname == class_name)
        ]

    def AllNodes(self) -> dict[str, NodeStub]:  # noqa: N802 - MeqTrees' name
        """All defined nodes of the tree, by name."""
        stubs = self._repository.stubs
        return {name: stubs[name] for name in self._repository.definitions}

    def specs(self) -> Iterator[tuple[str, str, dict, list[tuple[str, str]], str]]:
        """The tree as the runtime takes it: (name, class, state, [(label, child)], script line)."""
        for name, definition in self._repository.definitions.items():
            yield name, definition.class_name, definition.state, self._repository.child_names[name], definition.origin

    def errors(self) -> Iterable[tuple[str, str, str]]:
        """What is wrong with names so far: (node, script line, message)."""
        return tuple(self._repository.errors)
