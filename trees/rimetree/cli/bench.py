"""`rimetree bench`: how fast this machine is at what, with results that are checked."""

from __future__ import annotations

import itertools
import math
import os

import click

from .bench_calibrate import command as calibrate
from .errors import Failed
from .output import log
from .quantities import Count, Number
from .selection import threads_option


@click.group("bench")
def command() -> None:
    """Measure speed. Every case first checks its own results; what is wrong has no speed."""


command.add_command(calibrate)


@command.command("psv")
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
def psv(quick, filters, names, list_only, seconds, threads, json_file, plot, compare) -> None:
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
    _check_files(json_file, plot, bench)
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


@command.command("trees")
@click.option(
    "--filter", "parts", multiple=True, metavar="PART", help="Only cases whose name has this part; may be repeated."
)
@click.option("--list", "list_only", is_flag=True, help="List the cases and stop.")
@click.option("--seconds", type=Number(min=0.01), default=1.0, show_default=True, help="Time per case, about.")
@click.option("--sources", type=Count(min=1), default=1000, show_default=True, help="Number of sources of the skies.")
@click.option(
    "--json", "json_file", type=click.Path(), metavar="FILE", help="Write all figures, with machine and date."
)
def trees(parts, list_only, seconds, sources, json_file) -> None:
    """Trees: operations, a chain of them, ways to write a sky of points, PSV with Jones terms, forests. One core.

    \b
    rimetree bench trees
    rimetree bench trees --filter sky --sources 100 --json trees.json

    Columns: what is done per second; the time of NumPy and of numexpr (one thread, if installed) over that of the tree;
    gigabytes that must be read and written, per second ("of memory": over those that numpy.max reads); bytes of results
    alive at most; difference from NumPy's or PSV's numbers as a fraction of the largest value. Of operations the best
    of several evaluations counts, else processor time: of skies (21 baselines, 32 time slots, 64 channels; "as written"
    without recognition, Gaussians smeared) and spellings ("of PSV": speed over PSV's); of Jones terms per source and
    antenna (64 antennas, 64 channels, one slot), of which derivatives and gradients are those by an unknown that all
    terms depend on, with the values ("evaluations": their time over that of values; "est.": PSV's estimate over its
    time); of solves for gains of five sources and seven stations; of forests with one node per source and baseline.
    Exit status 1 where a case gave wrong answers.
    """
    from rimetree import bench
    from rimetree.bench import beam_terms, building, jones, slopes, solves, spellings
    from rimetree.bench import trees as cases
    from rimetree.bench.operations import measure_operation, operations

    work = {case.name: (lambda case=case: measure_operation(case, seconds)) for case in operations()}
    work[slopes.NAME] = lambda: slopes.measure_chain_derivative(seconds=seconds)
    work |= {sky.name: (lambda sky=sky: cases.measure_sky(sky, sources, seconds=seconds)) for sky in cases.SKIES}
    work |= {
        one.case: (lambda one=one: spellings.measure_spelling(one, seconds=seconds)) for one in spellings.SPELLINGS
    }
    for one in itertools.product(beam_terms.KINDS, jones.ASKED):
        work[jones.name_of(*one)] = lambda one=one: jones.measure_jones(one[0], sources, seconds=seconds, asked=one[1])
    work |= {case: (lambda case=case: solves.measure_solve(case, seconds=seconds)) for case in solves.CASES}
    for case in building.CASES:
        work[building.name_of(case)] = lambda case=case: building.measure_building(case, sources, seconds=seconds)
    chosen = [name for name in work if not parts or any(part in name for part in parts)]
    if not chosen:
        raise Failed("no case has such a part in its name; --list shows all")
    if list_only:
        click.echo("\n".join(chosen))
        return
    _check_files(json_file, None, bench)
    figures, errors = [], []
    width = max(len(name) for name in chosen)
    click.echo(
        f"{'case':<{width}}  {'per second':>10}  {'NumPy':>7}  {'numexpr':>7}  {'GB/s':>6}  {'bytes':>9}  {'error':>7}"
    )
    for name in chosen:
        try:
            measured = work[name]()
        except bench.WrongAnswerError as problem:
            errors.append(str(problem))
            click.echo(f"{name:<{width}}  NO SPEED, wrong answer")
            continue
        figures.append(measured.as_dict())
        click.echo(f"{name:<{width}}  {_tree_line(measured)}")
    if json_file:
        bench.write_trees(json_file, figures, seconds)
        log(f"wrote {json_file}")
    if errors:
        raise Failed("\n".join(errors))


def _tree_line(measured) -> str:
    from ..machine import size_text

    def ratio(other: float | None) -> str:
        return "" if other is None else f"{other / measured.seconds:.2f}"

    bandwidth = f"{1e-9 * measured.bytes / measured.seconds:.3g}" if measured.bytes else ""
    return (
        f"{measured.rate:>10.3g}  {ratio(measured.numpy_seconds):>7}  {ratio(measured.numexpr_seconds):>7}  "
        f"{bandwidth:>6}  {size_text(measured.result_bytes):>9}  {measured.error:>7.1g}  {measured.unit}"
        + measured.remarks
    )


