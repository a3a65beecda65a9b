"""Benchmarks of trees that are no PSV node: single operations, chains of them, and ways to write a sky.

Each case has the same numbers from NumPy, or from a PSV node, with which its own are compared: what is wrong has no
speed. Times are of one core, as far as can be told without what other programs took of it.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from ..cells import Cells
from ..forest import Forest
from ..scope import NodeScope
from .measuring import WrongAnswerError

_START_S, _BAND_HZ = 5.2e9, 64e6


@dataclass(frozen=True)
class TreeFigures:
    """What a case took: `seconds` of the fastest of several evaluations, `count` of `unit` done in it.

    `numpy_seconds`, `numexpr_seconds`: the same by NumPy and, where it is installed, numexpr on one thread.
    `bytes`: what has to be read and written at least. `evaluations`: of derivatives, their time over that of the values
    alone, in the same run. `of_estimate`: what PSV expected to take over what it took, as far as can be told.
    """

    name: str
    unit: str
    count: float
    seconds: float
    numpy_seconds: float | None = None
    numexpr_seconds: float | None = None
    bytes: float = 0.0
    result_bytes: int = 0
    error: float = 0.0  # largest difference, as a fraction of the largest value
    evaluations: float | None = None
    of_estimate: float | None = None

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def remarks(self) -> str:
        """What there is to say of derivatives and estimates, after a comma; empty if nothing."""
        return (f", {self.evaluations:.2f} evaluations" if self.evaluations else "") + (
            f", est. {self.of_estimate:.2f}" if self.of_estimate else ""
        )

    def as_dict(self) -> dict:
        return {
            "name": self.name,
            "unit": self.unit,
            "count": self.count,
            "seconds": self.seconds,
            "per_second": self.rate,
            "numpy_seconds": self.numpy_seconds,
            "numexpr_seconds": self.numexpr_seconds,
            "bytes_per_second": self.bytes / self.seconds,
            "result_bytes": self.result_bytes,
            "largest_error": self.error,
            "evaluations": self.evaluations,
            "of_estimate": self.of_estimate,
        }


@dataclass(frozen=True)
class Operation:
    """`tree(children, once)` of one node, where `once` makes a node of what is read twice, and `numpy(arrays)` of the
    same arrays, the first axes of which are the tensor's.

    `dims` and `is_complex`: of each child. `n_node` nodes of `shape` (time, freq) cells each are evaluated.
    """

    name: str
    unit: str
    tree: Callable
    numpy: Callable
    n_child: int = 2
    dims: tuple[int, ...] = ()
    is_complex: bool = False
    n_node: int = 32
    shape: tuple[int, int] = (16, 64)
    expression: str = ""  # for numexpr: of x0, x1, ...
    tolerance: float = 1e-15


def chain(x, y, sin, cos, exp, sqrt, once=lambda part: part):
    """Twenty operations, element by element. `once`: makes a node of what is read twice."""
    a = once(sin(x) * y + cos(x))
    b = once(a * a + x * 0.5)
    c = sqrt(b * b + 1.0) - y
    d = once(exp(x * -0.25) * c)
    e = (d + a) * (d - a)
    return e / (b * b + 2.0) + y


_CHAIN = "((exp(x0*-0.25)*(sqrt(B*B+1.0)-x1)+A)*(exp(x0*-0.25)*(sqrt(B*B+1.0)-x1)-A))/(B*B+2.0)+x1".replace(
    "B", "(A*A+x0*0.5)"
).replace("A", "(sin(x0)*x1+cos(x0))")


def operations() -> list[Operation]:
    """The single operations of `rimetree bench trees`."""
    matrix = (2, 2)
    return [
        Operation("add", "cells", lambda c, once: c[0] + c[1], lambda a: a[0] + a[1]),
        Operation("sine", "cells", lambda c, once: rt.Sin(c[0]), lambda a: np.sin(a[0]), n_child=1),
        Operation("complex product", "cells", lambda c, once: c[0] * c[1], lambda a: a[0] * a[1], is_complex=True),
        Operation(
            "complex 2x2 product",
            "products",
            lambda c, once: c[0] @ c[1],
            lambda a: np.einsum("ij...,jk...->ik...", a[0], a[1]),
            dims=matrix,
            is_complex=True,
            n_node=8,
            tolerance=1e-14,
        ),
        Operation(
            "sum of ten matrices",
            "additions",
            lambda c, once: rt.Add(*c),
            lambda a: sum(a[1:], a[0]),
            n_child=10,
            dims=matrix,
            is_complex=True,
            n_node=4,
        ),
        Operation(
            "sum of memory",
            "additions",
            lambda c, once: rt.Add(*c),
            lambda a: sum(a[1:], a[0]),
            n_child=16,
            n_node=1,
            shape=(1000, 1000),
        ),
        Operation(
            "chain of twenty",
            "cells",
            lambda c, once: chain(c[0], c[1], rt.Sin, rt.Cos, rt.Exp, rt.Sqrt, once),
            lambda a: chain(a[0], a[1], np.sin, np.cos, np.exp, np.sqrt),
            n_node=1,
            shape=(1000, 1000),
            expression=_CHAIN,
            tolerance=1e-13,
        ),
    ]


def measure_operation(case: Operation, seconds: float = 1.0) -> TreeFigures:
    """Time an operation on one core for about so many seconds; raises `WrongAnswerError` where NumPy differs."""
    generator = np.random.default_rng(1)
    shape = (*case.dims, *case.shape)
    arrays = [
        generator.standard_normal(shape) + (1j * generator.standard_normal(shape) if case.is_complex else 0)
        for _ in range(case.n_child)
    ]
    ns = NodeScope()
    for node in range(case.n_node):
        for child, array in enumerate(arrays):
            ns.x(node, child) << rt.Constant(array, cells_rank=2)
        parts = itertools.count()

        def once(part, node=node, parts=parts):
            stub = ns.part(node, next(parts))
            stub << part
            return stub

        ns.result(node) << case.tree([ns.x(node, child) for child in range(case.n_child)], once)
    forest = Forest(ns, threads=1, as_written=True)  # else equal nodes would be evaluated once
    roots = [ns.result(node).name for node in range(case.n_node)]
    later = itertools.count()

    def cells() -> Cells:
        """Of another day each time, so that no result is known from before."""
        times = np.arange(case.shape[0]) + _START_S + 86400.0 * next(later)
        return Cells(times, np.arange(case.shape[1]) * 1e5 + 1e9)

    wanted = case.numpy(arrays)
    error = _difference(np.asarray(forest.results(roots, cells())[0].value), wanted)
    if not error <= case.tolerance:
        raise WrongAnswerError(f"{case.name}: wrong answer, off by {error:.2g}, so there is no speed")
    constants = ("Constant",)
    best = _fastest(lambda: _evaluated(forest, roots, cells(), constants), seconds / 3)
    count = case.n_node * math.prod(case.shape)
    per_node = len(arrays) * arrays[0].nbytes + wanted.nbytes
    if case.unit == "additions":
        count *= (case.n_child - 1) * math.prod(case.dims)
    copies = [[array.copy() for array in arrays] for _ in range(case.n_node)]  # nodes have numbers of their own, too
    with np.errstate(all="ignore"):
        numpy_seconds = _fastest(lambda: _timed(lambda: [case.numpy(own) for own in copies]), seconds / 3)
    return TreeFigures(
        case.name,
        case.unit,
        count,
        best,
        numpy_seconds,
        _numexpr(case, copies, seconds / 3),
        float(case.n_node * per_node),
        forest.timing().peak_result_bytes,
        error,
    )


def _numexpr(case: Operation, copies: list[list[np.ndarray]], seconds: float) -> float | None:
    if not case.expression:
        return None
    try:
        import numexpr
    except ImportError:
        return None
    numexpr.set_num_threads(1)
    named = [{f"x{i}": array for i, array in enumerate(arrays)} for arrays in copies]
    return _fastest(lambda: _timed(lambda: [numexpr.evaluate(case.expression, names) for names in named]), seconds)


def _evaluated(forest: Forest, roots: list[str], cells: Cells, without: tuple[str, ...]) -> float:
    """Seconds inside all classes but some.

    Times of classes are wall time, of which others may have a part. Processor time is known of the whole call, overhead
    included. Neither is less than what the classes took, so that the smaller one counts.
    """
    forest.reset_timing()
    processor = _timed(lambda: forest.results(roots, cells))
    return min(processor, sum(one["seconds"] for name, one in forest.timing().classes.items() if name not in without))


def _timed(work: Callable) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _fastest(work: Callable[[], float], seconds: float) -> float:
    started, times = time.perf_counter(), []
    while len(times) < 5 or time.perf_counter() - started < seconds:
        times.append(work())
    return min(times)


def _difference(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


SPELLINGS = ("PSV", "one node per source", "station phases", "tensors")


RADEC_0 = np.radians([60.0, -30.0])


def random_sky(n_source: int, n_station: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directions and Stokes parameters of sources, and positions of stations in metres."""
    generator = np.random.default_rng(7)
    lm = 0.01 * generator.uniform(-1, 1, (n_source, 2))
    lmn = np.concatenate([lm, np.sqrt(1 - (lm**2).sum(axis=1, keepdims=True))], axis=1)
    stokes = np.abs(generator.standard_normal((n_source, 1))) * np.array([1, 0.1, -0.05, 0.02])
    positions = np.array([5109270.0, 2006780.0, -3239050.0]) + generator.uniform(-500, 500, (n_station, 3))
    return lmn, stokes, positions


