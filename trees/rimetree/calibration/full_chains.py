"""Two terms of full matrices that are multiplied: data tell F H only, and F U, U^-1 H fit as well with any matrix U for
each antenna. The convention is that one of them, of which `conventions.ranks` says which, has the unit matrix as the
mean of its solutions, for each antenna and each interval in which data tell only the product.

What the Solver finds is moved here, exactly, and it is asked again, with the mean held (state field `normalised` = -1
of the Parms), which tells the errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .grid import Axis
from .term_trees import Parameter
from .terms import Term

#: What an H5parm says of a term that was normalised so.
UNIT_MEAN = (
    "normalised, because data tell only its product with another full matrix: for each antenna the mean of its "
    "matrices is the unit matrix"
)
_SINGULAR = 1e4  # condition of a mean that is not used


@dataclass(frozen=True)
class FullPair:
    """Names of two terms that stand next to each other, the outer one first; `unit` is that whose mean is 1."""

    outer: str
    inner: str
    unit: str


def full_pairs(terms: Sequence[Term], ranks: dict[str, int]) -> list[FullPair]:
    """Those of the whole sky, and those of directions."""
    found = []
    for per in dict.fromkeys(term.per for term in terms):
        own = [term for term in terms if term.per == per]
        for one, other in itertools.pairwise(own):
            if one.kind.name == other.kind.name == "full":
                unit = max((one.name, other.name), key=lambda name: ranks[name])
                found.append(FullPair(one.name, other.name, unit))
    return found


def moved(
    pair: FullPair,
    parameters: Sequence[Parameter],
    values: dict[str, NDArray[np.float64]],
    good: dict[str, NDArray[np.bool_]],
    axes: dict[str, tuple[Axis, Axis]],
) -> dict[str, NDArray[np.float64]]:
    """Values {node: [time, freq]} of the Parms of a pair with the same products, and a mean that is the unit matrix.

    `good`: where there are solutions; `axes`: (times, frequencies) of the solutions of each term.
    """
    blocks = [_connected(axes[pair.outer][k], axes[pair.inner][k]) for k in (0, 1)]
    result = dict(values)
    for key in dict.fromkeys((one.antenna, one.direction) for one in parameters if one.term == pair.unit):
        own = {
            name: {(p.part, p.element): p.node for p in parameters if (p.term, p.antenna, p.direction) == (name, *key)}
            for name in (pair.outer, pair.inner)
        }
        matrices = {name: _matrices(nodes, values) for name, nodes in own.items()}
        usable = np.logical_and.reduce([good[node] for node in own[pair.unit].values()])
        for (t_outer, t_inner), (f_outer, f_inner) in itertools.product(*blocks):
            at = {pair.outer: np.ix_(t_outer, f_outer), pair.inner: np.ix_(t_inner, f_inner)}
            some = matrices[pair.unit][at[pair.unit]][usable[at[pair.unit]]]
            mean = some.mean(axis=0) if len(some) else np.eye(2)
            if not np.isfinite(mean).all() or np.linalg.cond(mean) > _SINGULAR:
                continue
            outer, inner = (matrices[name][at[name]] for name in (pair.outer, pair.inner))
            inverse = np.linalg.inv(mean)
            if pair.unit == pair.outer:
                outer, inner = outer @ inverse, mean @ inner
            else:
                outer, inner = outer @ mean, inverse @ inner
            matrices[pair.outer][at[pair.outer]], matrices[pair.inner][at[pair.inner]] = outer, inner
        for name, nodes in own.items():
            for (part, element), node in nodes.items():
                entry = matrices[name][..., element // 2, element % 2]
                result[node] = np.ascontiguousarray(entry.real if part == "re" else entry.imag)
    return result


def _matrices(nodes: dict[tuple[str, int], str], values: dict[str, NDArray]) -> NDArray[np.complex128]:
    """[time, freq, 2, 2]"""
    entries = [values[nodes["re", e]] + 1j * values[nodes["im", e]] for e in range(4)]
    return np.stack(entries, axis=-1).reshape(*entries[0].shape, 2, 2)


def _connected(one: Axis, other: Axis) -> list[tuple[list[int], list[int]]]:
    """Intervals of two axes that are connected by what they share: (numbers of the one, of the other)."""
    blocks: list[tuple[list[int], list[int]]] = []
    end = -np.inf
    order = sorted(
        [(low, high, 0, k) for k, (low, high) in enumerate(itertools.pairwise(one.edges))]
        + [(low, high, 1, k) for k, (low, high) in enumerate(itertools.pairwise(other.edges))]
    )
    for low, high, which, k in order:
        if low >= end - 1e-9 * (high - low):
            blocks.append(([], []))
        blocks[-1][which].append(k)
        end = max(end, high)
    return blocks
