"""A telescope as data: where its antennas stand, what they are like, and what it usually observes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_fields
from ..placed_error import PlacedError

if TYPE_CHECKING:  # importing astropy's coordinates takes half a second, which only locations need
    from astropy.coordinates import EarthLocation

MOUNTS = ("ALT-AZ", "EQUATORIAL", "X-Y", "FIXED", "ALT-AZ+NASMYTH-R", "ALT-AZ+NASMYTH-L", "ALT-AZ+ROTATOR")
FEEDS = ("linear", "circular")

# Antennas stand on the Earth: between its polar radius less the deepest land and the equatorial one plus the highest.
_RADIUS_M = (6.35e6, 6.39e6)


class TelescopeError(PlacedError):
    """A telescope that is not known or whose file is wrong."""


@dataclass(frozen=True, eq=False)
class Telescope:
    """An array of antennas; A is their number.

    Attributes
    ----------
    name : the name it is got by
    antenna_names : distinct, not empty
    ecef_m : [A,3] geocentric positions (ITRF)
    dish_diameter_m : [A] dish or station diameters
    mount : one of `MOUNTS`, as in a Measurement Set's ANTENNA table, or [A] that of each antenna
    feed : "linear" or "circular"
    band_centre_hz, band_width_hz : a usual observing band, as a default for simulations
    observatory : name of the observatory, as in a Measurement Set's OBSERVATION table
    description, source : what it is, and where the positions come from

    Raises `TelescopeError` where shapes, names or numbers are wrong.
    """

    name: str
    antenna_names: tuple[str, ...]
    ecef_m: NDArray[np.float64]
    dish_diameter_m: NDArray[np.float64]
    mount: str | tuple[str, ...] = "ALT-AZ"
    feed: str = "linear"
    band_centre_hz: float = 1.4e9
    band_width_hz: float = 2.56e8
    observatory: str = ""
    description: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check_fields(self, TelescopeError)
        object.__setattr__(self, "antenna_names", tuple(self.antenna_names))
        object.__setattr__(self, "observatory", self.observatory or self.name)
        for field in ("ecef_m", "dish_diameter_m"):
            array = np.array(getattr(self, field), dtype=np.float64)
            array.flags.writeable = False
            object.__setattr__(self, field, array)
        self._check()

    def _check(self) -> None:
        count = len(self.antenna_names)
        if count == 0:
            raise TelescopeError(f"telescope {self.name!r} has no antennas")
        if self.ecef_m.shape != (count, 3) or self.dish_diameter_m.shape != (count,):
            raise TelescopeError(
                f"telescope {self.name!r}: ecef_m {self.ecef_m.shape} and dish_diameter_m {self.dish_diameter_m.shape} "
                f"do not fit {count} antenna names; expected ({count}, 3) and ({count},)"
            )
        seen: set[str] = set()
        for index, name in enumerate(self.antenna_names):
            if not name or name in seen:
                raise TelescopeError(
                    f"telescope {self.name!r}: antenna {index} has no name or a repeated one: {name!r}"
                )
            seen.add(name)
            check_antenna(self.ecef_m[index], float(self.dish_diameter_m[index]), name)
        if len(self.mounts) != count:
            raise TelescopeError(f"telescope {self.name!r}: {len(self.mounts)} mounts do not fit {count} antenna names")
        if unknown := [mount for mount in self.mounts if mount not in MOUNTS]:
            raise TelescopeError(f"telescope {self.name!r}: mount {unknown[0]!r} is not one of {', '.join(MOUNTS)}")
        if self.feed not in FEEDS:
            raise TelescopeError(f"telescope {self.name!r}: feed {self.feed!r} is not one of {', '.join(FEEDS)}")
        if not (0 < self.band_width_hz < 2 * self.band_centre_hz < np.inf):
            raise TelescopeError(
                f"telescope {self.name!r}: a band of {self.band_width_hz:g} Hz around {self.band_centre_hz:g} Hz "
                "is not positive"
            )

    def __len__(self) -> int:
        return len(self.antenna_names)

    def __repr__(self) -> str:
        return f"<Telescope {self.name!r}: {len(self)} antennas, {self.longest_baseline_m:.0f} m>"

    @property
    def mounts(self) -> tuple[str, ...]:
        """[A] the mount of each antenna."""
        return (self.mount,) * len(self.antenna_names) if isinstance(self.mount, str) else self.mount

    @property
    def centre_ecef_m(self) -> NDArray[np.float64]:
        """[3] position of the antenna nearest to the median of the positions: on the ground, and in the core."""
        median = np.median(self.ecef_m, axis=0)
        return self.ecef_m[np.argmin(((self.ecef_m - median) ** 2).sum(axis=-1))]

    @property
    def location(self) -> EarthLocation:
        """The centre of the array (`centre_ecef_m`), as astropy wants it."""
        from astropy.coordinates import EarthLocation

        return EarthLocation.from_geocentric(*self.centre_ecef_m, unit="m")

    @property
    def antenna_locations(self) -> EarthLocation:
        """[A] the positions, as astropy wants them."""
        from astropy.coordinates import EarthLocation

        return EarthLocation.from_geocentric(*self.ecef_m.T, unit="m")

    @property
    def longitude_rad(self) -> float:
        """Geodetic (WGS84) longitude of the centre, east positive."""
        return float(self.location.lon.rad)

    @property
    def latitude_rad(self) -> float:
        """Geodetic (WGS84) latitude of the centre."""
        return float(self.location.lat.rad)

    @property
    def longest_baseline_m(self) -> float:
        """Length of the longest baseline."""
        difference = self.ecef_m[:, None, :] - self.ecef_m[None, :, :]
        return float(np.sqrt((difference**2).sum(axis=-1).max()))


def check_antenna(ecef_m: NDArray[np.float64], diameter_m: float, name: str) -> None:
    """Raise `TelescopeError` where a position [3] is not one on the Earth, or a diameter not positive and finite."""
    radius = float(np.sqrt((ecef_m**2).sum()))
    if not _RADIUS_M[0] <= radius <= _RADIUS_M[1]:
        raise TelescopeError(
            f"antenna {name!r} is {radius:.6g} m from the Earth's centre, which is not on the Earth; "
            "positions are geocentric (ITRF) x, y, z in metres, not local east, north, up"
        )
    if not 0 < diameter_m < 1e4:
        raise TelescopeError(f"antenna {name!r} has a diameter of {diameter_m:g} m, expected a positive number")
