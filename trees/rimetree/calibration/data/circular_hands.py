"""The hands of circular feeds, of data and models of linear ones: there a rotation of feeds is a phase.

An antenna whose linear feeds are turned by chi has R turned by exp(i chi) and L by exp(-i chi).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: [R or L, X or Y]: what takes linear feeds to circular ones.
FROM_LINEAR = np.array([[1, 1j], [1, -1j]]) / np.sqrt(2)

#: What a rotation turns R and L by, in units of its angle.
TURNS = (1, -1)

#: Feeds of RR, LL, RL and LR.
CIRCULAR_HANDS = ((0, 0), (1, 1), (0, 1), (1, 0))


def circular_hand(
    element: Callable[[int, int], NDArray[np.complex128]], hand: tuple[int, int]
) -> NDArray[np.complex128]:
    """Visibilities of circular feeds from those of linear ones; `element`: gives the correlation of two of these."""
    left, right = (FROM_LINEAR[feed] for feed in hand)
    return sum(left[i] * np.conj(right[j]) * element(i, j) for i in (0, 1) for j in (0, 1))
