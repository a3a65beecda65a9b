"""Source lists of mwa_hyperdrive (`.yaml`): points, shapes and shapelets.

A mapping of source names to lists of components, each with `ra`, `dec` (deg), `comp_type`: `point`, or
`gaussian: {maj, min, pa}` (arcsec, full widths at half maximum; deg, north through east, taken as on the sky at the
source), `shapelet: {maj, min, pa, coeffs: [{n1, n2, value}, ...]}` (`rimetree.sky.shapelets`) or, understood here only,
another profile under its name; and `flux_type`, of which there is one of

    power_law: {si, fd: {freq (Hz), i, q, u, v (Jy)}}           S = S0 (nu/nu0)^si
    curved_power_law: {si, q, fd: {...}}                        S = S0 (nu/nu0)^si exp(q ln^2(nu/nu0))
    list: [{freq, i, q, u, v}, ...]                             fluxes at frequencies

Q, U and V scale with the spectrum. Through a list go power laws from one entry to the next, and on beyond its ends, or
straight lines where fluxes of I are 0 or change sign (`FluxTable`, which also says what Q, U and V do between entries);
to one power law that goes through all entries to 1e-3 it is shortened. A list of one entry has the spectral index -0.8,
as in hyperdrive. Components become sources NAME (one component) or NAME_0, NAME_1, ... of the patch NAME.

Fluxes of shapelets become those integrated over the source, where that is not 0: what the list says times the sum
that the coefficients give at zero spacing.

Source: mwa_hyperdrive's documentation, "Source lists: the hyperdrive format" and "Flux-density types".
"""

from __future__ import annotations

import functools
import math

import yaml

from .angles import axes_rad
from .errors import SkyModelError
from .flux_list import fluxes_through, times
from .model import SkyModel
from .reading import Cell, Reading
from .shapelets import Shapelets
from .source import PROFILES, Source


