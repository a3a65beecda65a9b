"""Solutions as CASA keeps them: a table for each term.

What is read (conventions as CASA 6.7 applies them):

    CASA                                   here
    G Jones, B Jones   complex [2]         diag
    T Jones, Tf Jones  complex [1]         scalar
    K Jones, Kcross Jones  ns [2]          delay, with phases so that there is none in the middle of the window (of CASA
                                           before 5.3: at REF_FREQUENCY)
    D Jones, Df Jones  complex [2]         leakage: of the second feed in the first, and the other way round
    X Jones, Xf Jones  complex [1]         diag: of the first feed
    Fringe Jones  rad, ns, s/s [2]         delay as of K Jones, phase and rate

CASA itself takes out leakages to first order, of crossed hands only, and its rates turn phases by the middle frequency
of the window, not by that of the channel.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...arguments import checked
from ..errors import CalibrationError
from ..terms.kinds import KINDS, neutral
from .choosing import FIELDS, fields_text
from .solutions import Solutions
from .term_solutions import TermSolutions

_SAME_TIME_S = 1e-3  # rows of one interval
_NS = 1e-9


@dataclass(frozen=True)
class _CasaKind:
    """A kind of table: the kind of term that it is of; the elements of the matrix, or feeds, that it has parameters of,
    and which these are: one after the other of an element, then those of the next."""

    kind: str
    elements: tuple[str, ...]
    parameters: tuple[str, ...] = ("gain",)


_GAINS, _LEAKAGES = _CasaKind("diag", ("0", "1")), _CasaKind("leakage", ("01", "10"))
_SCALARS, _FIRST_FEED = _CasaKind("scalar", ("",)), _CasaKind("diag", ("0",))
_DELAYS = _CasaKind("delay", ("0", "1"), ("delay",))
_FRINGES = _CasaKind("delay", ("0", "1"), ("phase", "delay", "rate", "dispersion"))
_KINDS = {
    "G": _GAINS, "B": _GAINS, "T": _SCALARS, "Tf": _SCALARS, "K": _DELAYS, "Kcross": _DELAYS, "D": _LEAKAGES,
    "Df": _LEAKAGES, "X": _FIRST_FEED, "Xf": _FIRST_FEED, "Fringe": _FRINGES,
}  # fmt: skip


def is_casa_table(path: str | os.PathLike) -> bool:
    """Whether there is a table of solutions of CASA."""
    return os.path.isdir(path) and bool(_core.calibration_kind(os.fspath(path)))


@checked
def read_casa_table(path: str | os.PathLike) -> list[Solutions]:
    """The solutions of one table, of each spectral window that has any; the term is called what stands behind the last
    point of the table's name, as "G0" of "obs.G0".

    Feeds and data descriptions are those of the set that the table was made from, where that is still there. Raises
    `CalibrationError` for kinds of tables that are not known, and `Error` where it cannot be read.
    """
    path = os.fspath(path).rstrip("/")
    kind = _core.calibration_kind(path).removesuffix(" Jones")
    if kind not in _KINDS:
        raise CalibrationError(
            f"{path} is a table of {kind or 'no'} solutions; those that are understood are "
            f"{', '.join(f'{one} Jones' for one in _KINDS)}"
        )
    table = _core.read_calibration_table(path)
    made_from = _MadeFrom.of(path, table)
    found = []
    for rows in table["rows"]:
        if rows["window_id"] in made_from.second_feed:
            rows |= {name: _of_both_feeds(np.asarray(rows[name])) for name in ("values", "flags", "errors")}
        term = _term(path, _KINDS[kind], table, rows)
        provenance: dict[str, str | float] = {"program": "CASA", "casa_table": path}
        names = dict(enumerate(table["fields"]))
        provenance[FIELDS] = fields_text(
            {i: names[i] for i in set(np.asarray(rows["field_id"]).tolist()) if i in names}
        )
        provenance |= made_from.of_window(rows["window_id"])
        positions = {name: np.array(xyz_m) for name, xyz_m in table["antennas"]}
        found.append(Solutions((term,), made_from.feed, positions, provenance=provenance))
    if not found:
        raise CalibrationError(f"{path} has no solutions")
    return found


@dataclass(frozen=True)
class _MadeFrom:
    """The set that a table was made from. `descriptions`: {window: data descriptions}; `second_feed`: windows with data
    of that feed alone (YY, LL), of which CASA keeps the solutions as if they were of the first."""

    path: str
    feed: str
    descriptions: dict[int, list[int]]
    second_feed: frozenset[int] = frozenset()

    @classmethod
    def of(cls, path: str, table: dict) -> _MadeFrom:
        from ...ms import inspect

        basis = table["basis"].lower()
        feed = basis if basis in ("linear", "circular") else "linear"
        named = table["ms_name"]
        for ms in (os.path.join(os.path.dirname(path), named), named):
            if not named or not os.path.exists(os.path.join(ms, "table.dat")):
                continue
            descriptions: dict[int, list[int]] = {}
            try:
                known = inspect(ms, scan_cells=False)["data_descriptions"]
            except _core.Error:  # damaged, or something else by now: as if it were gone
                continue
            second_feed = set()
            for one in known:
                descriptions.setdefault(one["spectral_window_id"], []).append(one["id"])
                if one["correlations"]:
                    feed = "circular" if set("RL") & set(one["correlations"][0]) else "linear"
                if one["correlations"] in (["YY"], ["LL"]):
                    second_feed.add(one["spectral_window_id"])
            return cls(os.path.realpath(ms), feed, descriptions, frozenset(second_feed))
        return cls("", feed, {})

    def of_window(self, window_id: int) -> dict[str, str]:
        """What goes into the provenance."""
        ids = self.descriptions.get(window_id, [])
        return {"measurement_set": self.path, "data_desc_ids": " ".join(map(str, ids))} if ids else {}


def _of_both_feeds(array: NDArray) -> NDArray:
    """[row, channel, parameter] with those of the first feed for the second, too."""
    n = array.shape[2]
    return np.concatenate([array[..., : n // 2]] * 2, axis=2) if n % 2 == 0 else array


def _term(path: str, kind: _CasaKind, table: dict, rows: dict) -> TermSolutions:
    window = table["windows"][rows["window_id"]]
    frequency_hz, width_hz = (np.asarray(window[name]) for name in ("frequency_hz", "width_hz"))
    n_channel = np.asarray(rows["values"]).shape[1]
    if n_channel not in (1, len(frequency_hz)):
        raise CalibrationError(
            f"{path}: window {rows['window_id']} has {len(frequency_hz)} channels, its solutions {n_channel}"
        )
    middle_hz = frequency_hz.mean(keepdims=True)
    if n_channel < len(frequency_hz):
        frequency_hz, width_hz = middle_hz, np.abs(width_hz).sum(keepdims=True)
    pivot_hz = float(middle_hz[0])
    if kind is _DELAYS and not table["casa_version"]:  # of CASA before 5.3, whose tables do not say which
        pivot_hz = window["reference_hz"] or pivot_hz
    found, bad = _found(path, kind, table["kind"], rows, pivot_hz)
    times, ascending = _Times.of(rows), np.argsort(frequency_hz)
    antennas = tuple(name for name, _ in table["antennas"])
    elements = KINDS[kind.kind].elements
    shape = (len(times.centre_s), n_channel, len(antennas), 1, len(elements))
    place = times.of_row, slice(None), np.asarray(rows["antenna_id"]), 0
    flag = np.ones(shape, bool)
    flag[place] = bad[:, ascending].all(axis=-1, keepdims=True)  # of elements that a table leaves as they are
    value = {quantity: np.broadcast_to(neutral(quantity, elements), shape).copy() for quantity in found}
    sigma = {quantity: np.full(shape, np.nan) for quantity in found}
    for k, element in enumerate(kind.elements):
        to = (*place, elements.index(element))
        own_bad = flag[to] = bad[:, ascending, k]
        for quantity, (values, errors) in found.items():
            value[quantity][to] = np.where(own_bad, neutral(quantity, (element,)), values[:, ascending, k])
            sigma[quantity][to] = np.where(own_bad, np.nan, errors[:, ascending, k])
    return TermSolutions(
        name=_name(path),
        kind=kind.kind,
        elements=elements,
        time_s=times.centre_s,
        time_width_s=times.width_s,
        frequency_hz=frequency_hz[ascending],
        frequency_width_hz=np.abs(width_hz)[ascending],
        antennas=antennas,
        directions=("",),
        value=value,
        sigma=sigma,
        flag=flag,
        field_ids=times.field_id,
    )


def _name(path: str) -> str:
    """Of the term."""
    folder = os.path.basename(path)
    return folder.rpartition(".")[2] or folder


def _found(path: str, kind: _CasaKind, casa_kind: str, rows: dict, pivot_hz: float) -> tuple[dict, NDArray[np.bool_]]:
    """{quantity: (values, errors)} of what a table says, and what is flagged: all [row, channel, element]. `pivot_hz`:
    where delays make no phase."""
    values, flags, errors = (np.asarray(rows[name]) for name in ("values", "flags", "errors"))
    n, expected = values.shape[2], len(kind.elements) * len(kind.parameters)
    if n != expected:
        raise CalibrationError(f"{path}: rows have {n} parameters, expected {expected} as of {casa_kind}")

    def by_parameter(array: NDArray) -> NDArray:
        """[parameter, row, channel, element]"""
        return np.moveaxis(array.reshape(*array.shape[:2], len(kind.elements), -1), -1, 0)

    bad = by_parameter((flags != 0) | ~np.isfinite(values)).any(axis=0)
    value = dict(zip(kind.parameters, by_parameter(values), strict=True))
    error = dict(zip(kind.parameters, by_parameter(np.where(errors > 0, errors, np.nan)), strict=True))
    if "gain" in value:
        amplitude = np.abs(value["gain"]).astype(float)
        of_phase = np.divide(error["gain"], amplitude, out=np.full(amplitude.shape, np.nan), where=amplitude > 0)
        return {"amplitude": (amplitude, error["gain"]), "phase": (np.angle(value["gain"]), of_phase)}, bad
    value = {name: array.real.astype(float) for name, array in value.items()}
    if "dispersion" in value and value["dispersion"][~bad].any():
        raise CalibrationError(f"{path} has dispersive delays, which are not understood")
    turn = 2 * np.pi * pivot_hz * _NS
    phase, of_phase = -turn * value["delay"], turn * error["delay"]  # at 0 Hz
    if "phase" in value:
        phase, of_phase = value["phase"] + phase, np.hypot(error["phase"], of_phase)
    found = {"clock": (_NS * value["delay"], _NS * error["delay"]), "phase": (phase, of_phase)}
    return found | ({"rate": (value["rate"], error["rate"])} if "rate" in value else {}), bad


@dataclass(frozen=True)
class _Times:
    """Solution intervals, of one field each, in the order of time; `of_row`: which one a row is of."""

    centre_s: NDArray[np.float64]
    width_s: NDArray[np.float64]
    field_id: NDArray[np.integer]
    of_row: NDArray[np.intp]

    @classmethod
    def of(cls, rows: dict) -> _Times:
        time_s, field_id = np.asarray(rows["time_s"]), np.asarray(rows["field_id"])
        keys = np.stack([np.round((time_s - time_s.min()) / _SAME_TIME_S).astype(np.int64), field_id], axis=1)
        _, first, of_row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        centre_s, own_s = time_s[first], np.asarray(rows["interval_s"])[first]
        apart_s = np.diff(np.unique(centre_s))
        usual_s = float(np.median(apart_s)) if len(apart_s) else np.inf
        width_s = np.where(own_s > 0, own_s, usual_s)
        return cls(centre_s, width_s, field_id[first], of_row.reshape(-1))


@checked
def casa_order_warning(files: Sequence[Sequence[Solutions]]) -> str:
    """What to say where tables of CASA, of which the first stands outside of the next, do not stand as CASA has them;
    empty: nothing."""
    outside = ""
    for path, diagonal in ((one.provenance.get("casa_table"), one.diagonal) for (one, *_) in files):
        if path and not diagonal:
            outside = outside or str(path)
        elif path and outside:
            return f"{outside} (leakages) stands outside of {path} (gains), and CASA has it inside: give it after that"
    return ""
