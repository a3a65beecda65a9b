"""One source of a sky model, as data: nothing is evaluated here.

What the fields of a source mean, whatever file they came from (readers convert to this):

* Spectrum, ``logarithmic=True``:  I(nu) = I0 * (nu/nu0)^(c0 + c1 x + c2 x^2 + ...),  x = ln(nu/nu0).
* Spectrum, ``logarithmic=False``: I(nu) = I0 + c0 y + c1 y^2 + ...,  y = nu/nu0 - 1, coefficients in Jy.
* ``spectrum_scales_polarisation``: Q, U and V are multiplied by I(nu)/I0 (OSKAR, Tigger/MeqTrees, WSClean); where it
  is false they keep their values at all frequencies (BBS/DP3).
* A table (`flux_table`) in place of spectrum and rotation measure: I, Q, U and V at some frequencies, and straight
  lines or power laws between them.
* Rotation measure: (Q + iU)(lambda) = (Q0 + i U0) exp(2i RM (lambda^2 - lambda0^2)), lambda0 = c/nu0, in addition to
  the spectrum. Q0, U0 are thus the values at the reference frequency.
* Shape, one of `PROFILES`: major and minor axis and the position angle, north through east, at the source's own place
  on the sky (`projection` brings it into the (l, m) plane of a phase centre). The axes of a Gaussian are full widths at
  half maximum, those of an exponential disk exp(-r) scale lengths, r being counted in them, those of a uniform disk
  diameters. Or a sum of shapelets (`shapelets`). With ``shape_in_plane`` shapes are those in the (l, m) plane of
  whatever phase centre is looked at, as if the source stood at it (BBS without OrientationIsAbsolute). A width of zero
  on one axis is a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import number
from ..units import LOWEST_RADIO_HZ, is_quantity
from .errors import SkyModelError
from .flux_table import FluxTable
from .shapelets import Shapelets

#: Shapes, by the fields of a `Source` that hold their axes. Their places here are the numbers of profiles that nodes
#: know (`rimetree.PSV`). Axes of which a format does not say what they are of are those of the first one.
PROFILES = ("gaussian", "exponential_disk", "uniform_disk")

_QUARTER = math.pi / 2


@dataclass(frozen=True, slots=True)
class Source:
    """One component: a point, one of the `PROFILES` or a sum of shapelets. See the module's text for the formulas.

    Attributes
    ----------
    name : not empty, without line breaks
    ra_rad, dec_rad : right ascension and declination in the frame of the field that is looked at (ICRS or J2000),
        |dec| <= pi/2
    stokes_jy : (I, Q, U, V) at the reference frequency, integrated over the source; of shapelets times `Shapelets.flux`
    ref_freq_hz : reference frequency nu0; needed (>= 1e6) where there is a spectrum or a rotation measure, else 0
    spectrum : coefficients c0, c1, ...; trailing zeros are removed
    logarithmic : which of the two spectra the coefficients belong to
    spectrum_scales_polarisation : whether Q, U, V follow I(nu)/I0
    rm_rad_m2 : rotation measure
    gaussian : None for a point, or (major_rad, minor_rad, pa_rad), full widths at half maximum
    patch : name of the group this source belongs to, or ""
    shape_in_plane : whether the axes and the angle are those in the (l, m) plane, not on the sky
    exponential_disk : None, or (major_rad, minor_rad, pa_rad), scale lengths
    uniform_disk : None, or (major_rad, minor_rad, pa_rad), diameters
    shapelets : None, or `Shapelets`
    table : None, or a `FluxTable` of the fluxes; `stokes_jy` are those that it holds at `ref_freq_hz`

    Numbers may be Quantities of units that convert. Raises `SkyModelError` where a value is not finite or outside its
    range.
    """

    name: str
    ra_rad: float
    dec_rad: float
    stokes_jy: tuple[float, float, float, float]
    ref_freq_hz: float = 0.0
    spectrum: tuple[float, ...] = ()
    logarithmic: bool = True
    spectrum_scales_polarisation: bool = True
    rm_rad_m2: float = 0.0
    gaussian: tuple[float, float, float] | None = None
    patch: str = ""
    shape_in_plane: bool = False
    exponential_disk: tuple[float, float, float] | None = None
    uniform_disk: tuple[float, float, float] | None = None
    shapelets: Shapelets | None = None
    table: FluxTable | None = None

    def __post_init__(self) -> None:
        if not _is_plain(self):
            self._check()

    def _check(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        for text in (self.name, self.patch):
            if not isinstance(text, str) or "\n" in text or "\r" in text:
                raise SkyModelError(f"source name or patch {text!r} is not a single line of text")
        if not self.name:
            raise SkyModelError("a source has no name")
        for name, unit in (("ra_rad", "rad"), ("dec_rad", "rad"), ("ref_freq_hz", "Hz"), ("rm_rad_m2", "rad/m2")):
            put(name, _finite(getattr(self, name), name, self.name, unit))
        for name in ("logarithmic", "spectrum_scales_polarisation", "shape_in_plane"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise SkyModelError(f"source {self.name!r}: {name} must be True or False, not {getattr(self, name)!r}")
        for name in ("stokes_jy", "spectrum", *self._profiles()):
            if isinstance(getattr(self, name), str) or not np.iterable(getattr(self, name)):
                raise SkyModelError(f"source {self.name!r}: {name} must be a list, not {getattr(self, name)!r}")
        if abs(self.dec_rad) > math.pi / 2:
            raise SkyModelError(
                f"source {self.name!r}: declination {math.degrees(self.dec_rad):.6g} deg is outside [-90, 90] deg"
            )
        if len(self.stokes_jy) != 4:
            raise SkyModelError(
                f"source {self.name!r}: stokes_jy has {len(self.stokes_jy)} values, expected I, Q, U, V"
            )
        put(
            "stokes_jy",
            tuple(
                _finite(s, f"stokes_jy: Stokes {n}", self.name, "Jy")
                for n, s in zip("IQUV", self.stokes_jy, strict=True)
            ),
        )
        coefficients = [
            _finite(c, "spectrum: coefficient", self.name, "" if self.logarithmic else "Jy") for c in self.spectrum
        ]
        put("spectrum", without_last_zeros(tuple(coefficients)))
        self._check_reference()
        self._check_table()
        if not isinstance(self.shapelets, Shapelets | None):
            raise SkyModelError(f"source {self.name!r}: shapelets must be Shapelets or None, not {self.shapelets!r}")
        kinds = self._profiles() + ["shapelets"] * (self.shapelets is not None)
        if len(kinds) > 1:
            raise SkyModelError(f"source {self.name!r} is to be {' and '.join(kinds)}: it can be one only")
        for name in self._profiles():
            put(name, self._checked_axes(name))
        put("shape_in_plane", bool(self.shape_in_plane and self.is_extended))

    def _profiles(self) -> list[str]:
        return [name for name in PROFILES if getattr(self, name) is not None]

    @property
    def profile(self) -> str | None:
        """Which of the `PROFILES` it is; None for a point and for shapelets."""
        return next(iter(self._profiles()), None)

    @property
    def shape(self) -> tuple[float, float, float] | None:
        """(major_rad, minor_rad, pa_rad) of its profile; None for a point and for shapelets."""
        return None if self.profile is None else getattr(self, self.profile)

    @property
    def is_extended(self) -> bool:
        """Whether it is no point."""
        return self.profile is not None or self.shapelets is not None

    def _check_reference(self) -> None:
        if self.ref_freq_hz < 0:
            raise SkyModelError(f"source {self.name!r}: reference frequency {self.ref_freq_hz:g} Hz is negative")
        if 0 < self.ref_freq_hz < LOWEST_RADIO_HZ:
            raise SkyModelError(
                f"source {self.name!r}: reference frequency {self.ref_freq_hz:g} Hz is below what reaches the ground; "
                "is it in MHz? Hz is expected"
            )
        if self.ref_freq_hz == 0 and (self.spectrum or self.rm_rad_m2):
            what = "a spectrum" if self.spectrum else "a rotation measure"
            raise SkyModelError(f"source {self.name!r} has {what} but no reference frequency")
        has_ratio = self.logarithmic or not self.spectrum or self.stokes_jy[0] != 0
        if not has_ratio and self.spectrum_scales_polarisation and self.is_polarised:
            raise SkyModelError(
                f"source {self.name!r}: Q, U, V should scale with I(nu)/I0, but I0 is zero (ordinary polynomial)"
            )

    def _check_table(self) -> None:
        if self.table is None:
            return
        if not isinstance(self.table, FluxTable):
            raise SkyModelError(f"source {self.name!r}: table must be a FluxTable or None, not {self.table!r}")
        if self.spectrum or self.rm_rad_m2:
            raise SkyModelError(
                f"source {self.name!r} has a table of fluxes, and with it no spectrum or rotation measure"
            )
        if not self.ref_freq_hz:
            raise SkyModelError(f"source {self.name!r} has a table of fluxes but no reference frequency")
        if not self.table.goes_through(self.ref_freq_hz, self.stokes_jy):
            raise SkyModelError(
                f"source {self.name!r}: stokes_jy are not those of its table at {self.ref_freq_hz:.9g} Hz, "
                f"{', '.join(f'{flux:.6g}' for flux in self.table.at(self.ref_freq_hz))} Jy"
            )

    def _checked_axes(self, profile: str) -> tuple[float, float, float]:
        axes = getattr(self, profile)
        if len(axes) != 3:
            raise SkyModelError(f"source {self.name!r}: {profile} needs major, minor and position angle")
        names = ("major axis", "minor axis", "position angle")
        major, minor, angle = (
            _finite(v, f"{profile}: {n}", self.name, "rad") for v, n in zip(axes, names, strict=True)
        )
        if major < 0 or minor < 0 or major == minor == 0:
            raise SkyModelError(
                f"source {self.name!r}: axes {major:g}, {minor:g} rad of {profile} must be >= 0 and not both 0"
            )
        return major, minor, angle

    @property
    def is_polarised(self) -> bool:
        """Whether any of Q, U, V differs from zero."""
        return any(self.stokes_jy[1:]) or (self.table is not None and self.table.is_polarised)

    def unpolarised(self) -> Source:
        """The same with Stokes I alone."""
        table = None if self.table is None else self.table.unpolarised()
        return replace(self, stokes_jy=(self.stokes_jy[0], 0.0, 0.0, 0.0), table=table)

    def isclose(self, other: Source, rtol: float = 1e-12) -> bool:
        """Whether both describe the same emission to a relative tolerance (of angles, fluxes, coefficients, widths).

        Fields without effect are ignored: the reference frequency without spectrum and rotation measure, the kind of
        a spectrum that has no coefficients, the scaling of zero Q, U, V, the angle of a circular shape.
        """

        def near(a: float, b: float, scale: float = 0.0) -> bool:
            return abs(a - b) <= rtol * max(abs(a), abs(b), scale)

        def angles_near(a: float, b: float, turn: float) -> bool:
            return near(a, b) or abs(math.remainder(a - b, turn)) <= rtol * turn

        flux = max(abs(s) for s in self.stokes_jy)
        same = (
            (self.name, self.patch) == (other.name, other.patch)
            and angles_near(self.ra_rad, other.ra_rad, 2 * math.pi)
            and near(self.dec_rad, other.dec_rad)
            and all(near(a, b, flux) for a, b in zip(self.stokes_jy, other.stokes_jy, strict=True))
            and len(self.spectrum) == len(other.spectrum)
            and all(near(a, b) for a, b in zip(self.spectrum, other.spectrum, strict=True))
            and near(self.rm_rad_m2, other.rm_rad_m2)
            and self.profile == other.profile
            and (self.shapelets is None) == (other.shapelets is None)
            and (self.table is None) == (other.table is None)
        )
        if same and self.spectrum:
            same = self.logarithmic == other.logarithmic and (
                not self.is_polarised or self.spectrum_scales_polarisation == other.spectrum_scales_polarisation
            )
        if same and (self.spectrum or self.rm_rad_m2):
            same = near(self.ref_freq_hz, other.ref_freq_hz)
        if same and self.shape is not None:
            (a0, b0, pa0), (a1, b1, pa1) = self.shape, other.shape
            same = near(a0, a1) and near(b0, b1) and (near(a0, b0) or angles_near(pa0, pa1, math.pi))
        if same and self.shapelets is not None:
            same = self.shapelets.isclose(other.shapelets, rtol)
        if same and self.table is not None:
            same = self.table.isclose(other.table, rtol)
        return same and self.shape_in_plane == other.shape_in_plane


def without_last_zeros(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """Coefficients but for those at the end that are 0."""
    while coefficients and coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    return coefficients


def _is_plain(source: Source) -> bool:
    """Whether it is a point or a Gaussian of which `_check` would change and refuse nothing. That is told in a fifth of
    the time, and so of nearly all sources that are read, of which there may be millions."""
    stokes, spectrum, axes, name, patch = source.stokes_jy, source.spectrum, source.gaussian, source.name, source.patch
    if not (type(stokes) is type(spectrum) is tuple and (axes is None or type(axes) is tuple)):
        return False
    frequency_hz, rm, dec_rad = source.ref_freq_hz, source.rm_rad_m2, source.dec_rad
    table = source.table
    logarithmic, scales, in_plane = source.logarithmic, source.spectrum_scales_polarisation, source.shape_in_plane
    numbers = (source.ra_rad, dec_rad, frequency_hz, rm, *stokes, *spectrum, *(axes or ()))
    # The sum is finite only if all are; if it overflows though all are, this is just not the fast way.
    return (
        [*map(type, numbers)].count(float) == len(numbers)
        and math.isfinite(sum(numbers))
        and (logarithmic is True or logarithmic is False)
        and (scales is True or scales is False)
        and (in_plane is True or in_plane is False)
        and type(name) is type(patch) is str
        and name != ""
        and name.isprintable()  # so there are no line breaks
        and patch.isprintable()
        and -_QUARTER <= dec_rad <= _QUARTER
        and len(stokes) == 4
        and (frequency_hz >= LOWEST_RADIO_HZ or (frequency_hz == 0 and not spectrum and rm == 0))
        and (not spectrum or (spectrum[-1] != 0 and (logarithmic or stokes[0] != 0)))
        and (table is None or (type(table) is FluxTable and _is_plain_table(source, table)))
        and source.exponential_disk is source.uniform_disk is source.shapelets is None
        and (not in_plane if axes is None else len(axes) == 3 and axes[0] >= 0 <= axes[1] and axes[0] + axes[1] > 0)
    )


def _is_plain_table(source: Source, table: FluxTable) -> bool:
    return not source.spectrum and source.rm_rad_m2 == 0 and table.goes_through(source.ref_freq_hz, source.stokes_jy)


def _finite(value: float, what: str, name: str, unit: str = "") -> float:
    try:
        converted = number(value, what, unit, SkyModelError) if is_quantity(value) else float(value)
    except SkyModelError as problem:
        raise SkyModelError(f"source {name!r}: {problem}") from None
    except (TypeError, ValueError):
        raise SkyModelError(f"source {name!r}: {what} is {value!r}, expected a number") from None
    if not math.isfinite(converted):
        raise SkyModelError(f"source {name!r}: {what} is {converted}, expected a finite number")
    return converted
