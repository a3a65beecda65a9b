"""`rimetree make-solutions`: solutions with values drawn at random, to simulate with."""

from __future__ import annotations

import math
import os

import click

from ..errors import Failed
from ..options.models import read_sky, sky_file_options
from ..options.sets import require_ms
from ..options.together import refuse_without
from ..output import log

#: {quantity: unit, and how many of it are one in tables}.
_SHOWN = {
    "phase": (" deg", 180 / math.pi),
    "rotation": (" deg", 180 / math.pi),
    "clock": (" ns", 1e9),
    "rate": (" ps/s", 1e12),
    "tec": (" TECU", 1.0),
    "rotationmeasure": (" rad/m2", 1.0),
}


@click.command("make-solutions")
@click.argument("ms", type=click.Path())
@click.option(
    "--term",
    "terms",
    multiple=True,
    required=True,
    metavar="TERM",
    help="A term as of `rimetree calibrate`, and how its values scatter (below); repeat for several. Their order is "
    "that in the measurement equation, the first next to the correlator.",
)
@click.option("--out", required=True, metavar="FILE", help="H5parm file to write.")
@click.option("--overwrite", is_flag=True, help="Replace FILE.")
@sky_file_options(required=False)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same values.")
def command(ms, terms, out, overwrite, sky, sky_format, skip_unsupported, patches, seed) -> None:
    """Write solutions for Measurement Set MS whose values are drawn at random, or are those of turbulent screens.

    `rimetree simulate --solutions` predicts what a sky looks like with them, and so does the truth of a calibration
    become known. Values are the same in all fields and windows, but for intervals along time and frequency.

    \b
      rimetree make-solutions sim.ms --out true.h5 --term "G: diag, 1min, amplitude 10%, phase 40deg, over 1h"
      rimetree make-solutions sim.ms --out true.h5 --sky field.skymodel \\
        --term "K: delay, 30s, spread 5ns, over 1h" --term "T: tec, 10s, per patch, spread 0.02TECU at 10km"
      rimetree simulate sim.ms --sky field.skymodel --solutions true.h5 --interpolation linear --column DATA

    \b
    What a TERM says beside kind, intervals and directions:
      amplitude 10%, phase 20deg   of gains (scalar, diag, full): standard deviations
      leakage 3%                   of full matrices, off the diagonal
      spread AMOUNT                of other kinds: phase (deg, rad), amplitude and leakage (%), delay (ns, ps, or mm of
                                   path), rate (ps/s), tec (TECU), rotation (deg), faraday (rad/m2), crosshand (deg)
      mean AMOUNT                  what values scatter around
      over 1h, over 20MHz          values so far apart have a correlation of 1/e; without it those of each interval
                                   are drawn by themselves, and where there are no intervals values are constant
      spread 0.02TECU at 10km      a turbulent screen (tec; delay or phase with scalar): how much lines of sight differ
                                   that cross it so far apart; "mean 10TECU" is then the value towards the zenith
      height 300km, outer 1000km, wind 100m/s 90deg
                                   of the screen (these of tec; 1km, 6km, 10m/s of delay and phase; to any azimuth)
    """
    from rimetree import calibration

    require_ms(ms)
    refuse_without("--sky", bool(sky), "sky_format", "skip_unsupported", "patches")
    made = calibration.parse_made_terms(terms)
    if not sky and (needy := [one for one in made if one.term.per]):
        raise click.UsageError(f'term "{needy[0]}": give the sky model with --sky')
    if sky and os.path.exists(out) and os.path.exists(sky) and os.path.samefile(out, sky):
        raise click.UsageError(f"--out {out} is the sky model")
    if not overwrite and os.path.lexists(out):
        raise Failed(f"{out} exists; choose another name or give --overwrite")
    model = read_sky(sky, sky_format, skip_unsupported, patches) if sky else None
    sets = calibration.make_solutions(ms, made, model, seed=seed)
    calibration.write_h5parm(out, sets)
    for term in sets[0].terms:
        n_time, n_frequency, n_antenna, n_direction, _ = term.shape
        of = f", {n_direction} directions" if term.of_directions else ""
        scatter = ", ".join(
            f"{quantity} {(values - values.mean()).std() * scale:.3g}{unit}"
            for quantity, values in term.value.items()
            for unit, scale in (_SHOWN.get(quantity, ("", 1.0)),)
        )
        about = f"{n_antenna} antennas, {n_time} times, {n_frequency} frequencies{of}"
        log(f"{term.text}: {about}; standard deviation of {scatter}")
    log(f"wrote {out}: {len(sets)} solution set(s), one for each spectral window")
