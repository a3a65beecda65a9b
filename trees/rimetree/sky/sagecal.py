"""SAGECal's sky models: rows of blank-separated columns without a header, and a file of clusters beside them.

    name h m s d m s I Q U V si0 [si1 si2] RM eX eY eP freq0

The first letter of the name is the shape: G a Gaussian, D a uniform disk, R a ring, S shapelets (the last two are not
supported), any other a point. Extents eX and eY are in rad and half of widths, of a Gaussian those at half maximum, of
a disk the radius, as SAGECal's manual says and its converters write them; eP is in rad, and the position angle of eX,
north through east, is eP + 90 deg. (SAGECal itself predicts Gaussians 1.89 times narrower than that and pi/2 times as
bright.) Shapes are on the sky at the source. S = S0 (nu/nu0)^(si0 + si1 x + si2 x^2), x = ln(nu/nu0), for Q, U and V
too. The rotation measure, which SAGECal passes over, is taken relative to freq0.

Where there is a file FILE.cluster beside FILE its clusters are patches, called as the numbers there: lines of a number,
how many solutions SAGECal makes for it, which is passed over, and names of sources. Sources that no cluster names are
no part of the model, as in SAGECal; `skipped` says so.

Source: SAGECal's README; its readers and predictions (readsky.c, predict.c); its converter of BBS files.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace

from .angles import from_parts
from .errors import SkyModelError
from .model import Skipped, SkyModel
from .reading import Cell, Reading, numbered_lines, read_text, rows_of_words
from .source import PROFILES, Source

_COLUMNS = (17, 19)  # how many a row has: with one coefficient of the spectrum, or three
_GAUSSIAN, _, _DISK = PROFILES
_POSITION = ("right ascension (h)", "right ascension (m)", "right ascension (s)")
_POSITION += ("declination (deg)", "declination (arcmin)", "declination (arcsec)")


def looks_like_sagecal(text: str) -> bool:
    """Whether rows are those of such a model. Those of 17 columns may also be of Tigger, without a header; then a
    comment must speak of what only these files have."""
    rows = itertools.islice(rows_of_words(text), 20)
    counts = {len(cells) if all(map(_is_number, cells[1:])) else 0 for cells in rows}
    if counts == {17}:
        comments = "".join(line for _, line in numbered_lines(text) if line.lstrip().startswith("#"))
        return re.search(r"\bLSM\b|\(rad\)|\beX\b", comments) is not None
    return counts == {19}


def _is_number(cell: Cell) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell.text) is not None


def read_sagecal(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a file. Raises `SkyModelError` with file, line and column."""
    clusters, names, first = reading.file + ".cluster", set(), None
    patches = _clusters(clusters) if os.path.exists(clusters) else None
    left_out: list[str] = []
    for cells in rows_of_words(text):
        first = first or len(cells)
        names.add(cells[0].text)
        if first not in _COLUMNS or len(cells) != first:
            expected = " or ".join(map(str, _COLUMNS)) if first not in _COLUMNS else f"{first} as in the first row"
            raise reading.error(f"the row has {len(cells)} columns, expected {expected}", cells[0])
        if patches is not None and cells[0].text not in patches:
            left_out.append(cells[0].text)
            continue
        patch = patches[cells[0].text][0] if patches else ""
        reading.source(cells[0].text, cells[0], lambda c=cells, p=patch: _source(reading, c, p))
    for name, (_, cell) in (patches or {}).items():
        if name not in names:
            raise Reading(clusters).error(f"no source is named {name!r}", cell)
    model = reading.model()
    if not left_out:
        return model
    some = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
    reason = SkyModelError(f"no cluster names {some}", file=clusters)
    return replace(model, skipped=(*model.skipped, Skipped(f"{len(left_out)} sources", reason)))


def _clusters(file: str) -> dict[str, tuple[str, Cell]]:
    """{name of a source: (its patch, where the file says so)}."""
    found: dict[str, tuple[str, Cell]] = {}
    reading = Reading(file)
    for cells in rows_of_words(read_text(file)):
        if len(cells) < 2 or not all(re.fullmatch(r"[+-]?\d+", cell.text) for cell in cells[:2]):
            raise reading.error("expected the number of a cluster, that of its solutions, and sources", cells[0])
        for cell in cells[2:]:
            if cell.text in found:
                raise reading.error(f"source {cell.text!r} is in cluster {found[cell.text][0]} already", cell)
            found[cell.text] = (cells[0].text, cell)
    return found


def _source(reading: Reading, cells: Sequence[Cell], patch: str) -> Source:
    name, *values = cells
    numbers = [reading.number(cell, what) for cell, what in zip(values, _POSITION, strict=False)]
    ra, dec = (_angle(reading, values[k : k + 3], numbers[k : k + 3], f) for k, f in ((0, 15.0), (3, 1.0)))
    rest = [reading.number(cell, "a value") for cell in values[6:]]
    fluxes, spectrum = rest[:4], rest[4:-5]
    rm, *extents, angle, reference_hz = rest[-5:]
    return reading.build(
        name,
        name=name.text,
        ra_rad=ra,
        dec_rad=dec,
        stokes_jy=tuple(fluxes),
        ref_freq_hz=reference_hz,
        spectrum=tuple(spectrum),
        rm_rad_m2=rm,
        patch=patch,
        **_shape(reading, name, [2 * extent for extent in extents], angle + math.pi / 2),
    )


def _angle(reading: Reading, cells: Sequence[Cell], parts: Sequence[float], factor: float) -> float:
    if not (0 <= parts[1] < 60 and 0 <= parts[2] <= 60):
        raise reading.error("minutes and seconds are numbers from 0 to 60", cells[1])
    sign = "-" if cells[0].text.startswith("-") else "+"
    return from_parts(sign, abs(parts[0]), parts[1], parts[2], factor)


def _shape(reading: Reading, name: Cell, widths: Sequence[float], angle: float) -> dict:
    """The field of a `Source` that holds its shape; none for a point."""
    letter = name.text[0].upper()
    if letter in ("R", "S"):
        what = "rings" if letter == "R" else "shapelets from a file"
        raise reading.unsupported(f"{name.text!r}: names that begin with {letter} are of {what}: not supported", name)
    if letter == "D":
        return {_DISK: (widths[0], widths[0], 0.0)}
    return {_GAUSSIAN: (*widths, angle)} if letter == "G" else {}
