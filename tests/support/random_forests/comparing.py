"""A case evaluated by RimeTree and by the second opinion, and what differs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace

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
    "worn": {"device": "none", "threads": 2, "memory_bytes": 1},
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
        forest = worn(case) if place == "worn" else rt.Forest(case.tree.scope(), **PLACES[place])
        found = forest.results(case.tree.roots, case.cells, **case.options())
    except rt.Error as error:
        return Outcome(error=str(error))
    return Outcome(dict(zip(case.tree.roots, found, strict=True)))


def worn(case: Case) -> rt.Forest:
    """A forest that has been evaluated with other values, and with these: what it keeps must not be taken for new."""
    numbers = [n for n in case.tree.nodes if n.class_name in ("Constant", "Parm") and not n.inline]
    others = {n.name: replace(n, state={**n.state, "value": 0.5 * n.state["value"]}) for n in numbers[::2]}
    tree = replace(case.tree, nodes=[others.get(node.name, node) for node in case.tree.nodes])
    try:
        forest = rt.Forest(tree.scope(), **PLACES["worn"])
    except rt.ForestError:  # half of a direction is none
        forest, others = rt.Forest(case.tree.scope(), **PLACES["worn"]), {}
    with contextlib.suppress(rt.Error):  # other values may have to be refused
        forest.results(case.tree.roots, case.cells, **case.options())
    for name in others:
        forest.set_state(name, value=case.tree.named(name).state["value"])
    with contextlib.suppress(rt.Error):
        forest.results(case.tree.roots[:1], case.cells, derivatives=True)
    return forest


#: Classes of which the documentation says what their values look like, but not which they are.
BELIEVED = ("GaussNoise", "DeviceMemory")


def placeholder(node, cells: rt.Cells) -> np.ndarray:
    """A value that such a node might have."""
    if node.class_name == "DeviceMemory":
        return np.ones((8, 1, 1, 1, 1))
    extents = [1 if axis is None else len(axis[0]) for axis in cells.to_runtime()[:2]]
    state = node.full_state()
    shape = (*np.asarray(state["dims"], int), *extents, 1, 1)
    x = state["mean"] + state["stddev"] * np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)
    return x + 0j if state["complex"] else x


def observed(case: Case) -> dict:
    """Values of nodes that are held to their properties only, each of them alone."""
    outside = {"tree": case.tree}
    odd = [node for node in case.tree.nodes if node.class_name in BELIEVED]
    if odd:
        try:
            forest = rt.Forest(case.tree.scope(), **PLACES["host"])
            found = forest.results([node.name for node in odd], case.cells)
        except rt.Error:  # a case that has to be refused
            return outside | {node.name: placeholder(node, case.cells) for node in odd}
        for node, result in zip(odd, found, strict=True):
            outside[node.name] = in_full(result.value, case.cells.rank)
    return outside


def in_full(array: np.ndarray, rank: int) -> np.ndarray:
    """With axes l and m, also where the cells do not have them."""
    return np.asarray(array).reshape(array.shape + (1,) * (4 - rank))


def differences(case: Case, places=tuple(PLACES), count: Count | None = None) -> tuple[str, str] | None:
    """(place, what differs there), or None where all agree."""
    count = count or Count()
    outcomes = {place: evaluated(case, place) for place in places}
    try:
        expected = second_opinion.interpret(case.tree, case.cells, outside=observed(case), precision=case.error)
    except RefusedError as refused:
        count.refused += 1
        for place, outcome in outcomes.items():
            if not outcome.error:
                return place, f"should be refused: {refused}"
        return None
    for place, outcome in outcomes.items():
        if outcome.error:
            return place, f"refused: {outcome.error}"
        for root in case.tree.roots:
            said = difference(outcome.results[root], expected[root], case.cells.rank, count)
            if said:
                return place, f"node {root!r}: {said}"
    # Devices have functions of their own, and so other bits: they are held to the second opinion only.
    for place in {"threads"} & outcomes.keys() if "host" in outcomes else ():
        for root in case.tree.roots:
            one, other = (outcomes[name].results[root].value for name in ("host", place))
            if one is not None and not np.array_equal(one, other, equal_nan=True):
                return place, f"node {root!r}: other bits than on one thread of the host"
    return None


def difference(result: rt.Result, expected: Value, rank: int, count: Count) -> str:
    """What is wrong with a result, or nothing."""
    if expected.missing or result.value is None:
        return "" if expected.missing and result.value is None else f"missing: {result.value is None}"
    value = in_full(result.value, rank)
    if value.shape[:-4] != expected.dims:
        return f"dimensions {value.shape[:-4]}, expected {expected.dims}"
    if not varies_as(value.shape[-4:], expected):
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


def varies_as(extents: tuple[int, ...], expected: Value) -> bool:
    """Whether a result has the axes that it should; it may be shorter where the values are the same all along."""
    if not fits(extents, expected.extents):
        return False
    x = expected.x[0]
    shorter = [axis for axis in range(-4, 0) if extents[axis] != expected.extents[axis]]
    return all(
        np.array_equal(x, np.broadcast_to(np.take(x, [0], axis=axis), x.shape), equal_nan=True) for axis in shorter
    )


def fits(shape, extents) -> bool:
    return all(n in (1, m) for n, m in zip(shape, extents, strict=True))


def value_difference(value: np.ndarray, expected: Value, sure: np.ndarray, count: Count) -> str:
    axes = tuple(i for i in range(-4, 0) if expected.extents[i] == 1)
    middle = expected.x[0]
    value = np.broadcast_to(value, middle.shape)
    sure = np.broadcast_to(np.any(sure, axis=axes, keepdims=True), middle.shape)  # of what flags lengthen any cell does
    with np.errstate(all="ignore"):
        spread = np.max(np.abs(expected.x[1:] - middle), axis=0)
        off = np.abs(value - middle)
        lost = ~(spread <= 0.1 * np.abs(middle)) & ~np.isfinite(value)  # rounding decides whether it is finite at all
        wrong = sure & ~lost & ~(off <= MARGIN * (spread + np.finfo(float).eps * np.abs(middle)) + np.finfo(float).tiny)
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
