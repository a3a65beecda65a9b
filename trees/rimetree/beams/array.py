"""The beams of the antennas of an array, alike or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import Error
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope, NodeStub
from .dish import Beam
from .pattern import BeamPattern

#: Of a pattern that turns on the sky: position angles whose mean a report goes by.
_ANGLES = 8


def kinds_of(beams: Beam | BeamPattern | Sequence[Beam | BeamPattern]) -> tuple[list[Beam | BeamPattern], list[int]]:
    """The different ones among the beams of antennas, and for each antenna which of them it has; none where one beam is
    that of all."""
    if isinstance(beams, Beam | BeamPattern):
        return [beams], []
    kinds = list(dict.fromkeys(beams))
    number = {kind: k for k, kind in enumerate(kinds)}
    return kinds, [number[beam] for beam in beams]


def jones_nodes(
    ns: NodeScope, beams: Sequence[Beam | BeamPattern], n_source: int, radec, radec_0, lmn
) -> list[NodeStub]:
    """`ns.voltage(k)`: what the k-th beam does to signals from directions `radec` [S,2], S = `n_source`: real numbers
    [S], or matrices [S,2,2] of all if some beam is a `BeamPattern`.

    `radec_0`: a node [2], the phase centre; `lmn`: the directions from there. Those from where beams point are
    `ns.pointed(k)`.
    """
    pointed, written = {None: lmn}, []
    matrices = any(isinstance(beam, BeamPattern) for beam in beams)
    for k, beam in enumerate(beams):
        place = beam.pointing_rad
        if place not in pointed:
            pointed[place] = ns.pointed(len(pointed) - 1) << rt.LMN(radec, rt.Constant(place))
        if isinstance(beam, BeamPattern):
            middle = radec_0 if place is None else rt.Constant(place)
            written.append(ns.voltage(k) << beam.jones(ns, k, pointed[place], middle, n_source))
        elif matrices:
            unit = rt.Constant(np.tile(np.eye(2), (n_source, 1, 1)))
            written.append(ns.voltage(k) << rt.MatrixMultiply(beam.voltage(pointed[place]), unit))
        else:
            written.append(ns.voltage(k) << beam.voltage(pointed[place]))
    return written


def voltages(
    beams: Sequence[Beam | BeamPattern],
    radec_rad: NDArray[np.float64],
    phase_centre_rad: Sequence[float],
    frequency_hz: Sequence[float],
) -> NDArray[np.float64]:
    """[beam,source,freq] what is left of the amplitude of signals: of a `BeamPattern` the root of what is left of the
    power of unpolarised sources, and where it turns on the sky the mean over all position angles."""
    cells = Cells(freq_hz=frequency_hz, freq_width_hz=1.0, time_s=[0.0])
    found = []
    for beam in beams:
        ns = NodeScope()
        ns.lmn << rt.LMN(rt.Constant(radec_rad), rt.Constant(beam.pointing_rad or phase_centre_rad))
        if isinstance(beam, Beam):
            ns.power << rt.Sqr(beam.voltage(ns.lmn))
        else:
            ns.power << beam.power(ns, ns.lmn, len(radec_rad), 1 if beam.site_m is None else _ANGLES)
        power = Forest(ns).evaluate(ns.power, cells)[:, 0]
        found.append(np.sqrt(np.broadcast_to(power.real, (len(radec_rad), len(frequency_hz)))))
    return np.stack(found)


def mean_power(voltage: NDArray[np.float64]) -> NDArray[np.float64]:
    """[source,freq] mean over all pairs of antennas of the product of their voltages [antenna,source,freq]; of one
    antenna, its power."""
    n = len(voltage)
    if n == 1:
        return voltage[0] ** 2
    return (voltage.sum(axis=0) ** 2 - (voltage**2).sum(axis=0)) / (n * (n - 1))


def require_feed(beams: Sequence[Beam | BeamPattern], feed: str) -> None:
    """Raises `Error` where a pattern is that of other feeds."""
    for beam in beams:
        if isinstance(beam, BeamPattern) and beam.feed != feed:
            raise Error(f"{beam.name} is the pattern of {beam.feed} feeds, but the visibilities are of {feed} ones")


def require_pointing(beams: Beam | BeamPattern | Sequence[Beam | BeamPattern] | None) -> None:
    """Raises `Error` where beams point to the phase centre, which must be that of the Measurement Set then."""
    if beams is not None and any(beam.pointing_rad is None for beam in kinds_of(beams)[0]):
        raise Error(
            "the sky is seen through beams that point to the phase centre, and the phase centre is not that of the "
            "set: give the beams a pointing_rad"
        )


def beams_text(beams: Beam | BeamPattern | Sequence[Beam | BeamPattern]) -> str:
    """As a report says it: "the airy beam of a dish of 12 m", "beams: 3 x airy beam of a dish of 12 m, 2 x ..." """
    kinds, of_antenna = kinds_of(beams)
    if not of_antenna:
        return f"the {kinds[0]}"
    texts = [f"{of_antenna.count(k)} x {kind}" for k, kind in enumerate(kinds[:5])]
    return f"beams: {', '.join([*texts, *(['...'] if len(kinds) > 5 else [])])}"
