"""`rimetree bench tune`: block and tile sizes of the kernels for devices."""

from __future__ import annotations

import click

from ...errors import Failed
from ...options.quantities import Number
from ...output import log


@click.command("tune")
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
def command(devices, seconds) -> None:
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
