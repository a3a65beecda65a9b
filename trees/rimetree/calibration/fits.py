"""The fit of a chunk: begun where a search says, without directions that make it worse or that the data do not have."""

from __future__ import annotations

from collections.abc import Sequence

from ..solving import SolveReport
from .fewer_directions import BestFit, best_fit
from .gain_signal import without_noise
from .grid import Chunk
from .planning import CalibrationOptions
from .solve_trees import SolveTree
from .starting_values import Run, StartingSearch, StartingValues
from .terms import Term


def fit_chunk(
    search: StartingSearch,
    tree: SolveTree,
    terms: Sequence[Term],
    options: CalibrationOptions,
    chunk: Chunk,
    reference: int,
    run: Run,
) -> BestFit:
    """The best fit to a chunk. `reference`: number of the antenna that phases refer to; `run`: fits Parms to it."""

    def fit(without: frozenset[str]) -> tuple[StartingValues, SolveReport | None]:
        begin = StartingValues({})
        if not options.start:
            begin = search.begin(chunk, reference, options, run, without)
        return begin, run(begin, None)

    def again(before: StartingValues, solved: SolveReport) -> tuple[StartingValues, SolveReport | None]:
        begin = search.begin_again(chunk, reference, options, before, solved)
        return begin, run(begin, None)

    names = () if options.start else list(tree.presence)
    found = best_fit(fit, names, again if search.in_two_steps else None)
    return without_noise(search, tree, terms, options, chunk, reference, found, run)
