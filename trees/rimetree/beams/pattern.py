"""Voltage patterns on grids, from FITS cubes as Montblanc, MeqTrees and QuartiCal read them.

There is a real and an imaginary part of each element of the Jones matrix, in files of names such as
"beam_$(corr)_$(reim).fits": (corr) stands for xx, xy, yx and yy, or rr, rl, lr and ll, (CORR) for the same in capitals,
and (reim), or (REIM), for re and im. Axes are X (or L) and Y (or M) in degrees or radians from the middle of the beam,
and FREQ. "-X" and "-Y" run the other way. Frequencies that are not regular are in GFREQ1, GFREQ2, ..., which count
instead of CRVAL3 and CDELT3 then.

Source: Perkins et al. 2015, Astronomy and Computing 12, 73 (Montblanc), and the documentation of codex-africanus
(africanus.util.beams); Pence et al. 2010, A&A 524, A42 (FITS).
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import Error
from ..arguments import check_fields, checked
from ..fits_axes import HERTZ, header_number, only_image
from ..observing.mounts import feed_rotation, parallactic_angle, require_place
from ..units import LOWEST_RADIO_HZ
from ..writing.scope import NodeDef, NodeScope, NodeStub
from .axis import RADIANS, Axis, read_axis, scale_of
from .place import Place, pointing_text, require_pointings

_ELEMENTS = {"linear": ("xx", "xy", "yx", "yy"), "circular": ("rr", "rl", "lr", "ll")}
_AXES = {"X": "l", "L": "l", "Y": "m", "M": "m", "FREQ": "frequency"}
#: To where directions behind the dish are moved, times their distance from its horizon: beyond any grid.
_BEYOND = 1e6
METHODS = rt.choices_of("Interpolate", "method")


@dataclass(frozen=True)
class BeamPattern:
    """Jones matrices of a dish on a grid of frequencies and directions; between them they are interpolated, by lines or
    by cubics.

    Attributes
    ----------
    name : of the files that it is from
    feed : "linear" or "circular"
    frequency, m, l : the axes; m and l are direction cosines from where it points, to the north and to the east; where
        it turns, m is upwards, and l is to m as east is to north
    fingerprint : of the numbers
    pointing_rad : (ra, dec) that all dishes follow, in the frame of the sky's positions; None: the phase centre
    site_m : where it turns on the sky, as that of an alt-azimuth mount: the place (ITRF) whose parallactic angle it
        turns by; None: it stands
    method : "linear" or "cubic", between the places of the grid
    table : [frequency,m,l,4], elements XX XY YX YY (or RR RL LR LL)

    Beyond the grid nothing is let through. Beyond the first and the last frequency the pattern is that of these. The
    visibilities are those of feeds that do not turn on the sky, as everywhere in RimeTree: with a parallactic angle chi
    a pattern E is R(chi)^H E R(chi), R as of `feed_rotation`.
    """

    name: str
    feed: str
    frequency: Axis
    m: Axis
    l: Axis  # noqa: E741
    fingerprint: str
    pointing_rad: tuple[float, float] | None = None
    site_m: tuple[float, float, float] | None = None
    method: str = "linear"
    table: NDArray[np.complex128] = field(compare=False, repr=False, default_factory=lambda: np.zeros((1, 1, 1, 4)))

    def __post_init__(self) -> None:
        check_fields(self)
        require_pointings("pattern", radec_rad=self.pointing_rad, azel_rad=None)
        if self.site_m is not None:
            require_place("site_m", self.site_m)
        if self.method not in METHODS:
            raise Error(f"the method of a pattern is {' or '.join(METHODS)}, not {self.method!r}")

    @classmethod
    @checked
    def read(
        cls,
        files: str | os.PathLike,
        *,
        pointing_rad: Sequence[float] | None = None,
        site_m: Sequence[float] | None = None,
        method: str = "linear",
    ) -> BeamPattern:
        """From FITS files of names like "beam_$(corr)_$(reim).fits". Raises `Error` where there are none, or where they
        do not fit together."""
        files = os.fspath(files)
        feed, names = _names(files)
        axes, parts = None, []
        for file in names:
            own, values = _read(file)
            if axes not in (None, own):
                raise Error(f"{file}: the axes are not those of {names[0]}")
            axes = own
            parts.append(values)
        table = np.stack([re + 1j * im for re, im in zip(parts[::2], parts[1::2], strict=True)], axis=-1)
        digest = hashlib.sha256(np.ascontiguousarray(table)).hexdigest()[:16]
        return cls(
            files,
            feed,
            *axes,
            digest,
            None if pointing_rad is None else tuple(pointing_rad),
            None if site_m is None else tuple(site_m),
            method,
            table,
        )

    #: A matrix of complex numbers.
    is_real: ClassVar[bool] = False
    is_scalar: ClassVar[bool] = False
    feeds_stand: ClassVar[bool] = False

    def jones(self, ns: NodeScope, k: int, place: Place) -> NodeDef:
        """[S,2,2]. Writes nodes of the k-th beam of a scope."""
        lmn, n_source = place.lmn, place.n_source
        if self.site_m is None:
            return self._element(ns, lmn[:, 0], lmn[:, 1], lmn[:, 2], n_source)
        ns.turn(k) << parallactic_angle(place.centre, self.site_m)
        ns.grid(k) << self._turned(ns, lmn, ns.turn(k), n_source)
        ns.feeds(k) << feed_rotation(ns.turn(k), feed=self.feed)
        return rt.MatrixMultiply(ns.feeds(k).H, ns.grid(k), ns.feeds(k))

    @property
    def varies_in_time(self) -> bool:
        """Whether what it lets through of a place on the sky does."""
        return self.site_m is not None

    @property
    def follows_phase_centre(self) -> bool:
        """Whether it points there, wherever that is."""
        return self.pointing_rad is None

    def pointed_at(self, radec_rad: Sequence[float]) -> BeamPattern:
        """The same, towards another place of the sky."""
        return replace(self, pointing_rad=radec_rad)

    def standing_at(self, azel_rad: Sequence[float], site_m: Sequence[float]) -> BeamPattern:
        """Raises `Error`."""
        raise Error("patterns from files are those of dishes that follow the sky, not of ones that stand")

    def _turned(self, ns: NodeScope, lmn, angle, n_source: int) -> NodeDef:
        l, m, cosine, sine = lmn[:, 0], lmn[:, 1], rt.Cos(angle), rt.Sin(angle)  # noqa: E741
        return self._element(ns, l * cosine - m * sine, m * cosine + l * sine, lmn[:, 2], n_source)

    def _element(self, ns: NodeScope, l, m, n, n_source: int) -> NodeDef:  # noqa: E741
        """[S,2,2] at directions [S] of the grid."""
        l = l + _BEYOND * (rt.Abs(n) - n)  # noqa: E741 - as they are where n >= 0, which is in front of the dish
        places = [self.m.steps(m), self.l.steps(l)]
        if self.frequency.count > 1:  # beyond its ends as there
            steps = self.frequency.steps(rt.Freq())
            places.insert(0, rt.Min(rt.Max(steps, 0.0), self.frequency.count - 1.0))
        found = rt.Interpolate(self._table_node(ns), *places, outside="zero", method=self.method)
        return rt.Composer(found, dims=[n_source, 2, 2])

    def _table_node(self, ns: NodeScope) -> NodeStub:
        """One node for all beams of these numbers, as those of dishes that point to places of their own; there may be
        as many as antennas."""
        node = ns.pattern(self.fingerprint)
        if not node.initialized():
            node << rt.Constant(self.table if self.frequency.count > 1 else self.table[0])
        return node

    def reaches(self, low_hz: float, high_hz: float) -> bool:
        """Whether it was given at frequencies around these."""
        return self.frequency.holds(low_hz, high_hz)

    def __str__(self) -> str:
        """As a report says it, with the beginning of the fingerprint."""
        pointing = pointing_text(self.pointing_rad, None)
        how = "" if self.method == "linear" else f", {self.method}"
        return f"pattern {os.path.basename(self.name)} ({self.fingerprint[:8]}{how}){pointing}"


def _names(files: str) -> tuple[str, list[str]]:
    """The feed, and the files of all elements, real and imaginary parts."""
    lowered = files.lower()
    if "$(corr)" not in lowered or "$(reim)" not in lowered:
        raise Error(f'{files}: expected names of files with $(corr) and $(reim), such as "beam_$(corr)_$(reim).fits"')
    missing: dict[str, list[str]] = {}
    for feed, elements in _ELEMENTS.items():
        names = [_filled(files, element, part) for element in elements for part in ("re", "im")]
        missing[feed] = [name for name in names if not os.path.exists(name)]
        if not missing[feed]:
            return feed, names
    fewest = min(missing.values(), key=len)
    raise Error(f"{files}: there is no file {', '.join(fewest[:4])}{', ...' if len(fewest) > 4 else ''}")


def _filled(files: str, element: str, part: str) -> str:
    for key, value in (("corr", element), ("reim", part)):
        files = files.replace(f"$({key})", value).replace(f"$({key.upper()})", value.upper())
    return files


def _read(file: str) -> tuple[tuple[Axis, Axis, Axis], NDArray[np.float64]]:
    """The axes frequency, m, l, and the values along these. What is no number was not measured: 0."""
    try:
        header, data = only_image(file)
        found, where = _axes(header, data.shape)
        if np.isinf(data).any():
            raise Error("some values are infinite")
    except Error as problem:
        raise Error(f"{file}: {problem}") from problem
    order = [where[name] for name in ("frequency", "m", "l")]
    others = [axis for axis in range(data.ndim) if axis not in order]
    values = np.transpose(data, [*order, *others]).reshape([found[name].count for name in ("frequency", "m", "l")])
    return (found["frequency"], found["m"], found["l"]), np.nan_to_num(values)


def _axes(header, shape: tuple[int, ...]) -> tuple[dict[str, Axis], dict[str, int]]:
    """By name: the axes of an image, and which dimensions of the data they are."""
    found, where = {}, {}
    for number in range(1, len(shape) + 1):
        kind = str(header.get(f"CTYPE{number}", "")).strip().upper()
        name = _AXES.get(kind.removeprefix("-"))
        if name is None and shape[len(shape) - number] == 1:
            continue  # of one plane
        if name is None or name in found:
            raise Error(f"axis {number} is {kind or 'not named'}, expected X or L, Y or M, and FREQ, once each")
        found[name] = _axis(header, number, kind)
        where[name] = len(shape) - number
    if lacking := [name for name in ("l", "m", "frequency") if name not in found]:
        raise Error(f"there is no axis of {', '.join(lacking)}; expected X or L, Y or M, and FREQ")
    if empty := [name for name, axis in found.items() if not axis.count]:
        raise Error(f"there are no places along {', '.join(empty)}")
    lowest = found["frequency"].ends[0]
    if lowest < LOWEST_RADIO_HZ:
        raise Error(f"{lowest:g} Hz is below what reaches the ground; are frequencies in MHz? Without CUNIT it is Hz")
    return found, where


def _listed(places: list[float]) -> Axis:
    steps = np.diff(places)
    if not (np.isfinite(places).all() and ((steps > 0).all() or (steps < 0).all())):
        raise Error(f"GFREQ1, ... must be a number for each of {len(places)} planes, which ascend or descend")
    step = (places[-1] - places[0]) / max(len(places) - 1, 1)
    return Axis(places[0], step, len(places), tuple(places))


def _axis(header, number: int, kind: str) -> Axis:
    units = HERTZ if kind == "FREQ" else RADIANS
    count = header[f"NAXIS{number}"]
    keys = [f"G{kind}{place}" for place in range(1, count + 1)]
    if any(key in header for key in keys):
        if kind != "FREQ":
            raise Error(f"the places along {kind} are not regular (G{kind}1, ...), which is not supported")
        scale = scale_of(header, number, kind, units)
        return _listed([header_number(header, key, math.nan) * scale for key in keys])
    turns = [f"{matrix}{number}_{other}" for matrix in ("PC", "CD") for other in range(1, 10) if other != number]
    if turned := [key for key in (*turns, f"CROTA{number}") if header_number(header, key, 0.0) != 0]:
        raise Error(f"the grid is turned ({turned[0]}), which is not supported")
    return read_axis(header, number, kind, units).scaled(-1 if kind.startswith("-") else 1)
