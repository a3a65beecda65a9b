"""The Jones matrices of one antenna on the cells of a request, for the PyNodes that apply solutions."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...evaluation.cells import Cells
from ...ms import MsGroup
from ..errors import CalibrationError
from .solutions import Solutions

#: Why a feed of an antenna cannot be corrected.
NO_ANTENNA, FLAGGED, SINGULAR = 1, 2, 3

# Of the mean of two feeds, differences of this part spoil the square of it.
_FEEDS_ALIKE = 0.01


#: (times, frequencies) -> matrices, and which feeds have none.
JonesOfCells = Callable[[NDArray[np.float64], NDArray[np.float64]], tuple[NDArray[np.complex128], NDArray[np.bool_]]]


class AntennaJones:
    """What PyNodes of one antenna need: matrices, their inverses and where there are solutions, on the cells of a
    request. The last cells are remembered, since several nodes ask for the same.

    `jones(time_s, frequency_hz)`: its matrices [time, freq, 2, 2] and which feeds have none [time, freq, 2].
    `diagonal`: whether all matrices are.
    """

    def __init__(self, jones: JonesOfCells, diagonal: bool):
        self._of_cells, self._column = jones, diagonal
        self._known: tuple | None = None

    @classmethod
    def of_solutions(
        cls, solutions: Solutions, antenna: str, method: str, direction: str | None, terms: str = "all"
    ) -> AntennaJones:
        """By `Solutions.jones`."""
        own = functools.partial(solutions.jones, antenna, direction=direction, method=method, terms=terms)
        return cls(own, solutions.diagonal)

    def _jones(self, cells: Cells) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        axes = (cells.time_s, cells.freq_hz)
        if self._known is None or not all(map(np.array_equal, axes, self._known[0])):
            found = self._of_cells(*axes)
            self._known = (tuple(axis.copy() for axis in axes), found)
        return self._known[1]

    def matrix(self, cells: Cells) -> NDArray[np.complex128]:
        """[2, 2, time, freq]."""
        return np.moveaxis(self._jones(cells)[0], (-2, -1), (0, 1))

    def inverse(self, cells: Cells) -> NDArray[np.complex128]:
        """[2, 2, time, freq] inverses; of diagonal matrices their diagonals as a column [2, 1, time, freq]."""
        inverses = inverses_of(*self._jones(cells), self._column)
        return np.moveaxis(inverses, -1, 0)[:, None] if self._column else np.moveaxis(inverses, (-2, -1), (0, 1))

    def good(self, cells: Cells) -> NDArray[np.float64]:
        """[2, 1, time, freq]: 1 for feeds that have a solution that can be inverted, else 0."""
        matrices, bad = self._jones(cells)
        return np.moveaxis((~bad & _invertible(matrices)).astype(float), -1, 0)[:, None]


def inverses_of(matrices: NDArray[np.complex128], bad: NDArray[np.bool_], diagonal: bool) -> NDArray[np.complex128]:
    """Inverses [..., 2, 2]; of diagonal matrices their diagonals [..., 2]. 1 where there is none."""
    if diagonal:
        return 1 / np.where(bad | ~_invertible(matrices), 1.0, np.einsum("...ii->...i", matrices))
    usable = _invertible(matrices).all(axis=-1)
    return np.linalg.inv(np.where(usable[..., None, None], matrices, np.eye(2)))


def reasons_of(matrices: NDArray[np.complex128], bad: NDArray[np.bool_], known: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """[..., antenna, 2]: 0 for feeds with a solution that can be inverted, else why not (`new_flags.REASONS`).

    `known`: [antenna], whether there are solutions of it at all.
    """
    found = np.where(_invertible(matrices), 0, SINGULAR)
    return np.where(bad, np.where(known, FLAGGED, NO_ANTENNA)[:, None], found).astype(np.uint8)


def require_feeds_alike(group: MsGroup, matrices: NDArray[np.complex128], bad: NDArray[np.bool_]) -> None:
    """Raises `CalibrationError` where matrices [..., 2, 2] are of two feeds that differ, and the data of a group hold
    Stokes I alone: it is the sum of what both feeds saw, and nobody can tell any more which part to divide by which."""
    if group.correlations != ("I",):
        return
    one, other = matrices[..., 0, 0], matrices[..., 1, 1]
    apart = np.abs(one - other) > _FEEDS_ALIKE * np.maximum(np.abs(one), np.abs(other))
    if (apart & ~bad.any(axis=-1)).any():
        raise CalibrationError(
            f"{group.windows_text} holds Stokes I alone, and the solutions of the two feeds differ: apply them to the "
            "data of both feeds, before Stokes I is made of them"
        )


def _invertible(matrices: NDArray[np.complex128]) -> NDArray[np.bool_]:
    """[..., 2]: feeds of diagonal matrices, both feeds of others; singular or not finite ones cannot be used."""
    diagonal = np.einsum("...ii->...i", matrices)
    crossed = (matrices[..., 0, 1] != 0) | (matrices[..., 1, 0] != 0)
    determinant = matrices[..., 0, 0] * matrices[..., 1, 1] - matrices[..., 0, 1] * matrices[..., 1, 0]
    size = np.abs(matrices).max(axis=(-2, -1)) ** 2
    with np.errstate(invalid="ignore"):
        whole = np.isfinite(determinant) & (np.abs(determinant) > 1e-12 * size)
        feeds = np.isfinite(diagonal) & (diagonal != 0)
    return np.where(crossed[..., None], whole[..., None], feeds)
