"""What is asked of a forest: nodes, cells and counts, looked at before the runtime gets them."""

from __future__ import annotations

import difflib
import functools
from numbers import Integral

from .._core import Error, ForestError
from ..arguments import ArgumentError
from ..nodes import class_infos
from ..units import UnfitError, accepted_units
from ..writing.definitions import NodeDef
from ..writing.scope import NodeScope, NodeStub, identity_of
from ..writing.state import short, with_unit
from .cells import Cells


def scope_to_build(scope) -> NodeScope:
    """The scope that a forest is made of. Raises `Error` for anything else."""
    if isinstance(scope, NodeScope):
        return scope
    hint = ": a forest is made of a whole scope; ask it for this node, forest.evaluate(node)"
    raise ArgumentError(f"scope must be a NodeScope, not {short(scope)}{hint if isinstance(scope, NodeStub) else ''}")


def node_name(node, identity: object, what: str = "node") -> str:
    """The name of a node that is asked for: a node of the forest's own tree, or its name."""
    if isinstance(node, str):
        return node
    if isinstance(node, NodeStub):
        if identity_of(node) is not identity:
            raise Error(
                f"{what} {node.name!r} belongs to another tree than this forest; give its name to mean the same"
            )
        return node.name
    hint = ": a definition has no name yet, bind it to one (ns.x << ...)" if isinstance(node, NodeDef) else ""
    if isinstance(node, list | tuple):
        hint = ": forest.results(nodes) evaluates several at once"
    raise ArgumentError(f"{what} must be a node or the name of one, not {short(node)}{hint}")


def node_names(nodes, identity: object) -> list[str]:
    """The names of nodes that are asked for, as `node_name`."""
    if isinstance(nodes, str | NodeStub) or not hasattr(type(nodes), "__iter__"):
        raise ArgumentError(f"nodes must be a list of nodes or names, not {short(nodes)}")
    nodes = list(nodes)
    if all(type(node) is str for node in nodes):  # thousands, at each tile
        return nodes
    return [node_name(node, identity, "each of nodes") for node in nodes]


def cells_asked(cells) -> Cells:
    """The cells of a request; without any, cells without axes."""
    if cells is None:
        return Cells()
    if not isinstance(cells, Cells):
        raise ArgumentError(f"cells must be rt.Cells(time_s=..., freq_hz=...), not {short(cells)}")
    return cells


def count(value, what: str, least: int = 0) -> int:
    """A whole number that is not too small."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= value < 2**63:
        raise Error(f"{what} must be a whole number of {least} or more, not {short(value)}")
    return int(value)


def function_or_none(value, what: str) -> None:
    """Raises `Error` for what cannot be called back."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{what} must be a function or None, not {short(value)}")


def state_changes(name: str, class_name: str, fields: dict) -> dict:
    """State fields of a node of a class as the runtime takes them. Raises `Error` for what the node does not have."""
    known = _state_fields(class_name)
    changed = {}
    for field, value in fields.items():
        if field not in known:
            near = difflib.get_close_matches(field, known, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(known) or 'none'}"
            raise Error(f"node {name!r} ({class_name}): unknown state field {field!r}{guess}")
        try:
            changed[field] = with_unit(value, *known[field], f"state field {field!r}")[0]
        except UnfitError as problem:
            raise Error(f"node {name!r} ({class_name}): {problem}") from None
    return changed


@functools.cache
def _state_fields(class_name: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """{state field: (type, units)} of a node class."""
    for info in class_infos():
        if info["name"] == class_name:
            return {spec["name"]: (spec["type"], accepted_units(spec["unit"])) for spec in info["state"]}
    return {}


#: So many lines of different errors are printed.
_MOST_ERRORS = 40


def forest_error(errors: list[tuple[str, str, str]]) -> ForestError:
    """All that is wrong with a tree, as one exception: what is wrong on one line of a script in the same way, once."""
    alike: dict[tuple[str, str], list[str]] = {}
    for node, origin, message in errors:
        alike.setdefault((origin, message), []).append(node)
    lines = []
    for (origin, message), nodes in alike.items():
        others = f" and {len(nodes) - 1} {'others' if len(nodes) > 2 else 'other'}" if len(nodes) > 1 else ""
        lines.append(f"  {origin + ': ' if origin else ''}node {nodes[0]!r}{others}: {message}")
    if len(lines) > _MOST_ERRORS:
        lines[_MOST_ERRORS:] = [f"  and {len(lines) - _MOST_ERRORS} more (`errors` of this exception has all)"]
    count = f"{len(errors)} error{'s' if len(errors) > 1 else ''} in the forest:"
    return ForestError("\n".join([count, *lines]), errors)


ForestError.__str__ = lambda self: self.args[0]
ForestError.errors = property(lambda self: self.args[1], doc="(node, script line, message) of everything wrong")
