"""For each class that takes or gives samples of voltages children and state that suit it."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from second_opinion.voltages import FORMATS

from .growing import Growth, proposal

VOLTAGES = tempfile.TemporaryDirectory(prefix="rimetree-voltages-")  # gone when the tests are over


def integrations(g: Growth) -> float | None:
    """The length of the time cells where they are integrations one after the other, perhaps with gaps."""
    grid = g.cells.to_runtime()
    if grid[0] is None or grid[1] is None or g.extents[2:] != (1, 1):
        return None
    length = float(grid[0][1][0])
    if not np.array_equal(grid[0][1], np.full(g.extents[0], length)) or length <= 0:
        return None
    steps = (np.asarray(grid[0][0]) - grid[0][0][0]) / length
    return length if np.allclose(steps, np.round(steps), atol=1e-6) else None


@proposal("Voltages")
def voltages(g: Growth, _):
    length = integrations(g)
    if length is None:
        return None
    name = g.one_of(*FORMATS)
    n_input, n = int(g.rng.integers(1, 4)), int(g.rng.integers(1, 6))
    n_channel = g.one_of(1, g.extents[1])
    if n_channel == 1:
        n *= g.extents[1]  # for a channeliser
    n_time = int(g.rng.integers(0, n * (g.extents[0] + 1)))
    (bits, *_), kind = FORMATS[name]
    codes = g.rng.integers(0, 2 ** (2 * bits), n_time * n_channel * n_input).astype(kind)
    path = os.path.join(VOLTAGES.name, f"{name}-{len(os.listdir(VOLTAGES.name))}")
    codes.tofile(path)
    state = {"source": [path], "format": name, "n_channel": n_channel, "n_input": n_input}
    start_s = float(g.cells.to_runtime()[0][0][0] - length / 2)
    state |= {"start_s": start_s, "sample_interval_s": length / n}
    return [], {**state, "order": g.one_of("time,channel,input", "channel,input,time")}


def a_source(g: Growth, fits) -> str | None:
    found = [n.name for n in g.nodes if hasattr(g.value(n.name), "samples") and fits(g.value(n.name).samples)]
    if not found:
        made = g.propose("Voltages")
        found = [made] if made is not None and fits(g.value(made).samples) else []
    return g.one_of(*found) if found else None


@proposal("Channelise")
def channelise(g: Growth, _):
    child = a_source(g, lambda samples: samples.numbers.shape[1] == 1)
    if child is None:
        return None
    state = {"n_channel": g.extents[1], "taps": g.one_of(1, 1, 2, 3), "gain": float(g.rng.uniform(0.2, 2))}
    state |= {"window": g.one_of("rectangular", "hann", "hamming"), "format": g.one_of(*FORMATS)}
    return [("voltages", child)], state


@proposal("Correlate")
def correlate(g: Growth, _):
    length = integrations(g)
    child = None if length is None else a_source(g, lambda samples: True)
    if child is None:
        return None
    n = length / g.value(child).samples.interval_s
    if abs(n - round(n)) > 1e-6:
        return None
    gates = {"gates": int(g.rng.integers(2, 4)), "gate_length": int(g.rng.integers(1, 4))} if g.chance(0.3) else {}
    return [("voltages", child)], {"integration": max(1, round(n)), "gate_offset": int(g.rng.integers(-9, 9)), **gates}


@proposal("Correlation")
def correlation(g: Growth, _):
    counted = [n.name for n in g.nodes if hasattr(g.value(n.name), "counts") and len(g.value(n.name).dims) == 1]
    made = None if counted else g.propose("Correlate")
    if not counted and made is None:  # refused, perhaps, which is a case of its own
        return None
    if made is not None and len(g.value(made).dims) == 1:
        counted = [made]
    child = g.one_of(*counted) if counted and g.chance(0.8) else g.of_dims((3,), (1,))
    if g.value(child).dims not in ((1,), (3,), (6,)):
        return None
    n_input = {1: 1, 3: 2, 6: 3}[g.value(child).dims[0]]
    feeds = g.one_of(1, 2)
    state = {"feeds": feeds, "station_1_index": int(g.rng.integers(3)), "station_2_index": int(g.rng.integers(3))}
    state["inputs"] = g.rng.integers(0, n_input, (3, feeds)).astype(float)
    kinds = ("visibility", "weight", "count") if hasattr(g.value(child), "counts") else ("visibility",)
    return [("products", child)], {**state, "quantity": g.one_of(*kinds)}
