"""Which rows and channels of a set a command was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .fields import chosen_fields

if TYPE_CHECKING:
    from rimetree.ms import MsGroup, Selection

_Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """What `rows_options` give, and `channels_option` and `averaging_options` of commands that have them, by the names
    of their parameters; of what was not said: None, or an empty tuple."""

    field_names: _Names | None
    ddid: tuple[int, ...] | None
    scans: tuple[int, ...] | None
    times: tuple[tuple[float | str, float | str], ...]  # seconds from the beginning of the set, or UTC
    antennas: _Names | None
    baselines: _Names | None
    channels: tuple | None = None  # ranges of numbers, ranges of hertz
    average_time: tuple[int, float] | None = None  # slots, seconds
    average_channels: tuple[int, float] | None = None  # channels, hertz
    move_phase_centre: tuple[float, float] | None = None  # ra and dec, radians

    def selection(self, summary: dict) -> Selection:
        """Times from the beginning count from where the set's first slot begins: with slots of 30 s, 0s~60s are two of
        them, and 60s~90s is the next one."""
        from rimetree import ms
        from rimetree.utc import parse_utc

        lengths_s = [one for one in (summary["spacing_s"], max(summary["exposures_s"], default=0.0)) if one > 0]
        begin_s = summary["first_time_s"] - 0.5 * min(lengths_s, default=0.0)
        numbers, frequencies = self.channels or ((), ())
        slots, length_s = self.average_time or (1, 0.0)
        channels, width_hz = self.average_channels or (1, 0.0)
        return ms.Selection(
            scans=self.scans or (),
            times_s=[
                tuple(parse_utc(one) if isinstance(one, str) else begin_s + one for one in pair) for pair in self.times
            ],
            antennas=self.antennas or (),
            baselines=self.baselines or (),
            channels=numbers,
            frequencies_hz=frequencies,
            average_slots=slots,
            average_channels=channels,
            average_s=length_s,
            average_hz=width_hz,
            phase_centre_rad=self.move_phase_centre,
        )

    def chosen(self, summary: dict) -> ChosenRows:
        """Those of a set."""
        return ChosenRows(self.ddid, chosen_fields(summary, self.field_names), self.selection(summary))

    def groups(self, ms: str, summary: dict) -> list[MsGroup]:
        """The groups of rows of a set that were chosen; raises where a part of what was chosen is not there."""
        rows = self.chosen(summary)
        found = rows.groups(ms, summary)
        rows.check(ms, found)
        return found


@dataclass(frozen=True)
class ChosenRows:
    """DATA_DESC_IDs, FIELD_IDs and a selection of their rows and channels; each is everything where it is None."""

    data_desc_id: tuple[int, ...] | None
    field_id: list[int] | None
    selection: Selection | None = None

    def groups(self, ms: str, summary: dict | None = None, *, by_window: bool = False) -> list[MsGroup]:
        """The groups of rows that are left, as `rt.ms.groups` gives them."""
        import rimetree as rt

        return rt.ms.groups(ms, **vars(self), summary=summary, by_window=by_window)

    def check(self, ms: str, found: list[MsGroup]) -> None:
        """Raises where a part of what was selected is not there, though the rest is; `found`: the groups."""
        import rimetree as rt

        if self.selection is not None:
            rt.ms.require_slots(ms, found, self.selection)
