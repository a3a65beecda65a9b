"""OSKAR sky models (`.osm`), in the old form of bare columns and the new one with a `format =` header.

Bare: RA, Dec (deg), I, Q, U, V (Jy), reference frequency (Hz), spectral index, rotation measure (rad/m2), major, minor
axis (arcsec, full widths at half maximum), position angle (deg); at least the first three, separated by blanks or
commas; 11 columns are the older form without a rotation measure.

Named: the same quantities under names; a bare number in `Ra`, `Dec` is in RADIANS, in `RaD`, `DecD` in degrees;
spectral indices may be lists (powers of the decimal logarithm, or an ordinary polynomial where LogarithmicSI is false),
SpectralCurvature q multiplies by exp(q ln^2(nu/nu0)), PolarizedFraction and PolarizationAngle (deg) stand for Q and U
(at zero wavelength where there is a rotation measure, else as they are).

Axes are those of a Gaussian unless a column `Type` names another profile, which is understood here only. Shapes are
drawn on the sky: the position angle is relative to the north at the source, and they are projected from there. OSKAR
scales Q, U and V with the spectrum and rotates Q, U from the reference frequency (or ReferenceWavelength).
A source with a spectrum and no reference frequency, which OSKAR takes as flat without a word, is an error here.

Source: OSKAR sky model documentation; oskar_sky_load_named_columns.c and define_sky_scale_flux_with_frequency.h.
"""

from __future__ import annotations

import math
import re

from .._core import SPEED_OF_LIGHT_M_S
from .angles import axes_rad
from .bbs import profile_of_type
from .columns import Column, find_header, parse_header
from .logarithms import natural
from .model import SkyModel
from .polarisation import polarised, turned_rad
from .reading import Cell, Reading, numbered_lines, without_comment, words
from .source import PROFILES, Source

_BARE = ("rad", "decd", "i", "q", "u", "v", "freq", "index", "rm", "major", "minor", "pa")

