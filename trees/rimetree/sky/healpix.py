"""Maps of the whole sky in HEALPix pixels (FITS): each pixel that is not 0 is a point at its middle.

The first column is Stokes I; Q, U and V are told by their names. Positions may be galactic, equatorial (ICRS or J2000)
or ecliptic of J2000, and are turned to ICRS, angles of polarisation with them. A map in K (brightness temperature) has
these temperatures at all frequencies: its fluxes rise with nu^2. One in Jy/pixel or Jy/sr has no spectrum. Pixels that
are NaN, or what HEALPix marks as bad, are outside of the map; those that are rounding of others are left out
(`map_pixels`).

Source: the HEALPix facility documentation, "The HEALPix Primer", on polarisation (U of POLCCONV = COSMO, the default,
has the other sign than the IAU's).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..directions import unit_vectors
from ..fits_axes import header_number
from .errors import SkyModelError
from .healpix_grid import jy_sr_per_kelvin, pixel_positions, pixel_sr, require_pixels
from .map_pixels import pixels_with_flux, unit_named
from .model import SkyModel
from .reading import Cell, Reading
from .source import Source

_REFERENCE_HZ = 1e9  # of maps in K: which frequency it is does not matter
_BAD = -1.6375e30  # what HEALPix writes for a pixel without data
_FRAMES = {
    **dict.fromkeys(("C", "Q", "CELESTIAL", "EQUATORIAL", "ICRS", "FK5"), "icrs"),
    **dict.fromkeys(("G", "GALACTIC"), "galactic"),
    **dict.fromkeys(("E", "ECLIPTIC"), "barycentricmeanecliptic"),
}
_KELVIN = re.compile("kelvins?", re.IGNORECASE)
_POLARISED = re.compile(r"([QUV])(?:[ _-]?(?:STOKES|POL\w*))?|STOKES[ _-]?([QUV])")


def is_healpix(header) -> bool:
    """Whether a table's header says that it is a map."""
    return str(header.get("PIXTYPE", "")).strip().upper() == "HEALPIX"


@dataclass(frozen=True)
class _Map:
    """`planes` [stokes,pixel] (Jy, of maps in K at the reference frequency), and of each its place in a `Source`'s
    fluxes; `numbers` [pixel]: those of HEALPix, in the order of the file."""

    planes: NDArray[np.float64]
    stokes: list[int]
    numbers: NDArray[np.int64]
    side: int
    order: str
    frame: str
    in_kelvin: bool
    u_sign: float


def read_healpix(reading: Reading, text: str = "") -> SkyModel:
    """The points in a map. Raises `SkyModelError` where it is none, or does not say what is needed, and
    `UnsupportedError` for columns that are no Stokes parameter."""
    sky = _map_of(reading)
    held, left_out = pixels_with_flux(sky.planes, lambda k: f"pixel {sky.numbers[k]}", reading.file)
    radec_rad, fluxes = _on_the_sky(sky, held)
    spectrum = {"ref_freq_hz": _REFERENCE_HZ, "spectrum": (2.0,)} if sky.in_kelvin else {}
    return SkyModel(
        tuple(
            Source(f"pixel{number}", *place, tuple(flux), **spectrum)
            for number, place, flux in zip(sky.numbers[held].tolist(), radec_rad.tolist(), fluxes.tolist(), strict=True)
        ),
        (*left_out, *reading.model().skipped),
    )


def _map_of(reading: Reading) -> _Map:
    header, columns, units = _table_of(reading)
    if not columns:
        raise SkyModelError("the map has no columns", file=reading.file)
    side = header.get("NSIDE")
    if not isinstance(side, int):
        raise SkyModelError(f"NSIDE is {side!r}, expected a whole number", file=reading.file)
    order = str(header.get("ORDERING", "")).strip().lower()
    order = "nested" if order == "nest" else order
    system = str(header.get("COORDSYS", "")).strip().upper()
    if system not in _FRAMES:
        raise SkyModelError(
            f"COORDSYS is {header.get('COORDSYS')!r}, expected C (equatorial), G (galactic) or E (ecliptic)",
            file=reading.file,
        )
    numbers = _numbers(header, columns, 12 * side**2, reading)
    require_pixels(numbers, side, order, reading.file)
    stokes: dict[int, str] = {}
    for name in columns:
        found = _POLARISED.fullmatch(name.strip().upper())
        place = "QUV".index(found[1] or found[2]) + 1 if found else 0
        if place not in stokes:
            stokes[place] = name
        else:
            problem = reading.unsupported(f"column {name!r} is no Stokes parameter", Cell(name, None, None))
            reading.leave_out(f"column {name!r}", problem)
    if (1 in stokes) != (2 in stokes):
        raise SkyModelError("of Stokes Q and U there is one only; they turn into one another", file=reading.file)
    factors = {place: _jy(units[name], pixel_sr(side), reading) for place, name in stokes.items()}
    kinds = {in_kelvin for _, in_kelvin in factors.values()}
    if len(kinds) > 1:
        raise SkyModelError("some Stokes parameters are temperatures, and others fluxes", file=reading.file)
    bad = _bad_of(header, reading)
    planes = np.stack([_values(columns[name], bad) * factors[place][0] for place, name in stokes.items()])
    if planes.shape[1] != len(numbers):
        raise SkyModelError(f"{planes.shape[1]} pixels, expected {len(numbers)}: NSIDE is {side}", file=reading.file)
    convention = str(header.get("POLCCONV", "COSMO")).strip().upper()
    if convention not in ("COSMO", "IAU"):
        raise SkyModelError(f"POLCCONV is {convention!r}, expected COSMO or IAU", file=reading.file)
    u_sign = 1.0 if convention == "IAU" else -1.0
    return _Map(planes, list(stokes), numbers, side, order, _FRAMES[system], kinds.pop(), u_sign)


