"""The values of one diagonal term of a chain, as unknowns of phases of antennas in the bins of sums over the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.kinds import phase_per_unit
from ..terms.terms import Term
from .interval_search import SEARCHED, IntervalSearch


@dataclass(frozen=True, eq=False)
class ChainUnknowns:
    """Of a term: `cells` [time, freq, feed]: which of them each bin has; `rate` [freq]; `place` [element of the
    diagonal]."""

    term: Term
    cells: NDArray[np.intp]
    rate: NDArray[np.float64]
    shape: tuple[int, int, int]
    place: tuple[int, ...]

    @classmethod
    def of(cls, term: Term, intervals: IntervalSearch, sums: Coherence) -> ChainUnknowns:
        at_time, at_frequency = intervals.cells(term, sums)
        place = tuple(k for k, name in enumerate(term.elements) if name not in ("01", "10"))
        shape = (len(place), *intervals.intervals_of(term, sums.bins.chunk))
        feed = np.arange(2) if len(place) == 2 else np.zeros(2, np.intp)
        cells = (feed * shape[1] + at_time[:, None, None]) * shape[2] + at_frequency[:, None]
        searched = term.kind.name in SEARCHED
        rate = (
            phase_per_unit(term.kind.quantities[0], sums.frequency_hz) if searched else np.ones(len(sums.frequency_hz))
        )
        return cls(term, cells, rate, shape, place)

    @property
    def searched(self) -> bool:
        """Whether phases change along frequency within an interval."""
        return self.term.kind.name in SEARCHED

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def phases(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[antenna, time, freq, feed] of values [antenna, unknown]."""
        return values[:, self.cells] * self.rate[:, None]

    def sums(self, values: NDArray) -> NDArray:
        """[antenna, unknown] of values [antenna, time, freq, feed]."""
        total = np.zeros((len(values), self.size), values.dtype)
        np.add.at(total, (slice(None), self.cells.ravel()), values.reshape(len(values), -1))
        return total

    def values(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """[element, time, freq, antenna] of values [antenna, unknown]."""
        result = np.zeros((len(self.term.elements), *self.shape[1:], len(own)))
        result[list(self.place)] = np.moveaxis(own.reshape(len(own), *self.shape), 0, -1)
        return result

    def origins(self, strength: NDArray[np.float64]) -> NDArray[np.intp]:
        """[time, freq, feed]: the bin of its interval that each is relative to: where time, channel and feed are the
        strongest. `strength` [time, freq, feed]."""
        axes = []
        for axis in range(3):
            rest = tuple(k for k in range(3) if k != axis)
            other = tuple(0 if k != axis else slice(None) for k in range(3))
            of_place, weight = self.cells[other], strength.sum(axis=rest)
            order = np.argsort(-weight, kind="stable")
            strongest = {int(cell): int(k) for k, cell in reversed([(k, of_place[k]) for k in order])}
            axes.append(np.array([strongest[int(cell)] for cell in of_place]))
        return np.ravel_multi_index(np.ix_(*axes), self.cells.shape)
