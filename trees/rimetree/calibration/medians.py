"""What medians say of normal noise, which outliers do not move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIGMA_OVER_MEDIAN = 1.4826  # standard deviation over median of magnitudes


def median_and_sigma(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([...], [...]) median over the first axis, and standard deviation by the median of what deviates from it; NaN do
    not count."""
    middle = np.nanmedian(values, axis=0)
    return middle, SIGMA_OVER_MEDIAN * np.nanmedian(np.abs(values - middle), axis=0)
