"""Catalogues: tables of sources as text or FITS, by the names of their columns.

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

Units are those that FITS, or the header of a text (`Total_flux[mJy]`), says of a column, else deg; those of fluxes
and axes are Jy and deg where comments name PyBDSF, which surveys that took its columns (TGSS, LoTSS: mJy, arcsec)
leave out; else they have to be said. In tables of the MWA they are Jy, and arcsec of the axes of GLEAM-X. Axes are
full widths at half maximum on the sky, angles north through east. PyBDSF's spectral index is at the reference
frequency of its image, which comments (`FREQ0` in FITS) say; without one the flux is the same at all frequencies.
Power laws of the others are at 200 MHz, S = S0 (nu/nu0)^alpha exp(curve ln^2(nu/nu0)); lists of fluxes are as in
hyperdrive's files.

Source: PyBDSF's documentation, "write_catalog"; mwa_hyperdrive's documentation, "FITS source list formats".
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import SkyModelError
from .flux_list import spectrum_through
from .model import SkyModel
from .reading import Cell, Reading, numbered_lines
from .shapelets import Shapelets
from .source import PROFILES

_MWA_REFERENCE_HZ = 200e6
_INTEGRATED = re.compile(r"int_flx(\d+(?:\.\d+)?)")
_FREQUENCY = re.compile(r"#.*Reference frequency of the detection.*:\s*(\S+)\s*Hz")
_EQUINOX = re.compile(r"#\s*Equinox\s*:\s*(\S+)")
_PYBDSF = re.compile(r"#.*(\bPyBDS[FM]\b|Reference frequency of the detection)")
_WITH_UNIT = re.compile(r"(\w+)\s*[\[(](.*)[\])]")


def is_catalogue_header(line: str) -> bool:
    """Whether a line of text names the columns of a table that is known."""
    if "ra" not in line.lower():
        return False
    names = {name for name, _ in _names_in(line)}
    return any(set(needed) <= names for needed in _KINDS)


def read_catalogue(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a table, or, where there is no text, in a FITS file. Raises `SkyModelError` where it is
    none of those that are known."""
    table = _table_of_text(reading, text) if text else _table_of_fits(reading)
    for needed, read in _KINDS.items():
        if set(needed) <= set(table.columns):
            read(table)
            return reading.model()
    known = "; ".join(", ".join(needed) for needed in _KINDS)
    found = ", ".join(table.columns)
    raise SkyModelError(
        f"the columns are none of a catalogue that is known; these have {known}, and the table has "
        f"{found if len(found) < 400 else found[:400] + '...'}; columns that mean the same may be renamed",
        file=reading.file,
    )


@dataclass
class _Table:
    """Columns [row] by their names in lower case; `units`: what the file says of them; `lines`: where rows stand in
    text; `coefficients`: of shapelets, by the names of sources; `of_pybdsf`: whether comments name PyBDSF."""

    reading: Reading
    columns: dict[str, NDArray]
    units: dict[str, str]
    reference_hz: float
    lines: list[int] | None
    coefficients: dict[str, list[tuple[int, int, float]]]
    of_pybdsf: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def numbers(
        self, name: str, unit: str, default: float | None = None, unit_is_known: bool = True
    ) -> NDArray[np.float64]:
        """A column in a unit, which it has where the file says none, if that is known; `default` where there is no
        such column."""
        if name not in self.columns and default is not None:
            return np.full(len(self), default)
        values = self._converted(name)
        said = self.units.get(name, "").strip()
        if not said and not unit_is_known and len(self):
            raise SkyModelError(
                f"column {name} has no unit, and no comment says that PyBDSF wrote the table, which would make it "
                f"{unit}: a header may say it, as in {name}[{unit}], and so may FITS",
                file=self.reading.file,
            )
        if not said or said == unit:
            return values
        from astropy import units

        try:
            return values * units.Unit(said).to(unit)
        except (ValueError, units.UnitConversionError):
            raise SkyModelError(f"column {name} is in {said}, expected {unit}", file=self.reading.file) from None

    def _converted(self, name: str) -> NDArray[np.float64]:
        column = self.columns[name]
        if column.ndim != 1:
            raise SkyModelError(f"column {name} has several values in a row, expected one", file=self.reading.file)
        if column.dtype.kind in "SU":
            column = np.where(column == "", "nan", column)
        try:
            return np.asarray(column, float)
        except ValueError:
            for row, value in enumerate(column):
                try:
                    float(value)
                except ValueError:
                    raise self.error(f"column {name} is {str(value)!r}, expected a number", row) from None
            raise

    def texts(self, name: str) -> list[str]:
        """A column of text; empty texts where there is none."""
        return [str(value).strip() for value in self.columns[name]] if name in self.columns else [""] * len(self)

    def place(self, row: int) -> Cell:
        """Where a row stands."""
        return Cell("", self.lines[row], 1) if self.lines else Cell("", None, None)

    def error(self, message: str, row: int) -> SkyModelError:
        """An error of a row, to be raised by the caller."""
        return self._of_row(SkyModelError(message), row)

    def add(self, row: int, name: str, radec_deg: tuple[float, float], about: Callable[[], dict]) -> None:
        """Add the source of a row; `about` gives its other fields."""

        def make():
            radec = dict(zip(("ra_rad", "dec_rad"), map(math.radians, radec_deg), strict=True))
            return self.reading.build(self.place(row), name=name, **radec, **about())

        try:
            self.reading.source(name, self.place(row), make)
        except SkyModelError as problem:
            raise self._of_row(problem, row) from None

    def _of_row(self, problem: SkyModelError, row: int) -> SkyModelError:
        before = "" if self.lines else f"row {row + 1}: "
        return self.reading.placed(problem, self.place(row), before)


