"""The parallactic angle as a known term: how feeds of alt-azimuth mounts turn on the sky.

The angle chi is that from north (of the frame of the field) through east to the zenith, at the phase centre. Feeds turn
by it: linear ones by [[cos chi, sin chi], [-sin chi, cos chi]], which is a rotation by -chi; circular ones get phases
-chi and chi. Equatorial mounts do not turn. Angles between feeds and mounts (RECEPTOR_ANGLE) are constant, and what
gains or leakages are relative to. UT1 - UTC counts as 0 (1e-4 rad at most, but next to the zenith).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ...ms import MsGroup, feed_of, inspect, slot_times
from ...ms.reading import CORRELATION_NUMBERS
from ...observing.antenna_uvw import evaluate_uvw
from ...observing.mounts import STANDING, TURNING, horizon
from ..errors import CalibrationError
from ..terms.terms import Term, parse_term
from .one_turn import is_turn
from .slots_of_fields import distinct, require_one_field_at_a_time
from .solutions import Solutions
from .term_solutions import TermSolutions


def is_known(term: Term) -> bool:
    """Whether a term has nothing to solve for."""
    return term.kind.name == "parallactic"


@checked
def parallactic_angle_rad(
    radec_rad: Sequence[float], xyz_m: NDArray[np.float64], time_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[time, antenna] angles from north through east to the zenith (geodetic) of antennas [antenna, 3] (ITRF) at a
    direction (J2000) at some times (MJD, seconds)."""
    up = horizon(xyz_m)[..., 2, :]
    # [time, axis of the ITRF, (u, v, w)]: what a metre along each axis is.
    axes = evaluate_uvw(np.eye(3), np.zeros(3), np.asarray(radec_rad, float), np.asarray(time_s, float), 0.0)
    east, north = (np.einsum("ta,pa->tp", axes[..., k], up) for k in (0, 1))
    return np.arctan2(east, north)


@checked
def parallactic_solutions(path: str | os.PathLike, term: Term) -> Solutions:
    """The term at every time slot of every field of a set. Raises `CalibrationError` for mounts of which it is not
    known how they turn, for antennas without a position, and for times that are not in UTC."""
    path = os.fspath(path)
    summary = inspect(path, scan_cells=False)
    if summary["time_reference"] not in ("", "UTC"):
        raise CalibrationError(f'term "{term}": TIME of {path} is in {summary["time_reference"]}, and must be in UTC')
    antennas = [one for one in summary["antennas"] if one["n_row"] > 0]
    turning = np.array([_turns(one, path, term) for one in antennas])
    xyz_m = np.array([one["position_m"] for one in antennas], dtype=float)
    if (np.abs(xyz_m[turning]) < 1).all(axis=-1).any():
        raise CalibrationError(f'term "{term}": {path} has no positions of some antennas, which the angle depends on')
    times, angles = [], []
    slots = slot_times(path)
    for field, about in enumerate(summary["fields"]):
        times.append(distinct([time_s for _, own, time_s in slots if own == field]))
        angles.append(np.zeros((len(times[-1]), len(antennas))))
        if turning.any() and len(times[-1]):
            centre = (about["ra_rad"], about["dec_rad"])
            angles[-1][:, turning] = parallactic_angle_rad(centre, xyz_m[turning], times[-1])
    time_s, angle = np.concatenate(times), np.concatenate(angles)
    order = np.argsort(time_s, kind="stable")
    require_one_field_at_a_time(time_s[order], path, f'split it, for the term "{term}"')
    return _solutions(path, term, summary, antennas, time_s[order], angle[order])


def with_own_turn(solutions: Solutions, group: MsGroup) -> Solutions:
    """The solutions with the angles of the group's own set, whatever set they were made from: they are known."""
    terms = tuple(
        _of_set(group.path, term.text, _stamp(group.path)) if is_turn(term) else term for term in solutions.terms
    )
    return replace(solutions, terms=terms) if terms != solutions.terms else solutions


@functools.lru_cache(maxsize=8)
def _of_set(path: str, text: str, stamp: tuple[int, ...]) -> TermSolutions:
    term = parse_term(text)
    return parallactic_solutions(path, term)[term.name]


def _stamp(path: str) -> tuple[int, ...]:
    """Another one if another set is written in the place of one."""
    return tuple(os.stat(os.path.join(path, table, "table.dat")).st_mtime_ns for table in ("FIELD", "ANTENNA"))


def _turns(antenna: dict, path: str, term: Term) -> bool:
    mount = antenna["mount"].upper()
    if mount not in TURNING + STANDING:
        raise CalibrationError(
            f'term "{term}": antenna {antenna["name"]} of {path} has the mount {antenna["mount"]!r}; how feeds turn is '
            f"known of {' and '.join((TURNING[0], *STANDING))}"
        )
    return mount in TURNING


def _solutions(path, term, summary, antennas, time_s, angle) -> Solutions:
    """`angle` [time, antenna]."""
    names = [name for one in summary["data_descriptions"] for name in one["correlations"]]
    feed = feed_of([CORRELATION_NUMBERS[name] for name in names if name in CORRELATION_NUMBERS])
    low = min(one["lowest_hz"] for one in summary["spectral_windows"])
    high = max(one["highest_hz"] for one in summary["spectral_windows"])
    if feed == "linear":
        kind, elements, values = "rotation", ("",), {"rotation": -angle[:, None, :, None, None]}
    else:
        turned = np.stack([-angle, angle], axis=-1)[:, None, :, None]
        kind, elements, values = "phase", ("0", "1"), {"phase": turned}
    shape = next(iter(values.values())).shape
    width = np.diff(time_s).min() if len(time_s) > 1 and np.diff(time_s).min() > 0 else 1.0
    found = TermSolutions(
        term.name,
        kind,
        elements,
        time_s=time_s,
        time_width_s=np.full(len(time_s), float(width)),
        frequency_hz=np.array([0.5 * (low + high)]),
        frequency_width_hz=np.array([max(high - low, 1.0)]),
        antennas=tuple(one["name"] for one in antennas),
        directions=("",),
        value=values,
        sigma={quantity: np.zeros(shape) for quantity in values},
        flag=np.zeros(shape, dtype=bool),
        text=term.text,
    )  # not of fields: what is chosen by field, as gains of a calibrator, must be of the time of the target
    windows = " ".join(str(k) for k in range(len(summary["data_descriptions"])))
    made_from = {"measurement_set": os.path.realpath(path), "data_desc_ids": windows}
    return Solutions((found,), feed, provenance=made_from)
