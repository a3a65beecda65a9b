"""Whether what a search finds of a direction is more than it would find in noise alone.

A search over phases always finds something: for each unknown phases explain 2.5 variances of noise, delays and TEC 8,
as they are looked for in more places. How much it is is measured, by searching noise as large as what is left of the
data.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Variances of noise that a search explains for each unknown: of phases, and of delays and TEC.
OF_PHASES, OF_TURNS = 2.5, 8.0
_DRAWS = 3
_SPREAD = 4.0  # times the root of the mean: 6 standard deviations; 4.5 at most were seen in 1000 draws
#: So much for each unknown is more than any search finds in noise: 8 is what delays and TEC have, 2.5 phases.
_BEYOND_DOUBT = 40.0


def is_noise(
    gain: float,
    noise: float,
    power: NDArray[np.float64],
    explained: Callable[[NDArray[np.complex128]], tuple[float, int]],
) -> bool:
    """Whether a direction may be noise: `gain`, by which it lowers chi-square, is not more than noise explains.

    `noise`: chi-square for each degree of freedom; `power` [baseline, time, freq, feed]: sums of weight |model|^2;
    `explained`: (by how much the best that a search finds in sums of weight V conj(model) lowers chi-square, how many
    unknowns it has).
    """
    if not noise > 0:
        return not gain > 0
    rng = np.random.default_rng(0)  # the same data give the same solutions
    found = []
    for _ in range(_DRAWS):
        real, imaginary = rng.normal(size=(2, *power.shape)) * np.sqrt(noise * power)
        one, unknowns = explained(real + 1j * imaginary)
        if gain > _BEYOND_DOUBT * noise * unknowns:
            return False
        found.append(one / noise)
    mean = float(np.mean(found))
    return gain / noise <= mean + _SPREAD * math.sqrt(mean)
