"""Terms that can do nothing that a full matrix of the same chain cannot: they are held at the unit matrix.

A full matrix F takes any other matrix X that stands beside it, F X or X F, if it has a solution of its own wherever X
has one; leakages only where they stand inside of it. Scalars between them do no harm. Diagonal matrices and phases
whose intervals are longer than those of F stay, as the convention for products of factors (`conventions`) says what
they are then; rotations have no such convention.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from ...evaluation.solving import SolutionFlag
from .grid import Axis
from .kinds import FREQUENCY_QUANTITIES, TIME_QUANTITIES
from .term_trees import Parameter
from .terms import Interval, Term

#: What an H5parm says of such a term.
HELD = "held at the unit matrix, because {} can do all that it does"
_NEVER = ("full", "parallactic")  # the first has a convention for matrices, the last no solutions
_WITHOUT_CONVENTION = ("rotation", "faraday", "crosshand", "leakage")


def redundant_terms(
    terms: Sequence[Term],
    axes: Iterable[Mapping[str, tuple[Axis, Axis]]],
    on_all_directions: Callable[[Term, Sequence[Term]], bool],
) -> dict[str, str]:
    """{name of a term: name of the full matrix that can do all that it does}.

    `axes`: {term name: intervals in time, in frequency} of each chunk. `on_all_directions(term, terms)`: whether all
    directions have a term, and none of them is held.
    """
    axes, found = list(axes), {}
    chain = [t for t in terms if t.per is None] + [t for t in terms if t.per is not None]
    while True:
        pairs = itertools.product(chain, (term for term in chain if term.kind.name == "full"))
        pair = next(((x, f) for x, f in pairs if _takes(f, x, chain, axes, on_all_directions)), None)
        if pair is None:
            return found
        found[pair[0].name] = pair[1].name
        chain.remove(pair[0])


def _takes(full: Term, other: Term, chain: list[Term], axes, on_all_directions) -> bool:
    """Whether a full matrix of a chain can do what another term of it does."""
    if other.kind.name in _NEVER or (full.common and full.common != other.common):
        return False
    if other.per is None and full.per is not None:
        there = on_all_directions(full, chain)
    else:
        there = other.per == full.per and (not full.only or full.only == other.only)
    if not there or (other.all_windows, full.all_windows) == (False, True):
        return False
    low, high = sorted((chain.index(full), chain.index(other)))
    if other.kind.name == "leakage" and chain.index(other) == low:  # outside there is a convention
        return False
    if any(not one.kind.diagonal or one.elements != ("",) for one in chain[low + 1 : high]):
        return False
    if FREQUENCY_QUANTITIES & set(other.kind.quantities) and full.frequency != Interval(count=1):
        return False
    if TIME_QUANTITIES & set(other.kind.quantities) and full.time != Interval(count=1):
        return False
    as_long = other.kind.name not in _WITHOUT_CONVENTION
    return all(_cut(of[full.name][k], of[other.name][k], as_long) for of in axes for k in (0, 1))


def _cut(fine: Axis, coarse: Axis, same: bool) -> bool:
    """Whether intervals end wherever others do, and, if they should be the `same`, nowhere else."""
    if same and len(fine.edges) != len(coarse.edges):
        return False
    near = np.abs(coarse.edges[:, None] - fine.edges).min(axis=1)
    return bool((near <= 1e-6 * np.diff(fine.edges).min()).all())


def flag_redundant(
    redundant: Mapping[str, str],
    parameters: Sequence[Parameter],
    arrays: dict,
    usable: int = int(SolutionFlag.AT_BOUND),
) -> None:
    """Flags of terms that are held, in the arrays of a chunk: those of antennas without any solution of the full matrix
    (for a direction that a term is of) are without data, others are good."""
    for name, full in redundant.items():
        good = (arrays[f"{full}:flag"] & ~usable) == 0
        takes = [one for one in parameters if one.term == full]
        for k, one in enumerate(own for own in parameters if own.term == name):
            of = [p.antenna == one.antenna and one.direction in (None, p.direction) for p in takes]
            arrays[f"{name}:flag"][k] = 0 if good[of].any() else SolutionFlag.NO_DATA


def redundant_text(redundant: Mapping[str, str], terms: Collection[Term]) -> str:
    """Which terms are held, and why."""
    text = {term.name: str(term) for term in terms}
    held = "; ".join(
        f'"{text[name]}", because "{text[full]}" can do all that it does' for name, full in redundant.items()
    )
    return f"held at the unit matrix: {held}"
