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
from ..searches.chain_phases import chain_phases, gains_of_phases
from ..searches.diagonal_gains import on_baselines, on_hands
from ..searches.feed_differences import difference_of_feeds
from ..searches.gains_around_rotations import GainsAroundRotation
from ..searches.interval_search import SEARCHED, IntervalSearch
from ..searches.rate_search import rate_difference_of_feeds, search_rate
from ..searches.rotation_search import common_rotation
from ..searches.rotations_outside_gains import search_rotation_outside_gains, without_rotation
from ..terms.kinds import ROTATIONS, phase_per_unit
from ..terms.terms import Term

GAINS = ("scalar", "diag", "full")
#: Kinds of terms that bring what one feed receives into the other.
MIXING = ("full", "leakage", *ROTATIONS)
_ORIGINS = 3  # of a fringe fit


class WholeSkySearch:
    """The search for terms of the whole sky out of all `terms`, and by which `hands`."""

    def __init__(self, plan: GroupPlan, terms: Sequence[Term]):
        self._every = list(terms)
        self._faraday_rate = float(phase_per_unit("rotationmeasure", np.array(plan.group.frequency_hz)).mean())
        self._middle_hz = float(np.mean(plan.group.frequency_hz))
        self._whole = whole = [term for term in terms if term.per is None]
        turning = [term for term in whole if "phase" in term.kind.quantities and term.kind.name != "leakage"]
        of_antennas = [term for term in turning if term.kind.name != "crosshand"]
        #: Whether antennas may have any phase beside a delay; and whether their feeds may have any against each other.
        self.any_phase = bool(of_antennas)
        self._any_difference = any(len(term.elements) > 1 for term in turning)
        # Beside a bandpass only what changes in time is told of a delay.
        self._band = [term for term in of_antennas if len(plan.frequencies[term.name].centre) > 1]
        self._gains = any(term.kind.name in GAINS for term in terms)
        searched = [term for term in whole if term.kind.name in SEARCHED]
        phases = [term for term in whole if term.kind.name == "phase"]
        # A delay and a TEC would be taken for each other, and a phase for what gains turn by.
        first = {term.kind.name: term for term in reversed(searched)}
        self._pair = [first["delay"], first["tec"]] if len(first) == 2 else []
        self._single = ([] if self._pair else searched[:1]) + ([] if self._gains else phases[:1])
        # Gains find their phases in turns, but not beside what is searched for, or where feeds mix.
        of_pair = self.any_phase and self._pair
        beside = self._band or of_pair or any(term.kind.name in ("full", "leakage") for term in whole)
        chain = [term for term in whole if term in of_antennas or term in searched]
        # Delays of two feeds have a phase in common with each other.
        shared = any(term.elements == ("",) for term in of_antennas)
        beside = beside or (shared and any(len(term.elements) == 2 for term in searched))
        among = any(term in searched or term in phases or term in of_antennas[1:] for term in chain)
        all_hands = len(plan.group.correlations) == 4
        turnable = all_hands and plan.group.feed == "linear"
        self._rotations = [term for term in whole if term.kind.name in ROTATIONS]
        rotations = self._rotations[:1] if turnable else []
        # Seen by circular hands, which are what they are where other terms do the same to both feeds, or little; or
        # by what gains of feeds that stand outside leave of all hands.
        others = [term for term in terms if term.kind.name not in (*ROTATIONS, "amplitude", "leakage")]
        alike = all(term.elements == ("",) and term.kind.name != "parallactic" for term in others)
        #: Whether rotations are phases of circular hands.
        self.by_circular_hands = turnable and alike
        ahead = whole[: whole.index(rotations[0])] if rotations else []
        outside = all(term in ahead and term in chain for term in others)
        self._outside = others if rotations and outside and not alike else []
        # Or which stands itself outside of those.
        within = not alike and all(term.elements == ("",) for term in others if term in ahead)
        self._within = chain if rotations and within and not self._outside else []
        self._rotation = rotations if alike or self._outside or self._within else []
        self._all_hands = all_hands
        self._crosshand = any(term.kind.name == "crosshand" for term in whole)
        self._chain = chain if beside and among and len(chain) > 1 and not self._outside else []
        self._besides = bool(others)
        mixing = [term for term in terms if term.kind.name in MIXING]
        apart = [term for term in terms if len(term.elements) == 2 and term not in mixing]
        # Rotations with what they are searched with are not meant.
        self._mixed = len(mixing) > 1 or bool(mixing and apart and mixing != self._rotation)
        self._chain = self._chain or self._within
        self._single = [] if self._outside or self._within else self._single
        self._pair = [] if self._outside else self._pair
        of_feeds = [t for t in (self._pair or self._single) if t.kind.name in SEARCHED and len(t.elements) == 2]
        self._rates = [term for term in whole if term.kind.name == "rate"]
        # What else phases may change by from one interval to the next.
        self._free = [*turning, *(term for term in searched if term.time is not None)] if self._rates else []
        told = all_hands and not self._rotation  # by crossed hands
        self._of_feeds = of_feeds if told else []
        self._rates_of_feeds = [term for term in self._rates if len(term.elements) == 2 and told]
        #: Of which there are any.
        first = self._chain or [*self._pair, *self._single]
        self.terms = [*first, *self._rotation, *self._outside, *self._rates]
        #: In whose intervals sums are made: within these phases stay what they are.
        self.steady = [*self.terms, *(term for term in turning if term not in self.terms)] if self.terms else []

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
        mixed = self._all_hands and any(term.kind.name in ("full", "leakage") for term in self._every)
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
        found: dict[str, NDArray[np.float64]] = {}
        fine, of_all = sums, sums
        if self._rates:
            self._find_rates(intervals, fine, found)
            of_all = self._without_rates(intervals, fine, found)
        sums = of_all.of_parallel_hands()
        turned = np.ones((len(sums.antennas), *sums.product.shape[1:4]), complex)

        def left() -> NDArray[np.complex128]:
            return sums.product[..., 0] * on_baselines(np.conj(turned), sums)

        def take(term: Term, own: NDArray[np.float64]) -> None:
            nonlocal turned
            found[term.name] = found.get(term.name, 0.0) + own
            turned = turned * intervals.phasors(term, own, sums)

        if self._outside:
            (term,) = self._rotation
            search = GainsAroundRotation(intervals, term, self._outside, of_all, origins=_ORIGINS)
            return search.run(), left()
        for term in self._rotation if self._within else ():
            found[term.name] = search_rotation_outside_gains(intervals, term, of_all, origins=_ORIGINS)
            of_all = without_rotation(intervals, term, found[term.name], of_all)
            sums = of_all.of_parallel_hands()
        for term in self._rotation if not self._within else ():
            own = intervals.search_rotation(term, sums, left(), any_phase=self._besides, origins=_ORIGINS)
            take(term, own + common_rotation(intervals, term, of_all, own)[..., None])
        of_chain = None
        if self._chain:
            # A crosshand has a part in what feeds differ by.
            parallel = (self.by_circular_hands and self._rotation) or self._crosshand
            told = replace(sums, product=left()[..., None]) if parallel else of_all
            of_chain = chain_phases(intervals, self._chain, told)
        if of_chain is not None:
            for term in self._chain:
                take(term, of_chain[term.name])
        elif self._pair:
            for term, own in zip(self._pair, intervals.search_pair(self._pair, sums, left()), strict=True):
                take(term, own)
        else:
            for term in self._single:
                how = {"any_phase": self.any_phase, "origins": _ORIGINS}
                take(term, intervals.search(term, sums, left(), **how))
        if self._rates_of_feeds:
            # Gains may have any phase in each bin.
            free = np.exp(1j * intervals.free_phases(sums, left())) if self._gains else np.ones((1, *turned.shape[1:]))
            at = sums.bins.times(fine.bins.mean_times())
            known = (turned * free)[:, at]
            self._find_rates_of_feeds(intervals, fine, known, found)
            of_all = self._without_rates(intervals, fine, found)
        for term in self._of_feeds if of_chain is None else ():
            # Gains may have any phase in each bin.
            free = np.exp(1j * intervals.free_phases(sums, left())) if self._gains else 1.0
            own = difference_of_feeds(intervals, term, of_all, turned * free, any_phase=self._any_difference)
            take(term, np.stack([np.zeros_like(own), -own])[..., None] * np.ones(len(sums.antennas)))
        size = math.sqrt(max(sums.power_over_model, 0.0))
        for term in self._chain if of_chain is not None else ():
            if "amplitude" in term.kind.quantities:
                found[term.name], size = gains_of_phases(term, found[term.name], size), 1.0
        return found, left()

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
