"""A turbulent screen above the array: electrons, or water vapour, that lines of sight cross.

Values are a normally distributed field with the spectrum of von Karman, P(k) ~ (k^2 + k0^2)^(-11/6) with
k0 = 2 pi / outer scale: structures much smaller than the outer scale follow Kolmogorov's law, by which the mean square
of a difference grows with distance^(5/3). The field does not change but moves with the wind (Taylor's hypothesis). A
line of sight crosses the screen at one height, and takes its value times the length of its way through a layer,
1/cos(zenith angle there).

Sources: Tatarskii 1961, Wave Propagation in a Turbulent Medium; Carilli & Holdaway 1999, Radio Science 34, 817 (water
vapour, outer scale of 6 km); Intema et al. 2009, A&A 501, 1185; Mevius et al. 2016, Radio Science 51, 927 (electrons).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._core import SPEED_OF_LIGHT_M_S
from ...arguments import check_fields
from ...observing.mounts import horizon
from ...predict import predict
from ..errors import CalibrationError

Float64Array = NDArray[np.float64]

_EXPONENT = -11 / 6
_WAVES = 4096
_LONGEST = 30.0  # wave, in outer scales
_SHORTEST_M = 0.1
_EPOCH_S = 5.2e9  # MJD: any, but the same for all sets, so that they see the same screen
_ROWS = 1 << 18  # that are summed at once
_WIDEST = 0.5  # direction cosine that stands for the shortest wave


@dataclass(frozen=True)
class Screen:
    """Values in the unit of a quantity: `spread` is the root mean square of the difference between vertical lines of
    sight `at_m` apart. `towards_rad`: azimuth (from north through east) that the wind blows to; None: any."""

    height_m: float
    outer_m: float
    wind_m_s: float
    spread: float = 0.0
    at_m: float = 1.0
    towards_rad: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, CalibrationError)
        if not (self.height_m > 0 and self.outer_m > 0 and self.at_m > 0):
            raise CalibrationError("a screen has a height, an outer scale and a distance that are positive")


_WATER_VAPOUR = Screen(height_m=1e3, outer_m=6e3, wind_m_s=10.0)
#: {kind of term: where a screen is, and how it moves, if nothing else is said}.
USUAL_SCREENS = {
    "tec": Screen(height_m=300e3, outer_m=1000e3, wind_m_s=100.0),
    "delay": _WATER_VAPOUR,
    "phase": _WATER_VAPOUR,
}


def crossings(xyz_m: Float64Array, towards: Float64Array, height_m: float) -> tuple[Float64Array, Float64Array]:
    """Where lines of sight cross a sphere `height_m` above their antenna: [..., 3] (ITRF, m), and 1/cos of their angles
    to its normal there [...]. `xyz_m`: antennas [..., 3]; `towards`: unit vectors [..., 3]; both broadcast."""
    radius_m = np.linalg.norm(xyz_m, axis=-1) + height_m
    along = (xyz_m * towards).sum(axis=-1)
    way_m = np.sqrt(along**2 + radius_m**2 - (xyz_m**2).sum(axis=-1)) - along
    places = xyz_m + way_m[..., None] * towards
    return places, radius_m / (way_m + along)


def over_ground(places_m: Float64Array, centre_m: Float64Array) -> Float64Array:
    """[..., (east, north)] of places [..., 3] (ITRF), m: as far from the zenith of `centre_m` as along a sphere around
    the middle of the Earth, in the direction in which they lie from there."""
    east, north, up = horizon(centre_m)
    radius_m = np.linalg.norm(places_m, axis=-1)
    aside = np.stack([places_m @ east, places_m @ north], axis=-1) / radius_m[..., None]
    sine = np.linalg.norm(aside, axis=-1)
    angle = np.arctan2(sine, places_m @ up / radius_m)
    return aside * (radius_m * angle / np.where(sine > 0, sine, 1.0))[..., None]


def screen_values(
    screen: Screen, places_m: Float64Array, time_s: Float64Array, random: np.random.Generator
) -> Float64Array:
    """[time, ...] values of a screen at places [time, ..., (east, north)] on it, m."""
    towards_rad = random.uniform(0, 2 * math.pi) if screen.towards_rad is None else screen.towards_rad
    wind_m_s = screen.wind_m_s * np.array([math.sin(towards_rad), math.cos(towards_rad)])
    since_s = (time_s - _EPOCH_S).reshape(-1, *[1] * (places_m.ndim - 1))
    waves, variance = _waves(screen, random)
    scale = screen.spread / math.sqrt(_structure(waves, variance, screen.at_m))
    parts = random.normal(size=(2, len(waves))) * np.sqrt(variance) * scale
    return _sum_of_waves(waves, parts, places_m - since_s * wind_m_s)


def _waves(screen: Screen, random: np.random.Generator) -> tuple[Float64Array, Float64Array]:
    """Wave vectors [wave, 2] (rad/m) in all directions, of lengths that are even in their logarithm, and the variance
    of the field that each stands for, but for a factor."""
    lowest = 2 * math.pi / (_LONGEST * screen.outer_m)
    highest = 2 * math.pi / min(_SHORTEST_M, 0.1 * screen.at_m, 0.01 * screen.outer_m)
    places = (np.arange(_WAVES) + random.uniform(size=_WAVES)) / _WAVES
    k = lowest * (highest / lowest) ** places
    angle = random.uniform(0, 2 * math.pi, _WAVES)
    variance = k**2 * (k**2 + (2 * math.pi / screen.outer_m) ** 2) ** _EXPONENT
    return k[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1), variance


def _structure(waves: Float64Array, variance: Float64Array, distance_m: float) -> float:
    """Mean square of the difference of values so far apart, in all directions."""
    turn = np.linalg.norm(waves, axis=-1) * distance_m
    slow = turn < 100  # faster ones are, in the mean over directions, as if they were independent
    directions = np.cos(2 * math.pi * (np.arange(256) + 0.5) / 256)
    mean = np.zeros(len(turn))
    mean[slow] = np.cos(turn[slow, None] * directions).mean(axis=-1)
    return float(2 * (variance * (1 - mean)).sum())


def _sum_of_waves(waves: Float64Array, parts: Float64Array, places_m: Float64Array) -> Float64Array:
    """[...] sums over waves of parts[0] cos(k x) + parts[1] sin(k x). A plane wave along the ground is to a place what
    a source is to a baseline, so that this is what PSV computes, of signed fluxes: I and Q are the two parts."""
    stretch = np.linalg.norm(waves, axis=-1).max() / (2 * math.pi * _WIDEST)
    direction = waves / (2 * math.pi * stretch)
    lmn = np.column_stack([direction, np.sqrt(1 - (direction**2).sum(axis=-1))])
    stokes = np.zeros((len(waves), 4))
    stokes[:, :2] = parts.T
    places = places_m.reshape(-1, 2) * stretch
    found = np.empty(len(places))
    for begin in range(0, len(places), _ROWS):
        own = slice(begin, begin + _ROWS)
        rows = np.column_stack([places[own], np.zeros(len(places[own]))])
        seen = predict(rows, [SPEED_OF_LIGHT_M_S], lmn, stokes)[:, 0]  # at a wavelength of 1 m
        i, q = 0.5 * (seen[:, 0, 0] + seen[:, 1, 1]), 0.5 * (seen[:, 0, 0] - seen[:, 1, 1])
        found[own] = i.real + q.imag
    return found.reshape(places_m.shape[:-1])
