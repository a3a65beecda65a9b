"""Source lists of the MWA's RTS and of WODEN: lines of a keyword and what belongs to it.

    RTS                                 WODEN
    SOURCE name ra dec                  SOURCE name P points G shapes S shapelets coefficients    (how many follow)
    COMPONENT ra dec                    COMPONENT POINT|GAUSSIAN|SHAPELET ra dec
    FREQ freq I Q U V                   FREQ freq I Q U V, or LINEAR freq I Q U V index
    GAUSSIAN pa major minor             GPARAMS pa major minor
    SHAPELET2 pa major minor            SPARAMS pa major minor
    COEFF n1 n2 value                   SCOEFF n1 n2 value
    ENDCOMPONENT, ENDSOURCE             the same

Right ascensions are in hours, declinations in degrees, axes in arcmin (full widths at half maximum), position angles in
degrees, north through east, taken as on the sky at the source; frequencies in Hz, fluxes in Jy. The line SOURCE of the
RTS is a component itself, the first one. Several lines FREQ are a list as in hyperdrive's files (`flux_list`), one has
the spectral index -0.8, as in WODEN and hyperdrive. Q, U and V scale with the spectrum. Components become sources NAME
(one component) or NAME_0, NAME_1, ... of the patch NAME; shapelets as in hyperdrive's files.

Source: mwa_hyperdrive's documentation, "Source lists: the RTS format"; WODEN's documentation, "Sky model".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from .angles import axes_rad
from .errors import SkyModelError, UnsupportedError
from .flux_list import Stokes, fluxes_through, times
from .model import SkyModel
from .reading import Cell, Reading, numbered_lines, rows_of_words, words
from .shapelets import Shapelets
from .source import PROFILES, Source

_SHAPES = {"GAUSSIAN": PROFILES[0], "GPARAMS": PROFILES[0], "SHAPELET2": "shapelets", "SPARAMS": "shapelets"}
_KINDS = {"POINT": "", "GAUSSIAN": PROFILES[0], "SHAPELET": "shapelets"}  # of WODEN's components


def looks_like_source_list(text: str) -> bool:
    """Whether the first line that is no comment is one of such a list."""
    first = next(rows_of_words(text), [])
    return len(first) >= 4 and first[0].text == "SOURCE"


def read_source_list(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a list. Raises `SkyModelError` with file, line and column."""
    found = _List(reading)
    for number, line in numbered_lines(text):
        if line.startswith("FREQ ") and (fluxes := _plain_fluxes(line)) is not None and found.take_plain(fluxes):
            continue
        cells = words(line, number)
        if cells and not cells[0].text.startswith("#"):
            found.take(cells)
    found.end()
    return reading.model()


def _plain_fluxes(line: str) -> list[float] | None:
    """Frequency, I, Q, U and V of a line FREQ; None where something is wrong with them. That is told in a tenth of the
    time that cells take, and there may be millions of such lines."""
    try:
        found = [float(word) for word in line.split(maxsplit=6)[1:6]]
    except ValueError:
        return None
    return found if len(found) == 5 and found[0] > 0 and math.isfinite(sum(found)) and "_" not in line else None


@dataclass
class _Component:
    """What lines have said of a component; `kind`: its shape, as WODEN's line says it, None in lists of the RTS."""

    place: Cell
    kind: str | None
    radec: tuple[float, float]
    fluxes: list[tuple[float, Stokes]] = field(default_factory=list)
    index: float | None = None
    shape: str = ""
    axes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    coefficients: list[tuple[int, int, float]] = field(default_factory=list)
    problem: UnsupportedError | None = None


