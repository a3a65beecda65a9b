"""WSClean component lists (`-save-source-list`): the columns of BBS files, Stokes I only.

LogarithmicSI true: coefficients of powers of the decimal logarithm, as in BBS; false: an ordinary polynomial in
nu/nu0 - 1, Jy. A Gaussian is drawn in the (l, m) plane, as WSClean's images have it, unless OrientationIsAbsolute says
that it is on the sky. Where someone has added Q, U, V they scale with the spectrum, as WSClean's power laws do.

Source: WSClean manual, "Component list"; WSClean model/powerlawsed.h.
"""

from __future__ import annotations

from .angles import format_dec, format_ra
from .bbs import read_bbs
from .bbs_writing import absolute_field, any_absolute, quoted, shape_fields, spectrum_field
from .errors import UnsupportedError
from .flux_list import with_spectra
from .model import SkyModel
from .reading import Reading


def read_wsclean(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a component list. Raises `SkyModelError` with file, line and column."""
    return read_bbs(reading, text, scales_polarisation=True)


def write_wsclean(model: SkyModel) -> str:
    """The text of a component list; reading it gives the same sources to 1e-12 (`Source.isclose`).

    Raises `UnsupportedError` for what these lists do not hold: Q, U, V, rotation measures, patches, other shapes,
    tables of fluxes through which no spectrum goes.
    """
    model = with_spectra(model)
    reference = next((s.ref_freq_hz for s in model if s.ref_freq_hz), None)
    default = f"='{reference!r}'" if reference else ""
    lines = [
        "Format = Name, Type, Ra, Dec, I, SpectralIndex, LogarithmicSI, "
        f"ReferenceFrequency{default}, MajorAxis, MinorAxis, Orientation"
        + (", OrientationIsAbsolute" if (absolute := any_absolute(model)) else "")
    ]
    for source in model:
        for present, what in (
            (source.is_polarised, "Stokes Q, U, V"),
            (source.rm_rad_m2, "rotation measures"),
            (source.patch, "patches"),
            (source.profile not in (None, "gaussian") or source.shapelets, "shapes but Gaussians"),
        ):
            if present:
                raise UnsupportedError(f"source {source.name!r}: a WSClean component list holds no {what}; write BBS")
        kind, major, minor, angle = shape_fields(source)
        fields = [
            quoted(source.name), kind, format_ra(source.ra_rad), format_dec(source.dec_rad),
            repr(source.stokes_jy[0]), spectrum_field(source).replace(" ", ""),
            "true" if source.logarithmic else "false",
            repr(source.ref_freq_hz) if source.ref_freq_hz else "", major, minor, angle,
        ]  # fmt: skip
        if absolute:
            fields.append(absolute_field(source))
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"
