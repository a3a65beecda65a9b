"""Feeds turn on the sky once: a chain has the parallactic angle once, whichever files its terms are from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import CalibrationError
from .solutions import Solutions
from .term_solutions import TermSolutions


def is_turn(term: TermSolutions) -> bool:
    """Whether solutions are the parallactic angle, as the term that they are of says."""
    return term.text.partition(":")[2].strip() == "parallactic"


def turns_of(sets: Sequence[Solutions]) -> list[str]:
    """The names of such terms of one file, each once, whatever its windows."""
    return list(dict.fromkeys(term.name for one in sets for term in one.terms if is_turn(term)))


def require_one_turn(names: Iterable[str]) -> None:
    """Raises `CalibrationError` where more than one term of a chain is the parallactic angle."""
    names = list(names)
    if len(names) > 1:
        raise CalibrationError(
            f"feeds turn on the sky once, but {len(names)} terms of this chain are the parallactic angle "
            f"({', '.join(names)}): leave out all but one (--hold-terms '!{names[0]}' of what is held, --terms of what "
            "is applied)"
        )
