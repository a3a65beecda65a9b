"""Flux calibrators by their names: points with the spectra of published flux scales.

    sky = rimetree.sky.calibrator("3C286")                        # also "J1331+3030", "1331+305", "3c 286"
    sky = rimetree.sky.calibrator("3C286", scale="Scaife-Heald 2012")

`rimetree.sky.read` and `--sky` take such a name, too: `3C286`, or `3C286, Scaife-Heald 2012`. The names, positions,
spectra and their sources are in data/calibrators.csv. Fluxes are a `FluxTable` of the range of frequencies that a scale
was made for, so that those who use it outside of it are told. On baselines that resolve a source the point is no model;
that takes an image of it.

Only 3C286 is polarised here: its polarisation does not vary. Below 12 GHz it is by formulas (Hugo & Perley 2024,
"Absolute linear polarization angle calibration using planetary bodies for MeerKAT and JVLA", SARAO memo SSA-0004E-001),
above by NRAO's list of 2019 (VLA observing guide, polarimetry; after Perley & Butler 2013, ApJS 206, 16).
"""

from __future__ import annotations

import csv
import difflib
import functools
import math
import os
import re
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from .._core import SPEED_OF_LIGHT_M_S
from ..arguments import checked
from .angles import parse_angle
from .errors import SkyModelError
from .flux_table import FluxTable
from .model import SkyModel
from .source import Source

_STEPS = 1000  # so that power laws between entries are within 1e-6 of the polynomials

#: Of 3C286 above 12 GHz: GHz, per cent, deg.
_ABOVE_12_GHZ = np.array(
    [
        *((14.1, 12.3, 34), (16.6, 12.5, 35), (19.1, 12.6, 35), (25.6, 12.7, 36)),
        *((32.1, 13.1, 36), (37.1, 13.5, 36), (42.1, 13.4, 37), (48.1, 14.6, 36)),
    ]
)


