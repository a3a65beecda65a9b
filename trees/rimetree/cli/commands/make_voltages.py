"""`rimetree make-voltages`: a sky as voltages."""

from __future__ import annotations

import os
from typing import NamedTuple

import click
import numpy as np

from ..errors import Failed
from ..options.beams import antennas_of_telescope
from ..options.models import read_sky, sky_options, warn_of_sky
from ..options.quantities import DURATION, FLUX, Count, Number
from ..options.voltages import recorded, recording_options
from ..output import log, progress


class _Seen(NamedTuple):
    """What a band sees, as an `MsGroup` says it."""

    phase_centre_rad: tuple[float, float]
    frequency_hz: tuple[float, float]
    some_times_s: list[float]
    field_id: int = 0
    field_name: str = "the recording"


@click.command("make-voltages")
@click.argument("out", type=click.Path(dir_okay=False))
@recording_options
@sky_options(required=True)
@click.option("--duration", type=DURATION, default="1s", show_default=True, help="s, min; a bare number: seconds.")
@click.option(
    "--noise", type=FLUX, default=0.0, metavar="FLUX", help="Receiver noise of each input (SEFD): Jy, kJy; bare: Jy."
)
@click.option("--channels", type=Count(min=1), default=1, show_default=True, help="Already channelised, where several.")
@click.option("--receivers", type=Count(min=1), default=4, show_default=True, help="Files of order groups.")
@click.option(
    "--rms",
    type=Number(min=0, min_open=True),
    help="Of each number, in least significant bits; default: the best.",
)
@click.option(
    "--gain-scatter",
    type=Number(min=0),
    default=0.0,
    help="Standard deviation of relative gains of antennas and feeds.",
)
@click.option("--phase-scatter", type=Number(min=0), default=0.0, help="The same of their phases, in degrees.")
@click.option("--seed", type=Count(min=0), default=0, show_default=True, help="Decides all random numbers.")
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
def command(
    out, phase_centre, sky, sky_format, skip_unsupported, patches, beams, duration, noise, channels,
    receivers, rms, gain_scatter, phase_scatter, seed, overwrite, **given,
):  # fmt: skip
    """Write the voltages of a sky model, seen by a telescope, into OUT.

    Sources are noise with their brightness as covariance, extended ones with their uv taper; it comes to each antenna
    with its exact delay and phase, which turn as the Earth does. Receiver noise is added, and all is rounded to the
    format. Of order groups the files are OUT.0, OUT.1, ...; of several bands (--freq repeated) OUT.band0, ...
    """
    from rimetree.sky_fluxes import flux_text
    from rimetree.voltages.making import Receivers, make_voltages

    how = recorded(**given)
    beams.require(sky)
    model = read_sky(sky, sky_format, skip_unsupported, patches)
    model = beams.through(model, antennas_of_telescope(how.array))
    seen = [
        _Seen(phase_centre, (one - how.rate_hz / 2, one + how.rate_hz / 2), [how.start_mjd_s]) for one in how.centres_hz
    ]
    warn_of_sky(model, seen, phase_centre)
    log(f"{sky}: {len(model)} sources, {flux_text(model, seen)}")
    rng = np.random.default_rng([seed, 1])
    shape = (len(how.array), 2)
    gain = (1 + gain_scatter * rng.standard_normal(shape)) * np.exp(
        1j * np.radians(phase_scatter) * rng.standard_normal(shape)
    )
    settings = [
        Receivers(
            format=how.format,
            sample_rate_hz=how.rate_hz,
            centre_hz=centre_hz,
            noise_jy=noise,
            order=how.order,
            n_receiver=receivers if how.order == "groups" else 1,
            channels=channels,
            rms=rms,
            gain=gain,
        )
        for centre_hz in how.centres_hz
    ]
    outs = [out] if len(settings) == 1 else [f"{out}.band{band}" for band in range(len(settings))]
    names = [f"{one}.{k}" for one in outs for k in range(receivers)] if how.order == "groups" else outs
    if not overwrite and (there := [name for name in names if os.path.lexists(name)]):
        raise Failed(f"{there[0]} exists; choose another name or give --overwrite")
    for band, (name, setting) in enumerate(zip(outs, settings, strict=True)):
        with progress("making voltages", "samples") as show:
            made = make_voltages(
                name,
                model,
                how.array,
                setting,
                phase_centre_rad=phase_centre,
                start_mjd_s=how.start_mjd_s,
                duration_s=duration,
                seed=seed if band == 0 else [seed, band],
                progress=lambda done, total: show(done, total, done, total, how.start_mjd_s + done / how.rate_hz),
            )
        log(f"{len(model)} sources, {len(how.array)} antennas, {made.n_sample} samples of {2 * len(how.array)} inputs")
        click.echo(
            f"wrote {' '.join(made.files)}: 1 Jy is {made.lsb2_per_jy:.6g} squares of the least significant bit, "
            f"{made.cut_off:.2g} of all numbers were cut off"
        )
