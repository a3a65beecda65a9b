"""Model images (FITS or CASA's, in Jy/pixel), as deconvolution leaves them: each pixel that is not 0 is a point at its
middle.

What an image is in Jy/beam is convolved and no model. Pixels that are no number are outside of the image; those that
are rounding of others are left out (`map_pixels`), and `skipped` says so. Planes of a STOKES axis are I, Q, U and V.
Positions are in ICRS, or J2000. Of one frequency the fluxes have no spectrum. Of planes of several frequencies, in a
cube or in a file each, the spectrum of each pixel is the polynomial of lowest order that goes through them, the same
order for all pixels. Where there is none, or planes are polarised, it is a `FluxTable`. Taylor terms of CASA's
multi-frequency synthesis are files called NAME.tt0, NAME.tt1, ...: I(nu) = I0 + I1 y + I2 y^2 + ..., y = nu/nu0 - 1.

Source: Pence et al. 2010, A&A 524, A42 (FITS); Calabretta & Greisen 2002, A&A 395, 1077 (places on the sky).
"""

from __future__ import annotations

import gzip
import itertools
import os
import re
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..fits_axes import HERTZ, only_image, regular_axis
from ..units import LOWEST_RADIO_HZ
from .casa_image import STOKES_NUMBERS, read_casa_image
from .errors import SkyModelError, UnsupportedError
from .flux_table import FluxTable, tables_of
from .healpix import is_healpix
from .map_pixels import pixels_with_flux, unit_named
from .model import Skipped, SkyModel
from .source import Source

_STOKES_NAMES = {number: name for name, number in STOKES_NUMBERS.items()}
_MOST_COEFFICIENTS, _CLOSE, _ROUNDING = 4, 1e-3, 1e-6
_MOST_TERMS = 10  # of a Taylor series; CASA makes two to four
TAYLOR_NAME = re.compile(r"(.*\.tt)(\d+)(\.fits)?/?")  # as field.model.tt0


