"""Sky models of mwa-reduce ("AO" models; also of WSClean's tools): `skymodel fileformat 1.1`, then blocks in braces.

    source {
      name "NAME"
      cluster "PATCH"                          optional
      component {
        type point|gaussian
        position 23h23m25.992s 58d48m00s       right ascension, declination
        shape major minor pa                   arcsec, full widths at half maximum; deg, north through east
        sed {                                  or measurement { frequency ... fluxdensity ... }, once or more often
          frequency 200 MHz
          fluxdensity Jy I Q U V
          spectral-index { c0, c1, ... }       optional; S = S0 (nu/nu0)^(c0 + c1 x + ...), x = log10(nu/nu0)
        }
      }
    }

Measurements are a list of fluxes as in hyperdrive's files (`flux_list`), one of them has the spectral index -0.8. Q, U
and V scale with the spectrum. Shapes are taken as on the sky at the source. Components become sources NAME (one
component) or NAME_0, NAME_1, ... of the patch that `cluster` names, else of the patch NAME.

Source: mwa_hyperdrive's documentation, "The Andre Offringa (ao) source list format"; for the logarithm, which that
leaves open, WSClean model/powerlawsed.h.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..fits_axes import HERTZ
from .angles import axes_rad
from .errors import SkyModelError
from .flux_list import Stokes, fluxes_through
from .logarithms import natural
from .model import SkyModel
from .reading import Cell, Reading, numbered_lines
from .source import PROFILES, Source

_TOKEN = re.compile(r'#.*|"[^"]*"|[{}]|[^\s{},"]+|"')
_DENSITY = {"frequency": 2, "fluxdensity": 5}
#: What stands in the braces of each block: other blocks (0), and values of so many words.
_INSIDE = {
    "source": {"name": 1, "cluster": 1, "component": 0},
    "component": {"type": 1, "position": 2, "shape": 3, "sed": 0, "measurement": 0},
    "sed": {**_DENSITY, "spectral-index": 0},
    "measurement": _DENSITY,
}
_HERTZ = {unit: HERTZ[unit.lower()] for unit in ("Hz", "kHz", "MHz", "GHz")}
_JANSKY = {"Jy": 1.0, "mJy": 1e-3}
_TYPES = {"point": "", "gaussian": PROFILES[0]}


def looks_like_ao(text: str) -> bool:
    """Whether a file begins as such models do."""
    return re.match(r"\s*skymodel\s+fileformat\b", text) is not None


def read_ao(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a file. Raises `SkyModelError` with file, line and column."""
    tokens = _Tokens(reading, text)
    head = [tokens.next("skymodel fileformat and its version") for _ in range(3)]
    if [cell.text for cell in head[:2]] != ["skymodel", "fileformat"]:
        raise reading.error("expected skymodel fileformat 1.1", head[0])
    while (cell := tokens.peek()) is not None:
        if cell.text != "source":
            raise reading.error(f"expected a source, not {cell.text}", cell)
        _add_source(reading, _block(reading, tokens))
    return reading.model()


class _Tokens:
    """The words of a file, one after the other: names without quotes, braces, all else that blanks part."""

    def __init__(self, reading: Reading, text: str):
        self._reading = reading
        self._cells = self._found(text)
        self._ahead = next(self._cells, None)
        self._last = Cell("", 1, 1)

    def _found(self, text: str) -> Iterator[Cell]:
        for number, line in numbered_lines(text):
            for match in _TOKEN.finditer(line):
                cell = Cell(match[0].strip('"'), number, match.start() + 1)
                if match[0] == '"':
                    raise self._reading.error("a quotation mark is not closed", cell)
                if not match[0].startswith("#"):
                    yield cell

    def peek(self) -> Cell | None:
        """The next word; None at the end."""
        return self._ahead

    def next(self, what: str) -> Cell:
        """The next word, which is taken. Raises `SkyModelError` where there is none."""
        if self._ahead is None:
            raise self._reading.error(f"the file ends where {what} should follow", self._last)
        self._last, self._ahead = self._ahead, next(self._cells, None)
        return self._last


@dataclass
class _Block:
    """What stands in braces after a keyword: words of values, and blocks, by their keywords."""

    reading: Reading
    keyword: Cell
    values: dict[str, list[Cell]] = field(default_factory=dict)
    blocks: dict[str, list[_Block]] = field(default_factory=dict)
    words: list[Cell] = field(default_factory=list)

    def value(self, name: str) -> list[Cell]:
        """The words of a value. Raises `SkyModelError` where it is not there."""
        if name not in self.values:
            raise self.reading.error(f"{self.keyword.text} has no {name}", self.keyword)
        return self.values[name]

    def of(self, name: str) -> list[_Block]:
        """The blocks after a keyword."""
        return self.blocks.get(name, [])


