"""Reading Measurement Sets in time-slot groups, and holding a set open for many readings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import ArgumentError, checked
from .run import run_options

#: casacore's numbers of correlation types.
CORRELATION_NUMBERS = {
    **{"I": 1, "Q": 2, "U": 3, "V": 4},
    **{"RR": 5, "RL": 6, "LR": 7, "LL": 8},
    **{"XX": 9, "XY": 10, "YX": 11, "YY": 12},
}
CORRELATION_NAMES = {number: name for name, number in CORRELATION_NUMBERS.items()}
_SLOT_BY_SLOT = {"time_slots": 1, "average_slots": 1, "average_baselines": []}


class OpenSet:
    """A Measurement Set that stays open for reading: what its rows are is read once, whoever reads it.

    Functions that read take it in the place of a path. It is closed when nobody refers to it any more.
    """

    @checked
    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        self._core = _core.open_set(self.path)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"OpenSet({self.path!r})"

    def leave_out(self, tile: dict, rows: NDArray[np.int64], out: NDArray[np.bool_]) -> None:
        """Count visibilities as flagged from now on, for all who read rows through this object: `out` [row, channel,
        correlation] of these rows of a tile that was read, without averaging. In the place of what was left out of
        them before; the set stays as it is."""
        shape = tile["first_channel"], len(tile["frequency_hz"]), len(tile["correlation_type"])
        bits = np.packbits(out.reshape(len(rows), -1), axis=1)
        self._core.leave_out(*shape, np.asarray(rows, np.int64).tobytes(), bits.tobytes())

    def leave_in(self, rows: NDArray[np.int64]) -> None:
        """Count what was left out of these rows as the set says."""
        self._core.forget_left_out(np.asarray(rows, np.int64).tobytes())


def source_of(path: str | os.PathLike | OpenSet):
    """What the extension module opens: the path, or the set that is open already."""
    if isinstance(path, OpenSet):
        return path._core
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"path must be text, a path or an OpenSet, not {path!r}")
    return os.fspath(path)


class Tiles(Sequence):
    """Time-slot groups of a Measurement Set: a sequence of dicts as `rimetree.ms.tiles` says, each read when asked for.

    `options`: as `rimetree.ms.run_options` makes them. The last one read stays in memory. `ahead`: while one is looked
    at the next is read.
    """

    @checked
    def __init__(self, path: str | os.PathLike | OpenSet, columns: Sequence[str], options: dict, *, ahead=False):
        self._core = _core.open_tiles(source_of(path), {**options, "columns": list(columns)})
        self._ahead = ahead

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, index: int) -> dict:
        tile = self._core.read(index, self._ahead)
        tile["columns"] = {name: np.asarray(values) for name, values in tile["columns"].items()}
        return {name: np.asarray(value) if isinstance(value, _core.Array) else value for name, value in tile.items()}

    def __iter__(self) -> Iterator[dict]:
        return (self[index] for index in range(len(self)))

    def begin(self) -> None:
        """Begin to read the first one in the background."""
        self._core.begin()

    def keys(self) -> list[dict]:
        """What each is, without reading any: `data_desc_id`, `field_id`, `layer`, `n_slot`, `n_row`, `first_time_s`,
        `last_time_s`, `scan` and `observation` (SCAN_NUMBER and OBSERVATION_ID of the first row); windows that are
        joined one by one."""
        return self._core.tiles()

    def baselines(self) -> list[tuple[int, int]]:
        """(ANTENNA1, ANTENNA2) pairs that have rows in any, ascending."""
        return self._core.baselines()


@checked
def inspect(path: str | os.PathLike, *, scan_cells: bool = True) -> dict:
    """What a Measurement Set holds and what in it bites, as nested dicts and lists (metadata, rows, channels, times,
    flags, UVW convention, unfinished columns, warnings). Without `scan_cells` flags and weights are not read, which is
    quicker on large sets. Raises `Error` if it cannot be opened."""
    return json.loads(_core.inspect_ms(os.fspath(path), scan_cells))


@checked
def baselines(path: str | os.PathLike | OpenSet, **options) -> list[tuple[int, int]]:
    """(ANTENNA1, ANTENNA2) pairs that have rows, ascending. Options as `run_options`."""
    return Tiles(path, [], {**run_options(**options), **_SLOT_BY_SLOT}).baselines()


@checked
def slot_times(path: str | os.PathLike | OpenSet, **options) -> list[tuple[int, int, float]]:
    """(DATA_DESC_ID, FIELD_ID, TIME) of every time slot, by time; TIME is in seconds of MJD. Options as `run_options`;
    no cells are read."""
    keys = Tiles(path, [], {**run_options(**options), **_SLOT_BY_SLOT}).keys()
    found = {(key["data_desc_id"], key["field_id"], key["first_time_s"]) for key in keys if not key["layer"]}
    return sorted(found, key=lambda slot: (slot[2], slot[0], slot[1]))


@checked
def slot_scans(path: str | os.PathLike | OpenSet, **options) -> list[tuple[float, int]]:
    """(TIME, SCAN_NUMBER) of every time slot, by time, of all data descriptions and fields that the options (as of
    `run_options`) choose, once for each scan where sub-arrays are in different ones; no cells are read."""
    keys = Tiles(path, [], {**run_options(**options), **_SLOT_BY_SLOT}).keys()
    return sorted({(key["first_time_s"], scan) for key in keys if not key["layer"] for _, scan, _ in key["scans"]})


@checked
def numbered_scans(path: str | os.PathLike | OpenSet, **options) -> list[tuple[float, int]]:
    """(TIME, number) of every time slot, by time, with a number of its own for each scan of each observation
    (OBSERVATION_ID): in sets that were put together SCAN_NUMBERs may return. Where sub-arrays are in different scans at
    one time there is another number whenever one of them begins a scan."""
    keys = Tiles(path, [], {**run_options(**options), **_SLOT_BY_SLOT}).keys()
    slots: dict[float, set[tuple[int, int]]] = {}
    for key in keys:
        if not key["layer"]:
            slots.setdefault(key["first_time_s"], set()).update(one[:2] for one in key["scans"])
    found = [(time_s, tuple(sorted(own))) for time_s, own in sorted(slots.items())]
    numbers = {own: number for number, own in enumerate(dict.fromkeys(own for _, own in found))}
    return [(time_s, numbers[own]) for time_s, own in found]


@checked
def scans(path: str | os.PathLike | OpenSet, **options) -> list[dict]:
    """The scans, by time: `observation` (OBSERVATION_ID), `scan` (SCAN_NUMBER), `field_id`, `first_time_s` and
    `last_time_s` (of time slots), `n_slot`, `n_row` and `data_desc_ids` of each; one of several fields is one for each
    field. Options as `run_options`; no cells are read."""
    keys = Tiles(path, [], {**run_options(**options), **_SLOT_BY_SLOT}).keys()
    found: dict[tuple[int, int, int], list[dict]] = {}
    for key in keys:
        for observation, scan, n_row in key["scans"]:
            found.setdefault((observation, scan, key["field_id"]), []).append({**key, "n_row": n_row})
    every = []
    for (observation, scan, field_id), own in found.items():
        times = {key["first_time_s"] for key in own}
        about = {"observation": observation, "scan": scan, "field_id": field_id}
        about |= {"first_time_s": min(times), "last_time_s": max(times), "n_slot": len(times)}
        about |= {"n_row": sum(key["n_row"] for key in own)}
        every.append(about | {"data_desc_ids": sorted({key["data_desc_id"] for key in own})})
    return sorted(every, key=lambda one: one["first_time_s"])


@checked
def tiles(path: str | os.PathLike | OpenSet, columns: Sequence[str] = (), **options) -> Iterator[dict]:
    """Read a Measurement Set in time-slot groups; options as `run_options`.

    Each is a dict of read-only arrays: `time_s` [time], `interval_s` [time], `frequency_hz` and `channel_width_hz`
    [channel] (of which the first is `first_channel` of its window), `correlation_type` (casacore's numbers),
    `baselines` (pairs of antenna ids), `row` [baseline, time] (-1: no such row), `uvw_m` and `uvw_rate_m_s` [baseline,
    time, 3], `exposure_s` [baseline, time], `flag` and `weight` [baseline, time, channel, correlation], and `columns`,
    a dict of complex64 arrays of that shape.
    """
    yield from Tiles(path, columns, run_options(**options))


@checked
def sample_tiles(path: str | os.PathLike | OpenSet, columns: Sequence[str], count: int, **options) -> Iterator[dict]:
    """As `tiles`, but of one time slot each and `count` of them at most, spread evenly over the set."""
    found = Tiles(path, columns, {**run_options(**options), "time_slots": 1})
    for index in np.unique(np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int)):
        yield found[int(index)]


@checked
def without_averaging(options: dict) -> dict:
    """The options that choose rows and channels, of data as they are stored."""
    return {key: value for key, value in options.items() if not key.startswith("average_")}


@checked
def sample_coordinates(path: str | os.PathLike | OpenSet, count: int, **options) -> Iterator[dict]:
    """As `sample_tiles`, without flags, weights and columns: what rows say of themselves."""
    options = {**run_options(**options), "time_slots": 1, "coordinates_only": True}
    found = Tiles(path, [], options)
    for index in np.unique(np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int)):
        yield found[int(index)]


@checked
def feed_of(correlations: Sequence[int]) -> str:
    """ "circular" or "linear" from casacore's numbers of correlation types; Stokes I counts as linear."""
    return "circular" if any(5 <= number <= 8 for number in correlations) else "linear"
