"""What visibilities cannot tell: which parameters of a reference antenna are held, so that the others have one answer.

V_pq = J_p B J_q^H does not change when every J is multiplied from the right by a matrix U with U B U^H = B for the
brightness B of every source. The parameters of the reference antenna that U can set to anything keep their value in the
unit matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...sky import SkyModel
from .conventions import as_fine, covers
from .kinds import FREQUENCY_QUANTITIES, ROTATIONS, TURNING
from .terms import Term

#: Factors of sigma_z, sigma_x and sigma_y.
Axis = tuple[complex, complex, complex]
PAULI = np.array([[[1, 0], [0, -1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]]])


@dataclass(frozen=True)
class Polarisation:
    """Of a sky in some feeds. `hands`: "none"; "parallel" if the brightness matrices are diagonal (Stokes Q for linear,
    V for circular feeds); else "crossed". `uniform`: all sources are polarised alike, at all frequencies.

    `axis`: where sources are polarised in two ways (of which one may be: not at all), the (z, x, y) of
    A = z sigma_z + x sigma_x + y sigma_y, with Pauli's matrices and A A = 1, such that exp(i theta A) leaves the
    brightness of all of them as it is, for any theta. If all that are polarised are so along one line it is that line,
    and real; of a single way it is the line of that. None: there is no such matrix."""

    hands: str
    uniform: bool
    axis: Axis | None = None

    @property
    def turned(self) -> set[tuple[str, str]]:
        """(part, element) off the diagonal of a matrix near the unit matrix that such turns change most, if there are
        any, and they are not those of "parallel"."""
        if self.axis is None or self.hands != "crossed":
            return set()
        _, x, y = self.axis
        slope = 1j * (x - 1j * y)
        return {("im" if abs(slope.imag) >= abs(slope.real) else "re", "01")}


def polarisation_of(sky: SkyModel, feed: str) -> Polarisation:
    """How the sources of a model are polarised, without what a beam makes of that."""
    stokes = sky.stokes_jy
    tables = [source.table for source in sky if source.table is not None]
    if any(table.is_polarised for table in tables):  # as many ways as there are frequencies
        stokes = np.concatenate([stokes, *(table.all_stokes() for table in tables)])
    rotated = bool((sky.rm_rad_m2 != 0).any() and stokes[:, 1:3].any())
    # Q, U, V that do not follow the spectrum of I are another fraction of it at each frequency.
    bends = bool(sky.spectrum.any() and not sky.spectrum_scales_polarisation.all() and stokes[:, 1:].any())
    return polarisation_of_stokes(stokes, feed, rotated, bends)


def polarisation_of_stokes(
    stokes: NDArray[np.float64], feed: str, rotated: bool = False, bends: bool = False
) -> Polarisation:
    """`polarisation_of` sources of Stokes parameters [any,4]; `rotated`: their Q and U turn along the band; `bends`:
    their fractions of I change along it."""
    own, others = (1, (2, 3)) if feed == "linear" else (3, (1, 2))
    intensity = np.where(stokes[:, :1] == 0, 1, stokes[:, :1])
    fractions = stokes[:, 1:] / intensity
    uniform = bool(np.ptp(fractions, axis=0).max() < 1e-12) and not rotated and not bends
    # Of circular feeds Q + iU is what U + iV is of linear ones: x - iy.
    ways = stokes[:, [0, own, *others]] * (1, 1, 1, -1)
    if bends:  # a source is polarised in many ways, which differ by how much it is
        ways = np.concatenate([ways * (1, 0, 0, 0), ways * (0, 1, 1, 1)])
    error = 1e-7 * np.abs(stokes[:, 1:]).max(initial=0.0)  # sums of squares have twice the digits
    axis = None if rotated else axis_of(ways, error)
    if stokes[:, others].any() or (feed == "linear" and rotated):
        return Polarisation("crossed", uniform, axis)
    return Polarisation("parallel" if stokes[:, own].any() else "none", uniform, axis)


def axis_of(ways: NDArray, error: float) -> Axis | None:
    """`Polarisation.axis` of brightnesses i + z sigma_z + x sigma_x + y sigma_y, [source, (i, z, x, y)] times any phase
    each. `error`: of their elements, which are in the same unit."""
    # Sums of v v^H, of which two real vectors at most may count.
    sizes, vectors = np.linalg.eigh(np.einsum("si,sj->ij", ways, np.conj(ways)))
    least = len(ways) * error**2
    count = int((sizes > least).sum())
    if error == 0 or not 0 < count <= 2:
        return None
    shadow = vectors[:, -count:] @ np.conj(vectors[:, -count:].T)
    if np.sum(shadow.imag**2) * sizes[-count] > least:
        return None
    basis = np.linalg.eigh(shadow.real)[1][:, -count:].T
    if count == 1:
        basis = np.concatenate([basis, np.eye(4)[:1]])
    return _axis_of_two(basis)


def _axis_of_two(basis: NDArray[np.float64]) -> Axis | None:
    """`axis_of` two brightnesses: the A with A B = B A^H for both."""
    unit = np.concatenate([PAULI, 1j * PAULI])
    brightness = basis[:, 0, None, None] * np.eye(2) + np.einsum("bk,kij->bij", basis[:, 1:], PAULI)
    change = np.einsum("kij,bjl->kbil", unit, brightness) - np.einsum("bij,klj->kbil", brightness, np.conj(unit))
    flat = change.reshape(6, -1)
    _, sizes, rows = np.linalg.svd(np.concatenate([flat.real, flat.imag], axis=1).T)
    axis = rows[-1, :3] + 1j * rows[-1, 3:]
    square = np.sum(axis**2)
    # Else several, or no turns (of brightnesses that no source has).
    if sizes[-2] < 1e-9 * sizes[0] or not square.real > 1e-9 or abs(square.imag) > 1e-6 * square.real:
        return None
    axis = axis / np.sqrt(square.real)
    axis = np.where(np.abs(axis.real) < 1e-9, 0, axis.real) + 1j * np.where(np.abs(axis.imag) < 1e-9, 0, axis.imag)
    z, x, y = axis * np.sign(axis.real[np.argmax(np.abs(axis.real))])
    return complex(z), complex(x), complex(y)


def held_parameters(
    term: Term,
    terms: Sequence[Term],
    polarisation: Polarisation,
    *,
    two_sides: bool = False,
    crossed_alone: bool = False,
) -> set[tuple[str, str]]:
    """(part, element) that are held for the reference antenna of one of the terms.

    `crossed_alone`: data have no parallel hands, and no term mixes feeds. All gains of one feed can grow as those of
    the other shrink: the amplitude of one of the reference's is held, too.

    `two_sides`: as `has_two_sides` says of the baselines. Gains of one side can then grow as those of the other shrink:
    amplitudes of the reference are held too, and those of others are relative to it.

    With gains for both feeds around a leakage, the relative phase of the reference's feeds is held as well where only
    leakages tell it, as is usual, although they tell it a little where gains change and leakages do not. Of full
    matrices turns around `Polarisation.axis` are settled after the fit (`axis_gauge`).
    """
    kind, elements = term.kind.name, term.elements
    if crossed_alone and not two_sides and kind in ("diag", "amplitude") and len(elements) == 2:
        own = held_parameters(term, terms, polarisation)
        return own | {("amplitude" if kind == "amplitude" else "re", elements[0])}
    if two_sides and kind in ("scalar", "diag", "amplitude", "full"):
        return _held_with_two_sides(kind, elements, polarisation)
    if two_sides and kind == "leakage" and polarisation.hands == "none":
        return {(p, e) for p in ("re", "im") for e in ("01", "10")}
    # Crossed hands tell the phase between the feeds, of a polarised sky or of feeds that are turned further inside.
    turned = any(other.kind.name in ROTATIONS for other in terms_inside(term, terms))
    one_phase = polarisation.hands == "crossed" or turned
    if kind in TURNING:
        (part,) = term.kind.quantities
        return {(part, e) for e in (elements[:1] if one_phase else elements)}
    if kind in ("scalar", "diag"):
        return {("im", e) for e in (elements[:1] if one_phase else elements)}
    if kind == "full":
        # With one B for all sources, B = C C^H with a lower triangle C of real diagonal, and J C can be turned into
        # such a triangle; so can J then. (U is no unitary matrix if B is no multiple of the unit matrix.)
        # What turns it would have to turn what stands inside it as well.
        inside = terms_inside(term, terms)
        if any(not other.kind.diagonal for other in inside):
            return {("im", "00")}
        if polarisation.uniform and all(other.elements == ("",) for other in inside):
            return {("im", "00"), ("im", "11"), ("re", "01"), ("im", "01")}
        return {("im", "00")} if one_phase else {("im", "00"), ("im", "11")}
    if kind == "leakage":
        if _any_gains_of_feeds(term, terms):
            # Together they are a full matrix: what is not held of the gains is held here.
            triangle = {("re", "01"), ("im", "01")} | ({("im", "10")} if one_phase else set())
            return triangle if polarisation.uniform else polarisation.turned
        return {("re", "01"), ("im", "01")} if polarisation.hands == "none" else set()
    around = polarisation.axis is not None and not any(polarisation.axis[:2])  # which rotations leave as it is
    if kind in ("rotation", "faraday") and (polarisation.hands == "none" or around):
        if any(other.kind.name == "full" for other in terms_inside(term, terms)):  # which make crossed hands
            return set()
        return {("rotation" if kind == "rotation" else "rotationmeasure", "")}
    return set()


def held_of_all(term: Term, terms: Sequence[Term]) -> set[tuple[str, str]]:
    """(part, element) of a term that are held for all antennas.

    Gains of feeds and leakages together take any turn that rotations of all directions further inside have in common:
    then leakages of feed 0 from feed 1 have no real part.
    """
    if term.kind.name != "leakage" or term.per is not None or term not in terms:
        return set()
    inside, outside = terms_inside(term, terms), terms[: terms.index(term)]
    turned = [one for one in inside if one.kind.name == "rotation" and one.per is not None and not one.only]
    gains = [one for one in outside if one.per is None and len(one.elements) == 2 and as_fine(one, term)]
    taken = bool(turned) and inside == turned[:1] and as_fine(term, turned[0]) and _any_gains_of_feeds(term, gains)
    return {("re", "01")} if taken else set()


def _any_gains_of_feeds(term: Term, terms: Sequence[Term]) -> bool:
    """Whether terms beside one make any gains of feeds, written as one term or as amplitudes and phases."""
    kinds = {other.kind.name for other in terms if other.per == term.per and len(other.elements) == 2}
    return "diag" in kinds or {"amplitude", "phase"} <= kinds


def turned_inside(
    term: Term,
    terms: Sequence[Term],
    direction: str | None,
    polarisation_of: Callable[[str | None, str | None], Polarisation],
    directions: Callable[[str], Sequence[str]],
) -> bool:
    """Whether full matrices further inside take any phase between the feeds from a term (of a direction), so that
    crossed hands do not tell it: they have as many solutions, and their sky, or that of each of their directions, is
    polarised in one way.

    `polarisation_of(per, direction)`: of the whole sky (None, None), or of a direction."""
    for other in terms_inside(term, terms):
        if other.kind.name != "full" or not as_fine(other, term):
            continue
        if other.per is None or other.per == term.per:
            found = polarisation_of(other.per, direction).uniform
        else:
            found = all(
                other.acts_on(name) and polarisation_of(other.per, name).uniform for name in directions(other.per)
            )
        if found:
            return True
    return False


def exchanges_turns(
    term: Term,
    terms: Sequence[Term],
    polarisation_of: Callable[[str | None, str | None], Polarisation],
    directions: Callable[[str], Sequence[str]],
) -> bool:
    """Whether data leave open a phase between the feeds of a term, as full matrices further inside turn with it on a
    sky (or in a direction) that is polarised in one way: no exchange, as that changes no product of them, and no phase
    that is held (`turned_inside`, with these arguments), as that may be another in each interval."""
    if term.kind.name not in ("diag", "phase") or len(term.elements) != 2:
        return False
    for other in terms_inside(term, terms):
        if other.kind.name == "full" and not as_fine(other, term):
            names = [None] if other.per is None else [name for name in directions(other.per) if other.acts_on(name)]
            if any(polarisation_of(other.per, name).uniform for name in names):
                return True
    return False


#: (name of a term, part, element).
Place = tuple[str, str, str]


def told_by_terms(terms: Sequence[Term]) -> tuple[set[Place], dict[Place, bool]]:
    """What is held of the reference antenna although data may tell it, and what is to be held instead: in each
    direction (True), or in the brightest alone, as one of the whole sky takes it from all.

    Where what feeds do inside of a leakage, or outside of it, changes within its intervals, or inside of it with the
    direction, no turn of all matrices leaves leakages what they are; nor does it full matrices, where that is outside
    of them. What feeds do inside of a rotation tells by how much all antennas are turned. How well all that is told
    depends on how large these, and changes, are.
    """
    whole = [term for term in terms if term.per is None]
    released: set[Place] = set()
    instead: dict[Place, bool] = {}
    for term in (one for one in whole if one.kind.name in ("rotation", "faraday")):
        if any(other.elements != ("",) for other in terms_inside(term, whole)):
            released.add((term.name, "rotation" if term.kind.name == "rotation" else "rotationmeasure", ""))
    for term in (one for one in terms if one.kind.name in ("leakage", "full")):
        inside = terms_inside(term, terms)
        of_feeds = [t for t in terms if t.kind.diagonal and len(t.elements) == 2]
        of_feeds = [t for t in of_feeds if t in inside or t.per in (None, term.per)]
        # A term of directions inside of one of the whole sky is another in each of them.
        apart = [t for t in of_feeds if t.per not in (None, term.per)]
        changing = [t for t in of_feeds if t in apart or _moves(t) or not as_fine(term, t)]
        steady = [other for other in inside if other.kind.name == "full" and not as_fine(other, term)]
        # Turns of rotations that are others in each direction pass none of them but such as they are themselves, and
        # without gains leakages have diagonals of 1, which turns change in the second order.
        rotated = any(other.kind.name in ROTATIONS and other.per not in (None, term.per) for other in inside)
        alone = term.per is None and not _any_gains_of_feeds(term, terms)
        if term.kind.name == "leakage" and (steady or rotated or alone or any(other in inside for other in changing)):
            released |= {(term.name, part, element) for part in ("re", "im") for element in ("01", "10")}
        outside = [other for other in changing if other not in inside]
        outside = [t for k, t in enumerate(outside) if not _is_exchanged(t, outside, k)]
        released |= {(t.name, part, t.elements[1]) for t in outside for part in ("im", "phase", "clock", "rate", "tec")}
        # A phase can be moved between both for each interval of the leakage; else conventions of the Solver hold one.
        gains = [other for other in outside if "phase" in other.kind.quantities]
        if term.kind.name == "leakage" and not rotated and any(as_fine(other, term) for other in gains):
            instead[term.name, "im", "10"] = all(other.per == term.per for other in gains)
    return released, instead


def _is_exchanged(term: Term, terms: Sequence[Term], place: int) -> bool:
    """Whether another of some terms takes any phase of feeds from this one, which is at this place among them."""
    finer = [
        other
        for k, other in enumerate(terms)
        if other is not term and "phase" in other.kind.quantities and as_fine(other, term)
        if k < place or not as_fine(term, other)
    ]
    return bool(finer) and not _moves(term)


def _moves(term: Term) -> bool:
    """Whether a diagonal term changes within its intervals."""
    return bool(FREQUENCY_QUANTITIES & set(term.kind.quantities))


def terms_inside(term: Term, terms: Sequence[Term]) -> list[Term]:
    """Terms that stand further inside."""
    place = next((k for k, other in enumerate(terms) if other.name == term.name), len(terms))
    behind = [other for other in terms[place + 1 :] if other.per == term.per]
    return behind + ([other for other in terms if other.per is not None] if term.per is None else [])


def _held_with_two_sides(kind: str, elements: Sequence[str], polarisation: Polarisation) -> set[tuple[str, str]]:
    """U B W^H = B for all B, with U for one side and W for the other: U may be any matrix if there is one B, else any
    diagonal one if all B are diagonal, else any number."""
    if kind == "full" and polarisation.uniform:
        free = elements
    elif polarisation.hands == "crossed":
        free = elements[:1]
    else:
        free = [element for element in elements if element not in ("01", "10")]
    return {(part, element) for part in (("amplitude",) if kind == "amplitude" else ("re", "im")) for element in free}


def has_two_sides(baselines: Sequence[tuple[int, int]]) -> bool:
    """Whether three antennas or more fall into two sides such that all baselines go from one side to the other."""
    side: dict[int, int] = {}
    neighbours: dict[int, set[int]] = {}
    for p, q in baselines:
        neighbours.setdefault(p, set()).add(q)
        neighbours.setdefault(q, set()).add(p)
    for first in neighbours:
        if first in side:
            continue
        side[first] = 0
        waiting = [first]
        while waiting:
            antenna = waiting.pop()
            for other in neighbours[antenna]:
                if other not in side:
                    side[other] = 1 - side[antenna]
                    waiting.append(other)
                elif side[other] == side[antenna]:
                    return False
    return len(side) > 2


def reference_direction(term: Term, terms: Sequence[Term], fluxes_jy: dict[str, float]) -> str | None:
    """The direction for which a term is held, because a term of the whole sky can do there all that it could do.

    That is the brightest one; None if nothing is held, as where a direction has no term of its own: that one tells
    what the term of the whole sky is. (Where the term of the whole sky can do less, because its
    intervals are longer, what the two have in common goes by `conventions`.)
    """
    if term.per is None or not any(_takes(other, term, terms) for other in terms):
        return None
    if not all(any(o.per == term.per and o.acts_on(name) for o in terms) for name in fluxes_jy):
        return None
    found = brightest(fluxes_jy)
    return found if term.acts_on(found) else None


def _takes(whole: Term, term: Term, terms: Sequence[Term]) -> bool:
    """Whether a term of the whole sky can do what a term does in one direction, past all that stands between them."""
    if whole.per is not None or not covers(whole, term):
        return False
    if term.elements == ("",) and term.kind.diagonal:
        return True
    names = [other.name for other in terms]
    outer, inner = names.index(whole.name), names.index(term.name)
    between = [other for k, other in enumerate(terms) if other.per is None and k > outer]
    between += [other for k, other in enumerate(terms) if other.per == term.per and k < inner]
    if whole.kind.name == "full":
        return all(as_fine(whole, other) for other in between)
    return all(other.kind.diagonal for other in between)


def brightest(fluxes_jy: dict[str, float]) -> str:
    """The direction with the largest flux."""
    return max(fluxes_jy, key=lambda name: abs(fluxes_jy[name]))


def reference_antenna(good: np.ndarray, preferred: int | None) -> int:
    """The number (index into `good`, the good data of each antenna) of the antenna to refer phases to.

    `preferred` if it has at least half as many data as the best, else the best.
    """
    best = int(np.argmax(good))
    if preferred is not None and good[preferred] > 0 and 2 * good[preferred] >= good[best]:
        return preferred
    return best
