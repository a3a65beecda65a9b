"""The search for the unknowns of all terms together, from many places."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .coarse_fits import CoarseFit, coarse_fits
from .joint_fit import DirectionSums, JointFit
from .joint_turns import with_whole_turns
from .joint_unknowns import TermUnknowns
from .shaken_minima import SAME, lowest_of, shaken_minima

MOST_UNKNOWNS = 400
_STARTS = 64
#: So many starts seldom end in the same minimum, if that is not the lowest (Boender & Rinnooy Kan 1987, Mathematical
#: Programming 37, 59, on when to stop).
OFTEN = 3
_OF_MANY = 2  # for so many counts a search of shaken minima, which knows nothing of those before
_FIRST_STEPS, _KEPT, _STEPS = 20, 16, 80
_BEST, _TURNED = 3, 6  # of places without whole turns, and of turns of each
_BEST_OF_SOME = 8  # places of intervals that are searched before others
_FIRST_TIGHT, _LAST = 6, 3  # steps from each of these, and how many go on
_NUMBERS = 1 << 20  # that are looked at together
_ELIMINATED = 3e7  # the same of unknowns to the third power


@dataclass(frozen=True)
class Ended:
    """A place of the tight unknowns, and its chi-square; `often`: how many starts that know nothing of each other have
    ended there."""

    place: NDArray[np.float64]
    chi_square: float
    often: int = 0


def lowest(
    sums: DirectionSums,
    unknowns: TermUnknowns,
    begin: NDArray[np.float64],
    good: Callable[[Ended], bool],
    *,
    scaled: bool,
    batches: int,
    seed: int = 0,
    shaken: bool = True,
) -> Ended:
    """The lowest place that is found: next to a place `begin` of the tight unknowns, or else by searches from random
    ones; until it is `good`, or the lowest has been found often enough, or after so many `batches` of these.

    `scaled`: whether scales of directions are unknown, too: there are more minima then, but without them a direction
    that is not in the data spoils all others. `shaken`: whether minima are shaken, from the second batch on.
    """
    search = _Search(sums, unknowns, scaled)
    found = _better(search.turned(unknowns.loosened(begin)[None]), search.ended(begin[None]))
    rng = np.random.default_rng(seed)
    for batch in range(batches):
        if found.often >= OFTEN or good(found):
            break
        found = _together(found, search.from_anywhere(begin, batch, rng, shaken=shaken and batch > 0))
    return found


def least_coarsely(
    sums: DirectionSums, unknowns: TermUnknowns, begin: NDArray[np.float64], *, scaled: bool, seed: int = 0
) -> float:
    """The lowest chi-square of part of a band that is found next to a tight place, or a random one; NaN where phases
    change within what is searched."""
    return _Search(sums, unknowns, scaled).least_coarsely(begin, np.random.default_rng(seed))


def ended(sums: DirectionSums, unknowns: TermUnknowns, place: NDArray[np.float64], *, scaled: bool) -> Ended:
    """The lowest place next to a tight one."""
    return _Search(sums, unknowns, scaled).ended(place[None])


class _Search:
    def __init__(self, sums: DirectionSums, unknowns: TermUnknowns, scaled: bool):
        self._unknowns = unknowns
        self._tight, self._loose = JointFit(sums, unknowns.tight), JointFit(sums, unknowns.loose)
        self._held = [] if scaled else list(unknowns.scale_of.values())
        self._held_loose = [] if scaled else unknowns.loose_scales
        self._coarse = coarse_fits(sums, unknowns)

    def from_anywhere(self, begin: NDArray[np.float64], batch: int, rng, *, shaken: bool) -> Ended:
        """The lowest that is found from some random places; batches have other parts of the band."""
        found, often = self._coarsely(self._coarse[batch % len(self._coarse)], begin, rng, shaken)
        if len(found) > _BEST:
            found = lowest_of(*self._loose.climbed(found, _FIRST_STEPS, self._held_loose), _BEST)[0]
        place, chi_square = self._loose.climbed(found, _STEPS, self._held_loose)
        return replace(self.turned(lowest_of(place, chi_square, _BEST)[0]), often=often)

    def _coarsely(self, coarse: CoarseFit, begin, rng, shaken: bool) -> tuple[NDArray[np.float64], int]:
        """Loose places, without slopes, next to which chi-square may be low; how often the lowest has been found."""
        place = _random(self._unknowns, begin, self._starts(coarse), rng)
        held = coarse.numbers_of(self._held_loose)
        own, chi_square = coarse.fit.climbed(place[:, coarse.numbers], _FIRST_STEPS, held)
        if shaken:
            phases = [coarse.numbers_of(one) for one in _phases(self._unknowns).values()]
            own, chi_square = shaken_minima(own, chi_square, lambda x: coarse.fit.climbed(x, _STEPS, held), phases, rng)
        else:
            low = np.argsort(chi_square, kind="stable")[:_KEPT]
            own, chi_square = coarse.fit.climbed(own[low], _STEPS, held)
        often = _OF_MANY if shaken else int((chi_square <= chi_square.min() * (1 + SAME)).sum())
        if coarse.rest or not coarse.exact:  # which may have another lowest one; nor are slopes searched for in it
            often = 1
        own, _ = lowest_of(own, chi_square, _BEST_OF_SOME if coarse.rest else _BEST)
        place = place[: len(own)]
        place[:, coarse.numbers] = own
        return coarse.extended(place, _FIRST_STEPS, self._held_loose, rng), often

    def least_coarsely(self, begin: NDArray[np.float64], rng) -> float:
        """As `least_coarsely`."""
        coarse, unknowns = self._coarse[0], self._unknowns
        if not coarse.exact:
            return math.nan
        place = np.concatenate([unknowns.loosened(begin)[None], _random(unknowns, begin, self._starts(coarse), rng)])
        held = coarse.numbers_of(self._held_loose)
        place, chi_square = coarse.fit.climbed(place[:, coarse.numbers], _FIRST_STEPS, held)
        low = np.argsort(chi_square, kind="stable")[:_KEPT]
        return float(coarse.fit.climbed(place[low], _STEPS, held)[1].min())

    @staticmethod
    def _starts(coarse: CoarseFit) -> int:
        size = min(_NUMBERS // coarse.size, _ELIMINATED / coarse.fit.count**3)
        return int(np.clip(size, 8, _STARTS))

    def turned(self, places: NDArray[np.float64]) -> Ended:
        """The lowest next to loose places, with whole turns."""
        unknowns = self._unknowns
        places, _ = self._loose.climbed(places, _STEPS, self._held_loose)
        if not len(unknowns.whole):
            return self.ended(unknowns.tightened(places))
        normal = self._loose.normal(places)
        held = self._held_loose
        found = [with_whole_turns(unknowns, *one, held, _TURNED) for one in zip(places, *normal, strict=True)]
        return self.ended(np.concatenate([*found, unknowns.tightened(places)]))

    def ended(self, places: NDArray[np.float64]) -> Ended:
        """The lowest next to tight places."""
        if len(places) > _LAST:
            places, chi_square = self._tight.climbed(places, _FIRST_TIGHT, self._held)
            places = places[np.argsort(chi_square, kind="stable")[:_LAST]]
        places, chi_square = self._tight.climbed(places, _STEPS, self._held)
        chi_square = np.where(np.isfinite(chi_square), chi_square, np.inf)
        best = int(np.argmin(chi_square))
        return Ended(places[best], float(chi_square[best]), 1)


def _phases(unknowns: TermUnknowns) -> dict[tuple[bool, ...], NDArray[np.intp]]:
    """Numbers of the loose phases that are searched for, without slopes, by the directions that they act on."""
    found: dict[tuple[bool, ...], NDArray[np.intp]] = {}
    for one in unknowns.loose:
        if one.turns and not (one.directions.all() and len(one.directions) > 1):
            key = tuple(map(bool, one.directions))
            numbers = np.setdiff1d(one.index[one.index >= 0], unknowns.slope)
            found[key] = np.union1d(found.get(key, numbers), numbers)
    return {key: numbers for key, numbers in found.items() if len(numbers)}


def _random(unknowns: TermUnknowns, begin: NDArray[np.float64], count: int, rng) -> NDArray[np.float64]:
    """Loose places: phases of directions anywhere, slopes 0; all else as it was."""
    place = np.tile(unknowns.loosened(begin), (count, 1))
    place[:, unknowns.slope] = 0.0
    for numbers in _phases(unknowns).values():
        place[:, numbers] = rng.uniform(-np.pi, np.pi, (count, len(numbers)))
    return place


def _better(one: Ended, other: Ended) -> Ended:
    return other if other.chi_square < one.chi_square else one


def _together(one: Ended, other: Ended) -> Ended:
    """The lower end of two searches, and how often it has been found."""
    same = abs(one.chi_square - other.chi_square) <= SAME * max(one.chi_square, other.chi_square)
    best = _better(one, other)
    return replace(best, often=one.often + other.often) if same else best
