"""Tables whose header names their columns: `format = Name, Type, Ra, ...`, as BBS/makesourcedb invented them.

The header may stand behind a `#`, in parentheses, and on either side of the equals sign; a column may have a default
(`ReferenceFrequency='150e6'`, used where a line leaves it empty) or a fixed value (`Q=fixed'0'`, absent from the
lines). The character behind a column's name, comma or blank, separates its values, except in quotes and brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .errors import SkyModelError
from .reading import Cell, Reading

_LEADING = re.compile(r"^\s*#?\s*format\s*=\s*(?P<columns>.*?)\s*$", re.IGNORECASE)
_TRAILING = re.compile(r"^\s*#?\s*(?P<columns>.*?)\s*=\s*format\s*$", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:]*|")
_VALUE = re.compile(r"\s*=\s*(?P<fixed>fixed\s*)?(?P<quote>['\"])(?P<value>.*?)(?P=quote)", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column: its name as written, the separator behind it, and its default or fixed value (None: no such)."""

    name: str
    separator: str
    place: Cell
    default: str | None = None
    fixed: str | None = None

    @property
    def is_dummy(self) -> bool:
        """Whether the header itself says that this column is to be passed over."""
        return self.name.lower() in ("", "dummy")


def find_header(lines: Iterable[tuple[int, str]]) -> tuple[int, int, str] | None:
    """(line, column, text) of the column names in the header, or None where there is none.

    The first header counts, but one behind a `#` only where there is none without.
    """
    commented = None
    for number, line in lines:
        match = "format" in line.lower() and (_LEADING.match(line) or _TRAILING.match(line))
        if not match:
            continue
        start, text = match.start("columns"), match["columns"]
        if text[:1] in ("(", "[") and text[-1:] in (")", "]"):
            start, text = start + 1, text[1:-1]
        if not line.lstrip().startswith("#"):
            return number, start + 1, text
        commented = commented or (number, start + 1, text)
    return commented


def parse_header(reading: Reading, line: int, column: int, text: str) -> list[Column]:
    """The columns of a header. Raises `SkyModelError` where it is malformed or names a column twice."""
    columns: list[Column] = []
    seen: set[str] = set()
    position = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    while position < end:
        place = Cell(text, line, column + position)
        match = _NAME.match(text, position)
        position = match.end()
        default = fixed = None
        if value := _VALUE.match(text, position):
            default, fixed = (None, value["value"]) if value["fixed"] else (value["value"], None)
            position = value.end()
        elif re.match(r"\s*=", text[position:]):
            raise reading.error(f"the value behind {match[0]}= must stand in quotes", place)
        position, separator = _separator(reading, text, position, end, line, column)
        name = match[0]
        if name.lower() in seen and name.lower() != "dummy":
            raise reading.error(f"column {name!r} appears twice in the format", place)
        if name:
            seen.add(name.lower())
        columns.append(Column(name, separator, place, default, fixed))
    if not columns:
        raise SkyModelError("the format names no columns", file=reading.file, line=line, column=column)
    return columns


def _separator(reading: Reading, text: str, position: int, end: int, line: int, column: int) -> tuple[int, str]:
    """(position of the next name, separator of values), the separator being "," or another sign, or " "."""
    start = position
    while position < end and text[position] in " \t":
        position += 1
    if position >= end:
        return end, " " if start < end else ","
    sign = text[position]
    if sign.isalnum() or sign == "_":
        if position == start:
            raise reading.error("a separator is missing in the format", Cell(text, line, column + position))
        return position, " "
    if sign in "'\"=()[]":
        raise reading.error(f"unexpected {sign!r} in the format", Cell(text, line, column + position))
    position += 1
    while position < end and text[position] in " \t":
        position += 1
    return position, sign


def split_line(reading: Reading, columns: list[Column], number: int, line: str) -> dict[str, Cell]:
    """Values of one line by lower-case column name, without the empty ones; defaults and fixed values filled in.

    Raises `SkyModelError` for unbalanced quotes or brackets and for values beyond the last column.
    """
    cells: dict[str, Cell] = {}
    position, end = _skip_blanks(line, 0), len(line.rstrip())
    for column in columns:
        text, start = "", min(position, end)
        if column.fixed is not None:
            text = column.fixed
        elif position < end:
            stop = _value_end(reading, line, column.separator, position, end, number)
            text = _unquoted(line[position:stop].strip())
            position = _skip_blanks(line, stop + 1)
        text = text or (column.default or "")
        if text and not column.is_dummy:
            cells[column.name.lower()] = Cell(text, number, start + 1)
    if position < end and line[position:end].strip(", \t"):
        raise reading.error(
            f"{line[position:end].strip()!r} stands behind the last of the {len(columns)} columns of the format",
            Cell(line, number, position + 1),
        )
    return cells


def _value_end(reading: Reading, line: str, separator: str, position: int, end: int, number: int) -> int:
    """Where the value that starts at `position` ends: at its separator outside quotes and brackets, or at the end."""
    opened: list[int] = []
    start = position
    while position < end:
        sign = line[position]
        if sign in "'\"" and (position == start or opened):
            closing = line.find(sign, position + 1)
            if closing < 0 or closing >= end:
                raise reading.error("a quote is not closed", Cell(line, number, position + 1))
            position = closing
        elif sign == "[":
            opened.append(position)
        elif sign == "]":
            if not opened:
                raise reading.error("a bracket is closed that was not opened", Cell(line, number, position + 1))
            opened.pop()
        elif not opened and (sign == separator or (separator == " " and sign == "\t")):
            return position
        position += 1
    if opened:
        raise reading.error("a bracket is not closed", Cell(line, number, opened[-1] + 1))
    return end


def _skip_blanks(line: str, position: int) -> int:
    while position < len(line) and line[position] in " \t":
        position += 1
    return position


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
