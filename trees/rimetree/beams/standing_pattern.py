"""Voltage patterns of antennas that stand, from the FITS files of pyuvdata's UVBeam ("beamfits"): electric far fields
on a grid of azimuth and zenith angle, as those of HERA's dishes and of single dipoles.

A file says what each feed answers to fields along two vectors in each direction. Here that becomes a pair of vectors
which, unlike azimuth and zenith angle, are smooth at the zenith: of the dipoles to the north and to the east that are
met by turning about the zenith, down along the great circle, and back (Ludwig's third definition).

Source: pyuvdata 3.2, docs/references/beamfits_memo (the format) and `UVBeam` (its conventions); Ludwig 1973, IEEE
Trans. AP 21, 116.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import Error
from ..arguments import check_fields, checked
from ..observing.mounts import horizon, require_place
from ..writing.scope import NodeDef, NodeScope, NodeStub
from .axis import Axis
from .place import Place, horizon_nodes
from .uvbeam import FarField, read_beamfits

_OVERLAP = 3  # columns of the grid that come twice, as it goes around
_QUARTER_TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


@dataclass(frozen=True)
class StandingPattern:
    """Jones matrices of an antenna that stands, on a grid of frequencies, zenith angles and azimuths; between them they
    are interpolated, by cubics.

    Attributes
    ----------
    name : of the file that it is from
    frequency, zenith_angle, azimuth : the axes; azimuths are from east through north, and overlap
    site_m : where it stands (ITRF); antennas of a compact array have one horizon
    fingerprint : of the numbers
    table : [frequency,zenith angle,azimuth,2,2], what X and Y answer to fields of Ludwig's third definition, to the
        north and to the east

    Below the horizon nothing is seen. Beyond the first and the last frequency the pattern is that of these.
    Visibilities are those of the feeds as they stand: nothing is turned back by the parallactic angle.
    """

    name: str
    frequency: Axis
    zenith_angle: Axis
    azimuth: Axis
    site_m: tuple[float, float, float]
    fingerprint: str
    table: NDArray[np.complex128] = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        require_place("site_m", self.site_m)

    @classmethod
    @checked
    def read(cls, file: str | os.PathLike, site_m: Sequence[float]) -> StandingPattern:
        """From a file. If it says "physical", what X or Y get of an unpolarised source is made 1 at each frequency in
        the direction in which that is largest. Raises `Error` for what is no such file, and for beams that are powers,
        in pixels, or of antennas that turn."""
        found = read_beamfits(file)
        table, zenith_angle = _through_zenith(_smooth(found), found.zenith_angle)
        table, azimuth = _around(table, found.azimuth)
        digest = hashlib.sha256(np.ascontiguousarray(table)).hexdigest()[:16]
        axes = (found.frequency, zenith_angle, azimuth)
        return cls(os.fspath(file), *axes, tuple(site_m), digest, table)

    #: A matrix of complex numbers, of X and Y.
    feed: ClassVar[str] = "linear"
    is_real: ClassVar[bool] = False
    is_scalar: ClassVar[bool] = False
    #: On the ground, and do not follow the sky.
    feeds_stand: ClassVar[bool] = True
    varies_in_time: ClassVar[bool] = True
    #: It points nowhere on the sky.
    pointing_rad: ClassVar[None] = None
    follows_phase_centre: ClassVar[bool] = False

    def jones(self, ns: NodeScope, k: int, place: Place) -> NodeDef:
        """[S,2,2]. Writes nodes of the k-th beam of a scope."""
        frame = ns.horizon(k) << horizon_nodes(place.centre, horizon(self.site_m))
        ns.level(k) << rt.MatrixMultiply(place.lmn, rt.Transpose(frame))  # to the east, the north and the zenith
        east, north, up = (ns.level(k)[:, axis] for axis in range(3))
        azimuth = rt.Atan2(north, east)
        zenith_angle = rt.Atan2(rt.Sqrt(rt.Sqr(east) + rt.Sqr(north)), up)
        return rt.MatrixMultiply(
            self._looked_up(ns, zenith_angle, azimuth, place.n_source), self._turn(ns, k, place, up)
        )

    def _turn(self, ns: NodeScope, k: int, place: Place, up: NodeDef) -> NodeStub:
        """[S,2,2]: from fields to the north and to the east on the sky to those of Ludwig's third definition; 0 below
        the horizon.

        On the ground both are shortened alike: a short dipole's Jones matrix is this rotation times a symmetric matrix
        of the eigenvalues 1 and cos z, and with the matrix of cofactors it is (1 + cos z) times the rotation.
        """
        dipoles = ns.short_dipoles(k) << rt.CrossedDipoles(
            place.lmn, place.centre, ns.horizon(k), x_azimuth_rad=0.0, y_azimuth_rad=math.pi / 2
        )
        cofactors = rt.MatrixMultiply(_QUARTER_TURN, dipoles, _QUARTER_TURN.T)
        return ns.turn(k) << rt.MatrixMultiply(1.0 / (1.0 + rt.Abs(up)), dipoles + cofactors)

    def _looked_up(self, ns: NodeScope, zenith_angle, azimuth, n_source: int) -> NodeDef:
        table = ns.pattern(self.fingerprint)
        if not table.initialized():  # once for all antennas that have it
            values = self.table.reshape(*self.table.shape[:3], 4)
            table << rt.Constant(values if self.frequency.count > 1 else values[0])
        places = [self.zenith_angle.steps(zenith_angle), self.azimuth.steps(azimuth)]
        if self.frequency.count > 1:
            places.insert(0, self.frequency.steps(rt.Freq()))
        found = rt.Interpolate(table, *places, outside="edge", method="cubic")
        return rt.Composer(found, dims=[n_source, 2, 2])

    def reaches(self, low_hz: float, high_hz: float) -> bool:
        """Whether it was given at frequencies around these."""
        return self.frequency.holds(low_hz, high_hz)

    def pointed_at(self, radec_rad: Sequence[float]) -> StandingPattern:
        """Raises `Error`."""
        raise Error("an antenna that stands follows nothing on the sky: its pattern cannot be pointed there")

    def standing_at(self, azel_rad: Sequence[float], site_m: Sequence[float]) -> StandingPattern:
        """Itself, of antennas that point to the zenith; raises `Error` for others."""
        if not abs(azel_rad[1] - math.pi / 2) < 1e-6:
            raise Error("the pattern says itself how the antenna stands, in azimuth and zenith angle: give no other")
        return self

    def __str__(self) -> str:
        """As a report says it, with the beginning of the fingerprint."""
        return f"standing pattern {os.path.basename(self.name)} ({self.fingerprint[:8]})"


def _smooth(found: FarField) -> NDArray[np.complex128]:
    """[frequency,zenith angle,azimuth,2,2]: what feeds answer to fields of Ludwig's third definition."""
    azimuth = found.azimuth.first + found.azimuth.step * np.arange(found.azimuth.count)
    cosine, sine = np.cos(azimuth)[:, None], np.sin(azimuth)[:, None]
    along_azimuth, along_zenith_angle = found.response[..., 0], found.response[..., 1]
    north = cosine * along_azimuth + sine * along_zenith_angle
    east = cosine * along_zenith_angle - sine * along_azimuth
    return np.stack([north, east], axis=-1)


