"""Measurement Sets: inspecting, creating, reading in time-slot groups."""

from __future__ import annotations

from .make_ms import Band, Created, create
from .ms_group import MsGroup, groups
from .ms_reading import (
    CORRELATION_NAMES,
    CORRELATION_NUMBERS,
    OpenSet,
    Tiles,
    baselines,
    feed_of,
    inspect,
    sample_tiles,
    slot_times,
    tiles,
)
from .ms_run import RunReport, run_options

__all__ = [
    "CORRELATION_NAMES",
    "CORRELATION_NUMBERS",
    "Band",
    "Created",
    "MsGroup",
    "OpenSet",
    "RunReport",
    "Tiles",
    "baselines",
    "create",
    "feed_of",
    "groups",
    "inspect",
    "run_options",
    "sample_tiles",
    "slot_times",
    "tiles",
]
