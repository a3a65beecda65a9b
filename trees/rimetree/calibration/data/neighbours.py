"""What differences of neighbouring channels and times say of the noise of data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def half_squares_of_differences(
    value: NDArray[np.complexfloating], good: NDArray[np.bool_], weight: NDArray[np.floating] | None = None
) -> NDArray[np.float64]:
    """[channels or times, sum or number of pairs, correlation]: half the squares of differences of good neighbours, of
    which the mean is the variance of the noise. With `weight` differences are as they are of data of weight 1.

    All [baseline, correlation, time, channel]; what is not good may be anything."""
    every, found = good.all(), []
    for axis in (3, 2):
        one, other = (slice(None),) * axis + (slice(None, -1),), (slice(None),) * axis + (slice(1, None),)
        both = good[one] & good[other]
        with np.errstate(all="ignore"):  # of what is not good
            change = value[other] - value[one]
            if weight is not None:
                change *= np.sqrt(2 / (1 / weight[one] + 1 / weight[other]))
        if not every:
            np.copyto(change, 0, where=~both)
        parts = as_real(change)
        found.append((np.einsum("bntx,bntx->n", parts, parts, dtype=float) / 2, both.sum(axis=(0, 2, 3))))
    return np.array(found, dtype=float)


def as_real(values: NDArray[np.complexfloating]) -> NDArray[np.floating]:
    """[..., 2 n] real and imaginary parts of [..., n], one after the other."""
    values = np.ascontiguousarray(values)
    return values.view(values.real.dtype)
