"""Measuring a case: what is wrong has no speed; the rest is timed in several passes over the same time slots."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from .._core import Error
from ..evaluation.cells import Cells
from ..evaluation.verification import Verification
from .cases import GROUP_SLOTS, PsvCase
from .problem import Problem, problem_of

_PASSES = 5  # at least
_VERIFIED = 48  # visibilities


class WrongAnswerError(Error):
    """The results of a case are not what they should be, so it has no speed."""


@dataclass(frozen=True)
class Clocks:
    """One pass over the time slots of a case. Seconds of wall time, but for `processor_s`.

    `total_s`: inside the evaluator. `unchanged_s`: preparing or copying what the last group had already, which a
    program could avoid. `changed_s`: the same for what is new with each group. `framework_s`: inside no node class.
    `processor_s`: processor time of all threads.
    """

    total_s: float
    framework_s: float
    unchanged_s: float
    changed_s: float
    processor_s: float
    psv_s: float = 0.0  # inside PSV

    @property
    def needed_s(self) -> float:
        """The total without avoidable copies."""
        return self.total_s - self.unchanged_s

    @property
    def computing_s(self) -> float:
        """Arithmetic only."""
        return self.total_s - self.framework_s - self.unchanged_s - self.changed_s


@dataclass(frozen=True)
class Measurement:
    """What a case took. `clocks` is the pass of median total; rates count source-visibilities (one source, baseline,
    time and channel with all its correlations) per second of wall time, of the whole machine."""

    case: PsvCase
    method: str
    n_baseline: int
    n_slot: int  # time slots that were computed
    group_slots: int
    verification: Verification
    clocks: Clocks
    totals_s: list[float] = field(repr=False)  # of all passes
    estimate_s: float = 0.0  # what the planner expected of one core for a pass
    psv_s: float = 0.0  # what PSV took of it in the fastest pass, as far as can be told
    result_bytes: int = 0  # most that was alive at a time
    threads: int = 1
    peak_per_core: float = 0.0  # multiply-adds per second of processor time, in the precision of the method

    @property
    def source_visibilities(self) -> float:
        """Of one pass."""
        return float(self.case.n_source) * self.n_baseline * self.n_slot * self.case.n_channel

    @property
    def rate(self) -> float:
        return self.source_visibilities / self.clocks.total_s

    @property
    def rate_per_core(self) -> float:
        """Per second of processor time: what other load on the machine disturbs least."""
        return self.source_visibilities / self.clocks.processor_s

    @property
    def of_peak(self) -> float | None:
        """Useful multiply-adds as a fraction of what the cores could have done in their processor time; None for
        methods that need fewer than the direct sum, and on devices, whose time that is not."""
        if not self.method.startswith("direct") or " on " in self.method or self.peak_per_core <= 0:
            return None
        return self.rate_per_core * self.case.multiply_adds / self.peak_per_core

    @property
    def of_estimate(self) -> float:
        """The planner's estimate over what was measured."""
        return self.estimate_s / self.psv_s

    @property
    def spread(self) -> float:
        """Longest pass less the shortest, over the median."""
        return (max(self.totals_s) - min(self.totals_s)) / statistics.median(self.totals_s)


