"""Nodes as a script has them in its hands: names with qualifiers, defined or not yet."""

from __future__ import annotations

from .._core import Error
from .definitions import TAKEN_AS_THEY_ARE, NodeDef, Operators, operation, powers
from .families import NodeFamily
from .indices import Index
from .names import PLAIN, text_of
from .naming import Naming
from .script_lines import script_line

#: Qualifiers by keyword of a node that has none: nearly all of them.
NO_KEYWORDS: dict = {}


class NodeStub(Operators):
    """A name in a scope, with or without a definition yet. `stub(q, ...)` adds qualifiers, `stub << def` binds."""

    __slots__ = ("_repository", "basename", "kwquals", "name", "quals")

    def __init__(self, repository: Naming, basename: str, quals: tuple, kwquals: dict, name: str):
        self._repository = repository
        self.basename = basename
        self.quals = quals
        self.kwquals = kwquals
        self.name = name

    def __call__(self, *quals, **kwquals) -> NodeStub | NodeFamily:
        if kwquals or self.kwquals:
            return self._repository.named(self.basename, self.quals + quals, {**self.kwquals, **kwquals})
        name = self.name
        for qualifier in quals:
            if type(qualifier) in PLAIN:
                name = f"{name}:{qualifier}"
            elif type(qualifier) is Index:
                return NodeFamily(self._repository, self.basename, self.quals + quals, {})
            else:
                name = f"{name}:{text_of(qualifier)}"
        stub = self._repository.stubs.get(name)
        return self._repository.new_stub(name, self.basename, self.quals + quals, NO_KEYWORDS) if stub is None else stub

    def __lshift__(self, definition) -> NodeStub:
        self._repository.bind(self, definition)
        return self

    def __pow__(self, other):
        # MeqTrees scripts bind by `stub ** definition`: taken for a power, that would be lost without a word.
        if not self.initialized():
            raise Error(
                f"{script_line()}: node {self.name!r} has no definition yet. `**` is a power: write ns.x << ... to "
                "define a node, and rt.Pow(ns.x, ...) for a power of one that is defined later"
            )
        return operation(*powers(self, other), exponent=True)

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
            for label, name in self._repository.child_names(self.name)
            if name in self._repository.stubs
        ]

    def __repr__(self) -> str:
        return f"<node {self.name}{'' if self.initialized() else ' (not defined)'}>"


TAKEN_AS_THEY_ARE.add(NodeStub)
