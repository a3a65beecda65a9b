"""Forests as SVG."""

import shutil

import pytest

import rimetree as rt
from rimetree import plots

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's program dot is not installed")


@pytest.fixture
def forest():
    ns = rt.NodeScope()
    ns.x << rt.Constant(2.0)
    for i in range(4):
        ns.y(i) << rt.Freq() * float(i + 1)
        ns.z(i) << ns.y(i) + ns.x
    ns.unused << rt.Time()
    return rt.Forest(ns)


def test_nodes_and_arrows(forest):
    source = plots.forest_graph(forest).source
    for name in ("y:2\nMultiply", "z:3\nAdd", "unused\nTime"):
        assert name in source
    nodes = {node["name"]: index for index, node in enumerate(forest.nodes())}
    assert f"n{nodes['x']} -> n{nodes['z:0']}" in source


def test_only_what_is_below_a_root(forest):
    source = plots.forest_graph(forest, root="z:1").source
    assert "z:1" in source
    assert "z:2" not in source
    assert "unused" not in source
    with pytest.raises(rt.Error, match="no node 'w'"):
        plots.forest_graph(forest, root="w")


def test_large_forests_are_drawn_by_batch(forest):
    source = plots.forest_graph(forest, max_nodes=5).source
    assert "4 x Add" in source
    assert "4 x Multiply" in source
    assert '" 4"' in source  # four arrows in one


@needs_dot
def test_svg(forest, tmp_path):
    assert plots.draw(forest, tmp_path / "a.svg") == f"{len(forest.nodes())} nodes"
    text = (tmp_path / "a.svg").read_text()
    assert text.rstrip().endswith("</svg>")
    assert "z:3" in text
    assert plots.draw(forest, tmp_path / "a.svg", max_nodes=2).endswith("drawn by batch")


def test_without_graphviz_the_error_says_what_to_install(forest, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(rt.Error, match="Debian package graphviz"):
        plots.draw(forest, tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []
