"""What kinds of beams --beam takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import Failed
from .quantities import ANGLE, FREQUENCY, LENGTH

if TYPE_CHECKING:
    from rimetree.beams import AnyBeam

#: Where no antenna is further from the middle of the array they have one horizon: it differs by half an arcminute.
_COMPACT_M = 1000.0
_SOMEWHERE_M = (6.4e6, 0.0, 0.0)  # on the Earth, before it is known whose beam it is


@dataclass(frozen=True)
class Antenna:
    """One of a set or telescope.

    `number`: among them; `used`: whether there are data of it; `middle_m`: where the middle of the array is (ITRF);
    `horizon_m`: whose horizon it has, which is where it is, or the middle of a compact array; None: not known; `mount`:
    as in the ANTENNA table; `ms`: the set; `field_ids`: of the set that it is looked at in; `pointing_rad`: where it is
    said to point."""

    name: str
    diameter_m: float
    number: int = 0
    used: bool = True
    middle_m: tuple[float, ...] | None = None
    horizon_m: tuple[float, ...] | None = None
    mount: str = ""
    ms: str = ""
    field_ids: tuple[int, ...] = ()
    pointing_rad: tuple[float, float] | None = None


def placed(antennas: Sequence[Antenna], positions_m: Sequence[Sequence[float]]) -> list[Antenna]:
    """Antennas of an array that are at these positions (ITRF), of which some may be no place. The array is those that
    there are data of."""
    import numpy as np

    from rimetree.observing.mounts import NO_PLACE_M

    xyz_m = np.asarray(positions_m, dtype=float).reshape(-1, 3)
    known = np.linalg.norm(xyz_m, axis=1) > NO_PLACE_M
    used = known & [antenna.used for antenna in antennas]
    if not used.any():
        return list(antennas)
    middle_m = xyz_m[used].mean(axis=0)
    is_compact = (np.linalg.norm(xyz_m[used] - middle_m, axis=1) < _COMPACT_M).all()
    return [
        replace(antenna, middle_m=tuple(middle_m.tolist()), horizon_m=tuple(own.tolist()) if any_place else None)
        for antenna, own, any_place in zip(antennas, np.where(is_compact, middle_m, xyz_m), known, strict=True)
    ]


def place_of(antenna: Antenna) -> tuple[float, ...]:
    """`horizon_m`; raises `Failed` where it is not known."""
    if antenna.horizon_m is None:
        raise Failed(f"--beam: it is not known where antenna {antenna.name} is")
    return antenna.horizon_m


#: Gives an antenna its beam. Raises `Failed` where it cannot have such a one.
Maker = Callable[[Antenna], "AnyBeam"]


def maker_of(text: str) -> Maker:
    """Of "KIND" or "KIND: numbers with units". Raises `Error` or `click.BadParameter` for what is no beam."""
    from rimetree import Error

    if "$(" in text:
        files, comma, method = text.rpartition(",")
        how = (files.strip(), method.strip().lower()) if comma and "$(" not in method else (text.strip(),)
        return _pattern(*how)
    kind, _, rest = (part.strip() for part in text.partition(":"))
    if kind.lower() not in _KINDS and (os.path.isfile(text.strip()) or text.strip().endswith(".beamfits")):
        return _standing(text.strip())
    if kind.lower() not in _KINDS:
        raise Error(
            f"there is no beam {kind!r}; there are {', '.join(_KINDS)}, files of UVBeam (beamfits), and files of "
            "names with $(corr) and $(reim), in single quotes, so that the shell leaves them as they are"
        )
    expected, least, most, make = _KINDS[kind.lower()]
    given = [part.strip() for part in rest.split(",")] if rest else []
    if not least <= len(given) <= most or not all(given):
        raise Error(f"expected {expected}")
    return make(kind.lower(), *given)


def _airy(kind: str, *given: str) -> Maker:
    from rimetree import Beam

    if given:
        beam = Beam.of_dish(*map(_length, given))
        return lambda antenna: beam

    def of(antenna: Antenna) -> AnyBeam:
        if not antenna.diameter_m > 0:
            raise Failed(
                f"--beam airy: antenna {antenna.name} has a diameter of {antenna.diameter_m:g} m in the set; give its "
                'own, as in "airy: 25m"'
            )
        return Beam.of_dish(antenna.diameter_m)

    return of


def _of_width(kind: str, width: str, frequency: str) -> Maker:
    from rimetree import Beam

    beam = Beam(
        kind, ANGLE.with_unit().convert(width, None, None), FREQUENCY.with_unit().convert(frequency, None, None)
    )
    return lambda antenna: beam


def _polynomial(kind: str) -> Maker:
    from rimetree import PolynomialBeam

    beam = PolynomialBeam.of_telescope(kind)
    return lambda antenna: beam


def _meerkat(kind: str) -> Maker:
    """Mauch et al. 2020, ApJ 888, 61, equations 3 and 4."""
    return _of_width("cosine", "57.5arcmin", "1.5GHz")


#: What CASA takes ALMA's dishes as, by their diameters in a set: diameter and blockage (m).
_ALMA_M = {12.0: (10.7, 0.75), 7.0: (6.25, 0.75)}


def _alma(kind: str) -> Maker:
    from rimetree import Beam

    def of(antenna: Antenna) -> AnyBeam:
        known = next((own for given, own in _ALMA_M.items() if abs(antenna.diameter_m - given) < 0.5), None)
        if known is None:
            raise Failed(
                f"--beam alma: antenna {antenna.name} has a diameter of {antenna.diameter_m:g} m in the set; dishes of "
                "ALMA have 12 or 7 m"
            )
        return Beam.of_dish(*known)

    return of


def _pattern(files: str, method: str = "linear") -> Maker:
    from rimetree import BeamPattern
    from rimetree.observing.mounts import STANDING, TURNING

    pattern = BeamPattern.read(files, method=method)

    def of(antenna: Antenna) -> AnyBeam:
        mount = antenna.mount.upper()
        if mount not in TURNING + STANDING:
            raise Failed(
                f"--beam: antenna {antenna.name} has the mount {antenna.mount!r}; how a pattern turns on the sky is "
                f"known of {' and '.join((TURNING[0], *STANDING))}"
            )
        return replace(pattern, site_m=antenna.middle_m if mount in TURNING else None)

    return of


def _standing(file: str) -> Maker:
    from rimetree import StandingPattern

    pattern = StandingPattern.read(file, _SOMEWHERE_M)
    return lambda antenna: replace(pattern, site_m=place_of(antenna))


def _station(kind: str, path: str, element: str = "isotropic", height: str | None = None) -> Maker:
    """Of a layout, or of a telescope model of OSKAR."""
    from rimetree import StationBeam
    from rimetree.beams import oskar_layouts, read_layout

    layouts = oskar_layouts(path) if os.path.isdir(path) else [read_layout(path)]
    how = {"element": element, "height_m": 0.0 if height is None else _length(height)}
    name = os.path.basename(os.path.normpath(path))
    StationBeam.of_elements(layouts[0], axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), **how)  # says what is wrong at once

    def of(antenna: Antenna) -> AnyBeam:
        if len(layouts) > 1 and antenna.number >= len(layouts):
            raise Failed(f"--beam: there are {len(layouts)} stations in {path}, none for antenna {antenna.name}")
        layout = layouts[antenna.number if len(layouts) > 1 else 0]
        return StationBeam.of_elements(layout, place_of(antenna), name=name, **how)

    return of


def _mwa(kind: str) -> Maker:
    """Tiles are alike, and have one horizon."""
    from rimetree import StationBeam

    return lambda antenna: StationBeam.mwa_tile(antenna.middle_m or place_of(antenna))


def _lofar(kind: str) -> Maker:
    from rimetree import lofar_beams

    beams: dict[tuple, list[AnyBeam]] = {}

    def of(antenna: Antenna) -> AnyBeam:
        if not antenna.ms:
            raise Failed("--beam lofar: there is no Measurement Set that says where elements are")
        key = antenna.ms, antenna.field_ids
        if key not in beams:
            beams[key] = lofar_beams(antenna.ms, pointing_rad=antenna.pointing_rad, field_id=antenna.field_ids or None)
        return beams[key][antenna.number]

    return of


def _length(text: str) -> float:
    return LENGTH.with_unit().convert(text, None, None)


#: What is expected, how many values at least and at most, and what makes it.
_KINDS: dict[str, tuple[str, int, int, Callable[..., Maker]]] = {
    "airy": (
        "airy: DIAMETER[, BLOCKAGE], e.g. airy: 25m, 2.5m; airy alone takes the diameters of the set", 0, 2, _airy,
    ),
    "gaussian": ("gaussian: WIDTH, FREQUENCY, e.g. gaussian: 57.5arcmin, 1.5GHz", 2, 2, _of_width),
    "cosine": ("cosine: WIDTH, FREQUENCY, e.g. cosine: 57.5arcmin, 1.5GHz", 2, 2, _of_width),
    "station": (
        "station: LAYOUT[, ELEMENT[, HEIGHT]], e.g. station: layout.txt, half-wave, 0.3m; elements are isotropic, "
        "short or half-wave dipoles", 1, 3, _station,
    ),
    **{name: (f"{name}, without more", 0, 0, _polynomial) for name in ("vla", "evla", "gmrt", "atca")},
    "meerkat": ("meerkat, without more", 0, 0, _meerkat),
    "alma": ("alma, without more", 0, 0, _alma),
    "mwa": ("mwa, without more", 0, 0, _mwa),
    "lofar": ("lofar, without more", 0, 0, _lofar),
}  # fmt: skip