class _List:
    """The lines of a list, one after the other."""

    def __init__(self, reading: Reading):
        self._reading = reading
        self._source: Cell | None = None
        self._counts: list[tuple[str, int, Cell]] | None = None
        self._components: list[_Component] = []
        self._is_open = False  # the last component

    def take_plain(self, fluxes: Sequence[float]) -> bool:
        """What a line FREQ says, frequency, I, Q, U and V. False where such a line should not be here."""
        if not self._is_open or self._components[-1].index is not None:
            return False
        self._components[-1].fluxes.append((fluxes[0], tuple(fluxes[1:])))
        return True

    def take(self, cells: Sequence[Cell]) -> None:
        """A line."""
        keyword, values = cells[0], cells[1:]
        if keyword.text == "SOURCE":
            self._begin_source(keyword, values)
        elif keyword.text == "COMPONENT":
            self._begin_component(keyword, values)
        elif keyword.text in ("FREQ", "LINEAR"):
            self._take_flux(keyword, values)
        elif keyword.text in _SHAPES:
            self._take_shape(keyword, values)
        elif keyword.text in ("COEFF", "SCOEFF"):
            self._take_coefficient(keyword, values)
        elif keyword.text == "SHAPELET":  # of the RTS, with another set of functions
            self._component(keyword).problem = self._reading.unsupported(
                "shapelets of the old kind (SHAPELET) are not supported, only SHAPELET2", keyword
            )
        elif keyword.text == "ENDCOMPONENT":
            self._component(keyword)
            self._is_open = False
        elif keyword.text == "ENDSOURCE":
            self._end_source(keyword)
        else:
            raise self._reading.error(f"{keyword.text} is no keyword of RTS and WODEN lists", keyword)

    def end(self) -> None:
        """There are no more lines."""
        if self._source is not None:
            raise self._reading.error(f"source {self._source.text!r} has no ENDSOURCE", self._source)

    def _begin_source(self, keyword: Cell, values: Sequence[Cell]) -> None:
        if self._source is not None:
            raise self._reading.error(
                f"a source inside of source {self._source.text!r}, which has no ENDSOURCE", keyword
            )
        if not values:
            raise self._reading.error("SOURCE has no name", keyword)
        self._source, self._counts, self._components = values[0], None, []
        if len(values) > 1 and values[1].text == "P":
            self._counts = self._counted(keyword, values[1:])
        else:
            self._open_component(keyword, values[0], None, values[1:])

    def _counted(self, keyword: Cell, values: Sequence[Cell]) -> list[tuple[str, int, Cell]]:
        if len(values) < 7 or [values[k].text for k in (0, 2, 4)] != ["P", "G", "S"]:
            raise self._reading.error(
                "SOURCE of a WODEN list has a name, P, points, G, Gaussians, S, shapelets, coefficients", keyword
            )
        kinds = ("", PROFILES[0], "shapelets", "coefficients")
        cells = (values[1], values[3], values[5], values[6])
        return [(kind, self._whole(cell, "a count"), cell) for kind, cell in zip(kinds, cells, strict=True)]

    def _begin_component(self, keyword: Cell, values: Sequence[Cell]) -> None:
        if self._source is None:
            raise self._reading.error("a component outside of a source", keyword)
        kind = None
        if self._counts is not None:
            if not values or values[0].text not in _KINDS:
                raise self._reading.error(f"COMPONENT of a WODEN list is one of {', '.join(_KINDS)}", keyword)
            kind, values = _KINDS[values[0].text], values[1:]
        self._open_component(keyword, keyword, kind, values)

    def _open_component(self, keyword: Cell, place: Cell, kind: str | None, values: Sequence[Cell]) -> None:
        hours, degrees = self._numbers(keyword, values, "right ascension", "declination")
        if not 0 <= hours <= 24:
            raise self._reading.error(f"right ascension is {hours:g}, expected hours from 0 to 24", values[0])
        self._components.append(_Component(place, kind, (math.radians(15 * hours), math.radians(degrees))))
        self._is_open = True

    def _component(self, keyword: Cell) -> _Component:
        if not self._is_open:
            raise self._reading.error(f"{keyword.text} outside of a component", keyword)
        return self._components[-1]

    def _take_flux(self, keyword: Cell, values: Sequence[Cell]) -> None:
        component = self._component(keyword)
        index = ("spectral index",) if keyword.text == "LINEAR" else ()
        frequency_hz, *fluxes = self._numbers(keyword, values, "frequency", "I", "Q", "U", "V", *index)
        if frequency_hz <= 0:
            raise self._reading.error(f"a frequency of {frequency_hz:g} Hz", values[0])
        if component.index is not None or (index and component.fluxes):
            raise self._reading.error("LINEAR beside other fluxes of the component", keyword)
        component.fluxes.append((frequency_hz, tuple(fluxes[:4])))
        component.index = fluxes[4] if index else None

    def _take_shape(self, keyword: Cell, values: Sequence[Cell]) -> None:
        component, shape = self._component(keyword), _SHAPES[keyword.text]
        if component.shape or component.kind not in (None, shape):
            raise self._reading.error(f"{keyword.text} of a component that is {component.shape or 'a point'}", keyword)
        angle_deg, major, minor = self._numbers(keyword, values, "position angle", "major axis", "minor axis")
        component.shape, component.axes = shape, axes_rad(60 * major, 60 * minor, angle_deg)

    def _take_coefficient(self, keyword: Cell, values: Sequence[Cell]) -> None:
        component = self._component(keyword)
        if component.problem:
            return
        if component.shape != "shapelets":
            raise self._reading.error(f"{keyword.text} of a component that is no sum of shapelets", keyword)
        *_, value = self._numbers(keyword, values, "n1", "n2", "coefficient")
        component.coefficients.append((*(self._whole(cell, "an order") for cell in values[:2]), value))

    def _end_source(self, keyword: Cell) -> None:
        if self._source is None:
            raise self._reading.error("ENDSOURCE outside of a source", keyword)
        for kind, count, cell in self._counts or ():
            shapes = [one.kind for one in self._components]
            there = sum(len(c.coefficients) for c in self._components) if kind == "coefficients" else shapes.count(kind)
            if there != count:
                what = {"": "points"}.get(kind, kind)
                raise self._reading.error(f"{count} {what} are announced, and there are {there}", cell)
        patch = self._source.text
        parts = [(one.place, functools.partial(self._built, one, patch)) for one in self._components]
        self._reading.components(patch, parts)
        self._source, self._is_open = None, False

    def _built(self, component: _Component, patch: str, name: str) -> Source:
        if component.problem:
            raise component.problem
        if component.kind and not component.shape:
            raise self._reading.error(f"source {name!r} has no line of its shape", component.place)
        try:
            if component.index is None:
                fluxes = fluxes_through(component.fluxes)
            else:
                ((reference_hz, stokes),) = component.fluxes
                fluxes = {"stokes_jy": stokes, "ref_freq_hz": reference_hz, "spectrum": (component.index,)}
            shape = {component.shape: component.axes} if component.shape else {}
            if "shapelets" in shape:
                shape["shapelets"], factor = Shapelets(*component.axes, component.coefficients).of_unit_flux()
                fluxes = times(fluxes, factor)
        except SkyModelError as problem:
            raise self._reading.placed(problem, component.place, f"source {name!r}: ") from None
        return self._reading.build(
            component.place,
            name=name,
            ra_rad=component.radec[0],
            dec_rad=component.radec[1],
            patch=patch,
            **fluxes,
            **shape,
        )

    def _numbers(self, keyword: Cell, values: Sequence[Cell], *names: str) -> list[float]:
        """As many numbers as there are names: those before what else the line says."""
        if len(values) < len(names):
            raise self._reading.error(f"{keyword.text} needs {', '.join(names)}", keyword)
        return [self._reading.number(cell, name) for cell, name in zip(values, names, strict=False)]

    def _whole(self, cell: Cell, what: str) -> int:
        number = self._reading.number(cell, what)
        if number != int(number):
            raise self._reading.error(f"{what} is {cell.text!r}, expected a whole number", cell)
        return int(number)
