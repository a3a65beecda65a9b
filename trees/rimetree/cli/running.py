"""Running forests over the groups of a Measurement Set: progress, Ctrl-C, and the report at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from ..machine import size_text
from .errors import Interrupted
from .output import log, progress


def memory_text(forest, group, time_slots: int | None) -> str:
    """What the results of a forest will take at most, for one time-slot group."""
    slots = min(time_slots or 64, max(1, group.n_time))
    plan = forest.plan(slots, max(1, group.n_channel))
    return (
        f"results take at most {size_text(plan['peak_bytes'])} for {slots} time slots of {group.n_channel} channels "
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
    """Run `forest_of(group)` over each group; returns [(group, RunReport)]. Options as `rimetree.ms.run_options`.

    After Ctrl-C the message says how far the column is complete.
    """
    reports = []
    warned: dict[str, int] = {}
    try:
        for index, group in enumerate(groups):
            forest = forest_of(group)
            log(f"{group}; {memory_text(forest, group, time_slots)}")
            with progress(f"field {group.field_id}", "visibilities") as show:
                report = forest.run(
                    path,
                    progress=show,
                    time_slots=time_slots,
                    **options,
                    part=(index, len(groups), sum(one.n_row for one in groups)),
                    **group.selection,
                )
            reports.append((group, report))
            for message in report.warnings:
                if message not in warned:
                    log(f"warning: {message}")
                warned[message] = warned.get(message, 0) + 1
            if report.verification and not report.verification.passed:
                log(f"warning: {report.verification}")
    except KeyboardInterrupt:
        raise Interrupted(_interrupted_text(path, len(reports), len(groups))) from None
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
        text = json.dumps([_as_dict(group, report) for group, report in reports], indent=2)
    write_text(report_file, text + "\n")


def _as_dict(group, report) -> dict:
    about = {"field_id": group.field_id, "field_name": group.field_name, "data_desc_ids": list(group.data_desc_ids)}
    fractions = {"overhead_fraction": report.overhead_fraction}
    return {**about, "n_baseline": len(group.baselines), "n_channel": group.n_channel, **asdict(report), **fractions}
