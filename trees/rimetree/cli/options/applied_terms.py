"""Terms of solutions that are chosen by name."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Failed


def of_terms(files: Sequence, names: Sequence[str], option: str = "--terms") -> list:
    """Of solution sets of some files the terms of these names or patterns, as of an `option`; raises where one of them
    fits no term, or none is left. Sets, and files, that have none of them are left out."""
    from rimetree.calibration.terms.terms import is_among

    there = list(dict.fromkeys(term.name for sets in files for one in sets for term in one.terms))
    lost = [name for name in names if not any(is_among(one, [name.removeprefix("!")]) for one in there)]
    chosen = [one for one in there if is_among(one, names)]
    if lost or not chosen:
        what = f"there is no term {', '.join(lost)}" if lost else "no term is left"
        raise Failed(f"{option} {','.join(names)}: {what}; the solutions have {', '.join(there)}")
    left = [[one.only(chosen) for one in sets if any(term.name in chosen for term in one.terms)] for sets in files]
    return [sets for sets in left if sets]