def _through_zenith(table: NDArray[np.complex128], axis: Axis) -> tuple[NDArray[np.complex128], Axis]:
    """With rows on the other side of the zenith, which are those of the opposite azimuths, and without those far below
    the horizon."""
    below = axis.first + axis.step * np.arange(axis.count) > math.pi / 2 + 2.5 * axis.step
    table = table[:, ~below]
    count = table.shape[2]
    if count % 2:
        return table, Axis(axis.first, axis.step, table.shape[1])
    first = 0 if axis.first > 0.25 * axis.step else 1  # at half a step from the zenith, or there
    opposite = np.roll(table[:, first : first + 2], count // 2, axis=2)[:, ::-1]
    n = opposite.shape[1]
    return np.concatenate([opposite, table], axis=1), Axis(axis.first - n * axis.step, axis.step, table.shape[1] + n)


def _around(table: NDArray[np.complex128], axis: Axis) -> tuple[NDArray[np.complex128], Axis]:
    """From a step or more before -180 deg to as much after 180 deg."""
    start = math.floor((-math.pi - axis.first) / axis.step) - 1
    columns = np.arange(start, start + axis.count + 2 * _OVERLAP)
    return table[:, :, columns % axis.count], Axis(axis.first + start * axis.step, axis.step, len(columns))
