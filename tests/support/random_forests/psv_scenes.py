"""Random PSV nodes: every combination of their inputs, for one or several baselines of an array."""

from __future__ import annotations

import numpy as np

import rimetree as rt

from .comparing import Case
from .growing import Growth, random_options
from .sky_proposals import directions, lmn, shapes, stokes, uvw
from .tree import Tree


def scene_cells(rng: np.random.Generator) -> rt.Cells:
    """Regular, descending, irregular and single channels; one time or several."""
    n_time = int(rng.choice([1, 2, 3, 6]))
    # Now and then so many channels that other methods pay, and more than are advanced without a new seed.
    n_freq = int(rng.choice([1, 2, 8, 9, 17, 70, 300], p=[0.18, 0.18, 0.2, 0.2, 0.2, 0.03, 0.01]))
    grid = np.arange(n_freq, dtype=float)
    kind = rng.integers(4)
    if kind == 1:
        grid = -grid
    elif kind == 2:
        grid = grid + rng.uniform(0, 0.4, n_freq)
    elif kind == 3 and n_freq > 4:
        grid[n_freq // 2 :] += 5  # a gap
    widths = np.full(n_freq, 1e6) if rng.random() < 0.7 else rng.uniform(2e5, 2e6, n_freq)
    time_s = 5.0e9 + 10.0 * np.arange(n_time)
    return rt.Cells(time_s, 1.4e9 + 1e6 * grid, time_width_s=rng.uniform(1, 10), freq_width_hz=widths)


def brightness(g: Growth, sources: int) -> str:
    """[source] or [source,2,2]: constant, with spectra, or varying in time."""
    if g.chance(0.3):
        rank = g.one_of(0, 0, 1, 2)
        return g.constant(g.rng.uniform(0.1, 2, (sources, *g.extents[:rank])), rank)
    if g.chance(0.15):  # no brightness matrix of any source: its elements are four complex numbers
        x = g.rng.normal(size=(sources, 2, 2)) + 1j * g.rng.normal(size=(sources, 2, 2))
        return g.constant(x)
    own = stokes(g, sources)
    if g.chance(0.5):
        terms = int(g.rng.integers(0, 3))
        children = [
            ("stokes", own),
            ("coefficients", g.constant(g.rng.uniform(-1, 1, (sources, terms)))),
            ("ref_freq_hz", g.constant(g.rng.uniform(1.3e9, 1.5e9, sources))),
        ]
        if g.chance(0.4):
            children.append(("rotation_measure", g.constant(g.rng.uniform(-20, 20, sources))))
        own = g.add("Spectrum", children, {})
    return g.add("Stokes", [("stokes", own)], {"feed": g.one_of("linear", "circular")})


def jones(g: Growth, sources: int) -> str:
    """The terms of one antenna: numbers or matrices per source, of any axes."""
    dims = g.one_of((sources,), (sources, 2, 2), (sources, 2, 2))
    rank = g.one_of(0, 0, 1, 2)
    shape = (*dims, *(n if g.chance(0.7) else 1 for n in g.extents[:rank]))
    x = g.rng.normal(size=shape) + (0 if g.chance(0.3) else 1j * g.rng.normal(size=shape))
    if len(dims) == 3 and g.chance(0.4):
        x = x * np.eye(2).reshape(2, 2, *(1,) * rank)
    return g.constant(x, rank)


def uvw_of_baselines(g: Growth, pairs: list[tuple[int, int]], rates: bool) -> list[str]:
    """Baselines that are differences of antennas' vectors, or that have nothing to do with each other."""
    if g.chance(0.4):
        return [uvw(g, rates) for _ in pairs]
    antennas = sorted({antenna for pair in pairs for antenna in pair})
    station = {antenna: uvw_varying(g, rates) for antenna in antennas}
    return [g.add("Subtract", [("a", station[p]), ("b", station[q])], {}) for p, q in pairs]


def uvw_varying(g: Growth, rates: bool) -> str:
    x = g.rng.uniform(-3000, 3000, (3, g.extents[0]))
    return g.constant(np.stack([x, 7.3e-5 * x[::-1]]) if rates else x, 1)


def psv_case(rng: np.random.Generator) -> Case:
    """PSV nodes on the baselines of a few antennas."""
    g = Growth(rng, scene_cells(rng))
    sources = int(rng.choice([1, 2, 3, 10, 40, 150], p=[0.25, 0.25, 0.24, 0.2, 0.05, 0.01]))
    antennas = int(rng.choice([2, 2, 3, 4]))
    pairs = [(p, q) for p in range(antennas) for q in range(p + 1, antennas)]
    pairs = [pair for pair in pairs if g.chance(0.8)] or pairs[:1]
    state = {}
    for name, values in (("n_minus", (0, 1)), ("smear_time", (True, False)), ("smear_frequency", (True, False))):
        if g.chance(0.4):
            state[name] = g.one_of(*values)
    direction = lmn(g, sources) if g.chance(0.8) else g.constant(directions(g, (sources,)))
    sky, shape = brightness(g, sources), shapes(g, sources) if g.chance(0.4) else None
    links = int(rng.choice([0, 0, 1, 2]))
    terms = [[jones(g, sources) for _ in range(antennas)] for _ in range(links)]
    conjugated = [[g.add("ConjTranspose", [("x", name)], {}) for name in link] for link in terms]
    roots = []
    for (p, q), baseline in zip(pairs, uvw_of_baselines(g, pairs, g.chance(0.5)), strict=True):
        children = [("lmn", direction), ("brightness", sky), ("uvw", baseline)]
        children += [("shape", shape)] if shape else []
        for link, h in zip(terms, conjugated, strict=True):
            children += [("jones", link[p]), ("jones", h[q])]
        roots.append(g.add("PSV", children, state))
    options = random_options(rng)
    return Case(Tree(g.nodes, [root for root in roots if root]).pruned(), g.cells, **options)
