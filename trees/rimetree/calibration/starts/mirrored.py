"""Rotations of directions inside of full matrices, of the other sign."""

from __future__ import annotations

from dataclasses import replace

from .fewer_directions import BestFit
from .named_values import tables_of
from .solved_directions import ChunkSearch
from .starting_values import StartingValues


def mirrored(one: ChunkSearch, found: BestFit) -> StartingValues | None:
    """Where a fit has ended, with rotations of directions of the other sign inside of full matrices: of a sky that is
    not polarised they do the same. None without these."""
    whole = [term for term in one.terms if term.per is None]
    rotations = {term.name for term in one.terms if term.per is not None and term.kind.name == "rotation"}
    if found.solved is None or not (rotations and whole and whole[-1].kind.name == "full"):
        return None
    known = {name: tables_of(parm)["value"] for name, parm in found.solved.parms.items()}
    turned = {
        own.node
        for own in one.tree.parameters
        if own.term in rotations or (own.term == whole[-1].name and whole[-1].elements[own.element] in ("01", "11"))
    }
    values = {name: -value if name in turned else value for name, value in known.items()}
    return replace(found.begin, values={**found.begin.values, **values}, solved=None)
