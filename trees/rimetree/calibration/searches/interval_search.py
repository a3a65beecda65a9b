"""Searches for the values of one term, or of a delay and a TEC together, in each of its solution intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import TURNS
from ..plan.planning import GroupPlan
from ..terms.grid import Chunk
from ..terms.kinds import ROTATIONS, TIME_QUANTITIES, phase_per_unit
from ..terms.planes import places_of
from ..terms.terms import Term
from .diagonal_gains import on_baselines
from .fringe import fringe_fit
from .fringe_joint import with_best_pairs
from .fringe_pairs import delays_beside_tec
from .phase_search import best_phases
from .plane_search import best_slopes

#: Kinds of terms that are searched for along frequency.
SEARCHED = ("delay", "tec")
#: Kinds of terms of which phases change along frequency.
ALONG_FREQUENCY = (*SEARCHED, "faraday")
#: Kinds of terms of which phases of feeds change within an interval.
MOVING = (*SEARCHED, "rate")


@dataclass(frozen=True)
class IntervalSearch:
    """`any_phase`: antennas may have any phase besides; `reference`: the place of the antenna of phase 0."""

    plan: GroupPlan
    any_phase: bool
    reference: int = 0

    def cells(self, term: Term, sums: Coherence) -> tuple[NDArray, NDArray]:
        """([time], [freq]) the solution interval of a term that each bin is in, along both axes."""
        centre = 0.5 * (sums.bins.time_edges_s[:-1] + sums.bins.time_edges_s[1:])
        edges = sums.bins.chunk.times[term.name].edges, self.plan.frequencies[term.name].edges
        return tuple(
            np.searchsorted(e[1:-1], x, side="right") for e, x in zip(edges, (centre, sums.frequency_hz), strict=True)
        )

    def search(self, term, sums, product, *, any_phase: bool, origins: int = 1) -> NDArray[np.float64]:
        """[element, time, freq, antenna] values of a term for which the data agree best with the model; of a rotation
        as `search_rotation`."""
        how = {"any_phase": any_phase, "origins": origins}
        if term.kind.name in ROTATIONS:
            return self.search_rotation(term, sums, product, **how)
        if term.plane:
            return self.search_plane(term, sums, product)
        at_time, at_frequency = self.cells(term, sums)
        shape = (*self.intervals_of(term, sums.bins.chunk), len(sums.antennas))
        feeds = [sums.matrix(product[..., feed]) for feed in (0, 1)]  # [time, freq, antenna, antenna]
        if term.elements == ("",):
            # Feeds that may have any phase each are like times that may.
            feeds = [np.stack(feeds)] if any_phase else [sum(feeds)[None]]
        else:
            feeds = [own[None] for own in feeds]
        cells = at_time, at_frequency
        if term.kind.name == "phase":
            return self.phases(feeds, cells, shape)
        return self.fringes(feeds, phase_per_unit(term.kind.quantities[0], sums.frequency_hz), cells, shape, **how)

    def search_plane(self, term: Term, sums: Coherence, product, place: int = 0) -> NDArray[np.float64]:
        """[1, time, freq, antenna] values in a plane over the array, relative to the reference. `place`: as of
        `best_slopes`."""
        shape = (*self.intervals_of(term, sums.bins.chunk), len(sums.antennas))
        (at_time, at_frequency), places = self.cells(term, sums), places_of(self.plan.group)
        places = np.array([places[antenna] for antenna in sums.antennas])
        apart = places[sums.baselines[:, 0]] - places[sums.baselines[:, 1]]
        rate, product = phase_per_unit(term.kind.quantities[0], sums.frequency_hz), product[..., :2].sum(axis=-1)
        found = np.zeros((1, *shape))
        for t, f in np.ndindex(shape[:2]):
            own = product[:, at_time == t].sum(axis=1)[:, at_frequency == f]
            u = rate[at_frequency == f][None, :, None] * apart[:, None, :]
            slopes = best_slopes(own.ravel(), u.reshape(own.size, -1), place)
            found[0, t, f] = (places - places[self.reference]) @ slopes
        return found

    def search_rotation(self, term, sums, product, *, any_phase: bool, origins: int) -> NDArray:
        """[1, time, freq, antenna] angles (rad) or rotation measures (rad/m^2) of a rotation of linear feeds, relative
        to the reference, by the hands of circular ones. `product` [baseline, time, freq, feed]: of RR and LL.
        `any_phase`: what turns both feeds alike may do so as it likes; then twice the angle is found, by which R is
        turned against L.
        """
        cells = self.cells(term, sums)
        shape = (*self.intervals_of(term, sums.bins.chunk), len(sums.antennas))
        right, left = (sums.matrix(product[..., feed]) for feed in (0, 1))
        matrix = [(right * np.conj(left) if any_phase else right + np.conj(left))[None]]
        times = 2 if any_phase else 1
        if term.kind.name == "rotation":
            return self.phases(matrix, cells, shape) / times
        rate = times * phase_per_unit(term.kind.quantities[0], sums.frequency_hz)
        return self.fringes(matrix, rate, cells, shape, any_phase=False, origins=origins)

    def rate(self, term: Term, sums: Coherence) -> NDArray[np.float64]:
        """[time or 1, freq] phase (rad) per unit of a term's values."""
        since = 0.0
        if TIME_QUANTITIES & set(term.kind.quantities):
            at_time, _ = self.cells(term, sums)
            since = sums.bins.since_middle_s(term.name, at_time)[:, None]
        return np.atleast_2d(phase_per_unit(term.kind.quantities[0], sums.frequency_hz, since))

    def intervals_of(self, term: Term, chunk: Chunk) -> tuple[int, int]:
        """How many a term has, in time and in frequency."""
        return len(chunk.times[term.name].centre), len(self.plan.frequencies[term.name].centre)

    def phases(self, matrices, cells: tuple[NDArray, NDArray], shape: tuple[int, ...]) -> NDArray[np.float64]:
        total = np.zeros((len(matrices), *shape, shape[-1]), complex)
        for element, matrix in enumerate(matrices):
            np.add.at(total[element], (cells[0][:, None], cells[1][None, :]), matrix.sum(axis=0))
        return best_phases(total, self.reference)

    def fringes(self, matrices, rate, cells, shape, *, any_phase: bool, **how) -> NDArray[np.float64]:
        at_time, at_frequency = cells
        found = np.zeros((len(matrices), *shape))
        for f in range(shape[1]):
            own = at_frequency == f
            tiles = [matrix[:, at_time == t][:, :, own] for matrix in matrices for t in range(shape[0])]
            tiles = [tile.reshape(-1, *tile.shape[2:]) for tile in tiles]
            if any_phase:  # of each time, of which tiles may have more or fewer
                values = [fringe_fit(tile[None], rate[own], self.reference, any_phase=True, **how)[0] for tile in tiles]
            else:
                tiles = np.stack([tile.sum(axis=0, keepdims=True) for tile in tiles])
                values = fringe_fit(tiles, rate[own], self.reference, any_phase=False, **how)
            found[:, :, f] = np.reshape(values, found[:, :, f].shape)
        return found

    def free_phases(self, sums: Coherence, product) -> NDArray[np.float64]:
        """[antenna, time, freq, feed] phases of each bin."""
        phases = best_phases(np.stack([sums.matrix(product[..., feed]) for feed in (0, 1)]), self.reference)
        return np.moveaxis(phases, (3, 0), (0, 3))

    def search_pair(self, pair: Sequence[Term], sums, product) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values, as of `search`, of the delay and the TEC for which the data agree best with the model.

        Both are found on each interval that they share. Delays that are the median of these tell the TEC, which tell
        the delays; these tell the TEC once more.
        """
        delay, tec = pair
        feeds = [sums.matrix(product[..., feed]) for feed in (0, 1)]
        matrices = np.stack(feeds if len(delay.elements) == 2 else [sum(feeds)])
        rates = np.stack([phase_per_unit(term.kind.quantities[0], sums.frequency_hz) for term in pair])
        tiles = [self.cells(term, sums) for term in pair]
        delays = delays_beside_tec(matrices, rates, *tiles, self.reference, any_phase=self.any_phase)

        def searched(term, known, values):
            turned = on_baselines(np.conj(self.phasors(known, values, sums)), sums)
            return self.search(term, sums, product * turned, any_phase=self.any_phase)

        delays = searched(delay, tec, searched(tec, delay, delays))
        tecs = searched(tec, delay, delays)
        if self.any_phase or len(tecs) > 1 or any(at_frequency.max() > 0 for _, at_frequency in tiles):
            return delays, tecs
        # Where phases themselves count, both at once.
        values = delays[:, :, 0], tecs[0, :, 0]
        of_delays, of_tec = with_best_pairs(matrices, rates, (tiles[0][0], tiles[1][0]), values, self.reference)
        return of_delays[:, :, None], of_tec[None, :, None]

    def on_bins(self, term: Term, values: NDArray, sums: Coherence) -> NDArray:
        """[antenna, time, freq, element] of the bins, from values [element, time, freq, antenna] of intervals."""
        at_time, at_frequency = self.cells(term, sums)
        return np.moveaxis(values[:, at_time][:, :, at_frequency], (3, 0), (0, 3))

    def phasors(self, term: Term, values, sums: Coherence) -> NDArray[np.complex128]:
        """[antenna, time, freq, feed] of the bins."""
        phase = self.on_bins(term, values, sums) * self.rate(term, sums)[..., None]
        on_diagonal = [k for k, name in enumerate(term.elements) if name not in ("01", "10")]
        phase = phase[..., on_diagonal]
        if term.kind.name in ROTATIONS:  # of R and L
            phase = phase * np.array(TURNS)
        return np.broadcast_to(np.exp(1j * phase), (*phase.shape[:3], 2))
