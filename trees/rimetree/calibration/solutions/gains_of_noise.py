"""Antennas whose gains are hardly larger than those that noise alone gives.

The real and the imaginary part of a gain of noise are each as large as their error, so that the mean of its squares
over the squared error is 2, with a standard deviation of 2. It is more where other unknowns follow the noise as well.
Gains of other antennas do, from few data: so all below 5 is taken to be noise. Gains with as much signal beside it
would have phases that are wrong by half a radian. And a delay that was searched for is the highest of many peaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .term_solutions import TermSolutions

_OF_NOISE, _SURE = 2.0, 3.0  # mean, and by how many standard deviations of it gains may be larger,
_LEAST = 5.0  # and what the mean must be at least to be more than noise
_PEAK = 14.0  # what the highest of a thousand peaks of noise adds to the sum: 2 ln 1000
_SEARCHED = {"clock", "rate", "tec"}
_FEED_OF = {"": "", "0": "0", "00": "0", "1": "1", "11": "1"}  # elements on the diagonal


@dataclass
class GainsOverErrors:
    """Of one term of the whole sky: squares of gains over those of their errors, by antenna and element of the matrix,
    summed over chunks; how many there are; and how many delays or TEC an antenna has, of one feed."""

    sums: dict[tuple[str, str], float] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    searched: dict[str, int] = field(default_factory=dict)

    def add(self, found: TermSolutions, variance: float) -> None:
        """Solutions of a chunk. `variance`: by which weights differ from 1/sigma^2, and squares of errors with them."""
        if found.directions != ("",):
            return
        if _SEARCHED & set(found.value):
            for a, antenna in enumerate(found.antennas):
                most = int((~found.flag[:, :, a]).sum(axis=(0, 1)).max())
                self.searched[antenna] = self.searched.get(antenna, 0) + most
        if "amplitude" not in found.value:
            return
        sigma = found.sigma["amplitude"]
        known = ~found.flag & np.isfinite(sigma) & (sigma > 0)
        ratio = (found.value["amplitude"] / np.where(known, sigma, 1.0)) ** 2 / variance
        for e, element in enumerate(found.elements):
            if element not in _FEED_OF:
                continue
            for a, antenna in enumerate(found.antennas):
                good, at = known[:, :, a, 0, e], (antenna, element)
                self.sums[at] = self.sums.get(at, 0.0) + float(ratio[:, :, a, 0, e][good].sum())
                self.counts[at] = self.counts.get(at, 0) + int(good.sum())

    def of_noise(self, searched: Mapping[str, int]) -> dict[tuple[str, str], bool]:
        """{(antenna, element): whether its gains are hardly larger than noise gives} of all that have any. `searched`:
        how many delays an antenna has beside them."""
        found = {}
        for at, count in self.counts.items():
            most = _OF_NOISE * count + _SURE * 2 * np.sqrt(count) + _PEAK * searched.get(at[0], 0)
            if count > 0:
                found[at] = bool(self.sums[at] < max(_LEAST * count, most))
        return found


def feeds_without_signal(terms: Sequence[GainsOverErrors], feed: str) -> list[str]:
    """Antennas, or single feeds of them ("ANT-3 X"), whose gains are of noise in each term that has gains of them."""
    answers: dict[str, dict[str, list[bool]]] = {}  # by antenna, and by feed; "": gains of both alike
    searched: dict[str, int] = {}
    for term in terms:
        for antenna, count in term.searched.items():
            searched[antenna] = searched.get(antenna, 0) + count
    for term in terms:
        for (antenna, element), of_noise in term.of_noise(searched).items():
            answers.setdefault(antenna, {}).setdefault(_FEED_OF[element], []).append(of_noise)
    letters = {"": "", "0": " R", "1": " L"} if feed == "circular" else {"": "", "0": " X", "1": " Y"}
    found = []
    for antenna, by_feed in answers.items():
        silent = [which for which, said in by_feed.items() if all(said)]
        whole = len(silent) == len(by_feed)
        found += [antenna] if whole else [antenna + letters[which] for which in silent if which]
    return found
