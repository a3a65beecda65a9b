"""Peaks of an image against the sources of a sky model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..sky import SkyModel, Source
from ..sky_fluxes import shapelets_at, stokes_at, taper_at
from .image import Image

_MOST_FREQUENCIES = 64
#: What I, Q, U and V are of a correlation.
_STOKES_OF = {
    "I": (1.0, 0.0, 0.0, 0.0),
    "XX": (1.0, 1.0, 0.0, 0.0),
    "YY": (1.0, -1.0, 0.0, 0.0),
    "RR": (1.0, 0.0, 0.0, 1.0),
    "LL": (1.0, 0.0, 0.0, -1.0),
}


@dataclass(frozen=True)
class Peak:
    """A source of a model and what the image shows near it.

    Attributes
    ----------
    name : of the source; `extended`: whether it is extended, so that its peak is lower than its flux
    model_jy : what the model has of Stokes I (of an image of one hand, in that hand), in the mean over the image's
        channels as they are weighted there
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


def compare_peaks(image: Image, sky: SkyModel, brightest: int | None = None) -> list[Peak]:
    """One `Peak` per source of the model, in its order; of so many sources that are the brightest, if `brightest` is
    given."""
    fluxes = _fluxes(image, sky)
    places = image.pixels(sky.radec_rad)
    beam_pixels = 3.0 if image.beam is None else image.beam.major_rad / image.scale_rad
    chosen = np.sort(np.argsort(-np.abs(fluxes), kind="stable")[:brightest])
    expected = _expected(image, sky, places, fluxes, places[chosen])
    result = []
    for index, expected_jy in zip(chosen, expected, strict=True):
        place = places[index]
        found = extremum(image, place, max(1.5, beam_pixels), math.copysign(1, fluxes[index]))
        offset = in_beams = of = None
        if found is not None:
            x, y, _ = found
            of = _neighbour(sky.names, places, place, (x, y))
            offset = (-(x - place[0]) * image.scale_rad, (y - place[1]) * image.scale_rad)
            in_beams = None if image.beam is None else math.hypot(*offset) / image.beam.major_rad
        result.append(
            Peak(
                name=sky[int(index)].name,
                extended=sky[int(index)].is_extended,
                model_jy=float(fluxes[index]),
                expected_jy=expected_jy,
                peak_jy=None if found is None else found[2],
                offset_rad=offset,
                offset_beams=in_beams,
                of=of,
            )
        )
    return result


def _fluxes(image: Image, sky: SkyModel) -> NDArray[np.float64]:
    """[source] what an image would show of each source alone, if it were a point."""
    # Of thousands of channels some are looked at together: fluxes hardly change from one to the next.
    parts = np.array_split(np.arange(len(image.channel_hz)), min(len(image.channel_hz), _MOST_FREQUENCIES))
    weight = np.array([image.channel_weight[part].sum() for part in parts])
    at_hz = [
        np.average(image.channel_hz[part], weights=image.channel_weight[part])
        if own > 0
        else image.channel_hz[part].mean()
        for part, own in zip(parts, weight, strict=True)
    ]
    stokes = stokes_at(sky, at_hz, image.phase_centre_rad, image.times_s) @ weight
    return stokes @ np.mean([_STOKES_OF[hand] for hand in image.hands], axis=0)


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


def _expected(image: Image, sky: SkyModel, places, fluxes, wanted) -> list[float | None]:
    """What the sources of the model add up to at the places `wanted` (pixels), each through the beam of its shape."""
    if image.psf is None:
        return [None] * len(wanted)
    of_shape: dict[tuple | Source | None, list[int]] = {}
    for index, shape in enumerate(sky.shapes_in_plane(image.phase_centre_rad)):
        source = sky[index]
        shown = source if source.shapelets is not None else tuple(shape) if source.is_extended else None
        of_shape.setdefault(shown, []).append(index)
    total = np.zeros(len(wanted))
    for shape, indices in of_shape.items():  # one beam at a time: each is four times as large as the image
        beam = _beam(image, shape)
        for index in indices:
            offsets = wanted - places[index] + image.size  # where in its beam it contributes
            inside = (np.isfinite(offsets) & (offsets >= 0) & (offsets < 2 * image.size - 1)).all(axis=1)
            x, y = np.floor(offsets[inside]).astype(int).T
            part_x, part_y = (offsets[inside] % 1).T
            lower = (1 - part_x) * beam[y, x] + part_x * beam[y, x + 1]
            upper = (1 - part_x) * beam[y + 1, x] + part_x * beam[y + 1, x + 1]
            total[inside] += fluxes[index] * ((1 - part_y) * lower + part_y * upper)
    there = np.isfinite(wanted).all(axis=1)
    return [float(value) if is_there else None for value, is_there in zip(total, there, strict=True)]


def _beam(image: Image, shape: tuple | Source | None) -> NDArray[np.float64]:
    """The dirty beam for a shape in the (l, m) plane, or for a source of shapelets; None: for a point."""
    if shape is None:
        return image.psf
    frequency = np.fft.fftfreq(image.psf.shape[0], image.scale_rad)  # wavelengths
    # East is -x, north is y; the transform has the other sign than visibilities.
    u, v = frequency[None, :], -frequency[:, None]
    is_source = isinstance(shape, Source)
    taper = shapelets_at(shape, image.phase_centre_rad, u, v) if is_source else taper_at(shape, u, v)
    return np.fft.ifft2(np.fft.fft2(image.psf) * taper).real
