"""Which pairs of feeds, or hands, the data and the model of a search are looked at by.

In the hands of circular feeds, made of all four of linear ones, a rotation of feeds is a phase: an antenna whose linear
feeds are turned by chi has R turned by exp(i chi) and L by exp(-i chi).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

#: [R or L, X or Y]: what takes linear feeds to circular ones.
FROM_LINEAR = np.array([[1, 1j], [1, -1j]]) / np.sqrt(2)

#: What a rotation turns R and L by, in units of its angle.
TURNS = (1, -1)

#: The feeds of all hands: parallel ones first.
ALL_HANDS = ((0, 0), (1, 1), (0, 1), (1, 0))


class Hands(Enum):
    """PARALLEL: XX and YY, or RR and LL; ALL: those of the data; CIRCULAR: all four, of linear feeds' data; INTENSITY:
    as ALL, of two models: Stokes I, so that crossed hands of a sky without polarisation tell what mixes feeds, and that
    of the hand."""

    PARALLEL = "parallel"
    ALL = "all"
    CIRCULAR = "circular"
    INTENSITY = "intensity"

    @property
    def models(self) -> int:
        """How many each part of the sky has."""
        return 2 if self is Hands.INTENSITY else 1

    @property
    def feeds(self) -> tuple[tuple[int, int], ...]:
        """The feeds of each."""
        return ALL_HANDS[:2] if self is Hands.PARALLEL else ALL_HANDS


def model_of(
    hands: Hands, element: Callable[[int, int], NDArray[np.complex128]], hand: tuple[int, int]
) -> NDArray[np.complex128]:
    """[baseline, part, ...] what data of a hand are compared with; `element`: gives the model of two feeds."""
    if hands is Hands.CIRCULAR:
        return circular_hand(element, hand)
    if hands is Hands.INTENSITY:
        return np.concatenate([0.5 * (element(0, 0) + element(1, 1)), element(*hand)], axis=1)
    return element(*hand)


def circular_hand(
    element: Callable[[int, int], NDArray[np.complex128]], hand: tuple[int, int]
) -> NDArray[np.complex128]:
    """Visibilities of circular feeds from those of linear ones; `element`: gives the correlation of two of these."""
    left, right = (FROM_LINEAR[feed] for feed in hand)
    return sum(left[i] * np.conj(right[j]) * element(i, j) for i in (0, 1) for j in (0, 1))
