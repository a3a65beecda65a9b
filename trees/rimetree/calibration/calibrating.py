"""Solving for Jones terms over a Measurement Set, chunk by chunk, so that a run that is killed can be resumed."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict

from threadpoolctl import threadpool_limits

from ..arguments import checked
from ..machine import give_back_freed_memory
from ..ms import OpenSet
from ..sky import SkyModel
from .errors import CalibrationError, NothingUsableError
from .memory import MemoryNeed
from .model.models import ModelColumns, Models
from .plan.planning import CalibrationOptions
from .plan.relative_leakages import warn_of_relative_leakages
from .plan.told_terms import check_told
from .progress_file import ProgressFile
from .report.reports import CalibrationReport, ChunkReport, summed
from .session import Session
from .side_by_side import at_a_time, in_order
from .solutions.fingerprint import data_fingerprints, fingerprint_of
from .solutions.h5parm import write_h5parm
from .solutions.solutions import Solutions
from .stages import KnownTerms, Stage, plan_stages
from .terms.redundant import redundant_text
from .terms.terms import Term
from .window_solutions import WindowSolutions, good_fractions, joined_sets, windows_of, without_signal

_SECONDS_BETWEEN_FILES = 60.0


# Matrices are as small as an array has antennas. The threads that NumPy's linear algebra would start for them wait for
# each other, which takes many times the work where other programs run.
@checked
@threadpool_limits.wrap(limits=1, user_api="blas")
def calibrate(
    path: str | os.PathLike,
    sky: SkyModel | ModelColumns | dict[int, SkyModel | ModelColumns],
    terms: Sequence[Term],
    out: str | os.PathLike,
    options: CalibrationOptions | None = None,
    *,
    on_chunk: Callable[[ChunkReport], None] | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
    stages: list[Stage] | None = None,
    keep_progress: bool = False,
) -> CalibrationReport:
    """Solve for the terms against a sky model or model columns, and write the solutions (H5parm) to `out`.

    `sky`: of all fields, or {FIELD_ID: its own}. `stages`: what `plan_stages` said, if it was asked already. `on_chunk`
    is called after each chunk, `on_iteration(iteration, chi_square)` within it. After each chunk its solutions are on
    the disk (`out`.progress); `out` itself appears complete. With `keep_progress` the former stays, so that a run that
    is interrupted while the solutions are used can be resumed there (`options.resume`) until `forget_progress(out)`.
    Raises `CalibrationError` where `out` exists, and other `Error`s where tree, data and sky do not fit together.
    """
    options = options or CalibrationOptions()
    path = os.fspath(path)
    stages = plan_stages(path, terms, options, sky) if stages is None else stages
    models = Models(sky, options.is_moved)
    opened = OpenSet(path)
    known = KnownTerms(path, options, terms)
    sessions = [_sessions(stage, models, options, known, on_iteration, opened) for stage in stages]
    for stage, own in zip(stages, sessions, strict=True):
        _check_skies(stage, own, models)
    directions = _directions([session for own in sessions for session in own])
    redundant = _say_redundant([session for own in sessions for session in own], terms)
    together = [_share(own, options) for own in sessions]
    if sessions[0]:
        sessions[0][0].forest()  # what is wrong with tree or device is said before an interrupted run is left behind
    plans = [plan for stage in stages for plan in stage.plans]
    progress = ProgressFile(out, _task(opened, models, terms, options, plans))
    with progress.alone() as exists:
        done = _begin(progress, exists, os.fspath(out), options)
        run = _Run(out, options, terms, progress, done, on_chunk, stages[-1])
        run.known = known.known
        run.count = sum(len(plan.chunks) for plan in plans)
        for stage, own, some in zip(stages, sessions, together, strict=True):
            known.learn(stage, run.solve(stage, own, some))
            own.clear()  # forests of a stage are not needed any more
            give_back_freed_memory()
        solutions = run.solutions()
        write_h5parm(out, solutions)
        standing_out = summed(window.standing_out for window in run.windows)
        faint = summed(window.faint for window in run.windows)
        progress.all_solved() if keep_progress else progress.remove()
    groups = list({(g.field_id, g.data_desc_ids): g for g in (plan.group for plan in plans)}.values())
    averaging = [plan.averaging_json() for plan in plans if plan.averaging is not None]
    good = good_fractions(run.windows)
    more = {
        "directions": directions,
        "standing_out": standing_out,
        "faint": faint,
        "without_signal": without_signal(run.windows),
    }
    return CalibrationReport(path, groups, run.reports, solutions, good, averaging, redundant, **more)


def _share(sessions: Sequence[Session], options: CalibrationOptions) -> int:
    """How many are solved at a time; each gets its part of threads and memory."""
    some = at_a_time(sessions, options)
    for session in sessions:
        session.share(some)
    return some


def _directions(sessions: Sequence[Session]) -> dict[int, dict[str, tuple[str, ...]]]:
    """{FIELD_ID: {term: directions}} of all sessions."""
    found: dict[int, dict[str, tuple[str, ...]]] = {}
    for session in sessions:
        found.setdefault(session.plan.group.field_id, {}).update(session.tree.directions)
    return found


def _say_redundant(sessions: Sequence[Session], terms: Sequence[Term]) -> dict[str, str]:
    """{name of a term that is held at the unit matrix: name of that which can do the same}, of all sessions; warns."""
    found = {name: full for session in sessions for name, full in session.redundant.items()}
    if found:
        warnings.warn(redundant_text(found, terms), stacklevel=3)
    return found


def _check_skies(stage: Stage, sessions: Sequence[Session], models: Models) -> None:
    """Raises, or warns, where the skies of some fields tell less of a term than those of others."""
    check_told(stage.terms, [(one.plan.group, one.tree.directions, one.tree.untold) for one in sessions])
    if any(term.kind.name == "leakage" for term in stage.terms):
        groups = [one.plan.group for one in sessions]
        warn_of_relative_leakages(stage.terms, [(one, models.of(one).polarisation(one)) for one in groups])


def _sessions(stage: Stage, models: Models, options, known: KnownTerms, on_iteration, opened) -> list[Session]:
    found = []
    for plan in stage.plans:
        model = models.of(plan.group)
        held = known.held(stage, plan.group, model)
        found.append(Session(plan, model, stage.terms, options, on_iteration, opened, held))
    return found


class _Run:
    """Chunks of all stages, one after the other, and what has been found."""

    def __init__(
        self,
        out,
        options: CalibrationOptions,
        terms: Sequence[Term],
        progress: ProgressFile,
        done,
        on_chunk,
        last: Stage,
    ):
        self._out, self._options, self._terms = out, options, terms
        self._progress, self._done, self._on_chunk = progress, done, on_chunk
        self._stages: list[list[WindowSolutions]] = []
        self._written = time.monotonic()
        self.count = 0
        self.known: dict[str, Solutions] = {}  # terms with nothing to solve for
        self._last: Stage | None = last
        self.reports: list[ChunkReport] = []

    @property
    def windows(self) -> list[WindowSolutions]:
        """Of all stages."""
        return [window for own in self._stages for window in own]

    def solve(self, stage: Stage, sessions: Sequence[Session], together: int) -> list[Solutions]:
        """All chunks of a stage, so many sessions at a time; what was found, by window."""
        windows, before = windows_of(sessions, stage.terms, stage.feeds_apart), len(self.reports)
        self._stages.append(list(windows.values()))
        with contextlib.closing(in_order(sessions, before, together, self._chunk)) as chunks:
            for session, number, report, arrays in chunks:
                if not report.resumed:
                    self._progress.add(report.to_json(), arrays)
                windows[session.plan.group.data_desc_ids].add(session, session.plan.chunks[number], arrays, report)
                self.reports.append(report)
                if self._on_chunk:
                    self._on_chunk(report)
                self._write_now_and_then()
        found = [window.solutions(self._options) for window in windows.values()]
        if stage is not self._last and all(term.all_flagged for one in found for term in one.terms):
            names = ", ".join(str(term) for term in stage.terms)
            fields = ", ".join(str(plan.group.field_id) for plan in stage.plans)
            reasons = ", ".join(dict.fromkeys(reason for one in self.reports[before:] for reason in one.flagged))
            raise NothingUsableError(
                f'all solutions of "{names}" are flagged ({reasons or "no data"}), so that the terms after it have '
                f"nothing to stand on; solve it on other data than those of field {fields}"
            )
        return found

    def _chunk(self, session: Session, number: int, index: int) -> tuple[ChunkReport, dict]:
        if index < len(self._done):
            summary, arrays = self._done[index]
            return ChunkReport.from_json(summary), arrays
        return session.solve(number, index, self.count)

    def _write_now_and_then(self) -> None:
        if time.monotonic() - self._written > _SECONDS_BETWEEN_FILES and len(self.reports) < self.count:
            write_h5parm(self._out, self.solutions())
            self._written = time.monotonic()

    def solutions(self) -> list[Solutions]:
        """Of all windows, as far as they are solved."""
        sets = [[window.solutions(self._options) for window in own if window.any] for own in self._stages]
        return joined_sets(sets, self._terms, self.known)


def _begin(progress: ProgressFile, exists: bool, out: str, options: CalibrationOptions) -> list:
    if options.resume and exists:
        return progress.resume()
    if options.resume and os.path.exists(out):
        raise CalibrationError(f"{out} is complete: there is nothing to resume; give --overwrite to solve anew")
    if not options.overwrite:
        if exists:
            raise CalibrationError(f"{progress.path} is of a run that was interrupted: give --resume, or --overwrite")
        if os.path.exists(out):
            raise CalibrationError(f"{out} exists; choose another name or give --overwrite")
    progress.begin()
    return []


def _task(opened: OpenSet, models: Models, terms: Sequence[Term], options: CalibrationOptions, plans) -> dict:
    """What decides the solutions, as JSON: a run that is resumed must agree in all of it."""
    columns = list(dict.fromkeys([options.data.column, *models.column_names]))
    data: dict[str, list[str]] = {}
    for group in {(plan.group.field_id, plan.group.data_desc_ids): plan.group for plan in plans}.values():
        for what, digest in data_fingerprints(opened, group, columns).items():
            data.setdefault(what, []).append(digest)
    return {
        "Measurement Set": os.path.realpath(opened.path),
        "rows": [[plan.group.field_id, *plan.group.data_desc_ids, plan.group.n_row] for plan in plans],
        "sky model": models.fingerprint,
        "terms": [str(term) for term in terms],
        "order of solving": "in turn" if options.in_turn else "together",
        "held solutions": [[fingerprint_of(one) for one in sets] for sets in options.held_files]
        + [options.interpolation] * bool(options.held),
        "data": {key: str(value) for key, value in asdict(options.data).items()},
        "solver options": asdict(options.solver),
        "selection": {key: str(value) for key, value in asdict(options.selection).items()},
        "chunks": [len(plan.chunks) for plan in plans],
        "averaging": [options.average_loss, options.average_radius_rad],
        "start": [fingerprint_of(one) for one in options.start],
        "outliers of data": options.flag_data,
        "outliers of solutions": options.flag_solutions,
        "noise": options.noise_per,
        "least fraction of data": options.min_fraction,
        "least signal over noise": options.min_snr,
        "reference antenna": options.reference,
        "phase centre": None if options.phase_centre_rad is None else list(options.phase_centre_rad),
        "smearing": options.smearing,
        "precision": [options.precision, options.tolerance],
        **data,
    }


@checked
def check(
    sky: SkyModel | ModelColumns | dict[int, SkyModel | ModelColumns],
    terms: Sequence[Term],
    options: CalibrationOptions,
    stages: Sequence[Stage],
) -> list[list[MemoryNeed]]:
    """Build every tree that would be solved; for each stage what the largest chunk of each of its plans takes.

    Raises `Error` where something does not fit together, or not into memory.
    """
    models, known = Models(sky), KnownTerms(stages[0].plans[0].group.path, options, terms)
    needs, redundant = [], {}
    for stage in stages:
        needs.append([])
        own = _sessions(stage, models, options, known, None, None)
        _check_skies(stage, own, models)
        for session in own:
            session.forest()
            needs[-1].append(session.need)
            redundant |= session.redundant
    if redundant:
        warnings.warn(redundant_text(redundant, terms), stacklevel=2)
    return needs
