"""A chain of diagonal terms outside of a rotation of linear feeds in each direction: what turned antennas see is the
model by which the chain is found."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.terms import Term
from .chain_phases import with_sizes
from .gains_around_rotations import GainsOutside
from .interval_search import SEARCHED, IntervalSearch
from .rotated_directions import RotatedDirections, Turned

_ROUNDING = 1e-9  # of what is explained


@dataclass(frozen=True, eq=False)
class RotatedStart:
    """`angles` {direction: [1, time, freq, antenna]}; `chain` {name of a term outside: values [element, time, freq,
    antenna], complex ones of gains}; `scale`: data over model, where no term has it."""

    angles: dict[str, NDArray]
    chain: dict[str, NDArray]
    scale: float


@dataclass(frozen=True, eq=False)
class GainsAroundDirections:
    """`outside`: terms of the whole sky that turn phases; `sums`: of `Hands.INTENSITY`, for each part of the sky, the
    direction `of_part` of each; `held`: directions in which the angle of the reference is 0, as data do not tell it."""

    intervals: IntervalSearch
    rotation: Term
    outside: Sequence[Term]
    sums: Coherence
    of_part: Sequence[str]
    held: Collection[str]

    def run(self) -> list[RotatedStart]:
        """Where angles of either sign lead to, that which explains more first; none where that is too much, or where
        nothing is turned."""
        names = list(dict.fromkeys(self.of_part))
        cells = self.intervals.cells(self.rotation, self.sums)
        search = RotatedDirections(self.sums, [names.index(name) for name in self.of_part], cells)
        turned = search.run() if search.few else None
        if turned is None:
            return []
        found = [own for own in (self._outside(search, one) for one in (turned, turned.mirrored)) if own is not None]
        # Which sign angles have may be told by what terms outside can do.
        return [self._start(names, search, *one) for one in sorted(found, key=lambda one: -one[1].explained.sum())]

    def _start(
        self, names: Sequence[str], search: RotatedDirections, turned: Turned, outside: GainsOutside
    ) -> RotatedStart:
        reference = turned.angle[..., [self.intervals.reference]]
        angles = {
            name: np.angle(np.exp(1j * (turned.angle[k] - (reference[k] if name in self.held else 0.0))))[None]
            for k, name in enumerate(names)
        }
        told = search.seen(turned.angle).of_parallel_hands()
        return RotatedStart(angles, with_sizes(self.outside, outside.chain, told), outside.scale)

    def _outside(self, search: RotatedDirections, turned: Turned) -> tuple[Turned, GainsOutside] | None:
        """Terms outside, and angles with half a turn more of all of an antenna, which gains of the other sign undo,
        where these terms have no phase of that kind."""
        found = GainsOutside.of(self.intervals, self.outside, search.seen(turned.angle))
        if found is None or not all(term.kind.name in (*SEARCHED, "crosshand") for term in self.outside):
            return None if found is None else (turned, found)
        count, since = turned.angle.shape[-1], 0
        for antenna in itertools.cycle(range(count)):
            half = np.pi * (np.arange(count) == antenna)
            other = replace(turned, angle=turned.angle + half)
            own = GainsOutside.of(self.intervals, self.outside, search.seen(other.angle))
            better = own is not None and own.explained.sum() > (1 + _ROUNDING) * found.explained.sum()
            found, turned, since = (own, other, 0) if better else (found, turned, since + 1)
            if since == count:
                break
        return turned, found
