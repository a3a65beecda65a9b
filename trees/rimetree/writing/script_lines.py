"""Which line of a script makes what is being made."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys

import numpy as np

#: How the names of this package's files begin.
PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _passed() -> tuple[str, ...]:
    passed = [PACKAGE_FOLDER, os.path.dirname(np.__file__) + os.sep, contextlib.__file__]
    astropy = importlib.util.find_spec("astropy")  # found, not imported
    if astropy is not None and astropy.origin:
        passed.append(os.path.dirname(astropy.origin) + os.sep)
    return tuple(passed)


#: Whose frames are no lines of a script: this package's, those of NumPy and of astropy's quantities, and those of
#: decorators that are contexts.
PASSED = _passed()
_LINES: dict[tuple[str, int], str] = {}  # one line of a script makes many nodes


def script_line(depth: int = 1) -> str:
    """ "file:line" of the innermost frame outside this package: where the user wrote what is being made.

    Empty where nobody did: a command makes its trees itself. `depth`: how many frames are certainly of this package.
    """
    frame = sys._getframe(depth)
    while frame is not None and frame.f_code.co_filename.startswith(PASSED):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__package__") == "click":
        return ""
    place = frame.f_code.co_filename, frame.f_lineno
    line = _LINES.get(place)
    if line is None:
        line = _LINES[place] = f"{place[0]}:{place[1]}"
    return line
