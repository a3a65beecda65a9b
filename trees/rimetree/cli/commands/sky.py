"""`rimetree sky show`, `rimetree sky convert` and `rimetree sky calibrators`."""

from __future__ import annotations

import json
import math
from collections import Counter

import click

from ...sky.source import PROFILES
from ..errors import Failed
from ..options.models import SKY_FORMATS, limit_option, patch_option, read_sky
from ..options.quantities import FLUX, FREQUENCY, dec_text, frequency_text, ra_text
from ..output import log, table

_WRITABLE = click.Choice(["bbs", "wsclean", "hyperdrive", "skyh5"])


@click.group("sky")
def command() -> None:
    """Show and convert sky models: BBS/makesourcedb, WSClean, Tigger, OSKAR, hyperdrive, RTS, WODEN, AO, SAGECal,
    catalogues (PyBDSF, LoBES, GLEAM-X), model images, maps of the sky (HEALPix), SkyH5. List flux calibrators."""


@command.command("show")
@click.argument("file", type=click.Path())
@click.option("--format", "file_format", type=SKY_FORMATS, help="Format of FILE; default: found from its content.")
@click.option(
    "--skip-unsupported",
    is_flag=True,
    help="Leave out sources that RimeTree cannot predict, and list them; without it they are an error.",
)
@patch_option
@limit_option
@click.option("--freq", type=FREQUENCY, help="Also list Stokes I at this frequency, e.g. 150MHz.")
@click.option("--json", "as_json", is_flag=True, help="Print all sources as JSON, in radians, Jy and Hz.")
def show(file, file_format, skip_unsupported, patches, limit, freq, as_json) -> None:
    """List the sources of sky model FILE: positions, fluxes (Jy), spectra, shapes."""
    model = read_sky(file, file_format, skip_unsupported, patches)
    if as_json:
        if freq is not None:
            raise click.UsageError("--freq does not go with --json")
        from dataclasses import asdict

        click.echo(json.dumps([asdict(source) for source in model], indent=2, default=lambda array: array.tolist()))
        return
    click.echo(_overview(file, model))
    at = None
    if freq is not None:
        from rimetree.sky_fluxes import stokes_i_at

        at = stokes_i_at(model, freq)
    order = sorted(range(len(model)), key=lambda s: -abs(model[s].stokes_jy[0]))[:limit]
    headers = ["source", "RA", "Dec", "I/Jy", "Q U V/Jy", "nu0", "spectrum", 'shape/" deg', "patch"]
    rows = [_row(model[s]) for s in order]
    if at is not None:
        headers.insert(4, f"I/Jy at {frequency_text(freq)}")
        for row, s in zip(rows, order, strict=True):
            row.insert(4, f"{at[s]:.6g}")
    if rows:
        left = (0, 1, 2, *range(len(headers) - 5, len(headers)))
        click.echo("\n" + table(headers, rows, left=left))
    if limit < len(model):
        click.echo(f"... and {len(model) - limit} fainter ones (--limit)")


def _overview(file: str, model) -> str:
    shapes = Counter(s.profile for s in model if s.profile)
    counts = [
        *(f"{shapes[name]} of shape {name.replace('_', ' ')}" for name in PROFILES if shapes[name]),
        *([f"{model.has_shapelets.sum()} of shapelets"] if model.has_shapelets.any() else []),
        f"{sum(bool(s.spectrum or s.table) for s in model)} with a spectrum",
        f"{sum(s.is_polarised for s in model)} polarised",
        f"{sum(s.rm_rad_m2 != 0 for s in model)} with a rotation measure",
    ]
    patches = f", {len(model.patches)} patches" if model.patches else ""
    return f"{file}: {len(model)} sources ({', '.join(counts)}){patches}; {_flux_text(model)}"


def _flux_text(model) -> str:
    """The sum of Stokes I, if it means anything: where spectra begin at different frequencies it does not."""
    known = sorted({source.ref_freq_hz for source in model if source.spectrum or source.table})
    if len(known) > 1:
        return f"fluxes at {frequency_text(known[0])} to {frequency_text(known[-1])} (--freq: at one)"
    return f"{model.total_flux_jy:.6g} Jy in all" + (f" at {frequency_text(known[0])}" if known else "")


