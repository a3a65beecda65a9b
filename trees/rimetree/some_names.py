"""Many names in one line."""

from __future__ import annotations

from collections.abc import Collection


def some_names(names: Collection[str], most: int = 5) -> str:
    """The first of many names, and how many there are."""
    text = ", ".join(list(names)[:most])
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"