def is_fits(file: str) -> bool:
    """Whether a file begins as FITS files do, or those that gzip has made of them. Raises `SkyModelError` where it
    cannot be read. A pipe, as a shell makes one of `<(command)`, can be read once only, and is taken to be text."""
    if os.path.exists(file) and not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as stream:
            begin = stream.read(9)
        if begin.startswith(b"\x1f\x8b"):
            with gzip.open(file) as stream:
                begin = stream.read(9)
        return begin == b"SIMPLE  ="
    except (OSError, EOFError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SkyModelError(f"cannot read the sky model: {reason}", file=file) from problem


def format_of_fits(file: str) -> str:
    """What a FITS file holds: "healpix" for a map, "catalogue" for another table and no image, else "fits"."""
    from astropy.io import fits

    try:
        with fits.open(file, memmap=False, lazy_load_hdus=False) as units:
            tables = [unit for unit in units if isinstance(unit, fits.BinTableHDU | fits.TableHDU)]
            if any(is_healpix(table.header) for table in tables):
                return "healpix"
            images = any(unit.is_image and unit.header.get("NAXIS", 0) >= 2 for unit in units)
            return "catalogue" if tables and not images else "fits"
    except (OSError, TypeError, ValueError) as problem:
        raise SkyModelError(f"no FITS file that can be read: {problem}", file=file) from problem


@dataclass(frozen=True)
class _Planes:
    """Of an image: `data` [freq,stokes,y,x] (Jy/pixel); `frequency_hz` [freq], NaN where it is not said; `stokes`: of
    each plane, its place in a `Source`'s fluxes; `places`: as of `_places`; `left_out`: what is not in `data`."""

    file: str
    data: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    stokes: list[int]
    places: Callable
    left_out: tuple[Skipped, ...] = ()


def read_fits(files: Sequence[str]) -> SkyModel:
    """The points in a model image, or in those of several frequencies. Raises `SkyModelError` where they are none, or
    do not go together, or `UnsupportedError` for what a `Source` cannot express."""
    terms, missing = _taylor_terms(files[0]) if len(files) == 1 else ([], ())
    if len(terms) > 1:
        return _points_of_terms([_planes_of(file) for file in terms])
    images = [_planes_of(file) for file in files]
    images[0] = replace(images[0], left_out=(*images[0].left_out, *missing))
    first = _alike(images)
    data, frequency_hz = (
        np.concatenate(part) for part in zip(*((i.data, i.frequency_hz) for i in images), strict=True)
    )
    if len(data) == 1:
        return _points(data[0], first)
    order = np.argsort(frequency_hz)
    if not np.diff(frequency_hz[order]).min() > 0:  # or it is no number
        raise SkyModelError("planes have the same frequency, or none is said", file=first.file)
    return _points_of_band(data[order], frequency_hz[order], first)


def _alike(images: list[_Planes]) -> _Planes:
    """The first of some images. Raises `SkyModelError` where another has other pixels."""
    first = images[0]
    corners = np.array([[0, 0], [first.data.shape[3] - 1, first.data.shape[2] - 1]])
    for other in images[1:]:
        alike = other.data.shape[1:] == first.data.shape[1:] and other.stokes == first.stokes
        both = (one.places(corners) for one in (first, other))
        if not (alike and np.allclose(*both, rtol=0, atol=1e-9, equal_nan=True)):
            raise SkyModelError(f"its pixels or its planes of STOKES are not those of {first.file}", file=other.file)
    return first


def _taylor_terms(file: str) -> tuple[list[str], tuple[Skipped, ...]]:
    """The files of all terms, the first of which is `file` or what it is a link to, and what is missing; none where it
    is called otherwise. Raises `SkyModelError` where it is another term than the first, or one between is missing."""
    match = TAYLOR_NAME.fullmatch(file) or TAYLOR_NAME.fullmatch(os.path.realpath(file))
    if not match:
        return [], ()
    name, ending = match[1], match[3] or ""
    there = [k for k in range(_MOST_TERMS) if os.path.exists(f"{name}{k}{ending}")]
    if there[0] == 0 and match[2] != "0":
        first = f"{name}0{ending}"
        raise SkyModelError(f"this is a Taylor term of a spectrum; {first} stands for all of them", file=file)
    if there != list(range(len(there))):
        missing = min(set(range(there[-1])) - set(there))
        raise SkyModelError(f"of the Taylor terms of its spectrum {name}{missing}{ending} is missing", file=file)
    alone = SkyModelError(f"there is no {name}1{ending} beside it", file=file)
    return [f"{name}{k}{ending}" for k in there], (Skipped("the spectrum", alone),) if len(there) == 1 else ()


def _planes_of(file: str) -> _Planes:
    try:
        if not os.path.isdir(file):
            return _planes(*only_image(file), file)
        image = read_casa_image(file)
        planes = _planes(image.header, image.data, file)
        if image.frequency_hz is not None:
            planes = replace(planes, frequency_hz=image.frequency_hz)
        hidden = SkyModelError("the image's mask hides them", file=file)
        return replace(planes, left_out=(Skipped(f"{image.masked} pixels", hidden),) if image.masked else ())
    except SkyModelError:
        raise
    except Error as problem:
        raise SkyModelError(str(problem), file=file) from problem


def _planes(header, data: NDArray[np.float64], file: str) -> _Planes:
    kinds = [str(header.get(f"CTYPE{axis}", "")).upper() for axis in range(1, data.ndim + 1)]
    places = [i for i, kind in enumerate(kinds) if kind.startswith(("RA--", "DEC-"))]
    if len(places) != 2:
        raise SkyModelError(f"no axes of right ascension and declination: {', '.join(kinds)}", file=file)
    data = data * _jy_per_pixel(str(header.get("BUNIT", "")).strip(), file)
    # FITS counts axes from the fastest, NumPy from the slowest.
    named = [kinds.index(kind) if kind in kinds else None for kind in ("FREQ", "STOKES")]
    for axis, kind in enumerate(kinds):
        if axis not in (*places, *named) and data.shape[data.ndim - 1 - axis] != 1:
            count, what = data.shape[data.ndim - 1 - axis], kind or f"axis {axis + 1}"
            raise UnsupportedError(f"{count} planes along {what}, expected planes of FREQ and STOKES", file=file)
    order = [*(data.ndim - 1 - axis for axis in named if axis is not None), *sorted(data.ndim - 1 - i for i in places)]
    others = [axis for axis in range(data.ndim) if axis not in order]
    counts = [1 if axis is None else data.shape[data.ndim - 1 - axis] for axis in named]
    data = np.transpose(data, [*order, *others]).reshape(*counts, *(data.shape[axis] for axis in order[-2:]))
    frequency_hz = np.array([np.nan])
    if named[0] is not None:
        unit = str(header.get(f"CUNIT{named[0] + 1}", "")).strip().lower()
        if unit not in HERTZ:
            raise SkyModelError(f"frequencies are in {unit}, expected Hz", file=file)
        frequency_hz = HERTZ[unit] * _along(header, named[0], counts[0])
    return _Planes(
        file,
        data,
        frequency_hz,
        _stokes_of(header, named[1], counts[1], file),
        _places(header, [i + 1 for i in places], file),
    )


def _along(header, axis: int, count: int) -> NDArray[np.float64]:
    """Coordinates of planes along an axis."""
    start, step, first = regular_axis(header, axis + 1, value=1.0)
    return start + (np.arange(count) + 1 - first) * step


def _places(header, axes: list[int], file: str):
    """What gives the places of pixels: a function of [pixel, 2], numbers along two axes from 0, that returns right
    ascensions and declinations in degrees."""
    from astropy.wcs import WCS, FITSFixedWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FITSFixedWarning)  # of what astropy mends in headers
            world = WCS(header, naxis=axes)
            world.wcs.set()
    except ValueError as problem:
        raise SkyModelError(f"the header does not say where pixels are: {_sentence(problem)}", file=file) from problem
    frame, equinox = world.wcs.radesys, world.wcs.equinox
    if frame not in ("ICRS", "FK5") or (frame == "FK5" and equinox != 2000):
        of = "" if np.isnan(equinox) else f" of equinox {equinox:g}"
        raise UnsupportedError(
            f"the image's positions are in the frame {frame}{of}; expected ICRS, or FK5 of equinox 2000", file=file
        )
    return lambda pixels: world.all_pix2world(pixels, 0)[:, [world.wcs.lng, world.wcs.lat]].T


