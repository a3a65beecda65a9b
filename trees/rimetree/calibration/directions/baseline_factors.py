"""What the data can be explained to if each direction had any factor on each baseline, smooth along frequency.

Terms of antennas make some of these factors, so that no fit of theirs is better; how much worse one is shows whether
there may be a better one. Without a direction's model it shows whether that is in the data, whatever its terms are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ..data.coherence import Coherence, explained

_SMALL = 1e-3  # of a phasor: what polynomials leave of it
_DEVIATIONS = 3.0


def orders(span_rad: float, channels: int) -> int:
    """How many polynomials make a phasor whose phase changes by so much over a band of so many channels."""
    count = 1
    while count < channels and 2 * (span_rad / 4) ** count / math.factorial(count) > _SMALL:
        count += 1
    return count


class BaselineFactors:
    """Of `sums` of directions `names`, one for each of their parts. `intervals` [freq]: within which all terms are
    smooth; `span_rad`: by how much phases of a baseline change over the band."""

    def __init__(self, sums: Coherence, names: Sequence[str], intervals: NDArray[np.intp], span_rad: float):
        self._names = list(dict.fromkeys(names))
        of = np.array([[name == one for one in names] for name in self._names], dtype=float)
        basis = _basis(sums.frequency_hz, intervals, span_rad)
        self._shape = shape = len(sums.baselines), sums.product.shape[1], basis.shape[0], 2
        n = len(self._names), basis.shape[1]
        self._product = np.einsum("gjf,btfes,ks->btgekj", basis, sums.product, of, optimize=True)
        power = np.einsum("ks,btfesu,lu->btfekl", of, sums.power, of, optimize=True)
        power = np.einsum("gjf,gmf,btfekl->btgekjlm", basis, basis, power, optimize=True)
        self._product, self._power = self._product.reshape(-1, *n), power.reshape(-1, *n, *n)
        inside = (basis[:, 0] != 0).astype(float)
        self._data, self._count = (
            np.einsum("gf,btfe->btge", inside, x).reshape(np.prod(shape)) for x in (sums.data, sums.count)
        )

    def without(self, absent: Collection[str]) -> tuple[float, int]:
        """(chi-square, how many complex factors) of all directions but some."""
        left, rank = self._of_cells(absent)
        return float(left.sum()), int(rank.sum())

    def of_times(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """(chi-square, degrees of freedom) [time] of all directions."""
        left, rank = self._of_cells(())
        freedom = 2 * (self._count - rank)
        return tuple(x.reshape(self._shape).sum(axis=(0, 2, 3)) for x in (left, freedom))

    def _of_cells(self, absent: Collection[str]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        own = [k for k, name in enumerate(self._names) if name not in absent]
        cells, _, polynomials = self._product.shape
        n = len(own) * polynomials
        product = self._product[:, own].reshape(cells, n)
        power = self._power[:, own][:, :, :, own].reshape(cells, n, n)
        found, rank = explained(product, power)
        return self._data - found, rank

    def floor(self, absent: Collection[str]) -> tuple[float, int]:
        """As `Coherence.floor`."""
        chi_square, rank = self.without(absent)
        freedom = 2 * int(self._count.sum() - rank)
        return (chi_square / freedom, freedom) if freedom > 0 else (math.nan, 0)

    def least(self, absent: Collection[str], unknowns: int, noise: float) -> float:
        """Chi-square below which no fit of so many unknowns without some directions comes: these factors explain more
        of the noise, of which this is the variance."""
        chi_square, rank = self.without(absent)
        more = max(0, 2 * rank - unknowns)
        return chi_square + noise * (more - _DEVIATIONS * math.sqrt(2 * more))


def _basis(frequency_hz: NDArray[np.float64], intervals: NDArray[np.intp], span_rad: float) -> NDArray[np.float64]:
    """[interval, polynomial, freq], 0 outside of each interval."""
    band = np.ptp(frequency_hz)
    found = []
    for one in np.unique(intervals):
        own = np.flatnonzero(intervals == one)
        x = frequency_hz[own] - frequency_hz[own].mean()
        width = np.ptp(x)
        x = 2 * x / width if width > 0 else x
        count = orders(span_rad * width / band if band > 0 else 0.0, len(own))
        values = np.zeros((count, len(frequency_hz)))
        values[:, own] = chebyshev.chebvander(x, count - 1).T
        found.append(values)
    most = max(len(values) for values in found)
    return np.stack([np.pad(values, ((0, most - len(values)), (0, 0))) for values in found])
