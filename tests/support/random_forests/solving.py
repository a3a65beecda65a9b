"""Random small problems for a Solver, and what is held of its solution."""

from __future__ import annotations

from collections import Counter

import numpy as np
from second_opinion.solver import objective_of

import rimetree as rt

from .comparing import PLACES, Case
from .growing import Growth
from .tree import Node, Tree

#: What scipy may still gain from where the Solver ended, as a fraction of the sum of squares: the Solver is converged
#: when its next step changes the model by less than 1e-3 standard errors, each unknown then about 1e-6 of chi-square.
IMPROVEMENT = 1e-5


def solving_case(rng: np.random.Generator) -> Case:
    """A Solver over one to three Condeqs with one to four Parms, in solution tiles, with bounds and priors."""
    n_time, n_freq = int(rng.choice([1, 2, 4, 6])), int(rng.choice([1, 2, 5, 8]))
    cells = rt.Cells(5.0e9 + 10.0 * np.arange(n_time), 1.4e9 + 1e6 * np.arange(n_freq))
    g = Growth(rng, cells)
    parms = [parm(g) for _ in range(int(rng.integers(1, 5)))]
    condeqs = [condeq(g, parms) for _ in range(int(rng.integers(1, 4)))]
    state = {}
    if g.chance(0.2):
        state["parms"] = list(g.rng.choice(parms, int(g.rng.integers(1, len(parms) + 1)), replace=False))
        state["parms"] = [str(name) for name in state["parms"]]
    if g.chance(0.3):
        state["method"] = "generic"
    solver = Tree([*g.nodes], condeqs)
    nodes = [*solver.pruned().nodes]
    used = {node.name for node in nodes}
    if "parms" in state and not used.issuperset(state["parms"]):
        state.pop("parms")
    nodes.append(Node("solver", "Solver", tuple(("condeq", name) for name in condeqs), state))
    return Case(Tree(nodes, ["solver"]), cells)


