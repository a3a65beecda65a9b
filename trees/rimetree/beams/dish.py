"""Power patterns of dishes that are circular."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from .. import nodes as rt
from .._core import SPEED_OF_LIGHT_M_S, Error
from ..arguments import check_fields, checked
from ..observing.mounts import horizon, require_place
from ..units import LOWEST_RADIO_HZ
from ..writing.scope import NodeDef, NodeScope
from .place import Place, drifting, horizon_nodes, pointing_text, require_pointings

PROFILES = rt.choices_of("DishBeam", "profile")
_STEEP = 1e12  # from 0 to 1 at an edge
_AIRY_WIDTH = 1.0289939699621881  # full width at half maximum of (2 J_1(x)/x)^2, in wavelengths over diameter


def positive(value: NodeDef, n_source: int) -> NodeDef:
    """[S]: 1 where a value [S] is positive, else 0."""
    return rt.Min(rt.Max(_STEEP * value, np.zeros(n_source)), np.ones(n_source))


class CircularDish(ABC):
    """A dish with a power pattern that is circular, and alike for all feeds. It follows the sky (`pointing_rad`), or
    stands (`azel_rad`, `site_m`)."""

    #: It is the same for all feeds, a real number.
    feed: ClassVar[str | None] = None
    is_real: ClassVar[bool] = True
    is_scalar: ClassVar[bool] = True
    feeds_stand: ClassVar[bool] = False

    @property
    def varies_in_time(self) -> bool:
        """Whether what it lets through of a place on the sky does."""
        return self.azel_rad is not None

    @property
    def follows_phase_centre(self) -> bool:
        """Whether it points there, wherever that is."""
        return self.pointing_rad is None and self.azel_rad is None

    @abstractmethod
    def voltage(self, lmn, n_source: int) -> NodeDef:
        """[S]: the root of the power towards directions `lmn` [S,3] from where it points."""

    def jones(self, ns: NodeScope, k: int, place: Place) -> NodeDef:
        """[S], real. Writes nodes of the k-th beam of a scope."""
        if self.azel_rad is None:
            return self.voltage(place.lmn, place.n_source)
        ns.horizon(k) << horizon_nodes(place.centre, horizon(self.site_m))
        voltage = self.voltage(drifting(ns, k, place, ns.horizon(k), self.azel_rad), place.n_source)
        up = rt.MatrixMultiply(place.lmn, rt.Transpose(ns.horizon(k)))[:, 2]
        return voltage * positive(up, place.n_source)

    def pointed_at(self, radec_rad: Sequence[float]) -> Self:
        """The same, towards another place of the sky."""
        return replace(self, pointing_rad=radec_rad, azel_rad=None, site_m=None)

    def standing_at(self, azel_rad: Sequence[float], site_m: Sequence[float]) -> Self:
        """The same of a dish that stands there and points to this azimuth and elevation."""
        return replace(self, pointing_rad=None, azel_rad=azel_rad, site_m=site_m)

    def _check_pointing(self) -> None:
        require_pointings("beam", radec_rad=self.pointing_rad, azel_rad=self.azel_rad)
        if (self.azel_rad is None) != (self.site_m is None):
            raise Error("a dish that stands has azel_rad and site_m, others neither")
        if self.site_m is not None:
            require_place("site_m", self.site_m)


@dataclass(frozen=True)
class Beam(CircularDish):
    """The power pattern of a dish, circular, 1 where it points; its square root is that of `DishBeam`.

    Attributes
    ----------
    profile : "gaussian"; "cosine", the field tapered as a cosine to the dish's edge; or "airy", the same field on all
        of the dish
    width_rad : full width at half maximum of the power at the reference frequency (airy: without blockage); widths go
        as 1/frequency
    ref_freq_hz : the reference frequency
    blockage : of airy: diameter of what shadows the middle of the dish, as a part of the dish's
    pointing_rad : (ra, dec) that the dish follows, in the frame of the sky's positions; None: the phase centre
    azel_rad, site_m : of a dish that stands, where it points, azimuth (from north through east) and elevation, and
        where it is (ITRF): the sky drifts through its beam, and is not seen below the horizon

    Raises `Error` for what is no beam.
    """

    profile: str
    width_rad: float
    ref_freq_hz: float
    blockage: float = 0.0
    pointing_rad: tuple[float, float] | None = None
    azel_rad: tuple[float, float] | None = None
    site_m: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.profile not in PROFILES:
            raise Error(f"a beam is {', '.join(PROFILES[:-1])} or {PROFILES[-1]}, not {self.profile!r}")
        if not 0 < self.width_rad <= math.pi:
            raise Error(f"the width of a beam must be more than 0 and at most 180 deg, not {self.width_rad} rad")
        if not 0 < self.ref_freq_hz < math.inf:
            raise Error(f"the frequency of a beam's width must be positive, not {self.ref_freq_hz} Hz")
        if self.profile != "airy" and self.ref_freq_hz < LOWEST_RADIO_HZ:  # of that one it stands for the diameter
            raise Error(
                f"the frequency of a beam's width, {self.ref_freq_hz:g} Hz, is below what reaches the ground; is it in "
                "MHz? Hz is expected"
            )
        if not 0 <= self.blockage < 1:
            raise Error(f"blockage is a part of the dish's diameter, from 0 to below 1, not {self.blockage}")
        if self.blockage and self.profile != "airy":
            raise Error(f"blockage goes with the profile airy, not {self.profile}")
        self._check_pointing()

    @classmethod
    @checked
    def of_dish(
        cls, diameter_m: float, blockage_m: float = 0.0, *, pointing_rad: Sequence[float] | None = None
    ) -> Beam:
        """The Airy pattern of a dish of this diameter, with this much shadowed in its middle."""
        if not 0 < diameter_m < math.inf:
            raise Error(f"the diameter of a dish must be positive, not {diameter_m} m")
        # At the frequency whose wavelength is the diameter.
        return cls(
            "airy",
            _AIRY_WIDTH,
            SPEED_OF_LIGHT_M_S / diameter_m,
            blockage_m / diameter_m,
            None if pointing_rad is None else tuple(pointing_rad),
        )

    def voltage(self, lmn, n_source: int) -> NodeDef:
        """[S]: as of `CircularDish`."""
        return rt.DishBeam(
            lmn, self.width_rad, profile=self.profile, ref_freq_hz=self.ref_freq_hz, blockage=self.blockage
        )

    def __str__(self) -> str:
        """As a report says it: "gaussian beam of 41.6 arcmin at 1400 MHz" """
        blocked = f", {self.blockage:.3g} of its diameter shadowed" if self.blockage else ""
        pointing = pointing_text(self.pointing_rad, self.azel_rad)
        if self.profile == "airy":
            diameter_m = _AIRY_WIDTH / self.width_rad * SPEED_OF_LIGHT_M_S / self.ref_freq_hz
            return f"airy beam of a dish of {diameter_m:.4g} m{blocked}{pointing}"
        width_arcmin = math.degrees(self.width_rad) * 60
        return f"{self.profile} beam of {width_arcmin:.4g} arcmin at {self.ref_freq_hz / 1e6:.6g} MHz{pointing}"
