"""What visibilities cannot tell: which parameters of a reference antenna are held, so that the others have one answer.

V_pq = J_p B J_q^H does not change when every J is multiplied from the right by a matrix U with U B U^H = B. For an
unpolarised sky any unitary U will do; a polarised one leaves fewer. The parameters of the reference antenna that U can
set to anything keep their value in the unit matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..sky import SkyModel
from .terms import Term


def polarisation_of(sky: SkyModel, feed: str) -> str:
    """ "none" if the sky is unpolarised; "parallel" if the brightness matrices are diagonal in these feeds (Stokes Q
    for linear, V for circular); else "crossed"."""
    own, others = (1, (2, 3)) if feed == "linear" else (3, (1, 2))
    if sky.stokes_jy[:, others].any() or (feed == "linear" and sky.rm_rad_m2.any() and sky.stokes_jy[:, 1].any()):
        return "crossed"
    return "parallel" if sky.stokes_jy[:, own].any() else "none"


def held_parameters(term: Term, polarisation: str) -> set[tuple[str, str]]:
    """(part, element) that are held for the reference antenna of a term."""
    kind, elements = term.kind.name, term.elements
    one_phase = polarisation == "crossed"  # crossed hands tell the phase between the feeds
    if kind in ("phase", "delay", "tec"):
        part = {"phase": "phase", "delay": "clock", "tec": "tec"}[kind]
        return {(part, e) for e in (elements[:1] if one_phase else elements)}
    if kind in ("scalar", "diag"):
        return {("im", e) for e in (elements[:1] if one_phase else elements)}
    if kind == "full":
        held = {("im", "00")}
        if not one_phase:
            held.add(("im", "11"))
        if polarisation == "none":  # a lower triangle with a real diagonal
            held |= {("re", "01"), ("im", "01")}
        return held
    if kind == "leakage" and polarisation == "none":
        return {("re", "01"), ("im", "01")}
    if kind == "rotation" and polarisation == "none":
        return {("rotation", "")}
    return set()


def reference_direction(term: Term, terms: Sequence[Term], fluxes_jy: dict[str, float]) -> str | None:
    """The direction for which a term is held, because a term of the whole sky holds what they have in common.

    That is the brightest one; None if nothing is held.
    """
    if term.per is None or not any(
        other.per is None and set(term.kind.quantities) <= set(other.kind.quantities) for other in terms
    ):
        return None
    return max(fluxes_jy, key=lambda name: abs(fluxes_jy[name]))


def reference_antenna(good: np.ndarray, preferred: int | None) -> int:
    """The number (index into `good`, the good data of each antenna) of the antenna to refer phases to.

    `preferred` if it has at least half as many data as the best, else the best.
    """
    best = int(np.argmax(good))
    if preferred is not None and good[preferred] > 0 and 2 * good[preferred] >= good[best]:
        return preferred
    return best
