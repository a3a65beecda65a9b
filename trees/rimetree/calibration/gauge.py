"""What visibilities cannot tell: which parameters of a reference antenna are held, so that the others have one answer.

V_pq = J_p B J_q^H does not change when every J is multiplied from the right by a matrix U with U B U^H = B for the
brightness B of every source. The parameters of the reference antenna that U can set to anything keep their value in the
unit matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..sky import SkyModel
from .terms import Term


@dataclass(frozen=True)
class Polarisation:
    """Of a sky in some feeds. `hands`: "none"; "parallel" if the brightness matrices are diagonal (Stokes Q for linear,
    V for circular feeds); else "crossed". `uniform`: all sources are polarised alike, at all frequencies."""

    hands: str
    uniform: bool


def polarisation_of(sky: SkyModel, feed: str) -> Polarisation:
    """How the sources of a model are polarised."""
    stokes = sky.stokes_jy
    own, others = (1, (2, 3)) if feed == "linear" else (3, (1, 2))
    rotated = bool((sky.rm_rad_m2 != 0).any() and stokes[:, 1:3].any())
    # Q, U, V that do not follow the spectrum of I are another fraction of it at each frequency.
    bends = bool(sky.spectrum.any() and not sky.spectrum_scales_polarisation.all() and stokes[:, 1:].any())
    intensity = np.where(stokes[:, :1] == 0, 1, stokes[:, :1])
    fractions = stokes[:, 1:] / intensity
    uniform = bool(np.ptp(fractions, axis=0).max() < 1e-12) and not rotated and not bends
    if stokes[:, others].any() or (feed == "linear" and rotated):
        return Polarisation("crossed", uniform)
    return Polarisation("parallel" if stokes[:, own].any() else "none", uniform)


def held_parameters(term: Term, polarisation: Polarisation) -> set[tuple[str, str]]:
    """(part, element) that are held for the reference antenna of a term."""
    kind, elements = term.kind.name, term.elements
    one_phase = polarisation.hands == "crossed"  # crossed hands tell the phase between the feeds
    if kind in ("phase", "delay", "tec"):
        part = {"phase": "phase", "delay": "clock", "tec": "tec"}[kind]
        return {(part, e) for e in (elements[:1] if one_phase else elements)}
    if kind in ("scalar", "diag"):
        return {("im", e) for e in (elements[:1] if one_phase else elements)}
    if kind == "full":
        # With one B for all sources, B = C C^H with a lower triangle C of real diagonal, and J C can be turned into
        # such a triangle; so can J then. (U is no unitary matrix if B is no multiple of the unit matrix.)
        if polarisation.uniform:
            return {("im", "00"), ("im", "11"), ("re", "01"), ("im", "01")}
        return {("im", "00")} if one_phase else {("im", "00"), ("im", "11")}
    if kind == "leakage" and polarisation.hands == "none":
        return {("re", "01"), ("im", "01")}
    if kind == "rotation" and polarisation.hands == "none":
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
