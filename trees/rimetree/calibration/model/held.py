"""Terms that are held while others are solved for: those of a file, and those whose turn has been.

Of the chain V = H_p S_p [ ... ] S_q^H H_q^H, with S to solve for and diagonal H known, data are divided by H_p H_q^H
and weights multiplied by |H_p H_q^H|^2, element by element, which is the same chi-square. What is held inside S, or of
directions, goes into the model.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ... import nodes as rt
from ...evaluation.cells import Cells
from ...ms import MsGroup
from ...writing.indices import Index
from ...writing.scope import NodeScope, NodeStub
from ..solutions.antenna_jones import AntennaJones, require_feeds_alike
from ..solutions.choosing import of_group, solutions_of_windows
from ..solutions.solutions import Solutions
from .model_trees import SkyPart

_EVALUATED = {"depends_on": ["domain"]}
_COMPLEX, _REAL = 16, 8  # bytes
_REMEMBERED = 4 * _COMPLEX + 2  # of a cell, by `AntennaJones`


@dataclass(eq=False)
class HeldTerm:
    """A term of known solutions. `sets`: of spectral windows, each with the term; they may come later than trees are
    made, but before anything is evaluated. `per`: "patch" or "source" of a term of directions. `turns`: it
    turns the feeds in time."""

    name: str
    diagonal: bool
    per: str | None = None
    has_amplitude: bool = True
    interpolation: str = "nearest"
    turns: bool = False
    sets: list[Solutions] = field(default_factory=list)


class HeldChain:
    """Some held terms, from the left to the right, as far as they concern one field and its window or windows. It
    gives matrices as `Solutions` do."""

    def __init__(self, group: MsGroup, terms: Sequence[HeldTerm]):
        self._group, self._terms = group, list(terms)

    def __bool__(self) -> bool:
        return bool(self._terms)

    @property
    def diagonal(self) -> bool:
        """Whether all terms are."""
        return all(term.diagonal for term in self._terms)

    @property
    def has_amplitude(self) -> bool:
        """Whether any term changes how large data are."""
        return any(term.has_amplitude for term in self._terms)

    @property
    def turns(self) -> bool:
        """Whether any term turns the feeds in time."""
        return any(term.turns for term in self._terms)

    @property
    def mixes(self) -> bool:
        """Whether any term brings signal of one feed into the other, by more than a turn of the feeds."""
        return any(not term.diagonal and not term.turns for term in self._terms)

    def of_directions(self) -> HeldChain:
        """The terms of directions."""
        return HeldChain(self._group, [term for term in self._terms if term.per is not None])

    def of_whole_sky(self) -> HeldChain:
        """The terms of the whole sky."""
        return HeldChain(self._group, [term for term in self._terms if term.per is None])

    @property
    def pers(self) -> set[str]:
        """ "patch" and "source", as far as terms are of them."""
        return {term.per for term in self._terms if term.per is not None}

    def jones(
        self,
        antenna: str,
        time_s: NDArray[np.float64],
        frequency_hz: NDArray[np.float64],
        direction: str | None = None,
    ) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        """As `Solutions.jones`, of all terms; the interpolation is that of each."""
        product = np.broadcast_to(np.eye(2, dtype=complex), (len(time_s), len(frequency_hz), 2, 2))
        bad = np.zeros((len(time_s), len(frequency_hz), 2), dtype=bool)
        for term in self._terms:
            matrices, missing = self._of_windows(term, antenna, time_s, frequency_hz, direction)
            product = product @ matrices
            if not term.diagonal:  # it mixes the feeds
                missing, bad = (np.repeat(x.any(axis=-1, keepdims=True), 2, axis=-1) for x in (missing, bad))
            bad = bad | missing
        require_feeds_alike(self._group, product, bad)
        return product, bad

    def _of_windows(self, term: HeldTerm, antenna, time_s, frequency_hz, direction):
        """Of a term, on each channel by the solutions of the window that it is in; of this field if there are any:
        models of others may be of another scale."""
        found = solutions_of_windows(term.sets, self._group)
        own = [of_group(one.only([term.name]), self._group) for one in found]
        found = [
            one.jones(antenna, time_s, frequency_hz, direction=direction, method=term.interpolation) for one in own
        ]
        if len(found) == 1:
            return found[0]
        nearest = np.argmin([_distances_hz(one, frequency_hz) for one in own], axis=0)
        channels = np.arange(len(frequency_hz))
        matrices, missing = (np.stack([one[i] for one in found])[nearest, :, channels] for i in (0, 1))
        return np.swapaxes(matrices, 0, 1), np.swapaxes(missing, 0, 1)

    def of_antenna(self, antenna: int, direction: str | None = None) -> AntennaJones:
        """What PyNodes need of one, by its number."""
        own = functools.partial(self.jones, self._group.antenna_names[antenna], direction=direction)
        return AntennaJones(own, self.diagonal)


def _distances_hz(solutions: Solutions, frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each channel to the band of some solutions; 0 within."""
    low = min((t.frequency_hz - t.frequency_width_hz / 2).min() for t in solutions.terms)
    high = max((t.frequency_hz + t.frequency_width_hz / 2).max() for t in solutions.terms)
    return np.maximum(np.maximum(low - frequency_hz, frequency_hz - high), 0.0)


