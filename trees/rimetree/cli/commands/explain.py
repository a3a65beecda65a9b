"""`rimetree explain`: what an evaluation would do and take."""

from __future__ import annotations

import click

from ...machine import size_text
from ..options.evaluation import accuracy_options, as_written_option, threads_option
from ..options.quantities import BYTES, Count
from ..options.script_arguments import ScriptCommand
from ..output import table
from ..runs.forests import forest_options, forests

_DEPENDENCIES = {1: "domain", 2: "data", 4: "parameters", 8: "iteration"}
# Results of nodes other than PSV are written at about this rate by one core.
_BYTES_PER_SECOND = 3.0e8


@click.command("explain", cls=ScriptCommand)
@forest_options
@accuracy_options
@as_written_option
@click.option("--time-slots", type=Count(min=1), help="Time slots that are evaluated together; default: at most 64.")
@click.option(
    "--channels", type=Count(min=1), help="Number of channels; default: those of the Measurement Set, else 1."
)
@click.option("--memory", type=BYTES, help="Memory for results, e.g. 4GiB; default: half of the memory that is free.")
@threads_option
@click.option("--limit", type=Count(min=1), default=60, show_default=True, help="How many batches to list.")
def command(time_slots, channels, memory, threads, limit, precision, tolerance, as_written, **which) -> None:
    """Show the plan of a forest: of a tree script, or the ready-made tree of a sky model on a Measurement Set.

    \b
    rimetree explain script.py sim.ms
    rimetree explain sim.ms --sky field.skymodel --many-node

    Nodes of one class, state and shape form a batch, which one call evaluates. The column "depends on" says after
    what change a result is computed again: nothing (it is computed once), domain (times and frequencies), data,
    parameters. Below the table stands, for nodes that know several methods, which one would be used, assuming regular
    channels: the cheapest that meets the precision or tolerance. Nothing is evaluated; times are estimates.
    """
    how = {"threads": threads, "memory_bytes": int(memory) if memory else None, "as_written": as_written}
    for group, forest in forests(forest_arguments=how, **which):
        slots = time_slots or (1 if group is None else min(64, max(1, group.n_time)))
        n_channel = channels or (1 if group is None else max(1, group.n_channel))
        if group is not None:
            click.echo(f"{group}\n")
        methods = forest.describe(_cells(group, slots, n_channel), precision=precision, tolerance=tolerance)
        click.echo(_plan(forest, slots, n_channel, limit, group, methods))


def _plan(forest, slots: int, n_channel: int, limit: int, group, methods: list[dict]) -> str:
    plan = forest.plan(slots, n_channel)
    rows = []
    for class_name, first, dims, level, count, size, dependencies in plan["batches"][:limit]:
        needs = [name for bit, name in _DEPENDENCIES.items() if dependencies & bit]
        rows.append([level, class_name, count, first, dims, size_text(size), ", ".join(needs) or "nothing"])
    lines = [table(["level", "class", "nodes", "first", "result", "bytes", "depends on"], rows, left=(1, 3, 4, 6))]
    if len(plan["batches"]) > limit:
        lines.append(f"... and {len(plan['batches']) - limit} batches more (--limit)")
    nodes = sum(batch[4] for batch in plan["batches"])
    written = sum(batch[5] for batch in plan["batches"] if batch[0] not in ("PSV", "Constant")) / _BYTES_PER_SECOND
    seconds = (written + sum(method["seconds"] for method in methods)) / plan["threads"]
    each = seconds * (1 if group is None else len(group.data_desc_ids))
    lines += ["", *(f"{method['node']}: {method['text']}" for method in methods)]
    lines.append(
        f"\n{nodes} nodes in {len(plan['batches'])} batches; for {slots} time slots of {n_channel} channels results "
        f"take at most {size_text(plan['peak_bytes'])} (budget {size_text(plan['memory_budget'])}, evaluated in "
        f"{plan['waves']} part{'s' if plan['waves'] != 1 else ''}), {plan['threads']} threads"
    )
    lines.append(f"estimated time, reading and writing left out: {_time_text(each)} per time-slot group")
    if group is not None and group.n_time > slots:
        lines[-1] += f", {_time_text(each * group.n_time / slots)} for all {group.n_time} times"
    return "\n".join(lines)


def _cells(group, slots: int, n_channel: int):
    """Cells like those of the group's first spectral window, or of a band at 1.4 GHz; what matters is how many."""
    import numpy as np

    import rimetree as rt

    low, high = (1.4e9, 1.4e9 * (1 + 1e-4 * (n_channel - 1))) if group is None else group.frequency_hz
    width = (high - low) / (n_channel - 1) if n_channel > 1 else 1e5
    return rt.Cells(10.0 * np.arange(slots), np.linspace(low, high, n_channel), time_width_s=10, freq_width_hz=width)


def _time_text(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
    value, unit = (seconds, "s") if seconds >= 1 else (1000 * seconds, "ms")
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"
