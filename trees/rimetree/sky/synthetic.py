"""Made-up skies around a phase centre, for examples and benchmarks: the same seed gives the same sky."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arguments import check_fields, checked, random_generator
from .errors import SkyModelError
from .model import SkyModel
from .source import PROFILES, Source


@dataclass(frozen=True)
class SyntheticSky:
    """What the made-up sources are like.

    Attributes
    ----------
    ra_rad, dec_rad : phase centre
    fov_rad : diameter of the field that the sources lie in
    flux_jy : smallest and largest Stokes I, between which counts fall as S^-1.6
    polarised_fraction : part of the sources that have Q, U, V (up to 10 % of I)
    extended_fraction : part of the sources that are no points
    profile : which of the `PROFILES` these are
    major_rad : their smallest and largest major axis; minor ones are 0.3 to 1 of it
    spectral_fraction : part of the sources that have a spectrum (index near -0.7, some curvature)
    ref_freq_hz : reference frequency of the spectra
    seed : of NumPy's default generator
    """

    ra_rad: float = 0.0
    dec_rad: float = math.radians(-30.0)
    fov_rad: float = math.radians(1.0)
    flux_jy: tuple[float, float] = (0.01, 1.0)
    polarised_fraction: float = 0.0
    extended_fraction: float = 0.0
    profile: str = PROFILES[0]
    major_rad: tuple[float, float] = (math.radians(5 / 3600), math.radians(60 / 3600))
    spectral_fraction: float = 0.0
    ref_freq_hz: float = 1.4e9
    seed: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        if self.profile not in PROFILES:
            raise SkyModelError(f"profile must be one of {', '.join(PROFILES)}, not {self.profile!r}")
        for name in ("flux_jy", "major_rad"):
            low, high = getattr(self, name)
            if not 0 < low <= high < math.inf:
                raise SkyModelError(f"{name} must be the smallest and the largest, both above 0, not {low}, {high}")
        for name in ("polarised_fraction", "extended_fraction", "spectral_fraction"):
            if not 0 <= getattr(self, name) <= 1:
                raise SkyModelError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.fov_rad <= 2 * math.pi:
            raise SkyModelError(f"fov_rad must be from 0 to 2 pi, not {self.fov_rad}")


@checked
def random(count: int, sky: SyntheticSky | None = None) -> SkyModel:
    """`count` sources spread evenly over a disc of diameter `fov_rad`; names s0, s1, ..."""
    _require_not_negative("count", count)
    sky = sky or SyntheticSky()
    generator = random_generator(sky.seed)
    # Even over a spherical cap: 1 - cos(distance) is uniform.
    height = 2 * math.sin(sky.fov_rad / 4) ** 2
    distance = 2 * np.arcsin(np.sqrt(generator.random(count) * height / 2))
    bearing = generator.random(count) * 2 * math.pi
    return _populate(sky, generator, distance, bearing)


@checked
def grid(side: int, sky: SyntheticSky | None = None) -> SkyModel:
    """`side` x `side` sources on a square grid of width `fov_rad`; names s0, s1, ... row by row from the south-west."""
    _require_not_negative("side", side)
    sky = sky or SyntheticSky()
    generator = random_generator(sky.seed)
    steps = (np.arange(side) / max(side - 1, 1) - 0.5) * sky.fov_rad if side > 1 else np.zeros(side)
    north, east = np.meshgrid(steps, -steps, indexing="ij")
    return _populate(sky, generator, np.hypot(north, east).ravel(), np.arctan2(east, north).ravel())


def _require_not_negative(name: str, number: int) -> None:
    if number < 0:
        raise SkyModelError(f"{name} must not be negative, but is {number}")


def _populate(sky: SyntheticSky, generator: np.random.Generator, distance: np.ndarray, bearing: np.ndarray) -> SkyModel:
    """Sources at great-circle distances and bearings (north through east, rad, [S]) from the phase centre."""
    count = len(distance)
    # Spherical triangle pole - centre - source; the cosine form is well behaved for declination away from the poles.
    sin_dec = math.sin(sky.dec_rad) * np.cos(distance) + math.cos(sky.dec_rad) * np.sin(distance) * np.cos(bearing)
    dec = np.arcsin(np.clip(sin_dec, -1.0, 1.0))
    ra = sky.ra_rad + np.arctan2(
        np.sin(bearing) * np.sin(distance),
        math.cos(sky.dec_rad) * np.cos(distance) - math.sin(sky.dec_rad) * np.sin(distance) * np.cos(bearing),
    )
    flux = _power_law(generator.random(count), *sky.flux_jy, 1.6)
    share = generator.random((count, 3))
    polarisation = generator.uniform(-0.1, 0.1, (count, 3)) / math.sqrt(3)
    axes = generator.uniform(*sky.major_rad, count)
    ratio_and_angle = generator.random((count, 2))
    spectrum = np.column_stack([generator.normal(-0.7, 0.2, count), generator.normal(0.0, 0.05, count)])
    ra = np.mod(ra, 2 * math.pi)
    sources = []
    for s in range(count):
        polarised = share[s, 0] < sky.polarised_fraction
        extended = share[s, 1] < sky.extended_fraction
        spectral = share[s, 2] < sky.spectral_fraction
        quv = polarisation[s] * flux[s] if polarised else (0.0, 0.0, 0.0)
        minor = axes[s] * (0.3 + 0.7 * ratio_and_angle[s, 0])
        shape = float(axes[s]), float(minor), math.pi * float(ratio_and_angle[s, 1])
        sources.append(
            Source(
                name=f"s{s}",
                ra_rad=float(ra[s]),
                dec_rad=float(dec[s]),
                stokes_jy=(float(flux[s]), *map(float, quv)),
                ref_freq_hz=sky.ref_freq_hz,
                spectrum=tuple(map(float, spectrum[s])) if spectral else (),
                **({sky.profile: shape} if extended else {}),
            )
        )
    return SkyModel(tuple(sources))


def _power_law(uniform: np.ndarray, low: float, high: float, slope: float) -> np.ndarray:
    """Values between `low` and `high` whose density falls as S^-slope (inverse of the cumulative distribution)."""
    power = 1.0 - slope
    return (low**power + uniform * (high**power - low**power)) ** (1.0 / power)
