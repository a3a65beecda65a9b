"""A case evaluated by RimeTree and by the second opinion, and what differs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import second_opinion
from second_opinion import RefusedError, Value

import rimetree as rt

from .tree import Tree, cells_text

#: How much further than the moved members of its ensemble a value may lie from the second opinion's. Members move by
#: what each node may round by, with random signs; roundings that add up with one sign through a dozen nodes, four
#: members that lie close together by chance, and complex operations that round a few times take the rest.
MARGIN = 8
PRECISIONS = {"double": 1e-12, "single": 1e-6}
PLACES = {
    "host": {"device": "none", "threads": 1},
    "threads": {"device": "none", "threads": 3},
    "simulated": {"device": "simulated", "threads": 2},
}


@dataclass(frozen=True)
class Case:
    """A tree, the cells it is asked for on, and how exactly."""

    tree: Tree
    cells: rt.Cells
    precision: str = "double"
    tolerance: float | None = None

    @property
    def error(self) -> float:
        return PRECISIONS[self.precision] if self.tolerance is None else self.tolerance

    def options(self) -> dict:
        return {"precision": self.precision, "tolerance": self.tolerance}

    def script(self, place: str) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in PLACES[place].items())
        ending = "\n".join(
            [
                f"forest = rt.Forest(ns, {settings})",
                f"for result in forest.results({self.tree.roots!r}, cells, precision={self.precision!r}, "
                f"tolerance={self.tolerance!r}):",
                "    print(result.value, result.flags)",
            ]
        )
        return self.tree.script(cells_text(self.cells), ending)


@dataclass
class Outcome:
    """What came out in one place: results by root, or the text of an error."""

    results: dict[str, rt.Result] = field(default_factory=dict)
    error: str = ""


@dataclass
class Count:
    """What was compared: numbers held to a tolerance, and numbers about which nothing can be said."""

    compared: int = 0
    doubtful: int = 0
    refused: int = 0


def evaluated(case: Case, place: str) -> Outcome:
    try:
        forest = rt.Forest(case.tree.scope(), **PLACES[place])
        found = forest.results(case.tree.roots, case.cells, **case.options())
    except rt.Error as error:
        return Outcome(error=str(error))
    return Outcome(dict(zip(case.tree.roots, found, strict=True)))


def observed(case: Case) -> dict:
    """Values of nodes that are held to their properties only, each of them alone."""
    outside = {"tree": case.tree}
    odd = [node.name for node in case.tree.nodes if node.class_name in ("GaussNoise", "DeviceMemory")]
    if odd:
        forest = rt.Forest(case.tree.scope(), **PLACES["host"])
        for name, result in zip(odd, forest.results(odd, case.cells), strict=True):
            outside[name] = in_full(result.value, case.cells.rank)
    return outside


def in_full(array: np.ndarray, rank: int) -> np.ndarray:
    """With axes l and m, also where the cells do not have them."""
    return np.asarray(array).reshape(array.shape + (1,) * (4 - rank))


def differences(case: Case, places=tuple(PLACES), count: Count | None = None) -> tuple[str, str] | None:
    """(place, what differs there), or None where all agree."""
    count = count or Count()
    outcomes = {place: evaluated(case, place) for place in places}
    first = outcomes[places[0]]
    try:
        outside = {"tree": case.tree} if first.error else observed(case)
        expected = second_opinion.interpret(case.tree, case.cells, outside=outside, precision=case.error)
    except RefusedError as refused:
        count.refused += 1
        for place, outcome in outcomes.items():
            if not outcome.error:
                return place, f"should be refused: {refused}"
        return None
    except KeyError:  # what is believed as it comes did not come
        return places[0], f"refused: {first.error}"
    for place, outcome in outcomes.items():
        if outcome.error:
            return place, f"refused: {outcome.error}"
        for root in case.tree.roots:
            said = difference(outcome.results[root], expected[root], case.cells.rank, count)
            if said:
                return place, f"node {root!r}: {said}"
    if "threads" in outcomes and "host" in outcomes:
        for root in case.tree.roots:
            one, many = (outcomes[place].results[root] for place in ("host", "threads"))
            if one.value is not None and not np.array_equal(one.value, many.value, equal_nan=True):
                return "threads", f"node {root!r}: other bits than with one thread"
    return None


def difference(result: rt.Result, expected: Value, rank: int, count: Count) -> str:
    """What is wrong with a result, or nothing."""
    if expected.missing or result.value is None:
        return "" if expected.missing and result.value is None else f"missing: {result.value is None}"
    value = in_full(result.value, rank)
    if value.shape[:-4] != expected.dims:
        return f"dimensions {value.shape[:-4]}, expected {expected.dims}"
    if value.shape[-4:] != expected.extents:
        return f"varies on {value.shape[-4:]} cells, expected {expected.extents}"
    if np.iscomplexobj(value) != expected.is_complex:
        return f"complex: {np.iscomplexobj(value)}"
    extents = np.broadcast_shapes(expected.extents, expected.flags.shape[-4:])
    wanted = np.broadcast_to(expected.flags, (*expected.dims, *extents))
    doubt = np.broadcast_to(expected.doubt, wanted.shape)
    flags = np.zeros(wanted.shape, int)
    if result.flags is not None:
        found = in_full(result.flags, rank)
        if found.ndim != value.ndim or not fits(found.shape, wanted.shape):
            return f"flags of shape {found.shape}, expected {wanted.shape}"
        flags = flags | found
    if np.any((flags != wanted) & ~doubt):
        return f"flags {flags.tolist()}, expected {wanted.tolist()}"
    return value_difference(value, expected, (wanted == 0) & ~doubt, count)


def fits(shape, extents) -> bool:
    return all(n in (1, m) for n, m in zip(shape, extents, strict=True))


def value_difference(value: np.ndarray, expected: Value, sure: np.ndarray, count: Count) -> str:
    axes = tuple(i for i in range(-4, 0) if expected.extents[i] == 1)
    sure = np.broadcast_to(np.any(sure, axis=axes, keepdims=True), value.shape)  # of what flags lengthen any cell does
    middle = expected.x[0]
    with np.errstate(all="ignore"):
        spread = np.max(np.abs(expected.x[1:] - middle), axis=0)
        off = np.abs(value - middle)
        lost = ~(spread <= 0.1 * np.abs(middle)) & ~np.isfinite(value)  # rounding decides whether it is finite at all
        wrong = sure & ~lost & ~(off <= MARGIN * spread + np.finfo(float).tiny)
    # Numbers that rounding moves by a hundredth of what stands beside them say nothing.
    beside = np.max(np.abs(middle), axis=tuple(range(middle.ndim - 4)), keepdims=True, initial=0.0)
    clear = sure & (spread <= 0.01 * beside + np.finfo(float).tiny)
    count.compared += int(np.sum(clear))
    count.doubtful += int(np.sum(~clear))
    if not np.any(wrong):
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    said = f"{value[where]!r} at {list(where)}, expected {middle[where]!r} +- {MARGIN * spread[where]:.2g}"
    return f"{said} ({int(wrong.sum())} of {wrong.size})"
