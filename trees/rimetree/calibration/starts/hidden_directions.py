"""Which of the directions that a fit has left out may be in the data all the same, hidden by noise.

What is not found is absent if it would stand out were it there, with as much of its model in the data as of the
direction that explains most of them. A faint one would not: of it the data say neither. What others can do in its place
does not stand out either: a bright one need turn a little only, where time is too short to tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..directions.goodness import chi_square_of, freedom_of
from ..directions.significance import explained_of_noise, is_hidden
from ..searches.diagonal_gains import on_baselines
from ..searches.interval_search import MOVING, IntervalSearch
from ..terms.terms import has_amplitude
from .fewer_directions import BestFit
from .solved_directions import ChunkSearch, SolvedDirections

_DRAWS = 3  # of phases, of all intervals together


def hidden(one: ChunkSearch, found: BestFit) -> tuple[str, ...]:
    """Of the directions without which the best fit to a chunk is. None where no direction says how much there is of
    models."""
    solved, absent = found.solved, set(found.begin.absent)
    if solved is None or not absent or not (chi_square_of(solved) > 0 and freedom_of(solved) > 0):
        return ()
    noise = chi_square_of(solved) / freedom_of(solved)
    names: list[str] = []
    for per in dict.fromkeys(term.per for term in one.terms if term.per is not None):
        directions = SolvedDirections.of(one, solved, per)
        if directions is None:
            continue
        size = {name: directions.size(name) for name in dict.fromkeys(directions.parts) if name not in absent}
        brightest = max(size, key=lambda name: size[name], default=None)
        if brightest is None or not size[brightest] > 0:
            continue
        own = directions.scale**2 * size[brightest]
        if is_hidden(own / noise, _of_noise(one, directions, brightest)):  # as where there is noise alone
            continue
        found_of_model = own / directions.power(brightest).sum()
        for name in dict.fromkeys(one for one in directions.parts if one in absent):
            expected = found_of_model * _apart(directions, one.search.intervals, name, list(size)) / noise
            if directions.power(name).any() and is_hidden(expected, _of_noise(one, directions, name)):
                names.append(name)
    return tuple(names)


def _apart(directions: SolvedDirections, intervals: IntervalSearch, name: str, others: Sequence[str]) -> float:
    """How much of the power of a direction's model others cannot take: the mean over some phases that it may have."""
    rng = np.random.default_rng(0)  # the same data give the same solutions
    sums, turns, scales = directions.sums, [], False
    for other in others:
        seen = directions.seen(other)
        for term in directions.terms_of(other):
            rate = intervals.rate(term, sums) if term.kind.name in MOVING else None
            turns.append((other, seen if rate is None else seen * (rate / np.abs(rate).max())[..., None]))
            scales = scales or has_amplitude([term])
    cells = _cells(directions)
    found, draws = 0.0, math.ceil(_DRAWS / (cells.max() + 1))
    for _ in range(draws):
        phase = rng.uniform(-np.pi, np.pi, (len(sums.antennas), cells.max() + 1))[:, cells]
        vectors = [(name, on_baselines(np.exp(1j * phase), sums)), *turns]
        found += _unlike(vectors, directions, cells, scales=scales)
    return found / draws


def _cells(directions: SolvedDirections) -> NDArray[np.intp]:
    """[time, freq, feed]: bins in which no term of directions changes have the same number."""
    shape = directions.sums.product.shape[1:4]
    labels = [np.zeros(shape, int)]
    for term in directions.terms:
        at_time, at_frequency = directions.cells[term.name]
        labels += [at_time[:, None, None] + labels[0], at_frequency[:, None] + labels[0]]
        if len(term.elements) > 1:
            labels.append(np.arange(2) + labels[0])
    return np.ravel(np.unique(np.stack(labels).reshape(len(labels), -1), axis=1, return_inverse=True)[1]).reshape(shape)


def _unlike(vectors, directions: SolvedDirections, cells: NDArray[np.intp], *, scales: bool) -> float:
    """Of (direction, factors [baseline, time, freq, feed] of its model), what antennas that turn all but the first, and
    that scale them, cannot make of the first."""
    sums, n = directions.sums, len(vectors)
    common = np.zeros((cells.max() + 1, len(sums.baselines), n, n), complex)
    for i, (name, one) in enumerate(vectors):
        for j, (other, two) in enumerate(vectors[: i + 1]):
            product = np.conj(one) * directions.common(name, other) * two
            np.add.at(common[:, :, i, j], cells, np.moveaxis(product, 0, -1))
            common[:, :, j, i] = np.conj(common[:, :, i, j])
    first, second = (np.eye(len(sums.antennas))[own] for own in sums.baselines.T)
    # What antennas do to the logarithm of a baseline: phases, and amplitudes.
    ends = [1j * (first - second)] + ([first + second] if scales else [])
    ends = np.concatenate(ends, axis=1)
    total = 0.0
    for own in common:
        gram = np.einsum("ba,bij,bc->iajc", np.conj(ends), own[:, 1:, 1:], ends, optimize=True).real
        like = np.einsum("ba,bi->ia", np.conj(ends), own[:, 1:, 0]).real.ravel()
        gram = gram.reshape(len(like), -1)
        total += own[:, 0, 0].real.sum() - like @ np.linalg.lstsq(gram, like, rcond=1e-9)[0]
    return max(0.0, float(total))


def _of_noise(one: ChunkSearch, directions: SolvedDirections, name: str) -> float:
    """Variances of noise that a search for a direction's unknowns explains."""
    searched = {term.name for term in directions.terms if term.kind.name in MOVING}
    solved = {own.node for own in one.tree.solved(one.reference)}
    count = [0, 0]
    for term, unknowns in directions.unknowns(name, solved).items():
        count[term in searched] += unknowns
    return explained_of_noise(phases=count[False], turns=count[True])