def tiles(g: Growth) -> dict:
    """Edges of solution tiles that have all cells inside."""
    edges = {}
    for name, centre in (("time_edges_s", g.cells.time_s), ("freq_edges_hz", g.cells.freq_hz)):
        if len(centre) < 4 or g.chance(0.7):
            continue
        middle = (centre[len(centre) // 2 - 1] + centre[len(centre) // 2]) / 2
        edges[name] = np.array([centre[0] - 1e3, middle, centre[-1] + 1e3])
    return edges


def parm(g: Growth) -> str:
    """One that may be solved for: a number or a polynomial of low degree, in one or several tiles."""
    edges = tiles(g)
    n_tiles = [len(edges.get(name, (0, 1))) - 1 for name in ("time_edges_s", "freq_edges_hz")]
    terms = (int(g.rng.integers(1, 3)), int(g.rng.integers(1, 3))) if g.chance(0.3) else (1, 1)
    terms = tuple(min(term, size) for term, size in zip(terms, g.extents[:2], strict=True))
    value = np.zeros((*n_tiles, *terms))
    value[..., 0, 0] = g.rng.uniform(0.5, 1.5, n_tiles)
    if n_tiles == [1, 1]:
        value = value[0, 0] if terms != (1, 1) or g.chance(0.5) else value[0, 0, 0, 0]
    state = {"time_0_s": 5.0e9, "time_scale_s": 50.0, "freq_0_hz": 1.4e9, "freq_scale_hz": 1e7, **edges}
    if g.chance(0.2):
        state["minimum"] = float(g.rng.uniform(-2, 0.4))
    if g.chance(0.2):
        state["maximum"] = float(g.rng.uniform(1.6, 3))
    if g.chance(0.3):
        state |= {"prior_mean": float(g.rng.uniform(0.5, 1.5)), "prior_sigma": float(g.rng.uniform(0.05, 1))}
    return g.add("Parm", (), {**state, "value": value, "solvable": True})


def model(g: Growth, parms: list[str]) -> str:
    """Some of the Parms in a smooth function of a few kinds, times known numbers."""
    chosen = [str(name) for name in g.rng.choice(parms, min(len(parms), int(g.rng.integers(1, 4))), replace=False)]

    def known():
        x = g.rng.uniform(0.5, 2, g.extents[:2]) * g.rng.choice([-1, 1], g.extents[:2])
        return g.constant(x + 1j * g.rng.normal(size=g.extents[:2]) if g.chance(0.3) else x, 2)

    terms = []
    for name in chosen:
        kind = g.rng.integers(4)
        if kind == 1:
            name = g.add("Exp", [("x", name)], {})
        elif kind == 2:
            name = g.add("Atan2", [("y", name), ("x", g.constant(1.0))], {})
        elif kind == 3:
            name = g.add("Polar", [("ampl", g.constant(1.0)), ("phase", name)], {})
        terms.append(g.add("Multiply", [("factor", known()), ("factor", name)], {}))
    total = terms[0] if len(terms) == 1 else g.add("Add", [("term", name) for name in terms], {})
    if g.chance(0.2):  # a bilinear model, as gains are
        total = g.add("Multiply", [("factor", total), ("factor", str(g.rng.choice(parms)))], {})
    return total


def condeq(g: Growth, parms: list[str]) -> str:
    """Data near what the model is, with noise, weights and flags."""
    name = model(g, parms)
    x = np.broadcast_to(g.value(name).x[0], g.extents)[:, :, 0, 0]
    noise = g.rng.normal(size=x.shape) * g.one_of(0.01, 0.1, 1.0)
    if np.iscomplexobj(x):
        noise = noise + 1j * g.rng.normal(size=x.shape) * 0.1
    data = g.constant(1.1 * x + noise, 2)
    if g.chance(0.3):
        marks = g.constant((g.rng.random(g.extents[:2]) < 0.3) * 1.0, 2)
        flagged = g.add("ZeroFlagger", [("x", marks)], {"oper": "NE"})
        data = g.add("MergeFlags", [("x", data), ("flags", flagged)], {})
    children = [("data", data), ("model", name)]
    if g.chance(0.4):
        children.append(
            ("weight", g.constant(g.rng.uniform(0.0, 2, g.extents[:2]) * (g.rng.random(g.extents[:2]) < 0.9), 2))
        )
    return g.add("Condeq", children, {"weight_factor": float(g.rng.uniform(0.5, 2))} if g.chance(0.3) else {})


def solver_difference(case: Case, place: str, count: Counter) -> str:
    """What is wrong with a solution, or nothing: it is scipy's, or scipy finds nothing better from there."""
    objective = objective_of(case.tree, case.tree.roots[0], case.cells)
    forest = rt.Forest(case.tree.scope(), **PLACES[place])
    start = objective.start()
    try:
        report = forest.solve(case.tree.roots[0], case.cells)
    except rt.Error as error:
        return "" if objective.data_residuals(start).size == 0 else f"refused: {error}"
    found = np.concatenate([np.ravel(report.parms[name].value) for name in objective.parms])
    said, chi_square = (
        sum(group.chi_square for group in report.groups),
        float(np.sum(objective.data_residuals(found) ** 2)),
    )
    before, was = sum(g.chi_square_before for g in report.groups), float(np.sum(objective.data_residuals(start) ** 2))
    size = 1e-9 * max(was, chi_square) + 1e-12
    if abs(before - was) > size or abs(said - chi_square) > size:
        return f"chi-square said {before} -> {said}, is {was} -> {chi_square}"
    lower, upper = objective.bounds()
    if np.any(found < lower) or np.any(found > upper):
        return f"solution {found} outside of bounds {lower} .. {upper}"
    if not report.converged:
        count["not converged"] += 1  # which is no wrong number, as it is said
        return ""
    best = objective.minimum(found)
    own, value = objective.value(found), objective.value(best)
    if own - value > IMPROVEMENT * max(value, 1.0 * found.size) + 1e-9 * (abs(was) + 1):
        return f"sum of squares {own} at {found}; scipy finds {value} at {best}"
    return ""
