"""What all readers share: the place in the file, the numbers of a cell, and what is left out."""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .angles import parse_angle
from .errors import SkyModelError, UnsupportedError
from .model import Skipped, SkyModel
from .source import Source

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}


class Cell(NamedTuple):
    """One value of a file: its text (without quotes and blanks) and the place of its first character, from 1
    (None where there are no lines, as in FITS)."""

    text: str
    line: int | None
    column: int | None


class Reading:
    """The reading of one file: raises errors with their place, and collects sources and what is left out."""

    def __init__(self, file: str, skip_unsupported: bool = False):
        self.file = file
        self.skip_unsupported = skip_unsupported
        self.patch_radec_rad: dict[str, tuple[float, float]] = {}
        self._sources: list[Source] = []
        self._skipped: list[Skipped] = []
        self._line_of_name: dict[str, int | None] = {}

    def error(self, message: str, cell: Cell) -> SkyModelError:
        """An error at a cell, to be raised by the caller."""
        return SkyModelError(message, file=self.file, line=cell.line, column=cell.column)

    def unsupported(self, message: str, cell: Cell) -> UnsupportedError:
        """An error at a cell for what a `Source` cannot express, to be raised by the caller."""
        return UnsupportedError(message, file=self.file, line=cell.line, column=cell.column)

    def placed(self, problem: SkyModelError, cell: Cell, before: str = "") -> SkyModelError:
        """The same error at a cell, with text before its own, to be raised by the caller."""
        return type(problem)(before + problem.message, file=self.file, line=cell.line, column=cell.column)

    def number(self, cell: Cell, what: str) -> float:
        """The finite number in a cell."""
        if not _NUMBER.fullmatch(cell.text):
            raise self.error(f"{what} is {cell.text!r}, expected a number", cell)
        value = float(cell.text)
        if not math.isfinite(value):
            raise self.error(f"{what} is {cell.text!r}, expected a finite number", cell)
        return value

    def boolean(self, cell: Cell, what: str) -> bool:
        """The truth value in a cell."""
        value = truth(cell.text)
        if value is None:
            raise self.error(f"{what} is {cell.text!r}, expected true or false", cell)
        return value

    def numbers(self, cell: Cell, what: str) -> list[float]:
        """The numbers in a cell that holds one number or a bracketed list, `[-0.7, 0.1]`."""
        text = cell.text
        if text[:1] in ("[", "("):
            if text[-1] != {"[": "]", "(": ")"}[text[0]]:
                raise self.error(f"{what} is {text!r}: the bracket is not closed", cell)
            inside = text[1:-1].strip()
            parts = [part for part in re.split(r"\s*,\s*|\s+", inside)] if inside else []
        else:
            parts = [text]
        if len(parts) == 1 and parts[0] is text:
            return [self.number(cell, what)]
        return [self.number(Cell(part, cell.line, cell.column), what) for part in parts]

    def angle(self, cell: Cell, what: str, *, bare: str | None = None, colon: str | None = "hours") -> float:
        """The angle in a cell, in radians (see `parse_angle`)."""
        try:
            return parse_angle(cell.text, bare=bare, colon=colon)
        except ValueError as problem:
            raise self.error(f"{what} {problem}", cell) from None

    def build(self, cell: Cell, **fields: object) -> Source:
        """A `Source`, whose own errors get the place of `cell`."""
        try:
            return Source(**fields)
        except SkyModelError as problem:
            raise self.placed(problem, cell) from None

    def source(self, name: str, cell: Cell, make: Callable[[], Source]) -> None:
        """Add the source that `make` returns, or list it as skipped where it raises `UnsupportedError`."""
        if name in self._line_of_name:
            line = self._line_of_name[name]
            where = "" if line is None else f" in line {line}"
            raise self.error(f"a source named {name!r} was already given{where}", cell)
        try:
            self.add(make(), cell.line)
        except UnsupportedError as problem:
            self.leave_out(f"source {name!r}", problem)

    def components(self, name: str, parts: Sequence[tuple[Cell, Callable[[str], Source]]]) -> None:
        """Add the components of a source, each made of what it is called: NAME (one) or NAME_0, NAME_1, ..."""
        for index, (cell, make) in enumerate(parts):
            own = name if len(parts) == 1 else f"{name}_{index}"
            self.source(own, cell, functools.partial(make, own))

    def add(self, source: Source, line: int | None) -> bool:
        """Add a source that was read in a line; False, and nothing happens, if its name was given before."""
        if source.name in self._line_of_name:
            return False
        self._line_of_name[source.name] = line
        self._sources.append(source)
        return True

    def leave_out(self, what: str, problem: UnsupportedError) -> None:
        """List `what` as skipped, or raise `problem` where nothing may be skipped."""
        if not self.skip_unsupported:
            raise problem
        self._skipped.append(Skipped(what, problem))

    def model(self) -> SkyModel:
        """The model read."""
        return SkyModel(tuple(self._sources), tuple(self._skipped), self.patch_radec_rad)


def read_text(path: str | os.PathLike) -> str:
    """The text of a file (UTF-8, a byte-order mark removed), or of one that gzip has made of it, with lines that end in
    a line feed. Raises `SkyModelError` where it cannot be read."""
    file = os.fspath(path)
    try:
        with open(file, "rb") as stream:
            data = stream.read()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SkyModelError(f"cannot read the sky model: {reason}", file=file) from problem
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        column = problem.start - data.rfind(b"\n", 0, problem.start)
        raise SkyModelError("this is not UTF-8 text", file=file, line=line, column=column) from None


def truth(text: str) -> bool | None:
    """A truth value (true/false, yes/no, t/f, y/n, 1/0); None for what is none."""
    text = text.lower()
    return True if text in _TRUE else False if text in _FALSE else None


def without_comment(line: str) -> str:
    """What stands before a `#` at the beginning of a line or behind a blank."""
    return line if "#" not in line else re.split(r"(?:^|\s)#", line, maxsplit=1)[0]


def rows_of_words(text: str) -> Iterator[list[Cell]]:
    """The words of each line that is neither empty nor a comment."""
    for number, line in numbered_lines(text):
        cells = words(line, number)
        if cells and not cells[0].text.startswith("#"):
            yield cells


def words(line: str, number: int) -> list[Cell]:
    """What blanks part in a line of this number."""
    return [Cell(match[0], number, match.start() + 1) for match in re.finditer(r"\S+", line)]


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of every line."""
    for number, line in numbered_raw_lines(text):
        yield number, line.rstrip("\r\n")


def numbered_raw_lines(text: str) -> Iterator[tuple[int, str]]:
    """(line number from 1, line with its end) of every line, one by one: there may be millions."""
    return enumerate(itertools.chain.from_iterable(map(_lines_of, _parts_of(text))), start=1)


def _lines_of(part: str) -> Iterator[str]:
    return io.StringIO(part, newline="\n")  # which takes four bytes for each letter


def _parts_of(text: str) -> Iterator[str]:
    """Parts of a text that end where lines do."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + 100_000) + 1 or len(text)
        yield text[begin:end]
        begin = end
