"""Which of many magnitudes stand out, and how large their noise is: by medians, which outliers do not move."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ..medians import SIGMA_OVER_MEDIAN

_RAYLEIGH = 1 / 1.17741  # standard deviation of real and imaginary part over median of the magnitude, of complex noise
_AT_A_TIME = 1 << 20  # magnitudes, of which copies are made
_LEAST = 8  # values of which a median tells something
_FEW = 4096  # of which sorting all is quicker than looking for the one in the middle
_LEAST_NOISE = 0.01  # no variance is less than this part of the median: few data may fit exactly


@checked
def standing_out(size: NDArray, most_sigma: float, *, around: str, usual: NDArray | None = None) -> NDArray[np.bool_]:
    """Which magnitudes [time, channel, ...] of a baseline stand out by more than so many standard deviations.

    `around` "median": of magnitudes of visibilities, from their median over time in each channel (with fewer than 5
    times: from that of all), scattering as the median of deviations says. "zero": of magnitudes of residuals, which are
    those of complex noise of which the median tells the standard deviation. NaN: no datum. Of fewer than 8 data none
    stand out, unless it is said what is `usual` of residuals, [...]: their noise is that (`usual_noise`).
    """
    known = np.isfinite(size)
    total = known.sum(axis=(0, 1), keepdims=True)
    filled = np.where(known, size, np.nan).astype(float)
    filled = np.where(total > 0, filled, 0.0)
    if around == "zero":
        noise = _RAYLEIGH * _median(filled, 2)
        if usual is not None:
            few = total < _LEAST
            noise, total = np.where(few, np.nan_to_num(usual), noise), np.where(few, _LEAST, total)
        limit = most_sigma * noise
        deviation = filled
    else:
        by_channel = np.where(known.sum(axis=0, keepdims=True) > 0, filled, 0.0)
        along = by_channel if len(size) >= 5 else filled
        middle = _median(along, 1 if len(size) >= 5 else 2)
        deviation = np.abs(filled - middle)
        limit = most_sigma * SIGMA_OVER_MEDIAN * _median(deviation, 2)
    with np.errstate(invalid="ignore"):
        return known & (deviation > limit) & (limit > 0) & (total >= _LEAST)


def _median(values: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
    """Over the first so many axes, which are kept with length 1; NaN do not count, of which not all values are."""
    shape = (1,) * axes + values.shape[axes:]
    flat = values.reshape(-1, *values.shape[axes:])
    if len(flat) > _FEW:
        return np.nanmedian(flat, axis=0).reshape(shape)
    ordered = np.sort(flat, axis=0)  # NaN come last
    count = np.count_nonzero(~np.isnan(ordered), axis=0, keepdims=True)
    middle = (np.take_along_axis(ordered, place, axis=0) for place in ((count - 1) // 2, count // 2))
    return (0.5 * sum(middle)).reshape(shape)


@checked
def usual_noise(sizes: Iterable[NDArray]) -> NDArray[np.float64]:
    """[...] of magnitudes of residuals [time, channel, ...] of all baselines: the standard deviation of real and
    imaginary parts of the baseline in the middle; NaN where there are no data."""
    medians = []
    for size in sizes:
        known = np.isfinite(size).any(axis=(0, 1))
        filled = np.where(known, size, 0.0)
        medians.append(np.where(known, _median(filled, 2)[0, 0], np.nan))
    every = np.array(medians)
    known = np.isfinite(every).any(axis=0)
    return np.where(known, _RAYLEIGH * np.nanmedian(np.where(known, every, 0.0), axis=0), np.nan)


@checked
def variances(sizes: dict[tuple[int, int], NDArray], per: str) -> dict[tuple[int, int], NDArray[np.float64]]:
    """{baseline: variance of real and imaginary parts, that broadcasts to [time, channel, 2, 2]}, of magnitudes of
    residuals [time, channel, 2, 2] (NaN: no datum): one for each "baseline", or for each "channel" of all baselines.

    1 where there are no data; not less than a hundredth of the median of all.
    """
    arrays = list(sizes.values())
    if per == "channel":
        n_channel = arrays[0].shape[1]
        step = max(1, _AT_A_TIME // max(1, sum(size[:, 0].size for size in arrays)))
        parts = [slice(first, first + step) for first in range(0, n_channel, step)]
        medians = np.concatenate([_medians([size[:, part] for size in arrays]) for part in parts])
        return dict.fromkeys(sizes, _variances(medians)[None, :, None, None])
    found = _variances(np.array([_medians([size.reshape(-1, 1, 1, 1)])[0] for size in arrays]))
    return {pair: np.full((1, 1, 1, 1), found[k]) for k, pair in enumerate(sizes)}


def _medians(sizes: list[NDArray]) -> NDArray[np.float64]:
    """Of each channel of several [time, channel, 2, 2]; NaN where there is no datum."""
    values = np.moveaxis(np.stack(sizes), 2, 0)
    values = values.reshape(len(values), -1).astype(float)
    known = np.isfinite(values).any(axis=1)
    result = np.full(len(values), np.nan)
    if known.any():
        result[known] = np.nanmedian(values[known], axis=1)
    return result


def _variances(medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of real and imaginary parts, from medians of magnitudes; 1 where there is none."""
    known, result = np.isfinite(medians), np.ones(len(medians))
    if known.any():
        found = (_RAYLEIGH * medians[known]) ** 2
        least = _LEAST_NOISE * np.median(found)
        result[known] = np.maximum(found, least) if least > 0 else 1.0
    return result
