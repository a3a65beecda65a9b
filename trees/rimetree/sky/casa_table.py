"""What tables of casacore hold that CASA keeps images and lists of components in."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from .. import _core
from .errors import SkyModelError

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
        found = json.loads(_core.table_as_json(path, list(columns)))
    except _core.Error as problem:  # which names the file
        raise SkyModelError(f"cannot read the sky model: {problem}") from problem
    except ValueError as problem:  # of numbers that are none, which JSON does not know
        raise SkyModelError(f"the table holds what is no number: {problem}", file=path) from problem
    return found["keywords"], [found["rows"][str(row)] for row in range(len(found["rows"]))]