def _table_of_text(reading: Reading, text: str) -> _Table:
    lines = list(numbered_lines(text))
    header = next((number for number, line in lines if is_catalogue_header(line)), None)
    if header is None:
        known = "; ".join(", ".join(needed) for needed in _KINDS)
        raise SkyModelError(f"no line names the columns of a catalogue that is known: {known}", file=reading.file)
    names_line = lines[header - 1][1]
    separator = _separator_of(names_line)
    named = _names_in(names_line)
    names = [name for name, _ in named]
    if twice := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
        raise reading.error(f"two columns are called {twice[0]}", Cell("", header, 1))
    rows, places = [], []
    for number, line in lines[header:]:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        rows.append(_values_in(line, separator))
        places.append(number)
        if len(rows[-1]) != len(names):
            raise reading.error(f"{len(rows[-1])} columns, expected {len(names)}", Cell("", number, 1))
    columns = {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=False)}
    if not rows:
        columns = {name: np.array([]) for name in names}
    comments = "\n".join(line for _, line in lines[:header] if line.startswith("#"))
    _require_j2000(reading, (_EQUINOX.search(comments) or ["", "2000"])[1])
    frequency = _FREQUENCY.search(comments)
    reference_hz = _hertz(frequency[1] if frequency else 0.0)
    return _Table(reading, columns, dict(named), reference_hz, places, {}, _PYBDSF.search(comments) is not None)


def _separator_of(names_line: str) -> str | None:
    """What stands between values; None: blanks."""
    return next((sign for sign in ",\t;" if sign in names_line.strip()), None)


def _values_in(line: str, separator: str | None) -> list[str]:
    if '"' not in line:
        return [value.strip() for value in line.split(separator)]
    found = next(csv.reader([line.strip(" ")], delimiter=separator or " ", skipinitialspace=True))
    return [value.strip() for value in found]


def _names_in(line: str) -> list[tuple[str, str]]:
    """(name in lower case, unit or "") of the columns that a line of text names."""
    line = line.lstrip("# \t")
    found = []
    for name in _values_in(line, _separator_of(line)):
        parts = _WITH_UNIT.fullmatch(name)
        found.append((parts[1].lower(), parts[2]) if parts else (name.lower(), ""))
    return found


def _hertz(value) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return 0.0
    return found if math.isfinite(found) and found > 0 else 0.0


def _require_j2000(reading: Reading, equinox) -> None:
    if _hertz(equinox) not in (0.0, 2000.0):
        raise SkyModelError(f"positions are of equinox {equinox}, expected 2000", file=reading.file)