def _block(reading: Reading, tokens: _Tokens) -> _Block:
    found = _Block(reading, tokens.next("a keyword"))
    brace = tokens.next("{")
    if brace.text != "{":
        raise reading.error(f"expected {{ after {found.keyword.text}", brace)
    known = _INSIDE.get(found.keyword.text, {})
    while (cell := tokens.peek()) is None or cell.text != "}":
        if cell is not None and known.get(cell.text) == 0:
            found.blocks.setdefault(cell.text, []).append(_block(reading, tokens))
            continue
        cell = tokens.next(f"}} of {found.keyword.text}")
        if found.keyword.text == "spectral-index":
            found.words.append(cell)
        elif cell.text not in known:
            inside = ", ".join(known)
            raise reading.error(f"{cell.text} in {found.keyword.text}, where {inside} are expected", cell)
        elif cell.text in found.values:
            raise reading.error(f"{cell.text} is given twice", cell)
        else:
            found.values[cell.text] = [tokens.next(f"what {cell.text} is") for _ in range(known[cell.text])]
    tokens.next("}")
    return found


def _add_source(reading: Reading, block: _Block) -> None:
    name = block.value("name")[0]
    if not name.text:
        raise reading.error("a source has no name", name)
    components = block.of("component")
    if not components:
        raise reading.error(f"source {name.text!r} has no components", block.keyword)
    patch = block.values.get("cluster", [name])[0].text
    parts = [(one.keyword, functools.partial(_source, reading, one, patch)) for one in components]
    reading.components(name.text, parts)


def _source(reading: Reading, component: _Block, patch: str, name: str) -> Source:
    ra, dec = component.value("position")
    kind = component.value("type")[0]
    if kind.text not in _TYPES:
        raise reading.unsupported(f"components of type {kind.text} are not supported, only {', '.join(_TYPES)}", kind)
    shape = {}
    if profile := _TYPES[kind.text]:
        names = ("major axis", "minor axis", "position angle")
        axes = [reading.number(c, n) for c, n in zip(component.value("shape"), names, strict=True)]
        shape = {profile: axes_rad(*axes)}
    elif "shape" in component.values:
        raise reading.error("a point has no shape", component.values["shape"][0])
    return reading.build(
        component.keyword,
        name=name,
        ra_rad=reading.angle(ra, "right ascension"),
        dec_rad=reading.angle(dec, "declination", colon="degrees"),
        patch=patch,
        **_fluxes(reading, component),
        **shape,
    )


def _fluxes(reading: Reading, component: _Block) -> dict[str, object]:
    """The fields of a `Source` that hold its fluxes."""
    seds, measured = component.of("sed"), component.of("measurement")
    if len(seds) + bool(measured) != 1:
        raise reading.error("a component has one sed, or measurements", component.keyword)
    if measured:
        fluxes = [_density(reading, one) for one in measured]
        try:
            return fluxes_through(fluxes)
        except SkyModelError as problem:
            raise reading.placed(problem, component.keyword) from None
    coefficients: Sequence[Cell] = [word for one in seds[0].of("spectral-index") for word in one.words]
    spectrum = natural(reading.number(word, "spectral index") for word in coefficients)
    reference_hz, stokes = _density(reading, seds[0])
    return {"stokes_jy": stokes, "ref_freq_hz": reference_hz, "spectrum": spectrum}


def _density(reading: Reading, block: _Block) -> tuple[float, Stokes]:
    value, unit = block.value("frequency")
    flux_unit, *fluxes = block.value("fluxdensity")
    for cell, known in ((unit, _HERTZ), (flux_unit, _JANSKY)):
        if cell.text not in known:
            raise reading.error(f"the unit is {cell.text!r}, expected {' or '.join(known)}", cell)
    frequency_hz = reading.number(value, "frequency") * _HERTZ[unit.text]
    if frequency_hz <= 0:
        raise reading.error(f"a frequency of {frequency_hz:g} Hz", value)
    factor = _JANSKY[flux_unit.text]
    return frequency_hz, tuple(factor * reading.number(c, f"Stokes {s}") for c, s in zip(fluxes, "IQUV", strict=True))
