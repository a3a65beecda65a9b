"""Writing hyperdrive's source lists (see `hyperdrive` for the format)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import yaml

from .angles import RAD_PER_ARCSEC
from .errors import UnsupportedError
from .flux_list import is_list, with_spectra
from .model import SkyModel
from .source import Source

_ANY_FREQUENCY_HZ = 150e6  # of fluxes that do not depend on it


def write_hyperdrive(model: SkyModel) -> str:
    """The text of a list (YAML). Reading it gives the same sources to 1e-12 (`Source.isclose`), those in no patch in a
    patch of their own name.

    The components of a patch P are called P_0, P_1, ..., or P if there is but one. Raises `UnsupportedError` naming the
    source that such a list cannot express: other names in a patch, spectra of more than two exponents or in Jy,
    rotation measures, polarisation that does not follow the spectrum, shapes in the (l, m) plane, and tables with
    straight lines through which no spectrum goes.
    """
    model = with_spectra(model, is_list)
    lists: dict[str, list] = {}
    for source in model:
        lists.setdefault(source.patch or source.name, []).append(source)
    for patch, sources in lists.items():
        names = [patch] if len(sources) == 1 else [f"{patch}_{index}" for index in range(len(sources))]
        for source, name in zip(sources, names, strict=True):
            if source.name != name:
                raise UnsupportedError(
                    f"source {source.name!r}: hyperdrive calls the components of {patch!r} {names[0]!r}"
                    f"{', ...' if len(names) > 1 else ''}; write BBS, or drop patches"
                )
    text = {patch: [_component(source) for source in sources] for patch, sources in lists.items()}
    return yaml.dump(text, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, allow_unicode=True)


def _component(source: Source) -> dict:
    return {
        "ra": _rounded(math.degrees(source.ra_rad) % 360),
        "dec": _rounded(math.degrees(source.dec_rad)),
        "comp_type": _shape(source),
        "flux_type": _fluxes(source),
    }


def _shape(source: Source) -> str | dict:
    if source.shape_in_plane:
        raise UnsupportedError(f"source {source.name!r}: shapes are drawn on the sky in hyperdrive's lists")
    if source.shapelets is not None:
        of = source.shapelets
        coefficients = [{"n1": j, "n2": k, "value": value} for j, k, value in of.coefficients]
        return {"shapelet": _axes(of.major_rad, of.minor_rad, of.pa_rad) | {"coeffs": coefficients}}
    return "point" if source.profile is None else {source.profile: _axes(*source.shape)}


def _axes(major_rad: float, minor_rad: float, pa_rad: float) -> dict[str, float]:
    values = major_rad / RAD_PER_ARCSEC, minor_rad / RAD_PER_ARCSEC, math.degrees(pa_rad)
    return dict(zip(("maj", "min", "pa"), map(_rounded, values), strict=True))


def _rounded(value: float) -> float:
    """To fifteen digits: what is read in other units and written again is the same."""
    return float(f"{value:.15g}")


def _fluxes(source: Source) -> dict:
    def refuse(what: str) -> UnsupportedError:
        return UnsupportedError(f"source {source.name!r}: hyperdrive's lists hold no {what}; write BBS")

    if source.table is not None:
        return {
            "list": [
                _density(*entry)
                for entry in zip(source.table.frequency_hz.tolist(), source.table.all_stokes().tolist(), strict=True)
            ]
        }
    if source.rm_rad_m2:
        raise refuse("rotation measures")
    if len(source.spectrum) > 2:
        raise refuse("spectra of more than a power law with curvature")
    if source.spectrum and not source.logarithmic:
        raise refuse("spectra that are polynomials in Jy")
    if source.spectrum and source.is_polarised and not source.spectrum_scales_polarisation:
        raise refuse("polarisation that does not follow the spectrum")
    density = _density(source.ref_freq_hz or _ANY_FREQUENCY_HZ, source.stokes_jy)
    index, *curvature = source.spectrum or (0.0,)
    if not curvature:
        return {"power_law": {"si": index, "fd": density}}
    return {"curved_power_law": {"si": index, "fd": density, "q": curvature[0]}}


def _density(frequency_hz: float, stokes_jy: Sequence[float]) -> dict[str, float]:
    fluxes = zip("iquv", stokes_jy, strict=True)
    return {"freq": frequency_hz} | {name: flux for name, flux in fluxes if flux or name == "i"}
