"""Writing trees: names, qualifiers and definitions, in MeqTrees' idiom.

ns = NodeScope()
ns.x << rt.Constant(1.0)  # bind the name "x"
ns.y(0, 1) << ns.x + 2.0  # "y:0:1"; numbers become Constants
ns.J(0) @ ns.B @ ns.J(1).H  # 2x2 products and conjugate transpose

What a script says of each node is looked at when it is written; `Forest` reports everything that is wrong, all at once,
with the line of the script. docs/writing-trees.md has the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .._core import Error
from .definitions import NodeDef
from .names import full_name
from .repository import Repository
from .state import short
from .stubs import NodeStub

__all__ = ["NodeDef", "NodeScope", "NodeStub"]


class NodeScope:
    """Names of a tree. `ns.x` and `ns["x"]` are nodes, made on first use.

    `prefix`: what all names begin with. `quals`: qualifiers that all names carry.
    """

    __slots__ = ("_kwquals", "_prefix", "_quals", "_repository")

    def __init__(
        self,
        prefix: str = "",
        quals: tuple = (),
        *,
        _kwquals: dict | None = None,
        _repository: Repository | None = None,
    ):
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be text that names begin with, not {short(prefix)}")
        if not isinstance(quals, tuple | list):
            raise TypeError(f"quals must be a tuple of qualifiers, not {short(quals)}")
        object.__setattr__(self, "_prefix", prefix)
        object.__setattr__(self, "_quals", tuple(quals))
        object.__setattr__(self, "_kwquals", _kwquals or {})
        object.__setattr__(self, "_repository", _repository or Repository())

    def __getattr__(self, name: str) -> NodeStub:
        if name[0] == "_":
            raise AttributeError(f"{name!r} is no node: names that begin with _ are written ns[{name!r}]")
        if not self._quals and not self._kwquals:  # the quick way for what scripts write most
            stub = self._repository.stubs.get(self._prefix + name)
            if stub is not None:
                return stub
        return self._repository.named(self._prefix + name, self._quals, self._kwquals)

    def __getitem__(self, name: str) -> NodeStub:
        if not isinstance(name, str):
            raise TypeError(f"{short(name)} is no name of a node: expected text; qualifiers go in brackets, ns.x(0, 1)")
        return self._repository.named(self._prefix + name, self._quals, self._kwquals)

    def __setattr__(self, name: str, value) -> None:
        if name.startswith("_"):
            raise AttributeError(f"{name!r} is no node: names that begin with _ are written ns[{name!r}]")
        self[name] << value

    def __setitem__(self, name: str, value) -> None:
        self[name] << value

    def __setstate__(self, state) -> None:
        for name, value in state[1].items():
            object.__setattr__(self, name, value)

    # With names in square brackets, Python would take a scope for a sequence.
    __iter__ = None
    __contains__ = None

    def __lshift__(self, definition: NodeDef) -> NodeStub:
        """Bind a definition to an automatic name made from its class."""
        if not isinstance(definition, NodeDef):
            raise TypeError(f"expected a node definition, got {short(definition)}")
        stub = self._repository.automatic(self._prefix, definition.class_name, self._quals, self._kwquals)
        return stub << definition

    def __call__(self, *quals, **kwquals) -> NodeScope:
        """The scope whose names all carry these qualifiers."""
        more = {**self._kwquals, **kwquals}
        return NodeScope(self._prefix, self._quals + quals, _kwquals=more, _repository=self._repository)

    QualScope = __call__

    def Subscope(self, name: str, *quals, **kwquals) -> NodeScope:  # noqa: N802 - MeqTrees' name
        """A scope of names `name:quals::...` of the same tree; the qualifiers of this scope come before its own."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"a Subscope needs a name, got {short(name)}")
        of_scope = full_name(name, self._quals + quals, {**self._kwquals, **kwquals})
        return NodeScope(f"{self._prefix}{of_scope}::", (), _repository=self._repository)

    def MakeConstant(self, value) -> NodeStub:  # noqa: N802 - MeqTrees' name
        """The node of a constant, shared by all who use the same value."""
        return self._repository.constant(value)

    def Search(self, name: str = "", class_name: str = "") -> list[NodeStub]:  # noqa: N802 - MeqTrees' name
        """Nodes whose name begins with a match of the regular expression and whose class is the one given."""
        if not isinstance(class_name, str):
            raise TypeError(f"class_name must be text, not {short(class_name)}")
        try:
            pattern = re.compile(name)
        except (re.error, TypeError) as problem:
            raise Error(f"Search: name is no regular expression: {problem}") from None
        return [
            node
            for node in self.AllNodes().values()
            if pattern.match(node.name) and (not class_name or node.classname == class_name)
        ]

    def AllNodes(self) -> dict[str, NodeStub]:  # noqa: N802 - MeqTrees' name
        """All defined nodes of the tree, by name."""
        stubs = self._repository.stubs
        return {name: stubs[name] for name in self._repository.definitions}

    def __repr__(self) -> str:
        count = len(self._repository.definitions)
        own = full_name(f"{self._prefix}*", self._quals, self._kwquals)
        return f"<NodeScope {own}: {count} nodes in the tree>"


def tree_of(scope: NodeScope) -> tuple[dict[str, NodeDef], dict[str, list[str]]]:
    """The tree as the runtime takes it: the definition of each name; and the names of the children of nodes of which
    some child is something else than a node."""
    return scope._repository.definitions, scope._repository.named_children


def errors_of(scope: NodeScope) -> Iterable[tuple[str, str, str]]:
    """What is wrong with names and definitions so far: (node, script line, message)."""
    return tuple(scope._repository.errors)


def identity_of(scope_or_node: NodeScope | NodeStub) -> object:
    """What the trees of scopes and nodes are told apart by."""
    return scope_or_node._repository.identity
