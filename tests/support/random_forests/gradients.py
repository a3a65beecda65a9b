"""Gradients of random trees against differences of the second opinion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import second_opinion

import rimetree as rt

from .comparing import MARGIN, PLACES, Case, Count
from .growing import PROPOSALS, Growth, random_cells
from .tree import Node, Tree

#: What derivatives cannot be told of: they jump, or are not of numbers.
CORRELATOR = {"Voltages", "Channelise", "Correlate", "Correlation"}
WITHOUT = {"Time", "Freq", "Grid", "GaussNoise", "DeviceMemory", "ZeroFlagger", "PyNode", "UVW", "ChiSquare", "Condeq"}


def gradient_case(rng: np.random.Generator) -> Case:
    """A tree on top of solvable Parms whose root is one real number: the sum of all squares of the last node."""
    g = Growth(rng, random_cells(rng))
    parms = [g.propose("Parm") for _ in range(3)]
    for k, node in enumerate(g.nodes):
        if node.class_name == "Parm":
            g.nodes[k] = replace(node, state={**node.state, "solvable": True})
    classes = sorted(set(PROPOSALS) - WITHOUT - {"Parm", "Constant", "LogLikelihood", *CORRELATOR})
    last = next((name for name in parms if name), None) or g.random_constant()
    for _ in range(int(rng.integers(3, 20))):
        last = g.propose(str(rng.choice(classes))) or last
        g.refused = None
    for name, (class_name, state) in {"norm": ("Norm", {}), "square": ("Sqr", {}), "sum": ("Sum", {})}.items():
        node = Node(name, class_name, (("x", last),), state)
        g.interpreter.add(node)
        g.nodes.append(node)
        last = name
    return Case(Tree(g.nodes, ["sum"]).pruned(), g.cells)


def gradient_difference(case: Case, place: str, count: Count) -> str:
    """What is wrong with a gradient, or nothing."""
    forest = rt.Forest(case.tree.scope(), **PLACES[place])
    value, gradient = forest.value_and_gradient("sum", case.cells)
    for parm in forest.parameters():
        at = forest.parameter_vector()[parm.unknowns].reshape(parm.shape)
        for k in np.ndindex(at.shape):
            found, (slope, error) = gradient[parm.unknowns].reshape(parm.shape)[k], slope_of(case, parm.name, at, k)
            if not (error <= 1e-3 * abs(slope) + 1e-6 * abs(value)):  # not smooth enough here to be told
                count.doubtful += 1
                continue
            count.compared += 1
            if not abs(found - slope) <= error:
                return f"d sum / d {parm.name}{list(k)} is {found}, expected {slope} +- {error:.2g}"
    return ""


def slope_of(case: Case, parm: str, at: np.ndarray, k: tuple[int, ...]) -> tuple[float, float]:
    """A central difference and what it may be off by: by rounding, by what two steps differ in, and by a kink, as the
    smallest of equal numbers has: the second difference of twice a step is four times as large, there but twice."""
    h = 1e-5 * max(1.0, abs(at[k]))
    node = case.tree.named(parm)

    def value(step: float) -> np.ndarray:
        """As it is, and as rounding may have it."""
        moved = at.copy()
        moved[k] += step
        own = replace(node, state={**node.state, "value": moved})
        tree = Tree([own if one.name == parm else one for one in case.tree.nodes], case.tree.roots)
        return second_opinion.interpret(tree, case.cells)["sum"].x.ravel().real

    here, slopes, bends, rounding = value(0.0)[0], [], [], 0.0
    for step in (h, 2 * h):
        ahead, behind = value(step), value(-step)
        rounding = max(rounding, *(float(np.max(np.abs(x - x[0]))) / step for x in (ahead, behind)))
        slopes.append((ahead[0] - behind[0]) / (2 * step))
        bends.append((ahead[0] - 2 * here + behind[0]) / h)
    kink = abs(bends[1] - 4 * bends[0])
    return slopes[0], 2 * abs(slopes[1] - slopes[0]) + kink + MARGIN * rounding + 1e-9 * abs(slopes[0])
