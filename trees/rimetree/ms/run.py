"""Runs of a forest over a Measurement Set: which part of it, how, and what was done."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import _core
from .._core import Error
from ..arguments import checked
from ..directions import require_direction
from ..evaluation.solving import SolveReport
from ..evaluation.timing import TimingReport
from ..evaluation.verification import Verification, tolerance_of


@dataclass(frozen=True)
class RunReport:
    """What `Forest.run` did.

    Times are wall-clock seconds. Reading and writing go on beside evaluating: theirs are the seconds for which the run
    had to wait. `overhead_seconds` is what is neither node arithmetic nor waiting. `missing` counts Sinks without a
    value, summed over tiles. `notes`: which methods were chosen and why. `verification`: what was found by `verify`.
    `solves`: reports of Solvers, one for each time-slot group.
    """

    tiles: int
    rows: int
    rows_written: int
    missing: int
    time_slots: int
    read_seconds: float
    write_seconds: float
    evaluate_seconds: float
    total_seconds: float
    overhead_seconds: float
    columns: list[str]
    timing: TimingReport
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verification: Verification | None = None
    solves: list[SolveReport] = field(default_factory=list)

    def _solves_text(self) -> list[str]:
        bad = [solve for solve in self.solves if not solve.converged]
        if not self.solves:
            return []
        summary = f"{len(self.solves) - len(bad)} of {len(self.solves)} solves converged"
        shown = bad[:10] if len(self.solves) > 3 else self.solves
        more = [f"and {len(bad) - 10} more that did not"] if len(bad) > 10 else []
        return [summary, *(str(solve) for solve in shown), *more]

    @property
    def overhead_fraction(self) -> float:
        """Framework overhead as a part of node arithmetic and overhead together (I/O left out)."""
        computing = self.total_seconds - self.read_seconds - self.write_seconds
        return self.overhead_seconds / computing if computing > 0 else 0.0

    def __str__(self) -> str:
        return "\n".join(
            [
                str(self.timing),
                f"{self.tiles} tiles of at most {self.time_slots} time slots, {self.rows} rows read, "
                f"{self.rows_written} written{' to ' if self.columns else ''}{', '.join(self.columns)}",
                f"total {self.total_seconds:.3f} s: reading {self.read_seconds:.3f} s, writing "
                f"{self.write_seconds:.3f} s, evaluating {self.evaluate_seconds:.3f} s; framework overhead "
                f"{self.overhead_seconds:.4f} s ({100 * self.overhead_fraction:.2f} % of computing)",
                *self._solves_text(),
                *self.notes,
                *([str(self.verification)] if self.verification else []),
            ]
        )


@checked
def run_options(
    *,
    data_desc_id: int | None = None,
    field_id: int | None = None,
    autocorrelations: bool = False,
    time_slots: int | None = None,
    channels: tuple[int, int] | None = None,
    time_range_s: tuple[float, float] | None = None,
    precision: str = "double",
    tolerance: float | None = None,
    verify: int = 0,
    part: tuple[int, int, int] | None = None,
    join_windows: bool = False,
    wait_s: float = 0.0,
    data_desc_ids: Sequence[int] = (),
    scans: Sequence[int] = (),
    times_s: Sequence[Sequence[float]] = (),
    baselines: Sequence[Sequence[int]] = (),
    channel_ranges: Sequence[Sequence[int]] = (),
    frequency_ranges_hz: Sequence[Sequence[float]] = (),
    one_order: bool = False,
    phase_centre_rad: Sequence[float] | None = None,
    average_slots: int = 1,
    average_channels: int = 1,
    average_width_hz: float = 0.0,
    average_baselines: Sequence[Sequence] = (),
    average_time_edges_s: Sequence[float] = (),
    average_frequency_edges_hz: Sequence[float] = (),
    average_off_centre: Sequence[float] = (),
) -> dict:
    """Which part of a Measurement Set to take and how.

    `data_desc_id`, `field_id`: only these rows (None: all). `time_slots`: per time-slot group (None: as many as fit in
    memory). `channels`: (first, stop). `time_range_s`: (first, last) TIME (MJD, seconds) of the rows to take.
    `precision`: "double" or "single"; `tolerance`: what may be wrong instead, as a fraction of the total flux.
    `verify`: so many visibilities, chosen at random, are computed again in extended precision (those of each batch of
    nodes that can be). `part`: (index, count, rows) where this run is one of several that fill a column together, one
    for each field, with so many rows in all: if one of them is interrupted, the set says so until the last has ended.
    `join_windows`: the spectral windows of a field at the same times make one time-slot group, channel after channel;
    for trees that solve and write nothing. `wait_s`: for how long to wait where the set is to be written to and another
    program writes to it.

    `data_desc_ids`, `scans`, `times_s` ((first, last) TIME), `baselines` (pairs of antennas in either order): only rows
    of these; `channel_ranges` ((first, stop)), `frequency_ranges_hz` ((low, high)): only channels in any of these, for
    trees that write nothing; what stands between is flagged. Each is everything where it is empty.

    `one_order`: antennas that have rows in both orders, (p, q) and (q, p), are one baseline, the lower number first.
    The others are turned when they are read (UVW negated, visibilities conjugated, XY and YX exchanged), for trees that
    write nothing. Left as stored: antennas with both orders at one time, and rows with XY and no YX.

    `phase_centre_rad`: visibilities and UVW are moved to this phase centre (right ascension, declination, in the frame
    of the field) from that of the FIELD table, for trees that write nothing. What has been smeared stays so.

    `average_slots`, `average_channels`: so many time slots and channels are averaged to one when they are read, by
    their weights, for trees that write nothing; `average_width_hz`: as many channels as this is wide instead. Cells
    have the widths of what they are of, and do not reach over gaps, nor over `average_time_edges_s` and
    `average_frequency_edges_hz`. `average_baselines`: (slots, channels, pairs of antennas), how these are averaged
    instead: each of them makes time-slot groups of its own. `average_off_centre`: for each of these a part of a cell;
    if the mean of a cell is that of a place farther from its middle, because some data are flagged or weigh less, it
    is replaced by the value that a plane through the data has in the middle (nothing: never).
    """
    tolerance_of(precision, tolerance)
    if verify < 0:
        raise Error(f"verify must be a number of visibilities, not {verify}")
    if time_slots is not None and time_slots < 1:
        raise Error(f"time_slots must be at least 1, not {time_slots}")
    if average_slots < 1 or average_channels < 1 or not 0 <= average_width_hz < math.inf:
        raise Error(
            "time slots and channels are averaged at least one by one, and widths are positive, not "
            f"{average_slots}, {average_channels}, {average_width_hz} Hz"
        )
    if len(average_off_centre) not in (0, len(average_baselines)):
        raise Error(
            f"average_off_centre has one number for each of average_baselines, {len(average_baselines)}, not "
            f"{len(average_off_centre)}"
        )
    return {
        "data_desc_id": data_desc_id,
        "field_id": field_id,
        "autocorrelations": autocorrelations,
        "time_slots": time_slots,
        "channels": None if channels is None else [int(channel) for channel in channels],
        "time_range_s": None if time_range_s is None else np.array(time_range_s, dtype=float),
        "precision": precision,
        "tolerance": tolerance,
        "verify": int(verify),
        "continues": part is not None and part[0] > 0,
        "more_follow": part is not None and part[0] < part[1] - 1,
        "rows_expected": 0 if part is None else part[2],
        "join_windows": join_windows,
        "wait_s": float(wait_s),
        "data_desc_ids": [int(one) for one in data_desc_ids],
        "scans": [int(one) for one in scans],
        "times_s": _flat(times_s, float, "times_s"),
        "baselines": _flat(baselines, int, "baselines").tolist(),
        "channel_ranges": _flat(channel_ranges, int, "channel_ranges").tolist(),
        "frequency_ranges_hz": _flat(frequency_ranges_hz, float, "frequency_ranges_hz"),
        "one_order": bool(one_order),
        "phase_centre_rad": None
        if phase_centre_rad is None
        else require_direction("phase_centre_rad", phase_centre_rad),
        "average_slots": int(average_slots),
        "average_channels": int(average_channels),
        "average_width_hz": float(average_width_hz),
        "average_off_centre": np.array(average_off_centre, dtype=float),
        "average_baselines": [_averaged(*one) for one in average_baselines],
        "average_time_edges_s": np.sort(np.asarray(average_time_edges_s, dtype=float).ravel()),
        "average_frequency_edges_hz": np.sort(np.asarray(average_frequency_edges_hz, dtype=float).ravel()),
    }


def _averaged(slots: int, channels: int, pairs: Sequence[Sequence[int]]) -> list[int]:
    """Slots, channels, and antennas two by two."""
    if slots < 1 or channels < 1:
        raise Error(f"time slots and channels are averaged at least one by one, not {slots}, {channels}")
    return [int(slots), int(channels), *_flat(pairs, int, "average_baselines").tolist()]


def _flat(pairs: Sequence[Sequence], kind: type, what: str) -> np.ndarray:
    """Pairs of numbers one after the other."""
    array = np.array([] if len(pairs) == 0 else pairs, dtype=kind)
    if array.size and (array.ndim != 2 or array.shape[1] != 2):
        raise Error(f"{what} must be pairs of numbers, not of shape {list(array.shape)}")
    if kind is int and (array < 0).any():
        raise Error(f"{what} must not be negative, got {array.min()}")
    return array.ravel()


@checked
def check_writable(path: str | os.PathLike, columns: Sequence[str], *, wait_s: float = 0.0) -> None:
    """Raises `Error` where visibilities could not be written into these columns: names and types, permissions, room on
    the disk; `SetLockedError` where another program writes for longer than `wait_s`. Writes nothing."""
    _core.check_writable(os.fspath(path), list(columns), float(wait_s))
