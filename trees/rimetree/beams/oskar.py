"""Stations of OSKAR's telescope models: folders with a folder for each station.

Source: OSKAR Telescope Model, revision 8 (OSKAR 2.7).
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from .station import read_layout

_LAYOUT = "layout.txt"


def oskar_layouts(folder: str) -> list[NDArray[np.float64]]:
    """[element,3] of each station of a telescope model, in the order of its folders, to the east, the north and the
    zenith, in metres; of a model with one folder, that of all stations. Raises `Error` where there is none, and for
    what stations have besides a layout, which is not read: element types, weights, feeds that are turned, tiles."""
    try:
        stations = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError as problem:
        raise Error(f"{folder}: no telescope model that can be read: {problem}") from problem
    stations = [station for station in stations if os.path.exists(os.path.join(station, _LAYOUT))]
    if not stations:
        raise Error(f"{folder}: no telescope model: there is no folder of a station with a {_LAYOUT}")
    for station in stations:
        if others := sorted(name for name in os.listdir(station) if name != _LAYOUT and not name.startswith(".")):
            raise Error(f"{os.path.join(station, others[0])}: of stations only {_LAYOUT} is read")
    return [read_layout(os.path.join(station, _LAYOUT)) for station in stations]
