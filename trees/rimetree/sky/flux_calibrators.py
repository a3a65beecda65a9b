"""Flux calibrators by their names: points with the spectra of published flux scales.

    sky = rimetree.sky.calibrator("3C286")                        # also "J1331+3030", "1331+305", "3c 286"
    sky = rimetree.sky.calibrator("3C286", scale="Scaife-Heald 2012")

`rimetree.sky.read` and `--sky` take such a name, too: `3C286`, `3C286, Scaife-Heald 2012`, or, where baselines resolve
it, `3C286, image 3C286_C.im`: the sources of an image, all with the spectrum of the calibrator. The names, positions,
spectra and their sources are in data/calibrators.csv. Fluxes are a `FluxTable` of the range of frequencies that a scale
was made for, so that those who use it outside of it are told.

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
from dataclasses import dataclass, replace
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import SPEED_OF_LIGHT_M_S
from ..arguments import checked
from ..directions import angles_from
from .angles import parse_angle
from .errors import SkyModelError
from .flux_table import FluxTable
from .model import SkyModel
from .source import Source

_NEAR_DEG = 1 / 30  # from a calibrator to the nearest source of an image of it
_STEPS = 1000  # of each piece, so that power laws between them are within 2e-5 of the polynomials

#: Of 3C286 above 12 GHz: GHz, per cent, deg.
_ABOVE_12_GHZ = np.array(
    [
        *((14.1, 12.3, 34), (16.6, 12.5, 35), (19.1, 12.6, 35), (25.6, 12.7, 36)),
        *((32.1, 13.1, 36), (37.1, 13.5, 36), (42.1, 13.4, 37), (48.1, 14.6, 36)),
    ]
)


class Piece(NamedTuple):
    """A part of a spectrum: S = amplitude * 10^(a0 + a1 x + ...), x = log10(nu / reference), from one frequency to
    another."""

    range_hz: tuple[float, float]
    reference_hz: float
    amplitude_jy: float
    coefficients: tuple[float, ...]

    def flux_jy(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Stokes I, at any frequencies."""
        at = np.log10(frequency_hz / self.reference_hz)
        return self.amplitude_jy * 10 ** np.polynomial.polynomial.polyval(at, self.coefficients)


@dataclass(frozen=True)
class Calibrator:
    """A flux calibrator on one flux scale.

    Attributes
    ----------
    names : of the source, the usual one first
    ra_rad, dec_rad : J2000
    scale : of fluxes, as its authors and its year call it
    pieces : of the spectrum, one after the other
    """

    names: tuple[str, ...]
    ra_rad: float
    dec_rad: float
    scale: str
    pieces: tuple[Piece, ...]

    @property
    def range_hz(self) -> tuple[float, float]:
        """What the spectrum was made for."""
        return self.pieces[0].range_hz[0], self.pieces[-1].range_hz[1]

    @property
    def is_polarised(self) -> bool:
        """Whether its polarisation is known, and any."""
        return self.names[0] == "3C286" and self.range_hz[1] > 0.5e9

    def flux_jy(self, frequency_hz: ArrayLike) -> NDArray[np.float64]:
        """Stokes I, at any frequencies."""
        frequency_hz = np.asarray(frequency_hz, float)
        within = [frequency_hz < piece.range_hz[1] for piece in self.pieces[:-1]]
        each = [piece.flux_jy(frequency_hz) for piece in self.pieces]
        return np.select(within, each[:-1], each[-1]) if within else each[0]

    def table(self) -> FluxTable:
        """Its fluxes in the range of frequencies of its scale."""
        frequency_hz = np.unique([np.geomspace(*piece.range_hz, _STEPS) for piece in self.pieces])
        stokes_jy = self.flux_jy(frequency_hz)
        if self.is_polarised:
            fraction, angle_rad = polarisation_of_3c286(frequency_hz)
            shares = [fraction**0, fraction * np.cos(2 * angle_rad), fraction * np.sin(2 * angle_rad), 0 * fraction]
            stokes_jy = stokes_jy[:, None] * np.column_stack(shares)
        return FluxTable(frequency_hz, stokes_jy, power_laws=True)

    def model(self, image: SkyModel | None = None) -> SkyModel:
        """It as a point; or the sources of an image, each with its share of the flux and the spectrum of all. Raises
        `SkyModelError` for an image whose fluxes add up to nothing."""
        table = self.table()
        reference_hz = math.sqrt(self.range_hz[0] * self.range_hz[1])
        if image is None:
            fluxes = table.at(reference_hz)
            point = Source(self.names[0], self.ra_rad, self.dec_rad, fluxes, ref_freq_hz=reference_hz, table=table)
            return SkyModel((point,))
        total_jy = image.total_flux_jy
        if not total_jy > 0:
            raise SkyModelError(f"the image of {self.names[0]} has {total_jy:g} Jy in all")
        away = np.degrees(angles_from((self.ra_rad, self.dec_rad), image.radec_rad).min())
        if away > _NEAR_DEG:
            raise SkyModelError(f"the image is {away:.3g} deg from {self.names[0]}: it is of another source")
        return replace(
            image,
            sources=tuple(_like(source, table, reference_hz, total_jy) for source in image if source.stokes_jy[0]),
        )

    def __str__(self) -> str:
        low, high = (value / 1e6 for value in self.range_hz)
        polarised = "I, Q, U" if self.is_polarised else "I"
        return f"{self.names[0]}: Stokes {polarised} as of {self.scale}, {low:g} to {high:g} MHz"


