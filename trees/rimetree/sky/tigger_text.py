"""Tigger's text tables: blank-separated columns named by a first line `#format: name ra_d dec_d i q u v ...`.

Columns: name; ra_{rad,d,h} with ra_m, ra_s; dec_{rad,d} with dec_m, dec_s, dec_sign; i q u v (Jy), or pol_frac (0.1 or
10%) with pol_pa_{rad,d}; freq0 (Hz); spi, spi2, spi3, ... (powers of ln(nu/nu0)); rm (rad/m2); emaj, emin, pa with
units (full widths at half maximum on the sky, north at the source; emaj_s is arcsec). Uncertainties (`..._err`), tags
and `:type:attribute` columns describe no emission and are passed over, as are columns named `dummy` or `-`. Q, U and V
scale with the spectrum (see tigger_html).

Source: Tigger/Models/Formats/ASCII.py.
"""

from __future__ import annotations

import math
import re

from .model import SkyModel
from .polarisation import polarised
from .reading import Cell, Reading, numbered_lines, without_comment, words
from .source import PROFILES, Source, without_last_zeros

# Tigger's own, where there is no header.
DEFAULT_FORMAT = "name ra_h ra_m ra_s dec_d dec_m dec_s i q u v spi rm emaj_s emin_s pa_d freq0 tags..."

_DEG = math.pi / 180
_UNITS = {"rad": 1.0, "h": 15 * _DEG, "d": _DEG, "m": _DEG / 60, "s": _DEG / 3600}
_IGNORED = re.compile(r"dummy|-|.*_err(_.*)?|:(bool|int|float|complex|str):\w+|tags(\.\.\.)?")
_KNOWN = re.compile(
    r"name|ra_(rad|d|h|m|s)|dec_(rad|d|m|s|sign)|[iquv]|pol_frac|pol_pa_(rad|d)|rm|freq0|spi[2-9]?|"
    r"e(maj|min)_(rad|d|m|s)|pa_(rad|d)"
)
_HEADER = re.compile(r"\s*#\s*format:(?P<columns>.*)", re.IGNORECASE)


def find_text_header(text: str) -> bool:
    """Whether the first line is a `#format:` line."""
    return _HEADER.match(text.split("\n", 1)[0]) is not None


