"""What tables of casacore hold that CASA keeps images and lists of components in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence

from .. import _core
from .errors import SkyModelError

#: Numbers that are none, as C++ writes them and as JSON does in Python.
_JSON = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_TEXT_OR_NO_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|(?<=[\s\[:,])(-?(?:nan|inf))(?=[\s\],}])')
_FORMATS = {"Image": "casa-image", "Component List": "casa-components"}


def format_of_table(path: str) -> str | None:
    """What a folder holds: "casa-image" or "casa-components"; None where it is no table. Raises `SkyModelError` for a
    table of another kind."""
    try:
        with open(os.path.join(path, "table.info"), encoding="utf-8", errors="replace") as stream:
            kind = stream.readline().partition("=")[2].strip()
    except OSError:
        return None
    if kind not in _FORMATS:
        raise SkyModelError(
            f"a table of the kind {kind or 'that has no name'!r}, expected an image or a list of components", file=path
        )
    return _FORMATS[kind]


def contents_of(path: str, columns: Sequence[str] = ()) -> tuple[dict, list[dict]]:
    """The keywords of a table, and its rows as far as `columns` go. Raises `SkyModelError` where it cannot be read."""
    try:
        text = _core.table_as_json(path, list(columns))
    except _core.Error as problem:  # which names the file
        raise SkyModelError(f"cannot read the sky model: {problem}") from problem
    found = json.loads(_TEXT_OR_NO_NUMBER.sub(lambda match: _JSON[match[1]] if match[1] else match[0], text))
    return found["keywords"], [found["rows"][str(row)] for row in range(len(found["rows"]))]
