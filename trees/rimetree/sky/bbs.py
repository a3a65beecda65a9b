"""BBS sky models, as makesourcedb and DP3 read them (`.skymodel`, `.txt`).

Columns: Name, Type (POINT, GAUSSIAN or, understood here only, EXPONENTIAL_DISK), Patch, Ra, Dec, I, Q, U, V (Jy),
ReferenceFrequency (Hz), SpectralIndex (a list), LogarithmicSI (default true: decimal logarithm; false: ordinary
polynomial, Jy), MajorAxis, MinorAxis (arcsec, full widths at half maximum, or scale lengths of a disk), Orientation
(deg, north through east), OrientationIsAbsolute, RotationMeasure (rad/m2), PolarizedFraction, PolarizationAngle (rad,
at zero wavelength), ReferenceWavelength (m). A line without a name places a patch.

DP3 scales only Stokes I with the spectrum; with a RotationMeasure, Q and U are a fraction of I(nu) and follow it. A
point keeps no axes, whatever the file says; a shape without axes has 1 arcsec. An Orientation is relative to the
north at the phase centre, and the shape is drawn in the (l, m) plane as if it stood there; where
OrientationIsAbsolute is true it is relative to the north at the source, and the shape is projected from there.
`Category` is a priority, not a property of the emission, and is not kept.

Source: DP3, parmdb/SkymodelToSourceDB.cc and base/PointSource.cc; LOFAR Imaging Cookbook, "Source catalogues".
"""

from __future__ import annotations

import math

from .._core import SPEED_OF_LIGHT_M_S
from .angles import RAD_PER_ARCSEC, axes_rad
from .columns import Column, find_header, parse_header, split_line
from .errors import SkyModelError, UnsupportedError
from .logarithms import natural
from .model import SkyModel
from .plain_rows import PlainRows
from .polarisation import polarised, turned_rad
from .reading import Cell, Reading, numbered_lines, numbered_raw_lines
from .source import PROFILES, Source

# A polarised fraction and an angle at zero wavelength need a reference frequency here, but a file without a spectrum
# need not have one: any serves, as Q and U are converted to it exactly.
_ANY_FREQUENCY_HZ = 1e9

KNOWN = {
    "name", "type", "patch", "category", "reftype", "ra", "dec", "i", "q", "u", "v", "referencefrequency",
    "spectralindex", "logarithmicsi", "majoraxis", "minoraxis", "orientation", "orientationisabsolute",
    "rotationmeasure", "polarizedfraction", "polarizationangle", "referencewavelength",
    "ishapelet", "qshapelet", "ushapelet", "vshapelet",
}  # fmt: skip


def read_bbs(reading: Reading, text: str, *, scales_polarisation: bool = False) -> SkyModel:
    """The model in the text of a BBS file.

    `scales_polarisation` is what the dialect does with Q, U, V of sources without a rotation measure: False in BBS,
    True in WSClean lists, which share the columns. Raises `SkyModelError` with file, line and column.
    """
    header = find_header(numbered_lines(text))
    if header is None:
        raise SkyModelError("no line 'format = Name, Type, Ra, ...' names the columns", file=reading.file, line=1)
    header_line, header_column, names = header
    columns = parse_header(reading, header_line, header_column, names)
    unknown = [c for c in columns if c.name.lower() not in KNOWN and not c.is_dummy]
    reported: set[str] = set()
    plain_source = PlainRows(columns, scales_polarisation).source
    for number, raw in numbered_raw_lines(text):
        if (source := plain_source(raw)) and reading.add(source, number):
            continue
        line = raw.rstrip("\r\n")
        if number == header_line or not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = split_line(reading, columns, number, line)
        _report_unknown(reading, unknown, cells, reported)
        here = cells.get("name") or Cell(line, number, len(line) - len(line.lstrip()) + 1)
        if "name" in cells:
            name = cells["name"].text
            reading.source(name, here, lambda c=cells, h=here: _source(reading, c, h, scales_polarisation))
        elif "patch" in cells:
            try:
                _patch(reading, cells, here)
            except UnsupportedError as problem:
                reading.leave_out(f"place of patch {cells['patch'].text!r}", problem)
        else:
            raise reading.error("neither a source name nor a patch name is given", here)
    return reading.model()


