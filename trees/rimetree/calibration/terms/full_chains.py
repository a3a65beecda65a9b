"""Matrices that two terms of a chain can exchange: of F X H data tell the product only, and F U, X, X^-1 U^-1 X H fit
as well with any matrix U of an antenna, wherever X, what stands between them, lets it pass.

The convention is that one term of such a pair (`ExchangePair.unit`) has the unit matrix as the mean of its solutions,
for each antenna and each interval in which data tell only the product; of directions it is the brightest whose mean
counts, while all take what the term of the whole sky gives. A leakage can take of U no more than what leaves its
diagonal 1: beside a full matrix inside it that matrix's mean is diagonal, inside a full matrix it is itself 1 (and held
there by `redundant`, if the full matrix has as many solutions). A full matrix can take any turn that all rotations
beside it have in common: these turn by nothing in the mean.

What the Solver finds is moved here, exactly, and it is asked again, with the mean held (state field `normalised` = -1
of the Parms), which tells the errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .grid import Axis
from .kinds import FREQUENCY_QUANTITIES, jones_of
from .term_trees import Parameter
from .terms import Term

#: What an H5parm says of a term that was normalised so.
UNIT_MEAN = (
    "normalised, because data tell only its product with another matrix: for each antenna (of directions: of the "
    "brightest) the mean of its matrices is the unit matrix (of rotations: times a number), or diagonal where the "
    "other one is a leakage"
)
_SINGULAR = 1e4  # condition of a mean that is not used

#: (times, frequencies) of the solutions of a term.
Axes = tuple[Axis, Axis]


@dataclass(frozen=True)
class ExchangePair:
    """Two terms, the outer one first, and what stands `between` them; `unit`: the name of that whose mean is held."""

    outer: Term
    inner: Term
    unit: str
    between: tuple[Term, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        return self.outer.name, self.inner.name

    @property
    def of_directions(self) -> bool:
        """Whether both are terms of directions, which exchange matrices in each of them."""
        return self.outer.per is not None


def exchange_pairs(
    terms: Sequence[Term],
    ranks: Mapping[str, int],
    axes: Mapping[str, Axes],
    on_all_directions: Callable[[Term], bool] = lambda _: True,
) -> list[ExchangePair]:
    """Pairs of a chain, in the order in which they are to be moved.

    `ranks`: the term of the higher rank gives way. `on_all_directions`: whether all directions have a term, and none of
    them is held.
    """
    whole, each = [t for t in terms if t.per is None], [t for t in terms if t.per is not None]
    found: list[tuple[Term, Term, tuple[Term, ...]]] = []
    chain = whole + each
    for place in reversed(range(len(chain))):
        outer = chain[place]
        if outer.kind.name not in ("full", "leakage", "rotation"):
            continue
        between: list[Term] = []
        for inner in chain[place + 1 :]:
            if inner.per is not None and (outer.per not in (None, inner.per) or not on_all_directions(inner)):
                break
            if _exchange(outer, inner, between, axes):
                found.append((outer, inner, tuple(between)))
            if inner.kind.name == "full" or not _lets_pass(inner):
                break
            if inner.kind.name == "leakage" == outer.kind.name:
                break
            if inner.elements != ("",) or not inner.kind.diagonal:  # else any matrix passes as it is
                between.append(inner)
    pairs: list[ExchangePair] = []
    for outer, inner, between in found:
        order = sorted((outer.name, inner.name), key=lambda name: (any(p.unit == name for p in pairs), -ranks[name]))
        # Which of others gives way is not a matter of ranks.
        rotation = next((term.name for term in (outer, inner) if term.kind.name == "rotation"), None)
        leaking = inner.name if "leakage" in (outer.kind.name, inner.kind.name) else None
        pairs.append(ExchangePair(outer, inner, rotation or leaking or order[0], between))
    return pairs


def _lets_pass(term: Term) -> bool:
    """Whether matrices pass a term, changed or not, where it has one solution."""
    scalar = term.kind.diagonal and term.elements == ("",)
    return scalar or (not FREQUENCY_QUANTITIES & set(term.kind.quantities) and term.kind.name != "parallactic")


def _exchange(outer: Term, inner: Term, between: Sequence[Term], axes: Mapping[str, Axes]) -> bool:
    """Whether two terms can exchange any matrix: those between them, and leakages, have one solution where it can be
    another one."""
    kinds = {outer.kind.name, inner.kind.name}
    if kinds == {"rotation", "full"}:
        return not between  # which turns would have to pass
    if "full" not in kinds or not kinds <= {"full", "leakage"}:
        return False
    single = [*between, *(term for term in (outer, inner) if term.kind.name == "leakage")]
    for k in (0, 1):
        for blocks in _connected(axes[outer.name][k], axes[inner.name][k]):
            span = [axes[t.name][k].edges[[min(n), max(n) + 1]] for t, n in zip((outer, inner), blocks, strict=True)]
            low, high = min(s[0] for s in span), max(s[1] for s in span)
            if any(len(_numbers_within(axes[term.name][k], low, high)) != 1 for term in single):
                return False
    return True


def _numbers_within(axis: Axis, low: float, high: float) -> list[int]:
    """Intervals that share anything with a range."""
    least = 1e-9 * (high - low)
    pairs = itertools.pairwise(axis.edges)
    return [k for k, (begin, end) in enumerate(pairs) if min(end, high) - max(begin, low) > least]


@dataclass(eq=False)
class _Matrices:
    """Of one antenna and term, for each direction."""

    term: Term
    axes: Axes
    nodes: dict[str | None, dict[tuple[str, int], str]] = field(default_factory=dict)
    value: dict[str | None, NDArray[np.complex128]] = field(default_factory=dict)  # [time, freq, 2, 2]

    def of(self, direction: str | None) -> NDArray[np.complex128]:
        return self.value[direction if self.term.per is not None else None]

    def write(self, values: dict[str, NDArray[np.float64]]) -> None:
        for direction, nodes in self.nodes.items():
            for (part, element), node in nodes.items():
                if part == "rotation":
                    values[node] = np.ascontiguousarray(_angle(self.value[direction]))
                    continue
                name = self.term.elements[element]
                entry = self.value[direction][..., int(name[0]), int(name[1])]
                values[node] = np.ascontiguousarray(entry.real if part == "re" else entry.imag)


def moved(
    pair: ExchangePair,
    parameters: Sequence[Parameter],
    values: Mapping[str, NDArray[np.float64]],
    good: Mapping[str, NDArray[np.bool_]],
    axes: Mapping[str, Axes],
    brightest: Mapping[str, str],
    reference: int,
) -> dict[str, NDArray[np.float64]]:
    """Values {node: [time, freq]} of the Parms of a pair with the same products, in the convention.

    `values`: of the Parms of the pair and of what stands between; `good`: where there are solutions; `axes`: of all
    terms; `brightest`: {"patch" or "source": the direction that counts}; `reference`: the antenna of which the first
    element is real again afterwards, in the term whose mean is not held.
    """
    others: dict[int, _Matrices] = {}  # of the term whose mean is not held
    result: dict[str, NDArray[np.float64]] = {}
    for antenna in dict.fromkeys(one.antenna for one in parameters if one.term == pair.outer.name):
        outer, inner, *between = (
            _matrices_of(term, antenna, parameters, values, axes) for term in (pair.outer, pair.inner, *pair.between)
        )
        every = list(outer.nodes) if pair.outer.per is not None else [None]
        for of_outer in every:
            directions = [of_outer] if pair.outer.per == pair.inner.per else list(inner.nodes)
            top = of_outer if pair.outer.per == pair.inner.per else brightest[pair.inner.per]
            unit = outer if pair.unit == pair.outer.name else inner
            usable = np.logical_and.reduce(
                [good[node] for node in unit.nodes[top if unit is inner else of_outer].values()]
            )
            _move(pair, outer, inner, between, (of_outer, top, directions), usable)
        others[antenna] = inner if pair.unit == pair.outer.name else outer
        outer.write(result)
        inner.write(result)
    if reference in others and others[reference].term.kind.name == "full":
        _turn_to(others[reference], others.values())
        for one in others.values():
            one.write(result)
    return result


def _turn_to(reference: _Matrices, every: Iterable[_Matrices]) -> None:
    """Turn the matrices of all antennas by a phase in each interval, of which data tell nothing, such that the first
    element of the reference antenna is real."""
    phases = {name: np.exp(-1j * np.angle(value[..., :1, :1])) for name, value in reference.value.items()}
    for one in every:
        for name in one.value.keys() & phases.keys():
            one.value[name] = one.value[name] * phases[name]


def _move(pair, outer: _Matrices, inner: _Matrices, between: Sequence[_Matrices], names, usable) -> None:
    of_outer, top, directions = names
    blocks = [_connected(outer.axes[k], inner.axes[k]) for k in (0, 1)]
    for (t_outer, t_inner), (f_outer, f_inner) in itertools.product(*blocks):
        at_outer, at_inner = np.ix_(t_outer, f_outer), np.ix_(t_inner, f_inner)
        first = inner.axes[0].centre[t_inner[0]], inner.axes[1].centre[f_inner[0]]
        passed = {d: _passed(between, d, first) for d in dict.fromkeys([top, *directions])}
        at = at_outer if pair.unit == pair.outer.name else at_inner
        unit = outer.of(of_outer) if pair.unit == pair.outer.name else inner.of(top)
        some = unit[at][usable[at]]
        turn = _turn(pair, some, passed[top], outer.of(of_outer)[at_outer]) if len(some) else None
        if turn is None:
            continue
        outer.value[of_outer][at_outer] = outer.value[of_outer][at_outer] @ turn
        for d in directions:
            back = np.linalg.inv(passed[d]) @ np.linalg.inv(turn) @ passed[d]
            inner.value[d][at_inner] = back @ inner.value[d][at_inner]


def _turn(pair: ExchangePair, some, passed, outer) -> NDArray[np.complex128] | None:
    """What the outer matrices are multiplied with; None if there is no such matrix."""
    mean = some.mean(axis=0)
    if not np.isfinite(mean).all() or np.linalg.cond(mean) > _SINGULAR:
        return None
    if "rotation" in (pair.outer.kind.name, pair.inner.kind.name):
        angle = _angle(mean)
        mean = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    if pair.unit == pair.outer.name:
        return np.linalg.inv(mean)
    turn = passed @ mean @ np.linalg.inv(passed)
    if pair.outer.kind.name == "leakage":  # whose diagonal stays
        scale = np.diagonal(outer[0, 0] @ turn)
        if not (np.abs(scale) > 1 / _SINGULAR).all():
            return None
        turn = turn / scale
    return turn


def _angle(matrix: NDArray[np.complex128]) -> NDArray[np.float64]:
    """[...] by which matrices [..., 2, 2] turn, that are rotations times numbers."""
    return np.arctan2((matrix[..., 1, 0] - matrix[..., 0, 1]).real, np.trace(matrix, axis1=-2, axis2=-1).real)


def _passed(between: Sequence[_Matrices], direction: str | None, place) -> NDArray[np.complex128]:
    """The product of what stands between, where it has one solution."""
    product = np.eye(2, dtype=complex)
    for one in between:
        t, f = (
            int(np.searchsorted(axis.edges[1:-1], x, side="right")) for axis, x in zip(one.axes, place, strict=True)
        )
        product = product @ one.of(direction)[t, f]
    return product


def _matrices_of(term: Term, antenna: int, parameters, values, axes: Mapping[str, Axes]) -> _Matrices:
    found = _Matrices(term, axes[term.name])
    for one in parameters:
        if (one.term, one.antenna) == (term.name, antenna):
            found.nodes.setdefault(one.direction, {})[one.part, one.element] = one.node
    for direction, nodes in found.nodes.items():
        own = {key: values[node] for key, node in nodes.items()}
        found.value[direction] = _jones(term, own)
    return found


def _jones(term: Term, own: dict[tuple[str, int], NDArray[np.float64]]) -> NDArray[np.complex128]:
    """[time, freq, 2, 2] of values {(part, element): [time, freq]}."""
    shape = next(iter(own.values())).shape
    if any(part == "re" for part, _ in own):
        result = np.zeros((*shape, 2, 2), dtype=complex)
        for k, name in enumerate(term.elements):
            i, j = (int(name[0]), int(name[-1])) if name else (0, 0)
            gain = own["re", k] + 1j * own["im", k] if ("re", k) in own else np.ones(shape)
            result[..., i, j] = gain
            if not name:
                result[..., 1, 1] = gain
        return result
    (quantity,) = term.kind.quantities
    neutral = 1.0 if quantity == "amplitude" else 0.0
    stacked = np.stack([own.get((quantity, k), np.full(shape, neutral)) for k in range(len(term.elements))], axis=-1)
    return jones_of({quantity: stacked}, term.elements, np.ones(1))


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
