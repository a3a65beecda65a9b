"""Tables of sources by the names of their columns: text, FITS and VOTable files as columns of numbers and texts.

Of text only the columns that are used are kept, as there may be millions of rows. Below the line of names there may be
one of units, and one of dashes, as VizieR writes them.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .errors import SkyModelError
from .reading import Cell, Reading, numbered_lines

_FREQUENCY = re.compile(r"#.*Reference frequency of the detection.*:\s*(\S+)\s*Hz")
_EQUINOX = re.compile(r"#\s*Equinox\s*:\s*(\S+)")
_PYBDSF = re.compile(r"#.*(\bPyBDS[FM]\b|Reference frequency of the detection)")
_WITH_UNIT = re.compile(r"(\w+)\s*[\[(](.*)[\])]")
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class Layout:
    """The columns that a table of some kind must have, and which of its columns are used: those of texts, and those of
    numbers (a pattern)."""

    needed: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: re.Pattern

    def fits(self, names: Sequence[str]) -> bool:
        return set(self.needed) <= set(names)

    def uses(self, name: str) -> bool:
        return name in self.texts or self.numbers.fullmatch(name) is not None


def layout_of(names: Sequence[str], layouts: Sequence[Layout], file: str) -> Layout:
    """The first layout that fits the names of columns. Raises `SkyModelError` where none does."""
    for layout in layouts:
        if layout.fits(names):
            return layout
    known = "; ".join(", ".join(layout.needed) for layout in layouts)
    found = ", ".join(names)
    raise SkyModelError(
        f"the columns are none of a catalogue that is known; these have {known}, and the table has "
        f"{found if len(found) < 400 else found[:400] + '...'}; columns that mean the same may be renamed",
        file=file,
    )


def names_a_table(line: str, layouts: Sequence[Layout]) -> bool:
    """Whether a line of text names the columns of a table of one of the layouts."""
    if "ra" not in line.lower():
        return False
    names = [name for name, _ in _names_in(line)]
    return any(layout.fits(names) for layout in layouts)


@dataclass
class Table:
    """Columns [row] by their names in lower case; `units`: what the file says of them; `lines`: where rows stand in
    text; `coefficients`: of shapelets, by the names of sources; `of_pybdsf`: whether comments name PyBDSF."""

    reading: Reading
    columns: dict[str, NDArray | list[str]]
    units: dict[str, str]
    reference_hz: float = 0.0
    lines: list[int] | None = None
    coefficients: dict[str, list[tuple[int, int, float]]] = field(default_factory=dict)
    of_pybdsf: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def numbers(
        self, name: str, unit: str, default: float | None = None, unit_is_known: bool = True
    ) -> NDArray[np.float64]:
        """A column in a unit, which it has where the file says none, if that is known; `default` where there is no
        such column."""
        if name not in self.columns and default is not None:
            return np.full(len(self), default)
        values = self._converted(name)
        said = self.units.get(name, "").strip()
        if not said and not unit_is_known and len(self):
            raise SkyModelError(
                f"column {name} has no unit, and no comment says that PyBDSF wrote the table, which would make it "
                f"{unit}: a header may say it, as in {name}[{unit}], and so may FITS",
                file=self.reading.file,
            )
        if not said or said == unit:
            return values
        from astropy import units

        try:
            return values * units.Unit(said).to(unit)
        except (ValueError, units.UnitConversionError):
            raise SkyModelError(f"column {name} is in {said}, expected {unit}", file=self.reading.file) from None

    def _converted(self, name: str) -> NDArray[np.float64]:
        column = np.asarray(self.columns[name])
        if column.ndim != 1:
            raise SkyModelError(f"column {name} has several values in a row, expected one", file=self.reading.file)
        if column.dtype.kind not in "SUO":
            return np.asarray(column, float)
        return _numbers([str(value) for value in column], name, self.error)

    def texts(self, name: str) -> list[str]:
        """A column of text; empty texts where there is none."""
        return [str(value).strip() for value in self.columns[name]] if name in self.columns else [""] * len(self)

    def place(self, row: int) -> Cell:
        """Where a row stands."""
        return Cell("", self.lines[row], 1) if self.lines else Cell("", None, None)

    def error(self, message: str, row: int) -> SkyModelError:
        """An error of a row, to be raised by the caller."""
        return self._of_row(SkyModelError(message), row)

    def add(self, row: int, name: str, radec_deg: tuple[float, float], about: Callable[[], dict]) -> None:
        """Add the source of a row; `about` gives its other fields."""

        place = self.place(row)
        ra_rad, dec_rad = map(math.radians, radec_deg)

        def make():
            return self.reading.build(place, name=name, ra_rad=ra_rad, dec_rad=dec_rad, **about())

        try:
            self.reading.source(name, place, make)
        except SkyModelError as problem:
            raise self._of_row(problem, row) from None

    def _of_row(self, problem: SkyModelError, row: int) -> SkyModelError:
        before = "" if self.lines else f"row {row + 1}: "
        return self.reading.placed(problem, self.place(row), before)


def table_of_text(reading: Reading, text: str, layouts: Sequence[Layout]) -> Table:
    """The table that a text holds."""
    lines = numbered_lines(text)
    before, named = [], []
    for number, line in lines:
        if names_a_table(line, layouts):
            header, named, separator = number, _names_in(line), _separator_of(line)
            break
        before.append(line)
    if not named:
        known = "; ".join(", ".join(layout.needed) for layout in layouts)
        raise SkyModelError(f"no line names the columns of a catalogue that is known: {known}", file=reading.file)
    names = [name for name, _ in named]
    if twice := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
        raise reading.error(f"two columns are called {twice[0]}", Cell("", header, 1))
    rows = _Rows(reading, names, separator, layout_of(names, layouts, reading.file))
    units, lines = rows.units_below(lines)
    rows.read(lines)
    comments = "\n".join(line for line in before if line.startswith("#"))
    _require_j2000(reading, (_EQUINOX.search(comments) or ["", "2000"])[1])
    frequency = _FREQUENCY.search(comments)
    return Table(
        reading,
        rows.columns(),
        dict(named) | units,
        _hertz(frequency[1] if frequency else 0.0),
        rows.lines,
        of_pybdsf=_PYBDSF.search(comments) is not None,
    )


class _Rows:
    """The rows of a text: the columns that are used, block by block."""

    def __init__(self, reading: Reading, names: Sequence[str], separator: str | None, layout: Layout):
        self.lines: list[int] = []
        self._reading, self._separator, self._n_column = reading, separator, len(names)
        self._used = {name: place for place, name in enumerate(names) if layout.uses(name)}
        self._blocks: dict[str, list] = {name: [] for name in self._used}
        self._texts, self._names = layout.texts, names

    def units_below(self, lines: Iterator[tuple[int, str]]) -> tuple[dict[str, str], Iterator[tuple[int, str]]]:
        """Units of columns, of a line above one of dashes, and the lines that follow."""
        first = list(itertools.islice(lines, 2))
        below = [_values_in(line, self._separator) for _, line in first]
        dashes = next((i for i, values in enumerate(below) if "".join(values).strip("-") == "" != "".join(values)), -1)
        units = zip(self._names, below[0], strict=False) if dashes == 1 else ()
        return {name: unit for name, unit in units if unit}, itertools.chain(first[dashes + 1 :], lines)

    def read(self, lines: Iterator[tuple[int, str]]) -> None:
        """All rows; lines that are empty or comments are passed over."""
        filled = ((number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#"))
        while block := list(itertools.islice(filled, _BLOCK_ROWS)):
            self._take(block)

    def columns(self) -> dict[str, NDArray | list[str]]:
        """The columns read: of numbers, and lists of texts."""
        return {
            name: [*itertools.chain(*blocks)] if name in self._texts else np.concatenate([np.zeros(0), *blocks])
            for name, blocks in self._blocks.items()
        }

    def _take(self, block: Sequence[tuple[int, str]]) -> None:
        rows = []
        for number, line in block:
            rows.append(_split(line, self._separator))
            if len(rows[-1]) != self._n_column:
                found = f"{len(rows[-1])} columns, expected {self._n_column}"
                raise self._reading.error(found, Cell("", number, 1))
        for name, place in self._used.items():
            values = [row[place].strip() for row in rows]
            if name not in self._texts:
                values = _numbers(values, name, lambda text, row: self._reading.error(text, Cell("", block[row][0], 1)))
            self._blocks[name].append(values)
        self.lines += [number for number, _ in block]


def _numbers(values: Sequence[str], name: str, error: Callable[[str, int], SkyModelError]) -> NDArray[np.float64]:
    """Texts as numbers, nan for empty ones; `error` makes what is raised of a text and a row."""
    try:
        return np.fromiter((float(value or "nan") for value in values), float, len(values))
    except ValueError:
        for row, value in enumerate(values):
            try:
                float(value or "nan")
            except ValueError:
                raise error(f"column {name} is {value!r}, expected a number", row) from None
        raise


def _separator_of(names_line: str) -> str | None:
    """What stands between values; None: blanks."""
    return next((sign for sign in ",\t;" if sign in names_line.strip()), None)


def _split(line: str, separator: str | None) -> list[str]:
    if '"' not in line:
        return line.split(separator)
    return next(csv.reader([line.strip(" ")], delimiter=separator or " ", skipinitialspace=True))


def _values_in(line: str, separator: str | None) -> list[str]:
    return [value.strip() for value in _split(line, separator)]


def _names_in(line: str) -> list[tuple[str, str]]:
    """(name in lower case, unit or "") of the columns that a line of text names."""
    line = line.lstrip("# \t")
    found = []
    for name in _values_in(line, _separator_of(line)):
        parts = _WITH_UNIT.fullmatch(name)
        found.append((parts[1].lower(), parts[2]) if parts else (name.lower(), ""))
    return found


def _hertz(value) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return 0.0
    return found if math.isfinite(found) and found > 0 else 0.0


def _require_j2000(reading: Reading, equinox) -> None:
    text = str(equinox).strip().upper().removeprefix("J")
    if text and _hertz(text) != 2000.0:
        raise SkyModelError(f"positions are of equinox {equinox}, expected 2000", file=reading.file)


def table_of_fits(reading: Reading) -> Table:
    """The table that a FITS file holds, with coefficients of shapelets of a second one."""
    from astropy.io import fits

    try:
        with fits.open(reading.file, memmap=False) as units:
            tables = [unit for unit in units if isinstance(unit, fits.BinTableHDU | fits.TableHDU)]
            read = [({c.name.lower(): _values_of(t.data, c) for c in t.columns}, t.header, t.columns) for t in tables]
    except (OSError, TypeError, ValueError) as problem:
        raise SkyModelError(f"no FITS table that can be read: {problem}", file=reading.file) from problem
    shapelets = [columns for columns, *_ in read if {"name", "n1", "n2", "coeff"} <= set(columns)]
    sources = [one for one in read if not any(one[0] is other for other in shapelets)]
    if len(sources) != 1 or len(shapelets) > 1:
        raise SkyModelError(f"the file holds {len(sources)} tables of sources, expected one", file=reading.file)
    columns, header, described = sources[0]
    _require_j2000(reading, header.get("EQUINOX", 2000.0))
    coefficients: dict[str, list[tuple[int, int, float]]] = {}
    for one in shapelets:
        for name, n1, n2, value in zip(*(one[key].tolist() for key in ("name", "n1", "n2", "coeff")), strict=True):
            coefficients.setdefault(str(name).strip(), []).append((_whole(n1), _whole(n2), value))
    said = {column.name.lower(): column.unit or "" for column in described}
    return Table(reading, columns, said, _hertz(header.get("FREQ0")), None, coefficients)


def _values_of(data, column) -> NDArray:
    """Values of a column of FITS; nan where a number is not there."""
    values = np.asarray(data[column.name])
    if column.null is None or values.dtype.kind not in "iuf":
        return values
    stored = np.asarray(data.view(np.ndarray)[column.name])
    null = column.null
    if stored.dtype.kind == "S":  # a table of text
        stored, null = np.char.strip(stored), str(null).strip().encode()
    return np.where(stored == null, math.nan, values)


def _whole(number):
    """As an integer, if it is one: others are refused where they are used."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def table_of_votable(reading: Reading, text: str) -> Table:
    """The table that the text of a VOTable file holds."""
    from astropy.io import votable

    try:
        with warnings.catch_warnings(action="ignore"):  # of what is not quite as the standard has it
            parsed = votable.parse(io.BytesIO(text.encode()), verify="ignore")
            tables = [one.to_table(use_names_over_ids=True) for one in parsed.iter_tables()]
    except Exception as problem:  # there is no class of its errors, and some are those of a parser of XML
        raise SkyModelError(f"no VOTable that can be read: {problem}", file=reading.file) from problem
    if len(tables) != 1:
        raise SkyModelError(f"the file holds {len(tables)} tables of sources, expected one", file=reading.file)
    equinoxes = [one.equinox for one in parsed.iter_coosys() if one.equinox]
    if "J2000" not in equinoxes:
        _require_j2000(reading, (equinoxes or [""])[0])
    said = {param.name: param.value for one in (parsed.get_first_table(), *parsed.resources) for param in one.params}
    (table,) = tables
    columns = {column.name.lower(): _without_masked(np.ma.asarray(column)) for column in table.itercols()}
    units = {column.name.lower(): str(column.unit or "") for column in table.itercols()}
    return Table(reading, columns, units, _hertz(said.get("FREQ0")))


def _without_masked(values: np.ma.MaskedArray) -> NDArray:
    """Values of a column; nan, or an empty text, where there is none."""
    if values.dtype.kind in "iuf":
        return values.astype(float).filled(math.nan)
    return values.filled("") if values.dtype.kind in "SU" else np.asarray(values)