class Held:
    """What is held around and inside the terms to solve for, of one field and its window or windows."""

    def __init__(self, group: MsGroup, outer: Sequence[HeldTerm] = (), inner: Sequence[HeldTerm] = ()):
        chain = HeldChain(group, outer)
        self._group = group
        self._outer = chain.of_whole_sky()
        self._inner = HeldChain(group, inner).of_whole_sky()
        self._each = HeldChain(group, [*outer, *inner]).of_directions()

    def __bool__(self) -> bool:
        return bool(self._outer or self._inner or self._each)

    @property
    def has_amplitude(self) -> bool:
        """Whether what is held changes how large data or model are."""
        return any(chain.has_amplitude for chain in (self._outer, self._inner, self._each))

    @property
    def turns(self) -> bool:
        """Whether anything inside the terms to solve for turns the feeds in time."""
        return self._inner.turns

    @property
    def mixes(self) -> bool:
        """Whether anything that is held brings signal of one feed into the other, by more than a turn of the feeds."""
        return any(chain.mixes for chain in (self._outer, self._inner, self._each))

    @property
    def inner(self) -> bool:
        """Whether anything stands between the terms to solve for and the model, or any direction of it."""
        return bool(self._inner or self._each)

    @property
    def pers(self) -> set[str]:
        """ "patch" or "source", where directions have terms that are held."""
        return self._each.pers

    @property
    def divides(self) -> bool:
        """Whether data are divided by what stands outside."""
        return bool(self._outer) and self._outer.diagonal

    def divided(self, ns: NodeScope, p: Index, q: Index, value, weight) -> tuple:
        """Data and weights of baselines (p, q) for the equations that are solved."""
        if not self._outer:
            return value, weight
        self._outer_nodes(ns, p, q)
        power = rt.MatrixMultiply(ns.held_power(p), rt.Transpose(ns.held_power(q)))
        weight = rt.Multiply(weight, power, elementwise=True)
        if self.divides:
            factor = rt.MatrixMultiply(ns.held_inverse(p), rt.ConjTranspose(ns.held_inverse(q)))
            value = rt.Multiply(value, factor, elementwise=True)
        return value, weight

    def around(self, ns: NodeScope, p: Index, q: Index, model):
        """The models of baselines (p, q) with what stands outside and cannot be divided out element by element."""
        if not self._outer or self.divides:
            return model
        outer = ns.held_outer
        return ns.held_around(p, q) << rt.MatrixMultiply(outer(p), model, rt.ConjTranspose(outer(q)))

    def _outer_nodes(self, ns: NodeScope, p: Index, q: Index) -> None:
        divides = self.divides
        for antenna in sorted({*p.values, *q.values}):
            own = self._outer.of_antenna(antenna)
            power = functools.partial(_power, own, divides)
            ns.held_power(antenna) << rt.PyNode(evaluate=power, dims=(2, 1), **_EVALUATED)
            if divides:
                ns.held_inverse(antenna) << rt.PyNode(evaluate=own.inverse, dims=(2, 1), **_EVALUATED)
            else:
                ns.held_outer(antenna) << rt.PyNode(evaluate=own.matrix, dims=(2, 2), **_EVALUATED)

    def inside(self, ns: NodeScope, antenna: int, part: SkyPart | None) -> list[NodeStub]:
        """Matrices of an antenna between the terms to solve for and a part of the sky, or (None) the sum of all."""
        chain = self._inner if part is None else self._each
        if not chain:
            return []
        name = ns.held_inner(antenna) if part is None else ns.held_inner(antenna, part.name)
        if not name.initialized():
            direction = None if part is None else part.directions[next(iter(self.pers))]
            own = chain.of_antenna(antenna, direction)
            name << rt.PyNode(evaluate=own.matrix, dims=(2, 2), **_EVALUATED)
        return [name]

    def bytes_per_cell(self, n_part: int) -> tuple[int, int]:
        """What results of nodes take for each cell of an antenna, and of a baseline beside data, weight and model;
        `n_part`: parts of the sky."""
        antenna = baseline = 0
        if self._outer:  # power, and matrices or inverses; products of baselines
            antenna += _REMEMBERED + 2 * _REAL + (2 if self.divides else 4) * _COMPLEX
            baseline += 8 * _REAL + (8 if self.divides else 4) * _COMPLEX
        for count in (int(bool(self._inner)), n_part * bool(self._each)):
            antenna += count * (_REMEMBERED + 8 * _COMPLEX)  # with conjugates
            baseline += count * 4 * _COMPLEX
        return antenna, baseline

    @property
    def outside(self) -> bool:
        """Whether anything of the whole sky stands outside the terms to solve for."""
        return bool(self._outer)

    def inverse_of(self, antenna: int, time_s, frequency_hz) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        """Inverses [2, 2, time, channel] of what stands outside, and which feeds [2, time, channel] have one."""
        own, cells = self._outer.of_antenna(antenna), Cells(time_s, frequency_hz)
        inverse, good = own.inverse(cells), own.good(cells)[:, 0] > 0
        if self.divides:
            inverse = np.einsum("ijtf,ik->iktf", inverse, np.eye(2))
        return inverse, good if self.divides else np.broadcast_to(good.all(axis=0), good.shape)


def _power(own: AntennaJones, divides: bool, cells: Cells) -> NDArray[np.float64]:
    """[2, 1, time, freq]: what a weight is multiplied by; 0 where there is no solution."""
    good = own.good(cells)
    return good / np.abs(own.inverse(cells)) ** 2 if divides else good
