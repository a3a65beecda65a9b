"""The fit of a chunk: begun where a search says, without directions that make it worse or that the data do not have."""

from __future__ import annotations

from dataclasses import replace

from ...solving import SolveReport
from .fewer_directions import BestFit, best_fit, is_explained
from .gain_signal import without_noise
from .hidden_directions import hidden
from .solved_directions import ChunkSearch
from .starting_values import Run, StartingValues


def fit_chunk(one: ChunkSearch, run: Run) -> BestFit:
    """The best fit to a chunk. `run`: fits Parms to it."""
    where = one.chunk, one.reference, one.options
    begun = bool(one.options.start)

    def fit(without: frozenset[str]) -> tuple[StartingValues, SolveReport | None]:
        begin = StartingValues({}, absent=tuple(without)) if begun else one.search.begin(*where, run, without)
        return begin, run(begin, None) if begin.solved is None else begin.solved

    def again(before: StartingValues, solved: SolveReport) -> tuple[StartingValues, SolveReport | None]:
        begin = one.search.begin_again(*where, before, solved)
        return begin, run(begin, None)

    names = () if begun else list(one.tree.presence)
    found = best_fit(fit, names, again if one.search.in_two_steps else None)
    found = without_noise(one, found, fit)
    # The search knows averages only: the fit itself may explain all that there is.
    doubtful = found.doubtful or (found.begin.lowest is False and not is_explained(found))
    return replace(found, doubtful=doubtful, hidden=hidden(one, found))
