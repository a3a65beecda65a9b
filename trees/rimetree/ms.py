"""Measurement Sets: inspecting, creating, reading in time-slot groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import SetLockedError
from .flag_versions import (
    FlagChange,
    FlagVersion,
    flag_versions,
    require_flag_versions,
    restore_flags,
    save_flags,
    save_flags_before,
)
from .loading import when_used
from .ms_group import MsGroup, groups, require_slots
from .ms_reading import (
    CORRELATION_NAMES,
    CORRELATION_NUMBERS,
    OpenSet,
    Tiles,
    baselines,
    feed_of,
    inspect,
    sample_coordinates,
    sample_tiles,
    slot_scans,
    slot_times,
    tiles,
    without_averaging,
)
from .ms_run import RunReport, check_writable, run_options
from .ms_selection import Selection

if TYPE_CHECKING:  # what is loaded when it is used
    from .make_ms import Band, Created, create
    from .make_ms_scans import Scan

__all__ = [
    "CORRELATION_NAMES",
    "CORRELATION_NUMBERS",
    "Band",
    "Created",
    "FlagChange",
    "FlagVersion",
    "MsGroup",
    "OpenSet",
    "RunReport",
    "Scan",
    "Selection",
    "SetLockedError",
    "Tiles",
    "baselines",
    "check_writable",
    "create",
    "feed_of",
    "flag_versions",
    "groups",
    "inspect",
    "require_flag_versions",
    "require_slots",
    "restore_flags",
    "run_options",
    "sample_coordinates",
    "sample_tiles",
    "save_flags",
    "save_flags_before",
    "slot_scans",
    "slot_times",
    "tiles",
    "without_averaging",
]

__getattr__, __dir__ = when_used(__name__, {"make_ms": "Band Created create", "make_ms_scans": "Scan"})
