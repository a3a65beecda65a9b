"""Layouts of antennas as CASA's simulator reads them (`*.cfg`): lines `# key=value`, then for each antenna x, y, z and
its diameter in metres, and names of its pad and of itself, of which the last is taken.

Places are geocentric (ITRF; `coordsys=XYZ`), or to the east, the north and upwards of the observatory (`coordsys=LOC`),
or of the place that `COFA=longitude,latitude,height` says (deg, m).
Source: CASA 6.7, simobserve and its files alma/simmos/*.cfg; places of observatories from its table Observatories.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .local_places import geocentric
from .telescope import Telescope, TelescopeError

#: Longitude and latitude (deg, WGS84) and height (m) of observatories, for layouts that are local.
_PLACES = {
    "ACA": (-67.7548766583333, -23.02781575555555, 5056.8),
    "ALMA": (-67.754929, -23.022886, 5056.8),
    "ALMASD": (-67.754929, -23.022886, 5056.8),
    "ASKAP": (116.6588, -26.7041, 125.0),
    "ATCA": (149.5501388, -30.3128846, 236.87),
    "ATA": (-121.472, 40.8174, 1043.0),
    "CARMA": (-118.1416424, 37.28038, 2196.265),
    "DSA2000": (-116.261446, 38.467971, 1700.0),
    "EVLA": (-107.6183, 34.0790, 2124.0),
    "GMRT": (74.0499722, 19.0906528, 640.0),
    "HERA": (21.4280555, -30.7213889, 1500.0),
    "MEERKAT": (21.4439, -30.7132, 1050.0),
    "MWA": (116.67081524, -26.7033194, 377.83),
    "NGVLA": (-107.6410218, 34.08296317, 2126.713514),
    "NOEMA": (5.907916837, 44.633889452, 2560.0),
    "OVRO-LWA": (-118.2816667, 37.23977727, 1183.48),
    "SMA": (-155.4775, 19.8242, 4080.0),
    "VLA": (-107.6183, 34.0790, 2124.0),
    "WSRT": (6.604166666666665, 52.916916666666665, 5.0),
}
_CIRCULAR = ("VLA", "EVLA", "VLBA", "NGVLA", "GMRT")  # of the feeds; those of others are linear
#: Centres and widths (Hz) of bands of observatories at higher frequencies.
_BANDS = dict.fromkeys(("ACA", "ALMA", "ALMASD", "SMA"), (230e9, 7.5e9)) | dict.fromkeys(
    ("CARMA", "IRAM_PDB", "NOEMA"), (100e9, 7.5e9)
)


def parse_casa_layout(content: str, file: str) -> Telescope:
    """The telescope in the text of a file, called by its name. Raises `TelescopeError` with the line."""
    header: dict[str, str] = {}
    rows: list[list[float]] = []
    names: list[str] = []
    for number, line in enumerate(content.splitlines(), start=1):
        text, _, remark = line.partition("#")
        if match := re.match(r"\s*(\w+)\s*=\s*(.*)", remark):
            header.setdefault(match[1].lower(), match[2].strip())
        if not text.strip():
            continue
        parts = text.split()
        try:
            rows.append([float(part) for part in parts[:4]])
        except ValueError:
            rows.append([])
        if len(rows[-1]) != 4 or not np.isfinite(rows[-1]).all():
            raise TelescopeError("expected x, y, z and a diameter, and names", file=file, line=number, column=1)
        names.append(parts[-1] if len(parts) > 4 else "")
    if not rows:
        raise TelescopeError("the layout has no antennas", file=file)
    table, observatory = np.array(rows), header.get("observatory", "")
    centre_hz, width_hz = _BANDS.get(observatory.upper(), (1.4e9, 256e6))
    try:
        return Telescope(
            re.sub(r".*/|\.cfg$", "", file),
            _distinct(names),
            _geocentric(table[:, :3], header.get("coordsys", ""), _place(observatory, header.get("cofa"))),
            table[:, 3],
            mount="EQUATORIAL" if observatory.upper() == "WSRT" else "ALT-AZ",
            feed="circular" if observatory.upper() in _CIRCULAR else "linear",
            band_centre_hz=centre_hz,
            band_width_hz=width_hz,
            observatory=observatory,
        )
    except TelescopeError as problem:
        raise TelescopeError(problem.message, file=file) from None


def _place(observatory: str, given: str | None) -> tuple[float, float, float] | str:
    """Longitude, latitude (deg) and height (m) that the file gives (COFA), or of the observatory; its name where it is
    not known."""
    if given is None:
        return _PLACES.get(observatory.upper(), observatory)
    try:
        longitude, latitude, *height = map(float, given.split(","))
    except ValueError:
        raise TelescopeError(f"COFA={given}, expected longitude,latitude in degrees, and a height in metres") from None
    return longitude, latitude, *(height or [0.0])[:1]


def _geocentric(xyz_m: np.ndarray, system: str, place: tuple[float, float, float] | str) -> np.ndarray:
    kind = system.split("(")[0].strip().upper()
    if kind == "XYZ":
        return xyz_m
    if kind != "LOC":
        raise TelescopeError(f"places have coordsys={system or 'nothing'}, expected XYZ (geocentric) or LOC (local)")
    if isinstance(place, str):
        raise TelescopeError(
            f"places are local (coordsys=LOC) of observatory={place or 'nothing'}, whose own place is not known; give "
            f"a line # COFA=longitude,latitude,height, or one of {', '.join(_PLACES)}"
        )
    return geocentric(xyz_m, *place)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, if there are such and all differ, else A000, A001, ..."""
    if all(names) and len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"A{number:03d}" for number in range(len(names)))
