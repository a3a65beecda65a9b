"""What a Measurement Set says of times, frequencies and antennas; intervals along time that a term has there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup, groups, inspect, numbered_scans, sample_coordinates, slot_times
from ...observing.mounts import NO_PLACE_M
from ..errors import CalibrationError
from ..solutions.slots_of_fields import distinct
from ..terms.grid import times_of
from .made_terms import MadeTerm

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observed:
    """What a set says. `slots` [slot]: times that ascend, `scan` and `field` of each; `windows`: {data description:
    (centres, widths of channels)}; `centres`, `field_names`: {field: phase centre, name}."""

    path: str
    feed: str
    antenna_xyz_m: dict[str, Float64Array]
    slots: Float64Array
    scan: NDArray[np.integer]
    field: NDArray[np.integer]
    slot_width_s: float
    windows: dict[int, tuple[Float64Array, Float64Array]]
    centres: dict[int, tuple[float, float]]
    field_names: dict[int, str]
    uvw_family: str

    @classmethod
    def of(cls, path: str) -> Observed:
        summary = inspect(path, scan_cells=False)
        parts = groups(path, summary=summary)
        if len({group.feed for group in parts}) > 1:
            raise CalibrationError(f"{path} has fields of linear and of circular feeds")
        scans = dict(numbered_scans(path))
        fields = {time_s: field for _, field, time_s in slot_times(path)}
        slots = distinct(list(scans))
        windows, widths_s = {}, []
        for one in sorted({one for group in parts for one in group.data_desc_ids}):
            about = next(sample_coordinates(path, 1, data_desc_id=one))
            windows[one] = about["frequency_hz"], about["channel_width_hz"]
            widths_s.append(np.median(about["interval_s"]))
        return cls(
            path,
            parts[0].feed,
            _positions(parts),
            slots,
            np.array([scans[time_s] for time_s in slots]),
            np.array([fields[time_s] for time_s in slots]),
            max(float(np.median(widths_s)), 1e-6),
            windows,
            {group.field_id: group.phase_centre_rad for group in parts},
            {group.field_id: group.field_name for group in parts},
            summary["uvw"]["family"],
        )

    def require_positions(self, made: MadeTerm) -> None:
        """Raises where some antennas have none."""
        missing = [name for name, xyz in self.antenna_xyz_m.items() if np.linalg.norm(xyz) < NO_PLACE_M]
        if missing:
            raise CalibrationError(f'term "{made}" wants positions of antennas; there are none of {", ".join(missing)}')


def _positions(parts: Sequence[MsGroup]) -> dict[str, Float64Array]:
    """{name: position} of the antennas that have data."""
    antennas = sorted({antenna for group in parts for antenna in group.antennas})
    return {parts[0].antenna_names[one]: parts[0].antenna_xyz_m[one] for one in antennas}


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals along time: `centre_s`, `width_s` [T]; `field` [T] of those that are cut by field."""

    centre_s: Float64Array
    width_s: Float64Array
    field: NDArray[np.integer] | None

    @classmethod
    def of(cls, made: MadeTerm, observed: Observed) -> Intervals:
        """Over all fields, but for screens of the whole sky, which are seen in the direction of the field."""
        term, slots = made.term, observed.slots
        by_field = made.screen is not None and term.per is None
        ends = np.flatnonzero(np.diff(observed.field)) + 1 if by_field else []
        runs = np.split(np.arange(len(slots)), ends)
        axes = [times_of(slots[run], observed.slot_width_s, term.time, observed.scan[run]) for run in runs]
        field = np.repeat([observed.field[run[0]] for run in runs], [len(axis.centre) for axis in axes])
        centre_s, width_s = (np.concatenate([getattr(axis, name) for axis in axes]) for name in ("centre", "width"))
        return cls(centre_s, width_s, field if by_field else None)
