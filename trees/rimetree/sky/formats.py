"""Reading and writing sky-model files of every format: telling formats apart, and writing all or nothing."""

from __future__ import annotations

import contextlib
import gc
import glob
import itertools
import os
import re
from collections.abc import Callable, Iterator

from ..arguments import checked
from ..whole_file import whole_file
from .ao import looks_like_ao, read_ao
from .bbs import KNOWN, read_bbs
from .bbs_writing import write_bbs
from .casa_components import read_casa_components
from .casa_table import format_of_table
from .catalogue import is_catalogue, read_catalogue
from .columns import find_header, parse_header
from .errors import SkyModelError, UnsupportedError
from .fits_image import TAYLOR_NAME, format_of_fits, is_fits, read_fits
from .flux_calibrators import calibrator_of_path, known_calibrators
from .healpix import read_healpix
from .model import SkyModel
from .oskar import oskar_key, read_oskar
from .reading import Reading, numbered_lines, read_text
from .sagecal import looks_like_sagecal, read_sagecal
from .skyh5 import is_hdf5, read_skyh5
from .skyh5_writing import write_skyh5
from .source_lists import looks_like_source_list, read_source_list
from .tigger_html import read_tigger_html
from .tigger_text import find_text_header, read_tigger_text
from .wsclean import read_wsclean, write_wsclean


def _read_hyperdrive(reading: Reading, text: str) -> SkyModel:
    from .hyperdrive import read_hyperdrive  # with a library for YAML, which no other format needs

    return read_hyperdrive(reading, text)


def _write_hyperdrive(model: SkyModel) -> str:
    from .hyperdrive_writing import write_hyperdrive

    return write_hyperdrive(model)


def _read_fits(reading: Reading, text: str) -> SkyModel:
    return read_fits([reading.file])


READERS: dict[str, Callable[[Reading, str], SkyModel]] = {
    "bbs": read_bbs,
    "wsclean": read_wsclean,
    "tigger-html": read_tigger_html,
    "tigger-text": read_tigger_text,
    "oskar": read_oskar,
    "hyperdrive": _read_hyperdrive,
    "rts": read_source_list,
    "woden": read_source_list,
    "ao": read_ao,
    "sagecal": read_sagecal,
    "catalogue": read_catalogue,
    "fits": _read_fits,
    "casa-image": _read_fits,
    "casa-components": read_casa_components,
    "healpix": read_healpix,
    "skyh5": read_skyh5,
}
#: Formats that are never text; a catalogue may be text or FITS.
_BINARY = ("fits", "casa-image", "casa-components", "healpix", "skyh5")
WRITERS: dict[str, Callable[[SkyModel], str | bytes]] = {
    "bbs": write_bbs,
    "wsclean": write_wsclean,
    "hyperdrive": _write_hyperdrive,
    "skyh5": write_skyh5,
}
#: What names of files end in that other programs write.
_READ_ONLY = {".lsm.html": "Tigger", ".osm": "OSKAR", ".json": "hyperdrive in JSON", ".fits": "images", ".gz": "gzip"}
_ENDINGS = {"-sources.txt": "wsclean", ".yaml": "hyperdrive", ".yml": "hyperdrive", ".skyh5": "skyh5"}

_LIKE_A_NUMBER = re.compile(r"[+-]?([\d.].*|nan|inf|infinity)", re.IGNORECASE)


@checked
def detect(text: str, file: str) -> str:
    """The format of a file's text; its name decides only between BBS and OSKAR tables with the same columns.

    Raises `SkyModelError` where it is none that can be read, saying what it looks like where that is known.
    """
    if re.search(r"<[^>]*\bmdltype\s*=", text):
        return "tigger-html"
    if _looks_like_hyperdrive(text):
        return "hyperdrive"
    if find_text_header(text):
        return "tigger-text"
    if looks_like_ao(text):
        return "ao"
    if looks_like_source_list(text):
        return "woden" if re.search(r"^\s*SOURCE\s+\S+\s+P\s", text, re.MULTILINE) else "rts"
    if header := find_header(numbered_lines(text)):
        return _detect_table(header, file)
    if is_catalogue(text):
        return "catalogue"
    if looks_like_sagecal(text):
        return "sagecal"
    lines = ((number, line) for number, line in numbered_lines(text) if line.split("#", 1)[0].strip())
    content = list(itertools.islice(lines, 20))
    if content and (file.lower().endswith(".osm") or all(_is_numeric(line) for _, line in content)):
        return "oskar"
    first = content[0] if content else (1, "")
    raise SkyModelError(
        f"not a sky model that can be read ({_other(text, first[1])}); formats are {', '.join(READERS)}",
        file=file,
        line=first[0],
        column=1,
    )


def _looks_like_hyperdrive(text: str) -> bool:
    keys = ("comp_type", "flux_type")
    return all(key in text for key in keys) and all(re.search(rf"\b{key}[\"']?\s*:", text) for key in keys)


def _is_numeric(line: str) -> bool:
    words = [word for word in re.split(r"[\s,]+", line.split("#", 1)[0]) if word]
    return all(_LIKE_A_NUMBER.fullmatch(word) for word in words)


