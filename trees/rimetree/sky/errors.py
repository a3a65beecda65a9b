"""Errors and warnings of sky models: each says where in which file it arose."""

from __future__ import annotations


class SkyModelError(ValueError):
    """A sky model that cannot be read, written or built.

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


class UnsupportedError(SkyModelError):
    """What a file holds is well formed, but a `Source` (or the format written) cannot express it.

    Only this kind of error is left out, and listed, by ``read(..., skip_unsupported=True)``.
    """
