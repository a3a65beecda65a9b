"""Where a fit of directions begins if all terms are searched for together, on sums over the data.

One direction after the other, and terms of the whole sky and of directions in turns, end in minima of which there are
many where few antennas see directions that resemble each other. Where unknowns are few all of them are fitted at once,
from many places (`joint_search`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..plan.solve_trees import SolveTree
from ..searches.interval_search import ALONG_FREQUENCY
from ..terms.kinds import ROTATIONS
from ..terms.terms import Term
from .baseline_factors import BaselineFactors
from .goodness import SIGNIFICANT, is_exact, is_good
from .joint_blocks import Block, blocks_of
from .joint_fit import DirectionSums
from .joint_phases import MOST_ANTENNAS
from .joint_search import MOST_UNKNOWNS, OFTEN, Ended, ended, least_coarsely, lowest
from .joint_unknowns import AMPLITUDES, DIAGONAL, TermUnknowns, unknowns_of
from .several_directions import ABSENT
from .shaken_minima import SAME
from .significance import explained_of_noise

_ROUNDS = 3, 6  # batches of random places
_FEW = 3  # the same where the data are explained
_MOST_TRIED = 24  # sets of directions
_LEAST = 5.0  # logarithms of gains that a fit begins at are at most so much below the largest one
_MOST_OF_ALL = 2000  # unknowns of all blocks

Cells = Mapping[str, tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True, eq=False)
class JointStart:
    """`values` {Parm: [time, freq]} of all terms; `scales` {direction: of its model}; `absent`: directions that are not
    in the data; `chi_square`: of parallel hands; `criterion`: the same, and what a search for so many unknowns explains
    of noise;
    `good`: whether they explain the data as well as anything could; `possible`: whether that may be, as noise is;
    `found_once`: whether they do not, and no more than one search has ended there; `scale`: data over model, where no
    term has it."""

    values: dict[str, NDArray[np.float64]]
    scales: dict[str, float]
    absent: tuple[str, ...]
    chi_square: float
    criterion: float
    good: bool
    possible: bool
    found_once: bool
    scale: float | None = None


class JointStarts:
    """The search for all terms of a session. `names`: the direction of each part of the sums; `circular`: whether these
    are of hands of circular feeds, of data of linear ones."""

    def __init__(
        self, tree: SolveTree, terms: Sequence[Term], names: Sequence[str], *, scaled: bool, circular: bool = False
    ):
        self.tree, self.terms, self.names = tree, list(terms), list(names)
        self.scaled = scaled  # data are any factor larger than the model
        of = {term.per for term in terms} - {None}
        # Phases of directions, and nothing else, have been searched for by other ways before.
        self._alone = len(terms) == 1 and (terms[0].turns or circular)
        self._hopeless = False  # all directions together have not explained the data of this chunk
        kinds = (*DIAGONAL, *ROTATIONS) if circular else DIAGONAL
        self.possible = len(of) == 1 and all(term.kind.name in kinds and not term.plane for term in terms)

    def few(self, shapes: Mapping[str, tuple[int, int]], without: Collection[str] = ()) -> bool:
        """Whether there may be not too many unknowns: of all, and of an interval and feed of a term of directions."""
        own = [one for one in self.tree.parameters if one.term in shapes]
        every = sum(int(np.prod(shapes[one.term])) for one in own)
        there = [one for one in own if not one.fixed and one.direction not in (None, *without)]
        searched = {term.name for term in self.terms if term.kind.name in ALONG_FREQUENCY}
        of_interval = 0.0
        for term in self.terms:
            nodes = len({one.node for one in there if one.term == term.name})
            antennas = len({one.antenna for one in there if one.term == term.name})
            free = nodes * (1 - 1 / max(1, antennas)) / len(term.elements)  # one antenna is the reference
            of_interval = max(of_interval, free * (2 if term.name in searched else 1))
        return every <= 2 * _MOST_OF_ALL and of_interval <= MOST_UNKNOWNS

    def find(
        self,
        sums: Coherence,
        cells: Cells,
        shapes: Mapping[str, tuple[int, int]],
        reference: int,
        without: Collection[str],
        known: Mapping[str, NDArray[np.float64]],
        *,
        fewer: bool = True,
    ) -> JointStart | None:
        """None where there are too many unknowns. `known`: from where it is begun; `without`: directions that are taken
        to be absent; `fewer`: whether others may be found to be.

        First all directions have the same scale. Then directions are left out as long as the others explain the data
        better without them: those that may be absent, whatever the terms are, and, where the data are not explained,
        all, if any scale of each would explain them. All of this a few times and then often, unless phases are all
        that there is and these have not even then explained the data. If none of this explains the data, which more
        freedom would not do worse, some directions less are looked at once only.
        """
        data = _Data(self, sums, cells, shapes, reference)

        def problem(absent: Collection[str]) -> _Problem:
            return _Problem(data, frozenset({*without, *absent}))

        self._hopeless = self._hopeless and bool(without)
        one = problem(())
        if not one.possible:
            return None
        best = None
        for seed, batches in enumerate(_ROUNDS):
            how = {"batches": batches, "seed": seed}
            found = one.start(one.lowest(one.begin(known if best is None else best.values), scaled=False, **how))
            best = found if best is None or found.criterion < best.criterion else best
            loose = None if self._hopeless else _free(one, best, how)
            free = loose if loose is not None and loose.possible else None
            if free is not None and free is not best:
                # Scales that are free lead past minima: where all directions are there they end at 1.
                near = one.start(one.lowest(one.begin(free.values), scaled=False, batches=0, seed=seed))
                best = near if near.chi_square < best.chi_square * (1 - SAME) else best
            # Few antennas can be explained by all directions also where one is not there.
            if fewer and free is not None and not (best.good and len(sums.antennas) > MOST_ANTENNAS):
                best = _with_fewer(problem, one, best, free, how)
                if set(best.absent) > set(without) and not best.possible:  # it is there, if scales explain the data
                    best = replace(best, found_once=True)
            elif free is None and loose is not None and loose.found_once and not best.good:
                # What would explain them has not been found.
                best = replace(best, found_once=True)
            if self._hopeless or not best.found_once or (self._alone and not free):
                break
        self._hopeless = best is not None and not best.good
        return best


def _free(one: _Problem, found: JointStart, how) -> JointStart:
    """What is found if each direction has any scale. Scales lead past minima, so that none need be shaken."""
    if found.good or len(one.unknowns.scale_of) < 2:
        return found
    return one.start(one.lowest(one.begin(found.values), scaled=True, apart=True, shaken=False, **how))


def _with_fewer(
    problem: Callable[[Collection[str]], _Problem], one: _Problem, found: JointStart, free: JointStart, how
) -> JointStart:
    """What was found of some directions, or what is of fewer, if that is better. `problem`: without some directions;
    `free`: as of `_free`, than which all of them explain less; `how`: it is searched for."""
    if len(one.unknowns.scale_of) < 2:
        return found
    suspects = [(name,) for name in one.directions] if found.good else _suspects(free.scales)
    if found.good:
        how = {**how, "batches": _FEW}
        suspects = [absent for absent in suspects if not problem({*one.absent, *absent}).is_worse(found)]
        if len(suspects) > 1:
            within = one.least_coarsely(found)
            suspects = [name for name in suspects if not problem({*one.absent, *name}).falls_short(found, one, within)]
        if suspects:
            # Where data tell so little there are other minima that are as good but for what noise can be.
            again = one.start(one.lowest(one.begin(found.values), scaled=False, enough=False, **how))
            found = again if again.chi_square < found.chi_square else found
    left, tried = [frozenset({*one.absent, *absent}) for absent in suspects], []

    def searched(fewer: _Problem, begin: JointStart, **how) -> JointStart:
        return fewer.start(
            fewer.lowest(fewer.begin(begin.values), scaled=False, enough=False, **{"shaken": False, **how})
        )

    def best() -> JointStart:
        return min([found, *tried], key=lambda one: one.criterion)

    for absent in left:  # which grows
        fewer = problem(absent)
        if fewer.possible and not fewer.is_worse(best()) and len(tried) < _MOST_TRIED:
            tried.append(searched(fewer, free, **how))
            if tried[-1].possible:  # what has some of its directions may be so, too
                left += [more for name in fewer.directions if (more := absent | {name}) not in left]
    near = min((one for one in tried if one.possible), key=lambda one: one.criterion, default=found)
    if best() is found and near is not found:
        tried.append(searched(problem(near.absent), near, **{**how, "batches": _ROUNDS[-1], "shaken": True}))
    return best()


def _suspects(scales: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Directions that may be absent: all of which hardly anything is found, then each, that with the least first."""
    there = {name: scale for name, scale in scales.items() if scale > 0}
    most = max(there.values(), default=0.0)
    order = sorted(there, key=lambda name: there[name])
    least = tuple(name for name in order if there[name] <= ABSENT * most)
    every = [least] if len(least) > 1 else []
    return [*every, *((name,) for name in order)] if len(order) > 1 else []


