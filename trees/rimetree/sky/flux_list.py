"""Lists of fluxes at some frequencies, as sources have them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .errors import SkyModelError, UnsupportedError
from .flux_table import FluxTable, has_one_sign
from .model import SkyModel
from .source import Source

Stokes = tuple[float, float, float, float]

_INDEX_OF_ONE = -0.8
_CLOSE = 1e-3
_NEAR = 1e-2  # between frequencies
_PLACES = 8  # of each step
_MOST_COEFFICIENTS = 4


def fluxes_through(entries: Sequence[tuple[float, Stokes]]) -> dict[str, object]:
    """Fields of a `Source` that has the fluxes of a list of (frequency in Hz, Stokes parameters): one power law where
    that goes through all of them to 1e-3, else a `FluxTable` with power laws, or with straight lines where I is 0
    somewhere or changes its sign. Of one entry the spectral index is -0.8.

    Raises `SkyModelError` where there is no entry, or one contradicts another.
    """
    if not entries:
        raise SkyModelError("the list is empty")
    entries = list(dict.fromkeys(sorted(entries)))  # what is said twice is said
    reference_hz, at_reference = entries[len(entries) // 2]
    fields: dict[str, object] = {"stokes_jy": at_reference, "ref_freq_hz": reference_hz}
    if len(entries) == 1:
        return fields | {"spectrum": (_INDEX_OF_ONE,) if any(at_reference) else ()}
    frequency_hz = _shared(tuple(frequency for frequency, _ in entries))
    if (same := np.flatnonzero(np.diff(frequency_hz) == 0)).size:
        raise SkyModelError(f"the list has different fluxes at {frequency_hz[same[0]] / 1e6:g} MHz")
    stokes = np.array([fluxes for _, fluxes in entries])
    if not stokes.any():
        return fields
    one_sign = has_one_sign(stokes)
    if one_sign and (law := _spectrum(frequency_hz, stokes, len(entries) // 2, 1)) is not None:
        return fields | {"spectrum": law}
    held = stokes if stokes[:, 1:].any() else stokes[:, 0].copy()
    return fields | {"table": FluxTable(frequency_hz, held, power_laws=one_sign)}


def times(fields: dict[str, object], factor: float) -> dict[str, object]:
    """Fields of `fluxes_through` with fluxes so many times as large."""
    found = fields | {"stokes_jy": tuple(factor * flux for flux in fields["stokes_jy"])}
    return found | {"table": fields["table"].times(factor)} if "table" in fields else found


def with_spectra(model: SkyModel, holds: Callable[[FluxTable], bool] = lambda table: False) -> SkyModel:
    """A model for a format that holds some tables, or none: sources with others have a spectrum of at most four
    coefficients instead, which goes through all their fluxes to 1e-3, and is within 1e-2 of what they are between these
    frequencies. Raises `UnsupportedError` where there is none."""
    if not model.has_table.any():
        return model
    return replace(model, sources=tuple(s if s.table is None or holds(s.table) else _without(s) for s in model))


def is_list(table: FluxTable) -> bool:
    """Whether `fluxes_through` its fluxes is this table."""
    return table.power_laws == has_one_sign(table.stokes_jy)


def _without(source: Source) -> Source:
    table = source.table
    middle = len(table.frequency_hz) // 2
    spectrum = _spectrum(table.frequency_hz, table.all_stokes(), middle, _MOST_COEFFICIENTS)
    stokes, reference_hz = tuple(table.all_stokes()[middle].tolist()), float(table.frequency_hz[middle])
    if spectrum is None or not _is_near(table, reference_hz, stokes, spectrum):
        raise UnsupportedError(
            f"source {source.name!r}: no spectrum of {_MOST_COEFFICIENTS} coefficients goes through its fluxes at "
            f"{len(table.frequency_hz)} frequencies to {_CLOSE:g}, and to {_NEAR:g} between them. Such fluxes are held "
            "by hyperdrive's lists (.yaml) with power laws between them, by SkyH5 (.skyh5) with straight lines, of I"
        )
    return replace(source, stokes_jy=stokes, ref_freq_hz=reference_hz, spectrum=spectrum, table=None)


def _is_near(table: FluxTable, reference_hz: float, stokes: Stokes, spectrum: tuple[float, ...]) -> bool:
    """Whether a spectrum is a table's also between its frequencies, and, of power laws, a quarter of a step beyond."""
    at = np.log(table.frequency_hz)
    steps = np.diff(at)
    places = [at[0] - steps[0] / 4, at[-1] + steps[-1] / 4] if table.power_laws else []
    for share in np.arange(1, _PLACES) / _PLACES:
        places += (at[:-1] + share * steps).tolist()
    for log_frequency in places:
        x = log_frequency - math.log(reference_hz)
        law = math.exp(min(700.0, x * float(np.polyval(spectrum[::-1], x))))
        expected = table.at(math.exp(log_frequency))
        if max(abs(own * law - other) for own, other in zip(stokes, expected, strict=True)) > _NEAR * abs(expected[0]):
            return False
    return True


def _spectrum(
    frequency_hz: NDArray[np.float64], stokes: NDArray[np.float64], reference: int, most: int
) -> tuple[float, ...] | None:
    """Coefficients of powers of the natural logarithm, as few as go through Stokes parameters [F,4] to 1e-3 of each I;
    None where more than `most` would be needed, or Q, U, V do not follow I."""
    if not has_one_sign(stokes):
        return None
    ratio = stokes[:, 0] / stokes[reference, 0]
    if (np.abs(stokes - np.outer(ratio, stokes[reference])).max(axis=1) > _CLOSE * np.abs(stokes[:, 0])).any():
        return None
    x = np.log(frequency_hz / frequency_hz[reference])
    others = x != 0
    x, log_ratio = x[others], np.log(ratio[others])
    powers = np.vander(x, min(most, len(x)) + 1, increasing=True)[:, 1:]
    for order in range(1, powers.shape[1] + 1):
        if order == 1:  # as all lists are tried, of which there may be many
            found = np.array([x @ log_ratio / (x @ x)])
        else:
            found, *_ = np.linalg.lstsq(powers[:, :order], log_ratio, rcond=None)
        if np.abs(np.expm1(powers[:, :order] @ found - log_ratio)).max() <= _CLOSE:
            return tuple(found.tolist())
    return None


@functools.lru_cache(maxsize=256)
def _shared(frequency_hz: tuple[float, ...]) -> NDArray[np.float64]:
    """The same array for lists of the same frequencies, of which there may be 100 000."""
    array = np.array(frequency_hz)
    array.flags.writeable = False
    return array