def _like(source: Source, table: FluxTable, reference_hz: float, total_jy: float) -> Source:
    """The same, with its share of a spectrum."""
    own = table.times(source.stokes_jy[0] / total_jy)
    spectrum = {"ref_freq_hz": reference_hz, "table": own, "spectrum": (), "rm_rad_m2": 0.0}
    return replace(source, stokes_jy=own.at(reference_hz), **spectrum)


@dataclass(frozen=True)
class AskedCalibrator:
    """What `NAME[, SCALE][, image FILE]` says."""

    calibrator: Calibrator
    image: str | None = None

    def __str__(self) -> str:
        return f"{self.calibrator}; " + ("a point" if self.image is None else f"as the image {self.image}")


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
    found: dict[tuple[str, str], Calibrator] = {}
    names_of: dict[str, tuple[str, ...]] = {}
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        first, *others = row["names"].split()
        names = names_of.setdefault(first, (first, *others))
        piece = Piece(
            (float(row["from_mhz"]) * 1e6, float(row["to_mhz"]) * 1e6),
            float(row["reference_mhz"]) * 1e6,
            float(row["amplitude_jy"]),
            tuple(map(float, row["coefficients"].split())),
        )
        key = first, row["scale"]
        if key in found:
            found[key] = replace(found[key], pieces=(*found[key].pieces, piece))
        else:
            place = parse_angle(row["ra"]), parse_angle(row["dec"])
            found[key] = Calibrator(names, *place, row["scale"], (piece,))
    return tuple(found.values())


def calibrator_of_path(path: str) -> AskedCalibrator | None:
    """As `find_calibrator`; None where there is a file of that name."""
    return None if os.path.lexists(path) else find_calibrator(path)


def find_calibrator(text: str) -> AskedCalibrator | None:
    """What `NAME`, `NAME, SCALE` or `NAME, image FILE` says; of two names with "=" between them, as fields of the VLA
    are called (1331+305=3C286), both are of one source. None where no calibrator is called so. Raises `SkyModelError`
    for a scale that it is not on."""
    name, *others = (part.strip() for part in text.split(","))
    asked = set(map(_plain, name.split("=")))
    on_scales = [one for one in calibrators() if asked <= set(map(_plain, one.names))]
    if not on_scales:
        return None
    chosen, image = on_scales[0], None
    for part in others:
        if part.lower().startswith("image "):
            image = part[len("image ") :].strip()
            continue
        of_scale = [one for one in on_scales if part and _plain(part) in _plain(one.scale)]
        if len(of_scale) != 1:
            raise SkyModelError(
                f"{on_scales[0].names[0]} has no one flux scale {part!r}; there are "
                f"{', '.join(one.scale for one in on_scales)} (and an image of it is given as 'image FILE')"
            )
        chosen = of_scale[0]
    return AskedCalibrator(chosen, image)


@checked
def calibrator(name: str, scale: str | None = None, image: SkyModel | None = None) -> SkyModel:
    """A flux calibrator as a sky model of one point, or as an image of it. `name` is one of those in `calibrators`, in
    capitals or not; `scale` ("Perley-Butler 2017", or a part of it) one of its flux scales, by default the first;
    `image` the sources that it is resolved into, which keep their shares of the flux, whatever it is. Raises
    `SkyModelError` for what is not known, and says what is."""
    found = find_calibrator(name if scale is None else f"{name}, {scale}")
    if found is None:
        raise SkyModelError(f"no calibrator is called {name!r}; {known_calibrators(name)}")
    return found.calibrator.model(image)


def known_calibrators(name: str) -> str:
    """What calibrators there are, and which of them a name that is none may mean."""
    by_plain = {_plain(other): one.names[0] for one in calibrators() for other in one.names}
    near = difflib.get_close_matches(_plain(name), by_plain, n=2, cutoff=0.7)
    guess = f"did you mean {' or '.join(dict.fromkeys(by_plain[one] for one in near))}? " if near else ""
    return f"{guess}known are {', '.join(dict.fromkeys(by_plain.values()))}"


def _plain(text: str) -> str:
    """A name without blanks, capitals and what catalogues put before it: PKS B1934-638, 3C-286."""
    text = re.sub(r"[\s_]", "", text).lower()
    return re.sub(r"^3c-", "3c", re.sub(r"^(?:pks)?[bj]?(?=\d{4})", "", text))
