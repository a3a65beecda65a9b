"""Phases of several directions at once, whatever they were before.

The sums over the data that a search one direction after the other uses have many maxima where few antennas see
directions that resemble each other. All phases together are climbed from many places, one phase after the other, and
the highest place counts: for each cell (an interval and a feed) by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from .several_directions import SeveralDirections

MOST_ANTENNAS = 16  # among more one direction after the other is good enough
_STARTS, _SWEEPS = 40, 20  # places that are climbed from for each direction, and how far
_BEST, _LAST_SWEEPS = 4, 200  # those that are climbed to the end
_LIKELY = 2.0  # standard deviations of chi-square that are taken for noise
_BATCH = 1 << 21  # numbers that are looked at together


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over the data of cells, as of `Coherence`, of which each has phases of its own: `product` [baseline, cell,
    direction], `power` [baseline, cell, direction, direction], `data` and `count` [baseline, cell]."""

    product: NDArray[np.complex128]
    power: NDArray[np.complex128]
    data: NDArray[np.float64]
    count: NDArray[np.int64]

    def poor(self, baselines, phasors, scales, unknowns: int) -> NDArray[np.bool_]:
        """[cell]: whether phasors [cell, antenna, direction], with a scale of each direction's model, explain less than
        noise would have them. They are compared with any factors of each baseline and direction, of which they are
        some, by the F ratio of what these explain besides to what these leave."""
        p, q = baselines.T
        seen = np.moveaxis(scales * phasors[:, p] * np.conj(phasors[:, q]), 1, 0)
        explained = 2 * np.einsum("bck,bck->c", np.conj(seen), self.product).real
        explained -= np.einsum("bck,bckl,bcl->c", np.conj(seen), self.power, seen, optimize=True).real
        inverse = np.linalg.pinv(self.power, rcond=1e-9, hermitian=True)
        most = np.einsum("bck,bckl,bcl->c", np.conj(self.product), inverse, self.product, optimize=True).real
        n = self.product.shape[-1]
        freedom = 2 * np.maximum(self.count - n, 0).sum(axis=0)  # with factors of baselines
        more = np.maximum(2 * np.minimum(self.count, n).sum(axis=0) - unknowns, 1)
        left = np.maximum(self.data.sum(axis=0) - most, 0)
        noise = np.where(freedom > 0, left / np.maximum(freedom, 1), 1.0)  # 1: as weights say
        return ~(most - explained <= noise * (more + _LIKELY * np.sqrt(2 * more)))


def better_phasors(
    cells: CellSums, baselines: NDArray[np.intp], begin, scales, free: NDArray[np.bool_]
) -> NDArray[np.complex128]:
    """Phasors [cell, antenna, direction] as `begin`, and better ones where these are `CellSums.poor`."""
    poor = cells.poor(baselines, begin, scales, int(free.sum()) * (begin.shape[1] - 1))
    found = begin.copy()
    if poor.any():
        found[poor] = best_joint_phases(cells.product[:, poor], cells.power[:, poor], baselines, begin[poor], free)
    return found


def better_phases(
    sums: Coherence,
    cells: tuple[NDArray[np.intp], NDArray[np.intp]],
    parts: Sequence[str],
    found: SeveralDirections,
    reference: int,
) -> dict[str, NDArray[np.float64]]:
    """{direction: phases [element, time, freq, antenna]}: those that are found, and better ones where these explain the
    data poorly. `cells`: the interval of each bin in time and in frequency; `parts`: the direction of each part of the
    sums; `reference`: the place of the antenna of phase 0."""
    at_time, at_frequency = cells
    elements, *intervals, antennas = np.shape(next(iter(found.values.values())))

    def in_cells(x):  # [baseline, time, freq, feed, ...] to [baseline, cell, ...]
        total = np.zeros((len(x), *intervals, *x.shape[3:]), x.dtype)
        np.add.at(total, (slice(None), at_time[:, None], at_frequency[None, :]), x)
        total = total if elements == 2 else total.sum(axis=3, keepdims=True)
        return total.reshape(len(x), -1, *x.shape[4:])

    of = np.array([[name == one for one in parts] for name in found.order], dtype=float)
    product, power = in_cells(sums.product @ of.T), in_cells(of @ sums.power @ of.T)
    begin = np.ones((product.shape[1], antennas, len(of)), complex)
    for k, name in enumerate(found.order):
        if name in found.values:
            begin[..., k] = np.exp(1j * np.moveaxis(found.values[name], 0, 2).reshape(-1, antennas))
    scales = np.array([found.scales[name] for name in found.order])
    free = np.array([name in found.values for name in found.order])
    of_cells = CellSums(product, power, in_cells(sums.data), in_cells(sums.count))
    phasors = better_phasors(of_cells, sums.baselines, begin, scales, free)
    phase = np.angle(phasors * np.conj(phasors[:, [reference]])).reshape(*intervals, elements, antennas, -1)
    return {name: np.moveaxis(phase[..., k], 2, 0) for k, name in enumerate(found.order) if free[k]}