def read_tigger_text(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a Tigger table. Raises `SkyModelError` with file, line and column."""
    header = _HEADER.match(text.split("\n", 1)[0])
    start = header.start("columns") if header else 0
    columns = _columns(reading, header["columns"] if header else DEFAULT_FORMAT, start)
    reported: set[str] = set()
    count = 0
    for number, line in numbered_lines(text):
        content = without_comment(line)
        if not content.strip():
            continue
        values = words(content, number)
        cells = _cells(reading, columns, values, reported)
        count += 1
        name = cells["name"].text if "name" in cells else str(count)
        reading.source(name, values[0], lambda n=name, c=cells, v=values[0]: _source(reading, n, c, v))
    return reading.model()


def _columns(reading: Reading, text: str, start: int) -> dict[int, str]:
    columns: dict[int, str] = {}
    for index, match in enumerate(re.finditer(r"\S+", text)):
        name = match[0]
        if _IGNORED.fullmatch(name):
            continue
        place = Cell(name, 1, start + match.start() + 1)
        for earlier, known in list(columns.items()):
            if known == name:
                reading.leave_out(
                    f"column {earlier + 1} ({name!r})",
                    reading.unsupported(f"column {name!r} appears twice; Tigger takes the last", place),
                )
                del columns[earlier]
        columns[index] = name
    return columns


def _cells(reading: Reading, columns: dict[int, str], values: list[Cell], reported: set[str]) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for index, name in columns.items():
        if index >= len(values):
            continue
        if _KNOWN.fullmatch(name):
            cells[name] = values[index]
        elif name not in reported:
            reported.add(name)
            problem = reading.unsupported(f"column {name!r} has no meaning here", values[index])
            reading.leave_out(f"column {name!r}", problem)
    return cells


def _source(reading: Reading, name: str, cells: dict[str, Cell], here: Cell) -> Source:
    if "i" not in cells:
        raise reading.error("the flux i is missing", here)
    stokes = [reading.number(cells[s], s) if s in cells else 0.0 for s in "iquv"]
    if "pol_frac" in cells:
        if any(s in cells for s in "qu"):
            raise reading.error("q, u and pol_frac exclude each other", cells["pol_frac"])
        stokes = polarised(stokes, *_polarisation(reading, cells))
    names = ("spi", *(f"spi{n}" for n in range(2, 10)))
    spectrum = without_last_zeros(tuple(reading.number(cells[n], n) if n in cells else 0.0 for n in names))
    dec_rad = _dec(reading, cells, here)
    if abs(dec_rad) > math.pi / 2:
        raise reading.error(f"declination {math.degrees(dec_rad):.6g} deg is outside [-90, 90] deg", here)
    return reading.build(
        here,
        name=name,
        ra_rad=_ra(reading, cells, here),
        dec_rad=dec_rad,
        stokes_jy=tuple(stokes),
        ref_freq_hz=reading.number(cells["freq0"], "freq0") if "freq0" in cells else 0.0,
        spectrum=spectrum,
        spectrum_scales_polarisation=True,
        rm_rad_m2=reading.number(cells["rm"], "rm") if "rm" in cells else 0.0,
        **_shape(reading, cells, here),
    )


def _polarisation(reading: Reading, cells: dict[str, Cell]) -> tuple[float, float]:
    """Degree and angle (radians)."""
    cell = cells["pol_frac"]
    percent = cell.text.endswith("%")
    fraction = reading.number(cell._replace(text=cell.text.removesuffix("%")), "pol_frac") / (100 if percent else 1)
    return fraction, _angle(reading, cells, "pol_pa", ("rad", "d")) or 0.0


def _angle(reading: Reading, cells: dict[str, Cell], name: str, units: tuple[str, ...]) -> float | None:
    """The angle in rad in the column `name_unit`, or None where there is no such column."""
    for unit in units:
        if cell := cells.get(f"{name}_{unit}"):
            return reading.number(cell, f"{name}_{unit}") * _UNITS[unit]
    return None


def _minutes_seconds(reading: Reading, cells: dict[str, Cell], name: str) -> float:
    minutes, seconds = (cells.get(f"{name}_{part}") for part in "ms")
    total = reading.number(minutes, f"{name}_m") / 60 if minutes else 0.0
    return total + (reading.number(seconds, f"{name}_s") / 3600 if seconds else 0.0)


def _ra(reading: Reading, cells: dict[str, Cell], here: Cell) -> float:
    for unit in ("rad", "d", "h"):
        if cell := cells.get(f"ra_{unit}"):
            fraction = _minutes_seconds(reading, cells, "ra") if unit != "rad" else 0.0
            return (reading.number(cell, f"ra_{unit}") + fraction) * _UNITS[unit]
    raise reading.error("the right ascension is missing (ra_rad, ra_d or ra_h)", here)


def _dec(reading: Reading, cells: dict[str, Cell], here: Cell) -> float:
    for unit in ("rad", "d"):
        if cell := cells.get(f"dec_{unit}"):
            fraction = _minutes_seconds(reading, cells, "dec") if unit == "d" else 0.0
            size = (abs(reading.number(cell, f"dec_{unit}")) + fraction) * _UNITS[unit]
            return -size if cells.get("dec_sign", cell).text.startswith("-") else size
    raise reading.error("the declination is missing (dec_rad or dec_d)", here)


def _shape(reading: Reading, cells: dict[str, Cell], here: Cell) -> dict[str, tuple[float, float, float]]:
    """The field of a `Source` that holds the axes; none for a point."""
    units = ("rad", "d", "m", "s")
    major, minor = (_angle(reading, cells, name, units) for name in ("emaj", "emin"))
    angle = _angle(reading, cells, "pa", ("rad", "d"))
    if not major and not minor:
        return {}
    if major is None or minor is None or angle is None:
        raise reading.error("an extended source needs emaj, emin and pa", here)
    return {PROFILES[0]: (major, minor, angle)}
