"""Measurement Sets: inspecting, creating, reading in time-slot groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import SetLockedError
from ..loading import when_used
from .flags import (
    FlagChange,
    FlagVersion,
    flag_versions,
    require_flag_versions,
    restore_flags,
    save_flags,
    save_flags_before,
)
from .group import MsGroup, groups, require_slots
from .reading import (
    CORRELATION_NAMES,
    CORRELATION_NUMBERS,
    OpenSet,
    Tiles,
    baselines,
    feed_of,
    inspect,
    numbered_scans,
    sample_coordinates,
    sample_tiles,
    scans,
    slot_scans,
    slot_times,
    tiles,
    without_averaging,
)
from .run import RunReport, check_writable, run_options
from .selection import Selection

if TYPE_CHECKING:  # what is loaded when it is used
    from ..observing.measurement_set import Band, Created, create
    from ..observing.scans import Scan

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
    "numbered_scans",
    "require_flag_versions",
    "require_slots",
    "restore_flags",
    "run_options",
    "sample_coordinates",
    "sample_tiles",
    "save_flags",
    "save_flags_before",
    "scans",
    "slot_scans",
    "slot_times",
    "tiles",
    "without_averaging",
]

__getattr__, __dir__ = when_used(
    __name__, {".observing.measurement_set": "Band Created create", ".observing.scans": "Scan"}
)
