"""The stations of LOFAR, from what its Measurement Sets say of their elements.

Sources: van Haarlem et al. 2013, A&A 556, A2; Schoenmakers & Renting 2013, LOFAR Measurement Set description (the
sub-table LOFAR_ANTENNA_FIELD).
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from .. import _core
from .._core import Error
from ..arguments import checked
from ..ms.group import chosen_ids
from .station import StationBeam

#: X dipoles point to the south-west, Y dipoles to the south-east.
_X_AZIMUTH_RAD, _Y_AZIMUTH_RAD = math.radians(225), math.radians(135)
#: Height of short dipoles that come nearest to Hamaker's model of high-band elements at 134 MHz (docs/benchmarks).
_HBA_HEIGHT_M = 0.45
#: The same of low-band elements, from 30 to 74 MHz.
_LBA_HEIGHT_M = 1.3


@checked
def lofar_beams(
    ms: str | os.PathLike,
    *,
    pointing_rad: Sequence[float] | None = None,
    field_id: int | Sequence[int] | None = None,
) -> list[StationBeam]:
    """The beam of each antenna of a Measurement Set of LOFAR, in the order of the set.

    Stations and their tiles point to `pointing_rad`, right ascension and declination in the frame of the field, or else
    where the set says that they did in field `field_id`, or in all of several (None: in all of the set). Elements that
    the set flags are left out. Elements of the high band are taken as short dipoles 0.45 m above the ground, those of
    the low band as short dipoles 1.3 m above it. Raises `Error` where the set does not say what is needed.
    """
    path = os.fspath(ms)
    found = _core.read_antenna_fields(path)
    station_rad, tile_rad = pointing_rad, None
    if pointing_rad is None:
        fields = chosen_ids(field_id)
        station_rad = _only(found["station_directions_rad"], fields, path)
        tile_rad = _only(found["tile_directions_rad"], fields, path) if found["tile_directions_rad"] else None
    beams = []
    for number in range(found["n_antenna"]):
        fields = [field for field in found["fields"] if field["antenna_id"] == number]
        if not fields:
            raise Error(f"{path} does not say where the elements of antenna {number} are")
        beam = _beam(fields, f"{path}, antenna {number}", station_rad)
        if len(beam.tile_elements_m) and tile_rad is not None and tuple(tile_rad) != tuple(station_rad):
            beam = replace(beam, tile_pointing_rad=tuple(tile_rad))
        beams.append(beam)
    return beams


def _beam(fields: list[dict], where: str, pointing_rad: Sequence[float]) -> StationBeam:
    """That of an antenna of one or more fields of elements."""
    axes, tiles = (np.reshape(fields[0][key], (-1, 3)) for key in ("axes", "tile_elements_m"))
    for field in fields[1:]:
        if field["axes"] != fields[0]["axes"] or field["tile_elements_m"] != fields[0]["tile_elements_m"]:
            raise Error(f"{where}: its fields {fields[0]['name']} and {field['name']} differ in axes or tiles")
    is_hba = fields[0]["name"].startswith("HBA")
    weights = 1.0 - np.concatenate([np.reshape(field["is_dead"], (-1, 2)) for field in fields]).T
    if not weights.any(axis=1).all():
        raise Error(f"{where}: all elements of a polarisation are flagged")
    used = weights.any(axis=0)
    elements = np.concatenate([np.reshape(field["elements_m"], (-1, 3)) for field in fields])[used]
    return StationBeam.of_elements(
        elements @ axes.T,
        axes=axes,
        element="short",
        height_m=_HBA_HEIGHT_M if is_hba else _LBA_HEIGHT_M,
        x_azimuth_rad=_X_AZIMUTH_RAD,
        y_azimuth_rad=_Y_AZIMUTH_RAD,
        tile_elements_m=tiles @ axes.T if len(tiles) else None,
        weights=weights[:, used],
        pointing_rad=pointing_rad,
        name="LOFAR HBA station" if is_hba else "LOFAR LBA station",
    )


def _only(directions_rad: list[list[float]], fields: Collection[int] | None, path: str) -> list[float]:
    """The direction that these fields of a set have; None: all."""
    known = range(len(directions_rad))
    wanted = sorted(known if fields is None else fields)
    if not wanted or not set(wanted) <= set(known):
        raise Error(f"{path} does not say where the beams of field {', '.join(map(str, wanted))} point (pointing_rad)")
    first = directions_rad[wanted[0]]
    if others := [field for field in wanted if directions_rad[field] != first]:
        raise Error(
            f"{path}: beams of fields {wanted[0]} and {others[0]} point to different places; take one field (field_id; "
            "--field), or say where beams point (pointing_rad; --pointing)"
        )
    return first
