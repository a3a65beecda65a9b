"""Images as FITS and PNG files, which appear complete or not at all."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np

from ..sky import SkyModel
from ..whole_file import whole_file
from .image import Image

_CIRCLE_POINTS, _LABEL_POINTS = 11, 7
_MOST_LABELS = 200
#: Places on FITS' axis of Stokes parameters of single hands.
_HANDS_ON_AXIS = {"RR": -1.0, "LL": -2.0, "XX": -5.0, "YY": -6.0}


def fits_header(image: Image) -> dict:
    """Keywords of the FITS header: RA---SIN and DEC--SIN at the phase centre, frequency and Stokes axes, beam."""
    step = math.degrees(image.scale_rad)
    centre = image.size // 2 + 1
    ra, dec = (math.degrees(angle) for angle in image.phase_centre_rad)
    header = {
        "BUNIT": "JY/BEAM",
        "BTYPE": "Intensity",
        "OBJECT": image.field_name[:68],
        # What a Measurement Set calls J2000 is the mean equator and equinox of J2000, FITS' FK5.
        **({"RADESYS": "ICRS"} if image.frame == "ICRS" else {"RADESYS": "FK5", "EQUINOX": 2000.0}),
        **{"CTYPE1": "RA---SIN", "CRPIX1": centre, "CDELT1": -step, "CRVAL1": ra % 360, "CUNIT1": "deg"},
        **{"CTYPE2": "DEC--SIN", "CRPIX2": centre, "CDELT2": step, "CRVAL2": dec, "CUNIT2": "deg"},
        **{"CTYPE3": "FREQ", "CRPIX3": 1, "CDELT3": image.bandwidth_hz, "CRVAL3": image.frequency_hz},
        "CUNIT3": "Hz",
        **{"CTYPE4": "STOKES", "CRPIX4": 1, "CDELT4": 1.0, "CRVAL4": _HANDS_ON_AXIS.get(image.quantity, 1.0)},
        "ORIGIN": "RimeTree",
        "HISTORY": f"dirty image of {image.column}",
    }
    if image.beam is not None:
        header["BMAJ"] = math.degrees(image.beam.major_rad)
        header["BMIN"] = math.degrees(image.beam.minor_rad)
        header["BPA"] = math.degrees(image.beam.angle_rad)
    return header


def write_fits(image: Image, path: str | os.PathLike) -> None:
    """Write a FITS image [stokes, frequency, y, x] of 32-bit floats. Raises `OSError` where that cannot be."""
    from astropy.io import fits

    unit = fits.PrimaryHDU(image.data_jy.astype(np.float32)[None, None])
    for key, value in fits_header(image).items():
        unit.header[key] = value
    with whole_file(path) as temporary:
        unit.writeto(temporary, overwrite=True)


def write_png(image: Image, path: str | os.PathLike, *, sky: SkyModel | None = None, names: bool = True) -> None:
    """Write a picture: east is left, axes are offsets from the phase centre, circles mark the sources of `sky`.

    Raises `OSError` where the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    unit, per_unit = _offset_unit(image)
    half = image.size // 2 * image.scale_rad * per_unit
    pixel = image.scale_rad * per_unit
    figure = Figure(figsize=(8, 7), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    low, high = np.percentile(image.data_jy, 1), image.data_jy.max()
    picture = axes.imshow(
        image.data_jy,
        origin="lower",
        cmap="inferno",
        vmin=min(low, high),
        vmax=high,
        # Pixel centres are at whole numbers of pixels; offsets in RA grow to the left.
        extent=(half + pixel / 2, -half + pixel / 2, -half - pixel / 2, half - pixel / 2),
        interpolation="nearest",
    )
    figure.colorbar(picture, ax=axes, label=f"{image.quantity} (Jy/beam)")
    ra, dec = (math.degrees(angle) for angle in image.phase_centre_rad)
    axes.set_xlabel(f"offset to the east ({unit})")
    axes.set_ylabel(f"offset to the north ({unit})")
    axes.set_title(
        f"{os.path.basename(image.path.rstrip('/'))}: {image.column}, {image.field_name}, "
        f"{image.frequency_hz / 1e6:.6g} MHz\nphase centre RA {ra:.5f} deg, Dec {dec:.5f} deg ({image.frame})",
        fontsize=10,
    )
    if sky is not None:
        _mark_sources(axes, image, sky, pixel, names)
    if image.beam is not None:
        _draw_beam(axes, image, half, per_unit)
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=os.path.splitext(os.fspath(path))[1][1:] or "png")


