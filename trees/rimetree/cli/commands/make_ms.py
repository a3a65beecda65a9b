"""`rimetree make-ms`: a new Measurement Set."""

from __future__ import annotations

import math

import click

from ...machine import size_text
from ...utc import utc_text
from ..options.quantities import BANDWIDTH, DEC, DURATION, FREQUENCY, RA, Count, HourAngle, frequency_text
from ..options.together import refuse_without


def _list_telescopes(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from rimetree import telescopes

    from ..output import table

    rows = []
    for name in telescopes.available():
        one = telescopes.get(name)
        short = [alias for alias, known in telescopes.ALIASES.items() if known == name]
        band = f"{one.band_centre_hz / 1e6:g} +- {one.band_width_hz / 2e6:g}"
        rows.append(
            [name, ", ".join(short), len(one), f"{one.longest_baseline_m / 1e3:.2f}", band, one.feed, one.description]
        )
    headers = ["name", "short", "antennas", "longest/km", "band/MHz", "feed", "what"]
    click.echo(table(headers, rows, left=(0, 1, 4, 5, 6)))
    ctx.exit()


class _Window(click.ParamType):
    """CENTRE:BANDWIDTH:CHANNELS."""

    name = "spectral window"

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        parts = value.split(":")
        if len(parts) != 3 or not parts[2].strip().isdigit() or int(parts[2]) < 1:
            self.fail(f"{value!r}: expected CENTRE:BANDWIDTH:CHANNELS, e.g. 1.4GHz:32MHz:64")
        return FREQUENCY.convert(parts[0], param, ctx), BANDWIDTH.convert(parts[1], param, ctx), int(parts[2])


@click.command("make-ms")
@click.argument("ms", type=click.Path())
@click.option(
    "--telescope",
    required=True,
    help="Name of a telescope (see --list-telescopes), a layout file (.csv, or .cfg of CASA), a Measurement Set, "
    "whose antennas are taken, or a telescope model of OSKAR.",
)
@click.option(
    "--list-telescopes",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_telescopes,
    help="List the telescopes that come with RimeTree, and stop.",
)
@click.option(
    "--phase-centre",
    type=(RA, DEC),
    metavar="RA DEC",
    help="Direction of the phase centre: 3h32m30s -27d48m, 03:32:30 -27.48.00; bare numbers are degrees.",
)
@click.option(
    "--frame",
    type=click.Choice(["J2000", "ICRS"], case_sensitive=False),
    default="J2000",
    show_default=True,
    help="Frame of the phase centre; positions of sources are taken to be in the same frame.",
)
@click.option(
    "--scan",
    "scans",
    type=(str, RA, DEC, DURATION),
    multiple=True,
    metavar="NAME RA DEC DURATION",
    help="A field and for how long it is observed, instead of --phase-centre and --duration; may be repeated: one scan "
    "follows the other.",
)
@click.option(
    "--duration",
    type=DURATION,
    help="Length of the observation, in s, min or h; a bare number is in seconds; default: 1h.",
)
@click.option(
    "--integration",
    type=DURATION,
    default="10s",
    show_default=True,
    help="Length of a time slot, in s or min; a bare number is in seconds.",
)
@click.option("--start", metavar="UTC", help="When the first time slot begins, e.g. 2025-01-01T20:30:00.")
@click.option(
    "--start-ha",
    type=HourAngle(),
    metavar="HOURS",
    help="Hour angle at the start, e.g. -3h; the day is that of --start, or 2025-01-01.",
)
@click.option("--freq", type=FREQUENCY, help="Centre of the band, e.g. 1.4GHz; default: the telescope's.")
@click.option(
    "--bandwidth",
    type=BANDWIDTH,
    help="Width of all channels together; negative: channels descend; default: the telescope's.",
)
@click.option("--channels", type=Count(min=1), default=64, show_default=True, help="Number of channels.")
@click.option(
    "--spw",
    type=_Window(),
    multiple=True,
    metavar="CENTRE:BANDWIDTH:CHANNELS",
    help="A spectral window, e.g. 1.4GHz:64MHz:64, instead of --freq, --bandwidth and --channels; may be repeated.",
)
@click.option("--correlations", metavar="LIST", help='e.g. "XX,YY"; default: all four of the telescope\'s feed.')
@click.option("--autocorrelations", is_flag=True, help="Also make rows of each antenna with itself.")
@click.option("--weight-spectrum", is_flag=True, help="Also make the column WEIGHT_SPECTRUM, all 1.")
@click.option(
    "--field-name", default="", help="Name of the field; default: made from the phase centre, e.g. J0332-2748."
)
@click.option("--overwrite", is_flag=True, help="Replace a Measurement Set that exists.")
def command(
    ms, telescope, phase_centre, scans, duration, integration, start, start_ha, freq, bandwidth, channels, spw, **rest
):
    """Create Measurement Set MS for a telescope: antennas, times, UVW, frequencies; visibilities are zero.

    Without --start and --start-ha the source transits in the middle of the observation on 2025-01-01. UVW are
    position(ANTENNA1) - position(ANTENNA2). The set appears complete or not at all.

    \b
      rimetree make-ms obs.ms --telescope meerkat --phase-centre 3h32m30s -27d48m --duration 1h --integration 8s
      rimetree make-ms two.ms --telescope vla-d --spw 1.4GHz:64MHz:64 --spw 3GHz:128MHz:64 \\
               --scan 3C286 13h31m08s 30d30m33s 5min --scan TARGET 13h20m -12d30m 20min
    """
    from rimetree import ms as measurement_sets
    from rimetree import telescopes

    array = telescopes.get(telescope)
    if (phase_centre is None) == (not scans) or (scans and (duration is not None or rest["field_name"])):
        raise click.UsageError("give --phase-centre (and --duration, --field-name), or --scan")
    refuse_without("--freq and --bandwidth: --spw says how many of its own", not spw, "channels")
    if spw and (freq is not None or bandwidth is not None):
        raise click.UsageError("give --spw, or --freq and --bandwidth, not both")
    if spw:
        bands = [measurement_sets.Band.regular(*one, name=f"SPW{i}") for i, one in enumerate(spw)]
    else:
        bands = measurement_sets.Band.regular(
            array.band_centre_hz if freq is None else freq,
            _default_width(array, freq) if bandwidth is None else bandwidth,
            channels,
        )
    made = measurement_sets.create(
        ms,
        array,
        phase_centre_rad=phase_centre,
        duration_s=None if scans else 3600.0 if duration is None else duration,
        scans=[measurement_sets.Scan((ra, dec), seconds, name) for name, ra, dec, seconds in scans],
        integration_s=integration,
        start=start,
        start_hour_angle_rad=start_ha,
        bands=bands,
        **rest,
    )
    low, high = (math.degrees(angle) for angle in made.elevation_rad)
    first, last = (angle * 12 / math.pi for angle in made.hour_angle_rad)
    click.echo(
        f"created {made.path}: {array.name}, {made.n_antenna} antennas, {made.n_baseline} baselines, "
        f"{made.n_time} times, {made.n_row} rows, about {size_text(made.bytes)}\n"
        f"  {_bands_text(bands if spw else [bands])}, {array.feed} feeds\n"
        f"  {utc_text(made.first_time_s)} to {utc_text(made.last_time_s)} UTC, "
        f"hour angle {first:+.2f} to {last:+.2f} h, elevation {low:.1f} to {high:.1f} deg"
    )


def _bands_text(bands) -> str:
    """ "64 channels from 1.0625 GHz to 1.9375 GHz, ..." """
    texts = [
        f"{len(centres)} channels from {frequency_text(min(centres))} to {frequency_text(max(centres))}"
        for centres in (band.frequency_hz for band in bands[:3])
    ]
    return ", ".join(texts + ["..."] * (len(bands) > 3))


def _default_width(array, freq: float | None) -> float:
    """The telescope's bandwidth, or what of it fits around a low centre frequency."""
    return array.band_width_hz if freq is None else min(array.band_width_hz, freq)
