"""Cutting a failing case down: what is left still fails, and nothing more can be taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import second_opinion

import rimetree as rt

from .comparing import Case, observed
from .tree import Node, Tree, infos


def smallest(case: Case, fails: Callable[[Case], bool], most: int = 400) -> Case:
    """A smaller case that fails too, after at most so many tries."""
    tries = 0
    going = True
    while going:
        going = False
        for smaller in simpler(case):
            tries += 1
            if tries > most:
                return case
            if fails(smaller):
                case, going = smaller, True
                break
    return case


def simpler(case: Case) -> Iterator[Case]:
    """Cases with less in them, those with much less first."""
    tree = case.tree
    if len(tree.roots) > 1:
        for root in tree.roots:
            yield replace(case, tree=Tree(tree.nodes, [root]).pruned())
    for root in tree.roots[:1]:
        for child in dict.fromkeys(child for _, child in tree.named(root).children):
            yield replace(case, tree=Tree(tree.nodes, [child]).pruned())
    yield from (replace(case, tree=tree.pruned()) for tree in with_less(tree))
    yield from (replace(case, cells=cells) for cells in fewer_cells(case.cells))
    yield from (replace(case, tree=tree.pruned()) for tree in with_constants(case))


def changed(tree: Tree, node: Node) -> Tree:
    return Tree([node if one.name == node.name else one for one in tree.nodes], tree.roots)


def with_less(tree: Tree) -> Iterator[Tree]:
    """A child less where the class allows it, or a state field less."""
    for node in reversed(tree.nodes):
        info, labels = infos()[node.class_name], [label for label, _ in node.children]
        free = {
            spec["label"]
            for spec in info["children"]
            if spec["optional"] or (spec["repeated"] and labels.count(spec["label"]) > info["minimum_children"])
        }
        step = 2 if node.class_name == "PSV" else 1  # Jones terms come in pairs
        for k in range(len(node.children)):
            if node.children[k][0] in free:
                rest = node.children[:k] + node.children[k + (step if node.children[k][0] == "jones" else 1) :]
                yield changed(tree, replace(node, children=rest))
        for name in node.state:
            if name not in ("value", "cells_rank", "index", "axis", "evaluate", "dims", "solvable"):
                rest = {key: value for key, value in node.state.items() if key != name}
                yield changed(tree, replace(node, state=rest))


def fewer_cells(cells: rt.Cells) -> Iterator[rt.Cells]:
    names = (("time_s", "time_width_s"), ("freq_hz", "freq_width_hz"), ("l", None), ("m", None))
    axes = [None if axis is None else (np.asarray(axis[0]), np.asarray(axis[1])) for axis in cells.to_runtime()]
    for axis in axes:
        if axis is not None and len(axis[0]) > 1:
            for part in (slice(0, 1), slice(0, len(axis[0]) // 2)):
                fields = {}
                for own, (centre, width) in zip(axes, names, strict=True):
                    if own is not None:
                        cut = part if own is axis else slice(None)
                        fields[centre] = own[0][cut]
                        fields |= {width: own[1][cut]} if width else {}
                yield rt.Cells(**fields)


def with_constants(case: Case) -> Iterator[Tree]:
    """A constant in the place of a node, first the value that it has, then ones."""
    try:
        values = second_opinion.interpret(case.tree, case.cells, outside=observed(case), precision=case.error)
    except (second_opinion.RefusedError, KeyError, rt.Error):
        return
    for node in reversed(case.tree.nodes):
        value = values[node.name]
        if node.class_name == "Constant":
            array = np.asarray(node.state["value"])
            whole = np.round(array)
            if not np.array_equal(whole, array):
                yield changed(case.tree, replace(node, state={**node.state, "value": whole}))
        elif node.name not in case.tree.roots and not np.any(value.flags) and not value.missing:
            array, rank = value.x[0], 4
            while rank and array.shape[-1] == 1:
                array, rank = array[..., 0], rank - 1
            yield changed(case.tree, Node(node.name, "Constant", (), {"value": array, "cells_rank": rank}))