def measure(case: PsvCase, *, peak: dict, threads: int | None = None, seconds: float = 2.0) -> Measurement:
    """Time a case for about so many seconds.

    `peak`: of `_core.multiply_add_peak`, measured in this process. Raises `WrongAnswerError` where some visibilities,
    chosen at random and computed again in extended precision, are off by more than the case allows, or could not be
    checked.
    """
    problem = problem_of(case, threads)
    n_slot, group_slots = _time_slots(problem, seconds / _PASSES)
    verification = verify(problem, group_slots)
    passes: list[Clocks] = []
    started = time.perf_counter()
    while len(passes) < _PASSES or time.perf_counter() - started < seconds / 4:
        passes.append(_pass(problem, n_slot, group_slots, later_s=1e-3 * (len(passes) + 1)))
    passes.sort(key=lambda one: one.total_s)
    plan = problem.forest.plan()
    method = _method(problem.forest.notes())
    threads_used = plan["threads"]
    return Measurement(
        case=case,
        method=method,
        n_baseline=problem.n_baseline,
        n_slot=n_slot,
        group_slots=group_slots,
        verification=verification,
        clocks=passes[len(passes) // 2],
        totals_s=[one.total_s for one in passes],
        estimate_s=_estimate(problem.forest.notes(), problem.n_baseline * n_slot),
        psv_s=min(min(one.processor_s, one.psv_s * threads_used) for one in passes),
        result_bytes=problem.forest.timing().peak_result_bytes,
        threads=threads_used,
        peak_per_core=peak["single_per_second" if "single" in method else "double_per_second"],
    )


def verify(problem: Problem, n_slot: int) -> Verification:
    """Evaluates one group of time slots and checks it; raises `WrongAnswerError`. Warms caches up, too."""
    case = problem.case
    _evaluate(problem, problem.cells(0, n_slot), verify=_VERIFIED)
    found = problem.forest.verification()
    verification = Verification(found.count, found.largest_error, found.where, tolerance=case.allowed_error)
    if verification.count == 0:
        raise WrongAnswerError(f"{case.name}: nothing was verified, so there is no speed")
    if not verification.passed:
        raise WrongAnswerError(f"{case.name}: wrong answer, so there is no speed: {verification}")
    return verification


def _time_slots(problem: Problem, seconds: float) -> tuple[int, int]:
    """(time slots to compute, of which in a group): the whole observation, or what takes about so long."""
    case = problem.case
    cells = problem.cells(0, GROUP_SLOTS)
    described = problem.forest.describe(cells, precision=case.precision, tolerance=case.tolerance)
    estimate = sum(one["seconds"] for one in described) / problem.forest.plan()["threads"]
    affordable = int(seconds / (estimate / GROUP_SLOTS)) if estimate > 0 else case.n_time
    group = max(1, min(GROUP_SLOTS, affordable))
    n_slot = max(group, min(case.n_time, affordable))
    return (n_slot if n_slot == case.n_time else n_slot // group * group), group


def _groups(n_slot: int, group_slots: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n_slot, group_slots):
        yield first, min(group_slots, n_slot - first)


def _pass(problem: Problem, n_slot: int, group_slots: int, later_s: float) -> Clocks:
    problem.forest.reset_timing()
    for first, count in _groups(n_slot, group_slots):
        _evaluate(problem, problem.cells(first, count, later_s))
    timing = problem.forest.timing()
    return Clocks(
        total_s=timing.total_seconds,
        framework_s=timing.overhead_seconds,
        unchanged_s=sum(one["unchanged_seconds"] for one in timing.classes.values()),
        changed_s=sum(one["changed_seconds"] for one in timing.classes.values()),
        processor_s=timing.processor_seconds,
        psv_s=timing.classes["PSV"]["seconds"],
    )


def _evaluate(problem: Problem, cells: Cells, verify: int = 0) -> None:
    case = problem.case
    problem.forest.results(problem.roots, cells, precision=case.precision, tolerance=case.tolerance, verify=verify)


def _estimate(notes: list[str], n_row: int) -> float:
    """Seconds of one core for so many rows, from what PSV says of the first part of them that it computed."""
    for note in notes:
        if found := re.search(r"^PSV: .*?, (\d+) rows, ", note):
            return n_row / int(found[1]) * seconds_in_note(notes, ".*? rows, ")
    return math.nan


def seconds_in_note(notes: list[str], what: str) -> float:
    """The estimate in the first note in which PSV says `what`, a regular expression; NaN where there is none."""
    for note in notes:
        if found := re.search(rf"^PSV: (?:{what}).*?\babout (\S+) (m?s) of one core", note):
            return float(found[1]) * (1e-3 if found[2] == "ms" else 1.0)
    return math.nan


def _method(notes: list[str]) -> str:
    """Which method the PSV node says it took, e.g. "direct in double precision"."""
    found = {match.group(1) for note in notes for match in re.finditer(r"^PSV: .*? of the total flux: (.*?) \(", note)}
    return ", ".join(sorted(found)) or "unknown"
