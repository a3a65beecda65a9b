"""What data tell only as the product of several terms, and which of the terms is normalised.

A bandpass and a gain of one antenna can exchange any complex number, an amplitude and a diagonal gain any amplitude, a
delay and a bandpass any slope of phase. The Solver finds such combinations, which change no product of terms
(state field `normalised` of the Parms); here is said which term gives way.
"""

from __future__ import annotations

from collections.abc import Sequence

from .terms import Interval, Term

#: What an H5parm says of a term that was normalised.
NORMALISED = (
    "normalised, because data tell only its product with other terms: for each antenna and feed the mean amplitude of "
    "its solutions is 1, and the unwrapped phases, weighted with the amplitudes, have mean 0 (and no slope that "
    "another term could take)"
)


def ranks(terms: Sequence[Term], shapes: dict[str, tuple[int, int]]) -> dict[str, int]:
    """{term name: rank}; the term of the highest rank is normalised first. `shapes`: (times, frequencies) of solutions.

    Terms of directions give way to those of the whole sky, terms with many intervals along frequency (bandpasses) to
    those with few, then terms with few intervals in time to those with many; else terms further inside to others.
    """
    if len(terms) < 2:
        return {term.name: 0 for term in terms}

    def gives_way(place: int) -> tuple:
        term = terms[place]
        times, frequencies = shapes[term.name]
        return (term.per is not None, frequencies, -times, -len(term.elements), place)

    order = sorted(range(len(terms)), key=gives_way)
    return {terms[place].name: rank + 1 for rank, place in enumerate(order)}


def is_normalised_by(term: Term, element: int) -> bool:
    """Whether the convention looks at an element: of full matrices at those on the diagonal."""
    return term.elements[element] not in ("01", "10")


def covers(one: Term, other: Term) -> bool:
    """Whether whatever `other` does to the whole sky, `one` can do as well: quantities, elements and intervals."""
    return (
        set(other.kind.quantities) <= set(one.kind.quantities)
        and (len(one.elements) >= len(other.elements))
        and (one.kind.name != "leakage")
        and (other.all_windows or not one.all_windows)
        and (other.plane or not one.plane)
        and as_fine(one, other)
    )


def as_fine(one: Term, other: Term) -> bool:
    """Whether intervals of the one end wherever those of the other do."""
    return _cuts(one.time, other.time) and _cuts(one.frequency, other.frequency)


def leaves_phase_between_feeds(term: Term, later: Sequence[Term]) -> bool:
    """Whether the phase between the feeds that a term of the whole sky has is left to a crosshand phase whose turn
    comes later: one that can be as different from channel to channel."""
    return (
        term.per is None
        and term.kind.name in ("diag", "phase")
        and len(term.elements) == 2
        and any(
            other.kind.name == "crosshand" and other.per is None and _cuts(other.frequency, term.frequency)
            for other in later
        )
    )


def _cuts(fine: Interval | None, coarse: Interval | None) -> bool:
    """Whether the coarse intervals are whole numbers of the fine ones."""
    if coarse is None or fine is None:
        return coarse is None
    if fine.count is not None and coarse.count is not None:
        return coarse.count % fine.count == 0
    if fine.scans is not None and coarse.scans is not None:
        return coarse.scans % fine.scans == 0
    if fine.quantity is not None and coarse.quantity is not None:
        ratio = coarse.quantity / fine.quantity
        return ratio > 0.5 and abs(ratio - round(ratio)) < 1e-6
    return fine.count == 1  # no interval is shorter than a slot or a channel
