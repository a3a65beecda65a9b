"""Names of nodes: a base name and qualifiers as text."""

from __future__ import annotations

import numpy as np

from .._core import Error
from ..units import is_quantity

#: Types of qualifiers whose text is what `format` makes of them.
PLAIN = frozenset((int, str))


def text_of(qualifier) -> str:
    """A qualifier as part of a name. Raises `Error` for what has no text of its own."""
    kind = type(qualifier)
    if kind is str:
        return qualifier
    if kind is int:
        return str(qualifier)
    if is_quantity(qualifier):
        raise Error(f"{qualifier!r} is no qualifier: it has a unit; expected text or numbers")
    if isinstance(qualifier, np.ndarray):
        qualifier = qualifier.tolist()
    if isinstance(qualifier, list | tuple):
        return ",".join(text_of(item) for item in qualifier)
    name = getattr(qualifier, "name", None)
    if isinstance(name, str):
        return name
    if kind.__str__ is object.__str__ and " at 0x" in repr(qualifier):
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
