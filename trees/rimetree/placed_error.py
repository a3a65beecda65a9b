"""Errors in files: each says where in which file it arose."""

from __future__ import annotations

from ._core import Error


class PlacedError(Error, ValueError):
    """What a file holds is wrong, or what would be written to one.

    Attributes
    ----------
    message : the text without the place
    file, line, column : where in a file (line and column count from 1), or None where there is no file
    """

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None):
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
