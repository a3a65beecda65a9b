"""Tigger local sky models (`.lsm.html`), MeqTrees' own format. The Python in them is never evaluated.

The file is HTML whose elements carry the model in `mdltype`, `mdlattr` and `mdlval` attributes: a Source has a name, a
Position (ra, dec in rad), a flux (Flux, Polarization or PolarizationWithRM; Jy, rad/m2, Hz), and may have a `spectrum`
(SpectralIndex: spi or a list of coefficients of powers of ln(nu/nu0), and freq0) and a `shape` (Gaussian or, understood
here only, ExponentialDisk: ex, ey, the axes, and pa, rad). Each `mdlval` must be a plain number or string; anything
else is an error.

A shape is drawn on the sky, its position angle relative to the north at the source, as catalogues give it (trees of
MeqTrees' Meow drew it in the (l, m) plane). MeqTrees multiplies the whole brightness matrix by the spectrum, so Q, U
and V scale with it, and rotates Q, U from freq0. (Meow itself used the decimal logarithm for coefficients beyond the
first; Tigger's evaluation uses ln, as here.) Tags and plot styles are no property of the emission; of them only
`cluster`, the group of a source, is kept, as patch.

Source: Tigger/Models/ModelClasses.py and ModelHTML.py; Meow/PointSource.py of MeqTrees' Cattery.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from html.parser import HTMLParser

from .errors import SkyModelError
from .model import SkyModel
from .reading import Cell, Reading
from .source import PROFILES, Source

_VOID_TAGS = {"br", "hr", "img", "meta", "link", "input"}
_MAX_STRING = 10000
# Tigger has one of these classes; the others are understood here only.
_PROFILE_OF_CLASS = {profile.title().replace("_", ""): profile for profile in PROFILES}


@dataclass
class Element:
    """One HTML element that carries `mdltype`: its type, attribute name, value, place, and the elements in it."""

    kind: str
    attribute: str | None
    value: str | None
    place: Cell
    children: list[Element] = field(default_factory=list)

    def positional(self) -> list[Element]:
        """Mandatory parts, in their order."""
        return [child for child in self.children if child.attribute is None]

    def named(self, attribute: str) -> Element | None:
        """The optional part of a name, or None."""
        return next((child for child in self.children if child.attribute == attribute), None)


class _ModelParser(HTMLParser):
    """Builds the tree of `mdltype` elements, and lists those that are sources."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.is_sky_model = False
        self.sources: list[Element] = []
        self._open: list[tuple[str, Element | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        element = None
        if kind := values.get("mdltype"):
            line, column = self.getpos()
            place = Cell(values.get("mdlval") or "", line, column + 1)
            element = Element(kind, values.get("mdlattr"), values.get("mdlval"), place)
            parent = next((opened for _, opened in reversed(self._open) if opened is not None), None)
            if parent is not None:
                parent.children.append(element)
            if kind == "SkyModel":
                self.is_sky_model = True
            elif kind == "Source":
                self.sources.append(element)
        if tag not in _VOID_TAGS:
            self._open.append((tag, element))

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == tag:
                del self._open[index:]
                return


def read_tigger_html(reading: Reading, text: str) -> SkyModel:
    """The model in the text of an lsm.html file. Raises `SkyModelError` with file, line and column."""
    parser = _ModelParser()
    parser.feed(text)
    parser.close()
    if not parser.is_sky_model:
        raise SkyModelError("no element has mdltype=SkyModel: not a Tigger model", file=reading.file, line=1)
    for element in parser.sources:
        parts = element.positional()
        if not parts or parts[0].kind != "str":
            raise reading.error("a source has no name", element.place)
        name = _string(reading, parts[0])
        reading.source(name, element.place, lambda e=element, n=name: _source(reading, e, n))
    return reading.model()


def _source(reading: Reading, element: Element, name: str) -> Source:
    parts = element.positional()
    if len(parts) < 3 or parts[1].kind != "Position":
        raise reading.error(f"source {name!r} needs a name, a Position and a flux", element.place)
    ra_rad, dec_rad = _numbers(reading, parts[1], ("ra", "dec"))
    stokes, rm, flux_freq_hz = _flux(reading, parts[2])
    spectrum, spectrum_freq_hz = _spectrum(reading, element.named("spectrum"))
    if rm and any(spectrum) and flux_freq_hz and flux_freq_hz != spectrum_freq_hz:
        raise reading.unsupported(
            f"source {name!r}: freq0 of the rotation measure ({flux_freq_hz:g} Hz) and of the spectrum "
            f"({spectrum_freq_hz:g} Hz) differ",
            element.place,
        )
    cluster = element.named("cluster")
    return reading.build(
        element.place,
        name=name,
        ra_rad=ra_rad,
        dec_rad=dec_rad,
        stokes_jy=stokes,
        ref_freq_hz=spectrum_freq_hz if any(spectrum) else (flux_freq_hz or spectrum_freq_hz),
        spectrum=spectrum,
        spectrum_scales_polarisation=True,
        rm_rad_m2=rm,
        patch=_string(reading, cluster) if cluster is not None and cluster.kind == "str" else "",
        **_shape(reading, element.named("shape")),
    )


def _flux(reading: Reading, element: Element) -> tuple[tuple[float, float, float, float], float, float]:
    if element.kind == "Flux":
        return (_numbers(reading, element, ("I",))[0], 0.0, 0.0, 0.0), 0.0, 0.0
    if element.kind == "Polarization":
        return tuple(_numbers(reading, element, ("I", "Q", "U", "V"))), 0.0, 0.0
    if element.kind == "PolarizationWithRM":
        *stokes, rm, freq_hz = _numbers(reading, element, ("I", "Q", "U", "V", "rm", "freq0"))
        return tuple(stokes), rm, freq_hz
    raise reading.unsupported(f"a flux of type {element.kind} is not supported", element.place)


def _spectrum(reading: Reading, element: Element | None) -> tuple[tuple[float, ...], float]:
    if element is None or element.kind in ("NoneType", "Spectrum"):
        return (), 0.0
    if element.kind != "SpectralIndex":
        raise reading.unsupported(f"a spectrum of type {element.kind} is not supported", element.place)
    parts = element.positional()
    if len(parts) != 2:
        raise reading.error("a SpectralIndex needs spi and freq0", element.place)
    if parts[0].kind in ("list", "tuple"):
        spectrum = tuple(_number(reading, part, "spi") for part in parts[0].positional())
    else:
        spectrum = (_number(reading, parts[0], "spi"),)
    return spectrum, _number(reading, parts[1], "freq0")


def _shape(reading: Reading, element: Element | None) -> dict[str, tuple[float, float, float]]:
    """The field of a `Source` that holds the axes; none for a point."""
    if element is None or element.kind == "NoneType":
        return {}
    if element.kind not in _PROFILE_OF_CLASS:
        raise reading.unsupported(f"a shape of type {element.kind} is not supported", element.place)
    major, minor, angle = _numbers(reading, element, ("ex", "ey", "pa"))
    return {_PROFILE_OF_CLASS[element.kind]: (major, minor, angle)} if major or minor else {}


def _numbers(reading: Reading, element: Element, names: tuple[str, ...]) -> list[float]:
    parts = element.positional()
    if len(parts) != len(names):
        raise reading.error(f"{element.kind} has {len(parts)} parts, expected {', '.join(names)}", element.place)
    return [_number(reading, part, name) for part, name in zip(parts, names, strict=True)]


def _number(reading: Reading, element: Element, what: str) -> float:
    if element.kind not in ("float", "int"):
        raise reading.error(f"{what} has type {element.kind}, expected a number", element.place)
    return reading.number(element.place, what)


def _string(reading: Reading, element: Element) -> str:
    """The text in a quoted `mdlval`: a string literal and nothing else."""
    text = element.value or ""
    try:
        if len(text) > _MAX_STRING:
            raise ValueError
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, str):
        raise reading.error(f"{text[:60]!r} is not a quoted string", element.place)
    return value
