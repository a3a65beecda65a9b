"""What is searched for of terms of the whole sky, on sums of one model: rotations, delays, TEC and phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import Hands
from ..plan.planning import GroupPlan
from ..searches.chain_phases import chain_phases, with_sizes
from ..searches.diagonal_gains import on_baselines, on_hands
from ..searches.feed_differences import difference_of_feeds
from ..searches.gains_around_rotations import GainsAroundRotation
from ..searches.interval_search import SEARCHED, IntervalSearch
from ..searches.rate_search import rate_difference_of_feeds, search_rate
from ..searches.rotation_search import common_rotation
from ..searches.rotations_outside_gains import search_rotation_outside_gains, without_rotation
from ..terms.kinds import LEAKING, MIXING, ROTATIONS, phase_per_unit
from ..terms.terms import Term

GAINS = ("scalar", "diag", "full")
_ORIGINS = 3  # of a fringe fit


class WholeSkySearch:
    """The search for terms of the whole sky out of all `terms`, and by which `hands`."""

    def __init__(self, plan: GroupPlan, terms: Sequence[Term]):
        self._every = list(terms)
        self._faraday_rate = float(phase_per_unit("rotationmeasure", np.array(plan.group.frequency_hz)).mean())
        self._middle_hz = float(np.mean(plan.group.frequency_hz))
        self._whole = whole = [term for term in terms if term.per is None]
        self._turning = [term for term in whole if "phase" in term.kind.quantities and term.kind.name != "leakage"]
        self._of_antennas = [term for term in self._turning if term.kind.name != "crosshand"]
        self._searched = [term for term in whole if term.kind.name in SEARCHED]
        self._rates = [term for term in whole if term.kind.name == "rate"]
        self._rotations = [term for term in whole if term.kind.name in ROTATIONS]
        #: Whether antennas may have any phase beside a delay; and whether their feeds may have any against each other.
        self.any_phase = bool(self._of_antennas)
        self._any_difference = any(len(term.elements) > 1 for term in self._turning)
        # Beside a bandpass only what changes in time is told of a delay.
        self._band = [term for term in self._of_antennas if len(plan.frequencies[term.name].centre) > 1]
        self._gains = any(term.kind.name in GAINS for term in terms)
        self._crosshand = any(term.kind.name == "crosshand" for term in whole)
        self._all_hands = len(plan.group.correlations) == 4
        self._choose_rotation(turnable=self._all_hands and plan.group.feed == "linear")
        self._choose_phases()
        self._choose_of_feeds()
        #: Of which there are any.
        first = self._chain or [*self._pair, *self._single]
        self.terms = [*first, *self._rotation, *self._outside, *self._rates]
        #: In whose intervals sums are made: within these phases stay what they are.
        self.steady = [*self.terms, *(term for term in self._turning if term not in self.terms)] if self.terms else []

    def _choose_rotation(self, *, turnable: bool) -> None:
        """Rotations are seen by circular hands, which are what they are where other terms do the same to both feeds, or
        little; or by what gains of feeds that stand outside leave of all hands; or stand themselves outside of those.
        `turnable`: whether all hands of linear feeds are there."""
        rotations = self._rotations[:1] if turnable else []
        others = [term for term in self._every if term.kind.name not in (*ROTATIONS, "amplitude", "leakage")]
        alike = all(term.elements == ("",) and term.kind.name != "parallactic" for term in others)
        ahead = self._whole[: self._whole.index(rotations[0])] if rotations else []
        chain = self._turning_or_searched
        outside = all(term in ahead and term in chain for term in others)
        within = not alike and all(term.elements == ("",) for term in others if term in ahead)
        #: Whether rotations are phases of circular hands.
        self.by_circular_hands = turnable and alike
        self._outside = others if rotations and outside and not alike else []
        self._within = chain if rotations and within and not self._outside else []
        self._rotation = rotations if alike or self._outside or self._within else []
        self._besides = bool(others)
        mixing = [term for term in self._every if term.kind.name in MIXING]
        apart = [term for term in self._every if len(term.elements) == 2 and term not in mixing]
        # Rotations with what they are searched with are not meant.
        self._mixed = len(mixing) > 1 or bool(mixing and apart and mixing != self._rotation)

    def _choose_phases(self) -> None:
        """A delay and a TEC would be taken for each other, and a phase for what gains turn by. Gains find their phases
        in turns, but not beside what is searched for, or where feeds mix."""
        first = {term.kind.name: term for term in reversed(self._searched)}
        pair = [first["delay"], first["tec"]] if len(first) == 2 else []
        phases = [term for term in self._whole if term.kind.name == "phase"]
        single = ([] if pair else self._searched[:1]) + ([] if self._gains else phases[:1])
        # Delays of two feeds have a phase in common with each other.
        shared = any(term.elements == ("",) for term in self._of_antennas)
        beside = (
            self._band
            or (self.any_phase and pair)
            or any(term.kind.name in LEAKING for term in self._whole)
            or (shared and any(len(term.elements) == 2 for term in self._searched))
        )
        chain = self._turning_or_searched
        among = any(term in (*self._searched, *phases, *self._of_antennas[1:]) for term in chain)
        chained = beside and among and len(chain) > 1 and not self._outside
        self._chain = chain if chained else self._within
        self._single = [] if self._outside or self._within else single
        self._pair = [] if self._outside else pair

    def _choose_of_feeds(self) -> None:
        """What crossed hands tell of feeds, and what else phases may change by from one interval to the next."""
        told = self._all_hands and not self._rotation
        of_feeds = [t for t in (self._pair or self._single) if t.kind.name in SEARCHED and len(t.elements) == 2]
        self._of_feeds = of_feeds if told else []
        self._rates_of_feeds = [term for term in self._rates if len(term.elements) == 2 and told]
        moving = [*self._turning, *(term for term in self._searched if term.time is not None)]
        self._free = moving if self._rates else []

    @property
    def outside(self) -> list[Term]:
        """Terms that turn phases of antennas, or of all antennas' feeds."""
        return [term for term in self._whole if term in self._turning or term in self._searched]

    @property
    def _turning_or_searched(self) -> list[Term]:
        return [term for term in self._whole if term in self._of_antennas or term in self._searched]

    @property
    def in_doubt(self) -> bool:
        """Whether a fit from here may end in a minimum that is not the lowest: a rotation that is not searched for, or
        beside what treats feeds differently or is searched along frequency, a delay and a TEC together, either beside
        several bandpasses, what mixes feeds beside others that do or that treat feeds differently."""
        unsearched = any(term not in self.terms for term in self._rotations)
        along = bool(self._single) and (len(self._band) > 1 or bool(self._rotation))
        return unsearched or bool(self._outside or self._within or self._pair) or along or self._mixed

    @property
    def hidden_turns(self) -> dict[str, float]:
        """{name of a term: what turns its last feed once more against the other}, where what all antennas have of it
        may be found a turn off: of a Faraday rotation (rad/m^2) by circular hands, in which amplitudes of each linear
        feed look like polarisation; of delays of both feeds (s) by crossed hands, of which leakages are a large
        part."""
        apart = any(term.kind.name == "amplitude" and len(term.elements) == 2 for term in self._every)
        own = self._rotation if apart and self.by_circular_hands else []
        turns = {term.name: math.pi / self._faraday_rate for term in own if term.kind.name == "faraday"}
        mixed = self._all_hands and any(term.kind.name in LEAKING for term in self._every)
        delays = [term for term in self._whole if term.kind.name == "delay" and len(term.elements) == 2 and mixed]
        return turns | {term.name: 1 / self._middle_hz for term in delays}

    @property
    def hands(self) -> Hands:
        """By which data and model are looked at."""
        if self._rotation:
            return Hands.INTENSITY if self._outside or self._within else Hands.CIRCULAR
        of_feeds = self._of_feeds or self._rates_of_feeds
        return Hands.ALL if of_feeds or (self._all_hands and self._chain) else Hands.PARALLEL

    @property
    def brings_into_phase(self) -> bool:
        """Whether the sums that are left cancel no more. Phases that no search has found (of gains of directions, of
        rotations beside others) leave sums that partly cancel."""
        found = self._chain or self._pair or self._single or self._rates or (self._rotation and not self._besides)
        return bool(found and not self._outside)

    def run(
        self, intervals: IntervalSearch, sums: Coherence
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.complex128]]:
        """{name of a term: values [element, time, freq, antenna]}, and the products of parallel hands [baseline, time,
        freq, feed] without what they do."""
        rates: dict[str, NDArray[np.float64]] = {}
        fine = sums
        if self._rates:
            self._find_rates(intervals, fine, rates)
            sums = self._without_rates(intervals, fine, rates)
        here = _Found(intervals, sums, rates)
        if self._outside:
            (term,) = self._rotation
            return GainsAroundRotation(intervals, term, self._outside, sums, origins=_ORIGINS).run(), here.left()
        self._find_rotation(here)
        of_chain = self._find_phases(here)
        if self._rates_of_feeds:
            known = self._known(here)
            at = here.sums.bins.times(fine.bins.mean_times())
            self._find_rates_of_feeds(intervals, fine, known[:, at], here.values)
            here.of_all = self._without_rates(intervals, fine, here.values)
        if not of_chain:
            self._find_differences(here)
        left = here.left()
        return with_sizes(self._chain, here.values, here.sums) if of_chain else here.values, left

    def _find_rotation(self, here: _Found) -> None:
        for term in self._rotation:
            if self._within:
                own = search_rotation_outside_gains(here.intervals, term, here.of_all, origins=_ORIGINS)
                here.values[term.name] = own
                here.go_on(without_rotation(here.intervals, term, own, here.of_all))
            else:
                how = {"any_phase": self._besides, "origins": _ORIGINS}
                own = here.intervals.search_rotation(term, here.sums, here.left(), **how)
                here.take(term, own + common_rotation(here.intervals, term, here.of_all, own)[..., None])

    def _find_phases(self, here: _Found) -> bool:
        """Phases, delays and TEC; whether by a chain."""
        if self._chain:
            # A crosshand has a part in what feeds differ by.
            parallel = (self.by_circular_hands and self._rotation) or self._crosshand
            told = replace(here.sums, product=here.left()[..., None]) if parallel else here.of_all
            of_chain = chain_phases(here.intervals, self._chain, told)
            if of_chain is not None:
                for term in self._chain:
                    here.take(term, of_chain[term.name])
                return True
        if self._pair:
            found = here.intervals.search_pair(self._pair, here.sums, here.left())
            for term, own in zip(self._pair, found, strict=True):
                here.take(term, own)
            return False
        for term in self._single:
            how = {"any_phase": self.any_phase, "origins": _ORIGINS}
            here.take(term, here.intervals.search(term, here.sums, here.left(), **how))
        return False

    def _find_differences(self, here: _Found) -> None:
        """What the last feed of all antennas has besides, as crossed hands tell."""
        for term in self._of_feeds:
            how = {"any_phase": self._any_difference}
            own = difference_of_feeds(here.intervals, term, here.of_all, self._known(here), **how)
            here.take(term, np.stack([np.zeros_like(own), -own])[..., None] * np.ones(len(here.sums.antennas)))

    def _known(self, here: _Found) -> NDArray[np.complex128]:
        """Phasors of what has been found, and of gains, which may have any phase in each bin."""
        if not self._gains:
            return here.turned
        return here.turned * np.exp(1j * here.intervals.free_phases(here.sums, here.left()))

    def _find_rates(self, intervals: IntervalSearch, fine: Coherence, found: dict[str, NDArray]) -> None:
        """Of each feed; `fine`: sums of single time slots and channels."""
        for term in self._rates:
            sums = self._turned(intervals, fine, found) if found else fine
            found[term.name] = search_rate(intervals, term, self._free, sums.of_parallel_hands())

    def _find_rates_of_feeds(self, intervals, fine: Coherence, known, found: dict[str, NDArray]) -> None:
        """What the last feed of all antennas has besides, as crossed hands tell. `known` [antenna, time, freq, feed]:
        phasors of all but rates."""
        for term in self._rates_of_feeds:
            sums = self._turned(intervals, fine, found)
            own = rate_difference_of_feeds(intervals, term, self._free, sums, known)
            found[term.name] = found[term.name] + np.stack([np.zeros_like(own), -own])[..., None]

    def _turned(self, intervals: IntervalSearch, fine: Coherence, found: dict[str, NDArray]) -> Coherence:
        """Sums without what rates do that have been found."""
        gains = math.prod(intervals.phasors(term, found[term.name], fine) for term in self._rates if term.name in found)
        return replace(fine, product=fine.product * on_hands(np.conj(gains), fine)[..., None])

    def _without_rates(self, intervals: IntervalSearch, fine: Coherence, found: dict[str, NDArray]) -> Coherence:
        """The same, in bins in which nothing else changes."""
        edges = [fine.bins.chunk.times[term.name].edges for term in self.steady]
        inner = np.unique(np.concatenate([one[1:-1] for one in edges]))
        ends = fine.bins.time_edges_s[[0, -1]]
        return self._turned(intervals, fine, found).in_times(np.concatenate([ends[:1], inner, ends[1:]]))


class _Found:
    """What has been found so far: `values` {name of a term: [element, time, freq, antenna]}, the phasors `turned`
    [antenna, time, freq, feed] of what is still in the sums `of_all` hands and in the `sums` of parallel ones."""

    def __init__(self, intervals: IntervalSearch, of_all: Coherence, values: dict[str, NDArray[np.float64]]):
        self.intervals, self.values = intervals, values
        self.go_on(of_all)
        self.turned = np.ones((len(self.sums.antennas), *self.sums.product.shape[1:4]), complex)

    def go_on(self, of_all: Coherence) -> None:
        """With other sums."""
        self.of_all, self.sums = of_all, of_all.of_parallel_hands()

    def take(self, term: Term, own: NDArray[np.float64]) -> None:
        self.values[term.name] = self.values.get(term.name, 0.0) + own
        self.turned = self.turned * self.intervals.phasors(term, own, self.sums)

    def left(self) -> NDArray[np.complex128]:
        """Products of parallel hands without what has been found."""
        return self.sums.product[..., 0] * on_baselines(np.conj(self.turned), self.sums)
