"""Solutions in H5parm files, as LoSoTo, DP3 and their kin read and write them.

One solution set ("sol000", ...) per spectral window holds tables "amplitude000", "phase000", "clock000", "tec000",
"rotation000", ... (de Gasperin et al. 2019, A&A 622, A5, appendix). A table has `val` and `weight` (0: flagged) with
the attribute AXES and one array per axis: time (MJD seconds), freq (Hz), ant, dir, pol. RimeTree adds `sigma` (one
standard deviation), the widths of the intervals, the fields that they were solved for on (`field_id`) and, as
attributes, the term and where the solutions come from. Other readers pass over these. Flagged values are NaN. Text
attributes have a fixed length, as DP3 wants.

Others call sets and tables anything ("calibrator", "bandpass"); what a table holds is in its attribute TITLE.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence

import h5py
import numpy as np

from ...arguments import checked
from ...whole_hdf5 import whole_hdf5
from ..errors import CalibrationError
from ..terms.kinds import KINDS, kind_of, neutral
from .h5parm_warnings import warn_of_derived, warn_of_order
from .solutions import Solutions
from .term_solutions import TermSolutions

_AXES = ("time", "freq", "ant", "dir", "pol")
_POLARISATIONS = {
    "linear": {"0": "XX", "1": "YY", "00": "XX", "01": "XY", "10": "YX", "11": "YY"},
    "circular": {"0": "RR", "1": "LL", "00": "RR", "01": "RL", "10": "LR", "11": "LL"},
}
_ELEMENTS = {name: element for names in _POLARISATIONS.values() for element, name in names.items()} | {
    name: element for names in ("XY", "RL") for name, element in zip(names, "01", strict=True)
}
_TABLE = re.compile(r"([A-Za-z]+)(\d+)")
_WHOLE_SKY = "[pointing]"
#: What older files call quantities of both feeds.
_OLDER = {
    "scalaramplitude": "amplitude",
    "scalarphase": "phase",
    "commonscalaramplitude": "amplitude",
    "commonscalarphase": "phase",
    "commonrotationangle": "rotation",
}


def element_names(feed: str) -> dict[str, str]:
    """{element: name} of the elements of matrices for "linear" or "circular" feeds."""
    return _POLARISATIONS[feed]


@checked
def write_h5parm(path: str | os.PathLike, sets: Solutions | Sequence[Solutions]) -> None:
    """Write solutions, one solution set for each of `sets`; the file appears complete or not at all.

    Raises `OSError` where it cannot be written.
    """
    sets = [sets] if isinstance(sets, Solutions) else list(sets)
    with whole_hdf5(path) as file:
        for index, solutions in enumerate(sets):
            _write_set(file.create_group(f"sol{index:03d}"), solutions)


def _write_set(group: h5py.Group, solutions: Solutions) -> None:
    _text(group, "h5parm_version", "1.0")
    _text(group, "feed", solutions.feed)
    for name, value in solutions.provenance.items():
        if isinstance(value, str):
            _text(group, name, value)
        else:
            group.attrs[name] = value
    positions = solutions.antenna_xyz_m
    width = max([16, *(len(name.encode()) for name in positions)])
    antennas = np.array(
        [(name.encode(), xyz) for name, xyz in positions.items()], dtype=[("name", f"S{width}"), ("position", "f4", 3)]
    )
    group.create_dataset("antenna", data=antennas)
    directions = solutions.direction_radec_rad
    width = max([128, *(len(name.encode()) + 2 for name in directions)])
    sources = np.array(
        [(f"[{name}]".encode(), radec) for name, radec in directions.items()],
        dtype=[("name", f"S{width}"), ("dir", "f4", 2)],
    )
    group.create_dataset("source", data=sources)
    count: dict[str, int] = {}
    for order, term in enumerate(solutions.terms):
        # Tables of one term share a number, by which they are found again.
        number = max(count.get(quantity, 0) for quantity in term.value)
        for quantity in term.value:
            count[quantity] = number + 1
            table = group.create_group(f"{quantity}{number:03d}")
            table.attrs["order"] = order
            _write_table(table, term, quantity, solutions)


def _write_table(table: h5py.Group, term: TermSolutions, quantity: str, solutions: Solutions) -> None:
    for name, value in (("TITLE", quantity), ("h5parm_version", "1.0"), ("term", term.name), ("kind", term.kind)):
        _text(table, name, value)
    _text(table, "elements", ",".join(term.elements))
    if term.text:
        _text(table, "text", term.text)
    if term.convention:
        _text(table, "convention", term.convention)
    axes = ["time", "freq", "ant"] + ["dir"] * term.of_directions + ["pol"] * (term.elements != ("",))
    table.create_dataset("time", data=term.time_s)
    table.create_dataset("freq", data=term.frequency_hz)
    table.create_dataset("time_width_s", data=term.time_width_s)
    table.create_dataset("freq_width_hz", data=term.frequency_width_hz)
    if term.field_ids is not None:
        table.create_dataset("field_id", data=term.field_ids)
    table.create_dataset("ant", data=_names(term.antennas, 16))
    if "dir" in axes:
        table.create_dataset("dir", data=_names([f"[{name}]" for name in term.directions], 128))
    if "pol" in axes:
        table.create_dataset("pol", data=_names([_POLARISATIONS[solutions.feed][e] for e in term.elements], 2))
    shape = [length for axis, length in zip(_AXES, term.shape, strict=True) if axis in axes]
    for name, values in (
        ("val", np.where(term.flag, np.nan, term.value[quantity])),
        ("weight", np.where(term.flag, 0.0, 1.0)),
        ("sigma", np.where(term.flag, np.nan, term.sigma[quantity])),
    ):
        dataset = table.create_dataset(name, data=values.reshape(shape))
        _text(dataset, "AXES", ",".join(axes))
    history = f"RimeTree: {term.text or term.name}; {solutions.provenance.get('command', '')}".rstrip("; ")
    _text(table["val"], "HISTORY000", history)


def _text(where: h5py.HLObject, name: str, value: str) -> None:
    where.attrs.create(name, np.bytes_(value.encode() or b" "))


def _names(names: Sequence[str], width: int) -> np.ndarray:
    encoded = [name.encode() for name in names]
    return np.array(encoded, dtype=f"S{max([width, *map(len, encoded)])}")


@checked
def read_h5parm(path: str | os.PathLike) -> list[Solutions]:
    """The solution sets of a file, written by RimeTree or by others; of "FILE:SET" the set of this name only, and of
    "FILE:SET/TERM" one of its terms. Warns where the order of terms matters and a file does not say it, and of tables
    that no kind of term is known for, which are left out.

    Raises `OSError` where it cannot be read and `CalibrationError` where it holds no solutions that are understood.
    """
    path, chosen, term = _file_set_and_term(os.fspath(path))
    if not os.path.exists(path):
        raise FileNotFoundError(2, "there is no such file", path)
    if os.path.isdir(path):
        raise IsADirectoryError(21, "this is a folder, not a file of solutions", path)
    try:
        file = h5py.File(path, "r")
    except OSError as problem:
        raise CalibrationError(f"{path} is no HDF5 file, or is damaged: {problem}") from problem
    with file:
        names = [name for name in sorted(file) if isinstance(file[name], h5py.Group)]
        if not names:
            raise CalibrationError(f"{path} holds no solution set (a group such as sol000)")
        if chosen and chosen not in names:
            raise CalibrationError(f"{path} has no solution set {chosen!r}; it has {', '.join(names)}")
        unknown: dict[str, str] = {}
        sets = [_read_set(path, file[name], term, unknown) for name in ([chosen] if chosen else names)]
    sets = [one for one in sets if one.terms]
    if unknown and (term or not sets):
        raise CalibrationError(f"{path}: {'; '.join(dict.fromkeys(unknown.values()))}")
    if unknown:
        why = "; ".join(dict.fromkeys(unknown.values()))
        warnings.warn(
            f"{path}: {', '.join(unknown)} left out, and nothing is corrected for what they hold: {why}", stacklevel=3
        )
    return [one.only([one[term].name]) for one in sets] if term else sets


class _UnknownKindError(CalibrationError):
    """A table may be in order, but is of something that there is no kind of term for."""


def _file_set_and_term(path: str) -> tuple[str, str, str]:
    file, colon, inside = path.rpartition(":")
    if not colon or os.path.exists(path) or not os.path.isfile(file):
        return path, "", ""
    name, _, term = inside.partition("/")
    return file, name, term


def _read_set(path: str, group: h5py.Group, term: str, unknown: dict[str, str]) -> Solutions:
    """`term`: the one that is wanted, or "" for all. `unknown`: receives tables that are left out, and why."""
    tables: dict[tuple, dict[str, h5py.Group]] = {}
    for name in group:
        table = group[name]
        if not isinstance(table, h5py.Group) or not ("val" in table or _TABLE.fullmatch(name)):
            continue
        quantity, order = _quantity(name, table), int(table.attrs.get("order", 0))
        if "term" in table.attrs:
            tables.setdefault((order, _decoded(table.attrs["term"])), {})[quantity] = table
            continue
        # Files of others say neither the term nor the order: amplitudes and phases of one number belong together.
        match = _TABLE.fullmatch(name)
        kind = "gain" if quantity in ("amplitude", "phase") else quantity
        key = (order, f"{kind}{match[2]}" if match else name)
        if not _go_together(path, tables.get(key, {}), quantity, table):
            key = (order, name)
        tables.setdefault(key, {})[quantity] = table
    if not tables:
        raise CalibrationError(f"{path}: solution set {group.name} holds no solution table")
    terms = []
    for (_, name), parts in sorted(tables.items(), key=lambda kv: kv[0]):
        try:
            terms.append(_read_term(path, name, parts))
        except _UnknownKindError as problem:
            if term in ("", name):
                unknown |= {table.name.strip("/"): str(problem) for table in parts.values()}
    positions = {_decoded(row["name"]): np.array(row["position"], dtype=float) for row in _rows(group, "antenna")}
    directions = {
        _decoded(row["name"]).strip("[]"): tuple(float(x) for x in row["dir"]) for row in _rows(group, "source")
    }
    known = ("h5parm_version", "feed", "TITLE", "CLASS", "VERSION", "FILTERS")
    provenance = {
        key: _decoded(value) if isinstance(value, bytes | str | np.bytes_) else float(value)
        for key, value in group.attrs.items()
        if key not in known and np.ndim(value) == 0
    }
    feed = _decoded(group.attrs["feed"]) if "feed" in group.attrs else _feed_of(tables)
    name = group.name.strip("/")
    if not term and not any("order" in table.attrs for parts in tables.values() for table in parts.values()):
        warn_of_order(path, name, terms)
        warn_of_derived(path, name, terms)
    return Solutions(tuple(terms), feed, positions, directions, provenance, name)


def _quantity(name: str, table: h5py.Group) -> str:
    """What a table is of."""
    match = _TABLE.fullmatch(name)
    title = _decoded(table.attrs["TITLE"]) if "TITLE" in table.attrs else match[1] if match else name
    return _OLDER.get(title, title)


def _go_together(path: str, parts: dict[str, h5py.Group], quantity: str, table: h5py.Group) -> bool:
    """Whether a table is of the same term as others. Amplitudes and phases of feeds that have other times or channels
    are terms of their own, whose product is the same."""
    if not parts:
        return True
    if quantity in parts:
        return False
    other, own = _axes(path, next(iter(parts.values()))), _axes(path, table)
    return (
        all(np.array_equal(other[axis], own[axis]) for axis in _AXES)
        or max(1 if axes["pol"] is None else len(axes["pol"]) for axes in (other, own)) > 2
    )


def _rows(group: h5py.Group, name: str):
    return group[name][:] if name in group else []


def _feed_of(tables: dict) -> str:
    names = {
        _decoded(p) for parts in tables.values() for table in parts.values() if "pol" in table for p in table["pol"]
    }
    return "circular" if names & {"RR", "LL", "R", "L"} else "linear"


def _read_term(path: str, name: str, parts: dict[str, h5py.Group]) -> TermSolutions:
    arrays, sigmas, flag, axes = {}, {}, None, None
    for quantity, table in sorted(parts.items()):
        if "val" not in table or "AXES" not in table["val"].attrs:
            raise CalibrationError(f"{path}: {table.name} has no val with the attribute AXES")
        own = _axes(path, table)
        if axes is not None and any(not np.array_equal(axes[key], own[key]) for key in axes):
            raise CalibrationError(f"{path}: the tables of {name} have different axes")
        axes = own
        value = _five(table, "val")
        bad = ~np.isfinite(value)
        if "weight" in table:
            bad |= ~(_five(table, "weight") > 0)
        flag = bad if flag is None else flag | bad
        arrays[quantity] = value
        sigmas[quantity] = _five(table, "sigma") if "sigma" in table else np.full(value.shape, np.nan)
    first = next(iter(parts.values()))
    elements = ("",) if axes["pol"] is None else tuple(axes["pol"])
    try:
        kind = _decoded(first.attrs["kind"]) if "kind" in first.attrs else kind_of(set(arrays), len(elements))
    except CalibrationError as problem:
        raise _UnknownKindError(str(problem)) from None
    if kind not in KINDS:
        raise _UnknownKindError(f"{first.name.strip('/')} is of the unknown kind {kind!r}")
    for quantity, array in arrays.items():
        arrays[quantity] = np.where(flag, neutral(quantity, elements), array)
    by_time, by_frequency = np.argsort(axes["time"], kind="stable"), np.argsort(axes["freq"], kind="stable")

    def ordered(array):
        return array[by_time][:, by_frequency]

    return TermSolutions(
        name=name,
        kind=kind,
        elements=elements,
        time_s=axes["time"][by_time],
        time_width_s=_widths(first, "time_width_s", axes["time"])[by_time],
        frequency_hz=axes["freq"][by_frequency],
        frequency_width_hz=_widths(first, "freq_width_hz", axes["freq"])[by_frequency],
        antennas=tuple(_decoded(one) for one in axes["ant"]),
        directions=("",) if axes["dir"] is None else tuple(_decoded(one).strip("[]") for one in axes["dir"]),
        value={q: ordered(array) for q, array in arrays.items()},
        sigma={q: ordered(array) for q, array in sigmas.items()},
        flag=ordered(flag),
        text=_decoded(first.attrs["text"]) if "text" in first.attrs else "",
        field_ids=first["field_id"][:][by_time] if "field_id" in first else None,
        convention=_decoded(first.attrs["convention"]) if "convention" in first.attrs else "",
    )


def _order(table: h5py.Group) -> list[str]:
    return _decoded(table["val"].attrs["AXES"]).split(",")


def _axes(path: str, table: h5py.Group) -> dict:
    order = _order(table)
    if unknown := sorted(set(order) - set(_AXES)):
        raise CalibrationError(f"{path}: {table.name} has an axis {unknown[0]!r}; understood are {', '.join(_AXES)}")
    if "ant" not in order:
        raise CalibrationError(f"{path}: {table.name} has no axis ant: solutions are per antenna")
    axes = {axis: table[axis][:] if axis in order else None for axis in _AXES}
    # A quantity that does not vary along time or frequency has one value there.
    for axis in ("time", "freq"):
        axes[axis] = np.zeros(1) if axes[axis] is None else axes[axis].astype(float)
        if not (axes[axis].size and np.isfinite(axes[axis]).all()):
            wrong = "an entry that is not a number" if axes[axis].size else "no entries"
            raise CalibrationError(f"{path}: axis {axis} of {table.name} has {wrong}")
    antennas = [_decoded(one) for one in axes["ant"]]
    if twice := next((one for one in antennas if antennas.count(one) > 1), None):
        raise CalibrationError(f"{path}: {table.name} has antenna {twice} twice")
    if axes["dir"] is not None and len(axes["dir"]) == 1 and _decoded(axes["dir"][0]) in (_WHOLE_SKY, "pointing"):
        axes["dir"] = None
    if axes["pol"] is not None:
        axes["pol"] = [element for element, _ in _places(path, table)]
    return axes


def _places(path: str, table: h5py.Group) -> list[tuple[str, int]]:
    """The elements that a table has along its axis pol, as they are sorted here, and the place of each."""
    names = [_decoded(one) for one in table["pol"][:]]
    known = {1: ("",), 2: ("0", "1"), 4: ("00", "01", "10", "11")}.get(len(names))
    if known is None:
        raise CalibrationError(f"{path}: {table.name} has {len(names)} polarisations; understood are 1, 2 and 4")
    found = [_ELEMENTS.get(name.upper(), "") for name in names]
    if len(names) == 2:
        found = [element if len(element) < 2 else {"00": "0", "11": "1"}.get(element, "") for element in found]
    if len(names) == 1:
        found = [""]
    if sorted(found) != list(known):
        raise CalibrationError(
            f"{path}: {table.name} has the polarisations {', '.join(names)}; understood are XX, YY and XX, XY, YX, YY, "
            "or RR, LL and RR, RL, LR, LL, in any order"
        )
    return sorted(zip(found, range(len(names)), strict=True))


def _five(table: h5py.Group, name: str) -> np.ndarray:
    """The array as [time, freq, ant, dir, pol], length 1 along axes that it does not have."""
    order = _order(table)
    array = np.asarray(table[name], dtype=float)
    if "pol" in order:
        array = np.take(array, [place for _, place in _places(table.file.filename, table)], order.index("pol"))
    array = array.transpose([order.index(axis) for axis in _AXES if axis in order])
    for position, axis in enumerate(_AXES):
        if axis not in order:
            array = np.expand_dims(array, position)
    return array


def _widths(table: h5py.Group, name: str, centres: np.ndarray) -> np.ndarray:
    if name in table:
        return table[name][:]
    if len(centres) < 2:
        return np.full(len(centres), np.inf)
    return np.full(len(centres), float(np.median(np.abs(np.diff(np.sort(centres))))))


def _decoded(value) -> str:
    text = value.decode() if isinstance(value, bytes | np.bytes_) else str(value)
    return text.strip()
