"""Families: the nodes of one name for all values of indices, written and bound at once.

p, q = rt.each(baselines)
s = rt.each(range(n_source))
ns.K(p, q, s) << rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q))
ns.V(p, q) << rt.Add(*rt.over(s, ns.K(p, q, s) * ns.B(s)))

The nodes are those that loops would make: the same names, script line and errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from .._core import Error
from .collector import paused_collector
from .definitions import TAKEN_AS_THEY_ARE, NodeDef, Operators
from .indices import Index, Indexed
from .names import text_of
from .naming import Naming
from .script_lines import script_line
from .state import short


class NodeFamily(Operators):
    """A name with indices among its qualifiers. `family(q, ...)` adds qualifiers, `family << def` binds all nodes."""

    __slots__ = ("_repository", "basename", "kwquals", "quals")

    def __init__(self, repository: Naming, basename: str, quals: tuple, kwquals: dict):
        self._repository = repository
        self.basename = basename
        self.quals = quals
        self.kwquals = kwquals

    def __call__(self, *quals, **kwquals) -> NodeFamily:
        return NodeFamily(self._repository, self.basename, self.quals + quals, {**self.kwquals, **kwquals})

    def __lshift__(self, definition) -> NodeFamily:
        groups = _groups_of(self)
        for index in _indices_of(definition):
            if index.group not in groups:
                raise Error(
                    f"{script_line()}: {index!r} of the definition is not among the indices of {self!r}; "
                    "rt.over(index, ...) gives the terms of a sum over it"
                )
        with paused_collector():
            nodes = _column(self, groups)
            definitions = _column(definition, groups) if _has_indices(definition) else itertools.repeat(definition)
            bind = self._repository.bind
            for node, one in zip(nodes, definitions, strict=False):
                bind(node, one)
        return self

    def __repr__(self) -> str:
        return f"<nodes {':'.join([self.basename, *map(repr, self.qualifiers)])}>"

    @property
    def qualifiers(self) -> tuple:
        return (*self.quals, *self.kwquals.values())


TAKEN_AS_THEY_ARE |= {NodeFamily, Indexed}


def over(index: Index, nodes) -> list:
    """Nodes or a definition written with an index, once for each of its values: the terms of a sum over it.

    Other indices stay what they are. Raises `Error` if the index is not there.
    """
    if type(index) is not Index:
        raise TypeError(f"over: index must be one that rt.each has made, not {short(index)}")
    if not any(one.group is index.group for one in _indices_of(nodes)):
        raise Error(f"{script_line()}: over: nodes must be written with {index!r}, which {short(nodes)} is not")
    with paused_collector():
        groups = _groups_of(nodes)
        return _column(nodes, groups) if len(groups) == 1 else [_at(nodes, index.group, i) for i in range(len(index))]


def _indices_of(what) -> Iterator[Index]:
    """All indices of nodes and definitions, those of children included."""
    waiting = [what]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is NodeFamily:
            yield from (qualifier for qualifier in one.qualifiers if type(qualifier) is Index)
        elif kind is Indexed:
            yield one.index
        elif issubclass(kind, NodeDef):
            waiting += one.state.values()
            waiting += one.nodes


def _has_indices(what) -> bool:
    return next(_indices_of(what), None) is not None


def _groups_of(what) -> dict[object, int]:
    """{group of indices: number of values}, in the order of writing."""
    return {index.group: len(index) for index in _indices_of(what)}


def _column(what, groups: dict[object, int]) -> list:
    """What `what` is for each combination of indices of these groups, the last of which runs fastest."""
    kind = type(what)
    if kind is NodeFamily:
        return _spread(_nodes_of(what), _groups_of(what), groups)
    if kind is Indexed:
        return _spread(what.values, {what.index.group: len(what.index)}, groups)
    n_node = int(np.prod([*groups.values()], dtype=np.int64))
    if not issubclass(kind, NodeDef) or not _has_indices(what):
        return [what] * n_node
    children = [_column(child, groups) for child in what.nodes]
    rows = zip(*children, strict=True) if children else [()] * n_node
    fields = {name: _column(value, groups) for name, value in what.state.items() if type(value) is Indexed}
    if not fields:
        return [what.with_nodes(row, what.state) for row in rows]
    states = ({**what.state, **dict(zip(fields, row, strict=True))} for row in zip(*fields.values(), strict=True))
    return [what.with_nodes(row, state) for row, state in zip(rows, states, strict=True)]


def _spread(values: list, own: dict[object, int], groups: dict[object, int]) -> list:
    """Values for the combinations of some groups, for those of all."""
    if list(own) == list(groups):
        return values
    table = np.empty(len(values), dtype=object)
    table[:] = values
    table = table.reshape(tuple(own.values()))
    order = [group for group in groups if group in own]
    table = table.transpose([list(own).index(group) for group in order])
    table = table[tuple(slice(None) if group in own else None for group in groups)]
    return np.broadcast_to(table, tuple(groups.values())).ravel().tolist()


def _nodes_of(family: NodeFamily) -> list:
    """The nodes of a family, for all combinations of its own groups."""
    groups = _groups_of(family)
    n_node = int(np.prod([*groups.values()], dtype=np.int64))
    values, texts = [], []
    for one in family.qualifiers:
        is_index = type(one) is Index
        own = {one.group: len(one)} if is_index else {}
        values.append(_spread(one.values, own, groups) if is_index else [one] * n_node)
        texts.append(_spread(one.texts, own, groups) if is_index else [text_of(one)] * n_node)
    keys, n_quals = list(family.kwquals), len(family.quals)
    columns = texts[:n_quals]
    columns += ([f"{key}={text}" for text in texts[n_quals + keys.index(key)]] for key in sorted(keys))
    names = map(":".join, zip([family.basename] * n_node, *columns, strict=True))
    rows = zip(*values, strict=True)
    return family._repository.stubs_of(family.basename, list(names), list(rows), n_quals, keys)


def _at(what, group: object, number: int):
    """What nodes or a definition are where the indices of a group have the values of this number."""
    kind = type(what)
    if kind is Indexed:
        return what.values[number] if what.index.group is group else what
    if issubclass(kind, NodeDef):
        nodes = tuple(_at(child, group, number) for child in what.nodes)
        state = {name: _at(value, group, number) for name, value in what.state.items()}
        return what.with_nodes(nodes, state)
    if kind is not NodeFamily:
        return what

    def place(qualifier):
        return qualifier.values[number] if type(qualifier) is Index and qualifier.group is group else qualifier

    kwquals = {key: place(one) for key, one in what.kwquals.items()}
    return what._repository.named(what.basename, tuple(map(place, what.quals)), kwquals)
