"""Rotations of linear feeds with all diagonal terms that stand outside of them: gains, phases, delays and TEC.

Angles are found without polarisation first (`rotations_inside_gains`), with errors as large as that. Where they are
known the model is what turned antennas see, and the terms outside are a chain like any other (`chain_phases`). Where
these are known in turn, angles are phases of the hands of circular feeds; and so on. Signs of all angles, and turns of
the polarisation, are those that fit best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..terms.terms import Term
from .chain_phases import chain_phases, with_sizes
from .diagonal_gains import on_hands
from .gains_of_bins import with_amplitudes
from .interval_search import IntervalSearch
from .rotation_search import common_inside_gains, search_rotation_inside_gains
from .rotations_inside_gains import circular_hands_inside, with_turned_model

_PASSES = 3  # of angles and gains
_ROUNDING = 1e-9  # of what gains explain: of a sky without polarisation turns of all antennas change no more
_TURNS = (-2, -1, 1, 2)  # of the polarisation of all antennas, which is told by how it changes along frequency


@dataclass(frozen=True, eq=False)
class GainsOutside:
    """{name: values} of the `chain` of terms outside; `gains` [antenna, time, freq, feed] of the bins; `scale`: data
    over model, where no term has it; `explained` [time]: by how much they lower chi-square."""

    chain: dict[str, NDArray[np.float64]]
    gains: NDArray[np.complex128]
    scale: float
    explained: NDArray[np.float64]

    @classmethod
    def of(cls, intervals: IntervalSearch, terms: Sequence[Term], told: Coherence) -> GainsOutside | None:
        """`told`: sums of all hands with the model as turned antennas see it. None where bins tell no gains."""
        chain = chain_phases(intervals, terms, told)
        if chain is None:
            return None
        ones = np.ones((len(told.antennas), *told.product.shape[1:3], 2), complex)
        gains = math.prod((intervals.phasors(term, chain[term.name], told) for term in terms), start=ones)
        cells = [intervals.cells(term, told) for term in terms if "amplitude" in term.kind.quantities]
        if cells:
            gains = with_amplitudes(told, gains, cells)
        seen = on_hands(gains, told)
        agree = (told.product[..., 0] * np.conj(seen)).real.sum(axis=(0, 2, 3))
        power = (told.power[..., 0, 0].real * np.abs(seen) ** 2).sum(axis=(0, 2, 3))
        scale = 1.0 if cells else max(0.0, agree.sum()) / max(power.sum(), 1e-300)
        return cls(chain, gains, float(scale), 2 * scale * agree - scale**2 * power)


@dataclass(frozen=True, eq=False)
class _Found:
    """`angle` [1, time, freq, antenna] of the rotation, and the gains outside of it."""

    angle: NDArray[np.float64]
    outside: GainsOutside

    @property
    def gains(self) -> NDArray[np.complex128]:
        return self.outside.gains

    @property
    def explained(self) -> NDArray[np.float64]:
        return self.outside.explained


@dataclass(frozen=True, eq=False)
class GainsAroundRotation:
    """The search for one rotation and the terms `outside` of it. `sums`: of `Hands.INTENSITY`."""

    intervals: IntervalSearch
    rotation: Term
    outside: Sequence[Term]
    sums: Coherence
    origins: int

    def run(self) -> dict[str, NDArray]:
        """{name of a term: values [element, time, freq, antenna]}, complex ones of gains. Of an unpolarised sky angles
        are relative to the reference. Empty where bins tell no gains."""
        angle = search_rotation_inside_gains(self.intervals, self.rotation, self.sums)
        found = self._best([angle, -angle], polarised=False)
        for number in range(_PASSES):
            if found is None:
                return {}
            hands = circular_hands_inside(self.sums, found.gains)
            # Gains follow half a turn of an angle: at first both feeds of an antenna may have any phase besides.
            how = {"any_phase": number < _PASSES - 1, "origins": self.origins}
            angle = self.intervals.search_rotation(self.rotation, self.sums, hands, **how)
            commons = common_inside_gains(self.intervals, self.rotation, angle, found.gains, self.sums)
            found = self._best([sign * angle + common[..., None] for sign, common in commons])
        found = None if found is None else self._turned(found)
        return {} if found is None else self._values(found)

    def _best(self, angles: Sequence[NDArray[np.float64]], *, polarised: bool = True) -> _Found | None:
        every = [one for one in (self._gains(angle, polarised=polarised) for angle in angles) if one is not None]
        return max(every, key=lambda one: one.explained.sum(), default=None)

    def _gains(self, angle: NDArray[np.float64], *, polarised: bool = True) -> _Found | None:
        """Of known angles."""
        turned = self.intervals.phasors(self.rotation, angle, self.sums)[..., 0]
        told = with_turned_model(self.sums, turned, polarised=polarised)
        found = GainsOutside.of(self.intervals, self.outside, told)
        return None if found is None else _Found(angle, found)

    def _cells(self, term: Term) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return self.intervals.cells(term, self.sums)

    def _turned(self, found: _Found) -> _Found:
        """With all antennas turned further in some intervals, by half a turn in the middle of the band, if that fits
        better: linear polarisation is turned by twice as much."""
        if self.rotation.kind.name != "faraday":
            return found
        step = math.pi / float(self.intervals.rate(self.rotation, self.sums).mean())
        at_time, _ = self._cells(self.rotation)
        most = _ROUNDING * np.bincount(at_time, weights=np.abs(found.explained))
        turns = np.zeros(len(most))
        for count in _TURNS:
            other = self._gains(found.angle + count * step)
            if other is None:
                continue
            more = np.bincount(at_time, weights=other.explained - found.explained, minlength=len(most))
            turns, most = np.where(more > most, count, turns), np.maximum(more, most)
        if not turns.any():
            return found
        return self._best([found.angle, found.angle + step * turns[:, None, None]]) or found

    def _values(self, found: _Found) -> dict[str, NDArray]:
        return {
            self.rotation.name: found.angle,
            **with_sizes(self.outside, found.outside.chain, self.sums.of_parallel_hands()),
        }