def _table_of(reading: Reading) -> tuple:
    """Header, columns and their units, by name, of the only map in a file."""
    from astropy.io import fits

    try:
        with fits.open(reading.file, memmap=False) as units:
            maps = [unit for unit in units if isinstance(unit, fits.BinTableHDU) and is_healpix(unit.header)]
            if len(maps) != 1:
                raise SkyModelError(f"the file holds {len(maps)} HEALPix maps, expected one", file=reading.file)
            (one,) = maps
            columns = {column.name: np.asarray(one.data[column.name]).ravel() for column in one.columns}
            return one.header.copy(), columns, {column.name: column.unit or "" for column in one.columns}
    except (OSError, TypeError, ValueError) as problem:
        raise SkyModelError(f"no FITS table that can be read: {problem}", file=reading.file) from problem


def _numbers(header, columns: dict[str, NDArray], count: int, reading: Reading) -> NDArray[np.int64]:
    """Those of the pixels: all there are, or those that the first column says, which is taken away."""
    if str(header.get("INDXSCHM", "IMPLICIT")).strip().upper() != "EXPLICIT":
        return np.arange(count)
    name = next(iter(columns))
    numbers = columns.pop(name)
    if not np.issubdtype(numbers.dtype, np.integer) or not columns:
        raise SkyModelError(
            "the first column should hold the numbers of pixels (INDXSCHM is EXPLICIT)", file=reading.file
        )
    return numbers.astype(np.int64)


def _bad_of(header, reading: Reading) -> float:
    """What stands for no data."""
    try:
        return header_number(header, "BAD_DATA", _BAD)
    except Error as problem:
        raise SkyModelError(str(problem), file=reading.file) from problem


def _values(column: NDArray, bad: float) -> NDArray[np.float64]:
    """[pixel], NaN where there are no data."""
    values = column.astype(float)
    values[np.isclose(values, bad, rtol=1e-6, atol=0)] = np.nan  # which may be in single precision
    return values


def _jy(unit: str, of_pixel_sr: float, reading: Reading) -> tuple[float, bool]:
    """What a unit is in Jy per pixel (of a temperature at the reference frequency), and whether it is a temperature."""
    from astropy import units

    try:
        found = unit_named(_KELVIN.sub("K", re.sub(r"[ _]*RJ$", "", unit.strip()).replace("muK", "uK")))
        if found.is_equivalent(units.K):
            return found.to(units.K) * jy_sr_per_kelvin(_REFERENCE_HZ) * of_pixel_sr, True
        if found.is_equivalent(units.Jy / units.sr):
            return found.to(units.Jy / units.sr) * of_pixel_sr, False
        return found.to(units.Jy / units.pix), False
    except (ValueError, TypeError) as problem:
        raise SkyModelError(
            f"the map is in {unit or 'no unit'}, expected K (brightness temperature, not K_CMB), Jy/sr or Jy/pixel",
            file=reading.file,
        ) from problem


def _on_the_sky(sky: _Map, held: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[pixel,2] right ascension and declination, and [pixel,4] fluxes, of the pixels that are held."""
    from astropy import units
    from astropy.coordinates import SkyCoord

    radec_rad = pixel_positions(sky.numbers[held], sky.side, sky.order, sky.frame)
    fluxes = np.zeros((len(held), 4))
    fluxes[:, sky.stokes] = sky.planes[:, held].T
    if 1 in sky.stokes:
        north = SkyCoord(0 * units.deg, 90 * units.deg, frame=sky.frame).icrs
        angle = _angle_of(np.array([north.ra.rad, north.dec.rad]), radec_rad)
        turned = (fluxes[:, 1] + 1j * sky.u_sign * fluxes[:, 2]) * np.exp(2j * angle)
        fluxes[:, 1], fluxes[:, 2] = turned.real, turned.imag
    return radec_rad, fluxes


def _angle_of(pole_rad: NDArray[np.float64], radec_rad: NDArray[np.float64]) -> NDArray[np.float64]:
    """[direction] angle of another frame's north, seen from directions [direction,2], from north through east."""
    pole = unit_vectors(pole_rad)
    ra, dec = radec_rad.T
    east = np.column_stack([-np.sin(ra), np.cos(ra), np.zeros_like(ra)])
    north = np.column_stack([-np.sin(dec) * np.cos(ra), -np.sin(dec) * np.sin(ra), np.cos(dec)])
    return np.arctan2(east @ pole, north @ pole)
