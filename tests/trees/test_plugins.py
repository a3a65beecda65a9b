"""Plugins whose classes no script could write, and files that are none."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import rimetree as rt
from rimetree import nodes, plugins


def described(name: str, children=("x",), fields=()) -> dict:
    child = {"shape": "any", "unit": "any", "doc": "", "optional": False, "repeated": False}
    field = {"type": "real", "required": False, "default": 1.0, "unit": "", "doc": ""}
    return {
        "name": name,
        **dict.fromkeys(("summary", "formula", "result", "reference"), ""),
        "children": [{"label": label, **child} for label in children],
        "state": [{"name": one, **field} for one in fields],
        "minimum_children": 0,
    }


@pytest.mark.parametrize(
    "bad, why",
    [
        (described("lambda"), "its name is no word that Python takes"),
        (described("A Node"), "its name is no word that Python takes"),
        (described("Forest"), "rimetree has something else of this name"),
        (described("Signature"), "rimetree has something else of this name"),
        (described("BadLabel", children=("class",)), "'class' is the name of a child or state field, but no word"),
        (described("BadField", fields=("a b",)), "'a b' is the name of a child or state field, but no word"),
        (described("Twice", children=("x", "x")), "the name 'x' of a child or state field is taken"),
        (described("Both", fields=("x",)), "the name 'x' of a child or state field is taken"),
        (described("Origin", fields=("origin",)), "the name 'origin' of a child or state field is taken"),
    ],
    ids=lambda one: one["name"] if isinstance(one, dict) else "",
)
def test_classes_that_no_script_could_write_are_left_out(monkeypatch, bad, why):
    """One label that is a word of Python's own ended in a ValueError, for all plugins that were loaded afterwards."""
    before = nodes._core.node_classes()
    brought = {"name": "bad", "path": "bad.so", "about": "", "classes": [bad["name"], "AGoodOne"], "clashes": []}
    core = SimpleNamespace(
        node_classes=lambda: [*before, bad, described("AGoodOne")], load_plugin=lambda path: dict(brought)
    )
    monkeypatch.setattr(nodes, "_core", core)
    monkeypatch.setattr(plugins, "_core", core)
    meant = getattr(rt, bad["name"], None)
    try:
        with pytest.warns(UserWarning, match=f"plugin 'bad': node class '{bad['name']}' was left out: {why}") as said:
            assert rt.load_plugin("bad.so").classes == ["AGoodOne"]
        assert said[0].filename == __file__
        assert callable(rt.AGoodOne) and getattr(rt, bad["name"], None) is meant
    finally:
        del nodes._functions["AGoodOne"], nodes.AGoodOne
        nodes.__all__.remove("AGoodOne")


def test_classes_that_are_registered_twice_are_not_those_that_exist(monkeypatch):
    """It had been warned of one that exists already, which it did not."""
    before = nodes._core.node_classes()
    brought = {"name": "two", "path": "two.so", "about": "", "classes": ["AGoodOne"], "clashes": ["Add", "AGoodOne"]}
    core = SimpleNamespace(
        node_classes=lambda: [*before, described("AGoodOne")], load_plugin=lambda path: dict(brought)
    )
    monkeypatch.setattr(nodes, "_core", core)
    monkeypatch.setattr(plugins, "_core", core)
    try:
        with pytest.warns(UserWarning) as said:
            rt.load_plugin("two.so")
        assert [str(one.message) for one in said] == [
            "plugin 'two' registers AGoodOne more than once; the first one counts",
            "plugin 'two': node classes Add exist already and were left out",
        ]
    finally:
        del nodes._functions["AGoodOne"], nodes.AGoodOne
        nodes.__all__.remove("AGoodOne")


@pytest.mark.parametrize("kept", [0.1, 0.5])
def test_a_file_that_is_cut_short_is_refused(tmp_path, kept):
    """As a copy that ran out of space leaves it. A bus error had ended the program."""
    whole = Path(plugins.own_plugin.path).read_bytes()
    cut = tmp_path / "cut.so"
    cut.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(rt.Error, match=r"cannot load plugin .*cut\.so: the file is cut short"):
        rt.load_plugin(cut)
