"""Jones terms as nodes: parameters of each antenna, and the matrix [2,2] that they make."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ... import nodes as rt
from ..._core import SPEED_OF_LIGHT_M_S
from ...writing.scope import NodeDef, NodeScope, NodeStub
from .kinds import TEC_PHASE_HZ
from .terms import Term


@dataclass(frozen=True)
class Parameter:
    """One real parameter of a term: node `node` is part `part` ("re", "im", "amplitude", "phase", "clock", "rate",
    "tec", "rotation") of element `element` (index into `Term.elements`) for an antenna and a direction (None: the whole
    sky). It is a Parm or, of a term in a plane, follows from slopes (`Plane`).

    `start`: its value in the unit matrix. `fixed`: keeps it for every antenna. `referred`: keeps it for the reference
    antenna.
    """

    node: str
    term: str
    part: str
    element: int
    antenna: int
    direction: str | None
    start: float
    fixed: bool
    referred: bool

    @property
    def scales(self) -> bool:
        """Whether the matrix is 0 where all such parameters of an antenna are."""
        return self.part in ("re", "im", "amplitude")


def parts_of(term: Term) -> list[tuple[str, int, float]]:
    """(part, element, value of the unit matrix) of every real parameter that a term has for an antenna."""
    if term.kind.quantities != ("amplitude", "phase"):
        (quantity,) = term.kind.quantities
        if term.kind.name == "crosshand":
            return [(quantity, 1, 0.0)]
        return [(quantity, e, 1.0 if quantity == "amplitude" else 0.0) for e in range(len(term.elements))]
    found = []
    for e, element in enumerate(term.elements):
        crossed = element in ("01", "10")
        if term.kind.name == "leakage" and not crossed:
            continue
        found += [("re", e, 0.0 if crossed else 1.0), ("im", e, 0.0)]
    return found


def jones_nodes(
    ns: NodeScope,
    term: Term,
    antenna: int,
    direction: str | None,
    *,
    fixed: bool,
    held: set[tuple[str, str]],
    held_of_all: Collection[tuple[str, str]] = (),
    modulus: NodeStub | float = 1.0,
    middle: NodeStub | None = None,
    slopes: Sequence[NodeStub] = (),
    place: Sequence[float] = (),
) -> tuple[NodeStub, list[Parameter]]:
    """The matrix `ns.NAME(antenna[, direction])` of a term and its parameters `ns.NAME_PART(...)`; antennas that share
    their solutions have those of the first of them.

    `fixed`: none of them is solved for. `held`: (part, element) of those that are not for a reference antenna;
    `held_of_all`: for none.
    `modulus`: of phasors, and by which rotations are multiplied. `middle`: of solution intervals (MJD, seconds), for a
    term of rates. `slopes`, `place`: of a term in a plane, its Parms and the antenna's coordinates (`Plane`).
    """
    quals = (antenna,) if direction is None else (antenna, direction)
    parameters, nodes = [], {}
    for part, element, start in parts_of(term):
        name = term.elements[element]
        keeps = fixed or (part, name) in held_of_all
        value = _in_plane(slopes, place) if slopes else rt.Parm(value=start, solvable=not keeps)
        node = ns[f"{term.name}_{part}{name}"](*quals) << value
        nodes[part, element] = node
        parameters.append(
            Parameter(node.name, term.name, part, element, antenna, direction, start, keeps, (part, name) in held)
        )
    return ns[term.name](*quals) << _matrix(term, nodes, modulus, middle), parameters


def _in_plane(slopes: Sequence[NodeStub], place: Sequence[float]) -> NodeDef:
    terms = [rt.Multiply(float(factor), slope) for factor, slope in zip(place, slopes, strict=True)]
    return rt.Add(*terms) if len(terms) > 1 else terms[0]


def _matrix(term: Term, nodes: dict, modulus: NodeStub | float, middle: NodeStub | None) -> NodeDef:
    if ("rotation", 0) in nodes:
        return _rotated(nodes["rotation", 0], modulus)
    if ("rotationmeasure", 0) in nodes:
        squared = rt.Sqr(rt.Divide(SPEED_OF_LIGHT_M_S, rt.Freq()))  # of the wavelength
        return _rotated(rt.Multiply(nodes["rotationmeasure", 0], squared), modulus)
    gains = {element: _gain(nodes, e, modulus, middle) for e, element in enumerate(term.elements)}
    if "" in gains:
        return rt.Matrix22(gains[""], 0.0, 0.0, gains[""])
    if "0" in gains:
        return rt.Matrix22(gains["0"], 0.0, 0.0, gains["1"])
    return rt.Matrix22(*(gains[element] for element in ("00", "01", "10", "11")))


def _rotated(angle: NodeDef | NodeStub, modulus: NodeStub | float) -> NodeDef:
    cos, sin = rt.Cos(angle), rt.Sin(angle)
    if not isinstance(modulus, float):
        cos, sin = rt.Multiply(modulus, cos), rt.Multiply(modulus, sin)
    return rt.Matrix22(cos, rt.Negate(sin), sin, cos)


def _gain(nodes: dict, e: int, modulus: NodeStub | float, middle: NodeStub | None) -> NodeDef | float:
    if ("re", e) in nodes:
        return rt.ToComplex(nodes["re", e], nodes["im", e])
    if ("amplitude", e) in nodes:
        return rt.ToComplex(nodes["amplitude", e], 0.0)
    if ("phase", e) in nodes:
        return rt.Polar(modulus, nodes["phase", e])
    if ("clock", e) in nodes:
        return rt.Polar(modulus, rt.Multiply(2 * math.pi, rt.Freq(), nodes["clock", e]))
    if ("rate", e) in nodes:
        delay = rt.Multiply(nodes["rate", e], rt.Subtract(rt.Time(), middle))
        return rt.Polar(modulus, rt.Multiply(2 * math.pi, rt.Freq(), delay))
    if ("tec", e) in nodes:
        return rt.Polar(modulus, rt.Multiply(TEC_PHASE_HZ, rt.Divide(nodes["tec", e], rt.Freq())))
    return 1.0  # the diagonal of a leakage, the first feed of a phase between feeds


def polar_of(
    re: np.ndarray, im: np.ndarray, sigma_re: np.ndarray, sigma_im: np.ndarray, cross: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Amplitude and phase (rad) of complex gains of any dimensions, and their standard deviations to first order;
    `cross`: covariance of the real and the imaginary part."""
    amplitude = np.hypot(re, im)
    with np.errstate(invalid="ignore", divide="ignore"):
        cos, sin = re / amplitude, im / amplitude
        mixed = 2 * sin * cos * cross
        sigma_amplitude = np.sqrt(np.maximum((cos * sigma_re) ** 2 + (sin * sigma_im) ** 2 + mixed, 0))
        sigma_phase = np.sqrt(np.maximum((sin * sigma_re) ** 2 + (cos * sigma_im) ** 2 - mixed, 0)) / amplitude
    # At zero amplitude there is no phase; the amplitude's deviation is that of either part.
    zero = amplitude == 0
    sigma_amplitude = np.where(zero, np.hypot(sigma_re, sigma_im) / math.sqrt(2), sigma_amplitude)
    sigma_phase = np.where(zero, math.pi, sigma_phase)
    return (
        {"amplitude": amplitude, "phase": np.arctan2(im, re)},
        {"amplitude": sigma_amplitude, "phase": sigma_phase},
    )
