"""The beams of antennas in one direction, as solutions: to take them out of data, and to plot them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ...beams import AnyBeam, Place, beams_text, jones_nodes, kinds_of
from ...beams.array import require_feed
from ...evaluation.cells import Cells
from ...forest import Forest
from ...ms import MsGroup, groups, sample_coordinates, slot_scans
from ...writing.scope import NodeScope
from ..errors import CalibrationError
from .slots_of_fields import distinct, require_one_field_at_a_time
from .solutions import Solutions
from .term_solutions import TermSolutions


@checked
def beam_solutions(
    path: str | os.PathLike,
    beams: AnyBeam | Sequence[AnyBeam],
    *,
    towards_rad: Sequence[float] | None = None,
    name: str = "E",
    field_id: int | Sequence[int] | None = None,
    time_step_s: float = 30.0,
    frequency_step_hz: float = 1e6,
) -> Solutions:
    """What the beams of the antennas of a Measurement Set do to signals from one direction, as a term of this name.

    `beams`: of all antennas, or of each in the order of the set. `towards_rad`: right ascension and declination; None:
    the phase centre of each field. `time_step_s`, `frequency_step_hz`: from one value to the next, at most; none are
    closer than time slots and channels. The first and the last slot and channel have values of their own. The term is
    "scalar", or "full" where beams are matrices; where nothing comes through it is flagged. Raises `CalibrationError`
    for fields that are observed at the same times, or in different feeds, and `Error` for beams of other feeds.
    """
    if not (time_step_s > 0 and frequency_step_hz > 0):
        raise CalibrationError("steps of times and frequencies must be positive")
    parts = groups(path, field_id=field_id)
    if len({group.feed for group in parts}) > 1:
        raise CalibrationError(f"{os.fspath(path)} has fields of linear and of circular feeds; choose some")
    require_feed(kinds_of(beams)[0], parts[0].feed)
    channels_hz = np.unique(np.concatenate([_channels(group) for group in parts]))
    frequency_hz, width_hz = _sampled(channels_hz, frequency_step_hz)
    antennas = sorted({antenna for group in parts for antenna in group.antennas})
    found = []
    for field in sorted({group.field_id for group in parts}):
        own = [group for group in parts if group.field_id == field]
        time_s, width_s = _sampled(distinct(np.concatenate([_slots(group) for group in own])), time_step_s)
        jones = _jones(beams, antennas, towards_rad, own[0].phase_centre_rad, time_s, frequency_hz)
        found.append((time_s, width_s, np.full(len(time_s), field), jones))
    time_s, width_s, fields, jones = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(time_s, kind="stable")
    require_one_field_at_a_time(time_s[order], path, "choose a field")
    names = parts[0].antenna_names
    term = _term(
        name,
        jones[order],
        {
            "time_s": time_s[order],
            "time_width_s": width_s[order],
            "frequency_hz": frequency_hz,
            "frequency_width_hz": width_hz,
            "antennas": tuple(names[antenna] for antenna in antennas),
            "directions": ("",),
        },
        fields[order],
    )
    windows = sorted({one for group in parts for one in group.data_desc_ids})
    return Solutions(
        (term,),
        parts[0].feed,
        antenna_xyz_m={names[antenna]: parts[0].antenna_xyz_m[antenna] for antenna in antennas},
        provenance={
            "measurement_set": os.path.realpath(path),
            "data_desc_ids": " ".join(map(str, windows)),
            "seen": f"through {beams_text(beams)}",
        },
    )


def _jones(beams, antennas, towards_rad, centre_rad, time_s, frequency_hz) -> NDArray[np.complex128]:
    """[time, freq, antenna], or [time, freq, antenna, 2, 2] where beams are matrices."""
    kinds, of_antenna = kinds_of(beams)
    if of_antenna and len(of_antenna) <= max(antennas):
        raise CalibrationError(f"there are {len(of_antenna)} beams, but antenna {max(antennas)} has data")
    ns = NodeScope()
    towards = np.array([centre_rad if towards_rad is None else towards_rad], dtype=float)
    nodes = jones_nodes(ns, kinds, Place.of(ns, towards, centre_rad))
    cells = Cells(time_s=time_s, time_width_s=1.0, freq_hz=frequency_hz, freq_width_hz=1.0)
    forest = Forest(ns)
    of_kind = []
    for node in nodes:
        value = forest.evaluate(node, cells)[0]
        of_kind.append(np.broadcast_to(value, (*value.shape[:-2], len(time_s), len(frequency_hz))))
    chosen = np.stack([of_kind[of_antenna[antenna] if of_antenna else 0] for antenna in antennas])
    return np.moveaxis(chosen, (-2, -1), (0, 1)).astype(complex)


def _term(name: str, jones: NDArray[np.complex128], axes: dict, fields: NDArray[np.integer]) -> TermSolutions:
    is_matrix = jones.ndim == 5
    values = (jones.reshape(*jones.shape[:3], 4) if is_matrix else jones[..., None])[:, :, :, None]
    size = np.abs(np.linalg.det(jones)) if is_matrix else np.abs(jones)
    shape = values.shape
    return TermSolutions(
        name,
        "full" if is_matrix else "scalar",
        ("00", "01", "10", "11") if is_matrix else ("",),
        **axes,
        value={"amplitude": np.abs(values), "phase": np.angle(values)},
        sigma={quantity: np.zeros(shape) for quantity in ("amplitude", "phase")},
        flag=np.broadcast_to(~(size > 0)[:, :, :, None, None], shape).copy(),
        field_ids=fields,
    )


def _slots(group: MsGroup) -> NDArray[np.float64]:
    return np.unique([time_s for time_s, _ in slot_scans(group.path, **group.selection)])


def _channels(group: MsGroup) -> NDArray[np.float64]:
    windows = [next(sample_coordinates(group.path, 1, data_desc_id=one)) for one in group.data_desc_ids]
    return np.concatenate([window["frequency_hz"] for window in windows])


def _sampled(places: NDArray[np.float64], step: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """From the first of some places that ascend to the last, at most a step apart but where there is a gap, and what
    each is wide; the places themselves where they are no closer than that."""
    gaps = np.diff(places)
    single = gaps.min() if len(gaps) else 1.0
    found, widths = [], []
    for run in np.split(places, np.flatnonzero(gaps > step) + 1):
        count = 1 + math.ceil((run[-1] - run[0]) / step * (1 - 1e-9))
        own = run if len(run) <= count else np.linspace(run[0], run[-1], count)
        found.append(own)
        widths.append(np.gradient(own) if len(own) > 1 else np.array([single]))
    return np.concatenate(found), np.concatenate(widths)
