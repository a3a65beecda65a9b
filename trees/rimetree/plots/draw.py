"""Forests as pictures: nodes and the arrows from children to those that use them, by Graphviz."""

from __future__ import annotations

import os
from collections import Counter

from .._core import Error
from ..forest import Forest
from ..whole_file import whole_file

#: What a node depends on decides its colour: constants, the domain (times, frequencies), data.
_COLOURS = {0: "#e8f0e8", 1: "#e3ecf7", 2: "#fbeadb"}


def forest_graph(forest: Forest, *, root: str | None = None, max_nodes: int = 150):
    """A `graphviz.Digraph` of a forest, or of what is below `root`; by batch where there are more than `max_nodes`."""
    import graphviz

    nodes = forest.nodes()
    shown = _below(nodes, root)
    graph = graphviz.Digraph("forest", node_attr={"shape": "box", "style": "filled,rounded", "fontsize": "11"})
    graph.attr(rankdir="BT", fontname="Helvetica")
    graph.attr("node", fontname="Helvetica")
    graph.attr("edge", fontname="Helvetica", fontsize="9", color="#666666")
    if len(shown) <= max_nodes:
        _draw_nodes(graph, nodes, shown)
    else:
        _draw_batches(graph, nodes, shown)
    return graph


def draw(forest: Forest, path: str | os.PathLike, *, root: str | None = None, max_nodes: int = 150) -> str:
    """Write the picture as SVG, whole or not at all; returns what was drawn.

    Raises `Error` where Graphviz's program `dot` is missing or fails.
    """
    import graphviz

    graph = forest_graph(forest, root=root, max_nodes=max_nodes)
    try:
        picture = graph.pipe(format="svg")
    except graphviz.ExecutableNotFound:
        raise Error("drawing needs Graphviz's program dot (Debian package graphviz), which was not found") from None
    except graphviz.CalledProcessError as problem:
        raise Error(f"Graphviz failed: {problem}") from None
    with whole_file(path) as temporary, open(temporary, "wb") as stream:
        stream.write(picture)
    count = len(_below(forest.nodes(), root))
    return f"{count} nodes" if count <= max_nodes else f"{count} nodes, drawn by batch"


def _below(nodes: list[dict], root: str | None) -> list[int]:
    """Indices of the nodes to show, ascending."""
    if root is None:
        return list(range(len(nodes)))
    start = [index for index, node in enumerate(nodes) if node["name"] == root]
    if not start:
        raise Error(f"there is no node {root!r}")
    seen, waiting = set(start), start
    while waiting:
        for child in nodes[waiting.pop()]["children"]:
            if child >= 0 and child not in seen:
                seen.add(child)
                waiting.append(child)
    return sorted(seen)


def _colour(node: dict) -> str:
    return _COLOURS[2 if node["dependencies"] & 2 else min(1, node["dependencies"])]


def _draw_nodes(graph, nodes: list[dict], shown: list[int]) -> None:
    for index in shown:
        node = nodes[index]
        graph.node(f"n{index}", f"{_plain(node['name'])}\n{node['class']} {node['dims']}", fillcolor=_colour(node))
        for child in node["children"]:
            if child >= 0:
                graph.edge(f"n{child}", f"n{index}")


def _draw_batches(graph, nodes: list[dict], shown: list[int]) -> None:
    members: dict[int, list[int]] = {}
    for index in shown:
        members.setdefault(nodes[index]["batch"], []).append(index)
    edges: Counter = Counter()
    for batch, indices in members.items():
        first = nodes[indices[0]]
        count = f"{len(indices)} x " if len(indices) > 1 else ""
        more = f"{_plain(first['name'])}, ..." if len(indices) > 1 else _plain(first["name"])
        graph.node(f"b{batch}", f"{count}{first['class']} {first['dims']}\n{more}", fillcolor=_colour(first))
        for index in indices:
            for child in nodes[index]["children"]:
                if child >= 0:
                    edges[nodes[child]["batch"], batch] += 1
    for (child, parent), count in edges.items():
        graph.edge(f"b{child}", f"b{parent}", label=f" {count}" if count > 1 else "")


def _plain(name: str) -> str:
    """Without what Graphviz takes for an escape."""
    return name.replace("\\", "\\\\")
