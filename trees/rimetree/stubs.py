"""Nodes as a script has them in its hands: names with qualifiers, defined or not yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._core import Error
from .definitions import TAKEN_AS_THEY_ARE, NodeDef, Operators, operation, script_line

if TYPE_CHECKING:
    from .repository import Repository


class NodeStub(Operators):
    """A name in a scope, with or without a definition yet. `stub(q, ...)` adds qualifiers, `stub << def` binds."""

    __slots__ = ("_repository", "basename", "kwquals", "name", "quals")

    def __init__(self, repository: Repository, basename: str, quals: tuple, kwquals: dict, name: str):
        self._repository = repository
        self.basename = basename
        self.quals = quals
        self.kwquals = kwquals
        self.name = name

    def __call__(self, *quals, **kwquals) -> NodeStub:
        if kwquals or self.kwquals:
            return self._repository.stub(self.basename, self.quals + quals, {**self.kwquals, **kwquals})
        name = self.name
        for qualifier in quals:
            name = f"{name}:{qualifier if type(qualifier) in _PLAIN else text_of(qualifier)}"
        stub = self._repository.stubs.get(name)
        return self._repository.new_stub(name, self.basename, self.quals + quals, {}) if stub is None else stub

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
        return operation("Pow", (self, other), exponent=True)

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


#: Types of qualifiers whose text is what `format` makes of them.
_PLAIN = frozenset((int, str))


def text_of(qualifier) -> str:
    """A qualifier as part of a name. Raises `Error` for what has no text of its own."""
    kind = type(qualifier)
    if kind is str:
        return qualifier
    if kind is int:
        return str(qualifier)
    if isinstance(qualifier, np.ndarray):
        qualifier = qualifier.tolist()
    if isinstance(qualifier, list | tuple):
        return ",".join(text_of(item) for item in qualifier)
    name = getattr(qualifier, "name", None)
    if isinstance(name, str):
        return name
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise Error(f"{qualifier!r} is no qualifier: expected text, numbers, lists of such, or something with a name")
    return str(qualifier)


def full_name(basename: str, quals: tuple, kwquals: dict) -> str:
    """The name of a node: `basename:qualifier:...:key=qualifier`, keys in alphabetic order."""
    if not quals and not kwquals:
        return basename
    parts = [basename, *map(text_of, quals)]
    if kwquals:
        parts += [f"{key}={text_of(value)}" for key, value in sorted(kwquals.items())]
    return ":".join(parts)
