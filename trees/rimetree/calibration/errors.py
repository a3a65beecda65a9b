"""What is wrong with a calibration that somebody asked for."""

from __future__ import annotations

from .._core import Error


class CalibrationError(Error):
    """Terms, solutions or files that do not fit together."""


class NothingUsableError(CalibrationError):
    """Solutions of which nothing can be used."""
