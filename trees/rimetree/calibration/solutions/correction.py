"""Correcting the data of a set with solutions in one pass over it: CORRECTED_DATA = J_p^-1 DATA J_q^-H.

What trees do with a model to subtract (`apply.apply_tree`) the extension does here without a tree, tile by tile: data
without a solution are flagged, and so are results that are not finite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...arguments import checked
from ...evaluation.timing import TimingReport
from ...ms import MsGroup
from ...ms.run import RunReport, run_options
from ..errors import CalibrationError
from .antenna_jones import inverses_of, reasons_of, require_feeds_alike
from .new_flags import NewFlags
from .solutions import Solutions


@dataclass(frozen=True, eq=False)
class JonesUse:
    """Matrices that data are corrected by, or that a model is made with: arguments of `Solutions.jones`."""

    solutions: Solutions
    direction: str | None
    method: str = "nearest"
    terms: str = "all"

    def matrices(self, antennas: Sequence[str], time_s, frequency_hz) -> tuple[NDArray, NDArray]:
        """As `Solutions.jones_of`."""
        options = {"direction": self.direction, "method": self.method, "terms": self.terms}
        return self.solutions.jones_of(antennas, time_s, frequency_hz, **options)

    def complete(self, antennas: Sequence[str]) -> bool:
        """Whether no data will be flagged for want of a solution, as far as is quickly told."""
        return all(term.complete(antennas) for term in self.solutions.terms)

    def known(self, antennas: Sequence[str]) -> NDArray[np.bool_]:
        """[antenna]: whether there are solutions of it."""
        return np.array([self.solutions.knows(name, self.direction) for name in antennas], dtype=bool)


@checked
def check_correction(group: MsGroup, solutions: Solutions, direction: str | None = None) -> None:
    """Raises `CalibrationError` where the data of a group cannot be corrected with solutions."""
    if direction is not None and direction not in solutions.directions:
        raise CalibrationError(
            f"there are no solutions for direction {direction!r}; there are {', '.join(solutions.directions) or 'none'}"
        )
    if not solutions.diagonal:
        require_four_hands(group)
    elif group.correlations == ("I",):
        names = [group.antenna_names[antenna] for antenna in group.antennas]
        use = JonesUse(solutions, direction)
        require_feeds_alike(group, *use.matrices(names, group.some_times_s, np.array(group.frequency_hz)))


def require_four_hands(group: MsGroup) -> None:
    """Raises `CalibrationError` where matrices that mix the feeds cannot be taken out of the data of a group."""
    if len(group.correlations) != 4:
        raise CalibrationError(
            f"{group.windows_text} has correlations {' '.join(group.correlations)}; matrices that mix the feeds can "
            "only be taken out of all four"
        )


class _Tables:
    """Matrices and reasons for the cells of a tile, as the extension asks for them: once for all cells on which they
    are the same, and not again where the next tile needs the same."""

    def __init__(self, group: MsGroup, uses: Sequence[JonesUse], inverse: JonesUse | None = None):
        self._names = [group.antenna_names[antenna] for antenna in group.antennas]
        self._uses, self._inverse = list(uses), inverse
        self._known: tuple | None = None
        self._last: dict[int, tuple] = {}

    def __call__(self, times, frequencies, flags_only: bool) -> tuple:
        axes = np.asarray(times), np.asarray(frequencies)
        keys = [use.solutions.cell_keys(*axes, method=use.method) for use in self._uses]
        found = [self._distinct(axis, [one[axis] for one in keys], len(axes[axis])) for axis in (0, 1)]
        wanted = [own[:, first] for own, first, _ in found]
        if self._known is None or not all(map(np.array_equal, wanted, self._known[0])):
            time_s, frequency_hz = (axis[first] for axis, (_, first, _) in zip(axes, found, strict=True))
            self._known = (wanted, self._made(time_s, frequency_hz, flags_only))
        diagonal = self._inverse is None or self._inverse.solutions.diagonal
        shape = tuple(len(first) for _, first, _ in found)
        return diagonal, shape, *(number for _, _, number in found), *self._known[1]

    def _distinct(self, axis: int, keys: Sequence[NDArray], there_are: int) -> tuple[NDArray, NDArray, NDArray]:
        """Keys [key, cell], the first cell of each different column of these, and which [cell] has."""
        every = np.concatenate([np.zeros((1, there_are)), *keys])
        last = self._last.get(axis)
        if last is None or not np.array_equal(last[0], every):
            _, first, number = np.unique(every, axis=1, return_index=True, return_inverse=True)
            last = self._last[axis] = (every, first, number.ravel().astype(float))
        return last

    def _made(self, time_s: NDArray, frequency_hz: NDArray, flags_only: bool) -> tuple[NDArray | None, NDArray]:
        """[antenna, time, freq, ...] inverses, and reasons."""
        reasons = np.zeros((len(time_s), len(frequency_hz), len(self._names), 2), np.uint8)
        inverse = None
        for use in self._uses:
            matrices, bad = use.matrices(self._names, time_s, frequency_hz)
            reasons = np.where(reasons == 0, reasons_of(matrices, bad, use.known(self._names)), reasons)
            if use is self._inverse and not flags_only:
                inverse = _by_antenna(inverses_of(matrices, bad, use.solutions.diagonal))
        return inverse, _by_antenna(reasons).astype(float)


def _by_antenna(array: NDArray) -> NDArray:
    return np.ascontiguousarray(np.moveaxis(array, 2, 0))


@checked
def count_new_flags(group: MsGroup, uses: Sequence[JonesUse]) -> NewFlags:
    """What would be flagged where one of these matrices (of `apply_tree`, or that of a correction) is not there; of
    none: only what is flagged now. Reads flags, no visibilities."""
    counts = _core.count_new_flags(
        os.fspath(group.path), run_options(**group.selection), group.antennas, _Tables(group, uses)
    )
    return NewFlags.from_counts(group, counts)


@checked
def correct(
    group: MsGroup,
    solutions: Solutions,
    *,
    direction: str | None = None,
    interpolation: str = "nearest",
    data_column: str = "DATA",
    column: str = "CORRECTED_DATA",
    threads: int | None = None,
    memory_bytes: int | None = None,
    time_slots: int | None = None,
    part: tuple[int, int, int] | None = None,
    wait_s: float = 0.0,
    progress: Callable | None = None,
) -> tuple[RunReport, NewFlags]:
    """Correct the data of a group in one pass, and say what was newly flagged.

    `direction`, `interpolation`: as of `apply_tree`. `part`, `wait_s`: as of `ms.run_options`; `progress` as of
    `Forest.run`. Memory does not grow with the set: `memory_bytes` is for the time slots that are read at a time.
    Raises `CalibrationError` where solutions and data do not fit together, `Error` for what the set cannot take.
    """
    check_correction(group, solutions, direction)
    use = JonesUse(solutions, direction, interpolation)
    options = run_options(**group.selection, time_slots=time_slots, part=part, wait_s=wait_s)
    options |= {"data_column": data_column, "column": column}
    options |= {"threads": threads or 0, "memory_bytes": memory_bytes or 0}
    tables = _Tables(group, [use], use)
    report, counts = _core.correct_ms(os.fspath(group.path), options, group.antennas, tables, progress)
    timing = TimingReport({}, report["evaluate_seconds"], 0.0, 0.0, 0)
    return RunReport(**report, timing=timing), NewFlags.from_counts(group, counts)


@checked
def correction_bytes(group: MsGroup, data_column: str, memory_bytes: int | None, time_slots: int | None) -> int:
    """Bytes that the data of the time slots take which `correct` has in memory at a time."""
    options = run_options(**group.selection, time_slots=time_slots)
    options |= {"data_column": data_column, "memory_bytes": memory_bytes or 0}
    return _core.correction_bytes(os.fspath(group.path), options)
