"""One sky in the ways in which scripts write it, each beside the same sky as PSV nodes in the same process.

How a tree is written must not decide how fast it is: `measure_spelling` gives the fraction of the speed of PSV. A
spelling writes the visibilities of one baseline; what all share (directions, brightness, coordinates, gains) has been
written before by `write_scene`.
"""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from .._core import SPEED_OF_LIGHT_M_S
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError
from .spelling_scene import N_PATCH, TEC, TURN, WIDTH_HZ, WIDTH_S, Scene, write_scene
from .trees import START_S, TreeFigures, largest_difference

Writer = Callable[[Scene], object]


@dataclass(frozen=True)
class Spelling:
    """A way to write a sky. `like`: what it is in words of PSV (see `_LIKE`)."""

    name: str
    write: Writer
    like: str = "plain"

    @property
    def case(self) -> str:
        return f"spelling: {self.name}"


def _psv(x: Scene, brightness=None, *more, rates: bool = False):
    ns = x.ns
    uvw = ns.uvw_rates(x.p, x.q) if rates else x.uvw
    return rt.PSV(ns.lmn, ns.B if brightness is None else brightness, uvw, *more)


#: What spellings are compared with.
_LIKE: dict[str, Writer] = {
    "plain": _psv,
    "diagonal": lambda x: _psv(x, x.ns.D),
    "gains": lambda x: rt.MatrixMultiply(x.ns.G(x.p), _psv(x), x.ns.GH(x.q)),
    "extended": lambda x: _psv(x, None, x.ns.shape, rates=True),
    "smeared": lambda x: _psv(x, rates=True),
    "smeared by channels": lambda x: rt.PSV(x.ns.lmn, x.ns.B, x.ns.uvw_rates(x.p, x.q), smear_time=False),
    "real": lambda x: rt.Real(_psv(x, x.ns.I)[0, 0]),
    "unpolarised": lambda x: _psv(x, x.ns.I)[0, 0],
    "moving": lambda x: rt.PSV(x.ns.moving, x.ns.B, x.uvw),
    "TEC": lambda x: _psv(x, None, None, x.ns.tec_terms(x.p), rt.ConjTranspose(x.ns.tec_terms(x.q))),
    "beams": lambda x: _psv(x, None, None, x.ns.beams(x.p), x.ns.beams(x.q)),
    "rotated beams": lambda x: rt.MatrixMultiply(
        x.ns.P(x.p),
        _psv(x, None, None, x.ns.Es(x.p), rt.ConjTranspose(x.ns.Es(x.q))),
        rt.ConjTranspose(x.ns.P(x.q)),
    ),
    "XX and YY": lambda x: [_psv(x)[0, 0], _psv(x)[1, 1]],
    "patches": lambda x: rt.Add(
        *(
            rt.MatrixMultiply(x.ns.G(x.p, i), rt.PSV(x.ns.lmns(i), x.ns.Bs(i), x.uvw), rt.ConjTranspose(x.ns.G(x.q, i)))
            for i in range(N_PATCH)
        )
    ),
}


def _elements(x: Scene, element: Callable, full: bool = True):
    """Matrix22 of element(i, j); zeros off the diagonal unless `full`."""
    return rt.Matrix22(*(element(i, j) if full or i == j else 0 for i in (0, 1) for j in (0, 1)))


def _losses(x: Scene, s: int) -> list:
    uvw = x.ns.uvw_rates(x.p, x.q)
    return [rt.VisPhaseShift(x.ns.lmn(s), uvw), rt.TFSmearFactor(x.ns.lmn(s), uvw), rt.SourceShape(x.ns.shape(s), uvw)]


def _phases_and_smearing(x: Scene, s: int) -> list:
    """Phases of stations without rates, smearing of coordinates that have them."""
    k_p, k_q = (rt.VisPhaseShift(x.ns.lmn(s), x.ns.uvw(p)) for p in (x.p, x.q))
    return [k_p, rt.Conj(k_q), rt.TFSmearFactor(x.ns.lmn(s), x.ns.uvw_rates(x.p, x.q))]


def _cos_sin(phase):
    return rt.ToComplex(rt.Cos(phase), rt.Sin(phase))


def _wavelengths(x: Scene, s: int):
    ns, uvw = x.ns, x.uvw * (rt.Freq() / SPEED_OF_LIGHT_M_S)
    return 2 * np.pi * (uvw[0] * ns.l(s) + uvw[1] * ns.m(s) + uvw[2] * (ns.lmn(s)[2] - 1))


def _sinc(x):
    return rt.Sin(x) / x