@command.command("tune")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="NAME",
    help="Tune this device, e.g. cuda:0; may be repeated. Default: every GPU.",
)
@click.option(
    "--seconds",
    type=Number(min=0),
    default=0.5,
    show_default=True,
    help="Time per variant, about; figures of longer runs are steadier.",
)
def tune(devices, seconds) -> None:
    """Find the fastest block and tile sizes of the PSV kernels for each device, and store them.

    \b
    rimetree bench tune
    rimetree bench tune --device cuda:1

    Every variant that was compiled is timed on a typical problem, unpolarised and polarised. The best of each kernel
    and precision goes to $XDG_CACHE_HOME/rimetree/tuning.json (~/.cache/rimetree/tuning.json), by the name of the type
    of device, where runs on such devices find it. Delete the file to undo that. Columns: seconds; source-visibilities
    per second; the time that the device's arithmetic would take at its peak, over the time taken. Exit status 1 where
    there is no device.
    """
    from rimetree import bench

    names = devices or bench.device_names()
    if not names:
        raise Failed("there is no GPU here: nothing to tune (--device simulated shows what it would do)")
    for name in names:
        report = bench.tune_device(name, seconds)
        click.echo(report["device"])
        width = max(len(line["variant"]) for line in report["variants"])
        for line in report["variants"]:
            click.echo(
                f"  {line['kernel']:<14} {line['variant']:<{width}} {line['seconds']:>10.4g} s "
                f"{line['source_visibilities_per_second']:>10.3g} svis/s {100 * line['of_model']:>8.3g} %"
                f"{'  best' if line['best'] else ''}"
            )
        log(f"stored in {report['path']}")


@command.command("correlate")
@click.option(
    "--inputs",
    multiple=True,
    type=Count(min=1),
    metavar="N",
    default=(64, 256, 1024),
    show_default=True,
    help="Antennas times polarisations; may be repeated.",
)
@click.option("--format", "formats", multiple=True, default=("chime", "int8"), show_default=True, help="Sample format.")
@click.option("--strategy", default="automatic", show_default=True, help="As rt.correlate has it.")
@click.option("--seconds", type=Number(min=0.01), default=2.0, show_default=True, help="Time per case, about.")
@click.option("--chain", is_flag=True, help="Instead, channeliser and products of the MWA-32T against real time.")
@click.option("--device", default="none", show_default=True, help="E.g. cuda:0; samples go there from a file.")
@threads_option
@click.option("--json", "json_file", type=click.Path(), metavar="FILE", help="Write all figures, with device and date.")
def correlate(inputs, formats, strategy, seconds, chain, device, threads, json_file) -> None:
    """Products of voltages by the Correlate node: useful operations per second, reading and unpacking included.

    \b
    rimetree bench correlate --inputs 64 --threads 1

    One channel of four million samples of all inputs, again and again. Each product of N (N + 1) / 2 takes four
    multiplications and four additions a sample: 4 N (N + 1) operations. Columns: operations per second of the whole
    machine, and per second of processor time; the latter as a fraction of what a core does in registers, measured in
    the same run (dot products of bytes where it has AVX-512 VNNI, else products of 16 bits); samples of a channel per
    second, of all inputs, and the bytes of these. What is timed is first compared with the products formed one after
    the other, which must be the same to the last bit; exit status 1 where they are not.

    With --chain: 64 inputs, 1.28 MHz of complex samples of 5 bits into 128 channels and 2080 products, by a Fourier
    transform and by a filter bank of 4 taps: how many times faster than real time, on the whole machine and per core.
    """
    from rimetree import bench

    _check_files(json_file, None, bench)
    record = bench.new_correlator_record(threads, seconds)
    click.echo(f"{record['date']}  {record['machine']['processor']}, threads: {record['machine']['threads']}")
    if chain:
        _chain(record, seconds, threads, device)
        formats = ()
    else:
        peak = record["machine"]["peak_operations_per_second_of_a_core"]["bytes"]
        click.echo(f"peak of a core by its own probe: {peak:.3g} operations/s on 8-bit numbers")
        click.echo(
            f"{'format':<16}{'inputs':>8}{'op/s':>12}{'per core':>12}{'of peak':>9}{'samples/s':>12}{'bytes/s':>12}"
        )
    for name in formats:
        for n_input in inputs:
            case = bench.measure_correlator(
                name, n_input, strategy=strategy, threads=threads, device=device, seconds=seconds
            )
            record["cases"].append(case)
            click.echo(
                f"{name:<16}{n_input:>8}{case['operations_per_second']:>12.3g}"
                f"{case['operations_per_processor_second']:>12.3g}"
                f"{case['operations_per_processor_second'] / peak:>9.0%}{case['channel_samples_per_second']:>12.3g}"
                f"{case['bytes_per_second']:>12.3g}"
            )
    if json_file:
        bench.write_correlator_record(json_file, record)
        log(f"wrote {json_file}")


def _chain(record: dict, seconds: float, threads: int | None, device: str) -> None:
    from rimetree import bench

    click.echo(f"{'taps':<8}{'real time':>12}{'per core':>12}{'bytes/s':>12}")
    for taps in (1, 4):
        case = bench.measure_chain(taps=taps, threads=threads, device=device, seconds=seconds)
        record["cases"].append(case)
        click.echo(
            f"{taps:<8}{case['times_real_time']:>11.3g}x{case['times_real_time_per_core']:>11.3g}x"
            f"{case['bytes_per_second']:>12.3g}"
        )


def _check_files(json_file: str | None, plot: str | None, bench) -> None:
    """Before minutes are spent: whether results can be written."""
    if plot and os.path.splitext(plot)[1].lower() not in bench.figure.ENDINGS:
        raise click.BadParameter(f"{plot!r} must end in {', '.join(bench.figure.ENDINGS)}", param_hint="--plot")
    for file in filter(None, (json_file, plot)):
        folder = os.path.dirname(os.path.abspath(file))
        if not os.path.isdir(folder):
            raise click.BadParameter(f"there is no folder {folder!r}")


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
