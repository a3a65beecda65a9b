"""Benchmarks of Jones terms per source and antenna that vary in frequency, as beams do."""

from __future__ import annotations

import itertools
import time

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import SPEED_OF_LIGHT_M_S
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope
from .beam_terms import terms
from .measuring import WrongAnswerError, seconds_in_note
from .trees import TreeFigures

#: What is asked for: visibilities; these with their derivatives by an unknown that all terms depend on; chi-square with
#: its gradient.
ASKED = ("value", "derivative", "gradient")
#: How the notes begin in which PSV says how long it is going to take.
_ESTIMATES = {
    "value": (".*? rows, ",),
    "derivative": (".*? rows, ", "derivatives of Jones terms"),
    "gradient": (".*? rows, ", "derivatives by the matrix product|derivatives row by row"),
}


def jones_tree(
    kind: str, n_source: int, n_station: int, n_freq: int, *, scaled: bool
) -> tuple[NodeScope, list[tuple[int, int]], NDArray, NDArray, list[NDArray]]:
    """A tree of PSV nodes, one for each baseline of `n_station` antennas within 1 km, and chi-square against 1 Jy.

    Returns the scope; its baselines; direction cosines (l, m, n), [source, 3]; intensities in Jy, [source]; and the
    terms of each antenna, dimensionless, as `terms` makes them, which the solvable Parm "scale" multiplies if asked to.
    """
    generator = np.random.default_rng(11)
    lm = 0.01 * generator.uniform(-1, 1, (n_source, 2))
    lmn = np.concatenate([lm, np.sqrt(1 - (lm**2).sum(axis=1, keepdims=True))], axis=1)
    intensity = np.abs(generator.standard_normal(n_source))
    positions = np.array([5109270.0, 2006780.0, -3239050.0]) + generator.uniform(-500, 500, (n_station, 3))
    ns = NodeScope()
    ns.radec_0 << rt.Constant(np.radians([60.0, -30.0]))
    ns.lmn << rt.Constant(lmn)
    ns.scale << rt.Parm(1.0, solvable=True)
    ns.data << rt.Constant(np.eye(2, dtype=complex))
    ns.B << rt.Stokes(rt.Constant(intensity[:, None] * np.array([1.0, 0, 0, 0])))
    jones = []
    for p in range(n_station):
        ns.uvw(p) << rt.UVW(ns.radec_0, positions[p], positions[0])
        jones.append(terms(kind, n_source, n_freq, generator))
        term = rt.Constant(jones[p], cells_rank=2)
        ns.J(p) << (ns.scale * term if scaled else term)
        ns.JH(p) << rt.ConjTranspose(ns.J(p))
    baselines = list(itertools.combinations(range(n_station), 2))
    for p, q in baselines:
        ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q), None, ns.J(p), ns.JH(q))
        ns.residual(p, q) << rt.Condeq(ns.data, ns.V(p, q))
    ns.chi2 << rt.ChiSquare(*(ns.residual(p, q) for p, q in baselines))
    return ns, baselines, lmn, intensity, jones


def name_of(kind: str, asked: str) -> str:
    """The case's name."""
    return f"jones: {kind}" if asked == "value" else f"jones: {kind}, {asked}"


def _by_numpy(uvw_m, lmn, intensity, jones_p, jones_q, freq_hz) -> NDArray:
    """[2, 2, freq], Jy: sum over sources of J_p I J_q^H exp(2 pi i (u l + v m + w (n - 1)) nu / c).

    Smirnov (2011a), A&A 527, A106, equation 18; signs as in docs/conventions.md.
    """
    path_m = lmn @ uvw_m - uvw_m[2]
    k = intensity[:, None] * np.exp(2j * np.pi * path_m[:, None] * freq_hz / SPEED_OF_LIGHT_M_S)
    if jones_p.ndim == 3:
        one = (k * jones_p[:, 0] * jones_q[:, 0].conj()).sum(axis=0)
        return np.stack([np.stack([one, 0 * one]), np.stack([0 * one, one])])
    return np.einsum("sijf,sf,skjf->ikf", jones_p[..., 0, :], k, jones_q[..., 0, :].conj())