def _never(found: Ended) -> bool:
    return False


class _Data:
    """Sums over the data, and what they can be explained to. `starts`: what is searched for in them."""

    def __init__(self, starts: JointStarts, sums: Coherence, cells: Cells, shapes, reference: int):
        self.starts, self.sums, self.cells, self.shapes, self.reference = starts, sums, cells, shapes, reference
        of_frequency = np.stack([cells[term.name][1] for term in starts.terms])
        self._intervals = np.ravel(np.unique(of_frequency, axis=1, return_inverse=True)[1])
        self._span_rad = 0.0
        self._factors: BaselineFactors | None = None

    def factors(self, span_rad: float) -> BaselineFactors:
        """Of any phases that have been found, and those of a baseline that change by so much over the band."""
        if self._factors is None or span_rad > self._span_rad:
            self._span_rad = max(self._span_rad, span_rad)
            self._factors = BaselineFactors(self.sums, self.starts.names, self._intervals, self._span_rad)
        return self._factors


class _Problem:
    """Sums and unknowns without some directions."""

    def __init__(self, data: _Data, without: frozenset[str]):
        starts, sums, shapes = data.starts, data.sums, data.shapes
        self._data, self._tree, self._sums, self._shapes = data, starts.tree, sums, shapes
        names = starts.names
        self.directions = [name for name in dict.fromkeys(names) if name not in without]
        self._every = list(dict.fromkeys(names))
        # Those of terms that are held, because others can do the same, stay as in the unit matrix.
        there = [one for one in self._tree.parameters if one.term in shapes]
        self._own = [one for one in there if one.direction not in without]
        free = {one.node for one in self._tree.solved(data.reference, without) if one.direction not in without}
        # Gains that are solved for have a direction's scale, and none is known of what keeps the unit matrix.
        with_gains = {one.direction for one in self._own if one.scales and one.node in free}
        has_term = {one.direction for one in self._own}
        scaled = [name for name in self.directions if name not in with_gains and (starts.scaled or name in has_term)]
        self.unknowns = unknowns_of(
            starts.terms, self._own, free, sums, data.cells, shapes, self.directions, scaled, any_scale=starts.scaled
        )
        of = np.array([[name == one for one in names] for name in self.directions], dtype=float)
        of = of.reshape(-1, len(names))
        power, square = of @ sums.power @ of.T, float(sums.data.sum())
        self._there = DirectionSums(sums.baselines, sums.product @ of.T, power, square, len(sums.antennas))
        self._blocks = blocks_of(self._there, self.unknowns, sums.data, sums.count)

    @property
    def possible(self) -> bool:
        """Whether there is anything to find, and not too much."""
        most = max(len(one.unknowns.others) + 2 * len(one.unknowns.whole) for one in self._blocks)
        return len(self.directions) > 0 and 0 < most <= MOST_UNKNOWNS and len(self.unknowns.number) <= _MOST_OF_ALL

    def begin(self, known: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """The place of known values; as large as the data are where these say nothing of it."""
        place, own = self.unknowns.place(self._own, known), self.unknowns.amplitudes
        if not len(own):  # those of directions, where these have any
            own = next(iter(self._amplitudes()), own)
        if len(own) and not place[own].any():
            power = self._there.power.real.diagonal(axis1=-2, axis2=-1)
            bright = int(np.argmax(power.sum(axis=(0, 1, 2, 3))))
            there = power[..., bright] > 0
            square = np.abs(self._there.product[..., bright][there]) ** 2 / power[..., bright][there]
            if square.sum() > 0:  # of the brightest as if the others were not there
                place[own] = 0.25 * np.log(square.sum() / power[..., bright].sum())
        return place

    def _amplitudes(self) -> list[NDArray[np.intp]]:
        """Numbers of the logarithms of amplitudes of each term of directions that has any."""
        nodes: dict[str, set[str]] = {}
        for one in self._own:
            if one.direction is not None and one.part in AMPLITUDES:
                nodes.setdefault(one.term, set()).add(one.node)
        number = self.unknowns.number
        found = [np.array([n for (node, _), n in number.items() if node in own], np.intp) for own in nodes.values()]
        return [own for own in found if len(own)]

    def lowest(
        self,
        begin: NDArray[np.float64],
        *,
        scaled: bool,
        batches: int,
        seed: int,
        enough: bool = True,
        apart: bool = False,
        shaken: bool = True,
    ) -> Ended:
        """The lowest place that is found; `enough`: one that explains the data is; `apart`: scales may differ between
        the parts of the search, and the place has their mean; `shaken`: as of `joint_search.lowest`."""
        how = {"scaled": scaled, "batches": batches, "seed": seed, "shaken": shaken}
        found = [
            lowest(one.sums, one.unknowns, begin[one.numbers], self._good(one) if enough else _never, **how)
            for one in self._blocks
        ]
        if len(found) == 1:
            return found[0]
        place = begin.copy()
        for block, own in zip(self._blocks, found, strict=True):
            place[block.numbers] = own.place
        for number in self.unknowns.scales:  # of which each had its own
            own = [one.place[block.numbers == number] for block, one in zip(self._blocks, found, strict=True)]
            place[number] = np.concatenate(own).mean()
        often = min(one.often for one in found)
        if apart or not self.unknowns.scales:
            return Ended(place, sum(one.chi_square for one in found), often)
        return replace(ended(self._there, self.unknowns, place, scaled=scaled), often=often)

    def _good(self, block: Block) -> Callable[[Ended], bool]:
        freedom = 2 * block.count - len(block.numbers)
        share = block.count / max(1, int(self._sums.count.sum()))

        def good(found: Ended) -> bool:
            if is_exact(found.chi_square, block.sums.data):
                return True
            floor, floor_freedom = self._data.factors(_span_rad(block.unknowns, found.place)).floor(())
            return is_good(found.chi_square, freedom, floor, int(share * floor_freedom))

        return good

    def _not_lost(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """With gains from which a fit can begin: where they are next to 0 chi-square does not depend on them. What one
        antenna's are larger than all others' is shared by all."""
        place = place.copy()
        for one in self.unknowns.tight:
            for own in [] if one.turns or one.directions.all() else map(np.unique, one.index):
                own = own[own >= 0][np.argsort(place[own[own >= 0]])]
                if len(own) > 2 and place[own[-1]] - place[own[-2]] > _LEAST:
                    half = 0.5 * (place[own[-1]] - place[own[-2]])
                    place[own[:-1]] += half
                    place[own[-1]] -= half
        for own in self._amplitudes():
            place[own] = np.maximum(place[own], place[own].max() - _LEAST)
        return place

    @property
    def absent(self) -> tuple[str, ...]:
        """Directions without which it is."""
        return tuple(name for name in self._every if name not in self.directions)

    def is_worse(self, found: JointStart) -> bool:
        """Whether nothing that can be found is better."""
        factors, noise = self._data.factors(0.0), self._data.factors(0.0).floor(())[0]
        least = factors.least(self.absent, len(self.unknowns.number), noise)
        return least + noise * self._of_noise > found.criterion

    def least_coarsely(self, found: JointStart) -> float:
        """The lowest chi-square that is found for part of the band, next to what was found for all; NaN where that
        says nothing of all."""
        begin = self.begin(found.values)
        return sum(least_coarsely(one.sums, one.unknowns, begin[one.numbers], scaled=False) for one in self._blocks)

    def falls_short(self, found: JointStart, every: _Problem, within: float) -> bool:
        """Whether part of the band shows that these directions are too few; `within`: chi-square there of `every` one
        of those of which `found` is."""
        fewer = every._of_noise - self._of_noise
        more = self._data.factors(0.0).floor(())[0] * (fewer + SIGNIFICANT * math.sqrt(2 * max(fewer, 0.0)))
        return within + more < self.least_coarsely(found)

    @property
    def _of_noise(self) -> float:
        """So many of its variances a search for these unknowns explains of noise."""
        numbers = list(self.unknowns.number.values())
        turns = len(set(self.unknowns.tight_of).intersection(numbers))
        return explained_of_noise(phases=len(numbers) - turns, turns=turns)

    def start(self, found: Ended) -> JointStart:
        power = self._there.power.real.sum(axis=(0, 1, 2, 3)).diagonal()
        place, scales = self.unknowns.without_common_scale(found.place, dict(zip(self.directions, power, strict=True)))
        values = self.unknowns.values(self._not_lost(place), self._own, self._shapes)
        scales = {name: scales.get(name, 1.0 if name in self.directions else 0.0) for name in self._every}
        noise, noise_freedom = self._data.factors(_span_rad(self.unknowns, found.place)).floor(())
        unknowns = len(self.unknowns.number)
        freedom = 2 * int(self._sums.count.sum()) - unknowns
        fit = found.chi_square, freedom, noise, noise_freedom
        criterion = found.chi_square + (noise * self._of_noise if noise > 0 else 0.0)
        exact = is_exact(found.chi_square, self._there.data)
        good, possible = exact or is_good(*fit), exact or is_good(*fit, SIGNIFICANT)
        once = not good and found.often < OFTEN
        of_all = self.unknowns.of_all
        scale = None if of_all is None else float(np.exp(2 * place[of_all]))
        return JointStart(values, scales, self.absent, found.chi_square, criterion, good, possible, once, scale)


def _span_rad(unknowns: TermUnknowns, place: NDArray[np.float64]) -> float:
    """By how much phases of a baseline may change over the band, at a tight place."""
    total = 0.0
    for one in unknowns.tight:
        own = place[one.index[one.index >= 0]]
        total = max(total, 2 * np.ptp(one.rate) * np.abs(own).max(initial=0.0) if one.turns else 0.0)
    return total
