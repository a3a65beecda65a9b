"""What the nodes of a script ask of the tree that they belong to, so that neither's module needs the other's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .definitions import NodeDef


class Naming(Protocol):
    """Names and definitions of one tree; `Repository` keeps them. Nodes are `NodeStub`s, or `NodeFamily`s of names with
    indices."""

    stubs: Mapping[str, Any]
    definitions: Mapping[str, NodeDef]

    def named(self, basename: str, quals: tuple, kwquals: dict) -> Any:
        """The node of a name that a script gives, or all nodes of a name with indices."""

    def new_stub(self, name: str, basename: str, quals: tuple, kwquals: dict) -> Any:
        """A node that there was not."""

    def stubs_of(self, basename: str, names: list[str], rows: list[tuple], n_quals: int, keys: list[str]) -> list[Any]:
        """The nodes of many names; a row has the qualifiers of one, `n_quals` of them by position."""

    def bind(self, stub: Any, definition: Any) -> None:
        """Gives a name its definition."""

    def child_names(self, name: str) -> list[tuple[str, str]]:
        """Labels and names of a node's children."""
