"""Phases of a term whose reference antenna is another in some intervals, as the usual one had no data there.

Data do not tell a phase that all antennas have in common, so that each interval is right by itself. Between those of
two references all phases would jump, and those of an antenna that one of them lacks would be off by that when they are
interpolated. They are turned in common so that they go on from an interval of the usual reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .term_solutions import TermSolutions

#: Kinds of which all antennas may have a common phase more, and in what it is.
_QUANTITY = {"scalar": "phase", "diag": "phase", "phase": "phase", "delay": "clock", "rate": "rate", "tec": "tec"}


def with_one_reference(term: TermSolutions, references: Sequence[str], *, feeds_apart: bool) -> TermSolutions:
    """`references` [time]: names of the antennas that phases refer to; `feeds_apart`: whether feeds may turn by
    themselves, as far as both are held at these."""
    names, counts = np.unique(np.array(references, dtype=str), return_counts=True)
    quantity = _QUANTITY.get(term.kind)
    if len(names) < 2 or quantity is None or len(references) != len(term.time_s):
        return term
    usual = str(names[np.argmax(counts)])
    value = term.value[quantity].copy()
    for own in _runs(np.array(references, dtype=str), term.field_ids):
        name = references[own[0]]
        before = next((t for t in range(own[0] - 1, -1, -1) if _of(term, references, usual, t, own[0])), None)
        after = next((t for t in range(own[-1] + 1, len(references)) if _of(term, references, usual, t, own[0])), None)
        at, other = (own[0], before) if before is not None else (own[-1], after)
        if name == usual or other is None:
            continue
        held = [_held(term, value, quantity, one, t) for one, t in ((name, at), (usual, other))]
        apart = feeds_apart and all(one.all() for one in held)
        value[own] += _offsets(value[other], value[at], ~(term.flag[other] | term.flag[at]), quantity, apart=apart)
    if quantity == "phase":
        value = np.where(value == term.value[quantity], value, np.angle(np.exp(1j * value)))
    return replace(term, value={**term.value, quantity: value})


def with_feeds_apart(term: TermSolutions, references: Sequence[str]) -> TermSolutions:
    """Phases of which both feeds are relative to the reference antenna's; `references` as above.

    Crossed hands tell the phase between its feeds, and with it all that leakages do to them: as gains of fields that
    are polarised differently, or not at all, it would be another for each."""
    value, sigma = term.value["phase"].copy(), term.sigma["phase"].copy()
    for t, name in enumerate(references):
        at = term.antennas.index(name) if name in term.antennas else None
        if at is None:
            continue
        good = ~term.flag[t, :, at].any(axis=-1)  # [freq, direction]
        between = np.where(good, value[t, :, at, :, 1] - value[t, :, at, :, 0], 0.0)
        value[t, :, :, :, 1] = np.angle(np.exp(1j * (value[t, :, :, :, 1] - between[:, None])))
        value[t, :, at, :, 1] = np.where(good, value[t, :, at, :, 0], value[t, :, at, :, 1])
        sigma[t, :, at, :, 1] = np.where(good, sigma[t, :, at, :, 0], sigma[t, :, at, :, 1])
    return replace(term, value={**term.value, "phase": value}, sigma={**term.sigma, "phase": sigma})


def _runs(references: NDArray, field_ids: NDArray | None) -> list[NDArray[np.intp]]:
    """Intervals of a field that follow each other, of one reference."""
    found = []
    for one in [None] if field_ids is None else np.unique(field_ids):
        own = np.arange(len(references)) if field_ids is None else np.flatnonzero(field_ids == one)
        found += np.split(own, 1 + np.flatnonzero(references[own][1:] != references[own][:-1]))
    return [own for own in found if len(own)]


def _of(term: TermSolutions, references: Sequence[str], usual: str, t: int, like: int) -> bool:
    """Whether an interval is of the usual reference, and of the field of another."""
    return references[t] == usual and (term.field_ids is None or term.field_ids[t] == term.field_ids[like])


def _held(term: TermSolutions, value: NDArray, quantity: str, name: str, t: int) -> NDArray[np.bool_]:
    """[element]: whether those of an antenna are held at 0 there."""
    return (value[t, :, term.antennas.index(name)] == 0).all(axis=(0, 1))


def _offsets(to: NDArray, own: NDArray, good: NDArray, quantity: str, *, apart: bool) -> NDArray[np.float64]:
    """[freq, 1, direction, element]: the mean over antennas of what is to be added to values [freq, antenna, direction,
    element]; 0 where nothing is known."""
    axes = (1,) if apart else (1, 3)
    if quantity == "phase":
        sums = np.where(good, np.exp(1j * (to - own)), 0).sum(axis=axes, keepdims=True)
        return np.where(sums != 0, np.angle(sums), 0.0)
    count = good.sum(axis=axes, keepdims=True)
    return np.where(good, to - own, 0.0).sum(axis=axes, keepdims=True) / np.maximum(count, 1)
