"""Solutions written as CASA keeps them: a table for each term, with values for the windows and channels of a set.

Diagonal terms are a table each: "G Jones" where values hold for all channels of a window, else "B Jones" with a value
for each channel (delays, TEC and the like are none of CASA's kinds). From the first term on that is not diagonal all
others are one matrix J = G D, as CASA has leakages inside of all gains: its diagonal G is one table, and

    D = [[1, J01 / J00], [J10 / J11, 1]]

another, "D Jones" or "Df Jones".
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...arguments import checked
from ...ms import MsGroup, groups, inspect, slot_scans, tiles
from ..errors import CalibrationError
from ..terms.kinds import FREQUENCY_QUANTITIES, TIME_QUANTITIES
from .choosing import solutions_for
from .one_turn import is_turn
from .solutions import Solutions
from .term_solutions import TermSolutions

_SMALL_LEAKAGE = 0.05


@checked
def write_casa_tables(
    prefix: str | os.PathLike,
    files: Sequence[Sequence[Solutions]],
    ms: str | os.PathLike,
    *,
    direction: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Write the terms of solutions as tables of CASA for a Measurement Set; returns their paths, PREFIX.TERM, in the
    order of the terms.

    `files`: solution sets as of `chain_for`, those of the first file outside of the next. `direction`: of which the
    terms count besides those of the whole sky. Each solution interval becomes one of the table; of rates, and where
    terms of other intervals make one table, each time slot of the set does. What is flagged stays so; errors of
    solutions are left out. Raises `CalibrationError` for parallactic angles, which CASA computes itself, and where
    there is nothing to write; `Error` where a table is there and not `overwrite`, or cannot be written.
    """
    ms, prefix = os.fspath(ms), os.fspath(prefix)
    names = [one["name"] for one in inspect(ms, scan_cells=False)["antennas"]]
    windows = [_Window.of(own, files, names, direction) for own in _by_window(ms)]
    names_of_terms = [[term.name for term in window.terms] for window in windows]
    if any(names != names_of_terms[0] for names in names_of_terms):
        raise CalibrationError("windows have different terms")
    if not names_of_terms[0]:
        raise CalibrationError("there are no terms to write")
    tables = _tables_of(windows)
    paths = [f"{prefix}.{table.name}" for table in tables]
    if len(set(paths)) != len(paths):
        raise CalibrationError(f"two terms have one name: {', '.join(sorted(names_of_terms[0]))}")
    for path, table in zip(paths, tables, strict=True):
        _core.create_calibration_table(path, table.described(ms), ms, overwrite)
    return paths


def _tables_of(windows: list[_Window]) -> list[_Table]:
    """Those that terms make, in their order: all from the first on that is not diagonal together."""
    terms = windows[0].terms
    first = next((k for k, term in enumerate(terms) if not term.diagonal), len(terms))
    tables = [_Table(terms[k].name, [window.sampled([k]) for window in windows]) for k in range(first)]
    if first == len(terms):
        return tables
    name = "_".join(dict.fromkeys(term.name for term in terms[first:]))
    sampled = [window.sampled(range(first, len(terms))) for window in windows]
    _warn_of_large(sampled)
    if all(np.allclose(one.gains[~one.bad], 1, rtol=0, atol=1e-9) for one in sampled):
        return [*tables, _Table(name, sampled, leakages=True)]
    return [*tables, _Table(f"{name}.gains", sampled), _Table(f"{name}.leakages", sampled, leakages=True)]


def _warn_of_large(sampled: list[_Sampled]) -> None:
    """Of leakages that are more than CASA can take out as it does."""
    most = max(float(np.abs(one.leakages[~one.bad]).max(initial=0)) for one in sampled)
    if most > _SMALL_LEAKAGE:
        warnings.warn(
            f"leakages are up to {most:.2g}: CASA takes them out to first order, and leaves up to {most**2:.1g}",
            stacklevel=4,
        )


def _by_window(ms: str) -> list[list[MsGroup]]:
    """The groups of each spectral window with data."""
    found: dict[int, list[MsGroup]] = {}
    for group in groups(ms, by_window=True):
        found.setdefault(group.data_desc_ids[0], []).append(group)
    return list(found.values())


@dataclass(frozen=True)
class _Sampled:
    """A product of terms of one window: [time, channel, antenna, 2, 2], and what is flagged: [..., 2]."""

    window_id: int
    matrices: NDArray[np.complex128]
    bad: NDArray[np.bool_]
    time_s: NDArray[np.float64]
    width_s: NDArray[np.float64]
    field_id: NDArray[np.integer]

    @property
    def gains(self) -> NDArray[np.complex128]:
        """[time, channel, antenna, 2]"""
        return np.diagonal(self.matrices, axis1=-2, axis2=-1)

    @property
    def leakages(self) -> NDArray[np.complex128]:
        """[time, channel, antenna, 2]: in the first feed of the second, and the other way round."""
        off = np.stack([self.matrices[..., 0, 1], self.matrices[..., 1, 0]], axis=-1)
        return np.divide(off, self.gains, out=np.zeros_like(off), where=self.gains != 0)

    def rows(self, values: NDArray[np.complex128]) -> dict:
        """As tables have them, of values [time, channel, antenna, 2]."""
        n_time, n_channel, n_antenna, _ = values.shape
        by_row = (n_time * n_antenna, n_channel, 2)
        bad = self.bad | (self.gains == 0)
        value, flag = (np.moveaxis(one, 2, 1).reshape(by_row) for one in (values, bad))

        def of_row(of_time, dtype):
            return np.repeat(np.asarray(of_time, dtype=dtype), n_antenna)

        return {
            "window_id": self.window_id,
            "time_s": of_row(self.time_s, float),
            "interval_s": of_row(np.where(np.isfinite(self.width_s), self.width_s, 0), float),
            "field_id": of_row(self.field_id, np.int32),
            "antenna_id": np.tile(np.arange(n_antenna, dtype=np.int32), n_time),
            "values": np.ascontiguousarray(value, dtype=np.complex64),
            "errors": np.zeros(by_row, dtype=np.float32),
            "flags": np.ascontiguousarray(flag, dtype=np.uint8),
        }


