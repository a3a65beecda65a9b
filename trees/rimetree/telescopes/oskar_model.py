"""Telescope models of OSKAR: folders with a layout of stations, and a folder for each of them.

Source: OSKAR Telescope Model, revision 8 (OSKAR 2.7).
"""

from __future__ import annotations

import os
import re

import numpy as np
from numpy.typing import NDArray

from .local_places import geocentric
from .telescope import Telescope, TelescopeError

_LOCAL, _GEOCENTRIC, _GEODETIC = "layout.txt", "layout_ecef.txt", "layout_wgs84.txt"


def is_oskar_model(folder: str) -> bool:
    """Whether a folder has a layout of stations."""
    return any(os.path.exists(os.path.join(folder, name)) for name in (_LOCAL, _GEOCENTRIC, _GEODETIC))


def read_oskar_model(folder: str) -> Telescope:
    """The telescope in a folder; its stations are as large as the layouts of their elements are wide, or 1 m. Raises
    `TelescopeError` for what is no model, and for errors of positions, which are not read."""
    try:
        ecef_m = _places(folder)
    except TelescopeError as problem:
        raise problem if problem.file else TelescopeError(problem.message, file=folder) from None
    stations = sorted(one.name for one in os.scandir(folder) if os.path.exists(os.path.join(one.path, _LOCAL)))
    kinds = _kinds(folder, len(stations), len(ecef_m))
    widths = [_width(os.path.join(folder, own)) for own in stations] or [1.0]
    names = stations if len(stations) == len(ecef_m) else [f"station{number:03d}" for number in range(len(ecef_m))]
    return Telescope(
        os.path.basename(os.path.normpath(folder)),
        tuple(names),
        ecef_m,
        np.array([widths[kind] for kind in kinds]),
        mount="FIXED",
    )


def _kinds(folder: str, n_folder: int, n_station: int) -> list[int]:
    """Which of the folders is that of each station: its own, the only one, or what a file says."""
    told = os.path.join(folder, "station_type_map.txt")
    if os.path.exists(told):
        kinds = _numbers(told, 1, 1)[:, 0].astype(int).tolist()
        if len(kinds) != n_station or not all(0 <= kind < max(1, n_folder) for kind in kinds):
            raise TelescopeError(f"expected {n_station} numbers of {n_folder} folders of stations", file=told)
        return kinds
    if n_folder not in (0, 1, n_station):
        raise TelescopeError(f"{n_folder} folders of stations, expected one or {n_station}", file=folder)
    return list(range(n_station)) if n_folder == n_station else [0] * n_station


def _places(folder: str) -> NDArray[np.float64]:
    """[A,3], geocentric."""
    if os.path.exists(os.path.join(folder, _GEOCENTRIC)):
        return _numbers(os.path.join(folder, _GEOCENTRIC), 3, 3)
    if os.path.exists(os.path.join(folder, _GEODETIC)):
        places = _numbers(os.path.join(folder, _GEODETIC), 2, 3)
        return np.concatenate([geocentric(np.zeros((1, 3)), *place) for place in places])
    place = _numbers(os.path.join(folder, "position.txt"), 2, 3)
    if len(place) != 1:
        raise TelescopeError("expected one line", file=os.path.join(folder, "position.txt"))
    return geocentric(_numbers(os.path.join(folder, _LOCAL), 2, 3), *place[0])


def _width(station: str) -> float:
    """Of a station: twice the distance of the farthest element from its middle, or 1 m."""
    try:
        places = _numbers(os.path.join(station, _LOCAL), 2, 3, errors=True)[:, :2]
    except TelescopeError:
        return 1.0
    return max(1.0, 2 * float(np.linalg.norm(places - places.mean(axis=0), axis=1).max()))


def _numbers(file: str, least: int, most: int, errors: bool = False) -> NDArray[np.float64]:
    """[line, most] numbers with commas or blanks between them; those that are missing are 0. `errors`: whether there
    may be more numbers."""
    try:
        with open(file, encoding="utf-8-sig") as stream:
            content = stream.read()
    except (OSError, UnicodeDecodeError) as problem:
        raise TelescopeError(f"cannot be read: {getattr(problem, 'strerror', None) or problem}", file=file) from None
    rows = []
    for number, line in enumerate(content.splitlines(), start=1):
        parts = [part for part in re.split(r"[\s,]+", line.partition("#")[0]) if part]
        if not parts:
            continue
        try:
            values, others = [float(part) for part in parts[:most]], [float(part) for part in parts[most:]]
        except ValueError:
            values, others = [], []
        if any(others) and not errors:
            raise TelescopeError("errors of positions are not read", file=file, line=number, column=1)
        if len(values) < least or not np.isfinite(values).all():
            raise TelescopeError(f"expected {least} to {most} numbers", file=file, line=number, column=1)
        rows.append(values + [0.0] * (most - len(values)))
    if not rows:
        raise TelescopeError("there are no numbers", file=file)
    return np.array(rows)
