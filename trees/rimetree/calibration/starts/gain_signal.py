"""Directions of which the gains follow noise, for their model is not in the data.

Gains can become small, so that such a direction does the others little harm; but its own mean nothing, and a fit of
them hardly ends. If it is the one that keeps the unit matrix, gains of the whole sky become small, and those of all
others large. Where what a direction has of the data is not much more than errors of its gains are, what is lost without
it is compared with what gains explain of noise: by a fit without it, unless it is clear without one that others cannot
take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolutionFlag
from ..data.coherence import Coherence
from ..directions.goodness import SIGNIFICANT, chi_square_of, freedom_of
from ..directions.significance import is_noise
from ..plan.solve_trees import SolveTree
from ..searches.interval_search import MOVING
from ..terms.kinds import TIME_QUANTITIES
from ..terms.terms import Term
from .fewer_directions import BestFit, Fit
from .named_values import tables_of
from .small_changes import left_of, numbered
from .solved_directions import Cells, ChunkSearch, SolvedDirections, Tables

_CLEAR = 25.0  # squares of gains over those of their errors: noise alone has about 4, full matrices up to 20
_LITTLE = 0.3  # that a direction has of the data, over that which has most
_UNKNOWN = SolutionFlag.NO_DATA | SolutionFlag.NOT_SOLVED
_OPEN = SolutionFlag.NOT_CONVERGED | SolutionFlag.UNDETERMINED | SolutionFlag.AMBIGUOUS
_SWEEPS = 40
#: Without a direction chi-square rises by less than what small changes of the others leave of it: seen were a seventh,
#: where these are as faint and resemble it, and all, where there is noise alone.
_TAKEN = 8.0


def without_noise(one: ChunkSearch, found: BestFit, fit: Fit) -> BestFit:
    """A fit to a chunk, without directions of which gains explain no more than they explain of noise. `fit`: to all
    directions but some."""
    if found.solved is None or not one.tree.gains_of:
        return found
    noise = chi_square_of(found.solved) / max(1, freedom_of(found.solved))
    names, kept = _doubtful(one, found, noise), _kept(one.tree)
    gains = [term for term in one.terms if term.name in one.tree.gains_of] if names or kept else []
    for per in dict.fromkeys(term.per for term in gains):
        directions = SolvedDirections.of(one, found.solved, per)
        if directions is None:
            return found
        # Also that which keeps the unit matrix.
        every = dict.fromkeys(name for term in gains if term.per == per for name in one.tree.directions[term.name])
        size = {name: directions.size(name) for name in every if name not in found.begin.absent}
        little = [name for name in size if name in kept and size[name] <= _LITTLE * max(size.values())]
        own = [name for name in size if name in names or name in little]
        clear = _clear(one, directions, own, found.begin.absent, noise)
        for name in sorted(set(own) - clear, key=lambda name: (size[name], name)):
            # Others fit noise along with it, and have to be fitted anew without it.
            begin, solved = fit(frozenset({*found.begin.absent, name}))
            if solved is None:
                continue
            gain = chi_square_of(solved) - chi_square_of(found.solved)
            if _may_be_noise(directions, name, gain, noise):
                # Fewer unknowns are never better than the best fit: with it there may be a better one, too.
                doubtful = found.doubtful or gain < -(SIGNIFICANT**2) * noise
                # Those that seemed to be noise beside it may be clear now.
                return without_noise(one, BestFit(begin, solved, doubtful), fit)
    return found


def _clear(
    one: ChunkSearch, directions: SolvedDirections, names: Sequence[str], absent: Collection[str], noise: float
) -> set[str]:
    """Of `names`, those that need no fit to tell that they are there: what the gains of others can do in their place
    leaves many times what noise explains. None where terms are not gains of feeds, or of patches and of sources."""
    there = [name for name in dict.fromkeys(directions.parts) if name not in absent]
    several = {term.per for term in one.terms} - {None, directions.terms[0].per}
    if not names or several or not all(term.kind.diagonal for term in one.terms):
        return set()
    directions = replace(directions, cells={t.name: one.search.intervals.cells(t, directions.sums) for t in one.terms})
    cells = numbered(
        [_bins_of(directions, term) for term in one.terms],
        directions.sums.product.shape[1:4],
        feeds_apart=any(term.elements != ("",) for term in one.terms),
    )
    seen = [(name, directions.scale * directions.seen(name)) for name in there]
    left = left_of([there.index(name) for name in names], seen, directions, cells, np.ones((len(there), 2), bool))
    each = zip(names, left / _TAKEN, strict=True)
    return {name for name, least in each if not _may_be_noise(directions, name, least, noise)}


def _may_be_noise(directions: SolvedDirections, name: str, gain: float, noise: float) -> bool:
    """Whether gains of a direction that lower chi-square by so much explain no more than of noise."""
    power, unknowns = directions.power(name), _unknowns(directions, name)
    return is_noise(gain, noise, power, unknowns, _explained(directions, name, unknowns))


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


def _signal(tree: SolveTree, term: Term, direction: str, tables: Tables) -> float:
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


def _unknowns(directions: SolvedDirections, name: str) -> int:
    """Of a direction; delays and TEC count twice, as they are looked for in more places than phases."""
    searched = {term.name for term in directions.terms_of(name) if term.kind.name in MOVING}
    return sum(count * (1 + (term in searched)) for term, count in directions.unknowns(name).items())


def _explained(directions: SolvedDirections, name: str, most: int) -> Callable[[NDArray[np.complex128]], float]:
    """As `is_noise` wants it: the gains that all terms of a direction together are, as far as they have unknowns."""
    terms = directions.terms_of(name)
    cells = tuple(_finest([_bins_of(directions, term)[axis] for term in terms]) for axis in (0, 1))
    fit, power = _GainFit(terms, directions.sums, cells), directions.power(name)

    def of_noise(product: NDArray[np.complex128]) -> float:
        found, unknowns = fit.explained(product, power)
        return found * min(1.0, most / unknowns)

    return of_noise


def _bins_of(directions: SolvedDirections, term: Term) -> Cells:
    at_time, at_frequency = directions.cells[term.name]
    at_time = np.arange(len(at_time)) if TIME_QUANTITIES & set(term.kind.quantities) else at_time
    return at_time, np.arange(len(at_frequency)) if term.kind.name in MOVING else at_frequency


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