def _row(source) -> list:
    spectrum = ""
    if source.spectrum:
        kind = "log" if source.logarithmic else "lin"
        spectrum = f"{kind}[{', '.join(f'{c:.4g}' for c in source.spectrum)}]"
    if source.table is not None:
        low, high = source.table.range_hz
        spectrum = f"{len(source.table.frequency_hz)} fluxes, {low / 1e6:.4g} to {high / 1e6:.4g} MHz"
    if source.rm_rad_m2:
        spectrum += f" RM {source.rm_rad_m2:.4g} rad/m2"
    shape = ""
    if source.is_extended:
        of = source.shapelets
        axes = source.shape if of is None else (of.major_rad, of.minor_rad, of.pa_rad)
        major, minor, angle = (math.degrees(value) for value in axes)
        shape = f"{3600 * major:.3g} x {3600 * minor:.3g} {angle:.0f}"
        if of is not None:
            shape += f" {len(of.coefficients)} shapelets"
        elif source.profile != PROFILES[0]:
            shape += f" {source.profile.replace('_', ' ')}"
        if source.shape_in_plane:
            shape += " in (l, m)"
    polarised = " ".join(f"{s:.4g}" for s in source.stokes_jy[1:]) if source.is_polarised else ""
    return [
        source.name,
        ra_text(source.ra_rad),
        dec_text(source.dec_rad),
        f"{source.stokes_jy[0]:.6g}",
        polarised,
        frequency_text(source.ref_freq_hz) if source.ref_freq_hz else "",
        spectrum,
        shape,
        source.patch,
    ]


@command.command("convert")
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
@click.option("--from", "source_format", type=SKY_FORMATS, help="Format of SOURCE; default: found from the content.")
@click.option(
    "--to",
    "target_format",
    type=_WRITABLE,
    help="Format to write; default: wsclean if the file is called *-sources.txt, hyperdrive if *.yaml, skyh5 if "
    "*.skyh5, else bbs.",
)
@click.option("--drop-patches", is_flag=True, help="Forget which patch a source is in, for formats without patches.")
@click.option(
    "--skip-unsupported",
    is_flag=True,
    help="Leave out sources that TARGET's format cannot hold, and list them; without it they are an error.",
)
@patch_option
@click.option("--min-flux", type=FLUX, metavar="FLUX", help="Only sources of at least this |I|: Jy, mJy, uJy.")
def convert(source, target, source_format, target_format, drop_patches, skip_unsupported, patches, min_flux) -> None:
    """Convert sky model SOURCE to TARGET, which appears complete or not at all.

    What TARGET's format cannot hold is an error that names the source; --skip-unsupported leaves such sources out and
    lists them.
    """
    from rimetree import sky

    target_format = target_format or sky.format_to_write(target)
    model = read_sky(source, source_format, skip_unsupported, patches)
    if min_flux is not None:
        model = model.select(min_flux_jy=min_flux)
    if drop_patches:
        model = model.without_patches()
    if skip_unsupported:
        model = _expressible(model, target_format)
    if len(model) == 0:
        raise Failed(f"{source}: no sources are left to write")
    sky.write(model, target, target_format)
    click.echo(f"wrote {target}: {len(model)} sources, as {target_format}")


def _expressible(model, target_format: str):
    """The sources that the format written can hold, one by one; the others are listed."""
    from rimetree import sky

    kept = []
    for source in model:
        try:
            sky.WRITERS[target_format](sky.SkyModel((source,), (), model.patch_radec_rad))
            kept.append(source.name)
        except sky.UnsupportedError as problem:
            log(f"warning: left out source {source.name!r}: {problem.message}")
    return model.select(names=kept)


@command.command("calibrators")
@click.option("--freq", type=FREQUENCY, help="Also list Stokes I, Q and U at this frequency, e.g. 1.4GHz.")
def calibrators(freq) -> None:
    """List flux calibrators that --sky takes by their names: 3C286, J1331+3030, '3C286, Scaife-Heald 2012'.

    They are points with the spectrum of a flux scale; on baselines that resolve one '3C286, image 3C286_C.im' is a
    model: an image of it, as those that come with CASA, with the spectrum of the calibrator.
    """
    from rimetree import sky

    headers = ["source", "RA", "Dec", "flux scale", "MHz", "other names"]
    rows = [
        [
            *(one.names[0], ra_text(one.ra_rad), dec_text(one.dec_rad), one.scale),
            "{:g} to {:g}".format(*(value / 1e6 for value in one.range_hz)),
            " ".join(one.names[1:]),
        ]
        for one in sky.calibrators()
    ]
    if freq is not None:
        headers.insert(5, f"I Q U/Jy at {frequency_text(freq)}")
        for row, one in zip(rows, sky.calibrators(), strict=True):
            within = one.range_hz[0] <= freq <= one.range_hz[1]
            fluxes = one.table().at(freq)[: 3 if one.is_polarised else 1]
            row.insert(5, " ".join(f"{flux:.5g}" for flux in fluxes) if within else "")
    click.echo(table(headers, rows, left=range(len(headers))))
