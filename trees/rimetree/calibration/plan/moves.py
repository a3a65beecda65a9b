"""What a Solver has found of a chunk, moved to where conventions want it: exactly, as no datum changes by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolutionFlag
from ...forest import Forest
from ..terms.axis_gauge import held_by_axis, turned_to_axis
from ..terms.full_chains import Axes, ExchangePair, moved
from ..terms.term_trees import Parameter
from .solve_trees import SolveTree

#: {name of a Parm: {"value", "sigma", "cross", "flag": [time, freq]}}.
Tables = dict[str, dict[str, NDArray]]


_ROUNDING = 1e-12  # of elements of matrices that are near the unit matrix


class Moves:
    """`values`: {name of a Parm: what it was moved to}, of terms that exchange matrices (`full_chains`) and of matrices
    that are turned around an axis (`axis_gauge`)."""

    def __init__(self, tree: SolveTree):
        self._tree = tree
        self._held: set[str] = set()
        self.values: dict[str, NDArray[np.float64]] = {}

    def exchange(self, pairs: Sequence[ExchangePair], tables: Tables, axes: Mapping[str, Axes], reference: int) -> None:
        """Has terms of matrices that they exchange with others fulfil their convention: in the tables of what was
        solved, which get those of the Parms that are held as well, as these may not be what they were."""
        for pair in pairs:
            concerned = {*pair.names, *(term.name for term in pair.between)}
            own = [one for one in self._tree.parameters if one.term in concerned]
            for one in own:
                if one.node not in tables:
                    shape = tuple(len(axis.centre) for axis in axes[one.term])
                    tables[one.node] = _of_held(self.values.get(one.node, np.full(shape, one.start)))
            values = {one.node: tables[one.node]["value"] for one in own}
            good = {
                node: np.isfinite(value) & ((tables[node]["flag"] & SolutionFlag.NO_DATA) == 0)
                for node, value in values.items()
            }
            found = moved(pair, own, values, good, axes, self._tree.brightest, reference)
            _round(found, own, reference)
            for node, value in found.items():
                tables[node]["value"] = self.values[node] = value

    def turn(self, tables: Tables, reference: int) -> None:
        """Turns matrices that may be turned around an axis; what says how is held from now on."""
        for key, axis in self._tree.axes.items():
            own = [one for one in self._tree.parameters if (one.term, one.direction) == key]
            known = {one.node: tables[one.node]["value"] if one.node in tables else None for one in own}
            shape = next((value.shape for value in known.values() if value is not None), None)
            if shape is None:
                continue
            starts = {one.node: np.full(shape, one.start) for one in own}
            values = {node: starts[node] if value is None else value for node, value in known.items()}
            turned, held = turned_to_axis(own, values, axis, reference), held_by_axis(own, axis, reference)
            _round(turned, own, reference)
            self.values |= turned
            self._held |= held

    def is_held(self, node: str) -> bool:
        """Whether a Parm keeps what it was turned to."""
        return node in self._held

    def into(self, forest: Forest) -> None:
        """The values into the Parms of a forest."""
        for node, value in self.values.items():
            forest.set_state(node, value=np.ascontiguousarray(value[:, :, None, None]))

    def add_held(self, tables: Tables) -> None:
        """Tables of the Parms that were turned and then held."""
        for node in self._held:
            tables.setdefault(node, _of_held(self.values[node]))


def _round(values: dict[str, NDArray[np.float64]], own: Sequence[Parameter], reference: int) -> None:
    """Sets parts of the reference antenna to 0 that are so but for rounding: one that is held is else taken for a part
    of a complex number."""
    for one in own:
        if one.antenna == reference and one.node in values:
            values[one.node][np.abs(values[one.node]) < _ROUNDING] = 0.0


def _of_held(value: NDArray[np.float64]) -> dict[str, NDArray]:
    """The table of a Parm that is not solved for."""
    nothing = np.zeros(value.shape)
    return {"value": value, "sigma": nothing, "cross": nothing.copy(), "flag": np.zeros(value.shape, dtype=np.int32)}
