"""Whether a fit leaves of the data what factors of each baseline and direction, beside its own, would still explain.

They explain noise, too, and in the best fit hardly more. A fit of phases of directions that resemble each other can end
where nearly all of the data are explained by wrong values; chi-square itself does not show that, these factors do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .coherence import Coherence, explained
from .diagonal_gains import diagonals, on_baselines
from .fewer_directions import BestFit
from .gain_signal import Cells, ChunkSearch, finest
from .starting_values import tables_of
from .terms import Term

_DEVIATIONS = 4.0  # standard deviations: good fits have up to 1, wrong ones of a minute 5 and more


def is_left(one: ChunkSearch, found: BestFit) -> bool:
    """Whether there may be a better fit of phases of directions to a chunk. False where nothing tells: of other terms,
    of one direction, of weights that the fit has found itself, and where sums over the data are too large."""
    solved = found.solved
    if one.options.flag_data or one.options.noise_per:
        return False
    terms = [term for term in one.terms if term.per is not None]
    if solved is None or not one.tree.presence or len({term.per for term in terms}) > 1:
        return False
    names = [part.directions[terms[0].per] for part in one.search.parts]
    if len(set(names)) < 2:
        return False
    # What a search has found in noise would have factors explain more of it.
    gone = {parameter.node for parameter in one.tree.parameters if parameter.direction in found.begin.absent}
    known = {name: tables_of(parm)["value"] for name, parm in solved.parms.items() if name not in gone}
    inside = one.search.sums_inside(one.chunk, terms, one.reference, one.options, known)
    if inside is None:
        return False
    sums, _, bins = inside
    cells = {term.name: one.search.cells(term, one.chunk, bins, sums) for term in terms}
    seen = _seen(one, sums, terms, cells, names, known)
    if one.tree.scale is not None:  # one for each of the longest intervals
        every = [one.search.cells(term, one.chunk, bins, sums) for term in one.terms]
        at_time, at_frequency = (min((own[axis] for own in every), key=np.max) for axis in (0, 1))
        seen = seen * known[one.tree.scale.name][at_time][:, at_frequency][..., None, None]
    at_time, at_frequency = (finest([own[axis] for own in cells.values()]) for axis in (0, 1))
    most = at_time.max() + 1, at_frequency.max() + 1
    unknowns = sum(int(np.prod(np.minimum(value.shape, most))) for value in known.values())
    together = all(term.elements == ("",) for term in terms)
    absent = found.begin.absent
    return deviations(sums, seen, names, absent, (at_time, at_frequency), unknowns, together=together) > _DEVIATIONS


def _seen(
    one: ChunkSearch,
    sums: Coherence,
    terms: Sequence[Term],
    cells: Mapping[str, Cells],
    names: Sequence[str | None],
    known: Mapping[str, NDArray[np.float64]],
) -> NDArray[np.complex128]:
    """[baseline, time, freq, feed, part]: what terms of directions make of each part of the model."""
    found = {}
    for name in dict.fromkeys(names):
        gains = np.ones((len(sums.antennas), *sums.product.shape[1:4]), complex)
        for term in terms:
            gains = gains * diagonals(one.tree.parameters, term, name, known, sums, cells[term.name])
        found[name] = on_baselines(gains, sums)
    return np.stack([found[name] for name in names], axis=-1)


def deviations(
    sums: Coherence,
    seen: NDArray[np.complex128],
    names: Sequence[str | None],
    absent: Collection[str],
    intervals: Cells,
    unknowns: int,
    *,
    together: bool,
) -> float:
    """By how many standard deviations factors explain more of the data than they explain of noise.

    `seen` [baseline, time, freq, feed, part]: what the fit makes of each part's model; `names`: the direction of each;
    `absent`: directions that the fit does without; `intervals`: of each bin, in time and in frequency, in which one has
    one factor; `unknowns`: of the fit, that can do what factors do; `together`: whether both feeds have the same.
    """
    fitted = seen * [name not in absent for name in names]
    left = sums.product - (sums.power @ fitted[..., None])[..., 0]
    chi_square = float(sums.data.sum() - (np.conj(fitted) * (sums.product + left)).real.sum())
    every = list(dict.fromkeys(names))
    of = np.array([[name == one for name in names] for one in every], dtype=float)
    power = np.conj(seen)[..., :, None] * sums.power * seen[..., None, :]
    of_factors = [(np.conj(seen) * left) @ of.T, of @ power @ of.T]
    product, power = (_in_intervals(x, intervals, together=together) for x in of_factors)
    more, rank = explained(product, power)
    gain, factors = float(more.sum()), 2 * int(rank.sum())
    freedom, expected = 2 * int(sums.count.sum()) - factors, factors - unknowns
    if not (freedom > 0 and expected > 0 and chi_square > gain):
        return 0.0
    noise = (chi_square - gain) / freedom
    return (gain / noise - expected) / math.sqrt(2 * expected * (1 + expected / freedom))


def _in_intervals(x: NDArray[np.complex128], intervals: Cells, *, together: bool) -> NDArray[np.complex128]:
    """[baseline, time, freq, feed, ...] to sums [interval of a baseline, ...]."""
    at_time, at_frequency = intervals
    total = np.zeros((len(x), at_time.max() + 1, at_frequency.max() + 1, *x.shape[3:]), x.dtype)
    np.add.at(total, (slice(None), at_time[:, None], at_frequency[None, :]), x)
    total = total.sum(axis=3, keepdims=True) if together else total
    return total.reshape(-1, *x.shape[4:])
