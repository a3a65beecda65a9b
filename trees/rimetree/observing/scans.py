"""Which field an observation that is made looks at, and for how long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..arguments import check_fields
from ..directions import require_direction

_MAX_TIMES = 10_000_000


@dataclass(frozen=True)
class Scan:
    """Part of an observation: the direction it looks to (right ascension and declination), for how long, and the
    field's name (else from the direction). Scans of the same name must have the same direction: they are one field."""

    phase_centre_rad: Sequence[float]
    duration_s: float
    field_name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        require_direction("phase_centre_rad", self.phase_centre_rad)
        if not (math.isfinite(self.duration_s) and self.duration_s > 0):
            raise Error(f"duration_s is {self.duration_s:g} s; it must be positive")

    @property
    def centre(self) -> NDArray[np.float64]:
        return np.array(self.phase_centre_rad, dtype=float)

    @property
    def name(self) -> str:
        """ "J0954+1743" where none is given."""
        # Names are cut, not rounded; but 2h59m59.9999999s is what 3h becomes in radians.
        minutes = int(math.degrees(self.centre[0] % (2 * math.pi)) * 4 + 1e-6) % 1440
        arcmin = int(abs(math.degrees(self.centre[1])) * 60 + 1e-6)
        sign = "-" if self.centre[1] < 0 else "+"
        found = f"J{minutes // 60:02d}{minutes % 60:02d}{sign}{arcmin // 60:02d}{arcmin % 60:02d}"
        return self.field_name or found

    def n_time(self, integration_s: float) -> int:
        """Time slots that fit whole."""
        found = math.floor(self.duration_s / integration_s * (1 + 1e-12))
        if not 1 <= found <= _MAX_TIMES:
            raise Error(
                f"{self.duration_s:g} s hold {found} integrations of {integration_s:g} s; expected 1 to {_MAX_TIMES}"
            )
        return found


def fields_of(scans: Sequence[Scan]) -> tuple[list[Scan], list[int]]:
    """The first scan of each field, and for each scan the number of its field. Raises `Error` where scans of one name
    have different directions."""
    fields: dict[str, Scan] = {}
    for scan in scans:
        first = fields.setdefault(scan.name, scan)
        if not np.array_equal(first.centre, scan.centre):
            raise Error(f"two scans of the field {scan.name} have different directions; give them different names")
    names = list(fields)
    return list(fields.values()), [names.index(scan.name) for scan in scans]
