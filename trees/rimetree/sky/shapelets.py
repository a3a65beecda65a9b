"""Sources that are sums of shapelets: an orthonormal set of functions, Hermite polynomials times exp(-x^2/2).

With offsets x_1 along the first axis and x_2 along the second, and u_1, u_2 likewise in wavelengths,

    brightness = S sum c_jk phi_j(x_1/beta_1) phi_k(x_2/beta_2) / (2 pi beta_1 beta_2)
    visibility = S sum c_jk i^(j+k) phi_j(2 pi beta_1 u_1) phi_k(2 pi beta_2 u_2)

    phi_n(x) = H_n(x) exp(-x^2/2) / sqrt(2^n n!)

(Refregier 2003, MNRAS 338, 35). Axes are full widths at half maximum of the first function, beta sqrt(8 ln 2), so that
a single coefficient c_00 = 1 is the first of the `PROFILES` with these axes (Line et al. 2020, PASA 37, e027;
hyperdrive, RTS, WODEN).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import number
from .errors import SkyModelError

#: The highest order along an axis: beyond it exp(-x^2/2) is 0 in double precision where the functions are not.
HIGHEST_ORDER = 500

_NO_FLUX, _ONE = 1e-6, 1e-12


@dataclass(frozen=True, slots=True)
class Shapelets:
    """What a source looks like, as a sum of shapelets. See the module's text for the formulas.

    Attributes
    ----------
    major_rad, minor_rad : full width at half maximum of the first function along the first and the second axis, > 0
    pa_rad : position angle of the first axis, north through east; the second is 90 degrees before it (to the west where
        the first is to the north)
    coefficients : ((j, k, c_jk), ..): orders along the first and the second axis, at most `HIGHEST_ORDER`, and what
        that function counts. May be given as a mapping {(j, k): c_jk}, or as an array [j,k]; those of 0 are left out

    Angles may be Quantities. Raises `SkyModelError` for what is not finite or out of range, and where an order is given
    twice.
    """

    major_rad: float
    minor_rad: float
    pa_rad: float
    coefficients: tuple[tuple[int, int, float], ...]

    def __post_init__(self) -> None:
        for name in ("major_rad", "minor_rad", "pa_rad"):
            object.__setattr__(self, name, _finite(getattr(self, name), name, "rad"))
        if not (self.major_rad > 0 and self.minor_rad > 0):
            raise SkyModelError(f"axes {self.major_rad:g}, {self.minor_rad:g} rad of shapelets must be > 0")
        object.__setattr__(self, "coefficients", _entries(self.coefficients))

    @property
    def size(self) -> tuple[int, int]:
        """How many orders are in use along the first and the second axis."""
        return 1 + max(j for j, _, _ in self.coefficients), 1 + max(k for _, k, _ in self.coefficients)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """[j,k] the coefficients, as many as orders are in use."""
        found = np.zeros(self.size)
        for j, k, value in self.coefficients:
            found[j, k] = value
        return found

    @property
    def flux(self) -> float:
        """The integral over the sky, in units of the source's flux: the visibility at zero spacing."""
        even = ((j, k, value) for j, k, value in self.coefficients if j % 2 == k % 2 == 0)
        return math.fsum(value * _at_zero(j) * _at_zero(k) for j, k, value in even)

    def isclose(self, other: Shapelets, rtol: float = 1e-12) -> bool:
        """Whether both are the same to a relative tolerance, of coefficients in units of the largest one."""
        axes = ((self.major_rad, other.major_rad), (self.minor_rad, other.minor_rad))
        own, others = ({(j, k): c for j, k, c in one.coefficients} for one in (self, other))
        largest = max(map(abs, (*own.values(), *others.values())))
        return (
            all(math.isclose(a, b, rel_tol=rtol) for a, b in axes)
            and abs(math.remainder(self.pa_rad - other.pa_rad, 2 * math.pi)) <= rtol * 2 * math.pi
            and all(abs(own.get(at, 0.0) - others.get(at, 0.0)) <= rtol * largest for at in own | others)
        )

    def times(self, factor: float) -> Shapelets:
        """The same with all coefficients times a factor."""
        return Shapelets(
            self.major_rad, self.minor_rad, self.pa_rad, tuple((j, k, c * factor) for j, k, c in self.coefficients)
        )

    def of_unit_flux(self) -> tuple[Shapelets, float]:
        """The same emission with coefficients of which `flux` is 1, and how many times as large the fluxes are that go
        with them: integrated ones. As they are where their flux is 0."""
        flux, largest = self.flux, max(abs(c) for _, _, c in self.coefficients)
        if abs(flux) <= _NO_FLUX * largest or abs(flux - 1) <= _ONE:
            return self, 1.0
        return self.times(1 / flux), flux


def _at_zero(n: int) -> float:
    """i^n phi_n(0) of an even n."""
    return math.prod(math.sqrt((k - 1) / k) for k in range(2, n + 1, 2))


def _entries(given) -> tuple[tuple[int, int, float], ...]:
    if isinstance(given, Mapping):
        entries = [(*orders, value) if _is_pair(orders) else orders for orders, value in given.items()]
    elif isinstance(given, np.ndarray):
        if given.ndim != 2:
            raise SkyModelError(f"coefficients of shapelets must be [j,k], not of shape {list(given.shape)}")
        entries = [(j, k, value) for (j, k), value in np.ndenumerate(given)]
    elif isinstance(given, list | tuple):
        entries = list(given)
    else:
        raise SkyModelError(f"coefficients of shapelets must be a mapping, an array or a list, not {given!r}")
    found: dict[tuple[int, int], float] = {}
    for entry in entries:
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise SkyModelError(f"coefficients of shapelets have two orders and a value, not {entry!r}")
        orders = tuple(_order(n) for n in entry[:2])
        if orders in found:
            raise SkyModelError(f"shapelets have two coefficients of orders {orders[0]}, {orders[1]}")
        found[orders] = _finite(entry[2], f"coefficient {orders[0]}, {orders[1]}")
    kept = tuple((j, k, value) for (j, k), value in sorted(found.items()) if value)
    if not kept:
        raise SkyModelError("shapelets have no coefficient that is not 0")
    return kept


def _is_pair(orders) -> bool:
    return isinstance(orders, tuple) and len(orders) == 2


def _order(n) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= HIGHEST_ORDER:
        raise SkyModelError(f"orders of shapelets are whole numbers from 0 to {HIGHEST_ORDER}, not {n!r}")
    return int(n)


def _finite(value, what: str, unit: str = "") -> float:
    found = number(value, f"{what} of shapelets", unit, error=SkyModelError)
    if not math.isfinite(found):
        raise SkyModelError(f"{what} of shapelets is {found}: it must be finite")
    return found
