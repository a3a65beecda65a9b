"""Solving for Jones terms over a Measurement Set, chunk by chunk, so that a run that is killed can be resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

import numpy as np

from ..arguments import checked
from ..ms import OpenSet
from ..sky import SkyModel
from .collected import Collected
from .errors import CalibrationError
from .fingerprint import data_fingerprints
from .grid import Chunk
from .h5parm import write_h5parm
from .memory import MemoryNeed
from .models import Model, ModelColumns, as_model
from .planning import CalibrationOptions, GroupPlan, plan_groups
from .progress_file import ProgressFile
from .reports import CalibrationReport, ChunkReport
from .session import Session
from .solutions import Solutions
from .terms import Term

_SECONDS_BETWEEN_FILES = 60.0


@checked
def calibrate(
    path: str | os.PathLike,
    sky: SkyModel | ModelColumns,
    terms: Sequence[Term],
    out: str | os.PathLike,
    options: CalibrationOptions | None = None,
    *,
    on_chunk: Callable[[ChunkReport], None] | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
    plans: list[GroupPlan] | None = None,
) -> CalibrationReport:
    """Solve for the terms against a sky model or model columns, and write the solutions (H5parm) to `out`.

    `plans`: what `plan_groups` said, if it was asked already. `on_chunk` is called after each chunk,
    `on_iteration(iteration, chi_square)` within it. After each chunk its solutions are on the disk (`out`.progress);
    `out` itself appears complete. Raises `CalibrationError` where `out` exists, and other `Error`s where tree, data and
    sky do not fit together.
    """
    options = options or CalibrationOptions()
    path = os.fspath(path)
    plans = plan_groups(path, terms, options) if plans is None else plans
    model = as_model(sky)
    opened = OpenSet(path)
    sessions = [Session(plan, model, terms, options, on_iteration, opened) for plan in plans]
    if sessions:
        sessions[0].forest()  # what is wrong with tree or device is said before an interrupted run is left behind
    progress = ProgressFile(out, _task(opened, model, terms, options, plans))
    done = _begin(progress, os.fspath(out), options)
    windows = _windows(sessions, terms)
    count = sum(len(plan.chunks) for plan in plans)
    reports: list[ChunkReport] = []
    written = time.monotonic()
    for session in sessions:
        for number, chunk in enumerate(session.plan.chunks):
            index = len(reports)
            if index < len(done):
                summary, arrays = done[index]
                report = ChunkReport.from_json(summary)
            else:
                report, arrays = session.solve(number, index, count)
                progress.add(report.to_json(), arrays)
            session.keep(arrays)
            windows[session.plan.group.data_desc_ids].add(session, chunk, arrays, report)
            reports.append(report)
            if on_chunk:
                on_chunk(report)
            if time.monotonic() - written > _SECONDS_BETWEEN_FILES and index + 1 < count:
                write_h5parm(out, [w.solutions(options) for w in windows.values() if w.any])
                written = time.monotonic()
    solutions = [window.solutions(options) for window in windows.values()]
    write_h5parm(out, solutions)
    progress.remove()
    return CalibrationReport(
        path, [plan.group for plan in plans], reports, solutions, _good_fractions(windows.values())
    )


def _begin(progress: ProgressFile, out: str, options: CalibrationOptions) -> list:
    if options.resume and progress.exists:
        return progress.resume()
    if options.resume and os.path.exists(out):
        raise CalibrationError(f"{out} is complete: there is nothing to resume; give --overwrite to solve anew")
    if not options.overwrite:
        if progress.exists:
            raise CalibrationError(f"{progress.path} is of a run that was interrupted: give --resume, or --overwrite")
        if os.path.exists(out):
            raise CalibrationError(f"{out} exists; choose another name or give --overwrite")
    progress.begin()
    return []


def _task(opened: OpenSet, model: Model, terms: Sequence[Term], options: CalibrationOptions, plans) -> dict:
    """What decides the solutions, as JSON: a run that is resumed must agree in all of it."""
    columns = list(dict.fromkeys([options.data.column, *model.column_names]))
    data: dict[str, list[str]] = {}
    for plan in plans:
        for what, digest in data_fingerprints(opened, plan.group, columns).items():
            data.setdefault(what, []).append(digest)
    return {
        "Measurement Set": os.path.realpath(opened.path),
        "rows": [[plan.group.field_id, *plan.group.data_desc_ids, plan.group.n_row] for plan in plans],
        "sky model": model.fingerprint,
        "terms": [str(term) for term in terms],
        "data": {key: str(value) for key, value in asdict(options.data).items()},
        "solver options": asdict(options.solver),
        "reference antenna": options.reference,
        "phase centre": None if options.phase_centre_rad is None else list(options.phase_centre_rad),
        "smearing": options.smearing,
        "precision": [options.precision, options.tolerance],
        **data,
    }


@checked
def check(
    sky: SkyModel | ModelColumns, terms: Sequence[Term], options: CalibrationOptions, plans: Sequence[GroupPlan]
) -> list[MemoryNeed]:
    """Build every tree that would be solved; what the largest chunk of each plan takes.

    Raises `Error` where something does not fit together, or not into memory.
    """
    needs = []
    for plan in plans:
        session = Session(plan, as_model(sky), terms, options)
        session.forest()
        needs.append(session.need)
    return needs


class _Window:
    """Solutions of one spectral window; those of all its fields go together."""

    def __init__(self, sessions: Sequence[Session], terms: Sequence[Term]):
        self._session = sessions[0]
        group = self._session.plan.group
        antennas = sorted({antenna for session in sessions for antenna in session.plan.group.antennas})
        self._names = {antenna: group.antenna_names[antenna] for antenna in antennas}
        frequencies = self._session.plan.frequencies
        self._collected = [Collected(t, self._session.tree, self._names, frequencies[t.name]) for t in terms]
        self.good = dict.fromkeys(self._names.values(), 0)
        self.all = dict.fromkeys(self._names.values(), 0)
        self._scales: list[float] = []
        self.any = False

    def add(self, session: Session, chunk: Chunk, arrays: dict, report: ChunkReport) -> None:
        for collected in self._collected:
            collected.add(chunk, session.tree.parameters, arrays, normalised=collected.name in report.normalised)
        if report.scale is not None:
            self._scales.append(report.scale)
        for antenna, good, every in zip(session.plan.group.antennas, arrays["good"], arrays["all"], strict=True):
            self.good[self._names[antenna]] += int(good)
            self.all[self._names[antenna]] += int(every)
        self.any = True

    def solutions(self, options: CalibrationOptions) -> Solutions:
        from .. import __version__

        group = self._session.plan.group
        return Solutions(
            tuple(collected.solutions() for collected in self._collected),
            group.feed,
            {name: group.antenna_xyz_m[antenna] for antenna, name in self._names.items()},
            self._session.tree.radec_rad,
            {
                "program": f"RimeTree {__version__}",
                "measurement_set": os.path.realpath(group.path),
                "data_desc_id": float(group.data_desc_ids[0]),
                "data_desc_ids": " ".join(map(str, group.data_desc_ids)),
                "data_column": options.data.column,
                "created_utc": datetime.now(UTC).isoformat(timespec="seconds"),
                **({"data_over_model": float(np.median(self._scales))} if self._scales else {}),
                **options.provenance,
            },
        )


def _windows(sessions: Sequence[Session], terms: Sequence[Term]) -> dict[tuple[int, ...], _Window]:
    by_window: dict[tuple[int, ...], list[Session]] = {}
    for session in sessions:
        by_window.setdefault(session.plan.group.data_desc_ids, []).append(session)
    return {ids: _Window(some, terms) for ids, some in by_window.items()}


def _good_fractions(windows: Iterable[_Window]) -> dict[str, float]:
    good: dict[str, int] = {}
    every: dict[str, int] = {}
    for window in windows:
        for name in window.good:
            good[name] = good.get(name, 0) + window.good[name]
            every[name] = every.get(name, 0) + window.all[name]
    return {name: good[name] / every[name] if every[name] else 0.0 for name in good}