@dataclass(frozen=True)
class Calibrator:
    """A flux calibrator on one flux scale.

    Attributes
    ----------
    names : of the source, the usual one first
    ra_rad, dec_rad : J2000
    scale : of fluxes, as its authors and its year call it
    range_hz : what the spectrum was made for
    reference_hz, amplitude_jy, coefficients : S = amplitude * 10^(a0 + a1 x + ...), x = log10(nu / reference)
    """

    names: tuple[str, ...]
    ra_rad: float
    dec_rad: float
    scale: str
    range_hz: tuple[float, float]
    reference_hz: float
    amplitude_jy: float
    coefficients: tuple[float, ...]

    @property
    def is_polarised(self) -> bool:
        """Whether its polarisation is known, and any."""
        return self.names[0] == "3C286" and self.range_hz[1] > 0.5e9

    def flux_jy(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Stokes I, at any frequencies."""
        at = np.log10(np.asarray(frequency_hz) / self.reference_hz)
        return self.amplitude_jy * 10 ** np.polynomial.polynomial.polyval(at, self.coefficients)

    def source(self) -> Source:
        """It as a source, of fluxes in the range of frequencies of its scale."""
        frequency_hz = np.geomspace(*self.range_hz, _STEPS)
        stokes_jy = self.flux_jy(frequency_hz)
        if self.is_polarised:
            fraction, angle_rad = polarisation_of_3c286(frequency_hz)
            shares = [np.ones(_STEPS), fraction * np.cos(2 * angle_rad), fraction * np.sin(2 * angle_rad)]
            stokes_jy = stokes_jy[:, None] * np.column_stack([*shares, np.zeros(_STEPS)])
        table = FluxTable(frequency_hz, stokes_jy, power_laws=True)
        reference_hz = math.sqrt(self.range_hz[0] * self.range_hz[1])
        fluxes = table.at(reference_hz)
        return Source(self.names[0], self.ra_rad, self.dec_rad, fluxes, ref_freq_hz=reference_hz, table=table)

    def __str__(self) -> str:
        low, high = (value / 1e6 for value in self.range_hz)
        polarised = "I, Q, U" if self.is_polarised else "I"
        return f"{self.names[0]}: a point, Stokes {polarised} as of {self.scale}, {low:g} to {high:g} MHz"


def polarisation_of_3c286(frequency_hz: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The fraction of 3C286's flux that is linearly polarised, and the angle of its electric field from north through
    east (rad). Below 0.5 GHz, where the formulas end, nothing is polarised."""
    frequency_hz = np.asarray(frequency_hz, float)
    ghz = frequency_hz / 1e9
    squared = (SPEED_OF_LIGHT_M_S / frequency_hz) ** 2
    fraction = np.where(
        ghz < 1.1,
        0.029 - 0.172 * squared - 0.067 * np.log10(squared),
        0.080 - 0.053 * squared - 0.015 * np.log10(squared),
    )
    low = 29.53 + squared * (4005.88 * np.log10(np.minimum(ghz, 1.7)) ** 3 - 39.38)
    angle = np.where(ghz < 1.7, low, 32.64 - 85.37 * squared)
    last = (SPEED_OF_LIGHT_M_S / 12e9) ** 2
    at = np.log([12, *_ABOVE_12_GHZ[:, 0]])
    higher = [0.080 - 0.053 * last - 0.015 * np.log10(last), *_ABOVE_12_GHZ[:, 1] / 100]
    fraction = np.where(ghz > 12, np.interp(np.log(ghz), at, higher), fraction)
    angle = np.where(ghz > 12, np.interp(np.log(ghz), at, [32.64 - 85.37 * last, *_ABOVE_12_GHZ[:, 2]]), angle)
    return np.maximum(fraction, 0.0), np.radians(angle)


@functools.cache
def calibrators() -> tuple[Calibrator, ...]:
    """All that are known; of a name the first is of the scale that is taken where none is asked for."""
    text = (resources.files(__package__) / "data" / "calibrators.csv").read_text(encoding="utf-8")
    found: list[Calibrator] = []
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        names = tuple(row["names"].split())
        same = next((one for one in found if one.names[0] == names[0]), None)
        found.append(
            Calibrator(
                names if same is None else same.names,
                parse_angle(row["ra"]),
                parse_angle(row["dec"]),
                row["scale"],
                (float(row["from_mhz"]) * 1e6, float(row["to_mhz"]) * 1e6),
                float(row["reference_mhz"]) * 1e6,
                float(row["amplitude_jy"]),
                tuple(map(float, row["coefficients"].split())),
            )
        )
    return tuple(found)


def calibrator_of_path(path: str) -> Calibrator | None:
    """As `find_calibrator`; None where there is a file of that name."""
    return None if os.path.lexists(path) else find_calibrator(path)


def find_calibrator(text: str) -> Calibrator | None:
    """What `NAME` or `NAME, SCALE` says; None where no calibrator is called so. Raises `SkyModelError` for a scale that
    it is not on."""
    name, comma, scale = text.partition(",")
    on_scales = [one for one in calibrators() if _plain(name) in map(_plain, one.names)]
    if not on_scales:
        return None
    if not comma:
        return on_scales[0]
    chosen = [one for one in on_scales if _plain(scale) and _plain(scale) in _plain(one.scale)]
    if len(chosen) != 1:
        raise SkyModelError(
            f"{on_scales[0].names[0]} has no one flux scale {scale.strip()!r}; there are "
            f"{', '.join(one.scale for one in on_scales)}"
        )
    return chosen[0]


@checked
def calibrator(name: str, scale: str | None = None) -> SkyModel:
    """A flux calibrator as a sky model of one point. `name` is one of those in `calibrators`, in capitals or not;
    `scale` ("Perley-Butler 2017", or a part of it) one of its flux scales, by default the first. Raises `SkyModelError`
    for what is not known, and says what is."""
    found = find_calibrator(name if scale is None else f"{name}, {scale}")
    if found is None:
        raise SkyModelError(f"no calibrator is called {name!r}; {known_calibrators(name)}")
    return SkyModel((found.source(),))


def known_calibrators(name: str) -> str:
    """What calibrators there are, and which of them a name that is none may mean."""
    by_plain = {_plain(other): one.names[0] for one in calibrators() for other in one.names}
    near = difflib.get_close_matches(_plain(name), by_plain, n=2, cutoff=0.7)
    guess = f"did you mean {' or '.join(dict.fromkeys(by_plain[one] for one in near))}? " if near else ""
    return f"{guess}known are {', '.join(dict.fromkeys(by_plain.values()))}"


def _plain(text: str) -> str:
    return re.sub(r"[\s_]", "", text).lower()
