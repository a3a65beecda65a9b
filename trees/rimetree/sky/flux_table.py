"""Spectra that are tables: fluxes at some frequencies, and straight lines or power laws between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import numbers
from ..units import LOWEST_RADIO_HZ
from .errors import SkyModelError

_CLOSE = 1e-9  # of a source's fluxes and those of its table at the reference frequency
_BEYOND = 1e3  # how many times below the first and above the last frequency nodes continue power laws


@dataclass(frozen=True, slots=True, eq=False)
class FluxTable:
    """Stokes parameters of a source at some frequencies. Between two of them they are on a straight line; below the
    first and above the last they are as there.

    With `power_laws` Stokes I is a power law between two frequencies, and those of the first and the last two go on
    beyond them. The fractions Q/I, U/I and V/I are on straight lines over the logarithm of frequency, and beyond the
    ends as there.

    Attributes
    ----------
    frequency_hz : [F] ascending, F >= 2; tables share an array that nobody can write to
    stokes_jy : [F,4] I, Q, U, V; or [F], of I alone; with `power_laws` I has one sign, and is nowhere 0
    power_laws : see above

    Numbers may be Quantities. Raises `SkyModelError` for what is not finite, or has another shape.
    """

    frequency_hz: NDArray[np.float64]
    stokes_jy: NDArray[np.float64]
    power_laws: bool = False

    def __post_init__(self) -> None:
        frequency_hz = _frequencies(self.frequency_hz)
        stokes_jy = _finite(self.stokes_jy, "stokes_jy of a table", "Jy")
        if not isinstance(self.power_laws, bool | np.bool_):
            raise SkyModelError(f"power_laws of a table must be True or False, not {self.power_laws!r}")
        if stokes_jy.shape not in ((len(frequency_hz),), (len(frequency_hz), 4)):
            raise SkyModelError(
                f"stokes_jy of a table is of shape {list(stokes_jy.shape)}, expected [{len(frequency_hz)}] or "
                f"[{len(frequency_hz)},4]: one or I, Q, U, V for each frequency"
            )
        if self.power_laws and not has_one_sign(stokes_jy):
            raise SkyModelError(
                "Stokes I of a table is 0 somewhere, or changes its sign: no power laws go through it, only straight "
                "lines (power_laws=False)"
            )
        _put(self, frequency_hz, _read_only(stokes_jy), bool(self.power_laws))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FluxTable) and (
            np.array_equal(self.frequency_hz, other.frequency_hz)
            and np.array_equal(self.stokes_jy, other.stokes_jy)
            and self.power_laws == other.power_laws
        )

    def __hash__(self) -> int:
        return hash((self.frequency_hz.tobytes(), self.stokes_jy.tobytes(), self.power_laws))

    def __repr__(self) -> str:
        low, high = self.range_hz
        between = ", power laws between them" if self.power_laws else ""
        return f"<FluxTable: {len(self.frequency_hz)} frequencies from {low / 1e6:g} to {high / 1e6:g} MHz{between}>"

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
        if self.power_laws:
            flux_jy = self.sign * np.exp(self.log_flux(np.log(frequency_hz)))
            found = [float(flux_jy), *(float(flux_jy * share) for share in self.fractions(np.log(frequency_hz)))]
        else:
            planes = self.stokes_jy.reshape(len(self.frequency_hz), -1).T
            found = [float(np.interp(frequency_hz, self.frequency_hz, plane)) for plane in planes]
        return tuple(found + [0.0] * (4 - len(found)))

    @property
    def sign(self) -> float:
        """Of Stokes I at the first frequency, and so of all with `power_laws`: 1 or -1."""
        return float(np.sign(self.stokes_jy.flat[0]))

    def log_flux(self, log_frequency: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of a table with `power_laws`: logarithms of abs(I / Jy) at those of frequencies (Hz)."""
        at, flux = np.log(self.frequency_hz), np.log(np.abs(self.stokes_jy.reshape(len(self.frequency_hz), -1)[:, 0]))
        first, last = (np.diff(flux) / np.diff(at))[[0, -1]]
        below, above = np.minimum(log_frequency - at[0], 0), np.maximum(log_frequency - at[-1], 0)
        return np.interp(log_frequency, at, flux) + first * below + last * above

    def fractions(self, log_frequency: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Of a table with `power_laws`: Q/I, U/I and V/I at logarithms of frequencies (Hz); none of a table of I."""
        if self.stokes_jy.ndim == 1:
            return []
        at = np.log(self.frequency_hz)
        return [np.interp(log_frequency, at, plane / self.stokes_jy[:, 0]) for plane in self.stokes_jy.T[1:]]

    def all_stokes(self) -> NDArray[np.float64]:
        """[F,4] I, Q, U, V at the frequencies."""
        return self.stokes_jy if self.stokes_jy.ndim == 2 else np.pad(self.stokes_jy[:, None], ((0, 0), (0, 3)))

    def unpolarised(self) -> FluxTable:
        """The same with Stokes I alone."""
        return self if self.stokes_jy.ndim == 1 else replace(self, stokes_jy=self.stokes_jy[:, 0])

    def on_lines(self, tolerance: float = 1e-4) -> FluxTable:
        """A table of power laws on straight lines, where these are as near to them as that; else itself."""
        if not self.power_laws:
            return self
        middle_hz = (self.frequency_hz[1:] + self.frequency_hz[:-1]) / 2
        of_lines = (self.all_stokes()[1:, 0] + self.all_stokes()[:-1, 0]) / 2
        near = np.abs(self.sign * of_lines / np.exp(self.log_flux(np.log(middle_hz))) - 1).max() <= tolerance
        return replace(self, power_laws=False) if near else self

    def times(self, factor: float) -> FluxTable:
        """The same with fluxes so many times as large; a factor is not 0."""
        return replace(self, stokes_jy=self.stokes_jy * factor)

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
        if self.frequency_hz.shape != other.frequency_hz.shape or self.power_laws != other.power_laws:
            return False
        own, others = self.all_stokes(), other.all_stokes()
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
        _put(table, frequency_hz, fluxes, False)
        tables.append(table)
    return tables


def has_one_sign(stokes_jy: NDArray[np.float64]) -> bool:
    """Whether Stokes I of [F,4] or [F] is above 0 everywhere, or below 0 everywhere."""
    intensity = stokes_jy.reshape(len(stokes_jy), -1)[:, 0]
    return bool((intensity > 0).all() or (intensity < 0).all())


def common_lines(tables: Sequence[FluxTable | None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[F] all frequencies of some tables of straight lines, and [F,source] fluxes there, of I, or [F,source,4] where
    any is polarised; 0 of sources without such a table. The lines between frequencies are the same."""
    held = [(place, table) for place, table in enumerate(tables) if table is not None and not table.power_laws]
    frequency_hz, shared = _together([table for _, table in held])
    own = [table.stokes_jy if shared else _on(frequency_hz, table) for _, table in held]
    if any(table.is_polarised for _, table in held):
        own = [one if one.ndim == 2 else np.pad(one[:, None], ((0, 0), (0, 3))) for one in own]
    else:
        own = [one if one.ndim == 1 else one[:, 0] for one in own]
    fluxes = np.zeros((len(frequency_hz), len(tables), *own[0].shape[1:]))
    fluxes[:, [place for place, _ in held]] = np.swapaxes(np.array(own), 0, 1)
    return frequency_hz, fluxes


@dataclass(frozen=True, slots=True, eq=False)
class PowerLaws:
    """Tables of sources with power laws, at frequencies that all share; beyond the first and the last one nothing is
    said. Of sources without such a table `sign` is 0.

    Attributes
    ----------
    log_frequency : [F] natural logarithms of frequencies (Hz)
    log_flux : [F,source] natural logarithms of abs(I / Jy)
    sign : [source] of I: 1, -1 or 0
    fractions : [F,4,source] 1, Q/I, U/I and V/I, or None if none is polarised
    """

    log_frequency: NDArray[np.float64]
    log_flux: NDArray[np.float64]
    sign: NDArray[np.float64]
    fractions: NDArray[np.float64] | None


def common_power_laws(tables: Sequence[FluxTable | None]) -> PowerLaws:
    """The tables with power laws among some: the power laws are the same, also beyond the ends of each table."""
    held = [(place, table) for place, table in enumerate(tables) if table is not None and table.power_laws]
    own, _ = _together([table for _, table in held])
    at = np.log([own[0] / _BEYOND, *own, own[-1] * _BEYOND])
    log_flux, sign, fractions = np.zeros((len(at), len(tables))), np.zeros(len(tables)), None
    for place, table in held:
        log_flux[:, place], sign[place] = table.log_flux(at), table.sign
    if any(table.is_polarised for _, table in held):
        fractions = np.zeros((len(at), 4, len(tables)))
        fractions[:, 0] = 1
        for place, table in held:
            for plane, share in enumerate(table.fractions(at), 1):
                fractions[:, plane, place] = share
    return PowerLaws(at, log_flux, sign, fractions)


def _together(tables: Sequence[FluxTable]) -> tuple[NDArray[np.float64], bool]:
    """The frequencies of all tables, and whether each has just these."""
    first = tables[0].frequency_hz
    if all(table.frequency_hz is first or np.array_equal(table.frequency_hz, first) for table in tables):
        return first, True
    return np.unique(np.concatenate([table.frequency_hz for table in tables])), False


def _on(frequency_hz: NDArray[np.float64], table: FluxTable) -> NDArray[np.float64]:
    """[F] or [F,4] fluxes of a table at other frequencies."""
    planes = table.stokes_jy.reshape(len(table.frequency_hz), -1).T
    found = np.stack([np.interp(frequency_hz, table.frequency_hz, plane) for plane in planes], axis=-1)
    return found if table.stokes_jy.ndim == 2 else found[:, 0]


def _put(table: FluxTable, frequency_hz: NDArray[np.float64], stokes_jy: NDArray[np.float64], power_laws: bool) -> None:
    object.__setattr__(table, "frequency_hz", frequency_hz)
    object.__setattr__(table, "stokes_jy", stokes_jy)
    object.__setattr__(table, "power_laws", power_laws)


def _frequencies(given: ArrayLike) -> NDArray[np.float64]:
    held = type(given) is np.ndarray and given.dtype == np.float64 and given.base is None and not given.flags.writeable
    found = given if held and np.isfinite(given).all() else _finite(given, "frequency_hz of a table", "Hz")
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
