"""Spectra that are tables: fluxes at some frequencies, and straight lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import numbers
from ..units import LOWEST_RADIO_HZ
from .errors import SkyModelError

_CLOSE = 1e-9  # of a source's fluxes and those of its table at the reference frequency


@dataclass(frozen=True, slots=True, eq=False)
class FluxTable:
    """Stokes parameters of a source at some frequencies. Between two of them they are on a straight line; below the
    first and above the last they are as there.

    Attributes
    ----------
    frequency_hz : [F] ascending, F >= 2; tables may share the array
    stokes_jy : [F,4] I, Q, U, V; or [F], of I alone

    Numbers may be Quantities. Raises `SkyModelError` for what is not finite, or has another shape.
    """

    frequency_hz: NDArray[np.float64]
    stokes_jy: NDArray[np.float64]

    def __post_init__(self) -> None:
        frequency_hz = _frequencies(self.frequency_hz)
        stokes_jy = _finite(self.stokes_jy, "stokes_jy of a table", "Jy")
        if stokes_jy.shape not in ((len(frequency_hz),), (len(frequency_hz), 4)):
            raise SkyModelError(
                f"stokes_jy of a table is of shape {list(stokes_jy.shape)}, expected [{len(frequency_hz)}] or "
                f"[{len(frequency_hz)},4]: one or I, Q, U, V for each frequency"
            )
        _put(self, frequency_hz, _read_only(stokes_jy))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FluxTable) and (
            np.array_equal(self.frequency_hz, other.frequency_hz) and np.array_equal(self.stokes_jy, other.stokes_jy)
        )

    def __hash__(self) -> int:
        return hash((self.frequency_hz.tobytes(), self.stokes_jy.tobytes()))

    def __repr__(self) -> str:
        low, high = self.range_hz
        return f"<FluxTable: {len(self.frequency_hz)} frequencies from {low / 1e6:g} to {high / 1e6:g} MHz>"

    @property
    def range_hz(self) -> tuple[float, float]:
        """The first and the last frequency."""
        return float(self.frequency_hz[0]), float(self.frequency_hz[-1])

    @property
    def is_polarised(self) -> bool:
        """Whether any of Q, U, V differs from zero."""
        return self.stokes_jy.ndim == 2 and bool(self.stokes_jy[:, 1:].any())

    def covers(self, low_hz: float, high_hz: float) -> bool:
        """Whether a band is within the table, or less than half a step of it beyond."""
        first, last = (self.frequency_hz[1] - self.frequency_hz[0]), (self.frequency_hz[-1] - self.frequency_hz[-2])
        return bool(self.frequency_hz[0] - first / 2 <= low_hz and high_hz <= self.frequency_hz[-1] + last / 2)

    def at(self, frequency_hz: float) -> tuple[float, float, float, float]:
        """I, Q, U, V at a frequency. Raises `SkyModelError` for one below what reaches the ground."""
        if frequency_hz < LOWEST_RADIO_HZ:
            raise SkyModelError(f"frequency_hz is {frequency_hz:g}, below what reaches the ground; is it in MHz?")
        return self._at(frequency_hz)

    def _at(self, frequency_hz: float) -> tuple[float, float, float, float]:
        planes = self.stokes_jy.reshape(len(self.frequency_hz), -1).T
        found = [float(np.interp(frequency_hz, self.frequency_hz, plane)) for plane in planes]
        return tuple(found + [0.0] * (4 - len(found)))

    def unpolarised(self) -> FluxTable:
        """The same with Stokes I alone."""
        return self if self.stokes_jy.ndim == 1 else FluxTable(self.frequency_hz, self.stokes_jy[:, 0])

    def goes_through(self, frequency_hz: float, stokes_jy: Sequence[float]) -> bool:
        """Whether these are the fluxes at a frequency."""
        place = self.frequency_hz.searchsorted(frequency_hz)
        if place < len(self.frequency_hz) and self.frequency_hz[place] == frequency_hz:  # told in little time
            own = self.stokes_jy[place].tolist()
            if (own if self.stokes_jy.ndim == 2 else [own, 0.0, 0.0, 0.0]) == list(stokes_jy):
                return True
        return bool(np.allclose(self._at(frequency_hz), stokes_jy, rtol=0, atol=_CLOSE * np.abs(self.stokes_jy).max()))

    def isclose(self, other: FluxTable, rtol: float = 1e-12) -> bool:
        """Whether both are the same to a relative tolerance, of fluxes in units of the largest one."""
        if self.frequency_hz.shape != other.frequency_hz.shape:
            return False
        own, others = (
            table.stokes_jy if table.stokes_jy.ndim == 2 else np.pad(table.stokes_jy[:, None], ((0, 0), (0, 3)))
            for table in (self, other)
        )
        return bool(
            np.allclose(self.frequency_hz, other.frequency_hz, rtol=rtol, atol=0)
            and np.allclose(own, others, rtol=0, atol=rtol * np.abs(own).max())
        )


def tables_of(frequency_hz: ArrayLike, stokes_jy: NDArray[np.float64]) -> list[FluxTable]:
    """A table for each source, of fluxes [source,F] of I or [source,F,4], which share the frequencies. They are looked
    at together, as there may be millions. Raises `SkyModelError` as `FluxTable`."""
    frequency_hz = _frequencies(frequency_hz)
    stokes_jy = _read_only(_finite(stokes_jy, "stokes_jy of a table", "Jy"))
    tables = []
    for fluxes in stokes_jy:
        table = object.__new__(FluxTable)
        _put(table, frequency_hz, fluxes)
        tables.append(table)
    return tables


def common_table(tables: Sequence[FluxTable | None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[F] all frequencies of some tables, and [F,source] fluxes there, of I, or [F,source,4] where any is polarised;
    0 of sources without a table. The lines between frequencies are the same."""
    held = [(place, table) for place, table in enumerate(tables) if table is not None]
    first = held[0][1].frequency_hz
    shared = all(table.frequency_hz is first or np.array_equal(table.frequency_hz, first) for _, table in held)
    frequency_hz = first if shared else np.unique(np.concatenate([table.frequency_hz for _, table in held]))
    own = [table.stokes_jy if shared else _on(frequency_hz, table) for _, table in held]
    if any(table.is_polarised for _, table in held):
        own = [one if one.ndim == 2 else np.pad(one[:, None], ((0, 0), (0, 3))) for one in own]
    else:
        own = [one if one.ndim == 1 else one[:, 0] for one in own]
    fluxes = np.zeros((len(frequency_hz), len(tables), *own[0].shape[1:]))
    fluxes[:, [place for place, _ in held]] = np.swapaxes(np.array(own), 0, 1)
    return frequency_hz, fluxes


