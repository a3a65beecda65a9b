"""Directions as a fit has left them: how much each has of the data, and how much its model could have."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolveReport
from ..data.coherence import Coherence
from ..plan.planning import CalibrationOptions
from ..plan.solve_trees import SolveTree
from ..searches.diagonal_gains import diagonals, on_baselines
from ..terms.grid import Chunk
from ..terms.term_trees import Parameter
from ..terms.terms import Term
from .named_values import tables_of
from .starting_search import StartingSearch

#: The solution interval of each bin, in time and in frequency.
Cells = tuple[NDArray[np.intp], NDArray[np.intp]]
#: {Parm: as of `tables_of`}.
Tables = Mapping[str, Mapping[str, NDArray]]


@dataclass(frozen=True, eq=False)
class ChunkSearch:
    """The search for one chunk. `reference`: number of the antenna that phases refer to."""

    search: StartingSearch
    tree: SolveTree
    terms: Sequence[Term]
    options: CalibrationOptions
    chunk: Chunk
    reference: int


@dataclass(frozen=True, eq=False)
class SolvedDirections:
    """`terms` of directions, of which `cells` are the intervals; `sums` inside terms of the whole sky, and the
    direction that each of their parts belongs to; `tables` of the Parms that were solved for."""

    tree: SolveTree
    terms: list[Term]
    sums: Coherence
    cells: Mapping[str, Cells]
    parts: list[str]
    tables: Tables

    @classmethod
    def of(cls, one: ChunkSearch, solved: SolveReport, per: str) -> SolvedDirections | None:
        """Of terms per "patch" or "source"; None where sums over the data are too large."""
        tables = {name: tables_of(parm) for name, parm in solved.parms.items()}
        terms = [term for term in one.terms if term.per is not None]
        known = {name: table["value"] for name, table in tables.items()}
        sums = one.search.sums_inside(one.chunk, terms, one.reference, one.options, known)
        if sums is None:
            return None
        sums = sums.of_parallel_hands()
        cells = {term.name: one.search.intervals.cells(term, sums) for term in terms}
        own = [term for term in terms if term.per == per]
        return cls(one.tree, own, sums, cells, [part.directions[per] for part in one.search.parts], tables)

    def power(self, name: str) -> NDArray[np.float64]:
        """[baseline, time, freq, feed]: sums of weight |model|^2."""
        return self.common(name, name).real

    def common(self, name: str, other: str) -> NDArray[np.complex128]:
        """[baseline, time, freq, feed]: sums of weight conj(model of a direction) times that of another."""
        own, others = ([k for k, part in enumerate(self.parts) if part == one] for one in (name, other))
        found = np.zeros(self.sums.data.shape, complex)
        for k in own:
            for m in others:
                found += self.sums.power[..., k, m]
        return found

    def size(self, name: str) -> float:
        """How much a direction has of the data."""
        return float((np.abs(self.seen(name)) ** 2 * self.power(name)).sum())

    def seen(self, name: str) -> NDArray[np.complex128]:
        """[baseline, time, freq, feed]: by which the model of a direction is multiplied."""
        known = {node: table["value"] for node, table in self.tables.items()}
        gains = np.ones((len(self.sums.antennas), *self.sums.product.shape[1:4]), complex)
        for term in self.terms_of(name):
            gains = gains * diagonals(self.tree.parameters, term, name, known, self.sums, self.cells[term.name])
        return on_baselines(gains, self.sums)

    def left(self, absent: Collection[str]) -> NDArray[np.float64]:
        """[time, freq]: chi-square of each bin that is left of parallel hands, if some directions are not there."""
        sums = self.as_found(absent)
        fit, square = sums.product.sum(axis=-1).real, sums.power.sum(axis=(-2, -1)).real
        return (sums.data - 2 * fit + square).sum(axis=(0, 3))

    def as_found(self, absent: Collection[str]) -> Coherence:
        """The sums with the model as it has been found, if some directions are not there."""
        factors = {name: 0.0 if name in absent else self.scale * self.seen(name) for name in dict.fromkeys(self.parts)}
        seen = np.stack([factors[name] + np.zeros(self.sums.data.shape, complex) for name in self.parts], axis=-1)
        power = np.conj(seen)[..., None] * self.sums.power * seen[..., None, :]
        return replace(self.sums, product=np.conj(seen) * self.sums.product, power=power)

    def of_some(self, most: int) -> SolvedDirections:
        """What so many baselines at most say, or one if there are none so few."""
        each = slice(None, None, -(-len(self.sums.baselines) // max(1, most)))
        arrays = {name: getattr(self.sums, name)[each] for name in ("baselines", "product", "power", "data", "count")}
        return replace(self, sums=replace(self.sums, **arrays))

    @property
    def scale(self) -> float:
        """Data over model, where no term has it."""
        table = None if self.tree.scale is None else self.tables.get(self.tree.scale.name)
        return 1.0 if table is None else float(abs(table["value"]).mean())

    def terms_of(self, name: str) -> list[Term]:
        return [term for term in self.terms if name in self.tree.directions[term.name]]

    def parameters(self, name: str) -> list[Parameter]:
        """Of a direction, each once."""
        own = {term.name for term in self.terms}
        found = [one for one in self.tree.parameters if one.direction == name and one.term in own]
        return list({one.node: one for one in found}.values())

    def unknowns(self, name: str, among: Container[str] | None = None) -> dict[str, int]:
        """{term: how many values of a direction are solved for}; `among`: of these nodes of parameters (None: all)."""
        own = [one for one in self.parameters(name) if among is None or one.node in among]
        nodes = {term: [one.node for one in own if one.term == term] for term in {one.term for one in own}}
        return {term: self.cells_of(term) * len(self.tree.planes.parms(of)) for term, of in nodes.items()}

    def cells_of(self, term: str) -> int:
        """How many solution intervals a term has."""
        return int(np.prod([at.max(initial=-1) + 1 for at in self.cells[term]]))
