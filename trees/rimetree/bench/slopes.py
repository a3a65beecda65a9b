"""Derivatives of a chain of operations by an unknown that all of it depends on."""

from __future__ import annotations

import itertools
import time

import numpy as np

from .. import nodes as rt
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError
from .operations import chain
from .trees import TreeFigures

NAME = "chain of twenty, derivative"


def measure_chain_derivative(shape: tuple[int, int] = (1000, 1000), seconds: float = 1.0) -> TreeFigures:
    """Time the values of a chain and their derivatives by a factor of its argument, in processor time.

    Raises `WrongAnswerError` where they differ from NumPy's, which differentiates by a small imaginary step. Its
    time is that of the values in complex arithmetic.
    """
    generator = np.random.default_rng(1)
    x, y = generator.standard_normal((2, *shape))
    ns = NodeScope()
    ns.factor << rt.Parm(1.0, solvable=True)
    ns.x << ns.factor * rt.Constant(x, cells_rank=2)
    ns.y << rt.Constant(y, cells_rank=2)
    number = itertools.count()

    def once(part):
        stub = ns.part(next(number))
        stub << part
        return stub

    ns.result << chain(ns.x, ns.y, rt.Sin, rt.Cos, rt.Exp, rt.Sqrt, once)
    forest = Forest(ns, threads=1)
    later = itertools.count()

    def run():
        """On another day each time, so that no result is known from before."""
        times = np.arange(shape[0]) + 5.2e9 + 86400.0 * next(later)
        cells = Cells(times, np.arange(shape[1]) * 1e5 + 1e9)
        return forest.results([ns.result.name], cells, derivatives=True)[0]

    def seconds_of(work) -> float:
        spent, started = [], time.perf_counter()
        while len(spent) < 3 or time.perf_counter() - started < seconds / 2:
            begin = time.process_time()
            work()
            spent.append(time.process_time() - begin)
        return min(spent)

    def by_numpy() -> np.ndarray:
        return chain(x * (1 + 1e-30j), y, np.sin, np.cos, np.exp, np.sqrt).imag * 1e30

    got, wanted = run().derivatives[ns.factor.name, 0], by_numpy()
    error = float(np.abs(got - wanted).max() / np.abs(wanted).max())
    if not error <= 1e-12:
        raise WrongAnswerError(f"{NAME}: wrong answer, off by {error:.2g}, so there is no speed")
    return TreeFigures(
        NAME,
        "cells",
        float(x.size),
        seconds_of(run),
        seconds_of(by_numpy),
        result_bytes=forest.timing().peak_result_bytes,
        error=error,
    )
