"""Lists of components as CASA's componentlist tool keeps them: points, Gaussians and uniform disks.

Axes of a Gaussian are full widths at half maximum, those of a disk diameters. A "spectral index" alpha is I(nu) =
I0 (nu/nu0)^alpha, and Q, U and V follow it; a "power logarithmic polynomial" is I0 (nu/nu0)^(c0 + c1 x + ...) with
x = ln(nu/nu0), and Q, U and V do not. Positions are in J2000 or ICRS.

Source: CASA 6.7, its componentlist tool, and what it predicts (task `ft`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .casa_table import contents_of, format_of_table
from .errors import SkyModelError
from .map_pixels import unit_named
from .model import SkyModel
from .reading import Cell, Reading
from .source import Source

_COLUMNS = (
    *("Flux", "Flux_Unit", "Flux_Polarisation", "Shape", "Reference_Direction", "Direction_Frame"),
    *("Shape_Parameters", "Spectrum_Shape", "Reference_Frequency", "Spectral_Parameters", "Spectral_Record"),
    "Label",
)
_SHAPES = {"point": None, "gaussian": "gaussian", "disk": "uniform_disk"}
_FRAMES = ("j2000", "icrs")

#: I, Q, U, V of four fluxes: as they are, of RR, RL, LR, LL and of XX, XY, YX, YY.
_STOKES_OF = {
    "stokes": np.eye(4),
    "circular": np.array([[1, 0, 0, 1], [0, 1, 1, 0], [0, -1j, 1j, 0], [1, 0, 0, -1]]) / 2,
    "linear": np.array([[1, 0, 0, 1], [1, 0, 0, -1], [0, 1, 1, 0], [0, -1j, 1j, 0]]) / 2,
}


def read_casa_components(reading: Reading, text: str) -> SkyModel:
    """The sources of a list of components."""
    del text  # it is a folder
    if format_of_table(reading.file) != "casa-components":
        raise SkyModelError("no list of components", file=reading.file)
    _, rows = contents_of(reading.file, _COLUMNS)
    labels = [row["Label"].strip() for row in _complete(reading, rows)]
    for number, row in enumerate(rows):
        label = labels[number]
        name = label if label and labels.count(label) == 1 else f"{label or 'component'}_{number}"
        cell = Cell(name, None, None)
        reading.source(name, cell, lambda row=row, cell=cell: _source(reading, row, cell))
    return reading.model()


def _complete(reading: Reading, rows: list[dict]) -> list[dict]:
    """The rows. Raises `SkyModelError` where one lacks anything that all lists have."""
    for row in rows[:1]:
        if missing := [column for column in _COLUMNS if column not in row and column != "Spectral_Record"]:
            raise SkyModelError(f"the list of components has no column {', '.join(missing)}", file=reading.file)
    return rows


def _source(reading: Reading, row: dict, cell: Cell) -> Source:
    shape = row["Shape"].lower()
    if shape not in _SHAPES:
        raise reading.unsupported(f"component {cell.text!r} is of the shape {row['Shape']}", cell)
    fields = {} if _SHAPES[shape] is None else {_SHAPES[shape]: tuple(row["Shape_Parameters"])}
    return reading.build(
        cell,
        name=cell.text,
        **dict(zip(("ra_rad", "dec_rad"), _place(reading, row, cell), strict=True)),
        stokes_jy=tuple(_fluxes(reading, row, cell).tolist()),
        **_spectrum(reading, row, cell),
        **fields,
    )


def _fluxes(reading: Reading, row: dict, cell: Cell) -> NDArray[np.float64]:
    four = np.array([one["r"] + 1j * one["i"] for one in row["Flux"]])
    if row["Flux_Polarisation"].lower() not in _STOKES_OF:
        raise reading.unsupported(f"component {cell.text!r} has fluxes of {row['Flux_Polarisation']}", cell)
    stokes = _STOKES_OF[row["Flux_Polarisation"].lower()] @ four
    if np.abs(stokes.imag).max() > 1e-9 * np.abs(stokes).max():
        raise reading.unsupported(f"component {cell.text!r} has complex fluxes", cell)
    try:
        return stokes.real * unit_named(row["Flux_Unit"]).to("Jy")
    except ValueError:
        raise reading.error(
            f"fluxes of component {cell.text!r} are in {row['Flux_Unit']!r}, expected Jy", cell
        ) from None


def _place(reading: Reading, row: dict, cell: Cell) -> tuple[float, float]:
    if row["Direction_Frame"].lower() not in _FRAMES:
        raise reading.unsupported(f"component {cell.text!r} has its place in the frame {row['Direction_Frame']}", cell)
    ra_rad, dec_rad = row["Reference_Direction"]
    return ra_rad % (2 * np.pi), dec_rad


def _spectrum(reading: Reading, row: dict, cell: Cell) -> dict:
    kind, numbers = row["Spectrum_Shape"].lower(), tuple(row["Spectral_Parameters"])
    if kind == "constant":
        return {}
    if kind == "spectral index":
        if any(row.get("Spectral_Record", {}).get("stokesindex", [])[1:]):
            raise reading.unsupported(f"component {cell.text!r} has spectra of Q, U and V of their own", cell)
    elif kind != "power logarithmic polynomial":
        raise reading.unsupported(f"component {cell.text!r} has a spectrum of the kind {row['Spectrum_Shape']}", cell)
    follow = kind == "spectral index"
    return {"spectrum": numbers, "ref_freq_hz": row["Reference_Frequency"], "spectrum_scales_polarisation": follow}
