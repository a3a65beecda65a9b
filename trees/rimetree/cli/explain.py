"""`rimetree explain`: what an evaluation would do and take."""

from __future__ import annotations

import time

import click

from .output import table
from .quantities import BYTES, size_text
from .trees import forest_options, forests

_DEPENDENCIES = {1: "domain", 2: "data", 4: "parameters", 8: "iteration"}
# Results of nodes other than PSV are written at about this rate by one core.
_BYTES_PER_SECOND = 3.0e8


@click.command("explain")
@forest_options
@click.option("--time-slots", type=click.IntRange(min=1), help="Of a time-slot group; default: at most 64.")
@click.option("--channels", type=click.IntRange(min=1), help="Default: those of the Measurement Set, else 1.")
@click.option("--memory", type=BYTES, help="What results may take, e.g. 4GiB; default: half of what is free.")
@click.option("--threads", type=click.IntRange(min=1), help="Cores to use; default: all.")
@click.option("--limit", type=click.IntRange(min=1), default=60, show_default=True, help="Batches to list.")
def command(time_slots, channels, memory, threads, limit, **which) -> None:
    """Show the plan of a forest: of a tree script, or the ready-made tree of a sky model on a Measurement Set.

    \b
    rimetree explain script.py sim.ms
    rimetree explain sim.ms --sky field.skymodel --many-node

    Nodes of one class, state and shape form a batch, evaluated by one call. "depends on" says what a result is
    computed anew for: nothing (once), domain (times and frequencies), data, parameters. Nothing is evaluated; the time
    is an estimate from a short measurement of this machine.
    """
    for group, forest in forests(threads=threads, memory_bytes=int(memory) if memory else None, **which):
        slots = time_slots or (1 if group is None else min(64, max(1, group.n_time)))
        n_channel = channels or (1 if group is None else max(1, group.n_channel))
        if group is not None:
            click.echo(f"{group}\n")
        click.echo(_plan(forest, slots, n_channel, limit, group))


def _plan(forest, slots: int, n_channel: int, limit: int, group) -> str:
    plan = forest.plan(slots, n_channel)
    rows = []
    for class_name, first, dims, level, count, size, dependencies in plan["batches"][:limit]:
        needs = [name for bit, name in _DEPENDENCIES.items() if dependencies & bit]
        rows.append([level, class_name, count, first, dims, size_text(size), ", ".join(needs) or "nothing"])
    lines = [table(["level", "class", "nodes", "first", "result", "bytes", "depends on"], rows, left=(1, 3, 4, 6))]
    if len(plan["batches"]) > limit:
        lines.append(f"... and {len(plan['batches']) - limit} batches more (--limit)")
    nodes = sum(batch[4] for batch in plan["batches"])
    each = _seconds(forest, plan, slots, n_channel) * (1 if group is None else len(group.data_desc_ids))
    lines.append(
        f"\n{nodes} nodes in {len(plan['batches'])} batches; for {slots} time slots of {n_channel} channels results "
        f"take at most {size_text(plan['peak_bytes'])} (budget {size_text(plan['memory_budget'])}, evaluated in "
        f"{plan['waves']} part{'s' if plan['waves'] != 1 else ''}), {plan['threads']} threads"
    )
    lines.append(f"estimated time, reading and writing left out: {_time_text(each)} per time-slot group")
    if group is not None and group.n_time > slots:
        lines[-1] += f", {_time_text(each * group.n_time / slots)} for all {group.n_time} times"
    return "\n".join(lines)


def _seconds(forest, plan: dict, slots: int, n_channel: int) -> float:
    """Rough time of one evaluation that finds nothing cached."""
    nodes = forest.nodes()
    sources = 0
    for node in nodes:
        if node["class"] == "PSV":
            dims = nodes[node["children"][0]]["dims"].strip("[]").split(",")
            sources += int(dims[0]) if len(dims) == 2 else 1
    others = sum(batch[5] for batch in plan["batches"] if batch[0] not in ("PSV", "Constant"))
    seconds = others / _BYTES_PER_SECOND
    if sources:
        seconds += sources * slots * n_channel / _psv_rate(n_channel)
    return seconds / plan["threads"]


def _psv_rate(n_channel: int) -> float:
    """Source-visibilities per second of one core, measured on a small problem with smearing."""
    import numpy as np

    import rimetree as rt

    rng = np.random.default_rng(1)
    rows, sources = 256, 64
    lm = rng.uniform(-0.01, 0.01, (sources, 2))
    lmn = np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))])
    frequency = 1.4e9 + 1e5 * np.arange(min(n_channel, 64))
    options = {"duvw_m_s": rng.normal(0, 0.1, (rows, 3)), "exposure_s": 10.0, "channel_width_hz": 1e5, "threads": 1}
    stokes = np.ones((sources, 4))
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        rt.predict(rng.normal(0, 1000, (rows, 3)), frequency, lmn, stokes, **options)
        best = min(best, time.perf_counter() - begin)
    return rows * sources * len(frequency) / best


def _time_text(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
    value, unit = (seconds, "s") if seconds >= 1 else (1000 * seconds, "ms")
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"
