"""Solutions as CASA keeps them: a table for each term.

What is read and written (conventions as CASA 6.7 applies them):

    CASA                                   here
    G Jones, B Jones   complex [2]         diag
    T Jones, Tf Jones  complex [1]         scalar
    K Jones, Kcross Jones  ns [2]          delay, with phases so that there is none in the middle of the window
    D Jones, Df Jones  complex [2]         leakage: of the second feed in the first, and the other way round
    X Jones, Xf Jones  complex [1]         diag: of the first feed

CASA itself takes out leakages to first order only.
"""

from __future__ import annotations

import os
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
    """A kind of table: the kind of term that it is of, and which element each of its parameters is."""

    kind: str
    elements: tuple[str, ...]


_GAINS, _LEAKAGES = _CasaKind("diag", ("0", "1")), _CasaKind("leakage", ("01", "10"))
_DELAYS, _PHASES = _CasaKind("delay", ("0", "1")), _CasaKind("diag", ("0",))
_KINDS = {
    "G": _GAINS, "B": _GAINS, "T": _CasaKind("scalar", ("",)), "Tf": _CasaKind("scalar", ("",)),
    "K": _DELAYS, "Kcross": _DELAYS, "D": _LEAKAGES, "Df": _LEAKAGES, "X": _PHASES, "Xf": _PHASES,
}  # fmt: skip


def is_casa_table(path: str | os.PathLike) -> bool:
    """Whether there is a table of solutions of CASA."""
    return os.path.isdir(path) and bool(_core.calibration_kind(os.fspath(path)))


@checked
def read_casa_table(path: str | os.PathLike) -> list[Solutions]:
    """The solutions of one table, of each spectral window that has any; the term has the name of the folder.

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
    """The set that a table was made from. `descriptions`: {window: data descriptions}."""

    path: str
    feed: str
    descriptions: dict[int, list[int]]

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
            for one in inspect(ms, scan_cells=False)["data_descriptions"]:
                descriptions.setdefault(one["spectral_window_id"], []).append(one["id"])
                if one["correlations"]:
                    feed = "circular" if set("RL") & set(one["correlations"][0]) else "linear"
            return cls(os.path.realpath(ms), feed, descriptions)
        return cls("", feed, {})

    def of_window(self, window_id: int) -> dict[str, str]:
        """What goes into the provenance."""
        ids = self.descriptions.get(window_id, [])
        return {"measurement_set": self.path, "data_desc_ids": " ".join(map(str, ids))} if ids else {}


def _term(path: str, kind: _CasaKind, table: dict, rows: dict) -> TermSolutions:
    values, flags, errors = (np.asarray(rows[name]) for name in ("values", "flags", "errors"))
    if values.shape[2] != len(kind.elements):
        raise CalibrationError(
            f"{path}: rows have {values.shape[2]} parameters, expected {len(kind.elements)} as of {table['kind']}"
        )
    window = table["windows"][rows["window_id"]]
    frequency_hz, width_hz = (np.asarray(window[name]) for name in ("frequency_hz", "width_hz"))
    if len(frequency_hz) != values.shape[1]:
        if values.shape[1] != 1:
            raise CalibrationError(
                f"{path}: window {rows['window_id']} has {len(frequency_hz)} channels, its solutions {values.shape[1]}"
            )
        frequency_hz, width_hz = frequency_hz.mean(keepdims=True), np.abs(width_hz).sum(keepdims=True)
    times = _Times.of(rows)
    axes = {
        "time_s": times.centre_s, "time_width_s": times.width_s,
        "frequency_hz": np.sort(frequency_hz), "frequency_width_hz": np.abs(width_hz)[np.argsort(frequency_hz)],
        "antennas": tuple(name for name, _ in table["antennas"]), "directions": ("",), "field_ids": times.field_id,
    }  # fmt: skip
    of = np.argsort(frequency_hz)
    elements = KINDS[kind.kind].elements
    shape = (len(times.centre_s), len(of), len(axes["antennas"]), 1, len(elements))
    complex_values = np.zeros(shape, complex)
    flag, error = np.ones(shape, bool), np.full(shape, np.nan)
    place = times.of_row, slice(None), np.asarray(rows["antenna_id"]), 0
    for k, element in enumerate(kind.elements):
        e = elements.index(element)
        complex_values[(*place, e)] = values[:, of, k]
        flag[(*place, e)] = (flags[:, of, k] != 0) | ~np.isfinite(values[:, of, k])
        error[(*place, e)] = np.where(errors[:, of, k] > 0, errors[:, of, k], np.nan)
    others = [e for e, element in enumerate(elements) if element not in kind.elements]  # as of the unit matrix
    flag[..., others] = flag[..., [elements.index(e) for e in kind.elements]].all(axis=-1, keepdims=True)
    value, sigma = _quantities(kind.kind, complex_values, error, float(frequency_hz.mean()))
    for quantity, array in value.items():
        neutral_values = neutral(quantity, elements)
        array[flag] = np.broadcast_to(neutral_values, shape)[flag]
        array[..., others] = neutral_values[others]
    return TermSolutions(
        os.path.basename(path), kind.kind, elements, **axes, value=value, sigma=sigma, flag=flag,
    )  # fmt: skip


def _quantities(kind: str, values: NDArray, error: NDArray, middle_hz: float) -> tuple[dict, dict]:
    """{quantity: values}, {quantity: errors} of what a table says."""
    if kind == "delay":
        clock_s, error_s = values.real * _NS, error * _NS
        turn = -2 * np.pi * middle_hz
        return {"clock": clock_s, "phase": turn * clock_s}, {"clock": error_s, "phase": abs(turn) * error_s}
    amplitude = np.abs(values)
    of_phase = np.divide(error, amplitude, out=np.full(error.shape, np.nan), where=amplitude > 0)
    found = {"amplitude": (amplitude, error), "phase": (np.angle(values), of_phase)}
    own = {quantity: found[quantity] for quantity in KINDS[kind].quantities}
    return {q: value for q, (value, _) in own.items()}, {q: sigma for q, (_, sigma) in own.items()}


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
