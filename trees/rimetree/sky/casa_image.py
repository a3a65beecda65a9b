"""Images of CASA, which are tables of casacore, with headers as FITS files have them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .casa_table import contents_of
from .errors import SkyModelError, UnsupportedError
from .map_pixels import unit_named

if TYPE_CHECKING:
    from astropy.io.fits import Header

_FRAMES = {"J2000": ("FK5", 2000.0), "ICRS": ("ICRS", 2000.0), "B1950": ("FK4", 1950.0)}
#: Numbers of the STOKES axis in FITS (Greisen & Calabretta 2002, A&A 395, 1061, table 7).
STOKES_NUMBERS = {
    **{"I": 1, "Q": 2, "U": 3, "V": 4},
    **{"RR": -1, "LL": -2, "RL": -3, "LR": -4, "XX": -5, "YY": -6, "XY": -7, "YX": -8},
}
_UNITS = {"'": "arcmin", '"': "arcsec"}


@dataclass(frozen=True)
class CasaImage:
    """`data`: pixels, NaN where they are masked, with the slowest axis first; `frequency_hz`: of planes, where they are
    not regular, so that no header can say it; `masked`: how many pixels are that are not 0."""

    header: Header
    data: NDArray[np.float64]
    frequency_hz: NDArray[np.float64] | None
    masked: int


def read_casa_image(path: str) -> CasaImage:
    """An image. Raises `SkyModelError` for what is none that can be read."""
    keywords, _ = contents_of(path)
    data, masked = _pixels(path, "map"), 0
    if mask := keywords.get("Image_defaultmask"):
        hidden = _pixels(os.path.join(path, mask), "PagedArray") == 0
        masked = int(np.count_nonzero(data[hidden]))
        data = np.where(hidden, np.nan, data)
    try:
        header, frequency_hz = _header(keywords, data.ndim)
    except UnsupportedError as problem:
        raise UnsupportedError(problem.message, file=path) from None
    except (KeyError, IndexError, TypeError, ValueError) as problem:  # ValueError: of units that are none
        raise SkyModelError(f"its coordinates are not as CASA writes them: {problem!r}", file=path) from problem
    return CasaImage(header, data, frequency_hz, masked)


def _pixels(path: str, column: str) -> NDArray[np.float64]:
    try:
        return np.asarray(_core.read_pixels(path, column))
    except _core.Error as problem:
        raise SkyModelError(str(problem)) from problem  # which names the file


def _header(keywords: dict, n_axes: int) -> tuple[Header, NDArray[np.float64] | None]:
    from astropy.io.fits import Header

    header, frequency_hz = Header(), None
    header["BUNIT"] = keywords.get("units", "")
    coordinates = keywords["coords"]
    for axis in range(n_axes):
        header[f"CTYPE{axis + 1}"] = ""
    for name in coordinates:
        kind, number = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
        axes = [axis + 1 for axis in coordinates.get(f"pixelmap{number}", [])] if number else []
        if not axes or min(axes) < 1:
            continue
        own = coordinates[name]
        if kind == "direction":
            _add_direction(header, own, axes)
        elif kind == "stokes":
            _add_stokes(header, own, axes[0])
        elif kind == "spectral":
            frequency_hz = _add_frequency(header, own, axes[0])
        elif kind in ("linear", "tabular"):
            header[f"CTYPE{axes[0]}"] = str(own["axes"][0])
    return header, frequency_hz


def _add_direction(header: Header, own: dict, axes: list[int]) -> None:
    if own["system"] not in _FRAMES:
        raise UnsupportedError(f"the image's positions are in the frame {own['system']}; expected ICRS or J2000")
    header["RADESYS"], header["EQUINOX"] = _FRAMES[own["system"]]
    header["LONPOLE"], header["LATPOLE"] = own["longpole"], own["latpole"]
    for place, (axis, name) in enumerate(zip(axes, ("RA--", "DEC-"), strict=True)):
        degrees = unit_named(_UNITS.get(own["units"][place], own["units"][place])).to("deg")
        header[f"CTYPE{axis}"] = f"{name}-{own['projection']}"
        header[f"CUNIT{axis}"] = "deg"
        header[f"CRVAL{axis}"] = own["crval"][place] * degrees
        header[f"CDELT{axis}"] = own["cdelt"][place] * degrees
        header[f"CRPIX{axis}"] = own["crpix"][place] + 1  # CASA counts pixels from 0
        for other, column in enumerate(axes):
            header[f"PC{axis}_{column}"] = own["pc"][other][place]  # in JSON the first index is the fastest
    for place, value in enumerate(own["projection_parameters"], 1):
        if value != 0:
            header[f"PV{axes[1]}_{place}"] = value


def _add_stokes(header: Header, own: dict, axis: int) -> None:
    numbers = [STOKES_NUMBERS.get(name, 0) for name in own["stokes"]]
    steps = set(np.diff(numbers).tolist()) or {1}
    if len(steps) > 1 or 0 in numbers:
        raise UnsupportedError(f"planes of {', '.join(own['stokes'])}, expected those of I, Q, U, V one after another")
    header[f"CTYPE{axis}"], header[f"CRVAL{axis}"] = "STOKES", numbers[0]
    header[f"CRPIX{axis}"], header[f"CDELT{axis}"] = 1, steps.pop()


def _add_frequency(header: Header, own: dict, axis: int) -> NDArray[np.float64] | None:
    hertz = unit_named(own["unit"]).to("Hz")
    header[f"CTYPE{axis}"], header[f"CUNIT{axis}"] = "FREQ", "Hz"
    if "tabular" in own and len(own["tabular"]["worldvalues"]) > 1:
        return np.array(own["tabular"]["worldvalues"]) * hertz
    wcs = own.get("wcs", own.get("tabular"))
    value, step, pixel = (_number(wcs[key]) for key in ("crval", "cdelt", "crpix"))
    header[f"CRVAL{axis}"], header[f"CDELT{axis}"] = value * hertz, step * hertz
    header[f"CRPIX{axis}"] = pixel + 1
    return None


def _number(given: float | list[float]) -> float:
    return float(given[0] if isinstance(given, list) else given)
