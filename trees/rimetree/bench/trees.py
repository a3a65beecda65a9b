"""Benchmarks of trees that are no PSV node: single operations, chains of them, and ways to write a sky.

Each case has the same numbers from NumPy, or from a PSV node, with which its own are compared: what is wrong has no
speed. Times are of one core, as far as can be told without what other programs took of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError

START_S, _BAND_HZ = 5.2e9, 64e6


@dataclass(frozen=True)
class TreeFigures:
    """What a case took: `seconds` of the fastest of several evaluations, `count` of `unit` done in it.

    `numpy_seconds`, `numexpr_seconds`: the same by NumPy and, where it is installed, numexpr on one thread.
    `bytes`: what has to be read and written at least. `evaluations`: of derivatives, their time over that of the values
    alone, in the same run. `of_psv`: its speed over that of PSV nodes in the same run. `of_estimate`: what PSV expected
    to take over what it took, as far as can be told.
    `of_memory`: bytes per second over those of `numpy.max` of the same arrays, which reads as fast as memory gives.
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
    of_memory: float | None = None
    of_psv: float | None = None

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def remarks(self) -> str:
        """What there is to say of derivatives, PSV, estimates and memory, after a comma; empty if nothing."""
        return (
            (f", {self.evaluations:.2f} evaluations" if self.evaluations else "")
            + (f", {self.of_psv:.2f} of PSV" if self.of_psv else "")
            + (f", est. {self.of_estimate:.2f}" if self.of_estimate else "")
            + (f", {self.of_memory:.0%} of memory" if self.of_memory else "")
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
            "of_memory": self.of_memory,
            "of_psv": self.of_psv,
        }


def largest_difference(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


SPELLINGS = ("PSV", "one node per source", "station phases", "tensors", "elements")


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
    of all sources at once, and Sum; "elements": Matrix22(K XX, K XY, K YX, K YY) summed up. `extended`: sources are
    Gaussians, smeared in time and frequency.
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
            for e in range(4 if spelling == "elements" else 0):
                ns.b(s, e) << ns.B(s)[e // 2, e % 2]
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
                if spelling == "elements":
                    terms = (
                        rt.Matrix22(*(rt.Multiply(ns.K(p, q, s), *losses(p, q, s), ns.b(s, e)) for e in range(4)))
                        for s in range(n_source)
                    )
                elif extended:
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
        return Cells(START_S + later_s + 10.0 * np.arange(n_time), freq_hz)

    def results(forest: Forest, roots: list[str], later_s: float) -> list[np.ndarray]:
        return [np.asarray(result.value) for result in forest.results(roots, cells(later_s))]

    ns, roots = sky_tree("PSV", n_source, n_station, sky.extended)
    wanted = results(Forest(ns, threads=1), roots[:1], 0.0)[0]
    ns, roots = sky_tree(sky.spelling, n_source, n_station, sky.extended)
    forest = Forest(ns, threads=1, as_written=sky.as_written)
    error = largest_difference(results(forest, roots[:1], 0.0)[0], wanted)
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
