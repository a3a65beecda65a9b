"""The beams of the antennas of an array, alike or not."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from .._core import Error
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeScope, NodeStub
from .dish import Beam
from .pattern import BeamPattern
from .place import Place
from .polynomial import PolynomialBeam
from .standing_pattern import StandingPattern
from .station import StationBeam

AnyBeam = Beam | PolynomialBeam | BeamPattern | StandingPattern | StationBeam


def kinds_of(beams: AnyBeam | Sequence[AnyBeam]) -> tuple[list[AnyBeam], list[int]]:
    """The different ones among the beams of antennas, and for each antenna which of them it has; none where one beam is
    that of all."""
    if isinstance(beams, AnyBeam):
        return [beams], []
    kinds = list(dict.fromkeys(beams))
    number = {kind: k for k, kind in enumerate(kinds)}
    return kinds, [number[beam] for beam in beams]


def jones_nodes(ns: NodeScope, beams: Sequence[AnyBeam], place: Place) -> list[NodeStub]:
    """`ns.voltage(k)`: what the k-th beam does to signals of the sources of `place`, whose centre is the phase centre:
    numbers [S], or matrices [S,2,2] of all if some beam is not scalar. Directions from where beams point are
    `ns.pointed(k)`."""
    places, written = {None: place}, []
    matrices = not all(beam.is_scalar for beam in beams)
    for k, beam in enumerate(beams):
        pointing = beam.pointing_rad
        if pointing not in places:
            centre = rt.Constant(pointing)
            lmn = ns.pointed(len(places) - 1) << rt.LMN(place.radec, centre)
            places[pointing] = replace(place, centre=centre, lmn=lmn)
        jones = beam.jones(ns, k, places[pointing])
        written.append(
            ns.voltage(k) << (rt.MatrixMultiply(jones, place.unit()) if matrices and beam.is_scalar else jones)
        )
    return written


def voltages(
    beams: Sequence[AnyBeam],
    radec_rad: NDArray[np.float64],
    phase_centre_rad: Sequence[float],
    frequency_hz: Sequence[float],
    time_s: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """[beam,source,freq] what is left of the amplitude of signals: the root of what is left of the power of unpolarised
    sources, mean over times. Raises `Error` where a beam varies in time, and no times are given."""
    if time_s is None and any(beam.varies_in_time for beam in beams):
        raise Error("beams that move on the sky are asked for without the times")
    cells = Cells(freq_hz=frequency_hz, freq_width_hz=1.0, time_s=[0.0] if time_s is None else time_s, time_width_s=1.0)
    ns, found = NodeScope(), []
    nodes = jones_nodes(ns, beams, Place.of(ns, radec_rad, phase_centre_rad))
    forest = Forest(ns)
    for node in nodes:
        power = np.abs(forest.evaluate(node, cells)) ** 2
        power = power.mean(axis=-2) if power.ndim == 3 else 0.5 * power.sum(axis=(1, 2)).mean(axis=-2)
        found.append(np.broadcast_to(power, (len(radec_rad), len(frequency_hz))))
    return np.sqrt(np.stack(found))


def mean_power(voltage: NDArray[np.float64]) -> NDArray[np.float64]:
    """[source,freq] mean over all pairs of antennas of the product of their voltages [antenna,source,freq]; of one
    antenna, its power."""
    n = len(voltage)
    if n == 1:
        return voltage[0] ** 2
    return (voltage.sum(axis=0) ** 2 - (voltage**2).sum(axis=0)) / (n * (n - 1))


def require_feed(beams: Sequence[AnyBeam], feed: str) -> None:
    """Raises `Error` where a pattern is that of other feeds."""
    for beam in beams:
        if beam.feed not in (None, feed):
            raise Error(f"{beam.name} has {beam.feed} feeds, but the visibilities are of {feed} ones")


def warn_of_mixed_feeds(beams: AnyBeam | Sequence[AnyBeam]) -> None:
    """Where some antennas have feeds that stand on the ground, and others ones that follow the sky."""
    kinds = kinds_of(beams)[0]
    standing, others = ([one for one in kinds if one.feeds_stand is is_so] for is_so in (True, False))
    if standing and others:
        warnings.warn(
            f"X of the {standing[0]} stands on the ground, and that of the {others[0]} is to the north on the sky: "
            "between these two kinds of antennas correlations are of feeds that point to different sides",
            stacklevel=3,
        )


def require_pointing(beams: AnyBeam | Sequence[AnyBeam] | None) -> None:
    """Raises `Error` where beams point to the phase centre, which must be that of the Measurement Set then."""
    if beams is not None and any(beam.follows_phase_centre for beam in kinds_of(beams)[0]):
        raise Error(
            "the sky is seen through beams that point to the phase centre, and the phase centre is not that of the "
            "set: give the beams a pointing_rad"
        )


def beams_text(beams: AnyBeam | Sequence[AnyBeam]) -> str:
    """As a report says it: "the airy beam of a dish of 12 m", "beams: 3 x airy beam of a dish of 12 m, 2 x ..." """
    kinds, of_antenna = kinds_of(beams)
    if len(kinds) == 1:
        return f"the {kinds[0]}"
    alike: dict[str, list[int]] = {}
    for k, kind in enumerate(kinds):
        alike.setdefault(kind.description if isinstance(kind, StationBeam) else str(kind), []).append(k)
    texts = []
    for text, members in list(alike.items())[:5]:
        if isinstance(kinds[members[0]], StationBeam):
            text = str(kinds[members[0]]) if len(members) == 1 else f"{text} ({_digest(kinds, members)})"
        texts.append(f"{sum(map(of_antenna.count, members))} x {text}")
    return f"beams: {', '.join([*texts, *(['...'] if len(alike) > 5 else [])])}"


def _digest(kinds: Sequence[AnyBeam], members: Sequence[int]) -> str:
    """Of the fingerprints of some kinds."""
    return hashlib.sha256("".join(kinds[k].fingerprint for k in members).encode()).hexdigest()[:8]
