"""`rimetree image`: a quick look at a column."""

from __future__ import annotations

import math
import os

import click

from ..options.asked_rows import AskedRows
from ..options.beams import antennas_of
from ..options.centre import centre_option, warn_of_directions
from ..options.data_selection import channels_option, rows_options
from ..options.evaluation import threads_option
from ..options.models import limit_option, read_sky, sky_options
from ..options.outcome import require_places
from ..options.quantities import ANGLE, Count, Number, dec_text, frequency_text, ra_text
from ..options.sets import require_ms
from ..options.together import refuse_without
from ..output import log, table

_MAX_PSF_SIZE = 2048


@click.command("image")
@click.argument("ms", type=click.Path())
@click.option(
    "-o",
    "--output",
    multiple=True,
    required=True,
    metavar="FILE",
    callback=require_places,
    help=".png or .fits; may be repeated.",
)
@click.option("--column", default="DATA", show_default=True, help="Column to image.")
@click.option("--size", type=Count(32, 32768), default=512, show_default=True, help="Number of pixels per side, even.")
@click.option(
    "--scale",
    type=ANGLE,
    help="Size of a pixel, e.g. 2arcsec; a bare number is in arcsec; default: 1/5 of the finest fringe.",
)
@click.option(
    "--robust",
    type=Number(-2, 2),
    help="Briggs weighting, from -2 (uniform) to 2 (natural); default: natural.",
)
@sky_options(required=False)
@limit_option
@threads_option
@centre_option
@rows_options
@channels_option
def command(
    ms,
    output,
    column,
    size,
    scale,
    robust,
    sky,
    sky_format,
    skip_unsupported,
    patches,
    beams,
    limit,
    threads,
    phase_centre,
    **chosen,
):
    """Make a dirty image (Stokes I, or the only parallel hand; Jy/beam) of a column of Measurement Set MS.

    All spectral windows of the field that is chosen go together; flags and weights are honoured. East is left; FITS
    files carry a SIN projection. With --sky the sources are marked in PNGs, and a table compares them with the image:
    the model's flux in the mean over the channels, what the dirty beam makes of the whole model there, the peak within
    a beam, its offset, and which source it is the peak of, where that is another.

    \b
      rimetree image obs.ms --column CORRECTED_DATA --sky field.skymodel -o corrected.png -o corrected.fits
      rimetree image obs.ms --field 3C286 --channels 1.2GHz~1.3GHz --size 1024 --scale 2arcsec --robust 0 -o a.png
    """
    import rimetree as rt
    from rimetree import plots

    for file in output:
        if os.path.splitext(file)[1].lower() not in (".png", ".fits"):
            raise click.BadParameter(f"{file!r} must end in .png or .fits", param_hint="--output")
    refuse_without("--sky", sky is not None, "limit", "patches", "sky_format", "skip_unsupported")
    require_ms(ms)
    beams.require(sky, phase_centre)
    summary = rt.ms.inspect(ms, scan_cells=False)
    rows = AskedRows(**chosen).chosen(summary)
    groups = rows.groups(ms, summary)
    rows.check(ms, groups)
    warn_of_directions(summary, [group.field_id for group in groups], phase_centre)
    model = None if sky is None else read_sky(sky, sky_format, skip_unsupported, patches)
    model = beams.through(model, antennas_of(summary, [group.field_id for group in groups]))
    image = plots.dirty_image(
        ms,
        column,
        **vars(rows),
        size=size,
        scale_rad=scale,
        robust=robust,
        psf=model is not None and size <= _MAX_PSF_SIZE,
        threads=threads,
        phase_centre_rad=phase_centre,
    )
    for file in output:
        if file.lower().endswith(".fits"):
            plots.write_fits(image, file)
        else:
            plots.write_png(image, file, sky=model)
    click.echo(_summary(image))
    if model is not None:
        click.echo(_peaks(plots.compare_peaks(image, model, limit)))
        if limit < len(model):
            click.echo(f"... and {len(model) - limit} fainter ones (--limit)")
    for file in output:
        log(f"wrote {file}")


def _arcsec(angle_rad: float) -> float:
    return math.degrees(angle_rad) * 3600


def _summary(image) -> str:
    ra, dec = image.phase_centre_rad
    beam = "no beam fits"
    if image.beam is not None:
        beam = (
            f"beam {_arcsec(image.beam.major_rad):.4g} x {_arcsec(image.beam.minor_rad):.4g} arcsec at "
            f"{math.degrees(image.beam.angle_rad):.0f} deg"
        )
    return (
        f"{image.path}: {image.quantity} of {image.column}, field {image.field_name}, "
        f"{image.n_visibility} visibilities, {frequency_text(image.frequency_hz)}\n"
        f"{image.size} x {image.size} pixels of {_arcsec(image.scale_rad):.4g} arcsec around {ra_text(ra)} "
        f"{dec_text(dec)}; {beam}; peak {image.data_jy.max():.5g} Jy/beam, rms {image.data_jy.std():.4g} Jy/beam"
    )


def _peaks(peaks) -> str:
    rows = []
    for peak in peaks:
        if peak.peak_jy is None:
            rows.append([peak.name, f"{peak.model_jy:.5g}", "", "outside", "", "", "", ""])
            continue
        east, north = (f"{_arcsec(angle):+.3f}" for angle in peak.offset_rad)
        expected = "" if peak.expected_jy is None else f"{peak.expected_jy:.5g}"
        beams = "" if peak.offset_beams is None else f"{peak.offset_beams:.3f}"
        name = f"{peak.name} (extended)" if peak.extended else peak.name
        rows.append([name, f"{peak.model_jy:.5g}", expected, f"{peak.peak_jy:.5g}", east, north, beams, peak.of or ""])
    headers = ["source", "model/Jy", "expected Jy/beam", "peak Jy/beam", 'east/"', 'north/"', "offset/beam", "peak of"]
    if not any(row[-1] for row in rows):
        headers, rows = headers[:-1], [row[:-1] for row in rows]
    return table(headers, rows)
