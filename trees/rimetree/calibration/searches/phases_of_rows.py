"""Phases that rows of sums have in common, where each row by itself may have any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .fringe import search
from .phase_search import best_phases

_TOGETHER = 0.3  # of what would be in phase without noise: less may be noise
_MOST_CELLS, _MOST_CHANNELS = 2000, 512
_MOST_NUMBERS = 1 << 25  # of rows, in cells

Cells = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Rows:
    """`seen` [row, time, freq]: sums of weight V conj(model)."""

    seen: NDArray[np.complex128]

    def found(
        self, cells: Cells, shape: tuple[int, int], steady: Sequence[Cells], rate: NDArray | None, *, absolute: bool
    ) -> NDArray[np.float64]:
        """[time, freq] phases of the cells of a term, or x of which the phase is x rate, that bring rows into phase.

        `cells`: ([time], [freq]) of each bin, of which there are `shape`; `steady`: others', within all of which a row
        stays what it is; `rate` [freq]; `absolute`: a row of phase 0 is meant, of all bins alike. 0 where rows have
        nothing in common.
        """
        labels = _labels(steady, self.seen.shape[1:])
        if rate is None:
            own = cells[0][:, None] * shape[1] + cells[1]
            return self._phases(own, shape[0] * shape[1], labels, absolute).reshape(shape)
        found = np.zeros(shape)
        for t, f in np.ndindex(*shape):
            at = np.ix_(cells[0] == t, cells[1] == f)
            found[t, f] = self._slope(self.seen[:, *at], labels[at], rate[cells[1] == f], absolute)
        return found

    def without(self, cells: Cells, own: NDArray[np.float64], rate: NDArray | None) -> Rows:
        """Rows without what was found."""
        phase = own[cells[0]][:, cells[1]] * (1.0 if rate is None else rate)
        return Rows(self.seen * np.exp(-1j * phase))

    def _phases(self, cells: NDArray[np.intp], n_cell: int, labels: NDArray[np.intp], absolute: bool) -> NDArray:
        """[cell] of `cells`, `labels` [time, freq]."""
        n_label = labels.max() + 1
        if n_cell > _MOST_CELLS or len(self.seen) * n_cell * n_label > _MOST_NUMBERS:
            return np.zeros(n_cell)
        total = np.zeros((n_label, n_cell, len(self.seen)), complex)
        np.add.at(total, (labels.ravel(), cells.ravel()), self.seen.reshape(len(self.seen), -1).T)
        if absolute:
            return np.angle(total.sum(axis=(0, 2)))
        common = np.einsum("lcr,ldr->cd", total, np.conj(total), optimize=True)
        phase = best_phases(common, 0)
        return phase if _together(common, np.exp(1j * phase)) > _TOGETHER else np.zeros(n_cell)

    @staticmethod
    def _slope(seen, labels: NDArray[np.intp], rate: NDArray[np.float64], absolute: bool) -> float:
        """Of one cell: `seen` [row, time, freq], `labels` [time, freq]."""
        if not seen.any():
            return 0.0
        if absolute:
            return search(seen.sum(axis=(0, 1)), rate, any_phase=False)
        each = -(-len(rate) // _MOST_CHANNELS)  # that many neighbours are added
        first = np.arange(0, len(rate), each)
        seen, labels = np.add.reduceat(seen, first, axis=2), labels[:, first]
        rate = np.add.reduceat(rate, first) / np.diff([*first, len(rate)])
        n_freq = len(rate)
        common = np.zeros((n_freq, n_freq), complex)
        for label in np.unique(labels):
            own = np.where(labels == label, seen, 0).sum(axis=1)
            common += own.T @ np.conj(own)
        sizes, vectors = np.linalg.eigh(common)
        several = len(np.unique(labels, axis=1).T)  # in each of which the band has a phase of its own
        rows = (vectors * np.sqrt(np.maximum(sizes, 0)))[:, -several:].T
        x = search(rows, rate, any_phase=True)
        return x if _together(common, np.exp(1j * rate * x)) > _TOGETHER else 0.0


def _together(common: NDArray[np.complex128], phasor: NDArray[np.complex128]) -> float:
    """How much of sums over rows [cell, cell] of products of their cells is in phase."""
    own = np.sqrt(common.diagonal().real)
    most = (np.outer(own, own) * (common != 0)).sum() - (own**2).sum()
    total = np.vdot(phasor, common @ phasor).real - (own**2).sum()
    return float(total / most) if most > 0 else 0.0


def _labels(steady: Sequence[Cells], shape: tuple[int, ...]) -> NDArray[np.intp]:
    """[time, freq]: the same number where none of these cells change."""
    found = np.zeros(shape, np.intp)
    for at_time, at_frequency in steady:
        own = at_time[:, None] * (at_frequency.max() + 1) + at_frequency
        found = np.unique(found * (own.max() + 1) + own, return_inverse=True)[1].reshape(shape)
    return found