def _report_unknown(reading: Reading, unknown: list[Column], cells: dict[str, Cell], reported: set[str]) -> None:
    for column in unknown:
        cell = cells.get(column.name.lower())
        if cell is None or column.name in reported or cell.text == column.default:
            continue
        problem = reading.unsupported(f"column {column.name!r} ({cell.text!r}) has no meaning here", cell)
        reading.leave_out(f"column {column.name!r}", problem)
        reported.add(column.name)


def _position(reading: Reading, cells: dict[str, Cell], here: Cell) -> tuple[float, float]:
    for name in ("ra", "dec"):
        if name not in cells:
            raise reading.error(f"{name.capitalize()} is missing", here)
    reference = cells.get("reftype")
    if reference and reference.text.upper() not in ("J2000", "ICRS"):
        raise reading.unsupported(f"positions in {reference.text} are not supported, only J2000 and ICRS", reference)
    dec = reading.angle(cells["dec"], "Dec", colon=None)
    if abs(dec) > math.pi / 2:
        raise reading.error(f"declination {cells['dec'].text} is outside [-90, 90] deg", cells["dec"])
    return reading.angle(cells["ra"], "Ra"), dec


def _patch(reading: Reading, cells: dict[str, Cell], here: Cell) -> None:
    if "ra" in cells and "dec" in cells:
        reading.patch_radec_rad[cells["patch"].text] = _position(reading, cells, here)


def _source(reading: Reading, cells: dict[str, Cell], here: Cell, scales_polarisation: bool) -> Source:
    profile = profile_of_type(reading, cells.get("type"))
    if profile is not None:
        fields_of_shape = {profile: _axes(reading, cells, here), "shape_in_plane": not _is_absolute(reading, cells)}
    else:
        fields_of_shape = {}
    for name in ("ishapelet", "qshapelet", "ushapelet", "vshapelet"):
        if name in cells:
            raise reading.unsupported("shapelets are not supported", cells[name])
    ra_rad, dec_rad = _position(reading, cells, here)
    if "i" not in cells:
        raise reading.error("the flux I is missing", here)
    stokes = [reading.number(cells[s], s.upper()) if s in cells else 0.0 for s in "iquv"]
    fields = {
        "ref_freq_hz": _optional(reading, cells, "referencefrequency", "ReferenceFrequency"),
        "spectrum": (),
        "logarithmic": reading.boolean(cells["logarithmicsi"], "LogarithmicSI") if "logarithmicsi" in cells else True,
        "spectrum_scales_polarisation": scales_polarisation,
    }
    _add_spectrum(reading, cells, fields)
    stokes = _add_rotation(reading, cells, fields, stokes, here)
    return reading.build(
        here,
        name=cells["name"].text,
        ra_rad=ra_rad,
        dec_rad=dec_rad,
        stokes_jy=tuple(stokes),
        patch=cells["patch"].text if "patch" in cells else "",
        **fields_of_shape,
        **fields,
    )


def profile_of_type(reading: Reading, kind: Cell | None) -> str | None:
    """The profile that a column `Type` names, in capitals or not; None for a point, and where there is no such column.

    Raises `UnsupportedError` for what is none of `PROFILES`.
    """
    if kind is None or kind.text.upper() == "POINT":
        return None
    if kind.text.lower() not in PROFILES:
        known = " and ".join(["POINT", *(name.upper() for name in PROFILES)])
        raise reading.unsupported(f"sources of type {kind.text} are not supported, only {known}", kind)
    return kind.text.lower()


def _optional(reading: Reading, cells: dict[str, Cell], key: str, what: str, default: float = 0.0) -> float:
    return reading.number(cells[key], what) if key in cells else default


def _add_spectrum(reading: Reading, cells: dict[str, Cell], fields: dict) -> None:
    if "spectralindex" not in cells:
        return
    coefficients = reading.numbers(cells["spectralindex"], "SpectralIndex")
    if any(coefficients) and "referencefrequency" not in cells:
        raise reading.error("SpectralIndex is given without a ReferenceFrequency", cells["spectralindex"])
    if any(coefficients) and fields["ref_freq_hz"] <= 0:
        found = cells["referencefrequency"]
        raise reading.error(f"ReferenceFrequency is {found.text} Hz, expected a positive frequency", found)
    if fields["logarithmic"]:
        coefficients = natural(coefficients)
    fields["spectrum"] = tuple(coefficients)


