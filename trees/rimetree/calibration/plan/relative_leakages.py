"""Leakages that are relative to those of the reference antenna on some fields, and not on others."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from ...ms import MsGroup
from ..terms.gauge import Polarisation
from ..terms.terms import Term


def warn_of_relative_leakages(terms: Sequence[Term], skies: Iterable[tuple[MsGroup, Polarisation]]) -> None:
    """Warns of a term of leakages that is solved for on polarised fields and on others: of a sky without polarisation
    those of the reference antenna are held (`held_parameters`), and what is interpolated between both is neither."""
    kinds: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for group, sky in skies:
        kinds[sky.hands == "none"][f"{group.field_id} ({group.field_name})"] = None
    for term in (term for term in terms if term.kind.name == "leakage" and term.per is None):
        if kinds[True] and kinds[False]:
            warnings.warn(
                f'term "{term}": the models of field {", ".join(kinds[True])} are not polarised, and leakages found '
                f"there are relative to those of the reference antenna; those of field {', '.join(kinds[False])} are "
                'not. Do not apply both to other fields: solve for one kind ("on NAME", with --in-turn), or choose '
                "(--from-field)",
                stacklevel=3,
            )
