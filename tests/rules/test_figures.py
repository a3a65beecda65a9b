"""Figures are drawn from the texts beside them, and show what is there: files that exist, arrows that are enforced."""

import importlib.util
import re
from pathlib import Path

import pytest
from test_file_names import NAMED, exists
from test_include_arrows import MAY_INCLUDE

ROOT = Path(__file__).resolve().parents[2]
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.dot"))
FOLDER = re.compile(r"(?<![\w./])((?:memory|runtime|nodes|trees)/[a-z_/]*)(?![\w./])")
# Boxes of the figure of the rooms, by their names there, where these are not the last part of the folder's.
ROOMS = {"memory": "memory", "nodes": "nodes", "folders": "nodes/"}


def test_there_are_figures():
    assert len(FIGURES) >= 3
    assert {path.stem for path in FIGURES} == {path.stem for path in FIGURES[0].parent.glob("*.svg")}


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_the_drawing_is_of_this_text(path):
    spec = importlib.util.spec_from_file_location("draw_figures", ROOT / "scripts" / "draw_figures.py")
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    drawn = drawing.mark(path.read_text(encoding="utf-8")) in path.with_suffix(".svg").read_text(encoding="utf-8")
    assert drawn, f"{path.name} has changed since it was drawn: run scripts/draw_figures.py"


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_figures_name_what_exists(path):
    text = path.read_text(encoding="utf-8").replace("\\n", "\n")
    assert not [name for name in NAMED.findall(text) if not exists(name)]
    assert not [folder for folder in FOLDER.findall(text) if not (ROOT / folder).is_dir()]


def arrows() -> set[tuple[str, str]]:
    """Between rooms of C++, by folder."""
    text = (ROOT / "docs" / "figures" / "rooms.dot").read_text(encoding="utf-8")
    folder = {room.rsplit("/", 1)[-1]: room for room in MAY_INCLUDE} | ROOMS
    return {(folder[a], folder[b]) for a, b in re.findall(r"(\w+) -> (\w+)", text) if a != "trees"}


def test_the_rooms_are_drawn_as_they_are_enforced():
    drawn = arrows()
    assert {room for arrow in drawn for room in arrow} == set(MAY_INCLUDE)
    assert not [f"{a} -> {b}" for a, b in drawn if b not in MAY_INCLUDE[a]]
    reached = {room: {b for a, b in drawn if a == room} for room in MAY_INCLUDE}
    for _ in MAY_INCLUDE:
        reached = {room: found.union(*(reached[b] for b in found)) for room, found in reached.items()}
    missing = [f"{room} -> {b}" for room, may in MAY_INCLUDE.items() for b in may - {room} if b not in reached[room]]
    assert not missing
