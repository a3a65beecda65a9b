"""One tree over rows of several fields: directions in it are relative to one phase centre, rows to that of each."""

from __future__ import annotations

import os

from ..some_names import some_names
from .reading import OpenSet, Tiles, inspect


def centres_warnings(forest, path: str | os.PathLike | OpenSet, chosen: dict) -> list[str]:
    """A warning where the tree of a forest reads UVW of fields that have different phase centres; `chosen`: what
    `run_options` gives."""
    if chosen["field_id"] is not None or chosen["phase_centre_rad"] is not None:
        return []
    spigots = (one["name"] for one in forest.nodes() if one["class"] == "Spigot")
    if not any(forest.get_state(name)["input_column"] == "UVW" for name in spigots):
        return []
    groups = Tiles(path, [], chosen).keys()
    fields = sorted({group["field_id"] for group in groups})
    if len(fields) < 2:
        return []
    there = inspect(path, scan_cells=False)["fields"]
    if len({(there[one]["ra_rad"], there[one]["dec_rad"]) for one in fields}) < 2:
        return []
    names = some_names([f"{one} ({there[one]['name']})" for one in fields])
    return [
        f"one tree sees fields of different phase centres, {names}: directions in it are relative to one of them; "
        "choose one by field_id, or move all to one by phase_centre_rad"
    ]
