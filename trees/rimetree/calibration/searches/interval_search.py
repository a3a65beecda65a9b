"""Searches for the values of one term, or of a delay and a TEC together, in each of its solution intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence, CoherenceBins
from ..data.hands import TURNS
from ..plan.planning import GroupPlan
from ..terms.grid import Chunk
from ..terms.kinds import ROTATIONS
from ..terms.terms import Term
from .diagonal_gains import on_baselines
from .fringe import fringe_fit, phase_rate, search, searches
from .fringe_joint import with_best_pairs
from .fringe_pairs import delays_beside_tec
from .phase_search import best_phases
from .rotations_inside_gains import continued, double_angles, feed_ratios, of_one_sign, polarisations

#: Kinds of terms that are searched for along frequency.
SEARCHED = ("delay", "tec")
#: Kinds of terms of which phases change along frequency.
ALONG_FREQUENCY = (*SEARCHED, "faraday")

_POLARISED = 1e-9  # of the power of a model: less in its crossed hands is rounding

_SURE = 0.7  # what phases of antennas must explain of visibilities, where they are found bin by bin
_SIGNAL = 20  # power of a sum of visibilities, over that of noise; the highest of many tries


@dataclass(frozen=True)
class IntervalSearch:
    """`any_phase`: antennas may have any phase besides; `reference`: the place of the antenna of phase 0."""

    plan: GroupPlan
    any_phase: bool
    reference: int = 0

    def cells(self, term: Term, chunk: Chunk, bins: CoherenceBins, sums: Coherence) -> tuple[NDArray, NDArray]:
        """The solution interval of a term that each bin is in, in time and in frequency."""
        centre = 0.5 * (bins.time_edges_s[:-1] + bins.time_edges_s[1:])
        edges = chunk.times[term.name].edges, self.plan.frequencies[term.name].edges
        return tuple(
            np.searchsorted(e[1:-1], x, side="right") for e, x in zip(edges, (centre, sums.frequency_hz), strict=True)
        )

    def search(self, term, sums, product, chunk, bins, *, any_phase: bool, origins: int = 1) -> NDArray[np.float64]:
        """[element, time, freq, antenna] values of a term for which the data agree best with the model; of a rotation
        as `search_rotation`."""
        how = {"any_phase": any_phase, "origins": origins}
        if term.kind.name in ROTATIONS:
            return self.search_rotation(term, sums, product, chunk, bins, **how)
        at_time, at_frequency = self.cells(term, chunk, bins, sums)
        shape = (*self._intervals(term, chunk), len(sums.antennas))
        feeds = [sums.matrix(product[..., feed]) for feed in (0, 1)]  # [time, freq, antenna, antenna]
        if term.elements == ("",):
            # Feeds that may have any phase each are like times that may.
            feeds = [np.stack(feeds)] if any_phase else [sum(feeds)[None]]
        else:
            feeds = [own[None] for own in feeds]
        cells = at_time, at_frequency
        if term.kind.name == "phase":
            return self._phases(feeds, cells, shape)
        return self._fringes(feeds, phase_rate(term.kind.quantities[0], sums.frequency_hz), cells, shape, **how)

    def search_rotation(self, term, sums, product, chunk, bins, *, any_phase: bool, origins: int) -> NDArray:
        """[1, time, freq, antenna] angles (rad) or rotation measures (rad/m^2) of a rotation of linear feeds, relative
        to the reference, by the hands of circular ones. `product` [baseline, time, freq, feed]: of RR and LL.
        `any_phase`: what turns both feeds alike may do so as it likes; then twice the angle is found, by which R is
        turned against L.
        """
        cells = self.cells(term, chunk, bins, sums)
        shape = (*self._intervals(term, chunk), len(sums.antennas))
        right, left = (sums.matrix(product[..., feed]) for feed in (0, 1))
        matrix = [(right * np.conj(left) if any_phase else right + np.conj(left))[None]]
        times = 2 if any_phase else 1
        if term.kind.name == "rotation":
            return self._phases(matrix, cells, shape) / times
        rate = times * phase_rate(term.kind.quantities[0], sums.frequency_hz)
        return self._fringes(matrix, rate, cells, shape, any_phase=False, origins=origins)

    def search_rotation_inside_gains(self, term, sums, chunk, bins) -> NDArray[np.float64]:
        """The same where gains of each feed stand outside, of a sky of little polarisation; but for the sign of all.
        `sums`: of `Hands.INTENSITY`."""
        at_time, at_frequency = self.cells(term, chunk, bins, sums)
        n_time, n_freq = self._intervals(term, chunk)
        found = np.zeros((1, n_time, n_freq, len(sums.antennas)))
        if term.kind.name == "rotation":
            cells = at_time[:, None] * n_freq + at_frequency
            turned = double_angles(sums, cells, self.reference)
            signed = of_one_sign(sums, turned[:, None], cells)
            found[0] = np.angle(signed).reshape(found.shape[1:]) / 2
            return found
        channels = np.arange(len(sums.frequency_hz))
        cells = at_time[:, None] * len(channels) + channels
        turned = double_angles(sums, cells, self.reference).reshape(-1, len(channels), len(sums.antennas))
        signed = of_one_sign(sums, np.stack([continued(one) for one in turned]), cells)
        rate = 2 * phase_rate(term.kind.quantities[0], sums.frequency_hz)
        for t, f in np.ndindex(n_time, n_freq):
            own = at_frequency == f
            found[0, t, f] = searches(np.moveaxis(signed[t, own], 0, 1)[:, None], rate[own], any_phase=False)
        return found

    def gains_outside(self, term, others, rotation, values, sums, chunk, bins) -> NDArray[np.complex128]:
        """[element, time, freq, antenna] gains of a term that stands outside a rotation of known values, beside others
        [antenna, time, freq, feed]; amplitudes are the same for all antennas. `sums`: of `Hands.INTENSITY`."""
        turned = self.phasors(rotation, values, sums, chunk, bins)[..., 0]  # exp(i chi) [antenna, time, freq]
        cosine, around = on_baselines(turned, sums).real[..., None], on_baselines(others, sums)
        parallel = sums.product[..., :2, 0] * cosine * np.conj(around)
        cells = self.cells(term, chunk, bins, sums)
        shape = (*self._intervals(term, chunk), len(sums.antennas))
        feeds = [sums.matrix(parallel[..., feed])[None] for feed in (0, 1)]
        phase = self._phases(feeds if len(term.elements) == 2 else [sum(feeds)], cells, shape)
        if len(phase) == 2:
            seen = feed_ratios(sums, turned**2) * others[..., 0] * np.conj(others[..., 1])
            ratio = np.zeros(shape, complex)
            np.add.at(ratio, (cells[0][:, None], cells[1][None, :]), np.moveaxis(seen, 0, -1))
            phase[1] += np.angle((ratio * np.exp(1j * (phase[0] - phase[1]))).sum(axis=2))[..., None]
        power = sums.power[..., :2, 0, 0].real * (cosine * np.abs(around)) ** 2
        size, power = (x.sum(axis=(0, 1, 2)).reshape(len(phase), -1).sum(axis=1) for x in (np.abs(parallel), power))
        return np.sqrt(size / np.where(power > 0, power, 1.0))[:, None, None, None] * np.exp(1j * phase)

    def common_inside_gains(self, term, values, gains, sums, chunk, bins) -> tuple[float, NDArray[np.float64]]:
        """(sign of all values, [time, freq] what all antennas are turned by besides), as a polarised sky tells.

        `values`: as of `search_rotation_inside_gains`; `gains` [antenna, time, freq, feed]: what stands outside, of the
        bins. With the other sign gains of feed 1 are the negative of these.
        """
        cells = self.cells(term, chunk, bins, sums)
        turned = self.phasors(term, values, sums, chunk, bins)[..., 0]
        linear, circular = polarisations(sums, turned, gains)
        shape, rate = self._intervals(term, chunk), self._rate(term, sums)
        found = []
        for sign in (1.0, -1.0):
            spectrum, score, common = linear[sign].sum(axis=0), sign * circular, np.zeros(shape)
            for t, f in np.ndindex(shape):
                own = spectrum[cells[0] == t][:, cells[1] == f].sum(axis=0)
                common[t, f] = _half_turned(term, own, sums.frequency_hz[cells[1] == f])
                score += (own @ np.exp(-2j * common[t, f] * rate[cells[1] == f])).real
            found.append((score, sign, common))
        _, sign, common = max(found, key=lambda one: one[0])
        return sign, common

    def common_rotation(self, term, sums, relative, chunk, bins) -> NDArray[np.float64]:
        """[time, freq], rad or rad/m^2: what all antennas are turned by together, as a polarised sky tells; else 0.

        `sums`: of all hands of circular feeds; `relative`: values as of `search_rotation`. RL over RR turns by twice
        the angle of the second antenna, over LL by that of the first, whatever turns both feeds alike.
        """
        cells = self.cells(term, chunk, bins, sums)
        turned = np.conj(self.phasors(term, relative, sums, chunk, bins)[..., 0]) ** 2
        first, second = (turned[end] for end in sums.baselines.T)
        rr, ll, rl, lr = np.moveaxis(sums.product[..., 0], -1, 0)
        of_second, of_first = rl * np.conj(rr) + np.conj(lr) * ll, rl * np.conj(ll) + np.conj(lr) * rr
        spectrum = (of_second * second + of_first * first).sum(axis=0)
        found = np.zeros(self._intervals(term, chunk))
        for t, f in np.ndindex(found.shape):
            own = spectrum[cells[0] == t][:, cells[1] == f].sum(axis=0)
            found[t, f] = _half_turned(term, own, sums.frequency_hz[cells[1] == f])
        return found

    def common_rotations(self, term, sums, parts: Sequence[str], relative, chunk, bins) -> dict[str, NDArray]:
        """{direction: as of `common_rotation`} of several, as far as their models are polarised; `parts`: the direction
        of each part of the sums; `relative` {direction: values}.

        What each multiplies its RL by, and divides its LR by, follows from all of them together.
        """
        cells, names = self.cells(term, chunk, bins, sums), list(relative)
        of = np.array([[name == one for one in parts] for name in names], dtype=float)
        power = np.moveaxis(of @ sums.power @ of.T, 3, 0)  # [hand, baseline, time, freq, direction, direction]
        bright = power[:2].real.sum(axis=(0, 1, 2, 3)).diagonal()
        seen = power[2:].real.sum(axis=(0, 1, 2, 3)).diagonal() > _POLARISED * bright
        turns = np.stack([self.phasors(term, relative[name], sums, chunk, bins)[..., 0] for name in names], axis=-1)
        turns = turns[sums.baselines[:, 0]] * turns[sums.baselines[:, 1]] * seen
        rl, lr = np.moveaxis((sums.product @ of.T)[:, :, :, 2:], 3, 0)
        total = (np.conj(turns) * (rl + np.conj(lr))).sum(axis=0)  # [time, freq, direction]
        square = (np.conj(turns)[..., :, None] * (power[2] + np.conj(power[3])) * turns[..., None, :]).sum(axis=0)
        found = {name: np.zeros(self._intervals(term, chunk)) for name in names}
        for t, f in np.ndindex(self._intervals(term, chunk)):
            at = np.ix_(cells[0] == t, cells[1] == f)
            own, model = total[at].sum(axis=0), square[at].sum(axis=0)
            turned = (np.linalg.pinv(model, rcond=1e-9, hermitian=True) @ own[..., None])[..., 0]
            turned = turned * model.real.diagonal(axis1=1, axis2=2)  # [freq, direction], with its weight
            for name, one in zip(names, turned.T, strict=True):
                found[name][t, f] = _half_turned(term, one, sums.frequency_hz[cells[1] == f])
        return found

    def difference_of_feeds(self, term, sums, turned, chunk, bins, *, any_phase: bool) -> NDArray[np.float64]:
        """[time, freq], as `term`: what feed 0 of all antennas has besides, relative to feed 1, as a polarised sky
        tells; 0 where crossed hands have no signal.

        `sums`: of all hands; `turned` [antenna, time, freq, feed]: phasors of what is known already. XY turns by the
        phase of the first feed, less that of the second, YX the other way round.
        """
        cells = self.cells(term, chunk, bins, sums)
        first, second = (turned[end] for end in sums.baselines.T)
        xy, yx = np.moveaxis(sums.product[..., 2:, 0], -1, 0)
        xy = xy * np.conj(first[..., 0]) * second[..., 1]
        yx = yx * np.conj(first[..., 1]) * second[..., 0]
        seen = np.stack([xy, np.conj(yx)])
        found = np.zeros(self._intervals(term, chunk))
        rate = phase_rate(term.kind.quantities[0], sums.frequency_hz)
        for t, f in np.ndindex(found.shape):
            own = seen[:, :, cells[0] == t][..., cells[1] == f]
            spectrum, h = own.sum(axis=(0, 1)), rate[cells[1] == f]
            spectrum = spectrum if any_phase else spectrum.sum(axis=0)
            value = search(spectrum, h, any_phase=any_phase)
            height = (np.abs(spectrum @ np.exp(-1j * value * h)) ** 2).sum()
            if height > _SIGNAL * (np.abs(own) ** 2).sum():
                found[t, f] = value
        return found

    @staticmethod
    def _rate(term: Term, sums: Coherence) -> NDArray[np.float64]:
        """[freq] phase (rad) per unit of a term's values."""
        if term.kind.name not in ALONG_FREQUENCY:
            return np.ones(len(sums.frequency_hz))
        return phase_rate(term.kind.quantities[0], sums.frequency_hz)

    def _intervals(self, term: Term, chunk: Chunk) -> tuple[int, int]:
        """How many a term has, in time and in frequency."""
        return len(chunk.times[term.name].centre), len(self.plan.frequencies[term.name].centre)

    def _phases(self, matrices, cells: tuple[NDArray, NDArray], shape: tuple[int, ...]) -> NDArray[np.float64]:
        total = np.zeros((len(matrices), *shape, shape[-1]), complex)
        for element, matrix in enumerate(matrices):
            np.add.at(total[element], (cells[0][:, None], cells[1][None, :]), matrix.sum(axis=0))
        return best_phases(total, self.reference)

    def _fringes(self, matrices, rate, cells, shape, **how) -> NDArray[np.float64]:
        at_time, at_frequency = cells
        found = np.zeros((len(matrices), *shape))
        for element, matrix in enumerate(matrices):
            for t, f in np.ndindex(shape[:2]):
                tile = matrix[:, at_time == t][:, :, at_frequency == f]
                tile = tile.reshape(-1, *tile.shape[2:])
                found[element, t, f] = fringe_fit(tile, rate[at_frequency == f], self.reference, **how)
        return found

    def search_beside_band(
        self, term: Term, band: Sequence[Term], sums: Coherence, product, chunk, bins, *, any_phase: bool
    ) -> NDArray[np.float64] | None:
        """Values, as of `search`, where other terms (`band`) have any phase along frequency: from phases of bins.

        Relative to the strongest time of each interval of these terms, where values are 0, or, where these act on both
        feeds alike, those of feed 1. Of terms of phases, too. `any_phase`: antennas may have any phase at each time
        besides. None where bins tell no phases, or where intervals of the term are longer than those of `band`.
        """
        if len(sums.baselines) <= len(sums.antennas):  # those to the reference have any phases
            return None
        free = np.exp(1j * self.free_phases(sums, product))
        agree = (product * on_baselines(np.conj(free), sums)).real
        if not agree.sum() > _SURE * np.abs(product).sum():
            return None
        at_time, at_frequency = self.cells(term, chunk, bins, sums)
        times = np.stack([self.cells(one, chunk, bins, sums)[0] for one in band])
        _, of_band = np.unique(times, axis=1, return_inverse=True)
        strength = np.zeros(free.shape)
        for end in sums.baselines.T:
            np.add.at(strength, end, np.maximum(agree, 0.0))
        rate = self._rate(term, sums)
        found = np.zeros((len(term.elements), *self._intervals(term, chunk), len(sums.antennas)))

        def value(seen: NDArray[np.complex128], rows: NDArray[np.intp], t: int, f: int) -> NDArray[np.float64]:
            spectra = seen[:, rows[at_time[rows % len(at_time)] == t]][:, :, at_frequency == f]
            if term.kind.name == "phase":
                return np.angle(spectra.sum(axis=(1, 2)))
            return searches(spectra, rate[at_frequency == f], any_phase=any_phase)

        differ = len(term.elements) == 2 and all(len(one.elements) == 1 for one in band)
        of_feeds = strength.min(axis=3) * free[..., 0] * np.conj(free[..., 1])
        if any(len(np.unique(of_band[at_time == t])) > 1 for t in np.unique(at_time)):
            if not differ:
                return None
            for t, f in np.ndindex(found.shape[1:3]):
                found[0, t, f] = value(of_feeds, np.arange(len(at_time)), t, f)
            return found
        for b in np.unique(of_band):
            rows = np.flatnonzero(of_band == b)
            strongest = rows[np.argmax(strength[:, rows].sum(axis=(0, 2, 3)))]
            seen = strength * free * np.conj(free[:, [strongest]])
            both, of_both = np.concatenate([seen[..., 0], seen[..., 1]], axis=1), np.append(rows, rows + len(at_time))
            for t, f in np.ndindex(found.shape[1:3]):
                if t not in at_time[rows]:
                    continue
                if t != at_time[strongest] and len(term.elements) == 2:
                    found[:, t, f] = value(seen[..., 0], rows, t, f), value(seen[..., 1], rows, t, f)
                elif t != at_time[strongest]:  # feeds may have any phase each as times may
                    found[0, t, f] = value(both, of_both, t, f) if any_phase else value(seen.sum(axis=3), rows, t, f)
                if differ:
                    found[0, t, f] += value(of_feeds, rows, at_time[strongest], f)
        return found

    def free_phases(self, sums: Coherence, product) -> NDArray[np.float64]:
        """[antenna, time, freq, feed] phases of each bin."""
        phases = best_phases(np.stack([sums.matrix(product[..., feed]) for feed in (0, 1)]), self.reference)
        return np.moveaxis(phases, (3, 0), (0, 3))

    def search_pair(
        self, pair: Sequence[Term], sums, product, chunk, bins
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values, as of `search`, of the delay and the TEC for which the data agree best with the model.

        Both are found on each interval that they share. Delays that are the median of these tell the TEC, which tell
        the delays; these tell the TEC once more.
        """
        delay, tec = pair
        feeds = [sums.matrix(product[..., feed]) for feed in (0, 1)]
        matrices = np.stack(feeds if len(delay.elements) == 2 else [sum(feeds)])
        rates = np.stack([phase_rate(term.kind.quantities[0], sums.frequency_hz) for term in pair])
        tiles = [self.cells(term, chunk, bins, sums) for term in pair]
        delays = delays_beside_tec(matrices, rates, *tiles, self.reference, any_phase=self.any_phase)

        def searched(term, known, values):
            turned = on_baselines(np.conj(self.phasors(known, values, sums, chunk, bins)), sums)
            return self.search(term, sums, product * turned, chunk, bins, any_phase=self.any_phase)

        delays = searched(delay, tec, searched(tec, delay, delays))
        tecs = searched(tec, delay, delays)
        if self.any_phase or len(tecs) > 1 or any(at_frequency.max() > 0 for _, at_frequency in tiles):
            return delays, tecs
        # Where phases themselves count, both at once.
        values = delays[:, :, 0], tecs[0, :, 0]
        of_delays, of_tec = with_best_pairs(matrices, rates, (tiles[0][0], tiles[1][0]), values, self.reference)
        return of_delays[:, :, None], of_tec[None, :, None]

    def on_bins(self, term: Term, values: NDArray, sums: Coherence, chunk: Chunk, bins: CoherenceBins) -> NDArray:
        """[antenna, time, freq, element] of the bins, from values [element, time, freq, antenna] of intervals."""
        at_time, at_frequency = self.cells(term, chunk, bins, sums)
        return np.moveaxis(values[:, at_time][:, :, at_frequency], (3, 0), (0, 3))

    def phasors(self, term: Term, values, sums: Coherence, chunk, bins) -> NDArray[np.complex128]:
        """[antenna, time, freq, feed] of the bins."""
        phase = self.on_bins(term, values, sums, chunk, bins) * self._rate(term, sums)[:, None]
        if term.kind.name in ROTATIONS:  # of R and L
            phase = phase * np.array(TURNS)
        return np.broadcast_to(np.exp(1j * phase), (*phase.shape[:3], 2))


def _half_turned(term: Term, spectrum: NDArray[np.complex128], frequency_hz: NDArray[np.float64]) -> float:
    """The rotation (rad) or rotation measure by twice which a spectrum is turned."""
    if term.kind.name == "rotation":
        return float(np.angle(spectrum.sum()) / 2)
    return search(spectrum, 2 * phase_rate(term.kind.quantities[0], frequency_hz), any_phase=False)
