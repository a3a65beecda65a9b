"""Files of pyuvdata's UVBeam ("beamfits"): electric far fields on a grid of azimuth and zenith angle.

Source: pyuvdata 3.2, docs/references/beamfits_memo.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..fits_axes import HERTZ
from ..units import LOWEST_RADIO_HZ
from .axis import RADIANS, Axis, read_axis

#: What the dimensions of the data are, as arrays have them.
_ORDER = ("COMPLEX", "VECIND", "FEEDIND", "FREQ", "ZENANGLE", "AZIMUTH")
_STANDING = ("", "FIXED", "PHASED", "OTHER")  # mounts
_COARSEST_RAD = math.radians(15.0)
_CLOSE = 1e-6  # of a step, or of 90 deg


@dataclass(frozen=True)
class FarField:
    """What a file holds: `response` [frequency,zenith angle,azimuth,feed,2], what X and Y answer to fields along
    azimuth and along zenith angle; axes in Hz and rad. Azimuths are from east through north, ascend, and go
    around once."""

    frequency: Axis
    zenith_angle: Axis
    azimuth: Axis
    response: NDArray[np.complex128]


def read_beamfits(file: str | os.PathLike) -> FarField:
    """The far field in a file. Raises `Error`, with the file's name."""
    try:
        return _read(os.fspath(file))
    except Error as problem:
        raise Error(f"{os.fspath(file)}: {problem}") from problem


def _read(file: str) -> FarField:
    from astropy.io import fits

    try:
        with fits.open(file, memmap=False) as units:
            header, data = units[0].header, units[0].data
            vectors = next((unit.data for unit in units[1:] if unit.name == "BASISVEC"), None)
    except (OSError, TypeError, ValueError) as problem:
        raise Error(f"no FITS file that can be read: {problem}") from problem
    _require_far_field(header)
    values, axes = _values(header, data)
    if vectors is None or vectors.shape != (2, 2, *values.shape[3:]):
        raise Error("there are no BASISVEC, of two vectors in each direction of the grid")
    vectors = np.asarray(vectors, float)
    if not (np.isfinite(values).all() and np.isfinite(vectors).all()):
        raise Error("some values are no numbers")
    field = np.einsum("vpfza,vcza->fzapc", values[:, _feeds(header)], vectors, optimize=True)
    if str(header["NORMSTD"]).strip().lower() == "physical":
        largest = np.linalg.norm(field, axis=-1).max(axis=(1, 2, 3))
        if not largest.all():
            raise Error("at some frequency nothing comes through")
        field /= largest[:, None, None, None, None]
    frequency = read_axis(header, axes["FREQ"], "FREQ", HERTZ)
    if not (lowest := frequency.ends[0]) >= LOWEST_RADIO_HZ:
        raise Error(f"{lowest:g} Hz is below what reaches the ground; are frequencies in MHz?")
    field, zenith_angle = _ascending(field, read_axis(header, axes["ZENANGLE"], "ZENANGLE", RADIANS), 1)
    field, azimuth = _ascending(field, read_axis(header, axes["AZIMUTH"], "AZIMUTH", RADIANS), 2)
    _require_down_to_horizon(zenith_angle)
    around = round(2 * math.pi / azimuth.step) if azimuth.count > 1 else 0
    if azimuth.count not in (around, around + 1) or abs(around * azimuth.step - 2 * math.pi) > _CLOSE * azimuth.step:
        first, last = np.degrees(azimuth.ends)
        raise Error(f"azimuths are {first:.6g} to {last:.6g} deg in {azimuth.count} steps, expected all around, once")
    if max(azimuth.step, zenith_angle.step) > _COARSEST_RAD:
        steps = f"{math.degrees(azimuth.step):.6g} and {math.degrees(zenith_angle.step):.6g} deg"
        raise Error(f"azimuths and zenith angles are {steps} apart, too far to be looked up between")
    azimuth = Axis(azimuth.first, 2 * math.pi / around, around)
    return FarField(frequency, zenith_angle, azimuth, field[:, :, :around])


def _values(header, data) -> tuple[NDArray[np.complex128], dict[str, int]]:
    """[vector,feed,frequency,zenith angle,azimuth], and the number of each axis in the header."""
    axes = {str(header.get(f"CTYPE{k}", "")).strip().upper(): k for k in range(1, header.get("NAXIS", 0) + 1)}
    if data is None:
        raise Error("there is no image in it")
    if lacking := [name for name in _ORDER if name not in axes]:
        raise Error(f"there is no axis {', '.join(lacking)} in it")
    others = [header["NAXIS"] - number for name, number in axes.items() if name not in _ORDER]
    if any(data.shape[axis] != 1 for axis in others):
        raise Error("there are several spectral windows in it, expected one")
    data = np.transpose(data, [*(header["NAXIS"] - axes[name] for name in _ORDER), *others])
    data = np.asarray(data, float).reshape(data.shape[: len(_ORDER)])
    if data.shape[:3] != (2, 2, 2):
        raise Error(f"of real and imaginary parts, vectors and feeds there are {data.shape[:3]}, expected two each")
    return data[0] + 1j * data[1], axes


def _require_far_field(header) -> None:
    for key, expected, what in (
        ("BTYPE", "efield", "electric fields; powers do not say how polarised sources are seen"),
        ("COORDSYS", "az_za", "a grid of azimuth and zenith angle; `UVBeam.interp` makes one of pixels"),
    ):
        if (found := str(header.get(key, "")).strip().lower()) != expected:
            raise Error(f"{key} is {found or 'missing'!r}, expected {expected}: {what}")
    norm = str(header.get("NORMSTD", "")).strip().lower()
    if norm not in ("physical", "peak"):
        raise Error(f"NORMSTD is {norm or 'missing'!r}, expected physical or peak: the largest response is 1")
    if (mount := str(header.get("MNTSTA", "")).strip().upper()) not in _STANDING:
        raise Error(f"MNTSTA is {mount.lower()!r}: expected the pattern of an antenna that stands (fixed or phased)")


def _feeds(header) -> list[int]:
    """Which of the feeds are X and Y."""
    named = [name.strip(" '\"").lower() for name in str(header.get("FEEDLIST", "")).strip("[] ").split(",")]
    if sorted(named) != ["x", "y"]:
        raise Error(f"FEEDLIST is {header.get('FEEDLIST')!r}, expected [x, y]")
    return [named.index(name) for name in "xy"]


def _ascending(field: NDArray[np.complex128], axis: Axis, dimension: int) -> tuple[NDArray[np.complex128], Axis]:
    if axis.step > 0:
        return field, axis
    return np.flip(field, dimension), Axis(axis.first + (axis.count - 1) * axis.step, -axis.step, axis.count)


def _require_down_to_horizon(axis: Axis) -> None:
    first, last = axis.ends
    at_zenith = abs(first) <= _CLOSE * axis.step or abs(first - axis.step / 2) <= _CLOSE * axis.step
    if not at_zenith or last < math.pi / 2 * (1 - _CLOSE) - axis.step / 2:
        raise Error(
            f"zenith angles are {math.degrees(first):.6g} to {math.degrees(last):.6g} deg, expected all from the "
            "zenith to the horizon"
        )