def read_hyperdrive(reading: Reading, text: str) -> SkyModel:
    """The model in the text of a list. Raises `SkyModelError` with file and line."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise SkyModelError(f"this is not YAML: {problem}".split("\n")[0], file=reading.file, line=line) from None
    if not isinstance(root, yaml.MappingNode):
        raise SkyModelError("expected a mapping of source names to lists of components", file=reading.file, line=1)
    for key, components in root.value:
        _require_name(reading, key)
        if not isinstance(components, yaml.SequenceNode):
            raise reading.error(f"source {key.value!r} is no list of components", _place(key))
        parts = [(_place(node), functools.partial(_source, reading, node, key.value)) for node in components.value]
        reading.components(key.value, parts)
    return reading.model()


def _place(node: yaml.Node, text: str = "") -> Cell:
    return Cell(text, node.start_mark.line + 1, node.start_mark.column + 1)


def _require_name(reading: Reading, key: yaml.Node) -> None:
    if not isinstance(key, yaml.ScalarNode):
        raise reading.error(f"a {_kind_of(key)} stands where a name is expected", _place(key))


def _kind_of(node: yaml.Node) -> str:
    return {yaml.SequenceNode: "list", yaml.MappingNode: "mapping"}.get(type(node), "value")


def _source(reading: Reading, node: yaml.Node, patch: str, name: str) -> Source:
    return _Component(reading, node, name).source(name, patch)


class _Component:
    """One component: a mapping, whose values are asked for by name."""

    def __init__(self, reading: Reading, node: yaml.Node, what: str):
        self._reading = reading
        self._what = what
        self.place = _place(node)
        if not isinstance(node, yaml.MappingNode):
            raise reading.error(f"{what}: expected a mapping", self.place)
        self._values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            _require_name(reading, key)
            if key.value in self._values:
                raise reading.error(f"{what}: {key.value} is given twice", _place(key))
            self._values[key.value] = value

    def _part(self, key: str) -> _Component:
        return _Component(self._reading, self._value(key), f"{self._what}: {key}")

    def _value(self, key: str) -> yaml.Node:
        if key not in self._values:
            raise self._reading.error(f"{self._what}: {key} is missing", self.place)
        return self._values[key]

    def _number(self, key: str, default: float | None = None) -> float:
        if default is not None and key not in self._values:
            return default
        node = self._value(key)
        if not isinstance(node, yaml.ScalarNode):
            raise self._reading.error(f"{self._what}: {key} is a {_kind_of(node)}, expected a number", _place(node))
        return self._reading.number(_place(node, node.value), f"{self._what}: {key}")

    def source(self, name: str, patch: str) -> Source:
        fluxes = self._part("flux_type")._fluxes()
        shape = self._shape()
        if "shapelets" in shape:
            shape["shapelets"], factor = shape["shapelets"].of_unit_flux()
            fluxes = times(fluxes, factor)
        return self._reading.build(
            self.place,
            name=name,
            ra_rad=math.radians(self._number("ra")),
            dec_rad=math.radians(self._number("dec")),
            spectrum_scales_polarisation=True,
            patch=patch,
            **fluxes,
            **shape,
        )

    def _shape(self) -> dict[str, tuple[float, float, float] | Shapelets]:
        """The field of a `Source` that holds its shape; none for a point."""
        kind = self._value("comp_type")
        if isinstance(kind, yaml.ScalarNode) and kind.value == "point":
            return {}
        if isinstance(kind, yaml.SequenceNode):
            raise self._reading.error(f"{self._what}: comp_type is a list, expected point, or a mapping", _place(kind))
        names = [kind.value] if isinstance(kind, yaml.ScalarNode) else list(self._part("comp_type")._values)
        if len(names) != 1 or names[0] not in (*PROFILES, "shapelet"):
            raise self._reading.unsupported(
                f"{self._what}: components of type {', '.join(names)} are not supported, only "
                f"{', '.join(['point', *PROFILES])} and shapelet",
                _place(kind),
            )
        shape = self._part("comp_type")._part(names[0])
        major, minor, angle = (shape._number(key) for key in ("maj", "min", "pa"))
        axes = axes_rad(major, minor, angle)
        if names[0] != "shapelet":
            return {names[0]: axes}
        coefficients = shape._coefficients()
        try:
            return {"shapelets": Shapelets(*axes, coefficients)}
        except SkyModelError as problem:
            raise self._reading.placed(problem, _place(kind), f"{self._what}: ") from None

    def _coefficients(self) -> list[tuple[int, int, float]]:
        node = self._value("coeffs")
        if not isinstance(node, yaml.SequenceNode):
            raise self._reading.error(f"{self._what}: coeffs is no list", _place(node))
        entries = [_Component(self._reading, one, f"{self._what}: coeffs") for one in node.value]
        return [(entry._order("n1"), entry._order("n2"), entry._number("value")) for entry in entries]

    def _order(self, key: str) -> int:
        number = self._number(key)
        if number != int(number):
            raise self._reading.error(f"{self._what}: {key} is {number:g}, expected a whole number", self.place)
        return int(number)

    def _density(self) -> tuple[float, tuple[float, float, float, float]]:
        frequency_hz = self._number("freq")
        if frequency_hz <= 0:
            raise self._reading.error(f"{self._what}: a frequency of {frequency_hz:g} Hz", self.place)
        return frequency_hz, (self._number("i"), *(self._number(key, 0.0) for key in "quv"))

    def _fluxes(self) -> dict[str, object]:
        """The fields of a `Source` that hold its fluxes."""
        (kind,) = list(self._values) if len(self._values) == 1 else [""]
        if kind in ("power_law", "curved_power_law"):
            law = self._part(kind)
            curvature = (law._number("q"),) if kind == "curved_power_law" else ()
            reference_hz, stokes = law._part("fd")._density()
            return {"stokes_jy": stokes, "ref_freq_hz": reference_hz, "spectrum": (law._number("si"), *curvature)}
        if kind == "list" and not isinstance(self._values[kind], yaml.SequenceNode):
            raise self._reading.error(f"{self._what}: list is no list of fluxes", self.place)
        if kind != "list":
            names = ", ".join(self._values) or "none"
            raise self._reading.unsupported(
                f"{self._what} {names} is not supported, only one of power_law, curved_power_law, list", self.place
            )
        entries = [_Component(self._reading, node, self._what)._density() for node in self._values[kind].value]
        try:
            return fluxes_through(entries)
        except SkyModelError as problem:
            raise self._reading.placed(problem, self.place, f"{self._what}: ") from None
