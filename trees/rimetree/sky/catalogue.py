"""Catalogues: tables of sources as text, FITS or VOTable, by the names of their columns.

    PyBDSF (.gaul and .srl, as ASCII, CSV or FITS), LoTSS
        RA, DEC, Total_flux; where they are there DC_Maj, DC_Min, DC_PA (deconvolved; 0: a point), Total_Q, Total_U,
        Total_V, Spec_Indx, and names: Source_name, or s1_g2 of Source_id 1, Gaus_id 2
    LoBES, and the lists for WODEN and hyperdrive that are like it (FITS; without shapelets also as text)
        NAME, UNQ_SOURCE_ID (the patch), RA, DEC, COMP_TYPE (P, G, S), MAJOR_DC, MINOR_DC, PA_DC, MOD_TYPE (pl, cpl,
        nan), NORM_COMP_PL, ALPHA_PL, NORM_COMP_CPL, ALPHA_CPL, CURVE_CPL, INT_FLXnnn (at nnn MHz); a second table
        with coefficients of shapelets: NAME, N1, N2, COEFF
    GLEAM-X (FITS, or text)
        Name, RAJ2000, DEJ2000, S_200, alpha, beta, a, b, pa

Text is separated by commas, tabs, semicolons or blanks; what stands in quotation marks is one value, and an empty one
is as good as nan. Names of columns count in any capitalisation.

Units are those that FITS, VOTable, or the header of a text (`Total_flux[mJy]`), says of a column, else deg; those of
fluxes and axes are Jy and deg where comments name PyBDSF, which surveys that took its columns (TGSS, LoTSS: mJy,
arcsec) leave out; else they have to be said. In tables of the MWA they are Jy, and arcsec of the axes of GLEAM-X. Axes
are full widths at half maximum on the sky, angles north through east. PyBDSF's spectral index is at the reference
frequency of its image, which comments (`FREQ0` in FITS and VOTable) say; without one the flux is the same at all
frequencies. Power laws of the others are at 200 MHz, S = S0 (nu/nu0)^alpha exp(curve ln^2(nu/nu0)); lists of fluxes are
as in hyperdrive's files.

Source: PyBDSF's documentation, "write_catalog"; mwa_hyperdrive's documentation, "FITS source list formats".
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import numpy as np

from .catalogue_tables import Layout, Table, layout_of, names_a_table, table_of_fits, table_of_text, table_of_votable
from .errors import SkyModelError
from .flux_list import fluxes_through, times
from .model import SkyModel
from .reading import Reading, numbered_lines
from .shapelets import Shapelets
from .source import PROFILES

_MWA_REFERENCE_HZ = 200e6
_INTEGRATED = re.compile(r"int_flx(\d+(?:\.\d+)?)")


def is_catalogue(text: str) -> bool:
    """Whether a text is a table in the form of VOTable, or one of its first lines names columns that are known."""
    lines = itertools.islice(numbered_lines(text), 100)
    return is_votable(text) or any(names_a_table(line, list(_KINDS)) for _, line in lines)


def is_votable(text: str) -> bool:
    """Whether a text is one of VOTable."""
    return re.match(r"\s*<(\?xml|VOTABLE)", text) is not None and "<VOTABLE" in text[:10_000]


def read_catalogue(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a table, or, where there is no text, in a FITS file. Raises `SkyModelError` where it is
    none of those that are known."""
    layouts = list(_KINDS)
    if not text:
        table = table_of_fits(reading)
    elif is_votable(text):
        table = table_of_votable(reading, text)
    else:
        table = table_of_text(reading, text, layouts)
    _KINDS[layout_of(list(table.columns), layouts, reading.file)](table)
    return reading.model()


def _read_pybdsf(table: Table) -> None:
    radec = np.column_stack([table.numbers("ra", "deg"), table.numbers("dec", "deg")]).tolist()
    known = table.of_pybdsf
    stokes = np.column_stack(
        [table.numbers(f"total_{s}", "Jy", 0.0 if s != "flux" else None, known) for s in ("flux", "q", "u", "v")]
    ).tolist()
    axes = [table.numbers(name, "deg", 0.0, known) for name in ("dc_maj", "dc_min")]
    axes.append(table.numbers("dc_pa" if "dc_pa" in table.columns else "pa", "deg", 0.0))
    index = table.numbers("spec_indx", "", 0.0)
    has_index = np.isfinite(index) & (index != 0)
    if has_index.any() and not table.reference_hz:
        raise SkyModelError("spectral indices, and no comment says the frequency", file=table.reading.file)
    for row, name in enumerate(_names_of_pybdsf(table)):
        spectrum = (float(index[row]),) if has_index[row] else ()
        about = {
            "stokes_jy": tuple(stokes[row]),
            "ref_freq_hz": table.reference_hz,
            "spectrum": spectrum,
            **_profile(*(float(one[row]) for one in axes)),
        }
        table.add(row, name, radec[row], lambda a=about: a)


