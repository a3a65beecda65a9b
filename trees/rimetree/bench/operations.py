"""Single operations and a chain of them, beside NumPy and numexpr."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError
from .trees import START_S, TreeFigures, largest_difference


@dataclass(frozen=True)
class Operation:
    """`tree(children, once)` of one node, where `once` makes a node of what is read twice, and `numpy(arrays)` of the
    same arrays, the first axes of which are the tensor's.

    `dims` and `is_complex`: of each child. `n_node` nodes of `shape` (time, freq) cells each are evaluated. Of
    what is `limited_by_memory`, bytes per second are compared with those that NumPy reads.
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
    limited_by_memory: bool = False


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
            limited_by_memory=True,
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
        times = np.arange(case.shape[0]) + START_S + 86400.0 * next(later)
        return Cells(times, np.arange(case.shape[1]) * 1e5 + 1e9)

    wanted = case.numpy(arrays)
    error = largest_difference(np.asarray(forest.results(roots, cells())[0].value), wanted)
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
    n_bytes = float(case.n_node * per_node)
    of_memory = None
    if case.limited_by_memory:
        read = [array for own in copies for array in own]
        reading = _fastest(lambda: _timed(lambda: [array.max() for array in read]), seconds / 3)
        of_memory = n_bytes / best / (sum(array.nbytes for array in read) / reading)
    return TreeFigures(
        case.name,
        case.unit,
        count,
        best,
        numpy_seconds,
        _numexpr(case, copies, seconds / 3),
        n_bytes,
        forest.timing().peak_result_bytes,
        error,
        of_memory=of_memory,
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
