"""Indices that stand for all their values, so that many nodes are written at once, as in formulas (families.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np

from .._core import Error
from .names import text_of
from .state import short


class Index:
    """A qualifier, or a number in a node's state, that stands for each of its values; made by `each`.

    Indices that one call has made (p and q of baselines) run together, others independently of each other.
    """

    __slots__ = ("group", "texts", "values")

    def __init__(self, values: Sequence, group: object):
        self.values = values
        self.texts = [text_of(value) for value in values]
        self.group = group  # what indices share that run together

    def __len__(self) -> int:
        return len(self.values)

    def of(self, values) -> Indexed:
        """The i-th of `values` where this index has its i-th value, as a child or for a field of a node's state.

        `ns.lmn(s) << rt.Constant(s.of(lmn))` with an array [len(s), 3]. Raises `Error` if there are more or fewer.
        """
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"of: values must be one for each value of the index, not {short(values)}")
        values = list(values)
        if len(values) != len(self):
            raise Error(f"of: {len(values)} values for an index that has {len(self)}")
        return Indexed(self, values)

    def __iter__(self):
        raise TypeError("an index stands for all its values at once: write rt.over(index, nodes) for a list of nodes")

    def __str__(self) -> str:
        raise Error(
            f"{self!r} has no text of its own: it is a qualifier of nodes, ns.x(index), or goes into their state"
        )

    def __repr__(self) -> str:
        return f"<index {', '.join(self.texts[:3]) or 'of nothing'}{', ..' if len(self) > 3 else ''}>"


class Indexed:
    """One value for each value of an index."""

    __slots__ = ("index", "values")

    def __init__(self, index: Index, values: list):
        self.index = index
        self.values = values

    def __repr__(self) -> str:
        return f"<one value for each value of {self.index!r}>"

    # NumPy must leave `array + indexed` alone: it is no number, and nodes take it as a child.
    __array_ufunc__ = None


def each(values: Iterable, members: int | None = None) -> Index | tuple[Index, ...]:
    """An index that stands for each of `values`; of pairs, triples, .. one index for each of their members.

    `members`: how many (1: none, values are single), where there may be no values to tell it.

    p, q = rt.each(baselines)
    s = rt.each(sky)
    ns.K(p, q, s) << rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q))

    Values are what qualifiers may be elsewhere: text, numbers, something with a name. Raises `Error` for values that
    are there twice and for tuples that differ in length, and TypeError for what is no collection.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"each: values must be a collection of qualifiers, not {short(values)}")
    if members is not None and (not isinstance(members, Integral) or members < 1):
        raise Error(f"each: members must be a number from 1 on, not {short(members)}")
    rows = [one.tolist() if isinstance(one, np.ndarray | np.generic) else one for one in values]
    lengths = {len(one) if isinstance(one, tuple | list) else 0 for one in rows}
    if len(lengths) > 1:
        raise Error("each: expected single values, or tuples that are all of the same length, not both")
    group = object()
    n_index = max(lengths, default=0 if members is None or members == 1 else members)
    if members is not None and members != max(n_index, 1):
        raise Error(f"each: expected values of {members} members, got {short(rows[0])}")
    columns = (zip(*rows, strict=True) if rows else [()] * n_index) if n_index else [rows]
    indices = tuple(Index(list(column), group) for column in columns)
    names = list(zip(*(index.texts for index in indices), strict=True))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Error(f"each: {':'.join(twice)} is there twice")
    return indices if n_index else indices[0]
