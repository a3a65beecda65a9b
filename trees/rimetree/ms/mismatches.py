"""Where one tree does not fit all rows that it runs over: directions in it are relative to one phase centre, and its
brightness is that of one kind of feeds."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import numpy as np

from ..some_names import some_names
from .reading import OpenSet, Tiles, feed_of, inspect, sample_coordinates

_LOOKED = 1000  # nodes of brightness: those of a tree are alike
_STOKES_I = 1


def mismatches(forest, path: str | os.PathLike | OpenSet, chosen: dict) -> list[str]:
    """What to warn of before what comes out of a forest is believed; `chosen`: what `run_options` gives."""
    return [*_of_centres(forest, path, chosen), *_of_feeds(forest, path, chosen)]


def _of_centres(forest, path: str | os.PathLike | OpenSet, chosen: dict) -> list[str]:
    """Where the tree reads UVW of fields that have different phase centres."""
    if chosen["field_id"] is not None or chosen["phase_centre_rad"] is not None:
        return []
    if not any(forest.get_state(one["name"])["input_column"] == "UVW" for one in _of_class(forest, "Spigot")):
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


def _of_feeds(forest, path: str | os.PathLike | OpenSet, chosen: dict) -> list[str]:
    """Where the tree's sky is polarised and seen by feeds of one kind, and data have the other."""
    made = list(itertools.islice(_of_class(forest, "Stokes"), _LOOKED))
    feeds = {forest.get_state(one["name"])["feed"] for one in made}
    if len(feeds) != 1:  # no brightness, or that of both, as where one is turned into the other
        return []
    (feed,) = feeds
    groups, other = Tiles(path, [], chosen).keys(), []
    for window in sorted({group["data_desc_id"] for group in groups}):
        (tile,) = sample_coordinates(path, 1, data_desc_id=window)
        types = [int(one) for one in tile["correlation_type"]]
        if types != [_STOKES_I] and feed_of(types) != feed:
            other.append(str(window))
    if not other or not any(_is_polarised(forest, one) for one in made):
        return []
    is_feed = "linear" if feed == "circular" else "circular"
    return [
        f"the brightness of this tree is that of {feed} feeds, and data description {', '.join(other)} has {is_feed} "
        f'ones: give Stokes, psv_tree and the like feed="{is_feed}" for it (ms.feed in scripts of `rimetree run`), '
        "unless the tree turns one into the other"
    ]


def _of_class(forest, name: str) -> Iterator[dict]:
    """As `Forest.nodes`, of a class; a table of all nodes would take long."""
    return (forest._core.node(number) for number, one in enumerate(forest._core.classes()) if one == name)


def _is_polarised(forest, node: dict) -> bool:
    """Whether Q, U or V of a `Stokes` node are other than 0, as far as a constant says so."""
    while node["class"] in ("Stokes", "Spectrum"):
        node = forest._core.node(node["children"][0])
    return node["class"] != "Constant" or bool(np.any(forest.get_state(node["name"])["value"][..., 1:]))
