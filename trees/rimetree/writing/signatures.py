"""What node classes take, and definitions made from calls of their functions."""

from __future__ import annotations

import difflib

from ..units import TREE_UNITS, UnfitError, accepted_units, in_unit, is_quantity, masked_elements, without_mask
from .definitions import (
    TAKEN_AS_THEY_ARE,
    NodeDef,
    Operators,
    by_position,
    flagged,
    numbers_of_child,
    shared_labels,
)
from .indices import Index, Indexed
from .script_lines import script_line
from .state import with_unit
from .stubs import NodeStub

#: Classes whose state field "value" may be given by position: MeqTrees' short form Constant(value).
VALUE_FIRST = ("Constant", "Parm")


class Signature:
    """What a node class takes: labels of children and names of state fields, with the units they may be given in."""

    __slots__ = ("child_units", "class_name", "fields", "labels", "repeated_units", "value_first")

    def __init__(self, info: dict):
        self.class_name = info["name"]
        self.labels = {child["label"]: _child_units(child) for child in info["children"]}
        self.child_units = [_child_units(child) for child in info["children"] if not child["repeated"]]
        repeated = [_child_units(child) for child in info["children"] if child["repeated"]]
        self.repeated_units = repeated[0] if repeated else TREE_UNITS
        self.fields = {field["name"]: _Field(field) for field in info["state"]}
        self.value_first = self.class_name in VALUE_FIRST

    def label_at(self, position: int) -> str:
        """The label of the child at a position."""
        names = list(self.labels)
        return names[min(position, len(names) - 1)] if names else "child"

    def units_at(self, position: int) -> tuple[str, ...]:
        return self.child_units[position] if position < len(self.child_units) else self.repeated_units

    def unknown(self, name: str) -> str:
        """The message for a keyword that is neither a child nor a state field."""
        near = difflib.get_close_matches(name, [*self.labels, *self.fields], n=1)
        if (ours := _FIELDS_OF_MEQTREES.get(name)) in self.fields:
            near = [ours]
        guess = f"; did you mean {near[0]!r}?" if near else ""
        children = f"children {', '.join(self.labels)}" if self.labels else "no children"
        fields = f"state fields {', '.join(self.fields)}" if self.fields else "no state fields"
        return f"{self.class_name} has no child or state field {name!r}{guess}; it has {children} and {fields}"


#: What state fields of MeqTrees are called here.
_FIELDS_OF_MEQTREES = {
    "num_iter": "iterations",
    "epsilon": "tolerance",
    "lm_factor": "damping",
    "solvable": "parms",
    "default_value": "value",
    "init_funklet": "value",
    "reset_funklet": "use_previous",
    "tiling": "time_edges_s",
}


class _Field:
    """A state field: its type, the units it may be given in, and the field whose unit it shares ("" if none)."""

    __slots__ = ("kind", "shares", "units", "what")

    def __init__(self, field: dict):
        self.what = f"state field {field['name']!r}"
        self.kind = field["type"]
        self.units = accepted_units(field["unit"])
        self.shares = field["unit"].rpartition("of ")[2] if self.units is TREE_UNITS else ""


def _child_units(child: dict) -> tuple[str, ...]:
    return accepted_units(child["unit"] or "any")


def define(signature: Signature, children: tuple, keywords: dict) -> NodeDef:
    """A definition from a call: children by position or label, everything else state."""
    origin = keywords.pop("origin", None) or script_line(3)
    problems: list[str] = []
    if signature.value_first:
        if children:
            if "value" in keywords:
                problems.append("state field 'value' is given twice")
            keywords["value"], children = children[0], children[1:]
        if signature.class_name == "Constant" and masked_elements(keywords.get("value")) is not None:
            return _flagged_constant(signature, keywords, origin)
    if not TAKEN_AS_THEY_ARE.issuperset(map(type, children)):
        children = tuple(
            child if type(child) in TAKEN_AS_THEY_ARE else _child(signature, position, "", child, problems)
            for position, child in enumerate(children)
        )
    labels, state = by_position(len(children)), {}
    fields = signature.fields
    for name, value in keywords.items():
        if name in fields:
            _put(state, signature, name, value, keywords, problems)
        elif name in signature.labels:
            labels = shared_labels((*labels, name))
            children += (_child(signature, 0, name, value, problems),)
        else:
            problems.append(signature.unknown(name))
    return NodeDef(signature.class_name, labels, children, state, origin, problems)


def _put(state: dict, signature: Signature, name: str, value, keywords: dict, problems: list[str]) -> None:
    """Set a state field from what a call gave for it, or say what is wrong with that."""
    field = signature.fields[name]
    if field.kind == "text_list" and not isinstance(value, str):  # nodes go by their names
        value = [value] if isinstance(value, NodeStub) else value
        if isinstance(value, list | tuple):
            value = [one.name if isinstance(one, NodeStub) else one for one in value]
    try:
        if type(value) is Index:
            value = value.of(value.values)
        if type(value) is Indexed:
            fitted = [with_unit(one, field.kind, field.units, field.what) for one in value.values]
            state[name], unit = Indexed(value.index, [one for one, _ in fitted]), fitted[0][1] if fitted else None
        else:
            state[name], unit = with_unit(value, field.kind, field.units, field.what)
        shared = keywords.get(field.shares)
        if unit is not None and is_quantity(shared):
            in_unit(shared, (unit,), f"state field {field.shares!r}, whose unit {name!r} has,")
    except UnfitError as problem:
        problems.append(str(problem))


def _child(signature: Signature, position: int, label: str, child, problems: list[str]):
    """A child that is no node as numbers of its own; what cannot be a child is left for when the name is known."""
    if isinstance(child, Operators | str) or child is None:
        return child
    units = signature.labels[label] if label else signature.units_at(position)
    what = f"child {label or signature.label_at(position)!r}"
    return numbers_of_child(child, units, what, problems)


def _flagged_constant(signature: Signature, keywords: dict, origin: str) -> NodeDef:
    """A Constant of a masked array: flagged where it is masked."""
    masked = keywords.pop("value")
    if is_quantity(masked):
        try:
            masked, _ = in_unit(masked, TREE_UNITS, signature.fields["value"].what)
        except UnfitError as problem:
            return NodeDef("Constant", (), (), {}, origin, [str(problem)])
    values = define(signature, (without_mask(masked, fill=0),), {**keywords, "origin": origin})
    mask = define(signature, (masked_elements(masked),), {**keywords, "origin": origin})
    return flagged(values, mask, origin)
