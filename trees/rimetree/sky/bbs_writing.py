"""Writing BBS sky models (see `bbs` for the format), and the fields that WSClean lists share with them."""

from __future__ import annotations

import math

from .angles import RAD_PER_ARCSEC, format_dec, format_ra
from .errors import UnsupportedError
from .flux_list import with_spectra
from .logarithms import decimal
from .model import SkyModel
from .source import Source


def write_bbs(model: SkyModel) -> str:
    """The text of a BBS file; reading it gives the same sources to 1e-12 (`Source.isclose`).

    Raises `UnsupportedError` naming the source that BBS cannot express: shapelets, V that follows the spectrum, Q, U
    that do not follow it although there is a rotation measure, or a table of fluxes through which no spectrum goes.
    """
    model = with_spectra(model)
    names = [
        "Name", "Type", "Patch", "Ra", "Dec", "I", "Q", "U", "V", "ReferenceFrequency", "SpectralIndex='[]'",
        "LogarithmicSI", "MajorAxis", "MinorAxis", "Orientation",
    ]  # fmt: skip
    rotated = {source.name for source in model if _needs_rotation(source)}
    if rotated:
        names.append("RotationMeasure")
    absolute = any_absolute(model)
    if absolute:
        names.append("OrientationIsAbsolute")
    lines = [f"format = {', '.join(names)}", ""]
    lines += [_patch_line(model, patch) for patch in model.patches]
    lines += [_source_line(source, source.name in rotated, bool(rotated), absolute) for source in model]
    return "\n".join(lines) + "\n"


def _needs_rotation(source: Source) -> bool:
    """Whether a source is written with a RotationMeasure (0 where only the scaling of Q, U with I asks for it)."""
    scaled = bool(source.spectrum) and source.is_polarised
    if scaled and source.spectrum_scales_polarisation and source.stokes_jy[3]:
        raise UnsupportedError(f"source {source.name!r}: BBS cannot scale Stokes V with the spectrum")
    if scaled and source.rm_rad_m2 and not source.spectrum_scales_polarisation:
        raise UnsupportedError(
            f"source {source.name!r}: BBS scales Q and U with the spectrum where there is a rotation measure"
        )
    if source.rm_rad_m2 and source.spectrum and source.stokes_jy[3]:
        raise UnsupportedError(f"source {source.name!r}: BBS cannot hold V, a spectrum and a rotation measure together")
    return bool(source.rm_rad_m2) or (scaled and source.spectrum_scales_polarisation)


def _patch_line(model: SkyModel, patch: str) -> str:
    if patch in model.patch_radec_rad:
        ra_rad, dec_rad = model.patch_radec_rad[patch]
    else:
        ra_rad, dec_rad = model.select(patches=[patch]).middle_rad
    return f", , {quoted(patch)}, {format_ra(ra_rad)}, {format_dec(dec_rad)}"


def _source_line(source: Source, rotated: bool, rotation_column: bool, absolute_column: bool) -> str:
    kind, major, minor, angle = shape_fields(source)
    i, q, u, v = (repr(s) for s in source.stokes_jy)
    fields = [
        quoted(source.name), kind, quoted(source.patch), format_ra(source.ra_rad), format_dec(source.dec_rad),
        i, q, u, v, repr(source.ref_freq_hz) if source.ref_freq_hz else "", spectrum_field(source),
        "true" if source.logarithmic else "false", major, minor, angle,
    ]  # fmt: skip
    if rotation_column:
        fields.append(repr(source.rm_rad_m2) if rotated else "")
    if absolute_column:
        fields.append(absolute_field(source))
    return ", ".join(fields).rstrip()


def shape_fields(source: Source) -> tuple[str, str, str, str]:
    """Type, MajorAxis, MinorAxis, Orientation as BBS and WSClean files write them."""
    if source.shapelets is not None:
        raise UnsupportedError(f"source {source.name!r}: only hyperdrive's lists (.yaml) hold shapelets")
    if source.shape is None:
        return "POINT", "", "", ""
    major, minor, angle = source.shape
    return (
        source.profile.upper(),
        f"{major / RAD_PER_ARCSEC:.15g}",
        f"{minor / RAD_PER_ARCSEC:.15g}",
        f"{math.degrees(angle):.15g}",
    )


def any_absolute(model: SkyModel) -> bool:
    """Whether a shape of the model is drawn on the sky, which takes a column OrientationIsAbsolute."""
    return any(source.shape is not None and not source.shape_in_plane for source in model)


def absolute_field(source: Source) -> str:
    """OrientationIsAbsolute of a source: empty for a point."""
    if source.shape is None:
        return ""
    return "false" if source.shape_in_plane else "true"


def spectrum_field(source: Source) -> str:
    """SpectralIndex as BBS and WSClean files write it, in powers of the decimal logarithm."""
    if source.logarithmic:
        return "[" + ", ".join(f"{c:.15g}" for c in decimal(source.spectrum)) + "]"
    return "[" + ", ".join(repr(c) for c in source.spectrum) + "]"


def quoted(text: str) -> str:
    """A name, in quotes where its signs would be taken for separators. Raises `UnsupportedError` where none fit."""
    if not set(text) & set(" \t,[]#'\""):
        return text
    for quote in ("'", '"'):
        if quote not in text:
            return f"{quote}{text}{quote}"
    raise UnsupportedError(f"the name {text!r} holds both kinds of quotes and cannot be written")
