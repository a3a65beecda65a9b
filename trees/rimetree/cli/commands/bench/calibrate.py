"""`rimetree bench calibrate`: calibrating, against DP3 and QuartiCal."""

from __future__ import annotations

import json
import os
import tempfile

import click

from ...errors import Failed
from ...options.evaluation import threads_option
from ...options.quantities import FLUX, Count
from ...output import log, table


@click.command("calibrate")
@click.option("--antennas", type=Count(3, 64), default=64, show_default=True, help="Of MeerKAT.")
@click.option("--channels", type=Count(min=1), default=64, show_default=True, help="Of 200 kHz.")
@click.option("--slots", type=Count(min=1), default=60, show_default=True, help="Of 8 s.")
@click.option("--sources", type=Count(min=1), default=20, show_default=True, help="Of the sky model.")
@click.option("--directions", type=Count(min=1), default=1, show_default=True, help="With gains of their own.")
@click.option(
    "--noise",
    type=FLUX,
    default=1.0,
    metavar="FLUX",
    help="Standard deviation of real and imaginary parts: Jy, mJy; a bare number: Jy.  [default: 1 Jy]",
)
@click.option("--interval", type=(int, int), default=(10, 8), show_default=True, help="Slots and channels of a gain.")
@click.option("--repeat", type=Count(min=1), default=2, show_default=True, help="Runs; the quickest counts.")
@click.option("--program", "names", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@threads_option
@click.option(
    "--json", "json_file", type=click.Path(), metavar="FILE", help="Write all figures, with machine and date."
)
def command(antennas, channels, slots, sources, directions, noise, interval, repeat, names, threads, json_file) -> None:
    """Diagonal gains of an observation with planted ones, by RimeTree and, where they are installed, DP3 and QuartiCal.

    \b
    rimetree bench calibrate
    rimetree bench calibrate --antennas 20 --slots 20 --repeat 1 --json calibrate.json
    rimetree bench calibrate --directions 10

    Programs take turns. Columns: processor time (user and system) and wall time of the whole command, largest resident
    memory, root mean square of the errors of the gains, and the gains that are missing. Programs that are not
    installed are named and skipped: DP3 is looked for as `DP3` or `DP3.py`, QuartiCal as `goquartical`, in folders of
    PATH. Each may be in a Python environment of its own. QuartiCal compiles when it runs for the first time; --repeat 2
    leaves that out.
    """
    from rimetree.bench import calibration as cases
    from rimetree.bench.record import where_and_when

    installed = cases.programs()
    unknown = [name for name in names if name not in installed]
    if unknown:
        raise click.BadParameter(f"there is no program {unknown[0]!r}; known are {', '.join(installed)}")
    chosen = [name for name in installed if not names or name in names]
    for name in (name for name in chosen if not installed[name]):
        log(f"skipped: {name} is not installed")
    chosen = [name for name in chosen if installed[name]]
    if not chosen:
        raise Failed("none of these programs is installed")
    if directions > sources:
        raise click.BadParameter(f"{directions} directions need as many sources; --sources is {sources}")
    case = cases.CalibrationCase(antennas, channels, slots, sources, *interval, noise, n_direction=directions)
    record = where_and_when(threads, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "planted.ms")
        cases.make_observation(case, path, threads)
        runs = [[cases.measure_calibration(name, case, path, threads) for name in chosen] for _ in range(repeat)]
    best = [min((run[k] for run in runs), key=lambda one: one.processor_s) for k in range(len(chosen))]
    rows = [
        [
            one.program,
            f"{one.processor_s:.2f}",
            f"{one.wall_s:.2f}",
            f"{one.memory_bytes / 2**20:.0f}",
            f"{one.gain_error:.3g}",
            f"{100 * one.flagged:.3g}",
        ]
        for one in best
    ]
    headers = ["program", "processor/s", "wall/s", "memory/MiB", "gain error", "missing/%"]
    click.echo(f"load at the start: {record['load_average_at_the_start'][0]}")
    click.echo(table(headers, rows, left=(0,)))
    if json_file:
        with open(json_file, "w", encoding="utf-8") as stream:
            json.dump({**record, "case": case.__dict__, "programs": [one.as_dict() for one in best]}, stream, indent=1)
        log(f"wrote {json_file}")
