"""Running forests over the groups of a Measurement Set: progress, Ctrl-C, and the report at the end."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from ...machine import size_text
from ..errors import Interrupted
from ..output import log, progress


def memory_text(forest, group, time_slots: int | None) -> str:
    """What the results of a forest will take at most, for one time-slot group."""
    slots = min(time_slots or 64, max(1, group.n_time))
    channels = max(1, group.n_channel)
    plan = forest.plan(slots, channels)
    some = ", some of them at a time" if plan["peak_bytes"] > plan["memory_budget"] else ""
    return (
        f"results take at most {size_text(plan['peak_bytes'])} for {slots} time slots of {channels} channels{some} "
        f"(budget {size_text(plan['memory_budget'])}, {plan['threads']} threads)"
    )


def run_groups(
    path: str,
    groups: Sequence,
    forest_of: Callable,
    *,
    time_slots: int | None,
    **options,
) -> list:
    """Run `forest_of(group)` over each group; returns [(group, RunReport)]. Options as `rimetree.ms.run_options`."""
    return run_in_turn(path, [_ForestJob(path, group, forest_of, time_slots) for group in groups], **options)


class _ForestJob:
    """A forest over one group."""

    def __init__(self, path: str, group, forest_of: Callable, time_slots: int | None):
        self.group = group
        self._path, self._forest_of, self._time_slots = path, forest_of, time_slots
        self._forest = None

    def _made(self):
        if self._forest is None:
            self._forest = self._forest_of(self.group)
        return self._forest

    def memory_text(self) -> str:
        return memory_text(self._made(), self.group, self._time_slots)

    def run(self, **options):
        forest, self._forest = self._made(), None
        return forest.run(self._path, time_slots=self._time_slots, **options, **self.group.selection)


def run_in_turn(path: str, jobs: Sequence, **options) -> list:
    """Run jobs that fill a column together, each with a `group`, `memory_text()` and `run(progress=, part=, ...)`;
    returns [(group, RunReport)]. After Ctrl-C the message says how far the column is complete."""
    reports = []
    warned: dict[str, int] = {}
    try:
        for index, job in enumerate(jobs):
            group = job.group
            log(f"{group}; {job.memory_text()}")
            with progress(f"field {group.field_id}", "visibilities") as show:
                part = (index, len(jobs), sum(one.group.n_row for one in jobs))
                report = job.run(progress=show, part=part, **options)
            reports.append((group, report))
            for message in report.warnings:
                if message not in warned:
                    log(f"warning: {message}")
                warned[message] = warned.get(message, 0) + 1
            if report.verification and not report.verification.passed:
                log(f"warning: {report.verification}")
    except KeyboardInterrupt:
        raise Interrupted(_interrupted_text(path, len(reports), len(jobs))) from None
    for message, count in warned.items():
        if count > 1:
            log(f"note: {count} fields and windows had the warning {message[:60]!r}...")
    return reports


def _interrupted_text(path: str, done: int, count: int) -> str:
    from rimetree import ms

    lines = [f"interrupted; {path} is readable"]
    lines += [journal["text"] for journal in ms.inspect(path, scan_cells=False)["progress"]]
    if count > 1:
        lines.append(f"{done} of {count} fields were finished before")
    return "\n  ".join(lines)


def print_reports(reports: Sequence, report_file: str | None) -> None:
    """The reports on stdout, and into a file: JSON if its name ends in .json, else text."""
    from rimetree.whole_file import write_text

    text = "\n\n".join(f"{group}\n{report}" for group, report in reports)
    click.echo(text)
    if report_file is None:
        return
    if report_file.lower().endswith(".json"):
        text = json.dumps([_plain(_as_dict(group, report)) for group, report in reports], indent=2)
    write_text(report_file, text + "\n")


def _plain(value):
    """A value in types of JSON, which has no numbers that are not finite: null."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_dict(group, report) -> dict:
    about = {"field_id": group.field_id, "field_name": group.field_name, "data_desc_ids": list(group.data_desc_ids)}
    fractions = {"overhead_fraction": report.overhead_fraction}
    return {**about, "n_baseline": len(group.baselines), "n_channel": group.n_channel, **asdict(report), **fractions}
