"""Power patterns of dishes as polynomials, by which observatories describe them."""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import Error
from ..arguments import check_fields, checked
from ..writing.scope import NodeDef
from .axis import Axis
from .dish import CircularDish, positive
from .place import pointing_text

_UNITS = (1e-3, 1e-7, 1e-10, 1e-13)  # of the numbers that are published
_ARCMIN_GHZ_PER_RAD_HZ = np.degrees(60) * 1e-9

#: Telescopes: whether their patterns are one over a polynomial, and how far (arcmin GHz) they are taken to be known.
#: CASA takes those of VLA and ATCA that far.
TELESCOPES = {"vla": (False, 51.384), "gmrt": (False, 53.0), "atca": (True, 53.0)}
_ALSO = {"evla": "vla", "jvla": "vla", "ugmrt": "gmrt"}


@dataclass(frozen=True)
class PolynomialBeam(CircularDish):
    """A power pattern of a dish, circular: P = 1 + c1 x^2 + c2 x^4 + ..., or one over that, where x is the angle from
    where it points (arcmin) times the frequency (GHz).

    Between two frequencies coefficients are on straight lines; beyond the first and the last they are as there. Nothing
    is let through from the first zero of a pattern on, or its first minimum, or where it is not known any more:
    sidelobes are not described.

    Attributes
    ----------
    name : of the telescope
    frequency_hz : [F], ascending
    coefficients : [F] of [K], of x^2, x^4, ... with x in arcmin GHz
    inverse : whether the pattern is one over the polynomial
    largest : x up to which it is known (arcmin GHz)
    pointing_rad, azel_rad, site_m : as of `Beam`

    Raises `Error` for what is no pattern.
    """

    name: str
    frequency_hz: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    inverse: bool = False
    largest: float = 53.0
    pointing_rad: tuple[float, float] | None = None
    azel_rad: tuple[float, float] | None = None
    site_m: tuple[float, float, float] | None = None
    reach: tuple[float, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        check_fields(self)
        frequency_hz = np.asarray(self.frequency_hz, float)
        counts = {len(one) for one in self.coefficients}
        if not len(frequency_hz) or len(frequency_hz) != len(self.coefficients) or len(counts) != 1 or 0 in counts:
            raise Error("a beam of polynomials has as many coefficients for each of its frequencies, one at least")
        if not (frequency_hz[0] > 0 and (np.diff(frequency_hz) > 0).all() and np.isfinite(frequency_hz[-1])):
            raise Error("frequencies of a beam of polynomials must be positive, finite and ascend")
        if not np.isfinite(self.coefficients).all():
            raise Error("coefficients of a beam must be finite")
        if not 0 < self.largest < np.inf:
            raise Error(f"a beam must be known up to some arcmin GHz, not {self.largest}")
        self._check_pointing()
        reach = tuple(_reach([1.0, *own], self.inverse, self.largest) for own in self.coefficients)
        object.__setattr__(self, "reach", reach)

    @classmethod
    @checked
    def of_telescope(cls, name: str, *, pointing_rad: Sequence[float] | None = None) -> PolynomialBeam:
        """The pattern of a telescope's dishes: one of `TELESCOPES`, whose sources are in data/*.csv. Raises `Error` for
        another."""
        known = _ALSO.get(name.lower(), name.lower())
        if known not in TELESCOPES:
            raise Error(f"polynomials are known of the dishes of {', '.join(TELESCOPES)}, not of {name!r}")
        found = _of_telescope(known)
        return found if pointing_rad is None else found.pointed_at(tuple(pointing_rad))

    def voltage(self, lmn, n_source: int) -> NodeDef:
        """[S], the root of the power towards directions `lmn` [S,3] from where it points."""
        table = np.column_stack([self.coefficients, np.square(self.reach)])
        if len(table) == 1:
            *coefficients, reach = table[0].tolist()
        else:
            hertz = self.frequency_hz
            steps = Axis(hertz[0], (hertz[-1] - hertz[0]) / (len(hertz) - 1), len(hertz), hertz).steps(rt.Freq())
            at_frequency = rt.Interpolate(rt.Constant(table), steps, outside="edge")
            *coefficients, reach = (at_frequency[k] for k in range(table.shape[1]))
        angle = rt.Asin(rt.Min(rt.Sqrt(rt.Sqr(lmn[:, 0]) + rt.Sqr(lmn[:, 1])), np.ones(n_source)))
        squared = rt.Sqr(angle * (rt.Freq() * _ARCMIN_GHZ_PER_RAD_HZ))
        power = squared * coefficients[-1]
        for one in reversed(coefficients[:-1]):
            power = (power + one) * squared
        power = power + 1.0
        if self.inverse:
            power = 1.0 / power
        inside, in_front = positive(reach - squared, n_source), positive(lmn[:, 2], n_source)
        return rt.Sqrt(rt.Max(power, np.zeros(n_source))) * inside * in_front

    def reaches(self, low_hz: float, high_hz: float) -> bool:
        """Whether it was given at frequencies around these."""
        return self.frequency_hz[0] <= low_hz and high_hz <= self.frequency_hz[-1]

    def __str__(self) -> str:
        """As a report says it: "beam of the dishes of vla" """
        return f"beam of the dishes of {self.name}{pointing_text(self.pointing_rad, self.azel_rad)}"


def _reach(coefficients: Sequence[float], inverse: bool, largest: float) -> float:
    """Where a pattern ends (arcmin GHz): at its first zero, or its first minimum, or `largest`."""
    if inverse:
        return largest
    ends = [*polynomial.polyroots(coefficients), *polynomial.polyroots(polynomial.polyder(coefficients))]
    squares = [end.real for end in np.array(ends, complex) if abs(end.imag) < 1e-9 * abs(end) and end.real > 0]
    return min(largest, float(np.sqrt(min(squares, default=largest**2))))


@functools.cache
def _of_telescope(name: str) -> PolynomialBeam:
    text = (resources.files(__package__) / "data" / f"{name}.csv").read_text(encoding="utf-8")
    rows: NDArray[np.float64] = np.array(
        [list(map(float, row)) for row in list(csv.reader(line for line in text.splitlines() if line[0] != "#"))[1:]]
    )
    coefficients = tuple(map(tuple, (rows[:, 1:] * _UNITS).tolist()))
    return PolynomialBeam(name, tuple((rows[:, 0] * 1e6).tolist()), coefficients, *TELESCOPES[name])
