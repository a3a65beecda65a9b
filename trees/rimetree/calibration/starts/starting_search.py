"""Where fits of phases begin: at what a search over the data finds, for phases, delays and TEC from anywhere.

Terms without amplitude leave the data's own scale to no term; how much larger than the model the data are is found here
as well (`SolveTree.scale` fits it further).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolveReport
from ...ms import OpenSet, Tiles
from ..data.coherence import Coherence, Factors
from ..data.hands import Hands
from ..directions.goodness import chi_square_of, freedom_of, is_good
from ..directions.joint_phases import MOST_ANTENNAS, better_phases
from ..directions.joint_starts import JointStart, JointStarts
from ..directions.plane_starts import find_planes
from ..directions.several_directions import SeveralDirections
from ..model.held import Held
from ..model.model_trees import SkyPart
from ..model.models import Model
from ..plan.planning import CalibrationOptions, GroupPlan
from ..plan.solve_trees import SolveTree
from ..searches.diagonal_gains import on_baselines
from ..searches.feed_differences import differences_of_feeds
from ..searches.gains_of_bins import floor_of_gains
from ..searches.interval_search import ALONG_FREQUENCY, IntervalSearch
from ..searches.rotation_search import common_rotations
from ..searches.search_sums import SearchSums, inside
from ..terms.grid import Chunk
from ..terms.terms import Term
from .feeds_of_all import FeedsOfAll
from .named_values import by_direction, named, sum_of, tables_of
from .rotated_starts import rotated_starts
from .searched_terms import SearchedTerms
from .starting_values import Run, StartingValues
from .whole_delays import without_slopes
from .whole_sky import WholeSkySearch

_TURNS, _WORTHWHILE = 6, 0.97  # of searches for terms of the whole sky and of directions; chi-square after over before


class StartingSearch:
    """The search for one field and its windows. `factors`: of weights, as of `CoherenceReader`; `wanted`: whether any
    term is searched for."""

    def __init__(
        self,
        plan: GroupPlan,
        model: Model,
        tree: SolveTree,
        terms: Sequence[Term],
        opened: OpenSet,
        held: Held,
        factors: Factors | None = None,
    ):
        self._plan, self._tree = plan, tree
        self._parts = model.parts([*(term.per for term in terms), *held.pers])
        self._sums = SearchSums(plan, self._parts, tree, opened, held, factors)
        self._terms = list(terms)
        self._whole = WholeSkySearch(plan, terms)
        self._searched = SearchedTerms.of(plan, tree, terms, self._whole)
        self._intervals = IntervalSearch(plan, self._whole.any_phase)
        self.hidden_turns = self._whole.hidden_turns
        #: Values of Parms ([freq] or one) that solutions of gains of directions may be near.
        self.known: Mapping[str, NDArray[np.float64] | float] = {}
        scaled = self._searched.scaled
        each = [term for term in terms if term.per is not None]
        names = [part.directions[each[0].per] for part in self._parts] if each else []
        self._joint = JointStarts(tree, terms, names, scaled=scaled, circular=self._searched.circular)
        polarised = model.polarisation(plan.group).hands == "crossed"
        self._feeds = FeedsOfAll(tree, terms, self._parts, polarised=polarised)
        self._joint_inside = JointStarts(tree, each, names, scaled=scaled)
        self.wanted = bool(self._whole.terms or scaled or (self._searched.each and not self.in_two_steps))

    @property
    def parts(self) -> list[SkyPart]:
        """Of the model, those that terms of directions tell apart."""
        return self._parts

    @property
    def in_two_steps(self) -> bool:
        """Whether directions are searched for once terms of the whole sky are known."""
        return self._searched.in_two_steps

    @property
    def of_directions(self) -> Term | None:
        """The term by which directions are searched for, if there is one."""
        return next(iter(self._searched.each), None)

    def take_tiles(self, tiles: Tiles | None) -> None:
        """Data of the next chunk, with model columns, that are in memory; None: they are to be read."""
        self._sums.tiles = tiles

    @property
    def intervals(self) -> IntervalSearch:
        """The search for values of one term, with the reference of the chunk that was looked at last."""
        return self._intervals

    def release(self) -> None:
        """Lets go of the data and models that were looked at."""
        self._sums.release()

    def begin(
        self, chunk: Chunk, reference: int, options: CalibrationOptions, run: Run, without: Collection[str] = ()
    ) -> StartingValues:
        """Where the fit of a chunk begins, as far as that is searched for; `run`: fits some Parms to it; `without`:
        directions that are taken to be absent."""
        begin = StartingValues({}, absent=tuple(without))
        where = chunk, reference, options
        if self.in_two_steps or self._searched.several:
            together = self._together(*where, without)
            if together is not None:
                return self.with_feeds(together, *where)
        rotated = self._rotated_directions(*where)
        if rotated is not None:
            return replace(rotated, absent=begin.absent)
        if self.wanted:
            found = self.run(*where, without)
            begin = replace(found, absent=found.absent or begin.absent)
        too_much = self._whole.hands is Hands.INTENSITY and not begin.values  # to look at
        if self._searched.in_doubt or self._searched.several or too_much:
            # Rotations that are searched for with terms of both feeds alike are gains of circular hands.
            apart = bool(self._searched.each) or not self._whole.by_circular_hands
            sums = self._read(chunk, self._terms, apart, reference, options)
            floor = (math.nan, 0) if sums is None else self._floor(sums.of_parallel_hands())
            begin = replace(begin, lowest=False, floor=floor[0], floor_freedom=floor[1])
        begin = self.with_feeds(begin, *where)
        if self._tree.gains_of and not self.in_two_steps and self._joint_possible(chunk, without):
            return self._if_poor(replace(begin, solved=run(begin, None)), *where, without)
        if not self.in_two_steps:
            return begin
        # Terms of the whole sky first, which take what directions have in common; then one after the other.
        whole = {one.node for one in self._tree.parameters if one.direction is None}
        best, least = begin, math.inf
        for _ in range(_TURNS):
            solved = run(begin, whole)
            if solved is None or not solved.chi_square[-1] < _WORTHWHILE * least:
                break
            known = {name: tables_of(parm)["value"] for name, parm in solved.parms.items() if name in whole}
            best, least = replace(begin, values={**begin.values, **known}), solved.chi_square[-1]
            found = self.run_directions(chunk, reference, options, known, without)
            begin = replace(found, values={**best.values, **found.values}, scale=begin.scale, lowest=begin.lowest)
            best = replace(best, share=found.share, floor=found.floor, floor_freedom=found.floor_freedom)
        return self.with_feeds(best, *where)

    def with_feeds(
        self, begin: StartingValues, chunk: Chunk, reference: int, options, *, fitted: bool = False
    ) -> StartingValues:
        """With what all antennas have of one feed against the other. `fitted`: as of `FeedsOfAll.told`."""
        if begin.solved is not None:
            return begin
        where = self._sums, self._intervals, chunk, reference, options
        return replace(begin, values=self._feeds.found(*where, begin.values, begin.released, fitted=fitted))

    def _floor(self, sums: Coherence) -> tuple[float, int]:
        """As of `Coherence`; where bins tell none, that of gains of antennas, if terms can be nothing else. `sums`: of
        parallel hands."""
        circular = self._whole.by_circular_hands  # in which rotations are gains, and what linear feeds do is not
        gains = [term.elements == ("",) if circular else term.kind.diagonal for term in self._terms]
        if sums.floor[0] > 0 or not all(gains) or any(term.per is not None for term in self._terms):
            return sums.floor
        product, power = sums.product.sum(axis=4, keepdims=True), sums.power.sum(axis=(4, 5), keepdims=True)
        one = replace(sums, product=product, power=power)
        return floor_of_gains(one, self._intervals.free_phases(one, product[..., 0]))

    def _if_poor(self, begin: StartingValues, chunk, reference, options, without) -> StartingValues:
        """Where a fit of gains of directions began, if that explains the data; or else where the search for all terms
        together ends."""
        solved = begin.solved
        sums = None if solved is None else self._read(chunk, self._terms, True, reference, options)
        if sums is None:
            return begin
        sums = sums.of_parallel_hands()
        if all(one.converged for one in solved.groups) and _is_good(solved, sums):
            return replace(begin, floor=sums.floor[0], floor_freedom=sums.floor[1])
        together = self._together(chunk, reference, options, without)
        return self.with_feeds(together, chunk, reference, options) if together else begin

    def _joint_possible(self, chunk: Chunk, without: Collection[str]) -> bool:
        return self._joint.possible and self._joint.few(self._shapes(chunk), without)

    def _rotated_directions(self, chunk: Chunk, reference: int, options: CalibrationOptions) -> StartingValues | None:
        """Rotations of directions and what turns phases outside of them; None where they are not searched for."""
        term = self._searched.rotated
        sums = None if term is None else self._read(chunk, self._terms, True, reference, options, Hands.INTENSITY)
        if sums is None:
            return None
        return rotated_starts(self._tree, term, self._whole.outside, self._parts, self._intervals, sums)

    def _together(self, chunk: Chunk, reference: int, options: CalibrationOptions, without) -> StartingValues | None:
        """Of terms of the whole sky and of directions at once; None where that is too much."""
        if not self._joint_possible(chunk, without):
            return None
        every = self._read(chunk, self._terms, True, reference, options)
        sums = None if every is None else every.of_parallel_hands()
        known, shapes = {}, self._shapes(chunk)
        for one in self._tree.parameters:
            if one.node in self.known and one.term in shapes and not self._searched.each:
                known[one.node] = np.broadcast_to(self.known[one.node], shapes[one.term])
        joint = None if sums is None else self._without_slopes(sums, without, known)
        if joint is None:
            return None
        lowest = not (joint.found_once or self._searched.in_doubt)  # parallel hands do not tell all that is in doubt
        if self._tree.gains_of or self._searched.several:
            return StartingValues(joint.values, joint.scale, joint.absent, joint.scales, *sums.floor, None, lowest)
        whole = {one.node for one in self._tree.parameters if one.direction is None}
        known = {name: value for name, value in joint.values.items() if name in whole}
        within = inside(every, self._tree, self._searched.around, self._intervals, known)
        found = self._of_directions(within, without, joint)
        values, scale = {**joint.values, **found.values}, found.scale if self._searched.scaled else None
        return replace(found, values=values, scale=scale, lowest=lowest)

    def _without_slopes(self, sums: Coherence, without, known) -> JointStart | None:
        """The search for all terms, on sums in which phases change little along the band."""
        sums, taken = without_slopes(sums, self._tree, self._searched.around, self._intervals)
        joint = self._jointly_found(self._joint, sums, without, sum_of(known, taken, -1))
        return joint and replace(joint, values=sum_of(joint.values, taken))

    def together_inside(self, sums: Coherence, without, known) -> JointStart | None:
        """All directions but some at once, on sums inside terms of the whole sky; `known`: from where that is begun."""
        if not (self._joint_inside.possible and self._joint_inside.few(self._shapes(sums.bins.chunk), without)):
            return None
        return self._jointly_found(self._joint_inside, sums, without, known, fewer=False)

    def _jointly_found(self, joint: JointStarts, sums: Coherence, without, known, *, fewer: bool = True):
        cells = {term.name: self._intervals.cells(term, sums) for term in joint.terms}
        shapes = {name: shape for name, shape in self._shapes(sums.bins.chunk).items() if name in cells}
        reference = sums.antennas[self._intervals.reference]
        return joint.find(sums, cells, shapes, reference, without, known, fewer=fewer)

    def _shapes(self, chunk: Chunk) -> dict[str, tuple[int, int]]:
        """(times, frequencies) of the solutions of each term."""
        frequencies = self._plan.frequencies
        return {t.name: (len(chunk.times[t.name].centre), len(frequencies[t.name].centre)) for t in self._terms}

    def run(
        self, chunk: Chunk, reference: int, options: CalibrationOptions, without: Collection[str] = ()
    ) -> StartingValues:
        """For one chunk; `reference`: number of the antenna that phases refer to; `without`: directions that are taken
        to be absent."""
        apart = bool(self._searched.each) and not self.in_two_steps
        terms = self._searched.each if apart else self._whole.steady
        if apart and self._joint_possible(chunk, without):  # all are searched for
            terms = self._terms
        sums = self._read(chunk, terms, apart, reference, options)
        if sums is None:
            return StartingValues({})
        return self._of_directions(sums, without) if apart else self._of_whole_sky(sums)

    def run_directions(
        self,
        chunk: Chunk,
        reference: int,
        options: CalibrationOptions,
        known: Mapping[str, NDArray],
        without: Collection[str] = (),
    ) -> StartingValues:
        """Directions inside terms of the whole sky; `known`: values [time, freq] of the Parms of these."""
        found = self.sums_inside(chunk, self._searched.each, reference, options, known)
        if found is None:
            return StartingValues({})
        return self._of_directions(found, without)

    def sums_inside(
        self,
        chunk: Chunk,
        terms: Sequence[Term],
        reference: int,
        options: CalibrationOptions,
        known: Mapping[str, NDArray],
    ) -> Coherence | None:
        """The sums of each part of the sky, for terms of directions, without what terms of the whole sky do; None where
        that is too much."""
        sums = self._read(chunk, [*terms, *self._searched.around], True, reference, options)
        if sums is None:
            return None
        steady = [term for term in (*terms, *self._searched.around) if term.kind.name != "rate"]
        found = inside(sums, self._tree, self._searched.around, self._intervals, known)
        return found.in_times(self._sums.bins(chunk, steady).time_edges_s)  # without rates of the whole sky

    def _read(self, chunk: Chunk, terms: Sequence[Term], apart: bool, reference: int, options, hands=None):
        """As of `SearchSums.read`; by other `hands` than terms are searched for by."""
        self._intervals = replace(self._intervals, reference=list(self._plan.group.antennas).index(reference))
        if hands is not None or not apart:
            hands = hands or self._whole.hands
            return self._sums.read(chunk, terms, apart, reference, options, hands=hands)
        if self._searched.crossed:
            found = self._sums.read(chunk, terms, apart, reference, options, hands=Hands.ALL)
            if found is not None:
                return found
        hands = Hands.CIRCULAR if self._searched.circular else Hands.PARALLEL
        return self._sums.read(chunk, terms, apart, reference, options, hands=hands)

    def _of_whole_sky(self, sums: Coherence) -> StartingValues:
        found, product = self._whole.run(self._intervals, sums)
        values: dict[str, NDArray[np.float64]] = {}
        for term in self._whole.terms:
            if term.name in found:
                values |= self._named(term, None, found[term.name])
        parallel = sums.of_parallel_hands()
        power = parallel.power[..., 0, 0].real.sum()
        in_phase = self._whole.brings_into_phase
        scale = product.real.sum() / (power or 1.0) if in_phase else math.sqrt(parallel.power_over_model)
        return StartingValues(values, float(scale) if self._searched.scaled and power > 0 and scale > 0 else None)

    def _of_directions(
        self,
        sums: Coherence,
        without: Collection[str],
        joint: JointStart | None = None,
    ) -> StartingValues:
        """One direction after the other, on what the others leave of the data; `joint`: from where they are known."""
        (term,), of_hands, sums = self._searched.each, sums, sums.of_parallel_hands()
        held = self._tree.held_instead(without)
        free = {
            one.direction
            for one in self._tree.parameters
            if one.term == term.name and not one.fixed and one.node not in held
        }
        found = SeveralDirections(sums, [part.directions[term.per] for part in self._parts], free, without)

        def search(product):
            return self._intervals.search(term, sums, product, any_phase=False)

        def phasors(values):
            return on_baselines(self._intervals.phasors(term, values, sums), sums)

        if joint is not None:
            found.take(self._jointly(term, sums, joint), search, phasors, joint.scales)
        else:
            joint = self._all_together(found, term, sums, search, phasors)
        found.leave_noise(list(self._tree.presence), search, phasors)
        parts = [part.directions[term.per] for part in self._parts]
        there = {name: own for name, own in found.values.items() if name not in found.absent}
        if self._searched.circular:
            for name, own in common_rotations(self._intervals, term, of_hands, parts, there).items():
                found.values[name] = found.values[name] + own[..., None]
        elif self._searched.crossed and of_hands.product.shape[3] == 4:
            there = {name: own for name, own in there.items() if name in self._searched.crossed}
            for name, own in differences_of_feeds(self._intervals, term, of_hands, parts, there).items():
                found.values[name] = found.values[name] - np.stack([np.zeros_like(own), own])[..., None]
        values: dict[str, NDArray[np.float64]] = {}
        for name, own in found.values.items():
            values |= self._named(term, name, own)
        absent = tuple(name for name in found.absent if name in self._tree.presence)
        most = found.most or 1.0
        share = {name: scale / most for name, scale in found.scales.items()}
        lowest = None if joint is None else not joint.found_once
        scale = found.scale if self._searched.scaled else None
        return StartingValues(values, scale, absent, share, *sums.floor, None, lowest)

    def _all_together(self, found: SeveralDirections, term: Term, sums, search, phasors) -> JointStart | None:
        """What the search for all directions together has led to, where that was made."""
        of_bins = (lambda x: self._intervals.free_phases(sums, x), lambda phase: on_baselines(np.exp(1j * phase), sums))
        if term.plane:
            parts = [part.directions[term.per] for part in self._parts]
            at_peak = functools.partial(self._intervals.search_plane, term, sums)
            find_planes(found, sums, parts, search, phasors, at_peak)
            return None
        found.run(search, phasors, of_bins if term.kind.name in ALONG_FREQUENCY else None)
        if term.kind.name == "phase" and len(sums.antennas) <= MOST_ANTENNAS and len(found.values) > 1:
            parts = [part.directions[term.per] for part in self._parts]
            cells = self._intervals.cells(term, sums)
            found.take(better_phases(sums, cells, parts, found, self._intervals.reference), search, phasors)
        # Once: without some directions there is less freedom, and the search tries that itself.
        begun = len(found.values) > 1 and not found.without
        if not (begun and self._joint_possible(sums.bins.chunk, found.without) and not self._searched.around):
            return None
        known = {}
        for name, own in found.values.items():
            known |= self._named(term, name, own)
        joint = self._jointly_found(self._joint, sums, found.without, known)
        if joint is not None and joint.good:
            found.adopt(self._jointly(term, sums, joint), joint.scales, phasors)
        elif joint is not None:
            found.take(self._jointly(term, sums, joint), search, phasors, joint.scales)
        return joint

    def _jointly(self, term: Term, sums: Coherence, joint: JointStart) -> dict[str, NDArray[np.float64]]:
        """{direction: [element, time, freq, antenna]} of a term."""
        shape = self._intervals.intervals_of(term, sums.bins.chunk)
        return by_direction(self._tree.parameters, term, joint.values, shape, sums.antennas)

    def _named(self, term: Term, direction: str | None, values) -> dict[str, NDArray[np.float64]]:
        return named(self._tree.parameters, term, direction, values, list(self._plan.group.antennas))


def _is_good(solved: SolveReport, sums: Coherence) -> bool:
    """Whether a fit explains the data as well as anything could; True where nothing says what could."""
    return not sums.floor[0] > 0 or is_good(chi_square_of(solved), freedom_of(solved), *sums.floor)