def _detect_table(header: tuple[int, int, str], file: str) -> str:
    columns = parse_header(Reading(file), *header)
    names = {column.name.lower() for column in columns if not column.is_dummy}
    if file.lower().endswith(".osm") or any(name not in KNOWN and oskar_key(name) for name in names):
        return "oskar"
    if "logarithmicsi" in names and not names & {"patch", "q", "u", "v"}:
        return "wsclean"
    return "bbs"


def _other(text: str, line: str) -> str:
    if not line:
        return "the file is empty"
    words = line.split()
    if len(words) >= 17 and all(re.fullmatch(r"[+-]?[\d.]+", word) for word in words[1:8]):
        return "a table of SAGECal or one of Tigger without a header; say which: format='sagecal' or 'tigger-text'"
    return "no format line, no Tigger header, no columns of a catalogue that is known, no columns of numbers"


@checked
def read(path: str | os.PathLike, format: str | None = None, skip_unsupported: bool = False) -> SkyModel:
    """Read a sky model.

    `format` is one of `READERS` (default: found from the content). What the file has and a `Source` cannot express
    (unknown columns, kinds of sources, ...) is an error; with `skip_unsupported` such sources are left out, such
    columns passed over, and both listed in the model's `skipped`. A path with wildcards, such as "field-0*-model.fits",
    is of model images of several frequencies. Where there is no file "3C286" that is the calibrator (`calibrator`);
    `format` is then that of its image. Raises `SkyModelError` with file, line and column.
    """
    file = os.fspath(path)
    if format is not None and format not in READERS:
        raise SkyModelError(f"unknown format {format!r}; formats are {', '.join(READERS)}")
    if known := calibrator_of_path(file):
        return known.calibrator.model(None if known.image is None else read(known.image, format))
    if glob.has_magic(file) and not os.path.lexists(file):
        return _read_images(file)
    if format is None and not os.path.lexists(file) and not re.search(r"[./\\]", file):
        raise SkyModelError(
            f"there is no such file, and no calibrator of this name; {known_calibrators(file)}", file=file
        )
    if not os.path.lexists(file) and os.path.lexists(f"{file}.tt0"):
        raise SkyModelError(f"there is no such file, but {file}.tt0, the first Taylor term of a spectrum", file=file)
    if format is None and os.path.isdir(file):
        format = format_of_table(file)
    elif format is None and is_fits(file):
        format = format_of_fits(file)
    elif format is None and is_hdf5(file):
        format = "skyh5"
    is_text = format not in _BINARY and not (format == "catalogue" and is_fits(file))
    text = read_text(file) if is_text else ""
    with _without_collection():
        return READERS[format or detect(text, file)](Reading(file, skip_unsupported), text)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """The garbage collector goes through all that is kept over and over, and finds nothing: of a million sources it
    takes a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_images(pattern: str) -> SkyModel:
    files = sorted(glob.glob(pattern))
    if not files:
        raise SkyModelError("there are no files of such names", file=pattern)
    if others := [file for file in files if format_of_table(file) != "casa-image" and not is_fits(file)]:
        raise SkyModelError("no model image; only these are read by names with wildcards", file=others[0])
    if all(TAYLOR_NAME.fullmatch(file) for file in files):
        raise SkyModelError(f"these are Taylor terms of a spectrum; {files[0]} stands for all of them", file=pattern)
    return read_fits(files)


@checked
def format_to_write(path: str | os.PathLike) -> str:
    """What a file's name says of its format: "wsclean" if it ends in `-sources.txt`, "hyperdrive" if in `.yaml` or
    `.yml`, "skyh5" if in `.skyh5`, else "bbs". Raises `SkyModelError` for what other programs call files of formats
    that are read only."""
    file = os.fspath(path)
    for ending, name in _READ_ONLY.items():
        if file.lower().endswith(ending):
            raise SkyModelError(
                f"files called *{ending} are of {name}, which is read but not written; choose another name, or say one "
                f"of the formats {', '.join(WRITERS)}",
                file=file,
            )
    return next((format for ending, format in _ENDINGS.items() if file.lower().endswith(ending)), "bbs")


@checked
def write(model: SkyModel, path: str | os.PathLike, format: str | None = None) -> None:
    """Write a sky model; the file appears complete or not at all (an existing one is replaced at the end).

    `format` is one of `WRITERS` (default: that of `format_to_write`). Raises `SkyModelError` where the format cannot
    hold something of the model or the file cannot be written.
    """
    file = os.fspath(path)
    if format is None:
        format = format_to_write(file)
    if format not in WRITERS:
        raise SkyModelError(f"format {format!r} cannot be written; formats are {', '.join(WRITERS)}", file=file)
    try:
        content = WRITERS[format](model)
    except UnsupportedError as problem:
        raise UnsupportedError(problem.message, file=file) from None
    try:
        with whole_file(file) as temporary, open(temporary, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    except OSError as problem:
        raise SkyModelError(problem.strerror or str(problem), file=file) from problem
