"""Sums over the data of a chunk, in bins as terms want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...ms import OpenSet, Tiles
from ..data.coherence import Coherence, CoherenceReader, Factors
from ..data.coherence_bins import CoherenceBins
from ..data.hands import Hands
from ..model.held import Held
from ..model.model_trees import SkyPart
from ..plan.planning import CalibrationOptions, GroupPlan
from ..plan.solve_trees import SolveTree
from ..terms.grid import Chunk
from ..terms.kinds import FREQUENCY_QUANTITIES, TIME_QUANTITIES
from ..terms.terms import Term
from .diagonal_gains import diagonals, on_hands
from .interval_search import IntervalSearch
from .smoothing import smooth_sums

_MOST_BYTES = 256 << 20  # of sums over the data
_LEAST_TIMES = 8  # of an interval of a rate


class SearchSums:
    """Makes the sums of one field and its window or windows. `parts`: of the model, those that terms of directions tell
    apart; `factors`: of weights, as of `CoherenceReader`."""

    def __init__(
        self,
        plan: GroupPlan,
        parts: Sequence[SkyPart],
        tree: SolveTree,
        opened: OpenSet,
        held: Held,
        factors: Factors | None = None,
    ):
        self._plan, self._tree, self._opened, self._held, self._factors = plan, tree, opened, held, factors
        self.parts = list(parts)
        self._readers: dict[tuple[int | None, bool, Hands], CoherenceReader] = {}
        #: Data of the next chunk, with model columns, that are in memory; None: they are to be read.
        self.tiles: Tiles | None = None

    def release(self) -> None:
        """Lets go of the data and models that were looked at."""
        self._readers.clear()
        self.tiles = None

    def read(
        self,
        chunk: Chunk,
        terms: Sequence[Term],
        apart: bool,
        reference: int,
        options: CalibrationOptions,
        *,
        hands: Hands = Hands.PARALLEL,
    ) -> Coherence | None:
        """What data and model have in common, for the terms; None where that is too much. `apart`: each part of the
        model by itself; `hands`: as of `CoherenceReader`."""
        bins = self.bins(chunk, terms)
        channels = self._plan.n_channel if bins.frequency_edges_hz is None else len(bins.frequency_edges_hz) - 1
        n_part = (len(self.parts) if apart else 1) * hands.models
        of_time = 16 * len(hands.feeds) * len(self._plan.group.baselines) * channels * n_part * (1 + n_part)
        n_bytes = of_time * (len(bins.time_edges_s) - 1)
        if n_bytes > _MOST_BYTES and _has_rates(terms):  # these go on evenly over several slots
            bins = self.bins(chunk, terms, slots=min(-(-n_bytes // _MOST_BYTES), _most_slots(chunk, terms)))
            n_bytes = of_time * (len(bins.time_edges_s) - 1)
        if n_bytes > _MOST_BYTES and (apart or hands is Hands.INTENSITY):
            return None
        few = reference if n_bytes > _MOST_BYTES else None
        sums = self._reader(few, apart, hands, options).read(bins, self.tiles)
        if self._tree.smooth_hz > 0 and bins.frequency_edges_hz is not None:  # as the fit itself
            sums = smooth_sums(sums, self._tree.smooth_hz)
        return sums

    def _reader(self, reference: int | None, apart: bool, hands: Hands, options: CalibrationOptions) -> CoherenceReader:
        key = (reference, apart, hands)
        if key not in self._readers:
            group = self._plan.group
            centre = options.phase_centre_rad or group.phase_centre_rad
            self._readers[key] = CoherenceReader(
                group,
                self.parts,
                centre,
                options.data,
                reference=reference,
                apart=apart,
                hands=hands,
                opened=self._opened,
                held=self._held,
                factors=self._factors,
            )
        return self._readers[key]

    def bins(self, chunk: Chunk, terms: Sequence[Term], slots: int = 1) -> CoherenceBins:
        """As terms want them; for rates of so many time slots at most."""
        times = [chunk.times[term.name].edges for term in terms] or [next(iter(chunk.times.values())).edges[[0, -1]]]
        margin = self._plan.margin_s
        edges = np.unique(np.concatenate(times))
        if _has_rates(terms):
            at = np.searchsorted(edges[1:-1], chunk.slot_s, side="right")
            begin = np.flatnonzero((np.diff(at, prepend=-1) != 0) | (np.arange(len(at)) % slots == 0))[1:]
            edges = np.concatenate([edges[:1], 0.5 * (chunk.slot_s[begin - 1] + chunk.slot_s[begin]), edges[-1:]])
        edges = np.concatenate(
            [[min(edges[0], chunk.slot_s[0] - margin)], edges[1:-1], [max(edges[-1], chunk.slot_s[-1] + margin)]]
        )
        if any(FREQUENCY_QUANTITIES & set(term.kind.quantities) for term in terms):
            return CoherenceBins(chunk, edges, None)
        axes = [self._plan.frequencies[term.name].edges for term in terms] or [
            next(iter(self._plan.frequencies.values())).edges[[0, -1]]
        ]
        return CoherenceBins(chunk, edges, np.unique(np.concatenate(axes)))


def _has_rates(terms: Sequence[Term]) -> bool:
    return any(TIME_QUANTITIES & set(term.kind.quantities) for term in terms)


def _most_slots(chunk: Chunk, terms: Sequence[Term]) -> int:
    """That are looked at together, so that the shortest interval of a rate has some times."""
    rates = [term for term in terms if _has_rates([term])]
    return max(1, len(chunk.slot_s) // max(len(chunk.times[term.name].centre) for term in rates) // _LEAST_TIMES)


def inside(
    sums: Coherence,
    tree: SolveTree,
    terms: Sequence[Term],
    intervals: IntervalSearch,
    known: Mapping[str, NDArray[np.float64]],
) -> Coherence:
    """Sums without what terms of the whole sky do; `known`: values [time, freq] of their Parms."""
    gains = np.ones((len(sums.antennas), *sums.product.shape[1:3], 2), complex)
    for term in terms:
        cells = intervals.cells(term, sums)
        gains = gains * diagonals(tree.parameters, term, None, known, sums, cells)
    around = on_hands(gains, sums)[..., None]
    # As data divided by what stands around, with the weights that they then have.
    power = sums.power * np.abs(around[..., None]) ** 2
    return replace(sums, product=sums.product * np.conj(around), power=power)
