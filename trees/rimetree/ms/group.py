"""The parts of a Measurement Set that one tree can serve: rows of one field whose feeds are of one kind."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..arguments import checked
from ..directions import angles_from, require_direction
from ..some_names import some_names
from .reading import (
    CORRELATION_NUMBERS,
    OpenSet,
    Tiles,
    baselines,
    feed_of,
    inspect,
    sample_coordinates,
    slot_scans,
    without_averaging,
)
from .run import run_options
from .selection import NothingSelectedError, Selection, times_text


@dataclass(frozen=True, eq=False)
class MsGroup:
    """What a tree script needs to know about the rows that its tree is for.

    Attributes
    ----------
    path : of the Measurement Set
    field_id, field_name : the field
    phase_centre_rad : (ra, dec) of the field, in its frame, or where its data are moved on reading; positions of
        sources count as in the same frame
    frame : "ICRS" where the FIELD table says so, else "J2000"
    data_desc_ids : data descriptions of the rows
    feed : "linear" or "circular"
    correlations : names, e.g. ("XX", "XY", "YX", "YY"); those of the first data description
    baselines : (ANTENNA1, ANTENNA2) pairs that have rows, without autocorrelations unless asked for
    antennas : numbers of the antennas of these baselines (rows of the ANTENNA table), ascending
    antenna_names : {number: name}; `antenna_xyz_m`: {number: [3] ITRF position}, zeros where the set has none
    n_row, n_time, n_channel : rows, time slots and the largest number of channels of a spectral window
    frequency_hz : (lowest, highest) channel centre
    columns : names of the columns of visibilities that the set has
    selection : what to give `Forest.run` as options, so that it takes these rows
    unfinished : {column: text} of columns that a run has not finished writing
    """

    path: str
    field_id: int
    field_name: str
    phase_centre_rad: tuple[float, float]
    data_desc_ids: tuple[int, ...]
    feed: str
    correlations: tuple[str, ...]
    baselines: list[tuple[int, int]]
    antenna_names: dict[int, str]
    antenna_xyz_m: dict[int, NDArray[np.float64]]
    n_row: int
    n_time: int
    n_channel: int
    frequency_hz: tuple[float, float]
    columns: tuple[str, ...]
    selection: dict
    frame: str = "J2000"
    unfinished: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def antennas(self) -> list[int]:
        """Numbers of the antennas of `baselines`, ascending."""
        return sorted({antenna for pair in self.baselines for antenna in pair})

    @functools.cached_property
    def some_times_s(self) -> NDArray[np.float64]:
        """[time] centres (MJD, seconds) of at most eight of its slots, spread evenly over them."""
        slots = sorted({time_s for time_s, _ in slot_scans(self.path, **without_averaging(self.selection))})
        return np.array(slots)[np.unique(np.linspace(0, len(slots) - 1, min(8, len(slots))).round().astype(int))]

    def slot_bytes(self, n_column: int = 1) -> int:
        """What a time slot takes as it is read: so many columns of visibilities, their weights and flags."""
        return len(self.baselines) * self.n_channel * len(self.correlations) * (8 * n_column + 4 + 1)

    @property
    def windows_text(self) -> str:
        """Which windows of which set, for messages."""
        return f"window {', '.join(map(str, self.data_desc_ids))} of {self.path}"

    def require_column(self, name: str) -> None:
        """Raises `Error` where the set has no such column of visibilities; warns where it is not finished."""
        if name not in self.columns:
            there = ", ".join(self.columns) or "none"
            raise Error(f"{self.path} has no column of visibilities {name}; columns of visibilities are: {there}")
        if name in self.unfinished:
            warnings.warn(f"{self.path}: {self.unfinished[name]}", stacklevel=3)

    def __str__(self) -> str:
        ids = ",".join(map(str, self.data_desc_ids))
        return (
            f"field {self.field_id} ({self.field_name}), data description {ids}: {len(self.baselines)} baselines, "
            f"{self.n_time} times, {self.n_channel} channels, {self.feed} feeds"
        )


@checked
def groups(
    path: str | os.PathLike,
    *,
    data_desc_id: int | Sequence[int] | None = None,
    field_id: int | Sequence[int] | None = None,
    autocorrelations: bool = False,
    summary: dict | None = None,
    selection: Selection | None = None,
    by_window: bool = False,
) -> list[MsGroup]:
    """The groups of rows of a Measurement Set that need a tree each, by field.

    All data descriptions of a field go together where their feeds are of one kind; otherwise, or `by_window`, each is a
    group.
    `data_desc_id`, `field_id`: only this, or these. `summary`: what `ms.inspect` said, if it was asked already.
    `selection`: of rows and channels; groups of which nothing is left are left out.
    Raises `Error` where nothing is selected or the correlations are such that no visibility can be written.
    """
    path = os.fspath(path)
    summary = summary or inspect(path, scan_cells=False)
    if summary["rows_problem"]:
        raise Error(summary["rows_problem"])
    windows, fields = chosen_ids(data_desc_id), chosen_ids(field_id)
    check_ids(summary, windows, fields)
    found: dict[int, list[dict]] = {}
    for part in summary["groups"]:
        wanted = part["data_desc_id"] in (windows or {part["data_desc_id"]})
        wanted = wanted and part["field_id"] in (fields or {part["field_id"]})
        if wanted and part["n_row"] > (0 if autocorrelations else part["n_autocorrelation"]):
            found.setdefault(part["field_id"], []).append(part)
    if not found:
        raise Error(f"{path} has no rows {'' if autocorrelations else 'between different antennas '}that are selected")
    opened = OpenSet(path)
    if selection is not None and selection.of_some_channels:
        without = _without_channels(opened, found, selection)
        found = {field: [one for one in own if one["data_desc_id"] not in without] for field, own in found.items()}
        windows = windows if not without else {one["data_desc_id"] for own in found.values() for one in own}
    all_rows = fields is None and windows is None and len(found) == 1
    result: list[MsGroup] = []
    problem: Error | None = None
    for field, parts in sorted(found.items()):
        kinds = {_kind(summary, part["data_desc_id"]) for part in parts}
        together = len(kinds) == 1 and (windows is None or len(windows) > 1) and not by_window
        for some in [parts] if together else [[part] for part in parts]:
            try:
                group = _group(opened, summary, field, some, together, all_rows, autocorrelations, selection)
            except NothingSelectedError as nothing:  # of these; others may have something
                problem = problem or nothing
                continue
            result.append(group)
            if windows is not None and together:
                group.selection["data_desc_ids"] = list(group.data_desc_ids)
    if problem is not None and not result:
        raise problem
    if not any(group.baselines for group in result):
        if selection is not None and selection.scans:
            _require_scans(path, selection.scans, sorted({scan for _, scan in slot_scans(opened)}))
        there = times_text(summary["first_time_s"], summary["last_time_s"])
        chosen = "everything" if selection is None else selection.text
        raise Error(f"{path}: no rows are left of what is selected ({chosen}); it has times {there}")
    _warn_of_flagged_antennas(summary, {antenna for group in result for antenna in group.antennas})
    if by_window:
        result.sort(key=lambda group: (group.data_desc_ids, group.field_id))
    return [group for group in result if group.baselines]


def _warn_of_flagged_antennas(summary: dict, used: set[int]) -> None:
    """Of those whose row of ANTENNA is flagged, though their data may not be."""
    if found := [antenna["name"] for antenna in summary["antennas"] if antenna["flagged"] and antenna["id"] in used]:
        warnings.warn(
            f"{summary['path']}: table ANTENNA says that {some_names(found)} are flagged; their data count as flagged "
            "where FLAG or FLAG_ROW says so, and else are used: --antenna !NAME leaves an antenna out",
            stacklevel=3,
        )


def _without_channels(opened: OpenSet, found: dict[int, list[dict]], selection: Selection) -> set[int]:
    """The data descriptions that have none of the channels that are selected; raises, and warns, as
    `Selection.check_channels` does."""
    every = {part["data_desc_id"] for parts in found.values() for part in parts}
    centres = {one: next(sample_coordinates(opened, 1, data_desc_id=one))["frequency_hz"] for one in sorted(every)}
    selection.check_channels(centres)
    left = {one for one, frequency_hz in centres.items() if selection.of_channels(frequency_hz).any()}
    if not left:
        raise Error(f"{opened.path}: no channels are left of what is selected ({selection.text})")
    return every - left


@checked
def require_slots(path: str | os.PathLike | OpenSet, found: Sequence[MsGroup], selection: Selection) -> None:
    """Raises `Error` for a scan, or scans one after the other, of which the set has none, and for a range of times of
    which there is nothing in any of the groups; warns of scans before the first and after the last that there is."""
    opened = path if isinstance(path, OpenSet) else OpenSet(path)
    if selection.scans:  # those of other fields count, for a range may be chosen beside a field
        _require_scans(opened.path, selection.scans, sorted({scan for _, scan in slot_scans(opened)}))

    def slots(group: MsGroup, **choice) -> list[tuple[float, int]]:
        rows = {key: value for key, value in group.selection.items() if key not in ("scans", "times_s")}
        return slot_scans(opened, **rows, **choice)

    if len(selection.times_s) < 2:  # of one there is something, or nothing at all is left
        return
    for pair in selection.times_s:
        if not any(slots(group, times_s=[tuple(pair)]) for group in found):
            times = [time_s for group in found for time_s, _ in slots(group)]
            raise Error(
                f"{opened.path} has no data between {times_text(*pair)}; what is selected has times "
                f"{times_text(min(times), max(times))}"
            )


def _require_scans(path: str, chosen: Sequence[int], there: Sequence[int]) -> None:
    numbers = np.unique(np.asarray(chosen, dtype=int))
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        text = f"scan {run[0]}" if len(run) == 1 else f"scans {run[0]} to {run[-1]}"
        every = f"{', '.join(map(str, there[:20]))}{', ...' if len(there) > 20 else ''}"
        if not np.isin(run, there).any():
            raise Error(f"{path} has no {text}; it has {every}")
        if run[0] < there[0] or run[-1] > there[-1]:
            warnings.warn(f"{text} are selected, but {path} has the scans {every}", stacklevel=3)


def chosen_ids(ids: int | Sequence[int] | None) -> set[int] | None:
    """One number, or several, as a set; None for all. Raises `Error` for none at all."""
    if ids is None:
        return None
    found = {int(ids)} if isinstance(ids, Integral) else {int(one) for one in ids}
    if not found:
        raise Error("no field or data description is selected: give at least one, or None for all")
    return found


def _distinct_names(antennas: Sequence[dict]) -> dict[int, str]:
    """{number: name} of all antennas, those with data each by a name of its own: names that several have (as in sets
    that were put together after antennas had moved), and empty ones, are followed by "@STATION", or "@NUMBER" if that
    does not tell them apart."""
    used = [antenna for antenna in antennas if antenna["n_row"] > 0]
    names = Counter(antenna["name"] for antenna in used)
    placed = Counter((antenna["name"], antenna["station"]) for antenna in used)
    found = {antenna["id"]: antenna["name"] for antenna in antennas}
    for antenna in used:
        name, station = antenna["name"], antenna["station"]
        if name and names[name] == 1:
            continue
        at = f"{name}@{station}"
        tells = station and placed[name, station] == 1 and at not in names
        found[antenna["id"]] = at if tells else f"{name}@{antenna['id']}"
    return found


def check_ids(summary: dict, windows: set[int] | None, fields: set[int] | None) -> None:
    """Raises `Error` for numbers of data descriptions or fields that a set, of which `ms.inspect` said so, does not
    have."""
    for what, wanted, known in (
        ("DATA_DESC_ID", windows, summary["data_descriptions"]),
        ("FIELD_ID", fields, summary["fields"]),
    ):
        for one in sorted(wanted or ()):
            if not 0 <= one < len(known):
                raise Error(f"{summary['path']} has no {what} {one}; it has 0 to {len(known) - 1}")


def _correlations(summary: dict, data_desc_id: int) -> Sequence[str]:
    return summary["data_descriptions"][data_desc_id]["correlations"]


def _kind(summary: dict, data_desc_id: int) -> tuple[str, bool]:
    """What one tree can be for: its feed, and whether the data hold Stokes I alone, which mixes both feeds."""
    return _feed(summary, data_desc_id), tuple(_correlations(summary, data_desc_id)) == ("I",)


def _feed(summary: dict, data_desc_id: int) -> str:
    names = _correlations(summary, data_desc_id)
    numbers = [CORRELATION_NUMBERS.get(name, 0) for name in names]
    if any(not (number == 1 or 5 <= number <= 12) for number in numbers):
        raise Error(
            f"{summary['path']}: DATA_DESC_ID {data_desc_id} has correlations {' '.join(names)}; supported are "
            "XX XY YX YY, RR RL LR LL and I"
        )
    return feed_of(numbers)


def _moved_centre(field: dict, to_rad: Sequence[float]) -> tuple[float, float]:
    """Where the data of a field are moved. Raises `Error` for what is no direction, or below its horizon."""
    ra, dec = (float(angle) for angle in require_direction("phase_centre_rad", to_rad))
    apart = float(angles_from((ra, dec), (field["ra_rad"], field["dec_rad"])))
    if not apart < math.pi / 2:
        raise Error(
            f"the new phase centre is {math.degrees(apart):.1f} deg from field {field['name']!r}, and must be within "
            "90 deg"
        )
    return ra, dec


def _rows_and_times(opened: OpenSet, selection: dict) -> tuple[int, list[list[float]]]:
    """How many rows are selected, and the times (MJD, seconds) of the slots of each data description with any."""
    options = {**run_options(**selection), "time_slots": 1, "average_slots": 1, "average_baselines": []}
    keys = Tiles(opened, [], options).keys()
    windows = sorted({key["data_desc_id"] for key in keys})
    times = [sorted({key["first_time_s"] for key in keys if key["data_desc_id"] == one}) for one in windows]
    return sum(key["n_row"] for key in keys), times


def _group(
    opened: OpenSet,
    summary: dict,
    field: int,
    parts: list[dict],
    together: bool,
    all_rows: bool,
    autocorrelations: bool,
    chosen: Selection | None,
) -> MsGroup:
    ids = tuple(part["data_desc_id"] for part in parts)
    n_row = sum(part["n_row"] - (0 if autocorrelations else part["n_autocorrelation"]) for part in parts)
    n_time = max(part["n_time"] for part in parts)
    selection = {"autocorrelations": autocorrelations}
    if not (together and all_rows):
        selection["field_id"] = field
    if not together:
        selection["data_desc_id"] = ids[0]
    if chosen is not None and chosen.one_order:
        selection["one_order"] = True
    about = summary["fields"][field]
    centre = (about["ra_rad"], about["dec_rad"])
    if None in centre:
        raise Error(f"{opened.path}: the phase centre of field {field} ({about['name']}) is not a number")
    if chosen is not None and chosen.phase_centre_rad is not None:
        selection["phase_centre_rad"] = centre = _moved_centre(about, chosen.phase_centre_rad)
    names = _distinct_names(summary["antennas"])
    pairs = baselines(opened, **selection)
    if chosen is not None and not chosen.all:
        selection |= chosen.options(names, pairs)
        pairs = baselines(opened, **selection)
        n_row, times = _rows_and_times(opened, selection)
        n_time = max(map(len, times), default=0)
        slots = chosen.slots_averaged(times[0] if times else [])
        selection |= {"average_slots": slots} if slots > 1 else {}
    windows = [summary["spectral_windows"][summary["data_descriptions"][i]["spectral_window_id"]] for i in ids]
    return MsGroup(
        path=opened.path,
        field_id=field,
        field_name=about["name"],
        phase_centre_rad=centre,
        data_desc_ids=ids,
        feed=_feed(summary, ids[0]),
        correlations=tuple(_correlations(summary, ids[0])),
        baselines=pairs,
        antenna_names=names,
        antenna_xyz_m={antenna["id"]: np.array(antenna["position_m"], dtype=float) for antenna in summary["antennas"]},
        n_row=n_row,
        n_time=n_time,
        n_channel=max(window["n_channel"] for window in windows),
        frequency_hz=(min(w["lowest_hz"] for w in windows), max(w["highest_hz"] for w in windows)),
        columns=tuple(column["name"] for column in summary["columns"]),
        selection=selection,
        frame=about["coordinates"],
        unfinished={journal["column"]: journal["text"] for journal in summary["progress"]},
    )