def _names_of_pybdsf(table: Table) -> list[str]:
    """Names that the table has, else s1 of a source, s1_g2 of a Gaussian of one."""
    if "source_name" in table.columns:
        return table.texts("source_name")
    parts = [
        (letter, table.texts(key)) for letter, key in (("s", "source_id"), ("g", "gaus_id")) if key in table.columns
    ]
    if not parts:
        return [f"s{row + 1}" for row in range(len(table))]
    return ["_".join(letter + texts[row] for letter, texts in parts) for row in range(len(table))]


def _profile(major_deg: float, minor_deg: float, angle_deg: float) -> dict:
    """The field of a `Source` that holds its shape; none for a point."""
    if not (major_deg or minor_deg) or math.isnan(major_deg) or math.isnan(minor_deg):
        return {}
    return {PROFILES[0]: tuple(map(math.radians, (major_deg, minor_deg, angle_deg)))}


def _read_lobes(table: Table) -> None:
    radec = np.column_stack([table.numbers("ra", "deg"), table.numbers("dec", "deg")]).tolist()
    axes = np.column_stack([table.numbers(n, "deg", 0.0) for n in ("major_dc", "minor_dc", "pa_dc")]).tolist()
    kinds, models = table.texts("comp_type"), table.texts("mod_type")
    names, patches = table.texts("name"), table.texts("unq_source_id")
    laws = {
        "pl": [table.numbers(n, "", math.nan) for n in ("norm_comp_pl", "alpha_pl")],
        "cpl": [table.numbers(n, "", math.nan) for n in ("norm_comp_cpl", "alpha_cpl", "curve_cpl")],
    }
    listed = [
        (1e6 * float(found[1]), table.numbers(name, "Jy"))
        for name in table.columns
        if (found := _INTEGRATED.fullmatch(name))
    ]

    def about(row: int) -> dict:
        law = [float(one[row]) for one in laws.get(models[row], ())]
        if law and all(map(math.isfinite, law)):
            stokes = (law[0], 0.0, 0.0, 0.0)
            fluxes = {"stokes_jy": stokes, "ref_freq_hz": _MWA_REFERENCE_HZ, "spectrum": tuple(law[1:])}
        else:
            fluxes = fluxes_through(
                [(hz, (float(one[row]), 0.0, 0.0, 0.0)) for hz, one in listed if math.isfinite(one[row])]
            )
        shape = {}
        if kinds[row] == "G":
            shape = _profile(*axes[row])
        elif kinds[row] == "S":
            turned = Shapelets(*map(math.radians, axes[row]), table.coefficients.get(names[row], []))
            shape["shapelets"], factor = turned.of_unit_flux()
            fluxes = times(fluxes, factor)
        elif kinds[row] != "P":
            raise SkyModelError(f"COMP_TYPE is {kinds[row]!r}, expected P, G or S")
        return {"patch": patches[row], **fluxes, **shape}

    for row, name in enumerate(names):
        table.add(row, name, radec[row], lambda k=row: about(k))


def _read_gleam(table: Table) -> None:
    radec = np.column_stack([table.numbers("raj2000", "deg"), table.numbers("dej2000", "deg")]).tolist()
    flux, alpha, beta = (
        table.numbers(n, u, d) for n, u, d in (("s_200", "Jy", None), ("alpha", "", math.nan), ("beta", "", 0.0))
    )
    major, minor = (table.numbers(name, "arcsec", 0.0) / 3600 for name in ("a", "b"))
    angle = table.numbers("pa", "deg", 0.0)
    names = table.texts("name")

    def about(row: int) -> dict:
        fluxes = fluxes_through([(_MWA_REFERENCE_HZ, (float(flux[row]), 0.0, 0.0, 0.0))])
        if math.isfinite(alpha[row]):
            curvature = float(beta[row]) if math.isfinite(beta[row]) else 0.0
            fluxes["spectrum"] = (float(alpha[row]), curvature)
        return fluxes | _profile(float(major[row]), float(minor[row]), float(angle[row]))

    for row, name in enumerate(names):
        table.add(row, name or f"s{row + 1}", radec[row], lambda k=row: about(k))


_KINDS: dict[Layout, Callable[[Table], None]] = {
    Layout(
        ("ra", "dec", "total_flux"),
        ("source_name", "source_id", "gaus_id"),
        re.compile(r"ra|dec|total_(flux|[quv])|dc_(maj|min|pa)|pa|spec_indx"),
    ): _read_pybdsf,
    Layout(
        ("name", "ra", "dec", "comp_type", "mod_type"),
        ("name", "unq_source_id", "comp_type", "mod_type"),
        re.compile(rf"ra|dec|(major|minor|pa)_dc|(norm_comp|alpha|curve)_c?pl|{_INTEGRATED.pattern}"),
    ): _read_lobes,
    Layout(
        ("raj2000", "dej2000", "s_200"),
        ("name",),
        re.compile(r"(ra|de)j2000|s_200|alpha|beta|a|b|pa"),
    ): _read_gleam,
}
