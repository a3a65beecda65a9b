"""Directions of which the gains follow noise, for their model is not in the data.

Gains can become small, so that such a direction does the others little harm; but its own mean nothing, and a fit of
them hardly ends. Where gains are not much larger than their errors, what they explain of the data is compared with what
gains explain of noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..solving import SolutionFlag, SolveReport
from .coherence import Coherence
from .fewer_directions import BestFit
from .grid import Chunk
from .planning import CalibrationOptions
from .significance import is_noise
from .solve_trees import SolveTree
from .starting_values import Run, StartingSearch, tables_of
from .terms import Term

_CLEAR = 25.0  # squares of gains over those of their errors: noise alone has about 4, full matrices up to 20
_UNKNOWN = SolutionFlag.NO_DATA | SolutionFlag.NOT_SOLVED | SolutionFlag.UNDETERMINED | SolutionFlag.AMBIGUOUS
_SWEEPS = 40


def without_noise(
    search: StartingSearch,
    tree: SolveTree,
    terms: Sequence[Term],
    options: CalibrationOptions,
    chunk: Chunk,
    reference: int,
    found: BestFit,
    run: Run,
) -> BestFit:
    """A fit to a chunk, without directions of which its gains explain no more than gains explain of noise."""
    term = next((one for one in terms if one.name in tree.gains_of), None)
    if term is None or found.solved is None:
        return found
    noise = _chi_square(found.solved) / max(1, _freedom(found.solved))
    doubtful = _doubtful(tree, term, found, 1.0 if options.solver.errors_from_residuals else noise)
    if not doubtful:
        return found
    known = {name: tables_of(parm)["value"] for name, parm in found.solved.parms.items()}
    inside = search.sums_inside(chunk, [one for one in terms if one.per is not None], reference, options, known)
    if inside is None:
        return found
    sums, _, bins = inside
    fit = _GainFit(term, sums, search.cells(term, chunk, bins, sums))
    for name in doubtful:
        own = [k for k, part in enumerate(search.parts) if part.directions[term.per] == name]
        power = sum(sums.power[..., k, m].real for k in own for m in own)
        # Others fit noise along with it, and have to be fitted anew without it.
        begin = replace(found.begin, absent=(*found.begin.absent, name))
        solved = run(begin, None)
        if solved is None:
            continue
        gain = _chi_square(solved) - _chi_square(found.solved)
        if is_noise(gain, noise, power, lambda noisy, power=power: fit.explained(noisy, power)):
            found = replace(found, begin=begin, solved=solved)
    return found


def _chi_square(solved: SolveReport) -> float:
    return solved.noise**2 * solved.chi_square[-1] if solved.chi_square else 0.0


def _freedom(solved: SolveReport) -> int:
    return sum(one.equations - one.rank for one in solved.groups)


def _doubtful(tree: SolveTree, term: Term, found: BestFit, noise: float) -> list[str]:
    """Directions whose gains are not much larger than their errors, those with the smallest first."""
    tables = {name: tables_of(parm) for name, parm in found.solved.parms.items()}
    signal = {
        name: _signal(tree, term, name, tables) for name in tree.gains_of[term.name] if name not in found.begin.absent
    }
    return sorted((name for name in signal if not signal[name] > _CLEAR * noise), key=lambda name: signal[name])


def _signal(tree: SolveTree, term: Term, direction: str, tables: Mapping[str, dict]) -> float:
    """Squares of gains over those of their errors, the median; 0 of those that had still to go. Infinite where data do
    not tell them at all."""
    squares: dict[tuple, NDArray[np.float64] | float] = {}
    variances: dict[tuple, NDArray[np.float64] | float] = {}
    for one in tree.parameters:
        table, element = tables.get(one.node), term.elements[one.element] if one.term == term.name else ""
        if table is None or (one.term, one.direction) != (term.name, direction) or element in ("01", "10"):
            continue
        key, flag = (one.antenna, one.element), table["flag"]
        square = np.where(flag & SolutionFlag.NOT_CONVERGED, 0.0, table["value"] ** 2)
        squares[key] = squares.get(key, 0.0) + np.where(flag & _UNKNOWN, np.nan, square)
        variances[key] = variances.get(key, 0.0) + table["sigma"] ** 2
    known = np.concatenate([[], *(np.ravel(squares[key] / np.maximum(variances[key], 1e-300)) for key in squares)])
    known = known[np.isfinite(known)]
    return float(np.median(known)) if len(known) else np.inf


class _GainFit:
    """Fits gains of one direction to sums, in each solution interval of a term by itself."""

    def __init__(self, term: Term, sums: Coherence, cells: tuple[NDArray[np.intp], NDArray[np.intp]]):
        self._sums, self._cells = sums, cells
        self._together = term.elements == ("",)
        self._real = term.kind.quantities == ("amplitude",)
        # Two rows of matrices of twice the size explain twice as much of noise as two feeds by themselves.
        self._times = 2 if term.kind.name == "full" else 1

    def explained(self, product: NDArray[np.complex128], power: NDArray[np.float64]) -> tuple[float, int]:
        """By how much the best gains lower chi-square, and how many real unknowns they are; `product`, `power`
        [baseline, time, freq, feed]."""
        there, model = self._matrices(product), self._matrices(power).real
        there = there.real if self._real else there
        # The dominant eigenvector is the best where all baselines weigh alike.
        size, vectors = np.linalg.eigh(there)
        weight = model.sum(axis=(-2, -1))[:, None] / model.shape[-1] ** 2
        gains = vectors[..., -1] * np.sqrt(np.maximum(size[:, -1:], 0) / np.where(weight > 0, weight, 1))
        best = self._gain(gains, there, model)
        for _ in range(_SWEEPS):  # the mean of two iterations does not swing (Salvini & Wijnholds 2014, A&A 571, A97)
            below = (model @ np.abs(gains[..., None]) ** 2)[..., 0]
            gains = 0.5 * (gains + (there @ gains[..., None])[..., 0] / np.where(below > 0, below, 1))
            best = np.maximum(best, self._gain(gains, there, model))
        return self._times * float(best.sum()), self._times * gains.size * (1 if self._real else 2)

    @staticmethod
    def _gain(gains, there, model) -> NDArray[np.float64]:
        """Of each interval; matrices hold each baseline twice."""
        fit = np.einsum("tp,tpq,tq->t", np.conj(gains), there, gains, optimize=True).real
        square = np.abs(gains) ** 2
        return fit - 0.5 * np.einsum("tp,tpq,tq->t", square, model, square, optimize=True)

    def _matrices(self, values: NDArray) -> NDArray:
        """[interval, antenna, antenna] of values [baseline, time, freq, feed]."""
        at_time, at_frequency = self._cells
        shape = (at_time.max() + 1, at_frequency.max() + 1, 2)
        total = np.zeros((len(values), *shape), complex)
        np.add.at(total, (slice(None), at_time[:, None], at_frequency[None, :]), values)
        total = total.sum(axis=3, keepdims=True) if self._together else total
        matrix = self._sums.matrix(total)
        return matrix.reshape(-1, *matrix.shape[-2:])
