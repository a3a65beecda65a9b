"""`rimetree plot-solutions`: pictures of what was solved for."""

from __future__ import annotations

import click

from ..output import log


@click.command("plot-solutions")
@click.argument("solutions", type=click.Path())
@click.option(
    "-o",
    "--output",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Picture to write: .png, .pdf or .html; may be repeated.",
)
@click.option(
    "--against",
    type=click.Choice(["time", "freq", "antenna"]),
    help="Horizontal axis; default: the first of these along which a term varies.",
)
@click.option("--term", multiple=True, metavar="NAME", help="Only this term; may be repeated.")
@click.option("--antenna", multiple=True, metavar="NAME", help="Only this antenna; may be repeated.")
@click.option("--direction", multiple=True, metavar="NAME", help="Only this patch or source; may be repeated.")
@click.option("--reference", metavar="ANTENNA", help="Show phases relative to this antenna.")
def command(solutions, output, against, term, antenna, direction, reference):
    """Plot the solutions of an H5parm file: amplitude and phase (or delay, rate, TEC, rotation) of each antenna.

    Each page shows one quantity of up to 16 antennas, against time (with a line for each frequency) or frequency; or of
    all antennas side by side, as of terms with one solution each. Error bars are one standard deviation; what is
    flagged is left out. Pages after the first of a PNG file are FILE-2.png, ...

    \b
      rimetree plot-solutions sol.h5 -o gains.png
      rimetree plot-solutions sol.h5 --term B --against freq --reference m000 -o bandpass.pdf
    """
    from rimetree import calibration, plots

    sets = calibration.read_solutions(solutions)
    for file in output:
        pages = plots.plot_solutions(
            sets,
            file,
            against=against,
            terms=term,
            antennas=antenna,
            directions=direction,
            reference=reference,
        )
        log(f"wrote {file} ({pages} page{'s' if pages > 1 else ''})")