def random_shapes(n_source: int) -> np.ndarray:
    """Axes and position angles of Gaussians, in radians, which the baselines of `random_sky` resolve partly."""
    generator = np.random.default_rng(8)
    axes = np.sort(1e-5 * generator.uniform(1, 3, (n_source, 2)))[:, ::-1]
    return np.concatenate([axes, generator.uniform(0, np.pi, (n_source, 1))], axis=1)


def sky_tree(spelling: str, n_source: int, n_station: int, extended: bool = False) -> tuple[NodeScope, list[str]]:
    """The tree of a sky of polarised points without smearing, and its roots, one per baseline.

    Spellings: "PSV"; "one node per source": K B summed up; "station phases": K_p B K_q^H summed up; "tensors": K and B
    of all sources at once, and Sum. `extended`: sources are Gaussians, smeared in time and frequency.
    """
    lmn, stokes, positions = random_sky(n_source, n_station)
    shapes = random_shapes(n_source)
    ns = NodeScope()
    ns.radec_0 << rt.Constant(RADEC_0)
    for p in range(n_station):
        ns.uvw(p) << rt.UVW(ns.radec_0, positions[p], positions[0], include_deriv=extended)
    if spelling in ("PSV", "tensors"):
        ns.lmn << rt.Constant(lmn)
        ns.B << rt.Stokes(rt.Constant(stokes))
        if extended:
            ns.shape << rt.Constant(shapes)
    else:
        for s in range(n_source):
            ns.lmn(s) << rt.Constant(lmn[s])
            ns.B(s) << rt.Stokes(rt.Constant(stokes[s]))
            if extended:
                ns.shape(s) << rt.Constant(shapes[s])
            if spelling == "station phases":
                for p in range(n_station):
                    ns.K(p, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p))
                    ns.KH(p, s) << rt.Conj(ns.K(p, s))

    def losses(p: int, q: int, *source) -> list:
        """What smearing and the source's shape leave of it, as factors."""
        if not extended:
            return []
        (lmn, shape), uvw = (ns.lmn(*source), ns.shape(*source)) if source else (ns.lmn, ns.shape), ns.uvw(p, q)
        return [rt.TFSmearFactor(lmn, uvw), rt.SourceShape(shape, uvw)]

    roots = []
    for p in range(n_station):
        for q in range(p + 1, n_station):
            ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
            if spelling == "PSV":
                shape = [ns.shape] if extended else []
                ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q), *shape)
            elif spelling == "tensors":
                ns.K(p, q) << rt.VisPhaseShift(lmn=ns.lmn, uvw=ns.uvw(p, q))
                terms = rt.MatrixMultiply(ns.K(p, q), *losses(p, q), ns.B)
                ns.V(p, q) << rt.Sum(terms, reduction_axes=[], tensor_axis=0)
            elif spelling == "station phases":
                ns.V(p, q) << rt.Add(
                    *(rt.MatrixMultiply(*losses(p, q, s), ns.K(p, s), ns.B(s), ns.KH(q, s)) for s in range(n_source))
                )
            else:
                for s in range(n_source):
                    ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q))
                if extended:
                    terms = (rt.Multiply(ns.K(p, q, s), *losses(p, q, s), ns.B(s)) for s in range(n_source))
                else:
                    terms = (ns.K(p, q, s) * ns.B(s) for s in range(n_source))
                ns.V(p, q) << rt.Add(*terms)
            roots.append(ns.V(p, q).name)
    return ns, roots


