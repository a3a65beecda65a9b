"""`rimetree beam-solutions`: the beams of antennas in one direction, as solutions."""

from __future__ import annotations

import functools
import os

import click

from ..errors import Failed
from ..options.beams import antennas_of, beam_options
from ..options.fields import chosen_fields
from ..options.names import NAMES
from ..options.quantities import DEC, DURATION, FREQUENCY, RA
from ..options.sets import require_ms
from ..output import log


@click.command("beam-solutions")
@click.argument("ms", type=click.Path())
@click.option("--out", required=True, metavar="FILE", help="H5parm file to write.")
@click.option("--overwrite", is_flag=True, help="Replace FILE.")
@functools.partial(beam_options, what="The primary beam", default="")
@click.option(
    "--towards",
    type=(RA, DEC),
    metavar="RA DEC",
    help="The direction, in the frame of the field; default: the phase centre.",
)
@click.option("--name", default="E", show_default=True, help="Of the term.")
@click.option("--field", type=NAMES, metavar="FIELDS", help="Only these fields: numbers, names or patterns.")
@click.option(
    "--time-step", type=DURATION, default="30s", show_default=True, help="From one value to the next, at most."
)
@click.option(
    "--frequency-step", type=FREQUENCY, default="1MHz", show_default=True, help="From one value to the next, at most."
)
def command(ms, out, overwrite, beams, towards, name, field, time_step, frequency_step) -> None:
    """Write what the beams of the antennas of Measurement Set MS do to signals from one direction, as solutions.

    They can be taken out of data, inside of those of calibration, and plotted. After a calibration against a sky model
    that is seen through the same beams, data that are corrected by both are as they would be of beams that let
    everything through in this direction.

    \b
      rimetree calibrate obs.ms --sky field.skymodel --beam lofar --term "G: diag, 1min" --out g.h5
      rimetree beam-solutions obs.ms --beam lofar --out beam.h5
      rimetree apply obs.ms --solutions g.h5 --solutions beam.h5
    """
    import rimetree as rt
    from rimetree import calibration

    require_ms(ms)
    if not beams.beams:
        raise click.UsageError("give the beams: --beam")
    beams.require(sky=True)
    if not overwrite and os.path.lexists(out):
        raise Failed(f"{out} exists; choose another name or give --overwrite")
    summary = rt.ms.inspect(ms, scan_cells=False)
    fields = None if field is None else chosen_fields(summary, field)
    found = calibration.beam_solutions(
        ms,
        beams.of(antennas_of(summary, fields)),
        towards_rad=towards,
        name=name,
        field_id=fields,
        time_step_s=time_step,
        frequency_step_hz=frequency_step,
    )
    calibration.write_h5parm(out, found)
    (term,) = found.terms
    n_time, n_frequency, n_antenna = term.shape[:3]
    lost = f"; {term.flag.mean():.1%} are flagged, as nothing comes through" if term.flag.any() else ""
    log(f"{found.provenance['seen']}{lost}")
    log(f"wrote {out}: {name} ({term.kind}), {n_antenna} antennas, {n_time} times, {n_frequency} frequencies")
