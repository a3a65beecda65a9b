"""Making a Measurement Set for a telescope: times, baselines, UVW and frequencies; the visibilities are zero."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core, telescopes
from .._core import EARTH_ROTATION_RAD_S, Error
from ..arguments import check_fields, checked
from ..evaluation.cells import spacings_of
from ..machine import size_text
from ..ms.flags import versions_folder
from ..ms.reading import CORRELATION_NUMBERS
from ..telescopes import Telescope
from ..units import LOWEST_RADIO_HZ
from ..utc import dut1, parse_utc, require_date, with_dut1
from .antenna_uvw import antenna_uvw
from .horizon import elevations_of_antennas, horizontal, warn_of_antennas, warn_of_horizon
from .scans import Scan, fields_of

_DEFAULT_CHANNELS = 64
_DEFAULT_DATE_MJD_S = 60676.0 * 86400.0  # 2025-01-01
_CORRELATIONS = {"linear": ("XX", "XY", "YX", "YY"), "circular": ("RR", "RL", "LR", "LL")}
_NUMBERS = {name: CORRELATION_NUMBERS[name] for feed in ("circular", "linear") for name in _CORRELATIONS[feed]}


@dataclass(frozen=True)
class Band:
    """A spectral window: `frequency_hz` [channel] centres, `width_hz` [channel] widths (may be negative), a `name`."""

    frequency_hz: Sequence[float]
    width_hz: Sequence[float]
    name: str = ""

    @classmethod
    @checked
    def regular(cls, centre_hz: float, bandwidth_hz: float, channels: int, name: str = "") -> Band:
        """Equal channels that fill a band; a negative bandwidth makes them descend."""
        if channels < 1:
            raise Error(f"a band needs at least 1 channel, not {channels}")
        width = bandwidth_hz / channels
        centres = centre_hz + (np.arange(channels) - (channels - 1) / 2) * width
        return cls(tuple(centres.tolist()), (width,) * channels, name)

    @classmethod
    @checked
    def of(
        cls, frequency_hz: float | Sequence[float], width_hz: float | Sequence[float] | None = None, name: str = ""
    ) -> Band:
        """From channel centres; a width not given is the distance of neighbours, negative where channels descend."""
        centres = np.atleast_1d(np.asarray(frequency_hz, dtype=float))
        if centres.ndim != 1 or len(centres) == 0:
            raise Error(f"frequencies must be a list of at least 1 number, not of shape {list(centres.shape)}")
        if width_hz is None:
            if len(centres) == 1:
                raise Error("a band of one channel needs a channel width")
            width_hz = spacings_of(centres) * (-1 if (np.diff(centres) < 0).all() else 1)
        widths = np.broadcast_to(np.asarray(width_hz, dtype=float), centres.shape)
        return cls(tuple(centres.tolist()), tuple(widths.tolist()), name)

    def __post_init__(self) -> None:
        check_fields(self)
        centres, widths = np.asarray(self.frequency_hz, dtype=float), np.asarray(self.width_hz, dtype=float)
        if centres.shape != widths.shape:
            raise Error(f"{len(centres)} channels but {len(widths)} channel widths")
        if not (np.isfinite(centres).all() and np.isfinite(widths).all() and (widths != 0).all()):
            raise Error("channel frequencies and widths must be finite, and widths not 0 Hz")
        if (centres - np.abs(widths) / 2 <= 0).any():
            raise Error(f"channels reach down to {(centres - np.abs(widths) / 2).min():g} Hz; they must be positive")


@dataclass(frozen=True)
class Created:
    """What `create` made: sizes, times (MJD, seconds, UTC) of the first and last centre, and elevations (radians)."""

    path: str
    n_antenna: int
    n_baseline: int
    n_time: int
    n_row: int
    bytes: int
    first_time_s: float
    last_time_s: float
    elevation_rad: tuple[float, float]
    hour_angle_rad: tuple[float, float]
    dut1_s: float


@checked
def create(
    path: str | os.PathLike,
    telescope: Telescope | str | os.PathLike,
    *,
    integration_s: float,
    phase_centre_rad: Sequence[float] | None = None,
    duration_s: float | None = None,
    scans: Sequence[Scan] = (),
    start: str | None = None,
    start_mjd_s: float | None = None,
    start_hour_angle_rad: float | None = None,
    bands: Band | Sequence[Band] | None = None,
    correlations: str | Sequence[str] | None = None,
    autocorrelations: bool = False,
    weight_spectrum: bool = False,
    columns: Sequence[str] = ("DATA",),
    field_name: str = "",
    frame: str = "J2000",
    overwrite: bool = False,
) -> Created:
    """Create a Measurement Set whose visibilities are zero and whose weights are one.

    Parameters
    ----------
    path: where; it appears complete or not at all.
    telescope: a `Telescope`, or a name or layout file for `telescopes.get`.
    phase_centre_rad: right ascension and declination, in `frame` ("J2000" or "ICRS").
    duration_s, integration_s: of the observation and of each time slot; the last slot is left out where it does not
        fit whole.
    scans: instead of a phase centre and a duration: what is observed one after the other, each scan a field of its own
        or one that was looked at before.
    start: UTC date and time (ISO 8601) at which the first integration begins; `start_mjd_s`: the same in seconds of
        MJD; `start_hour_angle_rad`: the hour angle then, and the day is that of `start` or 2025-01-01. With none of
        them the source transits in the middle of the observation.
    bands: spectral windows (default: the telescope's band, 64 channels).
    correlations: e.g. "XX YY" (default: all four of the telescope's feed).
    columns: columns of visibilities; DATA must be among them.

    UVW are position(ANTENNA1) - position(ANTENNA2) in the frame of the phase centre (`antenna_uvw`). Warns where the
    source is below the horizon, of all or of some antennas. Raises `Error` or `TelescopeError` where something cannot
    be, or does not fit the disk.
    """
    path = os.fspath(path)
    if os.path.lexists(path) and not overwrite:
        raise Error(f"creating {path} failed: it exists; choose another name or ask to overwrite it")
    array = telescope if isinstance(telescope, Telescope) else telescopes.get(telescope)
    scans = _scans(phase_centre_rad, duration_s, field_name, scans)
    if frame not in ("J2000", "ICRS"):
        raise Error(f"frame is {frame!r}; it must be J2000 or ICRS")
    bands = _bands(bands, array)
    _warn_of_units(bands)
    types = _correlation_types(correlations, array)
    if not (math.isfinite(integration_s) and integration_s > 0):
        raise Error(f"integration_s is {integration_s:g} s; it must be positive")
    slots = [scan.n_time(integration_s) for scan in scans]
    n_time = sum(slots)
    fields, field_of_scan = fields_of(scans)
    first, second = np.triu_indices(len(array), 0 if autocorrelations else 1)
    if not len(first):
        raise Error(f"{array.name} has one antenna and no baseline: only autocorrelations can be asked for")
    size = _check_space(path, n_time * len(first), bands, len(types), len(columns), weight_spectrum)

    duration_s = sum(scan.duration_s for scan in scans)
    begin_s = _begin(array, scans[0].centre, duration_s, start, start_mjd_s, start_hour_angle_rad)
    middle_s = begin_s + duration_s / 2
    dut1_s = dut1(middle_s)
    time_s = begin_s + (np.arange(n_time) + 0.5) * integration_s
    own = [
        (scan.centre, *part)
        for scan, times in zip(scans, np.split(time_s, np.cumsum(slots)[:-1]), strict=True)
        for part in with_dut1(times, middle_s, dut1_s)
    ]
    antenna_uvw_m = np.concatenate([antenna_uvw(array, *one, frame) for one in own])
    uvw_m = antenna_uvw_m[:, first] - antenna_uvw_m[:, second]
    above = [horizontal(array, centre[None], *times) for centre, *times in own]
    elevation, hour_angle = (np.concatenate([one[i][:, 0] for one in above]) for i in (0, 1))
    warn_of_horizon("the phase centre", elevation, 3)
    of_antennas = np.concatenate([elevations_of_antennas(array, centre, *times) for centre, *times in own])
    warn_of_antennas("the phase centre", array.antenna_names, of_antennas, elevation, 3)
    description = {
        "telescope": array.observatory,
        "project": "simulation",
        "command_line": shlex.join(sys.argv),
        "antennas": [
            {"name": name, "station": name, "mount": mount, "position_m": position, "diameter_m": float(diameter)}
            for name, mount, position, diameter in zip(
                array.antenna_names,
                array.mounts,
                np.ascontiguousarray(array.ecef_m),
                array.dish_diameter_m,
                strict=True,
            )
        ],
        "fields": [
            {"name": field.name, "ra_rad": field.centre[0], "dec_rad": field.centre[1], "frame": frame}
            for field in fields
        ],
        "field_of_time": np.repeat(field_of_scan, slots).tolist(),
        "spectral_windows": [
            {
                "name": band.name or f"SPW{index}",
                "frequency_hz": np.array(band.frequency_hz, dtype=float),
                "width_hz": np.array(band.width_hz, dtype=float),
            }
            for index, band in enumerate(bands)
        ],
        "correlation_type": types,
        "antenna1": first.tolist(),
        "antenna2": second.tolist(),
        "time_s": time_s,
        "interval_s": float(integration_s),
        "uvw_m": np.ascontiguousarray(uvw_m).ravel(),
        "weight_spectrum": bool(weight_spectrum),
        "columns": list(columns),
        "overwrite": bool(overwrite),
    }
    _core.create_ms(path, description)
    if overwrite:
        shutil.rmtree(versions_folder(path), ignore_errors=True)  # of the set that was there before
    return Created(
        path=path,
        n_antenna=len(array),
        n_baseline=len(first),
        n_time=n_time,
        n_row=n_time * len(first) * len(bands),
        bytes=size,
        first_time_s=float(time_s[0]),
        last_time_s=float(time_s[-1]),
        elevation_rad=(float(elevation.min()), float(elevation.max())),
        hour_angle_rad=(float(hour_angle[0]), float(hour_angle[-1])),
        dut1_s=dut1_s,
    )


def _scans(phase_centre_rad, duration_s, field_name: str, scans: Sequence[Scan]) -> list[Scan]:
    """What is observed, of a list or of one phase centre; raises `Error` for both, or none."""
    if (phase_centre_rad is None) == (not scans) or (phase_centre_rad is None) != (duration_s is None):
        raise Error("give phase_centre_rad and duration_s, or scans")
    return list(scans) or [Scan(phase_centre_rad, duration_s, field_name)]


def _bands(bands: Band | Sequence[Band] | None, array: Telescope) -> list[Band]:
    if bands is None:
        return [Band.regular(array.band_centre_hz, array.band_width_hz, _DEFAULT_CHANNELS)]
    listed = [bands] if isinstance(bands, Band) else list(bands)
    if not listed:
        raise Error("no spectral window")
    return listed


def _correlation_types(correlations: str | Sequence[str] | None, array: Telescope) -> list[int]:
    names = _CORRELATIONS[array.feed] if correlations is None else correlations
    names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    if unknown := [name for name in names if name.upper() not in _NUMBERS]:
        raise Error(f"unknown correlation {unknown[0]!r}; known are {', '.join(_NUMBERS)}")
    return sorted(_NUMBERS[name.upper()] for name in names)


def _check_space(
    path: str, rows_per_band: int, bands: list[Band], n_correlation: int, n_column: int, weight_spectrum: bool
) -> int:
    """Bytes that the set will take; raises `Error` before anything is computed where there is no room for them."""
    per_visibility = 8 * n_column + 1 + 4 * weight_spectrum
    per_row = sum(80 + n_correlation * (8 + len(band.frequency_hz) * per_visibility) for band in bands)
    size = rows_per_band * per_row + 2**20
    folder = os.path.dirname(os.path.abspath(path.rstrip("/")))
    try:
        free = shutil.disk_usage(folder).free
    except OSError as problem:
        raise Error(f"creating {path} failed: {folder}: {problem.strerror or problem}") from None
    if size > free:
        raise Error(
            f"creating {path} needs {size_text(size)} of disk, but {folder} has only {size_text(free)} free; "
            "use fewer channels, a longer integration or a shorter observation"
        )
    return size


def _begin(
    array: Telescope,
    centre: NDArray[np.float64],
    duration_s: float,
    start: str | None,
    start_mjd_s: float | None,
    hour_angle_rad: float | None,
) -> float:
    """When the first integration begins: MJD, seconds, UTC."""
    if start is not None and start_mjd_s is not None:
        raise Error("give start or start_mjd_s, not both")
    at = _DEFAULT_DATE_MJD_S if start is None else parse_utc(start)
    at = at if start_mjd_s is None else float(start_mjd_s)
    require_date(at)
    if hour_angle_rad is None and (start is not None or start_mjd_s is not None):
        return at
    wanted = -duration_s * EARTH_ROTATION_RAD_S / 2 if hour_angle_rad is None else hour_angle_rad
    at = math.floor(at / 86400) * 86400.0
    for turn in (2 * math.pi, None, None):  # the first such hour angle of the day, then corrections
        _, now = horizontal(array, centre[None], np.array([at]), dut1(at))
        missing = (wanted - now[0, 0]) % turn if turn else math.remainder(wanted - now[0, 0], 2 * math.pi)
        at += missing / EARTH_ROTATION_RAD_S
    return at if hour_angle_rad is not None else float(round(at))


def _warn_of_units(bands: Sequence[Band]) -> None:
    lowest_hz, highest_hz = (f(f(band.frequency_hz) for band in bands) for f in (min, max))
    if lowest_hz < LOWEST_RADIO_HZ:
        warnings.warn(
            f"channels are at {lowest_hz:g} to {highest_hz:g} Hz, which is below what reaches the ground: frequencies "
            "without a unit are in Hz",
            stacklevel=4,
        )