def _on(frequency_hz: NDArray[np.float64], table: FluxTable) -> NDArray[np.float64]:
    """[F] or [F,4] fluxes of a table at other frequencies."""
    planes = table.stokes_jy.reshape(len(table.frequency_hz), -1).T
    found = np.stack([np.interp(frequency_hz, table.frequency_hz, plane) for plane in planes], axis=-1)
    return found if table.stokes_jy.ndim == 2 else found[:, 0]


def _put(table: FluxTable, frequency_hz: NDArray[np.float64], stokes_jy: NDArray[np.float64]) -> None:
    object.__setattr__(table, "frequency_hz", frequency_hz)
    object.__setattr__(table, "stokes_jy", stokes_jy)


def _frequencies(given: ArrayLike) -> NDArray[np.float64]:
    found = _finite(given, "frequency_hz of a table", "Hz")
    if found.ndim != 1 or len(found) < 2:
        raise SkyModelError(f"frequency_hz of a table is of shape {list(found.shape)}, expected [F] of at least two")
    if not (np.diff(found) > 0).all():
        raise SkyModelError("frequency_hz of a table must be ascending, and none of them twice")
    if found[0] < LOWEST_RADIO_HZ:
        raise SkyModelError(
            f"frequency {found[0]:g} Hz of a table is below what reaches the ground; is it in MHz? Hz is expected"
        )
    return _read_only(found)


def _finite(given: ArrayLike, what: str, unit: str) -> NDArray[np.float64]:
    found = numbers(given, what, unit, SkyModelError)
    if not np.isfinite(found).all():
        raise SkyModelError(f"{what} must be finite")
    return found


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
