"""Telescopes by name, and layout files: `# key: value` lines, then `name,x,y,z,diameter` and one line per antenna.

Keys: description, observatory, source, feed, mount, band_centre_hz, band_width_hz; all may be missing. Positions are
always geocentric (ITRF), in metres.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from importlib import resources

import numpy as np

from ..arguments import checked
from .casa_layout import parse_casa_layout
from .of_ms import is_ms, read_telescope_of_ms
from .oskar_model import is_oskar_model, read_oskar_model
from .telescope import Telescope, TelescopeError, check_antenna

# Short names, and which of the telescopes they stand for.
ALIASES = {
    "alma": "alma13",
    "askap": "askap36",
    "atca": "atca-6a",
    "hera": "hera350",
    "kat7": "kat-7",
    "lofar": "lofar-hba70",
    "lofar-hba": "lofar-hba70",
    "meerkat": "meerkat64",
    "mwa": "mwa-phase1",
    "ngvla": "ngvla-main",
    "ska-low": "ska-low512",
    "ska-mid": "ska-mid197",
    "vla": "vla-a",
}

_COLUMNS = ("name", "x", "y", "z", "diameter")
_TEXT_KEYS = ("description", "observatory", "source", "feed", "mount")
_NUMBER_KEYS = ("band_centre_hz", "band_width_hz")
_KEY_LINE = re.compile(r"#\s*([A-Za-z_]+)\s*:\s*(.*)")


def available() -> list[str]:
    """Names of the telescopes that come with the package, numbers in them by their size."""
    folder = resources.files(__package__) / "data"
    names = [entry.name.removesuffix(".csv") for entry in folder.iterdir() if entry.name.endswith(".csv")]
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


@checked
def get(name: str | os.PathLike) -> Telescope:
    """The telescope of a name, of a short name (`ALIASES`), or in a layout file (a path ending in `.csv`, or in `.cfg`
    as CASA's), of a Measurement Set, or of a telescope model of OSKAR (a folder).

    Capitals, blanks and dashes do not matter in names; a name that is known stands for that telescope, whatever folder
    has it, too. Raises `TelescopeError`, which lists what there is.
    """
    text = os.fspath(name)
    by_plain = {_plain(known): known for known in available()}
    by_plain |= {_plain(alias): known for alias, known in ALIASES.items()}
    known = by_plain.get(_plain(text))
    if known is None:
        if text.lower().endswith((".csv", ".cfg")) or os.sep in text or os.path.isdir(text):
            return read(text)
        if os.path.exists(text):
            raise TelescopeError("layouts are files called *.csv, or *.cfg of CASA", file=text)
        raise TelescopeError(_not_known(text, by_plain))
    content = (resources.files(__package__) / "data" / f"{known}.csv").read_text(encoding="utf-8")
    return parse(content, f"{known}.csv")


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _not_known(name: str, by_plain: dict[str, str]) -> str:
    near = difflib.get_close_matches(_plain(name), by_plain, n=3, cutoff=0.6)
    guess = f" (did you mean {' or '.join(dict.fromkeys(by_plain[n] for n in near))}?)" if near else ""
    return (
        f"no telescope is named {name!r}{guess}; known are {', '.join(available())}, "
        f"for short {', '.join(sorted(ALIASES))}, layout files (.csv, or .cfg as CASA's), Measurement Sets, and "
        "telescope models of OSKAR"
    )


@checked
def read(path: str | os.PathLike) -> Telescope:
    """The telescope in a layout file, of a Measurement Set or of a telescope model of OSKAR; its name is the file's.
    Raises `TelescopeError` with file, line and column."""
    file = os.fspath(path)
    if is_ms(file):
        return read_telescope_of_ms(file)
    if is_oskar_model(file):
        return read_oskar_model(file)
    if os.path.isdir(file):
        raise TelescopeError("this folder is neither a Measurement Set nor a telescope model of OSKAR", file=file)
    try:
        with open(file, encoding="utf-8-sig") as stream:
            content = stream.read()
    except OSError as problem:
        raise TelescopeError(f"cannot read the layout: {problem.strerror or problem}", file=file) from problem
    except UnicodeDecodeError:
        raise TelescopeError("this is not UTF-8 text", file=file) from None
    return (parse_casa_layout if file.lower().endswith(".cfg") else parse)(content, file)


def parse(content: str, file: str) -> Telescope:
    """The telescope in the text of a layout file, called by the file's name without folder and ending."""
    header: dict[str, str | float] = {}
    names: list[str] = []
    rows: list[list[float]] = []
    seen: dict[str, int] = {}
    columns_given = False
    for number, line in enumerate(content.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            _header_line(line.strip(), header, file, number)
        elif line.strip() and not columns_given:
            if tuple(part.strip().lower() for part in line.split(",")) != _COLUMNS:
                raise TelescopeError(f"expected the line {','.join(_COLUMNS)!r}", file=file, line=number, column=1)
            columns_given = True
        elif line.strip():
            name, values = _antenna_line(line, file, number)
            if name in seen:
                raise TelescopeError(
                    f"antenna {name!r} was already given in line {seen[name]}", file=file, line=number, column=1
                )
            seen[name] = number
            names.append(name)
            rows.append(values)
    if not rows:
        raise TelescopeError("the layout has no antennas", file=file)
    table = np.array(rows)
    name = os.path.basename(file)
    try:
        return Telescope(
            name[:-4] if name.lower().endswith(".csv") else name,
            tuple(names),
            table[:, :3],
            table[:, 3],
            **header,
        )
    except TelescopeError as problem:
        raise TelescopeError(problem.message, file=file) from None


def _header_line(line: str, header: dict[str, str | float], file: str, number: int) -> None:
    match = _KEY_LINE.match(line)
    if not match:
        return
    key, value = match[1].lower(), match[2].strip()
    if key in _TEXT_KEYS:
        header[key] = value
    elif key in _NUMBER_KEYS:
        header[key] = _number(value, key, file, number, line.find(value) + 1)
    elif near := difflib.get_close_matches(key, (*_TEXT_KEYS, *_NUMBER_KEYS), n=1, cutoff=0.8):
        # Others are remarks; what is nearly a key would silently be left at its default.
        raise TelescopeError(f"unknown key {key!r}; did you mean {near[0]!r}?", file=file, line=number, column=1)


def _antenna_line(line: str, file: str, number: int) -> tuple[str, list[float]]:
    parts = line.split(",")
    if len(parts) != len(_COLUMNS):
        raise TelescopeError(
            f"{len(parts)} values, expected {len(_COLUMNS)}: {','.join(_COLUMNS)}", file=file, line=number, column=1
        )
    name = parts[0].strip()
    if not name:
        raise TelescopeError("the antenna has no name", file=file, line=number, column=1)
    values, column = [], len(parts[0]) + 2
    for part, what in zip(parts[1:], _COLUMNS[1:], strict=True):
        values.append(_number(part.strip(), what, file, number, column))
        column += len(part) + 1
    try:
        check_antenna(np.array(values[:3]), values[3], name)
    except TelescopeError as problem:
        raise TelescopeError(problem.message, file=file, line=number, column=1) from None
    return name, values


def _number(text: str, what: str, file: str, line: int, column: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TelescopeError(f"{what} is {text!r}, expected a finite number", file=file, line=line, column=column)
    return value
