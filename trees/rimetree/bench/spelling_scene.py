"""What spellings of one sky share: directions, brightness, coordinates and terms of stations, and how a spelling sees
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from .._core import SPEED_OF_LIGHT_M_S
from ..writing.scope import NodeScope
from .trees import RADEC_0, START_S, random_shapes, random_sky

TURN = 2 * np.pi / SPEED_OF_LIGHT_M_S
#: Radians of a TEC of one, times frequency.
TEC = 8.448e9
N_PATCH = 4
#: Of the cells.
WIDTH_S, WIDTH_HZ = 10.0, 1e6


@dataclass(frozen=True)
class Scene:
    """What a spelling writes with: the scope, the sources, and a baseline's stations."""

    ns: NodeScope
    n_source: int
    p: int
    q: int

    @property
    def sources(self) -> range:
        return range(self.n_source)

    @property
    def uvw(self):
        return self.ns.uvw(self.p, self.q)

    def k(self, s: int):
        """The phase of a source on the baseline."""
        return rt.VisPhaseShift(self.ns.lmn(s), self.uvw)

    def path(self, s: int, *moving: str):
        """u l + v m + w (n - 1), written as numbers; "moving": of directions that do."""
        ns, (u, v, w) = self.ns, (self.uvw[i] for i in range(3))
        return u * ns.l(s, *moving) + v * ns.m(s, *moving) + w * ns.n1(s, *moving)

    def offset(self, s: int):
        """l, m, n - 1 as a vector."""
        return self.ns.lmn(s) - rt.Constant([0.0, 0.0, 1.0])

    def total(self, term: Callable):
        """The sum of a term over sources."""
        return rt.Add(*(term(s) for s in self.sources))


def write_scene(n_source: int, n_station: int) -> NodeScope:
    """All that spellings and PSV nodes share."""
    lmn, stokes, positions = random_sky(n_source, n_station)
    shapes, generator = random_shapes(n_source), np.random.default_rng(9)
    ns = NodeScope()
    ns.radec_0 << rt.Constant(RADEC_0)
    ns.lmn << rt.Constant(lmn)
    ns.B << rt.Stokes(rt.Constant(stokes))
    ns.D << rt.Stokes(rt.Constant(stokes * [1, 1, 0, 0]))
    ns.I << rt.Constant(stokes[:, 0])
    ns.shape << rt.Constant(shapes)
    for i in (0, 1):
        for j in (0, 1):
            ns.bs(i, j) << rt.Selector(ns.B, index=[-1, i, j])
    for s in range(n_source):
        ns.lmn(s) << rt.Constant(lmn[s])
        ns.B(s) << rt.Stokes(rt.Constant(stokes[s]))
        ns.shape(s) << rt.Constant(shapes[s])
        ns.flux(s) << rt.Constant(stokes[s, 0])
        ns.l(s) << ns.lmn(s)[0]
        ns.m(s) << ns.lmn(s)[1]
        ns.n1(s) << ns.lmn(s)[2] - 1
        for i in (0, 1):
            for j in (0, 1):
                ns.b(s, i, j) << ns.B(s)[i, j]
    for i in range(N_PATCH):
        own = slice(i * n_source // N_PATCH, (i + 1) * n_source // N_PATCH)
        ns.lmns(i) << rt.Constant(lmn[own])
        ns.Bs(i) << rt.Stokes(rt.Constant(stokes[own]))
    for p in range(n_station):
        gains = generator.normal(size=(2 * (1 + N_PATCH), 2)) @ [1, 1j]
        ns.uvw(p) << rt.UVW(ns.radec_0, positions[p], positions[0])
        ns.uvw_rates(p) << rt.UVW(ns.radec_0, positions[p], positions[0], include_deriv=True)
        for i in (0, 1):
            ns.g(p, i) << rt.Constant(gains[i])
        ns.G(p) << rt.Matrix22(ns.g(p, 0), 0, 0, ns.g(p, 1))
        ns.GH(p) << rt.ConjTranspose(ns.G(p))
        for i in range(N_PATCH):
            ns.G(p, i) << rt.Constant(np.diag(gains[2 * i + 2 : 2 * i + 4]))
    for p in range(n_station):
        for q in range(p + 1, n_station):
            ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
            ns.uvw_rates(p, q) << ns.uvw_rates(p) - ns.uvw_rates(q)
    _write_moving(ns, n_source)
    _write_terms(ns, n_source, n_station)
    return ns


def _write_moving(ns: NodeScope, n_source: int) -> None:
    """The directions at a rate each."""
    ns.later << rt.Time() - START_S
    for s in range(n_source):
        ns.l(s, "moving") << ns.l(s) + 1e-7 * (s % 7) * ns.later
        ns.m(s, "moving") << ns.m(s) - 1e-7 * (s % 5) * ns.later
        radius_2 = rt.Sqr(ns.l(s, "moving")) + rt.Sqr(ns.m(s, "moving"))
        n = ns.n(s, "moving") << rt.Sqrt(1 - radius_2)
        ns.n1(s, "moving") << -radius_2 / (1 + n)
        ns.lmn(s, "moving") << rt.Composer(ns.l(s, "moving"), ns.m(s, "moving"), n)
    ns.moving << rt.Composer(*(ns.lmn(s, "moving") for s in range(n_source)), dims=[n_source, 3])


def _write_terms(ns: NodeScope, n_source: int, n_station: int) -> None:
    """Jones terms of stations and sources, and stacks of those of a station."""
    tec = np.random.default_rng(10).normal(size=(n_station, n_source))
    for p in range(n_station):
        for s in range(n_source):
            ns.tec(p, s) << rt.Constant(tec[p, s])
            ns.tec_term(p, s) << rt.Exp(1j * TEC * float(tec[p, s]) / rt.Freq())
            r = rt.Sqrt(rt.Sqr(ns.l(s) - 1e-3 * p) + rt.Sqr(ns.m(s) + 5e-4 * p))
            ns.beam(p, s) << rt.Cos(20 * r * rt.Freq() / 1.4e9) ** 3
            b = ns.beam(p, s)
            ns.E(p, s) << rt.Matrix22(b, 0.05 * b, -0.03 * b, b * b)
        angle = 1e-3 * ns.later + 0.1 * p
        cos, sin = rt.Cos(angle), rt.Sin(angle)
        ns.P(p) << rt.Matrix22(cos, sin, -sin, cos)
        ns.Es(p) << rt.Composer(*(ns.E(p, s) for s in range(n_source)), dims=[n_source, 2, 2])
        ns.tec_terms(p) << rt.Composer(*(ns.tec_term(p, s) for s in range(n_source)), dims=[n_source])
        ns.beams(p) << rt.Composer(*(ns.beam(p, s) for s in range(n_source)), dims=[n_source])
