"""Errors and warnings of sky models: each says where in which file it arose."""

from __future__ import annotations

from ..placed_error import PlacedError


class SkyModelError(PlacedError):
    """A sky model that cannot be read, written or built."""


class UnsupportedError(SkyModelError):
    """What a file holds is well formed, but a `Source` (or the format written) cannot express it.

    Only this kind of error is left out, and listed, by ``read(..., skip_unsupported=True)``.
    """
