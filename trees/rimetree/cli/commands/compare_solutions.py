"""`rimetree compare-solutions`: how far solutions are from others."""

from __future__ import annotations

import json
import math

import click

from ..output import table


@click.command("compare-solutions")
@click.argument("true", type=click.Path())
@click.argument("found", type=click.Path())
@click.option(
    "--interpolation",
    type=click.Choice(["nearest", "linear"]),
    default="nearest",
    show_default=True,
    help="Between solutions, of both.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(true, found, interpolation, as_json) -> None:
    """Compare the solutions FOUND (H5parm, or a table of CASA) with TRUE ones, as make-solutions has drawn them.

    Compared is J_p J_q^H on all baselines, at times and frequencies at which either has solutions: what visibilities
    of a source of 1 Jy in a direction would be off by, relative to what they are. So what no data can tell does not
    count, as a phase that all antennas have in common.

    \b
      rimetree make-solutions sim.ms --out true.h5 --term "G: diag, 1min, phase 40deg, over 1h"
      rimetree simulate sim.ms --sky field.skymodel --solutions true.h5 --column DATA
      rimetree calibrate sim.ms --sky field.skymodel --term "G: diag, 1min" --out found.h5
      rimetree compare-solutions true.h5 found.h5
    """
    from rimetree import calibration

    compared = calibration.compare_solutions(
        calibration.read_solutions(true), calibration.read_solutions(found), method=interpolation
    )
    if as_json:
        about = ("name", "direction", "difference", "largest", "antennas", "missing")
        click.echo(json.dumps([{name: getattr(one, name) for name in about} for one in compared], indent=2))
        return
    rows = []
    for one in compared:
        seen = {name: value for name, value in one.antennas.items() if math.isfinite(value)}
        worst = max(seen, key=lambda name: seen[name], default="")
        text = f"{worst} ({seen[worst]:.3g})" if worst else "none"
        numbers = (f"{one.difference:.3g}", f"{one.largest:.3g}", text, f"{one.missing:.1%}")
        rows.append((one.name, one.direction or "whole sky", *numbers))
    headers = ("set", "direction", "difference", "largest", "worst antenna", "without solutions")
    click.echo(table(headers, rows, left=(0, 1, 4)))
    click.echo("difference: root mean square, relative to what it should be; largest: of any baseline, time, frequency")