def _sentence(problem: ValueError) -> str:
    """What wcslib says in the last of its lines."""
    return str(problem).strip().splitlines()[-1].rstrip(".")


def _jy_per_pixel(unit: str, file: str) -> float:
    """What a unit, in any of the ways that FITS has to write it, is in Jy/pixel."""
    try:
        return unit_named(unit).to(unit_named("Jy/pixel"))
    except (ValueError, TypeError) as problem:  # of no unit that is known, and of one of another kind
        raise SkyModelError(
            f"the image is in {unit or 'no unit'}, expected Jy/pixel: a model, as deconvolution makes it, not an image "
            "that was convolved with a beam. (WSClean 3.1 writes that in the header of its MFS-model, too: take the "
            "models of its channels, or correct BUNIT)",
            file=file,
        ) from problem


def _stokes_of(header, axis: int | None, count: int, file: str) -> list[int]:
    """Of each plane, its place in a `Source`'s fluxes."""
    if axis is None:
        return [0]
    numbers = [round(number) for number in _along(header, axis, count)]
    if unknown := [number for number in numbers if _STOKES_NAMES.get(number, "") not in tuple("IQUV")]:
        named = ", ".join(f"{number} ({_STOKES_NAMES.get(number, 'not known')})" for number in unknown)
        raise UnsupportedError(f"planes of STOKES {named}, expected 1 to 4 (I, Q, U, V)", file=file)
    if len(set(numbers)) < count:
        raise SkyModelError(f"planes of STOKES {', '.join(map(str, numbers))}: some are the same", file=file)
    return [number - 1 for number in numbers]


def _pixels(planes: NDArray[np.float64], image: _Planes) -> tuple:
    """x and y of the pixels that hold anything in planes [any,y,x], right ascension and declination [2,pixel], and what
    was left out."""
    columns = planes.shape[2]
    held, left_out = pixels_with_flux(
        planes.reshape(len(planes), -1), lambda k: f"x{k % columns + 1}y{k // columns + 1}", image.file
    )
    y, x = np.divmod(held, columns)
    if not len(x):
        return x, y, np.zeros((2, 0)), image.left_out
    radec = np.radians(image.places(np.column_stack([x, y])))
    if not np.isfinite(radec).all():
        raise SkyModelError("pixels that are not 0 have no place on the sky", file=image.file)
    return x, y, np.stack([radec[0] % (2 * np.pi), radec[1]]), (*image.left_out, *left_out)


def _points(planes: NDArray[np.float64], image: _Planes) -> SkyModel:
    """Of planes [stokes,y,x] of one frequency."""
    x, y, radec, left_out = _pixels(planes, image)
    fluxes = np.zeros((len(x), 4))
    fluxes[:, image.stokes] = planes[:, y, x].T
    (frequency_hz,) = np.nan_to_num(image.frequency_hz).tolist()
    of = {"ref_freq_hz": frequency_hz} if frequency_hz >= LOWEST_RADIO_HZ else {}
    return SkyModel(
        tuple(
            Source(f"x{column + 1}y{row + 1}", *place, tuple(flux), **of)
            for column, row, place, flux in zip(x, y, radec.T.tolist(), fluxes.tolist(), strict=True)
        ),
        left_out,
    )


