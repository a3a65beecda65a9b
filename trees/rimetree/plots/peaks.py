"""Peaks of an image against the sources of a sky model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..sky import SkyModel
from ..sky_trees import stokes_i_at, taper_at
from .image import Image


@dataclass(frozen=True)
class Peak:
    """A source of a model and what the image shows near it.

    Attributes
    ----------
    name : of the source; `extended`: whether it is extended, so that its peak is lower than its flux
    model_jy : Stokes I of the model at the frequency of the image
    expected_jy : what the dirty beam makes of all sources of the model together at this place; None where the image
        was made without its dirty beam
    peak_jy : the extremum of the image within a beam of the place, interpolated; None outside the image
    offset_rad : (east, north) of that from the source
    offset_beams : its length in full widths of the beam; None without a beam
    of : name of another source of the model that the extremum is much nearer to; None: it is this one's
    """

    name: str
    extended: bool
    model_jy: float
    expected_jy: float | None
    peak_jy: float | None
    offset_rad: tuple[float, float] | None
    offset_beams: float | None
    of: str | None = None


def compare_peaks(image: Image, sky: SkyModel) -> list[Peak]:
    """One `Peak` per source of the model, in its order."""
    fluxes = stokes_i_at(sky, image.frequency_hz, image.phase_centre_rad)
    places = image.pixels(sky.radec_rad)
    beam_pixels = 3.0 if image.beam is None else image.beam.major_rad / image.scale_rad
    shapes = [tuple(shape) if shape[:3].any() else None for shape in sky.shapes_in_plane(image.phase_centre_rad)]
    beams = _beams(image, set(shapes))
    result = []
    for source, flux, place in zip(sky, fluxes, places, strict=True):
        found = extremum(image, place, max(1.5, beam_pixels), math.copysign(1, flux))
        offset = in_beams = of = None
        if found is not None:
            x, y, _ = found
            of = _neighbour(sky.names, places, place, (x, y))
            offset = (-(x - place[0]) * image.scale_rad, (y - place[1]) * image.scale_rad)
            in_beams = None if image.beam is None else math.hypot(*offset) / image.beam.major_rad
        result.append(
            Peak(
                name=source.name,
                extended=source.shape is not None,
                model_jy=float(flux),
                expected_jy=_expected(image, [beams.get(shape) for shape in shapes], places, fluxes, place),
                peak_jy=None if found is None else found[2],
                offset_rad=offset,
                offset_beams=in_beams,
                of=of,
            )
        )
    return result


def _neighbour(names: Sequence[str], places, place, found: tuple[float, float]) -> str | None:
    """The name of the source that what was found for one at a place (pixels) is at, where that is another: less than
    half as far from it, and not within half a pixel of the place."""
    own, others = np.hypot(*(place - found)), np.hypot(*(places - found).T)
    nearest = int(np.nanargmin(others))
    return names[nearest] if own > 0.5 and others[nearest] < 0.5 * own else None


def extremum(image: Image, place: NDArray[np.float64], radius: float, sign: float) -> tuple[float, float, float] | None:
    """(x, y, value) of the extremum within `radius` pixels of a place (x, y): the largest pixel (`sign` -1: the least),
    refined by a quadratic through its neighbours. Pixels count from 0; Jy/beam. None at the edge of the image."""
    if not np.isfinite(place).all() or not (place >= 0.5).all() or not (place <= image.size - 1.5).all():
        return None
    centre, reach = np.rint(place).astype(int), math.ceil(radius)
    x = np.arange(max(1, centre[0] - reach), min(image.size - 1, centre[0] + reach + 1))
    y = np.arange(max(1, centre[1] - reach), min(image.size - 1, centre[1] + reach + 1))
    patch = sign * image.data_jy[y[0] : y[-1] + 1, x[0] : x[-1] + 1]
    near = np.hypot(x[None, :] - place[0], y[:, None] - place[1]) <= radius
    row, column = np.unravel_index(np.argmax(np.where(near, patch, -np.inf)), patch.shape)
    peak_x, peak_y = x[column], y[row]
    dx, dy, value = _vertex(image.data_jy[peak_y - 1 : peak_y + 2, peak_x - 1 : peak_x + 2])
    return peak_x + dx, peak_y + dy, value


def _vertex(patch: NDArray[np.float64]) -> tuple[float, float, float]:
    """(x, y, value) of the extremum of 3 x 3 values, within a pixel of their centre.

    It is that of the quadratic fitted to their logarithms, exact where these are quadratic, or, where signs differ, to
    the values themselves. It goes through the centre: where pixels are as large as the beam, the fit to all would be
    far below the peak.
    """
    sign = math.copysign(1, patch[1, 1])
    as_logarithm = (sign * patch > 0).all()
    values = np.log(sign * patch) if as_logarithm else patch
    y, x = (grid.ravel() for grid in np.mgrid[-1:2, -1:2])
    terms = np.column_stack([x, y, x * x, x * y, y * y])
    c = values[1, 1]
    (cx, cy, cxx, cxy, cyy), *_ = np.linalg.lstsq(terms, values.ravel() - c, rcond=None)
    determinant = 4 * cxx * cyy - cxy**2
    if determinant <= 0:
        return 0.0, 0.0, float(patch[1, 1])
    dx, dy = (cxy * cy - 2 * cyy * cx) / determinant, (cxy * cx - 2 * cxx * cy) / determinant
    if max(abs(dx), abs(dy)) > 1:
        return 0.0, 0.0, float(patch[1, 1])
    value = c + (cx * dx + cy * dy) / 2
    return float(dx), float(dy), float(sign * np.exp(value) if as_logarithm else value)


def _expected(image: Image, beams: list, places, fluxes, place) -> float | None:
    """What the sources of the model add up to at a place (pixels), each through the beam of its shape."""
    if image.psf is None or not np.isfinite(place).all():
        return None
    offsets = place - places + image.size  # where in its beam each source contributes
    inside = (np.isfinite(offsets) & (offsets >= 0) & (offsets < 2 * image.size - 1)).all(axis=1)
    total = 0.0
    for index in np.flatnonzero(inside):
        (x, y), (part_x, part_y) = np.floor(offsets[index]).astype(int), offsets[index] % 1
        corner = beams[index][y : y + 2, x : x + 2]
        total += fluxes[index] * float([1 - part_y, part_y] @ corner @ [1 - part_x, part_x])
    return float(total)


def _beams(image: Image, shapes: set) -> dict:
    """{shape in the (l, m) plane: the dirty beam for it}; None is that of a point."""
    if image.psf is None:
        return {}
    spectrum = np.fft.fft2(image.psf) if shapes - {None} else None
    frequency = np.fft.fftfreq(image.psf.shape[0], image.scale_rad)  # wavelengths
    beams = {None: image.psf}
    for shape in shapes - {None}:
        # East is -x, north is y.
        taper = taper_at(shape, -frequency[None, :], frequency[:, None])
        beams[shape] = np.fft.ifft2(spectrum * taper).real
    return beams