def best_joint_phases(
    product: NDArray[np.complex128],
    power: NDArray[np.complex128],
    baselines: NDArray[np.intp],
    begin: NDArray[np.complex128],
    free: NDArray[np.bool_],
    seed: int = 0,
) -> NDArray[np.complex128]:
    """Phasors [cell, antenna, direction] for which a common factor times the model explains most of the data.

    `product` [baseline, cell, direction]: sums of weight V conj(model); `power` [baseline, cell, direction, direction]:
    of weight conj(model) model; `baselines` [baseline, 2] numbers of antennas; `begin`: phasors that are known, as good
    as which the result is at least. Directions that are not `free` keep theirs.
    """
    cells, antennas, directions = begin.shape
    step = max(1, _BATCH // (antennas**2 * directions**3 * _STARTS))
    rng = np.random.default_rng(seed)
    found = [
        _highest(_Sums(product[:, some], power[:, some], baselines, antennas), begin[some], free, rng)
        for some in (slice(first, first + step) for first in range(0, cells, step))
    ]
    return np.concatenate(found)


class _Sums:
    """The sums of some cells as Hermitian matrices of antennas."""

    def __init__(self, product, power, baselines, n: int):
        cells, k = product.shape[1:]
        self._product = np.zeros((cells, n, n, k), complex)
        self._power = np.zeros((cells, n, n, k, k), complex)
        p, q = baselines.T
        self._product[:, p, q], self._product[:, q, p] = np.moveaxis(product, 0, 1), np.conj(np.moveaxis(product, 0, 1))
        self._power[:, p, q], self._power[:, q, p] = np.moveaxis(power, 0, 1), np.conj(np.moveaxis(power, 0, 1))

    def some(self, cells: NDArray[np.intp]) -> _Sums:
        own = object.__new__(_Sums)
        own._product, own._power = self._product[cells], self._power[cells]
        return own

    def improve(self, phasor, factor, antenna: int, direction: int) -> None:
        """The best phase of one antenna and direction, in place; `phasor` [cell, start, antenna, direction]."""
        of_model = self._power[:, antenna, :, direction].copy()  # [cell, other antenna, other direction]
        of_model[..., direction] = 0
        mine, others = phasor[:, :, antenna], np.conj(phasor)
        seen = (of_model[:, None] * mine[:, :, None] * others).sum(axis=-1)
        left = self._product[:, None, antenna, :, direction] - factor[..., None] * seen
        total = (left * phasor[..., direction]).sum(axis=-1)
        size = np.abs(total)
        phasor[:, :, antenna, direction] = np.where(size > 0, total / np.where(size > 0, size, 1), mine[..., direction])

    def factor_and_height(self, phasor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[cell, start]: the factor of the model that fits best, and by how much chi-square is lowered."""
        own = np.moveaxis(phasor, 1, -1)  # [cell, antenna, direction, start]
        turned = own[:, :, None] * np.conj(own[:, None])
        fit = (self._product[..., None] * np.conj(turned)).real.sum(axis=(1, 2, 3))
        square = (np.conj(turned) * (self._power @ turned)).real.sum(axis=(1, 2, 3))
        factor = np.where(square > 0, np.maximum(fit, 0) / np.where(square > 0, square, 1), 0.0)
        return factor, factor * fit


def _highest(sums: _Sums, begin, free, rng) -> NDArray[np.complex128]:
    cells, antennas, directions = begin.shape
    phasor = np.exp(2j * np.pi * rng.random((cells, _STARTS * directions, antennas, directions)))
    phasor[:, 0] = begin
    phasor[:, :, :, ~free] = begin[:, None][..., ~free]
    _climb(sums, phasor, free, _SWEEPS)
    best = np.argsort(-sums.factor_and_height(phasor)[1], axis=1, kind="stable")[:, :_BEST]
    phasor = np.take_along_axis(phasor, best[..., None, None], axis=1)
    _climb(sums, phasor, free, _LAST_SWEEPS)
    return phasor[np.arange(cells), np.argmax(sums.factor_and_height(phasor)[1], axis=1)]


def _climb(sums: _Sums, phasor, free, sweeps: int) -> None:
    """Raises all places, in place; until no height changes."""
    factor, height = sums.factor_and_height(phasor)
    for _ in range(sweeps):
        for direction in np.flatnonzero(free):
            for antenna in range(phasor.shape[2]):
                sums.improve(phasor, factor, antenna, direction)
        before = height
        factor, height = sums.factor_and_height(phasor)
        if (height - before <= 1e-9 * np.abs(height)).all():
            break
