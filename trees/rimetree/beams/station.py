"""Beams of stations: aperture arrays whose elements are added in phase towards a place on the sky.

Sources: van Haarlem et al. 2013, A&A 556, A2 (LOFAR: stations of tiles of elements); Tingay et al. 2013, PASA 30, e007
(MWA: tiles of 4 x 4 dipoles, 1.1 m apart); Sokolowski et al. 2017, PASA 34, e062 (their height above the ground).
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import nodes as rt
from .._core import Error
from ..arguments import check_fields, checked
from ..observing.mounts import horizon, require_place
from ..writing.scope import NodeDef, NodeScope, NodeStub
from .place import Place, drift_frame, drifting, horizon_nodes, pointing_text, require_pointings

ELEMENTS = ("isotropic", *rt.choices_of("CrossedDipoles", "length"))
_MWA_SPACING_M, _MWA_HEIGHT_M = 1.1, 0.278


@dataclass(frozen=True)
class StationBeam:
    """The Jones matrix of a station: elements that are alike, added in phase at each frequency.

    Attributes
    ----------
    name : for reports
    element : "isotropic", or pairs of dipoles that are "short" or "half-wave"
    height_m : of dipoles above a ground that reflects; 0: there is none
    x_azimuth_rad, y_azimuth_rad : where the dipoles of X and Y point, from north through east
    pointing_rad : (ra, dec) that the beam follows, in the frame of the sky's positions; None: the phase centre
    azel_rad : azimuth (from north through east) and elevation of a beam that stands, through which the sky drifts
    tile_pointing_rad : where the beams of tiles follow the sky; None: where that of the station points
    fingerprint : of the arrays
    axes : [3,3], unit vectors (ITRF) to the station's east, north and zenith; dipoles are level, as the first two
    elements_m : [element,3] to the east, the north and the zenith, from the position of the antenna
    tile_elements_m : [element,3], where elements are tiles, the elements of each, from its middle; else empty
    weights : [2,element], what each element counts for X and for Y

    The response is 1 where the beam points but for the dipoles, which are foreshortened there, and turn with the Earth:
    visibilities are those of the dipoles as they stand. Below the horizon nothing is seen.
    """

    name: str
    element: str
    height_m: float = 0.0
    x_azimuth_rad: float = math.pi / 2
    y_azimuth_rad: float = 0.0
    pointing_rad: tuple[float, float] | None = None
    azel_rad: tuple[float, float] | None = None
    tile_pointing_rad: tuple[float, float] | None = None
    axes: NDArray[np.float64] = field(compare=False, repr=False, default_factory=lambda: np.eye(3))
    elements_m: NDArray[np.float64] = field(compare=False, repr=False, default_factory=lambda: np.zeros((1, 3)))
    tile_elements_m: NDArray[np.float64] = field(compare=False, repr=False, default_factory=lambda: np.zeros((0, 3)))
    weights: NDArray[np.float64] = field(compare=False, repr=False, default_factory=lambda: np.ones((2, 1)))
    fingerprint: str = field(init=False, default="")

    def __post_init__(self) -> None:
        check_fields(self)
        arrays = (self.axes, self.elements_m, self.tile_elements_m, self.weights)
        digest = hashlib.sha256()
        for array in map(np.ascontiguousarray, arrays):
            digest.update(str(array.shape).encode() + array.tobytes())
        object.__setattr__(self, "fingerprint", digest.hexdigest()[:16])
        if self.element not in ELEMENTS:
            raise Error(
                f"the element of a station is {', '.join(ELEMENTS[:-1])} or {ELEMENTS[-1]}, not {self.element!r}"
            )
        if not 0 <= self.height_m < math.inf:
            raise Error(f"the height of dipoles above the ground must not be negative, not {self.height_m} m")
        if self.height_m and self.element == "isotropic":
            raise Error("a height above the ground goes with dipoles, not with isotropic elements")
        require_pointings("station", radec_rad=self.pointing_rad, azel_rad=self.azel_rad)
        require_pointings("tile", radec_rad=self.tile_pointing_rad, azel_rad=None)

    @classmethod
    @checked
    def of_elements(
        cls,
        elements_m: NDArray[np.float64],
        site_m: Sequence[float] | None = None,
        *,
        element: str = "isotropic",
        height_m: float = 0.0,
        x_azimuth_rad: float = math.pi / 2,
        y_azimuth_rad: float = 0.0,
        tile_elements_m: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
        axes: NDArray[np.float64] | None = None,
        pointing_rad: Sequence[float] | None = None,
        name: str = "station",
    ) -> StationBeam:
        """Of elements [element,3], or [element,2] of a level station, to the east, the north and the zenith of the
        antenna, whose position is `site_m` (ITRF), in metres. `weights`: [element], or [2,element] of X and Y; elements
        of weight 0 are dead. `axes`: what stands for east, north and zenith, [3,3] in the ITRF, instead of `site_m`.
        Raises `Error` for what is no station."""
        if (site_m is None) == (axes is None):
            raise Error("a station has a place, site_m, or axes: one of them")
        places = _places(elements_m, "elements_m")
        arrays = {
            "axes": horizon(require_place("site_m", site_m)) if axes is None else _unit_vectors(axes),
            "elements_m": places,
            "tile_elements_m": np.zeros((0, 3)),
            "weights": _weights(np.ones(len(places)) if weights is None else weights, len(places)),
        }
        if tile_elements_m is not None:
            arrays["tile_elements_m"] = _places(tile_elements_m, "tile_elements_m")
        return cls(
            name=name,
            element=element,
            height_m=height_m,
            x_azimuth_rad=x_azimuth_rad,
            y_azimuth_rad=y_azimuth_rad,
            pointing_rad=None if pointing_rad is None else tuple(pointing_rad),
            **arrays,
        )

    @classmethod
    @checked
    def read(cls, file: str | os.PathLike, site_m: Sequence[float], **how) -> StationBeam:
        """Of a file with a line for each element: to the east, the north and, unless the station is level, the zenith,
        in metres, with blanks or commas between them, as OSKAR's `layout.txt` has them; further columns do not count,
        and `#` begins a comment. `how`: further arguments of `of_elements`. Raises `Error` for what is no such file."""
        return cls.of_elements(read_layout(file), site_m, **({"name": os.path.basename(file)} | how))

    @classmethod
    @checked
    def mwa_tile(cls, site_m: Sequence[float], *, pointing_rad: Sequence[float] | None = None) -> StationBeam:
        """A tile of the MWA at a place (ITRF): 4 x 4 short dipoles, 1.1 m apart and 0.278 m above the ground."""
        steps = _MWA_SPACING_M * (np.arange(4) - 1.5)
        places = [(east, north) for north in steps[::-1] for east in steps]
        return cls.of_elements(
            places, site_m, element="short", height_m=_MWA_HEIGHT_M, pointing_rad=pointing_rad, name="MWA tile"
        )

    @property
    def feed(self) -> str | None:
        """What feeds it has; None: it is the same for all."""
        return None if self.is_scalar else "linear"

    @property
    def is_real(self) -> bool:
        """Whether what it does to signals are real numbers."""
        return False

    @property
    def is_scalar(self) -> bool:
        """Whether it does the same to all polarisations."""
        return self.element == "isotropic" and bool((self.weights[0] == self.weights[1]).all())

    @property
    def feeds_stand(self) -> bool:
        """Whether X and Y stand on the ground, and do not follow the sky."""
        return self.element != "isotropic"

    varies_in_time: ClassVar[bool] = True

    @property
    def follows_phase_centre(self) -> bool:
        """Whether it points there, wherever that is."""
        return self.pointing_rad is None and self.azel_rad is None

    def jones(self, ns: NodeScope, k: int, place: Place) -> NodeDef:
        """[S], or [S,2,2] where it is not scalar. Writes nodes of the k-th beam of a scope."""
        ns.horizon(k) << horizon_nodes(place.centre, self.axes)
        factors = self._array_factors(ns, k, place)
        if self.is_scalar:
            return rt.MatrixMultiply(factors[0], 1.0)
        dipoles = place.unit()
        if self.element != "isotropic":
            dipoles = ns.dipoles(k) << rt.CrossedDipoles(
                place.lmn,
                place.centre,
                ns.horizon(k),
                x_azimuth_rad=self.x_azimuth_rad,
                y_azimuth_rad=self.y_azimuth_rad,
                length=self.element,
                height_m=self.height_m,
            )
        if len(factors) == 1:
            return rt.MatrixMultiply(factors[0], dipoles)
        x_only, y_only = rt.Constant(np.diag([1.0, 0.0])), rt.Constant(np.diag([0.0, 1.0]))
        return rt.MatrixMultiply(factors[0], x_only, dipoles) + rt.MatrixMultiply(factors[1], y_only, dipoles)

    def pointed_at(self, radec_rad: Sequence[float]) -> StationBeam:
        """The same, towards another place of the sky, tiles and all."""
        return replace(self, pointing_rad=radec_rad, azel_rad=None, tile_pointing_rad=None)

    def standing_at(self, azel_rad: Sequence[float], site_m: Sequence[float] | None = None) -> StationBeam:
        """The same with a beam that stands at this azimuth and elevation, tiles and all."""
        return replace(self, pointing_rad=None, azel_rad=azel_rad, tile_pointing_rad=None)

    def _array_factors(self, ns: NodeScope, k: int, place: Place) -> list[NodeStub]:
        """[S] of X and of Y, or of both where elements count for both alike."""
        lmn, zenith = place.lmn, ns.horizon(k)
        if self.azel_rad is not None:
            lmn, zenith = drifting(ns, k, place, zenith, self.azel_rad), rt.Constant(drift_frame(self.azel_rad).T)
        tiles = self._tiles(ns, k, place, lmn, zenith)
        alike = bool((self.weights[0] == self.weights[1]).all())
        factors = []
        for row, weights in enumerate(self.weights[:1] if alike else self.weights):
            factor = rt.ArrayFactor(lmn, zenith, self.elements_m, weights / weights.sum())
            factors.append(ns.array_factor(k, row) << (factor if tiles is None else factor * tiles))
        return factors

    def _tiles(self, ns: NodeScope, k: int, place: Place, lmn, zenith) -> NodeStub | None:
        """[S]: what the beamformers of tiles leave; None where elements are not tiles."""
        if not len(self.tile_elements_m):
            return None
        if self.tile_pointing_rad is not None:
            centre = rt.Constant(self.tile_pointing_rad)
            lmn = ns.tile_lmn(k) << rt.LMN(place.radec, centre)
            zenith = ns.tile_horizon(k) << horizon_nodes(centre, self.axes)
        return ns.tile_factor(k) << rt.ArrayFactor(lmn, zenith, self.tile_elements_m)

    @property
    def description(self) -> str:
        """What stations have in common whose elements are at other places."""
        pointing = pointing_text(self.pointing_rad, self.azel_rad)
        tiles = f"tiles of {len(self.tile_elements_m)} " if len(self.tile_elements_m) else ""
        kind = "isotropic elements" if self.element == "isotropic" else f"{self.element} dipoles"
        height = f" {self.height_m:.4g} m above the ground" if self.height_m else ""
        return f"{self.name} of {tiles}{kind}{height}{pointing}"

    def __str__(self) -> str:
        """As a report says it, with the beginning of the fingerprint."""
        parts = "tiles" if len(self.tile_elements_m) else "elements"
        return f"{self.description} ({len(self.elements_m)} {parts}, {self.fingerprint[:8]})"


def read_layout(file: str | os.PathLike) -> NDArray[np.float64]:
    """[element,3] from a file as `StationBeam.read` takes it, in metres."""
    try:
        with open(file, encoding="utf-8") as lines:
            rows = [line.split("#")[0].replace(",", " ").split() for line in lines]
    except (OSError, UnicodeDecodeError) as problem:
        raise Error(f"{file}: no layout of a station that can be read: {problem}") from problem
    places = []
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        try:
            place = [float(text) for text in row[:3]]
        except ValueError:
            place = []
        if len(place) < 2 or not all(map(math.isfinite, place)):
            raise Error(f"{file}, line {number}: expected where an element is, in metres: east, north[, zenith]")
        places.append([*place, 0.0][:3])
    if not places:
        raise Error(f"{file}: there are no elements in it")
    return np.array(places)


def _places(given: ArrayLike, name: str) -> NDArray[np.float64]:
    places = np.asarray(given, dtype=float)
    if places.ndim != 2 or places.shape[1] not in (2, 3) or not len(places) or not np.isfinite(places).all():
        raise Error(f"{name} must be [element,3] or [element,2] finite numbers, not an array of shape {places.shape}")
    return np.pad(places, ((0, 0), (0, 3 - places.shape[1])))


def _weights(given: ArrayLike, n: int) -> NDArray[np.float64]:
    """[2,element]"""
    weights = np.asarray(given, dtype=float)
    if weights.shape not in ((n,), (2, n)) or not np.isfinite(weights).all():
        raise Error(f"weights of a station of {n} elements must be [{n}] or [2,{n}] numbers, not {weights.shape}")
    weights = np.broadcast_to(weights, (2, n))
    if not (weights.sum(axis=1) != 0).all():
        raise Error("the weights of a station's elements add up to 0")
    return weights


def _unit_vectors(given: ArrayLike) -> NDArray[np.float64]:
    axes = np.asarray(given, dtype=float)
    if axes.shape != (3, 3) or not np.allclose(axes @ axes.T, np.eye(3), atol=1e-3):
        raise Error("axes of a station must be three unit vectors, at right angles")
    return axes
