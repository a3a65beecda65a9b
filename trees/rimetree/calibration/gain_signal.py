"""Directions of which the gains follow noise, for their model is not in the data.

Gains can become small, so that such a direction does the others little harm; but its own mean nothing, and a fit of
them hardly ends. If it is the one that keeps the unit matrix, gains of the whole sky become small, and those of all
others large. Where what a direction has of the data is not much more than errors of its gains are, what is lost without
it is compared with what gains explain of noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..solving import SolutionFlag, SolveReport
from .coherence import Coherence
from .diagonal_gains import diagonals, on_baselines
from .fewer_directions import BestFit, Fit
from .grid import Chunk
from .interval_search import SEARCHED
from .planning import CalibrationOptions
from .significance import is_noise
from .solve_trees import SolveTree
from .starting_values import StartingSearch, tables_of
from .term_trees import Parameter
from .terms import Term

_CLEAR = 25.0  # squares of gains over those of their errors: noise alone has about 4, full matrices up to 20
_LITTLE = 0.1  # that a direction has of the data, over that which has most
_UNKNOWN = SolutionFlag.NO_DATA | SolutionFlag.NOT_SOLVED
_OPEN = SolutionFlag.NOT_CONVERGED | SolutionFlag.UNDETERMINED | SolutionFlag.AMBIGUOUS
_SWEEPS = 40

#: The solution interval of each bin, in time and in frequency.
Cells = tuple[NDArray[np.intp], NDArray[np.intp]]
_Tables = Mapping[str, Mapping[str, NDArray]]


@dataclass(frozen=True, eq=False)
class ChunkSearch:
    """The search for one chunk. `reference`: number of the antenna that phases refer to."""

    search: StartingSearch
    tree: SolveTree
    terms: Sequence[Term]
    options: CalibrationOptions
    chunk: Chunk
    reference: int


def without_noise(one: ChunkSearch, found: BestFit, fit: Fit) -> BestFit:
    """A fit to a chunk, without directions of which gains explain no more than they explain of noise. `fit`: to all
    directions but some."""
    if found.solved is None or not one.tree.gains_of:
        return found
    noise = _chi_square(found.solved) / max(1, _freedom(found.solved))
    names, kept = _doubtful(one, found, noise), _kept(one.tree)
    directions = _Directions.of(one, found.solved) if names or kept else None
    if directions is None:
        return found
    size = {name: directions.size(name) for name in directions.names if name not in found.begin.absent}
    names += [name for name in kept & size.keys() if size[name] <= _LITTLE * max(size.values())]
    for name in sorted(names, key=lambda name: size[name]):
        # Others fit noise along with it, and have to be fitted anew without it.
        begin, solved = fit(frozenset({*found.begin.absent, name}))
        if solved is None:
            continue
        gain = _chi_square(solved) - _chi_square(found.solved)
        if is_noise(gain, noise, directions.power(name), directions.explained(name)):
            # Those that seemed to be noise beside it may be clear now.
            return without_noise(one, BestFit(begin, solved, found.doubtful), fit)
    return found


def _chi_square(solved: SolveReport) -> float:
    return solved.noise**2 * solved.chi_square[-1] if solved.chi_square else 0.0


def _freedom(solved: SolveReport) -> int:
    return sum(one.equations - one.rank for one in solved.groups)


def _doubtful(one: ChunkSearch, found: BestFit, noise: float) -> list[str]:
    """Directions whose gains are not much larger than their errors."""
    least = _CLEAR * (1.0 if one.options.solver.errors_from_residuals else noise)
    tables = {name: tables_of(parm) for name, parm in found.solved.parms.items()}
    names = [(term, name) for term in one.terms for name in one.tree.gains_of.get(term.name, ())]
    there = [(term, name) for term, name in names if name not in found.begin.absent]
    return list({name: None for term, name in there if not _signal(one.tree, term, name, tables) > least})


def _kept(tree: SolveTree) -> set[str]:
    """Directions whose gains are those of the unit matrix, because others tell what they are."""
    own = [one for one in tree.parameters if one.term in tree.gains_of and one.scales]
    return {one.direction for one in own if one.fixed}


def _signal(tree: SolveTree, term: Term, direction: str, tables: _Tables) -> float:
    """Squares of gains over those of their errors, the median; 0 of those that had still to go or that are open.
    Infinite where there are no data."""
    squares: dict[tuple, NDArray[np.float64] | float] = {}
    variances: dict[tuple, NDArray[np.float64] | float] = {}
    for one in tree.parameters:
        table, element = tables.get(one.node), term.elements[one.element] if one.term == term.name else ""
        if table is None or (one.term, one.direction) != (term.name, direction) or element in ("01", "10"):
            continue
        key, flag = (one.antenna, one.element), table["flag"]
        square = np.where(flag & _OPEN, 0.0, table["value"] ** 2)
        squares[key] = squares.get(key, 0.0) + np.where(flag & _UNKNOWN, np.nan, square)
        variances[key] = variances.get(key, 0.0) + table["sigma"] ** 2
    known = np.concatenate([[], *(np.ravel(squares[key] / np.maximum(variances[key], 1e-300)) for key in squares)])
    known = known[np.isfinite(known)]
    return float(np.median(known)) if len(known) else np.inf


@dataclass(frozen=True, eq=False)
class _Directions:
    """Directions on which gains act: `terms` of directions, of which `cells` are the intervals; `sums` inside terms of
    the whole sky, and the direction that each of their parts belongs to; `tables` of the Parms that were solved for."""

    tree: SolveTree
    terms: list[Term]
    sums: Coherence
    cells: Mapping[str, Cells]
    parts: list[str]
    tables: _Tables

    @classmethod
    def of(cls, one: ChunkSearch, solved: SolveReport) -> _Directions | None:
        """None where sums over the data are too large."""
        tables = {name: tables_of(parm) for name, parm in solved.parms.items()}
        terms = [term for term in one.terms if term.per is not None]
        known = {name: table["value"] for name, table in tables.items()}
        inside = one.search.sums_inside(one.chunk, terms, one.reference, one.options, known)
        if inside is None:
            return None
        sums, _, bins = inside
        cells = {term.name: one.search.cells(term, one.chunk, bins, sums) for term in terms}
        per = next(term.per for term in terms if term.name in one.tree.gains_of)
        terms = [term for term in terms if term.per == per]
        return cls(one.tree, terms, sums, cells, [part.directions[per] for part in one.search.parts], tables)

    @property
    def names(self) -> list[str]:
        """Those with gains, also that which keeps the unit matrix."""
        gains = [term for term in self.terms if term.name in self.tree.gains_of]
        return list(dict.fromkeys(name for term in gains for name in self.tree.directions[term.name]))

    def power(self, name: str) -> NDArray[np.float64]:
        """[baseline, time, freq, feed]: sums of weight |model|^2."""
        own = [k for k, part in enumerate(self.parts) if part == name]
        return sum(self.sums.power[..., k, m].real for k in own for m in own)

    def size(self, name: str) -> float:
        """How much a direction has of the data."""
        known = {node: table["value"] for node, table in self.tables.items()}
        gains = np.ones((len(self.sums.antennas), *self.sums.product.shape[1:4]), complex)
        for term in self._terms_of(name):
            gains = gains * diagonals(self.tree.parameters, term, name, known, self.sums, self.cells[term.name])
        return float((np.abs(on_baselines(gains, self.sums)) ** 2 * self.power(name)).sum())

    def explained(self, name: str):
        """As `is_noise` wants it: the gains that all terms together are, as much as they have unknowns."""
        terms = self._terms_of(name)
        cells = tuple(self._finest([self._bins_of(term)[axis] for term in terms]) for axis in (0, 1))
        fit = _GainFit(terms, self.sums, cells)
        # Delays and TEC are looked for in more places than phases.
        searched = {term.name for term in terms if term.kind.name in SEARCHED}
        own = sum(self._cells_of(one.term) * (1 + (one.term in searched)) for one in self._parameters(name))
        power = self.power(name)

        def of_noise(product: NDArray[np.complex128]) -> tuple[float, int]:
            found, unknowns = fit.explained(product, power)
            return found * min(1.0, own / unknowns), min(own, unknowns)

        return of_noise

    def _terms_of(self, name: str) -> list[Term]:
        return [term for term in self.terms if name in self.tree.directions[term.name]]

    def _parameters(self, name: str) -> list[Parameter]:
        """Of a direction, each once."""
        own = [one for one in self.tree.parameters if one.direction == name and one.term in self.cells]
        return list({one.node: one for one in own}.values())

    def _cells_of(self, term: str) -> int:
        return int(np.prod([at.max(initial=-1) + 1 for at in self.cells[term]]))

    def _bins_of(self, term: Term) -> Cells:
        at_time, at_frequency = self.cells[term.name]
        return at_time, np.arange(len(at_frequency)) if term.kind.name in SEARCHED else at_frequency

    @staticmethod
    def _finest(intervals: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        """Of each bin, the interval in which no term changes."""
        return np.ravel(np.unique(np.stack(intervals), axis=1, return_inverse=True)[1])


class _GainFit:
    """Fits gains of one direction, which are terms together, to sums, in each interval by itself."""

    def __init__(self, terms: Sequence[Term], sums: Coherence, cells: Cells):
        self._sums, self._cells = sums, cells
        self._together = all(term.elements == ("",) for term in terms)
        self._real = all(term.kind.quantities == ("amplitude",) for term in terms)
        # Two rows of matrices of twice the size explain twice as much of noise as two feeds by themselves.
        self._times = 2 if any(term.kind.name == "full" for term in terms) else 1

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