@dataclass(frozen=True)
class Sky:
    """A sky in one spelling; `extended` as of `sky_tree`. `as_written`: it is not taken together as one PSV node."""

    spelling: str
    as_written: bool = False
    extended: bool = False

    @property
    def name(self) -> str:
        parts = ["sky", *(["as written"] if self.as_written else []), *(["Gaussians"] if self.extended else [])]
        return f"{' '.join(parts)}: {self.spelling}"


SKIES = tuple(
    Sky(spelling, as_written, extended)
    for as_written, extended in ((False, False), (False, True), (True, False), (True, True))
    for spelling in SPELLINGS[as_written:]
)


def measure_sky(
    sky: Sky, n_source: int = 1000, n_station: int = 7, n_time: int = 32, n_freq: int = 64, seconds: float = 1.0
) -> TreeFigures:
    """Time a sky in processor time; raises `WrongAnswerError` where it differs from the PSV node."""
    freq_hz = 1.4e9 + _BAND_HZ / n_freq * np.arange(n_freq)

    def cells(later_s: float) -> Cells:
        return Cells(_START_S + later_s + 10.0 * np.arange(n_time), freq_hz)

    def results(forest: Forest, roots: list[str], later_s: float) -> list[np.ndarray]:
        return [np.asarray(result.value) for result in forest.results(roots, cells(later_s))]

    ns, roots = sky_tree("PSV", n_source, n_station, sky.extended)
    wanted = results(Forest(ns, threads=1), roots[:1], 0.0)[0]
    ns, roots = sky_tree(sky.spelling, n_source, n_station, sky.extended)
    forest = Forest(ns, threads=1, as_written=sky.as_written)
    error = _difference(results(forest, roots[:1], 0.0)[0], wanted)
    if not error <= 1e-12 * n_source:
        raise WrongAnswerError(f"{sky.name}: wrong answer, off by {error:.2g}, so there is no speed")
    moved = iter(np.arange(1, 10_000))

    def once() -> float:
        forest.reset_timing()
        forest.results(roots, cells(1e-3 * float(next(moved))))
        return forest.timing().processor_seconds

    once()
    started, times = time.perf_counter(), []
    while len(times) < 2 or time.perf_counter() - started < seconds:
        times.append(once())
    count = float(n_source) * len(roots) * n_time * n_freq
    return TreeFigures(
        sky.name,
        "source-visibilities",
        count,
        min(times),
        result_bytes=forest.timing().peak_result_bytes,
        error=error,
    )
