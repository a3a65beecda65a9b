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
_SURE = 3.0  # standard deviations by which a signal is larger than what noise can hide
_SPREAD = 4.0  # times the root of the mean: 6 standard deviations; 4.5 at most were seen in 1000 draws
#: So much for each unknown is more than any search finds in noise: 8 is what delays and TEC have, 2.5 phases.
_BEYOND_DOUBT = 40.0


def is_noise(
    gain: float,
    noise: float,
    power: NDArray[np.float64],
    unknowns: int,
    explained: Callable[[NDArray[np.complex128]], float],
) -> bool:
    """Whether a direction may be noise: `gain`, by which it lowers chi-square, is not more than noise explains.

    `noise`: chi-square for each degree of freedom; `power` [baseline, time, freq, feed]: sums of weight |model|^2;
    `unknowns`: so many are searched for; `explained`: by how much the best that a search finds in sums of weight
    V conj(model) lowers chi-square.
    """
    if not noise > 0:
        return not gain > 0
    if gain > _BEYOND_DOUBT * noise * unknowns:
        return False
    rng = np.random.default_rng(0)  # the same data give the same solutions
    found = []
    for _ in range(_DRAWS):
        real, imaginary = rng.normal(size=(2, *power.shape)) * np.sqrt(noise * power)
        found.append(explained(real + 1j * imaginary) / noise)
    return gain / noise <= _most(float(np.mean(found)))


def explained_of_noise(*, phases: int, turns: int) -> float:
    """So many of its variances a search explains of noise, by unknown phases and by unknown delays and TEC."""
    return OF_PHASES * phases + OF_TURNS * turns


def is_hidden(expected: float, mean: float) -> bool:
    """Whether a direction that is in the data may be taken for noise. `expected`: by how many variances of the noise it
    lowers chi-square, where its values are right; `mean`: of noise as many as `explained_of_noise`."""
    # What is seen of a signal has the square root of this as its mean, and a standard deviation of 1.
    return math.sqrt(expected) < math.sqrt(_most(mean)) + _SURE


def _most(mean: float) -> float:
    """Variances that a search may explain of noise, of which it explains so many in the mean."""
    return mean + _SPREAD * math.sqrt(mean)