def _offset_unit(image: Image) -> tuple[str, float]:
    """The unit of offsets and how many of it are in a radian."""
    width_deg = math.degrees(image.size * image.scale_rad)
    if width_deg > 2:
        return "deg", math.degrees(1)
    return ("arcmin", 60 * math.degrees(1)) if width_deg > 2 / 60 else ("arcsec", 3600 * math.degrees(1))


def _mark_sources(axes, image: Image, sky: SkyModel, pixel: float, names: bool) -> None:
    place = image.pixels(sky.radec_rad)
    inside = ((place > -0.5) & (place < image.size - 0.5)).all(axis=1)
    offsets = (place - image.size // 2) * pixel * np.array([-1, 1])
    axes.scatter(*offsets[inside].T, s=_CIRCLE_POINTS**2, facecolors="none", edgecolors="cyan", linewidths=0.8)
    if not names or not inside.any():
        return
    # Labels must hide no source: neither its circle nor what shines in it.
    axes.figure.draw_without_rendering()
    per_point = axes.figure.dpi / 72
    marked = axes.transData.transform(offsets[inside]) / per_point
    flux = np.abs(sky.stokes_jy[inside, 0])
    for index, place in places_of_labels(marked, np.array(sky.names)[inside], flux, _frame_points(axes, per_point)):
        x, y = offsets[inside][index]
        name = np.array(sky.names)[inside][index]
        axes.annotate(name, (x, y), xytext=place, textcoords="offset points", color="cyan", fontsize=_LABEL_POINTS)


def _frame_points(axes, per_point: float) -> tuple[float, float, float, float]:
    box = axes.get_window_extent()
    return box.x0 / per_point, box.y0 / per_point, box.x1 / per_point, box.y1 / per_point


def places_of_labels(
    marked: np.ndarray, names: Sequence[str], flux_jy: np.ndarray, frame: tuple[float, float, float, float]
) -> list[tuple[int, tuple[float, float]]]:
    """Where names can stand beside their sources: (index, offset of the lower left corner), in points.

    `marked`: [source, 2] middles of circles. `frame`: (left, bottom, right, top). Brighter sources choose first; a name
    for which there is no place that hides no circle and no other name is left out.
    """
    radius = _CIRCLE_POINTS / 2 + 1
    taken: list[tuple[float, float, float, float]] = []
    found = []
    for index in np.argsort(-np.asarray(flux_jy), kind="stable")[:_MOST_LABELS]:
        width, height = 0.62 * _LABEL_POINTS * len(names[index]), 1.2 * _LABEL_POINTS
        x, y = marked[index]
        near, low = radius + 1, -radius - height
        for place in (
            (near, 1),
            (near, -height),
            (-near - width, 1),
            (-near - width, -height),
            (-width / 2, near),
            (-width / 2, low),
        ):
            box = (x + place[0], y + place[1], x + place[0] + width, y + place[1] + height)
            inside = frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]
            nearest = np.clip(marked, box[:2], box[2:])
            if not inside or (np.hypot(*(nearest - marked).T) < radius).any():
                continue
            if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
                continue
            taken.append(box)
            found.append((int(index), place))
            break
    return found


def _draw_beam(axes, image: Image, half: float, per_unit: float) -> None:
    from matplotlib.patches import Ellipse

    beam = image.beam
    major, minor = beam.major_rad * per_unit, beam.minor_rad * per_unit
    corner = half - 0.7 * major - 0.02 * half
    # The x axis runs to the left: an angle from north to east is one from y to larger x.
    angle = -math.degrees(beam.angle_rad)
    axes.add_patch(Ellipse((corner, -corner), minor, major, angle=angle, color="white", fill=False, linewidth=1))
