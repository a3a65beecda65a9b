"""Phases of all diagonal terms of a chain at once, from phases of antennas in each bin: gains and phases, of any
intervals, and delays and TEC beside them.

A term that may have any phase in its intervals can take what the data have in one bin of each: what is left in the
others are differences to these bins, and so on for every such term. Delays and TEC are searched for in what is left of
all, where they leave combinations of their values; of those that none tells, one is 0. Then terms take the mean of what
the others leave of their intervals, in turns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.terms import Term
from .chain_turns import is_small, with_best_chain_turns
from .chain_unknowns import ChainUnknowns
from .diagonal_gains import on_baselines
from .feed_differences import of_first_against_second
from .fringe_turns import search_turns
from .interval_search import IntervalSearch

_SURE = 0.7  # what phases of antennas must explain of visibilities, where they are found bin by bin
_POLARISED = 2  # power of sums over baselines of crossed hands, over that of noise
_ROUNDS = 5
_MOST_BINS = 1 << 20  # [time, freq, feed] of all antennas
_ALIASES, _EQUAL = 4, 1e-6  # to either side; of the height
_SAME = 1e-9  # of the largest rate
_EXPLAINED = 0.97  # of phases of an antenna: where less is, an interval is far off


def chain_phases(
    intervals: IntervalSearch, terms: Sequence[Term], sums: Coherence
) -> dict[str, NDArray[np.float64]] | None:
    """{name: [element, time, freq, antenna]} phases (rad) of gains and phases, delays (s) and TEC; 0 for elements that
    are not on the diagonal.

    Relative to the reference, but for what it has of feed 1 against feed 0, where crossed hands (`sums` of all) tell
    that. None where bins tell no phases, or are too many.
    """
    product = sums.product[..., :2, 0]
    if len(sums.baselines) <= len(sums.antennas):  # those to the reference have any phases
        return None
    if len(sums.antennas) * product[0].size > _MOST_BINS:
        return None
    free = np.exp(1j * intervals.free_phases(sums, product))
    agree = (product * on_baselines(np.conj(free), sums)).real
    if not agree.sum() > _SURE * np.abs(product).sum():
        return None
    strength = np.zeros(free.shape)
    for end in sums.baselines.T:
        np.add.at(strength, end, np.maximum(agree, 0.0))
    every = [ChainUnknowns.of(term, intervals, sums) for term in terms]
    found = {one: np.zeros((len(free), one.size)) for one in every}
    own = [one for one in every if one.term.kind.name != "crosshand"]  # which is the same for all antennas
    found |= dict(zip(own, _found(own, strength * free), strict=True)) if own else {}
    of_feeds, apart = _difference(sums, free), [one for one in every if len(one.place) == 2]
    if of_feeds is not None and apart:
        # As of one antenna more, of which feed 0 has no data, by which all others are turned.
        common = _found(apart, np.stack([np.zeros_like(of_feeds), of_feeds], axis=-1)[None])
        found |= {one: found[one] + more for one, more in zip(apart, common, strict=True)}
    return {one.term.name: one.values(values) for one, values in found.items()}


def _difference(sums: Coherence, free: NDArray[np.complex128]) -> NDArray[np.complex128] | None:
    """[time, freq]: phasors, times their weight, of what all antennas have of feed 1 against feed 0 beside phasors
    [antenna, time, freq, feed]; None where crossed hands have no signal."""
    if sums.product.shape[3] < 4:
        return None
    seen = np.conj(of_first_against_second(sums, free))
    total = seen.sum(axis=(0, 1))
    return total if (np.abs(total) ** 2).sum() > _POLARISED * (np.abs(seen) ** 2).sum() else None


def _found(terms: Sequence[ChainUnknowns], seen: NDArray[np.complex128]) -> list[NDArray[np.float64]]:
    """Values [antenna, unknown] of each; `seen` [antenna, time, freq, feed]: phasors of bins, times their weight."""
    n, shape = len(seen), seen.shape[1:]
    flat = seen.reshape(n, -1)
    there = np.abs(flat).sum(axis=0).reshape(shape)
    any_phase = [one for one in terms if not one.searched]
    origins = [one.origins(there).ravel() for one in any_phase]
    # Of what each bin is a difference: [(sign, bin)].
    parts = [(1, np.arange(flat.shape[1]))]
    left = flat
    for origin in origins:
        left = _relative(left, left[:, origin])
        parts += [(-sign, at[origin]) for sign, at in parts]
    searched = [one for one in terms if one.searched]
    values = _searched(searched, left, parts, n)
    result = dict(zip(searched, values, strict=True))
    left = (seen * np.exp(-1j * _phases(result))).reshape(n, -1)
    for one, origin in zip(any_phase, origins, strict=True):
        first = left[:, origin]
        own = np.zeros((n, one.size))
        own[:, one.cells.ravel()] = np.angle(first)
        result[one] = own
        left = _relative(left, first)
    for _ in range(_ROUNDS):
        for one in terms:
            rest = seen * np.exp(-1j * _phases(result))
            slope, curvature = one.sums(rest * one.rate[:, None]), one.sums(rest.real * one.rate[:, None] ** 2)
            if one.searched:
                step = np.where(curvature > 0, slope.imag / np.where(curvature > 0, curvature, 1.0), 0.0)
            else:
                step = np.angle(slope)
            result[one] = result[one] + step
    found = with_best_chain_turns(terms, seen, [result[one] for one in terms])
    if is_small(terms, seen) and not _in_phase(terms, seen, found):
        found = with_best_chain_turns(terms, seen, _each_anew(terms, seen, found))
    return found


def _in_phase(terms: Sequence[ChainUnknowns], seen, values: Sequence[NDArray[np.float64]]) -> bool:
    """Whether values leave little of the phases of each antenna."""
    height = (seen * np.exp(-1j * _phases(dict(zip(terms, values, strict=True))))).real.sum(axis=(1, 2, 3))
    return bool((height >= _EXPLAINED * np.abs(seen).sum(axis=(1, 2, 3))).all())


def _each_anew(
    terms: Sequence[ChainUnknowns], seen: NDArray[np.complex128], values: Sequence[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Values with those of each interval of a delay or a TEC searched for once more, as all others are known."""
    found = {one: own.copy() for one, own in zip(terms, values, strict=True)}
    for one, own in found.items():
        for unknown in range(one.size) if one.searched else ():
            at = one.cells == unknown
            rest = (seen * np.exp(-1j * _phases(found)))[:, at]
            rate = np.broadcast_to(one.rate[:, None], at.shape)[at]
            rates, spectra = _of_equal(rate[None], rest * np.exp(1j * own[:, [unknown]] * rate), one.rate[:1])
            x = search_turns(spectra, rates[0])
            higher = (spectra * np.exp(-1j * x[:, None] * rates[0])).real.sum(axis=1) > rest.real.sum(axis=1)
            own[:, unknown] = np.where(higher, x, own[:, unknown])
    return list(found.values())