def _along(x: Scene, s: int, row: int):
    """u l + v m + w (n - 1), or with their rates, of coordinates that have them."""
    ns, uvw = x.ns, x.ns.uvw_rates(x.p, x.q)
    return uvw[row, 0] * ns.l(s) + uvw[row, 1] * ns.m(s) + uvw[row, 2] * ns.n1(s)


def _smeared_by_hand(x: Scene, s: int):
    path, rate = _along(x, s, 0), _along(x, s, 1)
    k = rt.Exp(1j * TURN * rt.Freq() * path)
    return k * _sinc(TURN / 2 * WIDTH_HZ * path) * _sinc(TURN / 2 * WIDTH_S * rt.Freq() * rate) * x.ns.B(s)


def _flux(x: Scene, s: int, function: Callable):
    """The flux times the cosine, or sine, of the phase."""
    return x.ns.flux(s) * function(TURN * rt.Freq() * x.path(s))


def _with_tec(x: Scene, s: int):
    """The ionosphere of both stations in the exponential of the phase."""
    tec = x.ns.tec(x.p, s) - x.ns.tec(x.q, s)
    return rt.Exp(1j * (TURN * rt.Freq() * x.path(s) + TEC * tec / rt.Freq())) * x.ns.B(s)


def _rotated(x: Scene, s: int):
    """A rotation of the station, and a beam of station and source."""
    left, right = (x.ns.P(p) @ x.ns.E(p, s) for p in (x.p, x.q))
    return left @ (x.k(s) * x.ns.B(s)) @ rt.ConjTranspose(right)


def _sum_of_products(x: Scene, s: int):
    return rt.Sum(x.uvw * x.offset(s), reduction_axes=[], tensor_axis=0)


def _station_phase(x: Scene, p: int, s: int):
    """Written anew in every baseline."""
    ns, uvw = x.ns, x.ns.uvw(p)
    return rt.Exp(1j * TURN * rt.Freq() * (uvw[0] * ns.l(s) + uvw[1] * ns.m(s) + uvw[2] * ns.n1(s)))


