"""Random trees between Spigots and Sinks, run over a Measurement Set in which baselines are missing."""

from __future__ import annotations

import numpy as np
import second_opinion

import rimetree as rt

from .comparing import MARGIN
from .growing import PROPOSALS, Growth
from .tree import Node, Tree

SINGLE = 2 * np.finfo(np.float32).eps  # columns hold single-precision numbers


def fill(path: str, rng: np.random.Generator) -> None:
    """Random visibilities and flags, in DATA of a set whose MODEL_DATA will be written."""
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(path):
        odd = rt.ZeroFlagger(rt.GaussNoise(dims=[2, 2], seed=int(rng.integers(2**31))) - 1.0, oper="GT")
        noise = rt.GaussNoise(dims=[2, 2], seed=int(rng.integers(2**31)), complex=True)
        ns.data(p, q) << rt.MergeFlags(noise, odd)
        for column in ("DATA", "MODEL_DATA"):
            ns.sink(p, q, column) << rt.Sink(
                ns.data(p, q), station_1_index=p, station_2_index=q, output_column=column, write_flags=True
            )
    rt.Forest(ns).run(path)


def tile_of(path: str) -> dict:
    (tile,) = rt.ms.tiles(path, ["DATA", "MODEL_DATA"], time_slots=1000)
    return tile


def ms_tree(rng: np.random.Generator, tile: dict, pairs: list[tuple[int, int]]) -> tuple[Tree, dict]:
    """A tree with Spigots of any baselines, also such as the set does not have; and the values of its nodes."""
    cells = rt.Cells(tile["time_s"], tile["frequency_hz"], time_width_s=tile["interval_s"])
    g = Growth(rng, cells)
    g.interpreter.outside["tile"] = tile
    for p, q in pairs:
        if g.chance(0.6):
            column = g.one_of("DATA", "DATA", "DATA", "WEIGHT", "UVW")
            state = {"station_1_index": p, "station_2_index": q, "input_column": column}
            if column == "UVW" and g.chance(0.5):
                state["include_deriv"] = True
            elif column != "UVW" and g.chance(0.3):
                state["flag_bit"] = int(g.one_of(2, 8))
            g.add("Spigot", (), state)
    classes = sorted(set(PROPOSALS) - {"GaussNoise", "DeviceMemory", "Grid", "Constant", "Parm"})
    classes += ["Add", "Mean", "MergeFlags", "Condeq", "ChiSquare", "Multiply", "MatrixMultiply"] * 4
    for _ in range(int(rng.integers(4, 16))):
        if g.propose(str(rng.choice(classes))) is None:
            g.refused = None
    sinks, written = [], [g.of_dims((), (2, 2)) for _ in tile["baselines"]]
    for (p, q), node in zip(tile["baselines"], written, strict=True):
        sink = Node(f"sink:{p}:{q}", "Sink", (("x", node),), {"station_1_index": p, "station_2_index": q})
        g.interpreter.add(sink)
        g.nodes.append(sink)
        sinks.append(sink.name)
    if g.chance(0.5):
        mux = Node("mux", "VisDataMux", tuple(("sink", name) for name in sinks))
        g.interpreter.add(mux)
        g.nodes.append(mux)
        sinks.append("mux")
    return Tree(g.nodes, sinks).pruned(), g.interpreter.values


def ms_difference(path: str, tree: Tree, tile: dict, values: dict, device: str) -> str:
    """What is wrong with the column that a run writes, or nothing. `tile`: the set before, changed to that after."""
    report = rt.Forest(tree.scope(), device=device).run(path)
    after = tile_of(path)["columns"]["MODEL_DATA"]
    before, tile["columns"]["MODEL_DATA"] = tile["columns"]["MODEL_DATA"], after
    written = 0
    for row, (p, q) in enumerate(tile["baselines"]):
        ((_, child),) = tree.named(f"sink:{p}:{q}").children
        value, found = values[child], second_opinion.leaves.as_matrices(after[row])
        if value.missing:
            if not np.array_equal(after[row], before[row]):
                return f"{child!r} is missing, and was written to {p}-{q}"
            continue
        written += len(tile["time_s"])
        x = value.x
        if not value.dims:  # to XX and YY, which leaves zeros between
            x = x[:, None, None] * np.eye(2).reshape(2, 2, 1, 1, 1, 1)
        with np.errstate(invalid="ignore"):
            spread = np.max(np.abs(x[1:] - x[0]), axis=0)
        sure = (value.flags == 0) & ~value.doubt & np.isfinite(x[0]) & (np.abs(x[0]) < 1e37)
        off = np.abs(found - x[0])
        wrong = sure & ~(off <= MARGIN * spread + SINGLE * np.abs(x[0]) + 1e-37) & ~(spread > 0.1 * np.abs(x[0]))
        if np.any(wrong):
            where = tuple(np.argwhere(wrong)[0])
            wanted = np.broadcast_to(x[0], wrong.shape)[where]
            return f"{child!r}, {p}-{q}: {found[where]} at {[int(i) for i in where]}, expected {wanted}"
    return "" if report.rows_written == written else f"{report.rows_written} rows written, expected {written}"