def _add_rotation(
    reading: Reading, cells: dict[str, Cell], fields: dict, stokes: list[float], here: Cell
) -> list[float]:
    """Put the rotation measure into `fields`; returns the Stokes parameters at the reference frequency."""
    names = ("polarizedfraction", "polarizationangle", "referencewavelength")
    if "rotationmeasure" not in cells:
        for name in names:
            if name in cells:
                raise reading.error(f"{name} is given without a RotationMeasure", cells[name])
        return stokes
    rm = reading.number(cells["rotationmeasure"], "RotationMeasure")
    fraction, angle, wavelength = (cells.get(name) for name in names)
    if any(fields["spectrum"]) and stokes[3]:
        raise reading.unsupported(
            "with a RotationMeasure, Q and U follow the spectrum and V does not: these together are not supported",
            cells["v"],
        )
    fields.update(rm_rad_m2=rm, spectrum_scales_polarisation=True)
    if fraction or angle:
        if "q" in cells or "u" in cells:
            raise reading.error("Q, U and PolarizedFraction, PolarizationAngle exclude each other", fraction or angle)
        if not (fraction and angle):
            raise reading.error("PolarizedFraction and PolarizationAngle are needed together", fraction or angle)
        if wavelength and reading.number(wavelength, "ReferenceWavelength") != 0:
            raise reading.error("PolarizationAngle belongs to ReferenceWavelength 0", wavelength)
        fields["ref_freq_hz"] = fields["ref_freq_hz"] or _ANY_FREQUENCY_HZ
        degree = reading.number(fraction, "PolarizedFraction")
        return polarised(
            stokes, degree, reading.number(angle, "PolarizationAngle") + turned_rad(rm, fields["ref_freq_hz"])
        )
    if wavelength:
        _refer_to_wavelength(reading, fields, wavelength)
    elif fields["ref_freq_hz"] <= 0:
        raise reading.error("RotationMeasure needs a ReferenceFrequency or a ReferenceWavelength", here)
    return stokes


def _refer_to_wavelength(reading: Reading, fields: dict, cell: Cell) -> None:
    wavelength_m = reading.number(cell, "ReferenceWavelength")
    if wavelength_m <= 0:
        raise reading.error("ReferenceWavelength must be positive where Q and U are given", cell)
    frequency_hz = SPEED_OF_LIGHT_M_S / wavelength_m
    if any(fields["spectrum"]) and abs(frequency_hz / fields["ref_freq_hz"] - 1) > 1e-9:
        raise reading.unsupported(
            f"Q, U at {frequency_hz:.9g} Hz (ReferenceWavelength) and I at {fields['ref_freq_hz']:.9g} Hz "
            "(ReferenceFrequency) are not supported: refer both to one frequency",
            cell,
        )
    if not any(fields["spectrum"]):
        fields["ref_freq_hz"] = frequency_hz


def _axes(reading: Reading, cells: dict[str, Cell], here: Cell) -> tuple[float, float, float]:
    major, minor, angle = (cells.get(name) for name in ("majoraxis", "minoraxis", "orientation"))
    if not major and not minor:
        return RAD_PER_ARCSEC, RAD_PER_ARCSEC, 0.0
    if not (major and minor):
        raise reading.error("MajorAxis and MinorAxis are needed together", major or minor)
    widths = [reading.number(c, n) for c, n in ((major, "MajorAxis"), (minor, "MinorAxis"))]
    if widths[0] < 0 or widths[1] < 0 or widths[0] == widths[1] == 0:
        raise reading.error(f"the axes {major.text}, {minor.text} arcsec must be >= 0 and not both 0", major)
    if widths[0] != widths[1] and not angle:
        raise reading.error("an elliptical source needs an Orientation", here)
    angle_deg = reading.number(angle, "Orientation") if angle else 0.0
    return axes_rad(*widths, angle_deg)


def _is_absolute(reading: Reading, cells: dict[str, Cell]) -> bool:
    cell = cells.get("orientationisabsolute")
    return cell is not None and reading.boolean(cell, "OrientationIsAbsolute")