#: Values that only blanks separate, as in most files.
_PLAIN = re.compile(r"[^,\[\]()'\"]*")
_TOKEN = re.compile(r"\s*((?:\[[^\]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"|[^\s,\[\]()'\"]+)*)(\s*,|\s+|$)")

# Beginnings of column names (lower case) and what they stand for; the first that fits counts.
_NAMES = (
    (r"rad.*|ra_deg.*", "rad"), (r"decd.*|dec_deg.*", "decd"), (r"ra.*", "ra"), (r"de.*", "dec"),
    (r"i|stokes_?i|int_flux|fint|i_jy", "i"), (r"q|stokes_?q|q_jy", "q"), (r"u|stokes_?u|u_jy", "u"),
    (r"v|stokes_?v|v_jy", "v"), (r"(reference|ref)_?freq.*", "freq"), (r"(frequency|freq)_?inc.*", "increment"),
    (r"spec(tral)?_?curv.*", "curvature"), (r"sp.*|alpha.*", "index"), (r"rot.*|rm.*", "rm"),
    (r"logarithmicsi|log_spec_idx", "logarithmic"), (r"polari[sz]ed_?frac.*|pol_frac.*|polf", "fraction"),
    (r"polari[sz]ation_?ang.*|pol_ang.*|pola", "angle"), (r"(reference|ref)_?wave.*", "wavelength"),
    (r"line_?width.*", "line"), (r"maj.*", "major"), (r"min.*", "minor"),
    (r"ori(entation)?|position_?ang.*|pos_ang.*|pa.*", "pa"), (r"name", "name"), (r"type", "type"), (r"patch", "patch"),
)  # fmt: skip


def oskar_key(name: str) -> str | None:
    """What a column of this name stands for, or None where OSKAR does not know it."""
    if name.lower() == "patch":
        return "patch"
    return next((key for pattern, key in _NAMES if re.fullmatch(pattern, name.lower())), None)


def read_oskar(reading: Reading, text: str) -> SkyModel:
    """The model in the text of an OSKAR file. Raises `SkyModelError` with file, line and column."""
    header = find_header(numbered_lines(text))
    columns = parse_header(reading, *header) if header else None
    keys = _keys(reading, columns) if columns else None
    reported: set[str] = set()
    count = 0
    for number, line in numbered_lines(text):
        content = without_comment(line)
        if not content.strip() or (header and number == header[0]):
            continue
        values = _values(content, number)
        cells = _named_cells(reading, columns, keys, values, reported) if columns else _bare_cells(reading, values)
        here = values[0]
        name = cells["name"].text if "name" in cells else f"s{count}"
        count += 1
        if "name" not in cells and "patch" in cells and "i" not in cells:
            continue  # the place of a patch, as in BBS files
        reading.source(name, here, lambda n=name, c=cells, h=here: _source(reading, n, c, h))
    return reading.model()


def _values(content: str, number: int) -> list[Cell]:
    """Values separated by a comma or blanks, brackets and quotes keeping theirs together; empty ones between commas."""
    if _PLAIN.fullmatch(content):
        return words(content, number)
    cells, position = [], 0
    content = content.rstrip()
    while position < len(content):
        match = _TOKEN.match(content, position)
        if match is None or match.end() == position:
            cells.append(Cell(content[position:], number, position + 1))
            break
        cells.append(Cell(match[1].strip("'\""), number, match.start(1) + 1))
        position = match.end()
    return cells


def _bare_cells(reading: Reading, values: list[Cell]) -> dict[str, Cell]:
    while values[1:] and not values[-1].text:
        values = values[:-1]
    names = _BARE
    if len(values) == 11:
        names = tuple(name for name in _BARE if name != "rm")
    elif not 3 <= len(values) <= 12 or len(values) == 10:
        raise reading.error(
            f"{len(values)} columns; an OSKAR source has 3 to 9 or 12 (11 without a rotation measure)", values[0]
        )
    return dict(zip(names, values, strict=False))


def _keys(reading: Reading, columns: list[Column]) -> list[str | None]:
    keys = [None if column.is_dummy else oskar_key(column.name) for column in columns]
    for index, key in enumerate(keys):
        if key is not None and key in keys[:index]:
            raise reading.error(f"column {columns[index].name!r} repeats an earlier one", columns[index].place)
    return keys


def _named_cells(
    reading: Reading, columns: list[Column], keys: list[str | None], values: list[Cell], reported: set[str]
) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    taken = [c for c in columns if c.fixed is None]
    if any(value.text for value in values[len(taken) :]):
        extra = values[len(taken)]
        raise reading.error(f"{extra.text!r} stands behind the last of the {len(taken)} columns", extra)
    remaining = iter(values)
    for column, key in zip(columns, keys, strict=True):
        given = None if column.fixed is not None else next(remaining, None)
        text = column.fixed if column.fixed is not None else (given.text if given else "")
        place = given or values[0]
        cell = Cell(text or column.default or "", place.line, place.column)
        if not cell.text or column.is_dummy:
            continue
        if key is not None:
            cells[key] = cell
        elif column.name not in reported and cell.text != column.default:
            reported.add(column.name)
            problem = reading.unsupported(f"column {column.name!r} ({cell.text!r}) has no meaning here", cell)
            reading.leave_out(f"column {column.name!r}", problem)
    return cells


def _source(reading: Reading, name: str, cells: dict[str, Cell], here: Cell) -> Source:
    for key, what in (("line", "spectral lines"), ("increment", "tabulated spectra")):
        if key in cells and any(reading.numbers(cells[key], what)):
            raise reading.unsupported(f"{what} are not supported", cells[key])
    shape = _shape(reading, cells)
    if "i" not in cells:
        raise reading.error("the flux I is missing", here)
    stokes = [_single(reading, cells, s, s.upper()) for s in "iquv"]
    fields = {
        "ref_freq_hz": _single(reading, cells, "freq", "the reference frequency"),
        "rm_rad_m2": _single(reading, cells, "rm", "the rotation measure"),
        "logarithmic": reading.boolean(cells["logarithmic"], "LogarithmicSI") if "logarithmic" in cells else True,
    }
    fields["spectrum"] = _spectrum(reading, cells, fields["logarithmic"])
    stokes = _polarisation(reading, cells, fields, stokes)
    return reading.build(
        here,
        name=name,
        ra_rad=_position(reading, cells, "ra", here),
        dec_rad=_position(reading, cells, "dec", here),
        stokes_jy=tuple(stokes),
        spectrum_scales_polarisation=True,
        patch=cells["patch"].text if "patch" in cells else "",
        **shape,
        **fields,
    )


def _single(reading: Reading, cells: dict[str, Cell], key: str, what: str) -> float:
    if key not in cells:
        return 0.0
    values = reading.numbers(cells[key], what)
    if len(values) > 1:
        raise reading.unsupported(f"{what} is a list: tabulated spectra are not supported", cells[key])
    return values[0] if values else 0.0


def _position(reading: Reading, cells: dict[str, Cell], key: str, here: Cell) -> float:
    colon = "hours" if key == "ra" else "degrees"
    for name, unit in ((key + "d", "deg"), (key, "rad")):
        if name in cells:
            angle = reading.angle(cells[name], key.capitalize(), bare=unit, colon=colon)
            if key == "dec" and abs(angle) > math.pi / 2:
                raise reading.error(
                    f"declination {cells[name].text} ({math.degrees(angle):.6g} deg) is outside [-90, 90] deg"
                    + ("; a bare Dec is in radians, DecD in degrees" if unit == "rad" else ""),
                    cells[name],
                )
            return angle
    raise reading.error(f"{key.capitalize()} is missing", here)


def _spectrum(reading: Reading, cells: dict[str, Cell], logarithmic: bool) -> tuple[float, ...]:
    index = reading.numbers(cells["index"], "the spectral index") if "index" in cells else []
    if "curvature" in cells:
        curvature = _single(reading, cells, "curvature", "the spectral curvature")
        if curvature and (any(index[1:]) or not logarithmic):
            raise reading.error("a curvature goes with one logarithmic spectral index only", cells["curvature"])
        if curvature:
            return (index[0] if index else 0.0, curvature)
    return natural(index) if logarithmic else tuple(index)


def _polarisation(reading: Reading, cells: dict[str, Cell], fields: dict, stokes: list[float]) -> list[float]:
    """The Stokes parameters at the reference frequency; puts the frequency of a ReferenceWavelength into `fields`."""
    fraction, angle, wavelength = (cells.get(key) for key in ("fraction", "angle", "wavelength"))
    if wavelength and fields["rm_rad_m2"] and not angle:
        metres = reading.number(wavelength, "ReferenceWavelength")
        frequency_hz = SPEED_OF_LIGHT_M_S / metres if metres > 0 else math.inf
        if any(fields["spectrum"]) and not math.isclose(frequency_hz, fields["ref_freq_hz"], rel_tol=1e-9):
            raise reading.unsupported(
                "a ReferenceWavelength away from the reference frequency is not supported", wavelength
            )
        if not any(fields["spectrum"]):
            if not math.isfinite(frequency_hz):
                raise reading.error("ReferenceWavelength must be positive", wavelength)
            fields["ref_freq_hz"] = frequency_hz
    if not fraction and not angle:
        return stokes
    if not (fraction and angle):
        raise reading.error("the polarised fraction and angle are needed together", fraction or angle)
    if stokes[1] or stokes[2]:
        raise reading.error("Q, U and a polarised fraction exclude each other", fraction)
    degree = reading.number(fraction, "the polarised fraction")
    chi = math.radians(reading.number(angle, "the polarisation angle"))
    if fields["rm_rad_m2"]:
        if fields["ref_freq_hz"] <= 0:
            raise reading.error("a rotation measure needs a reference frequency", angle)
        chi += turned_rad(fields["rm_rad_m2"], fields["ref_freq_hz"])
    return polarised(stokes, degree, chi)


def _shape(reading: Reading, cells: dict[str, Cell]) -> dict[str, tuple[float, float, float]]:
    """The field of a `Source` that holds the axes; none for a point."""
    kind = cells.get("type")
    profile = profile_of_type(reading, kind)
    major, minor, angle = (_single(reading, cells, key, key) for key in ("major", "minor", "pa"))
    if major < 0 or minor < 0:
        raise reading.error("the axes of a shape must not be negative", cells["major" if major < 0 else "minor"])
    if not major and not minor:
        if profile is not None:
            raise reading.error(f"a source of type {kind.text} needs its axes", kind)
        return {}
    if kind is not None and profile is None:
        raise reading.error("a POINT has axes; OSKAR would take it for an extended source", kind)
    return {profile or PROFILES[0]: axes_rad(major, minor, angle)}
