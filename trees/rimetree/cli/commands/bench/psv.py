"""`rimetree bench psv`: visibilities of many sources."""

from __future__ import annotations

import math

import click

from ...errors import Failed
from ...options.evaluation import threads_option
from ...options.quantities import Number
from ...output import log
from .files import check_files


@click.command("psv")
@click.option("--quick", is_flag=True, help="A few cases instead of the whole grid.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="PARTS",
    help="Only cases whose name has all these parts, e.g. meerkat/IQUV/1000; may be repeated for others.",
)
@click.option("--case", "names", multiple=True, metavar="NAME", help="Only this case; may be repeated.")
@click.option("--list", "list_only", is_flag=True, help="List the cases and stop.")
@click.option(
    "--seconds",
    type=Number(min=0.01),
    default=2.0,
    show_default=True,
    help="Time per case, about; figures of longer runs are steadier.",
)
@threads_option
@click.option("--json", "json_file", type=click.Path(), metavar="FILE", help="Write all figures, with device and date.")
@click.option("--plot", type=click.Path(), metavar="FILE", help="Draw all figures: .png, .pdf or .svg.")
@click.option("--compare", type=click.Path(), metavar="OLD.json", help="Show speed-ups over an earlier --json.")
def command(quick, filters, names, list_only, seconds, threads, json_file, plot, compare) -> None:
    """Visibilities of many sources by the PSV node: source-visibilities per second over a grid of cases.

    \b
    rimetree bench psv --quick
    rimetree bench psv --filter meerkat/1000 --threads 1 --json new.json --compare old.json

    A source-visibility is one source, baseline, time and channel with all its correlations. WSRT has 91 baselines and
    72 time slots, MeerKAT 2016 and 480, both 64 channels in groups of 32 time slots; where that takes too long, fewer
    time slots are computed, and the line says so. Columns: rate of the whole machine; rate per second of processor
    time; useful multiply-adds (6 for Stokes I, 12 for all) as a fraction of the peak, measured in the same run; time
    per time slot in ms, first the total, then without copies of what has not changed, then computation only; the
    planner's estimate over the processor time that the node took; how far passes differ; bytes of results; largest
    error found, as a fraction of the total flux. Exit status 1 where a case gave wrong answers.
    """
    from rimetree import bench

    cases = bench.select(bench.quick() if quick else bench.grid(), filters, names)
    if not cases:
        raise Failed("no case has these parts; --list shows all")
    if list_only:
        click.echo("\n".join(case.name for case in cases))
        return
    check_files(json_file, plot, bench)
    old = bench.read_record(compare) if compare else None
    peak = bench.multiply_add_peak()
    record = bench.new_record(peak, threads, seconds)
    click.echo(_head(record, len(cases)))
    lines = _Lines(max(len(case.name) for case in cases), old is not None)
    click.echo(lines.head())
    for case in cases:
        try:
            figures = record.add(bench.measure(case, peak=peak, threads=threads, seconds=seconds))
            click.echo(lines.line(figures, bench.speed_ups([figures], old) if old else {}))
        except bench.WrongAnswerError as problem:
            record.add_error(case.name, str(problem))
            click.echo(f"{case.name}: NO SPEED, wrong answer")
        if json_file:
            record.write(json_file)  # after every case: what was measured is kept if the next one is interrupted
    if plot:
        bench.write_figure(record, plot)
    if old:
        click.echo(_comparison(bench, record, old))
    for file in filter(None, (json_file, plot)):
        log(f"wrote {file}")
    if record.errors:
        raise Failed("\n".join(record.errors))


def _head(record, count: int) -> str:
    machine, versions = record.about["machine"], record.about["versions"]
    peak = machine["peak_multiply_adds_per_second_of_a_core"]
    load = record.about["load_average_at_the_start"][0]
    return (
        f"{record.about['date']}  rimetree {versions['rimetree']}, {versions['nodes']}\n"
        f"{machine['processor']}, {machine['processors']} processors, threads: {machine['threads']}; load {load}\n"
        f"peak of a core by its own probe ({machine['instruction_set']}): {peak['double']:.3g} double, "
        f"{peak['single']:.3g} single multiply-adds/s\n"
        f"cases: {count}, about {record.about['seconds_per_case']:g} s each\n"
    )


class _Lines:
    """The table, line by line, as cases end."""

    _COLUMNS = (
        ("svis/s", 9),
        ("per core", 9),
        ("peak", 6),
        ("total", 8),
        ("w/o cp", 8),
        ("comp.", 8),
        ("est.", 5),
        ("spread", 6),
        ("bytes", 9),
        ("error", 8),
    )

    def __init__(self, name_width: int, compares: bool):
        self._name_width = name_width
        self._columns = (*self._COLUMNS, ("new/old", 7)) if compares else self._COLUMNS

    def _join(self, name: str, cells: list[str], rest: str) -> str:
        widths = [width for _, width in self._columns]
        parts = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join([name.ljust(self._name_width), *parts, rest]).rstrip()

    def head(self) -> str:
        titles = [title for title, _ in self._columns]
        rule = self._join("-" * self._name_width, ["-" * width for _, width in self._columns], "------")
        return self._join("case", titles, "method") + "\n" + rule

    def line(self, case: dict, speed_ups: dict[str, float]) -> str:
        from rimetree.machine import size_text

        seconds, slots = case["seconds"], case["time_slots"]
        share = case["of_multiply_add_peak"]
        totals = case["total_seconds_of_all_passes"]
        cells = [
            f"{case['source_visibilities_per_second']:.3g}",
            f"{case['source_visibilities_per_processor_second']:.3g}",
            "" if share is None else f"{100 * share:.0f} %",
            *(
                f"{1000 * seconds[key] / slots:.4g}"
                for key in ("total", "total_without_avoidable_copies", "computation_only")
            ),
            "" if math.isnan(case["estimate_over_measured"]) else f"{case['estimate_over_measured']:.2f}",
            f"{100 * (max(totals) - min(totals)) / seconds['total']:.0f} %",
            size_text(case["result_bytes"]),
            f"{case['verified']['largest_error']:.1g}",
        ]
        if len(self._columns) > len(cells):
            ratio = speed_ups.get(case["name"])
            cells.append("" if ratio is None else f"{ratio:.2f}")
        whole = case["time_slots_of_the_observation"]
        rest = case["method"] + ("" if slots == whole else f"; {slots} of {whole} time slots")
        return self._join(case["name"], cells, rest)


def _comparison(bench, record, old) -> str:
    ratios = bench.speed_ups(record.cases, old)
    before = old.about.get("machine", {})
    same = before.get("processor") == record.about["machine"]["processor"]
    text = f"\nold: {old.about.get('date', 'no date')}, {before.get('processor', 'unknown processor')}"
    text += "" if same else " (another machine)"
    if not ratios:
        return text + "; no case in common"
    return text + (
        f"; {len(ratios)} cases in common, per processor time {bench.mean_ratio(ratios.values()):.2f} times as fast "
        f"(geometric mean; {min(ratios.values()):.2f} to {max(ratios.values()):.2f})"
    )