def _relative(values: NDArray[np.complex128], origin: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Phasors relative to others, with the weight of the weaker ones."""
    size, other = np.abs(values), np.abs(origin)
    scale = np.minimum(size, other) / np.where((size > 0) & (other > 0), size * other, 1.0)
    return values * np.conj(origin) * scale


def _phases(values: Mapping[ChainUnknowns, NDArray[np.float64]]) -> NDArray[np.float64]:
    """[antenna, time, freq, feed], of all of these; 0 of none."""
    return functools.reduce(np.add, (one.phases(own) for one, own in values.items()), np.zeros(()))


def _searched(terms: Sequence[ChainUnknowns], left, parts, n: int) -> list[NDArray[np.float64]]:
    """Values [antenna, unknown] of delays and TEC, in what is `left` [antenna, bin] of the differences `parts`."""
    first = np.cumsum([0, *(one.size for one in terms)])
    rows, columns, rates = [], [], []
    for k, one in enumerate(terms):
        rate = np.broadcast_to(one.rate[:, None], one.cells.shape).ravel()
        for sign, at in parts:
            rows.append(np.arange(len(at)))
            columns.append(first[k] + one.cells.ravel()[at])
            rates.append(sign * rate[at])
    value = np.zeros((n, first[-1]))
    if not terms:
        return []
    key, of_key = np.unique(np.concatenate(rows) * first[-1] + np.concatenate(columns), return_inverse=True)
    rate = np.bincount(of_key, weights=np.concatenate(rates))
    scale = np.concatenate([np.full(one.size, np.abs(one.rate).max()) for one in terms])
    told = np.abs(rate) > _SAME * scale[key % first[-1]]
    system = _System(left, key[told] // first[-1], key[told] % first[-1], rate[told], scale)
    system.solve(value)
    return [value[:, first[k] : first[k + 1]] for k in range(len(terms))]


@dataclass(eq=False)
class _System:
    """What bins `row` tell of unknowns `column`, with these rates: phases of `left` [antenna, bin] are sums of rate
    times unknown."""

    left: NDArray[np.complex128]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    rate: NDArray[np.float64]
    scale: NDArray[np.float64]

    def solve(self, value: NDArray[np.float64]) -> None:
        """Into `value` [antenna, unknown], unknown after unknown: what is told together with known ones only; a delay
        and a TEC together; of others that which most bins have is 0."""
        open_ones = np.zeros(value.shape[1], bool)
        open_ones[self.column] = True
        while open_ones.any():
            is_open = open_ones[self.column]
            count = np.bincount(self.row[is_open], minlength=self.left.shape[1])
            single = np.unique(self.column[is_open & (count[self.row] == 1)])
            for unknown in single:
                value[:, unknown] = self._one(unknown, count, open_ones)
            if len(single):
                self._leave(single, value)
                open_ones[single] = False
                continue
            open_ones[np.argmax(np.bincount(self.column[is_open], minlength=len(open_ones)))] = False

    def _leave(self, known: NDArray[np.intp], value: NDArray[np.float64]) -> None:
        """Takes known values out of the bins."""
        own = np.isin(self.column, known)
        phase = np.zeros(self.left.shape)
        np.add.at(phase, (slice(None), self.row[own]), value[:, self.column[own]] * self.rate[own])
        self.left = self.left * np.exp(-1j * phase)

    def _one(self, unknown: int, count, open_ones) -> NDArray[np.float64]:
        own = (self.column == unknown) & (count[self.row] == 1)
        rate, value = self.rate[own], self.left[:, self.row[own]]
        value = np.where(rate < 0, np.conj(value), value)
        rate, value = _of_equal(np.abs(rate)[None], value, self.scale[[unknown]])
        return _least(value, rate[0], search_turns(value, rate[0]))


def _least(value: NDArray[np.complex128], rate: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least of the x [antenna] that fit as well: differences of regular channels leave aliases."""
    gaps = np.diff(np.sort(np.append(rate, 0.0)))
    gaps = gaps[gaps > _SAME * np.abs(rate).max()]
    if not len(gaps):
        return x
    places = x[:, None] + 2 * np.pi / gaps.min() * np.arange(-_ALIASES, _ALIASES + 1)
    height = (value[:, None] * np.exp(-1j * places[..., None] * rate)).real.sum(axis=2)
    equal = height >= height.max(axis=1, keepdims=True) - _EQUAL * np.abs(value).sum(axis=1, keepdims=True)
    return places[np.arange(len(x)), np.argmin(np.where(equal, np.abs(places), np.inf), axis=1)]


def _of_equal(rates: NDArray[np.float64], value: NDArray[np.complex128], scale) -> tuple[NDArray, NDArray]:
    """Sums of values [antenna, bin] with equal rates [unknown, bin]."""
    key = np.round(rates / (_SAME * scale[:, None]))
    _, first, of = np.unique(key, axis=1, return_index=True, return_inverse=True)
    total = np.zeros((len(value), len(first)), complex)
    np.add.at(total, (slice(None), np.ravel(of)), value)
    return rates[:, first], total


def with_sizes(terms: Sequence[Term], values: dict[str, NDArray], sums: Coherence) -> dict[str, NDArray]:
    """Values of a chain with complex ones of gains, the first of which have the size of the data. `sums`: of parallel
    hands."""
    size = math.sqrt(max(sums.power_over_model, 0.0))
    found = dict(values)
    for term in terms:
        if "amplitude" in term.kind.quantities:
            found[term.name], size = _gains_of_phases(term, found[term.name], size), 1.0
    return found


def _gains_of_phases(term: Term, phase: NDArray[np.float64], size: float) -> NDArray[np.complex128]:
    """Gains [element, ...] of phases, with amplitudes whose square is `size`; 0 off the diagonal."""
    crossed = np.array([name in ("01", "10") for name in term.elements])
    return np.where(crossed.reshape(-1, *(1,) * (phase.ndim - 1)), 0.0, math.sqrt(size) * np.exp(1j * phase))