def _error_of_slopes(asked: str, forest: Forest, ns: NodeScope, roots: list[str], cells: Cells) -> float:
    """Visibilities go with the square of the scale, so that their derivatives are twice their values."""
    values = np.array([one.value for one in forest.results(roots, cells)])
    if asked == "derivative":
        results = forest.results(roots, cells, derivatives=True)
        slopes = np.array([one.derivatives[ns.scale.name, 0] for one in results])
        return float(np.abs(slopes - 2 * values).max() / np.abs(values).max())
    _, (slope,) = forest.value_and_gradient("chi2", cells)
    wanted = 4 * np.sum(np.real(np.conj(values - np.eye(2)[..., None, None]) * values))
    return float(abs(slope - wanted) / abs(wanted))


def measure_jones(
    kind: str,
    n_source: int = 1000,
    n_station: int = 64,
    n_freq: int = 64,
    seconds: float = 1.0,
    asked: str = "value",
) -> TreeFigures:
    """Time PSV with terms of a kind in processor time, one core; making both sides of the terms is part of it.

    Raises `ValueError` where `asked` is none of `ASKED`, and `WrongAnswerError` where the first baseline is not what
    NumPy sums up or slopes are wrong.
    """
    if asked not in ASKED:
        raise ValueError(f"asked: {', '.join(ASKED)}; got {asked!r}")
    ns, baselines, lmn, intensity, jones = jones_tree(kind, n_source, n_station, n_freq, scaled=asked != "value")
    freq_hz = 1.4e9 + 1e6 * np.arange(n_freq)
    forest = Forest(ns, threads=1)
    moved = itertools.count()

    def cells() -> Cells:
        return Cells(5.2e9 + 10.0 * next(moved) + np.zeros(1), freq_hz)

    p, q = baselines[0]
    uvw, got = forest.results([ns.uvw(p, q).name, ns.V(p, q).name], cells())
    got = np.asarray(got.value)[:, :, 0]
    wanted = _by_numpy(np.asarray(uvw.value).reshape(3), lmn, intensity, jones[p], jones[q], freq_hz)
    error = float(np.abs(got - wanted).max() / np.abs(intensity).sum())
    if not error <= 1e-12:
        raise WrongAnswerError(f"{kind} terms: wrong answer, off by {error:.2g}, so there is no speed")
    roots = [ns.V(p, q).name for p, q in baselines]
    if asked != "value":
        error = _error_of_slopes(asked, forest, ns, roots, cells())
        if not error <= 1e-11:
            raise WrongAnswerError(f"{kind} terms: wrong {asked}, off by {error:.2g}, so there is no speed")

    def once(asked: str) -> tuple[float, float]:
        """Processor time of all, and of PSV's part."""
        forest.reset_timing()
        if asked == "gradient":
            forest.value_and_gradient("chi2", cells())
        else:
            forest.results(roots, cells(), derivatives=asked == "derivative")
        timing = forest.timing()
        of_psv = timing.classes["PSV"]["seconds"] / timing.total_seconds
        return timing.processor_seconds, of_psv * timing.processor_seconds

    forest = Forest(ns, threads=1)  # whose notes are of all rows together
    # In turns, so that other load disturbs both alike.
    both = {"value": [], asked: []}
    for each in both:
        once(each)
    started = time.perf_counter()
    while len(both[asked]) < 2 or time.perf_counter() - started < seconds:
        for each, times in both.items():
            times.append(once(each))
    seconds, psv_seconds = min(both[asked])
    estimate = sum(seconds_in_note(forest.notes(), what) for what in _ESTIMATES[asked])
    return TreeFigures(
        name_of(kind, asked),
        "source-visibilities",
        float(n_source) * len(roots) * n_freq,
        seconds,
        result_bytes=forest.timing().peak_result_bytes,
        error=error,
        evaluations=None if asked == "value" else seconds / min(both["value"])[0],
        of_estimate=estimate / psv_seconds,
    )