@dataclass(frozen=True)
class _Window:
    """The solutions of one window, and where they are sampled."""

    window_id: int
    terms: tuple[TermSolutions, ...]
    antennas: list[str]
    frequency_hz: NDArray[np.float64]
    slots: list[tuple[float, int]]
    direction: str | None

    @classmethod
    def of(cls, own: list[MsGroup], files, antennas: list[str], direction: str | None) -> _Window:
        """Of the groups of a window; `slots`: (centre, FIELD_ID) of each time slot."""
        group = own[0]
        chain = functools.reduce(lambda outer, one: one.inside(outer), (solutions_for(one, group) for one in files))
        if turns := [term.name for term in chain.terms if is_turn(term)]:
            raise CalibrationError(
                f"{turns[0]} is the parallactic angle, which CASA computes itself (parang=True): leave it out, as "
                f"--terms '!{turns[0]}' does"
            )
        if direction is not None and direction not in chain.directions:
            raise CalibrationError(
                f"there are no solutions for direction {direction!r}; there are {', '.join(chain.directions) or 'none'}"
            )
        terms = tuple(term for term in chain.terms if not term.of_directions or direction in term.directions)
        if left_out := [term.name for term in chain.terms if term not in terms]:
            warnings.warn(f"{', '.join(left_out)} left out: of directions, of which none is named", stacklevel=5)
        summary = inspect(group.path, scan_cells=False)
        window_id = summary["data_descriptions"][group.data_desc_ids[0]]["spectral_window_id"]
        tile = next(iter(tiles(group.path, [], time_slots=1, **group.selection)))
        slots = {(time_s, one.field_id) for one in own for time_s, _ in slot_scans(one.path, **one.selection)}
        return cls(window_id, terms, antennas, tile["frequency_hz"], sorted(slots), direction)

    def sampled(self, which: Sequence[int]) -> _Sampled:
        """The product of some terms, at all their solution intervals."""
        terms = [self.terms[k] for k in which]
        one_channel = not any(len(term.frequency_hz) > 1 or FREQUENCY_QUANTITIES & set(term.value) for term in terms)
        frequency_hz = self.frequency_hz.mean(keepdims=True) if one_channel else self.frequency_hz
        time_s, width_s, field_id = self._times(terms)
        product = np.empty((len(time_s), len(frequency_hz), len(self.antennas), 2, 2), dtype=complex)
        product[...] = np.eye(2)
        bad = np.zeros(product.shape[:-1], dtype=bool)
        for field in np.unique(field_id):  # whose own solutions may be of the same times as another's
            own = field_id == field
            for term in terms:
                where = self.direction if term.of_directions else ""
                matrices, missing = term.of_fields([field]).jones_of(self.antennas, where, time_s[own], frequency_hz)
                product[own], bad[own] = product[own] @ matrices, bad[own] | missing
        if not all(term.diagonal for term in terms):
            bad = np.repeat(bad.any(axis=-1, keepdims=True), 2, axis=-1)
        return _Sampled(self.window_id, product, bad, time_s, width_s, field_id)

    def _times(self, terms: Sequence[TermSolutions]) -> tuple[NDArray, NDArray, NDArray]:
        """Centres, widths and fields of the intervals of some terms together, or time slots where these differ."""
        finest = max(terms, key=lambda term: len(term.time_s))
        alike = all(len(term.time_s) == 1 or np.array_equal(term.time_s, finest.time_s) for term in terms)
        if not alike or any(TIME_QUANTITIES & set(term.value) for term in terms):
            slots_s, field_id = (np.array(one) for one in zip(*self.slots, strict=True))
            return slots_s, np.zeros(len(slots_s)), field_id
        fields = np.full(len(finest.time_s), self.slots[0][1]) if finest.field_ids is None else finest.field_ids
        return finest.time_s, finest.time_width_s, fields


@dataclass(frozen=True)
class _Table:
    """One to be written: the gains of what was sampled, or its leakages."""

    name: str
    windows: list[_Sampled]
    leakages: bool = False

    def described(self, ms: str) -> dict:
        """As `create_calibration_table` takes it."""
        whole = all(window.matrices.shape[1] == 1 for window in self.windows)
        kind = ("D" if whole else "Df") if self.leakages else ("G" if whole else "B")
        rows = [window.rows(window.leakages if self.leakages else window.gains) for window in self.windows]
        return {
            "kind": f"{kind} Jones", "basis": "unknown", "ms_name": os.path.basename(os.path.realpath(ms)),
            "is_complex": True, "rows": rows,
        }  # fmt: skip
