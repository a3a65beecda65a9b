"""Terms of which the correlations of a set, or the polarisation of its sky, tell nothing: known before it is solved.

A phase between the feeds changes crossed hands alone, and only those of a sky that has some. Leakages and rotations
bring parallel hands into crossed ones; where data have no crossed hands, only a sky that has some tells them, and full
matrices one that is polarised in three ways (of which one may be: not at all), as either of their rows stands alone. A
rotation that all antennas share changes nothing of a sky without linear polarisation. Data of crossed hands alone tell
of a sky that has none only what mixes the feeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence

from ...ms import MsGroup
from ..errors import CalibrationError, NothingUsableError
from ..model.held import Held
from ..terms.gauge import Polarisation, terms_inside
from ..terms.kinds import MIXING, OF_TWO_FEEDS, ROTATIONS, observed_elements
from ..terms.terms import Term

#: (term, direction or None for the whole sky) of which nothing is told.
Untold = Collection[tuple[str, str | None]]
_NAMES = {
    "full": "a full matrix",
    "leakage": "a leakage",
    "rotation": "a rotation",
    "faraday": "a Faraday rotation",
    "crosshand": "a crosshand phase",
}


def has_crossed_hands(group: MsGroup) -> bool:
    """Whether data have XY or YX, or RL or LR."""
    return any(name[0] != name[-1] for name in group.correlations)


def has_parallel_hands(group: MsGroup) -> bool:
    """Whether data have XX or YY, or RR or LL (or I)."""
    return any(name[0] == name[-1] for name in group.correlations)


def tells_crossed_hands_alone(terms: Sequence[Term], group: MsGroup, held: Held) -> bool:
    """Whether each datum is of a gain of one feed and a gain of the other."""
    mixed = held.mixes or any(term.kind.name in MIXING for term in terms)
    return not has_parallel_hands(group) and not mixed


def check_correlations(terms: Sequence[Term], group: MsGroup, held: Held) -> None:
    """Raises `CalibrationError` for a term of which data of these correlations tell nothing, whatever the sky is."""
    one_feed = not all(observed_elements(("0", "1"), group.correlations))
    for term in terms:
        name = _NAMES.get(term.kind.name, f"a {term.kind.name}")
        if one_feed and term.kind.name in (*OF_TWO_FEEDS, "full"):
            raise CalibrationError(
                f'term "{term}": {group.windows_text} has {" ".join(group.correlations)} alone, and one feed tells '
                f"nothing of {name}: {_advice(term)}"
            )
        both = term.elements == ("",) or not has_crossed_hands(group)
        if term.turns and both and _is_shared(term, group):
            raise CalibrationError(
                f'term "{term}": {name} that all antennas share cancels on every baseline: leave the term out'
            )
        mixed = held.mixes or any(term in terms_inside(other, terms) for other in terms if other.kind.name in MIXING)
        if term.kind.name == "crosshand" and not has_crossed_hands(group) and not mixed:
            raise CalibrationError(f'term "{term}": {name} {_needs(group)}: leave the term out')
        if term.kind.name in ROTATIONS and group.feed != "linear":
            # It goes as the square of the wavelength, and no kind of phase does.
            instead = "a phase in each channel (phase, 1chan)" if term.kind.name == "faraday" else "phase"
            raise CalibrationError(
                f'term "{term}": {name} turns linear feeds, but those of {group.windows_text} are circular, where it '
                f"is a phase between the feeds: solve for {instead}"
            )


def _is_shared(term: Term, group: MsGroup) -> bool:
    """Whether all antennas share their solutions."""
    names = [group.antenna_names[antenna] for antenna in group.antennas]
    return len({term.shared_by(names, name) for name in names}) == 1 < len(names)


def _advice(term: Term) -> str:
    return "solve for diag" if term.kind.name == "full" else "leave the term out"


def _needs(group: MsGroup) -> str:
    crossed = "XY and YX" if group.feed == "linear" else "RL and LR"
    return f"needs {crossed}; {group.windows_text} has {' '.join(group.correlations)}"


def is_told(term: Term, terms: Sequence[Term], sky: Polarisation, group: MsGroup, held: Held) -> bool:
    """Whether data tell anything of a term, or of a direction of it. `sky`: of the model, or of the direction, whatever
    correlations the data have."""
    crossed = sky.hands == "crossed" or held.mixes or (held.turns and sky.hands != "none")
    kind = term.kind.name
    if not (crossed or has_parallel_hands(group) or any(other.kind.name in MIXING for other in terms)):
        return False
    if kind == "crosshand":
        return crossed or any(other.kind.name in MIXING for other in terms_inside(term, terms))
    if term.turns and len(term.elements) == 2:
        return crossed or not _is_shared(term, group)
    if kind not in MIXING:
        return True
    if not has_crossed_hands(group):
        # What leaves a sky of two ways of polarisation as it is can turn either row of a full matrix by its own angle.
        tied = kind != "full" or held.mixes or held.turns or sky.axis is None
        return crossed and tied
    return crossed or kind not in ("rotation", "faraday") or not _is_shared(term, group)


def _place(group: MsGroup, solves: Sequence[tuple[MsGroup, Mapping, Untold]]) -> str:
    """How a group is named: its window where the field's windows have different correlations, as they matter then."""
    hands = {other.correlations for other, _, _ in solves if other.field_id == group.field_id}
    windows = f", window {', '.join(map(str, group.data_desc_ids))} of {' '.join(group.correlations)}"
    return f"field {group.field_id}" + (windows if len(hands) > 1 else "")


def check_told(terms: Sequence[Term], solves: Sequence[tuple[MsGroup, Mapping[str, Sequence[str]], Untold]]) -> None:
    """Raises where nothing at all is told of one of the terms that some solves are for: `CalibrationError` if the data
    lack crossed hands, else `NothingUsableError`, for another sky could tell it. Warns where a term is told on some
    fields, windows and directions only. `solves`: group, directions of each term, and what is not told, of each."""
    for term in terms:
        where: list[str] = []
        told = False
        for group, directions, untold in solves:
            every = directions[term.name]
            own = [name for name in every if (term.name, name or None) in untold]
            told = told or len(own) < len(every)
            where += [_place(group, solves) + (f", {name}" if name else "") for name in own]
        if not where:
            continue
        group = solves[0][0]
        name = _NAMES.get(term.kind.name, f"a {term.kind.name}")
        lacks = "no source of the model has " + ("U or V" if group.feed == "linear" else "Q or U")
        if term.kind.name == "full":
            lacks = "the model is polarised in less than three ways"
        if told:
            places = list(dict.fromkeys(where))
            more = ", ..." if len(places) > 5 else ""
            warnings.warn(
                f'term "{term}": not determined by the sky of {"; ".join(places[:5])}{more} ({lacks}): flagged there',
                stacklevel=3,
            )
        elif not has_parallel_hands(group):
            raise NothingUsableError(
                f'term "{term}": not determined by this sky: {lacks}, and {group.windows_text} has '
                f"{' '.join(group.correlations)} alone; solve for it on a polarised source"
            )
        elif not has_crossed_hands(group):
            raise CalibrationError(f'term "{term}": where {lacks}, {name} {_needs(group)}: {_advice(term)}')
        else:
            raise NothingUsableError(
                f'term "{term}": not determined by this sky: {lacks}, so that no datum depends on a '
                f"{term.kind.name}; leave the term out, or solve for it on a polarised source"
            )