def _patch(x: Scene, i: int):
    ns = x.ns
    own = range(i * x.n_source // N_PATCH, (i + 1) * x.n_source // N_PATCH)
    return rt.MatrixMultiply(ns.G(x.p, i), rt.Add(*(x.k(s) * ns.B(s) for s in own)), rt.ConjTranspose(ns.G(x.q, i)))


def _sum_of_stack(x: Scene, i: int, j: int):
    """An element of all sources at once."""
    return rt.Sum(rt.VisPhaseShift(x.ns.lmn, x.uvw) * x.ns.bs(i, j), reduction_axes=[], tensor_axis=0)


def _element_sum(x: Scene, i: int):
    return x.total(lambda s: x.k(s) * x.ns.b(s, i, i))


def _stations(x: Scene, left: Callable, right: Callable):
    return x.total(lambda s: rt.MatrixMultiply(left(s), x.ns.B(s), right(s)))


#: A sky by name; sums are over sources unless they say something else.
SPELLINGS = (
    Spelling("K B", lambda x: x.total(lambda s: x.k(s) * x.ns.B(s))),
    Spelling("sum of K B in a loop", lambda x: functools.reduce(operator.add, (x.k(s) * x.ns.B(s) for s in x.sources))),
    Spelling(
        "tensors and Sum",
        lambda x: rt.Sum(
            rt.MatrixMultiply(rt.VisPhaseShift(x.ns.lmn, x.uvw), x.ns.B), reduction_axes=[], tensor_axis=0
        ),
    ),
    Spelling(
        "K_p B K_q^H",
        lambda x: _stations(
            x,
            lambda s: rt.VisPhaseShift(x.ns.lmn(s), x.ns.uvw(x.p)),
            lambda s: rt.ConjTranspose(rt.VisPhaseShift(x.ns.lmn(s), x.ns.uvw(x.q))),
        ),
    ),
    Spelling(
        "(G_p B G_q^H) K", lambda x: x.total(lambda s: (x.ns.G(x.p) @ x.ns.B(s) @ x.ns.GH(x.q)) * x.k(s)), "gains"
    ),
    Spelling(
        "G_p (sum of K B) G_q.T*",
        lambda x: x.ns.G(x.p) @ SPELLINGS[0].write(x) @ rt.Conj(rt.Transpose(x.ns.G(x.q))),
        "gains",
    ),
    Spelling(
        "sum of G_p K B G_q.T*",
        lambda x: x.total(lambda s: x.ns.G(x.p) @ (x.k(s) * x.ns.B(s)) @ rt.Transpose(rt.Conj(x.ns.G(x.q)))),
        "gains",
    ),
    Spelling(
        "sum of (G_q K* B G_p^H).T*",
        lambda x: x.total(lambda s: rt.Conj(rt.Transpose(x.ns.G(x.q) @ (rt.Conj(x.k(s)) * x.ns.B(s)) @ x.ns.GH(x.p)))),
        "gains",
    ),
    Spelling(
        "sum of ((G_q K* B) G_p^H)^H",
        lambda x: x.total(lambda s: rt.ConjTranspose(x.ns.G(x.q) @ (rt.Conj(x.k(s)) * x.ns.B(s)) @ x.ns.GH(x.p))),
        "gains",
    ),
    Spelling(
        "Matrix22(K XX, 0, 0, K YY)",
        lambda x: x.total(lambda s: _elements(x, lambda i, j: x.k(s) * x.ns.b(s, i, j), False)),
        "diagonal",
    ),
    Spelling(
        "Matrix22(K XX, K XY, K YX, K YY)",
        lambda x: x.total(lambda s: _elements(x, lambda i, j: x.k(s) * x.ns.b(s, i, j))),
    ),
    Spelling("Matrix22 of sums", lambda x: _elements(x, lambda i, j: x.total(lambda s: x.k(s) * x.ns.b(s, i, j)))),
    Spelling(
        "Matrix22 of sums of gx K XX gx*",
        lambda x: _elements(
            x, lambda i, j: x.total(lambda s: x.ns.g(x.p, i) * x.k(s) * x.ns.b(s, i, j) * rt.Conj(x.ns.g(x.q, j)))
        ),
        "gains",
    ),
    Spelling("Matrix22 of Sum(K XX)", lambda x: _elements(x, lambda i, j: _sum_of_stack(x, i, j))),
    Spelling(
        "Matrix22(Sum(K XX), 0, 0, Sum(K YY))",
        lambda x: _elements(x, lambda i, j: _sum_of_stack(x, i, j), False),
        "diagonal",
    ),
    Spelling("XX and YY by themselves", lambda x: [_element_sum(x, i) for i in (0, 1)], "XX and YY"),
    Spelling("smearing and shapes", lambda x: x.total(lambda s: rt.Multiply(*_losses(x, s), x.ns.B(s))), "extended"),
    Spelling(
        "smearing and shapes of elements",
        lambda x: x.total(lambda s: _elements(x, lambda i, j: rt.Multiply(*_losses(x, s), x.ns.b(s, i, j)))),
        "extended",
    ),
    Spelling("patches with gains", lambda x: rt.Add(*(_patch(x, i) for i in range(N_PATCH))), "patches"),
    Spelling("Exp(i x)", lambda x: x.total(lambda s: rt.Exp(1j * TURN * rt.Freq() * x.path(s)) * x.ns.B(s))),
    Spelling(
        "Exp(i x) of l and m at a rate",
        lambda x: x.total(lambda s: rt.Exp(1j * TURN * rt.Freq() * x.path(s, "moving")) * x.ns.B(s)),
        "moving",
    ),
    Spelling(
        "Exp(i k TEC / nu) of stations and sources",
        lambda x: x.total(lambda s: x.ns.tec_term(x.p, s) * x.k(s) * x.ns.B(s) * rt.Conj(x.ns.tec_term(x.q, s))),
        "TEC",
    ),
    Spelling(
        "cos(r nu)**3 of stations and sources",
        lambda x: x.total(lambda s: x.ns.beam(x.p, s) * x.k(s) * x.ns.B(s) * x.ns.beam(x.q, s)),
        "beams",
    ),
    Spelling("K (P E) B (P E)^H", lambda x: x.total(lambda s: _rotated(x, s)), "rotated beams"),
    Spelling(
        "K_p K_q* smearing B, rates apart",
        lambda x: x.total(lambda s: rt.Multiply(*_phases_and_smearing(x, s), x.ns.B(s))),
        "smeared",
    ),
    Spelling("Exp(i x) Sin(y)/y Sin(z)/z B", lambda x: x.total(lambda s: _smeared_by_hand(x, s)), "smeared"),
    Spelling(
        "K B Sin(y)/y",
        lambda x: x.total(lambda s: x.k(s) * x.ns.B(s) * _sinc(TURN / 2 * WIDTH_HZ * _along(x, s, 0))),
        "smeared by channels",
    ),
    Spelling("I cos x", lambda x: x.total(lambda s: _flux(x, s, rt.Cos)), "real"),
    Spelling(
        "sum of I cos x + i sum of I sin x",
        lambda x: rt.ToComplex(x.total(lambda s: _flux(x, s, rt.Cos)), x.total(lambda s: _flux(x, s, rt.Sin))),
        "unpolarised",
    ),
    Spelling("Exp(i (x + k (TEC_p - TEC_q) / nu))", lambda x: x.total(lambda s: _with_tec(x, s)), "TEC"),
    Spelling(
        "Exp(i k (TEC_p - TEC_q) / nu) K B",
        lambda x: x.total(
            lambda s: rt.Exp(1j * TEC * (x.ns.tec(x.p, s) - x.ns.tec(x.q, s)) / rt.Freq()) * x.k(s) * x.ns.B(s)
        ),
        "TEC",
    ),
    Spelling("sum() of K B", lambda x: sum(x.k(s) * x.ns.B(s) for s in x.sources)),
    Spelling("Polar(1, x)", lambda x: x.total(lambda s: rt.Polar(1.0, TURN * rt.Freq() * x.path(s)) * x.ns.B(s))),
    Spelling("cos x + i sin x", lambda x: x.total(lambda s: _cos_sin(x.path(s) * rt.Freq() * TURN) * x.ns.B(s))),
    Spelling("cos x + i sin x of wavelengths", lambda x: x.total(lambda s: _cos_sin(_wavelengths(x, s)) * x.ns.B(s))),
    Spelling(
        "Exp(i nu Sum(uvw lmn))",
        lambda x: x.total(lambda s: rt.Exp(1j * TURN * rt.Freq() * _sum_of_products(x, s)) * x.ns.B(s)),
    ),
    Spelling(
        "Exp(i nu uvw @ lmn)",
        lambda x: x.total(lambda s: rt.Exp(1j * TURN * rt.Freq() * (x.uvw @ x.offset(s))) * x.ns.B(s)),
    ),
    Spelling(
        "Exp(i x) of stations",
        lambda x: _stations(x, lambda s: _station_phase(x, x.p, s), lambda s: rt.Conj(_station_phase(x, x.q, s))),
    ),
    Spelling(
        "Matrix22 of Polar(XX, x)",
        lambda x: x.total(
            lambda s: _elements(x, lambda i, j: rt.Polar(1.0, TURN * rt.Freq() * x.path(s)) * x.ns.b(s, i, j), False)
        ),
        "diagonal",
    ),
)


def spelled(write: Writer, n_source: int, n_station: int) -> tuple[NodeScope, list[str]]:
    """The tree of a spelling, and its roots."""
    ns, roots = write_scene(n_source, n_station), []
    for p in range(n_station):
        for q in range(p + 1, n_station):
            written = write(Scene(ns, n_source, p, q))
            for i, definition in enumerate(written if isinstance(written, list) else [written]):
                ns.V(p, q, i) << definition
                roots.append(ns.V(p, q, i).name)
    return ns, roots


def measure_spelling(
    spelling: Spelling,
    n_source: int = 100,
    n_station: int = 6,
    n_time: int = 16,
    n_freq: int = 64,
    seconds: float = 1.0,
) -> TreeFigures:
    """Time a spelling and the same sky as PSV in turns, in processor time; raises `WrongAnswerError` if they differ."""
    freq_hz = 1.4e9 + 1e6 * np.arange(n_freq)
    moved = iter(1e-3 * np.arange(1, 1_000_000))

    def cells(later_s: float) -> Cells:
        return Cells(
            START_S + later_s + 10.0 * np.arange(n_time), freq_hz, time_width_s=WIDTH_S, freq_width_hz=WIDTH_HZ
        )

    forests = []
    for write in (_LIKE[spelling.like], spelling.write):
        ns, roots = spelled(write, n_source, n_station)
        forests.append(Forest(ns, threads=1))
    wanted, got = ([np.asarray(one.value) for one in forest.results(roots, cells(0.0))] for forest in forests)
    error = max(largest_difference(a, b) for a, b in zip(got, wanted, strict=True))
    if not error <= 1e-12 * n_source:
        raise WrongAnswerError(f"{spelling.case}: wrong answer, off by {error:.2g}, so there is no speed")

    def once(forest: Forest) -> float:
        forest.reset_timing()
        forest.results(roots, cells(float(next(moved))))
        return forest.timing().processor_seconds

    started, times = time.perf_counter(), []
    while len(times) < 5 or time.perf_counter() - started < seconds:
        times.append([once(forest) for forest in forests])
    reference, own = np.min(times, axis=0)
    count = float(n_source) * n_station * (n_station - 1) / 2 * n_time * n_freq
    return TreeFigures(spelling.case, "source-visibilities", count, own, error=error, of_psv=float(reference / own))
