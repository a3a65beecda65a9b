"""The search for the unknowns of all terms together, from many places."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .coarse_fits import CoarseFit, coarse_fits
from .joint_fit import DirectionSums, JointFit
from .joint_turns import with_whole_turns
from .joint_unknowns import TermUnknowns

MOST_UNKNOWNS = 400
_STARTS = 64
_SAME = 1e-6  # of chi-square
_OFTEN = 6  # one of so many batches finds the lowest again, and one more: a wrong one may be the next that is found
_FIRST_STEPS, _KEPT, _STEPS = 20, 16, 80
_BEST, _TURNED = 3, 6  # of places without whole turns, and of turns of each
_NUMBERS = 1 << 20  # that are looked at together
_ELIMINATED = 3e7  # the same of unknowns to the third power


@dataclass(frozen=True)
class Ended:
    """A place of the tight unknowns, and its chi-square."""

    place: NDArray[np.float64]
    chi_square: float


def lowest(
    sums: DirectionSums,
    unknowns: TermUnknowns,
    begin: NDArray[np.float64],
    good: Callable[[float], bool],
    *,
    scaled: bool,
    batches: int,
    seed: int = 0,
) -> Ended:
    """The lowest place that is found: next to a place `begin` of the tight unknowns, or else from random ones; until
    chi-square is `good`, or the lowest has been found again (of many batches, several times), or after so many
    `batches` of these.

    `scaled`: whether scales of directions are unknown, too: there are more minima then, but without them a direction
    that is not in the data spoils all others.
    """
    search = _Search(sums, unknowns, scaled)
    found = search.turned(unknowns.loosened(begin)[None])
    found = _better(found, search.ended(begin[None]))
    rng = np.random.default_rng(seed)
    least, again = math.inf, 0
    for batch in range(batches):
        if good(found.chi_square):
            break
        one, chi_square = search.from_anywhere(begin, batch, rng)
        found = _better(found, one)
        # Loose places are found again; of whole turns there may be many that are as good within noise.
        again = again + 1 if abs(chi_square - least) <= _SAME * least else 0 if chi_square < least else again
        if again > batches // _OFTEN:
            break
        least = min(least, chi_square)
    return found


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

    def from_anywhere(self, begin: NDArray[np.float64], batch: int, rng) -> tuple[Ended, float]:
        """The lowest of some random places, and chi-square of the loose one; batches have other parts of the band."""
        found = self._coarsely(self._coarse[batch % len(self._coarse)], begin, rng)
        place, chi_square = self._loose.climbed(found, _STEPS, self._held_loose)
        return self.turned(_lowest(place, chi_square, _BEST)), float(chi_square.min())

    def _coarsely(self, coarse: CoarseFit, begin: NDArray[np.float64], rng) -> NDArray[np.float64]:
        """Loose places, without slopes, next to which chi-square may be low."""
        size = min(_NUMBERS // coarse.size, _ELIMINATED / coarse.fit.count**3)
        place = _random(self._unknowns, begin, int(np.clip(size, 8, _STARTS)), rng)
        held = coarse.numbers_of(self._held_loose)
        own, chi_square = coarse.fit.climbed(place[:, coarse.numbers], _FIRST_STEPS, held)
        own, chi_square = coarse.fit.climbed(_lowest(own, chi_square, _KEPT), _STEPS, held)
        own = _lowest(own, chi_square, _BEST)
        place = place[: len(own)]
        place[:, coarse.numbers] = own
        return place

    def turned(self, places: NDArray[np.float64]) -> Ended:
        """The lowest next to loose places, with whole turns."""
        unknowns = self._unknowns
        places, _ = self._loose.climbed(places, _STEPS, self._held_loose)
        if not len(unknowns.whole):
            return self.ended(unknowns.tightened(places))
        normal = self._loose.normal(self._loose.seen(places))
        held = self._held_loose
        found = [with_whole_turns(unknowns, *one, held, _TURNED) for one in zip(places, *normal, strict=True)]
        return self.ended(np.concatenate([*found, unknowns.tightened(places)]))

    def ended(self, places: NDArray[np.float64]) -> Ended:
        """The lowest next to tight places."""
        places, chi_square = self._tight.climbed(places, _STEPS, self._held)
        chi_square = np.where(np.isfinite(chi_square), chi_square, np.inf)
        best = int(np.argmin(chi_square))
        return Ended(places[best], float(chi_square[best]))


def _lowest(place: NDArray[np.float64], chi_square: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Of places the lowest; of minima that are the same one is enough."""
    order = np.argsort(chi_square, kind="stable")
    new = np.append(True, np.diff(chi_square[order]) > _SAME * chi_square[order[1:]])
    return place[order[new][:count]]


def _random(unknowns: TermUnknowns, begin: NDArray[np.float64], count: int, rng) -> NDArray[np.float64]:
    """Loose places: phases of directions anywhere, slopes 0; all else as it was."""
    place = np.tile(unknowns.loosened(begin), (count, 1))
    place[:, unknowns.slope] = 0.0
    for one in unknowns.loose:
        if not one.turns or (one.directions.all() and len(one.directions) > 1):
            continue
        numbers = np.setdiff1d(one.index[one.index >= 0], unknowns.slope)
        place[:, numbers] = rng.uniform(-np.pi, np.pi, (count, len(numbers)))
    return place


def _better(one: Ended, other: Ended) -> Ended:
    return other if other.chi_square < one.chi_square else one
