"""Model images (FITS, in Jy/pixel), as deconvolution leaves them: each pixel that is not 0 is a point at its middle.

What an image is in Jy/beam is convolved and no model. Pixels that are no number are outside of the image. Planes of a
STOKES axis are I, Q, U and V. There is one frequency, at which the fluxes are; they have no spectrum. Positions are in
ICRS, or J2000.

Source: Pence et al. 2010, A&A 524, A42 (FITS); Calabretta & Greisen 2002, A&A 395, 1077 (places on the sky).
"""

from __future__ import annotations

import gzip
import warnings
import zlib

import numpy as np
from numpy.typing import NDArray

from .errors import SkyModelError, UnsupportedError
from .model import SkyModel
from .source import Source

_STOKES = {1: 0, 2: 1, 3: 2, 4: 3}  # numbers of the STOKES axis, and their places in a Source
_PER_PIXEL = ("jy/pixel", "jy/pix", "jy / pixel", "jy / pix")


def is_fits(file: str) -> bool:
    """Whether a file begins as FITS files do, or those that gzip has made of them. Raises `SkyModelError` where it
    cannot be read."""
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


def read_fits(file: str) -> SkyModel:
    """The points in a model image. Raises `SkyModelError` where it is none, or `UnsupportedError` for a cube."""
    header, data = _image_of(file)
    kinds = [str(header.get(f"CTYPE{axis}", "")).upper() for axis in range(1, data.ndim + 1)]
    places = [i for i, kind in enumerate(kinds) if kind.startswith(("RA--", "DEC-"))]
    if len(places) != 2:
        raise SkyModelError(f"no axes of right ascension and declination: {', '.join(kinds)}", file=file)
    _check_unit(str(header.get("BUNIT", "")), file)
    # FITS counts axes from the fastest, NumPy from the slowest: [stokes, dec, ra] of those that there are.
    stokes = kinds.index("STOKES") if "STOKES" in kinds else None
    for axis, kind in enumerate(kinds):
        if axis not in (*places, stokes) and data.shape[data.ndim - 1 - axis] != 1:
            raise UnsupportedError(
                f"{data.shape[data.ndim - 1 - axis]} planes along {kind or f'axis {axis + 1}'}: a model image has one "
                "frequency; give its planes one by one, each for its channels",
                file=file,
            )
    order = [*([] if stokes is None else [data.ndim - 1 - stokes]), *sorted(data.ndim - 1 - i for i in places)]
    others = [axis for axis in range(data.ndim) if axis not in order]
    planes = np.squeeze(data, axis=tuple(others)).reshape(-1, *(data.shape[axis] for axis in order[-2:]))
    numbers = _stokes_of(header, stokes, len(planes), file)
    return _points(planes, numbers, _places(header, [i + 1 for i in places], file), file)


def _image_of(file: str) -> tuple:
    """Header and data of the only image in a file."""
    from astropy.io import fits

    try:
        with fits.open(file, memmap=False) as units:
            images = [
                (unit.header, np.asarray(unit.data, dtype=float))
                for unit in units
                if unit.is_image and unit.data is not None and unit.data.ndim >= 2
            ]
    except (OSError, TypeError, ValueError) as problem:
        raise SkyModelError(f"no FITS image that can be read: {problem}", file=file) from problem
    if len(images) != 1:
        raise SkyModelError(f"the FITS file holds {len(images) or 'no'} images, expected one", file=file)
    return images[0]


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


def _check_unit(unit: str, file: str) -> None:
    if unit.strip().lower() not in _PER_PIXEL:
        raise SkyModelError(
            f"the image is in {unit or 'no unit'}, expected Jy/pixel: a model, as deconvolution makes it, not an image "
            "that was convolved with a beam",
            file=file,
        )


def _stokes_of(header, axis: int | None, count: int, file: str) -> list[int]:
    """Of each plane, its place in a `Source`'s fluxes."""
    if axis is None:
        return [0]
    start, step, first = (float(header.get(f"{key}{axis + 1}", 1.0)) for key in ("CRVAL", "CDELT", "CRPIX"))
    step *= float(header.get(f"CD{axis + 1}_{axis + 1}", 1.0))
    numbers = [round(start + (plane + 1 - first) * step) for plane in range(count)]
    if unknown := [number for number in numbers if number not in _STOKES]:
        raise UnsupportedError(
            f"planes of STOKES {', '.join(map(str, unknown))}, expected 1 to 4 (I, Q, U, V)", file=file
        )
    if len(set(numbers)) < count:
        raise SkyModelError(f"planes of STOKES {', '.join(map(str, numbers))}: some are the same", file=file)
    return [_STOKES[number] for number in numbers]


def _points(planes: NDArray[np.float64], stokes: list[int], places, file: str) -> SkyModel:
    blank = ~np.isfinite(planes)
    if (half := blank.any(axis=0) & ~blank.all(axis=0)).any():
        y, x = (int(one[0]) for one in np.nonzero(half))
        raise SkyModelError(
            f"{half.sum()} pixels are blank in some planes of STOKES and not in others, x{x + 1}y{y + 1} the first of "
            "them",
            file=file,
        )
    y, x = np.nonzero(~blank[0] & (planes != 0).any(axis=0))
    if not len(x):
        return SkyModel(())
    ra, dec = np.radians(places(np.column_stack([x, y])))
    if not np.isfinite([ra, dec]).all():
        raise SkyModelError("pixels that are not 0 have no place on the sky", file=file)
    fluxes = np.zeros((len(x), 4))
    fluxes[:, stokes] = planes[:, y, x].T
    return SkyModel(
        tuple(
            Source(f"x{column + 1}y{row + 1}", float(a), float(d), tuple(flux))
            for column, row, a, d, flux in zip(x, y, ra % (2 * np.pi), dec, fluxes.tolist(), strict=True)
        )
    )