def _table_of_fits(reading: Reading) -> _Table:
    from astropy.io import fits

    try:
        with fits.open(reading.file, memmap=False) as units:
            tables = [unit for unit in units if isinstance(unit, fits.BinTableHDU | fits.TableHDU)]
            read = [({c.name.lower(): _values_of(t.data, c) for c in t.columns}, t.header, t.columns) for t in tables]
    except (OSError, TypeError, ValueError) as problem:
        raise SkyModelError(f"no FITS table that can be read: {problem}", file=reading.file) from problem
    shapelets = [columns for columns, *_ in read if {"name", "n1", "n2", "coeff"} <= set(columns)]
    sources = [one for one in read if not any(one[0] is other for other in shapelets)]
    if len(sources) != 1 or len(shapelets) > 1:
        raise SkyModelError(f"the file holds {len(sources)} tables of sources, expected one", file=reading.file)
    columns, header, described = sources[0]
    _require_j2000(reading, header.get("EQUINOX", 2000.0))
    coefficients: dict[str, list[tuple[int, int, float]]] = {}
    for one in shapelets:
        for name, n1, n2, value in zip(*(one[key].tolist() for key in ("name", "n1", "n2", "coeff")), strict=True):
            coefficients.setdefault(str(name).strip(), []).append((_whole(n1), _whole(n2), value))
    said = {column.name.lower(): column.unit or "" for column in described}
    return _Table(reading, columns, said, _hertz(header.get("FREQ0")), None, coefficients)


def _values_of(data, column) -> NDArray:
    """Values of a column of FITS; nan where a number is not there."""
    values = np.asarray(data[column.name])
    if column.null is None or values.dtype.kind not in "iuf":
        return values
    stored = np.asarray(data.view(np.ndarray)[column.name])
    null = column.null
    if stored.dtype.kind == "S":  # a table of text
        stored, null = np.char.strip(stored), str(null).strip().encode()
    return np.where(stored == null, math.nan, values)


def _whole(number):
    """As an integer, if it is one: others are refused where they are used."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _read_pybdsf(table: _Table) -> None:
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


def _names_of_pybdsf(table: _Table) -> list[str]:
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


def _read_lobes(table: _Table) -> None:
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
            reference_hz, stokes, spectrum = _MWA_REFERENCE_HZ, (law[0], 0.0, 0.0, 0.0), tuple(law[1:])
        else:
            fluxes = [(hz, (float(one[row]), 0.0, 0.0, 0.0)) for hz, one in listed if math.isfinite(one[row])]
            reference_hz, stokes, spectrum = spectrum_through(fluxes)
        shape = {}
        if kinds[row] == "G":
            shape = _profile(*axes[row])
        elif kinds[row] == "S":
            turned = Shapelets(*map(math.radians, axes[row]), table.coefficients.get(names[row], []))
            shape["shapelets"], stokes = turned.of_unit_flux(stokes)
        elif kinds[row] != "P":
            raise SkyModelError(f"COMP_TYPE is {kinds[row]!r}, expected P, G or S")
        return {
            "stokes_jy": stokes,
            "ref_freq_hz": reference_hz,
            "spectrum": spectrum,
            "patch": patches[row],
            **shape,
        }

    for row, name in enumerate(names):
        table.add(row, name, radec[row], lambda k=row: about(k))


def _read_gleam(table: _Table) -> None:
    radec = np.column_stack([table.numbers("raj2000", "deg"), table.numbers("dej2000", "deg")]).tolist()
    flux, alpha, beta = (
        table.numbers(n, u, d) for n, u, d in (("s_200", "Jy", None), ("alpha", "", math.nan), ("beta", "", 0.0))
    )
    major, minor = (table.numbers(name, "arcsec", 0.0) / 3600 for name in ("a", "b"))
    angle = table.numbers("pa", "deg", 0.0)
    names = table.texts("name")

    def about(row: int) -> dict:
        stokes = (float(flux[row]), 0.0, 0.0, 0.0)
        if math.isfinite(alpha[row]):
            curvature = float(beta[row]) if math.isfinite(beta[row]) else 0.0
            spectrum = (float(alpha[row]), curvature)
        else:
            _, stokes, spectrum = spectrum_through([(_MWA_REFERENCE_HZ, stokes)])
        shape = _profile(float(major[row]), float(minor[row]), float(angle[row]))
        return {"stokes_jy": stokes, "ref_freq_hz": _MWA_REFERENCE_HZ, "spectrum": spectrum, **shape}

    for row, name in enumerate(names):
        table.add(row, name or f"s{row + 1}", radec[row], lambda k=row: about(k))


_KINDS: dict[tuple[str, ...], Callable[[_Table], None]] = {
    ("ra", "dec", "total_flux"): _read_pybdsf,
    ("name", "ra", "dec", "comp_type", "mod_type"): _read_lobes,
    ("raj2000", "dej2000", "s_200"): _read_gleam,
}
