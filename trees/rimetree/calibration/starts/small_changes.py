"""What small changes of the gains of directions cannot do in place of a model.

To first order, gains times 1 + a_p + i phi_p of each antenna p change what is seen of a direction on the baseline
(p, q) by (a_p + a_q) + i (phi_p - phi_q) times itself. The best that all directions together make of a model in this
way is its projection on these changes, by least squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .solved_directions import Cells, SolvedDirections

PHASE, AMPLITUDE = 0, 1
_ENDS = ((1j, -1j), (1.0, 1.0))  # what changes of each kind do, at both ends of a baseline
#: Added to squares of changes, over what they are: data do not tell the phase that all antennas have in common.
_RIDGE = 1e-9

#: (direction, factors [baseline, time, freq, feed] of its model): what is seen of it.
Seen = tuple[str, NDArray[np.complex128]]


def numbered(cells: Sequence[Cells], shape: Sequence[int], *, feeds_apart: bool) -> NDArray[np.intp]:
    """[time, freq, feed] of bins: those between which no term changes have the same number. `cells`: of each term;
    `feeds_apart`: whether feeds have values of their own."""
    labels = [np.zeros(shape, int)]
    for at_time, at_frequency in cells:
        labels += [at_time[:, None, None] + labels[0], at_frequency[:, None] + labels[0]]
    if feeds_apart:
        labels.append(np.arange(shape[2]) + labels[0])
    return np.ravel(np.unique(np.stack(labels).reshape(len(labels), -1), axis=1, return_inverse=True)[1]).reshape(shape)


def left_of(
    which: Sequence[int],
    seen: Sequence[Seen],
    directions: SolvedDirections,
    cells: NDArray[np.intp],
    changed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """[which]: of each of these of what is `seen`, the sum of weight |model|^2 that changes of all others cannot make.

    To first order chi-square rises by so much where one that has been fitted is taken away; by less where others change
    much. `cells`: as of `numbered`; `changed` [seen, 2]: whether phases and whether amplitudes of each change; both of
    `which` do.
    """
    total = np.zeros(len(which))
    for common in _common(seen, directions, cells):
        total += _left(which, _products(common, directions.sums.baselines, len(directions.sums.antennas)), changed)
    return np.maximum(total, 0.0)


def _common(
    seen: Sequence[Seen], directions: SolvedDirections, cells: NDArray[np.intp]
) -> Iterator[NDArray[np.complex128]]:
    """Of each cell [baseline, seen, seen]: sums of weight times the conjugate of one and another."""
    n, n_baseline = len(seen), len(directions.sums.baselines)
    common = np.zeros((cells.max() + 1, n_baseline, n, n), complex)
    for i, (name, one) in enumerate(seen):
        for j, (other, two) in enumerate(seen[: i + 1]):
            product = np.conj(one) * directions.common(name, other) * two
            np.add.at(common[:, :, i, j], cells, np.moveaxis(product, 0, -1))
            common[:, :, j, i] = np.conj(common[:, :, i, j])
    yield from common


def _products(common: NDArray[np.complex128], baselines: NDArray[np.intp], n_antenna: int) -> NDArray[np.float64]:
    """[seen, 2, antenna, seen, 2, antenna]: what changes of phases and of amplitudes have in common."""
    n = common.shape[-1]
    found = np.zeros((2, n_antenna, 2, n_antenna, n, n))
    ends = [np.eye(n_antenna)[own] for own in baselines.T]
    for i, of_one in enumerate(_ENDS):
        for j, of_other in enumerate(_ENDS):
            for end, one in enumerate(of_one):
                for other_end, other in enumerate(of_other):
                    product = (np.conj(one) * common * other).real
                    if end == other_end:
                        own = np.tensordot(ends[end], product, axes=(0, 0))
                        found[i, np.arange(n_antenna), j, np.arange(n_antenna)] += own
                    else:  # each pair of antennas is there once
                        found[i, baselines[:, end], j, baselines[:, other_end]] += product
    return found.transpose(4, 0, 1, 5, 2, 3)


def _left(which: Sequence[int], products: NDArray[np.float64], changed: NDArray[np.bool_]) -> list[float]:
    """As of `left_of`, of one cell."""
    n, _, n_antenna = products.shape[:3]
    place = np.flatnonzero(np.repeat(changed.ravel(), n_antenna))
    square = products.reshape(n * 2 * n_antenna, -1)[np.ix_(place, place)]
    scale = np.sqrt(np.diag(square))
    scale = np.where(scale > 0, scale, 1.0)
    # Of a block of the inverse, the inverse is what is left of these changes without all others.
    inverse = np.linalg.inv(square / scale / scale[:, None] + _RIDGE * np.eye(len(scale)))
    model = np.zeros((n, 2, n_antenna))
    model[:, AMPLITUDE] = 0.5  # of all amplitudes: the model itself
    model = model.ravel()[place] * scale
    found = []
    for k in which:
        own = np.flatnonzero(place // (2 * n_antenna) == k)
        left = np.linalg.solve(inverse[np.ix_(own, own)], model[own])
        found.append(float(model[own] @ left))
    return found
