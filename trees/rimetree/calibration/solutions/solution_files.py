"""Files of solutions, of whatever format."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arguments import checked
from ..errors import CalibrationError
from .casa_tables import is_casa_table, read_casa_table
from .h5parm import read_h5parm
from .solutions import Solutions


@checked
def read_solutions(path: str | os.PathLike) -> list[Solutions]:
    """The solution sets of an H5parm file (`read_h5parm`) or of a table of CASA (`read_casa_table`)."""
    name, colon, inside = os.fspath(path).rpartition(":")
    if colon and not os.path.exists(path) and is_casa_table(name):
        raise CalibrationError(f"{name} is a table of CASA, in which there are no solution sets such as {inside!r}")
    if os.path.exists(os.path.join(path, "table.dat")) and not is_casa_table(path):
        raise CalibrationError(
            f"{os.fspath(path)} is a casacore table, but not one of solutions that are understood: it is a Measurement "
            "Set, or has polynomials (BPOLY, GSPLINE)"
        )
    return read_casa_table(path) if is_casa_table(path) else read_h5parm(path)


@checked
def joined_sets(files: Sequence[Sequence[Solutions]]) -> list[Solutions]:
    """The sets of several files as those of one, the terms of the first file outside of the next: sets of one window
    together, which are those whose middle frequencies are nearest. Of terms with the same name the second becomes
    NAME_2. Raises `CalibrationError` where files do not have as many sets."""
    first, *others = files
    if any(len(other) != len(first) for other in others):
        counts = ", ".join(str(len(one)) for one in files)
        raise CalibrationError(f"the files have {counts} solution sets: only those for the same windows can be one")
    found = list(first)
    for other in others:
        left = list(other)
        for k, one in enumerate(found):
            nearest = min(left, key=lambda two, one=one: abs(_middle_hz(two) - _middle_hz(one)))
            left.remove(nearest)
            found[k] = _distinct(nearest.inside(one))
    return found


@checked
def terms_text(sets: Sequence[Solutions]) -> str:
    """The terms of solution sets, from the outermost on; of sets that do not have the same the others behind them."""
    names = [term.name for term in max(sets, key=lambda one: len(one.terms)).terms] if sets else []
    others = dict.fromkeys(term.name for one in sets for term in one.terms if term.name not in names)
    return ", ".join([*names, *others])


def _distinct(solutions: Solutions) -> Solutions:
    """The same with a name of its own for each term: G, G_2, ..."""
    names: list[str] = []
    for term in solutions.terms:
        free = itertools.chain([term.name], (f"{term.name}_{k}" for k in itertools.count(2)))
        names.append(next(name for name in free if name not in names))
    terms = tuple(replace(term, name=name) for term, name in zip(solutions.terms, names, strict=True))
    return replace(solutions, terms=terms)


def _middle_hz(solutions: Solutions) -> float:
    """Of the band; 0 where solutions are for all frequencies."""
    each = np.concatenate([term.frequency_hz for term in solutions.terms])
    each = each[each > 0]
    return float((each.min() + each.max()) / 2) if len(each) else 0.0