def _points_of_terms(terms: list[_Planes]) -> SkyModel:
    """Of images of Taylor terms."""
    first = _alike(terms)
    if any(len(term.data) != 1 for term in terms) or not first.frequency_hz[0] > 0:
        raise SkyModelError("Taylor terms are of one frequency each, which the first of them says", file=first.file)
    planes = np.array([term.data[0] for term in terms])  # [term,stokes,y,x]
    x, y, radec, left_out = _pixels(planes.reshape(-1, *planes.shape[2:]), first)
    fluxes = np.zeros((len(terms), len(x), 4))
    fluxes[:, :, first.stokes] = np.moveaxis(planes[:, :, y, x], 1, 2)
    if fluxes[1:, :, 1:].any():
        raise UnsupportedError("Taylor terms of Q, U or V", file=first.file)
    fixed = {
        "ref_freq_hz": float(first.frequency_hz[0]),
        "logarithmic": False,
        "spectrum_scales_polarisation": False,
    }
    return SkyModel(
        tuple(
            Source(f"x{column + 1}y{row + 1}", *place, tuple(flux), spectrum=tuple(spectrum), **fixed)
            for column, row, place, flux, spectrum in zip(
                x, y, radec.T.tolist(), fluxes[0].tolist(), fluxes[1:, :, 0].T.tolist(), strict=True
            )
        ),
        left_out,
    )


def _points_of_band(planes: NDArray[np.float64], frequency_hz: NDArray[np.float64], image: _Planes) -> SkyModel:
    """Of planes [freq,stokes,y,x]."""
    x, y, radec, left_out = _pixels(planes.reshape(-1, *planes.shape[2:]), image)
    held = planes[:, :, y, x]
    middle = len(frequency_hz) // 2
    fluxes = np.zeros((len(x), 4))
    fluxes[:, image.stokes] = held[middle].T
    coefficients = None
    if not any(place != 0 and held[:, k].any() for k, place in enumerate(image.stokes)):
        held = held[:, image.stokes.index(0)] if 0 in image.stokes else np.zeros((len(frequency_hz), len(x)))
        coefficients = _polynomials(held, frequency_hz / frequency_hz[middle] - 1, middle)
    reference_hz = float(frequency_hz[middle])
    if coefficients is None:
        spectra = ({"ref_freq_hz": reference_hz, "table": table} for table in _tables(held, frequency_hz, image))
    elif coefficients.size:
        spectra = (
            {"ref_freq_hz": reference_hz, "spectrum": tuple(own), "logarithmic": False}
            for own in coefficients.T.tolist()
        )
    else:
        spectra = itertools.repeat({}, len(x))
    return SkyModel(
        tuple(
            Source(f"x{column + 1}y{row + 1}", *place, tuple(flux), **spectrum)
            for column, row, place, flux, spectrum in zip(x, y, radec.T.tolist(), fluxes.tolist(), spectra, strict=True)
        ),
        left_out,
    )


def _tables(held: NDArray[np.float64], frequency_hz: NDArray[np.float64], image: _Planes) -> list[FluxTable]:
    """Of fluxes [freq,pixel] of Stokes I, or [freq,stokes,pixel]."""
    if held.ndim == 2:
        return tables_of(frequency_hz, held.T)
    stokes_jy = np.zeros((held.shape[2], len(frequency_hz), 4))
    stokes_jy[:, :, image.stokes] = np.moveaxis(held, 2, 0)
    return tables_of(frequency_hz, stokes_jy)


def _polynomials(fluxes: NDArray[np.float64], at: NDArray[np.float64], middle: int) -> NDArray[np.float64] | None:
    """[coefficient,pixel] of powers of `at` [freq], where it is not 0, that go through fluxes [freq,pixel], and exactly
    through those in the middle: as few as do. None where there are none."""
    change, others = fluxes - fluxes[middle], at != 0
    most = min(_MOST_COEFFICIENTS, len(at) - 1)
    for count in range(most + 1):
        powers = np.vander(at, count + 1, increasing=True)[:, 1:]
        found, *_ = np.linalg.lstsq(powers[others], change[others], rcond=None)
        left = (np.abs(powers @ found - change) / np.maximum(np.abs(fluxes).max(axis=0), 1e-300)).max(initial=0.0)
        if left <= (_CLOSE if count == most else _ROUNDING):
            return found
    return None
