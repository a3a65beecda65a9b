"""Writing SkyH5 (`skyh5`): points, whose fluxes are constant, power laws or tables, all of one kind."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np

from .errors import UnsupportedError
from .flux_list import with_spectra
from .model import SkyModel
from .source import Source

_ANY_FREQUENCY_HZ = 1e8  # the reference of fluxes that are constant


def write_skyh5(model: SkyModel) -> bytes:
    """A file's contents; reading them gives the same sources (`Source.isclose`), but for power laws between so many
    frequencies that straight lines are within 1e-4 of them.

    Raises `UnsupportedError` for what SkyH5 does not hold: shapes, other spectra, polarisation (it does not say along
    which directions), and tables beside other spectra.
    """
    import h5py

    lines = replace(model, sources=tuple(map(_on_lines, model)))
    model = with_spectra(lines, lambda table: not table.power_laws)
    for source in model:
        _require_expressible(source)
    has_table = model.has_table
    if has_table.any() and not has_table.all():
        name = model[int(has_table.argmin())].name
        raise UnsupportedError(
            f"source {name!r} has no fluxes at several frequencies, others have: SkyH5 holds one or the other"
        )
    frequency_hz, flux_jy = model.flux_table() if has_table.any() else (None, model.stokes_jy[None, :, 0])
    stokes = np.zeros((4, *flux_jy.shape[:2]))
    stokes[0] = flux_jy if flux_jy.ndim == 2 else flux_jy[:, :, 0]
    kind = "full" if has_table.any() else "spectral_index" if model.spectrum.any() else "flat"
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        header = file.create_group("Header")
        for name, value in {
            "component_type": np.bytes_("point"),
            "spectral_type": np.bytes_(kind),
            "Ncomponents": len(model),
            "Nfreqs": len(flux_jy),
            "history": np.bytes_("written by RimeTree"),
            "name": _texts(model.names),
        }.items():
            header[name] = value
        if model.patches:
            header["extended_model_group"] = _texts([source.patch for source in model])
        if kind == "full":
            _put(header, "freq_array", frequency_hz, "Hz")
        if kind == "spectral_index":
            reference_hz = np.where(model.ref_freq_hz > 0, model.ref_freq_hz, _ANY_FREQUENCY_HZ)
            _put(header, "reference_frequency", reference_hz, "Hz")
            header["spectral_index"] = model.spectrum[:, 0]
        places = header.create_group("skycoord")
        places["frame"], places["representation_type"] = np.bytes_("icrs"), np.bytes_("spherical")
        for name, angle, of in zip(("ra", "dec"), model.radec_rad.T, ("longitude", "latitude"), strict=True):
            _put(places, name, angle, "rad").attrs["object_type"] = of
        _put(file.create_group("Data"), "stokes", stokes, "Jy")
    return content.getvalue()


def _on_lines(source: Source) -> Source:
    table = None if source.table is None else source.table.on_lines()
    return source if table is source.table else replace(source, table=table, stokes_jy=table.at(source.ref_freq_hz))


def _require_expressible(source: Source) -> None:
    for present, what in (
        (source.is_extended, "shapes"),
        (source.is_polarised, "polarisation of which it is said along which directions it is"),
        (source.rm_rad_m2, "rotation measures"),
        (len(source.spectrum) > 1 or (source.spectrum and not source.logarithmic), "spectra that are no power laws"),
    ):
        if present:
            raise UnsupportedError(f"source {source.name!r}: SkyH5 holds no {what}")


def _texts(texts: list[str]) -> np.ndarray:
    return np.array([text.encode() for text in texts], dtype=bytes)


def _put(group, name: str, values: np.ndarray, unit: str):
    group[name] = values
    group[name].attrs["unit"] = unit
    return group[name]
