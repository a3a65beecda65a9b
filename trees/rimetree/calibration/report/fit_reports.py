"""What a report says of the fit of a chunk."""

from __future__ import annotations

from collections.abc import Sequence

from ..starts.fewer_directions import BETTER_MAY_BE, BestFit
from ..terms.term_trees import Parameter
from ..terms.terms import Term


def said_of_fit(fitted: BestFit, terms: Sequence[Term], parameters: Sequence[Parameter]) -> dict:
    """The fields of a `ChunkReport` that the Solver knows; `parameters`: of the terms."""
    solved = fitted.solved
    if solved is None:
        return {"chi_square": [], "equations": 0, "rank": 0, "iterations": 0, "statuses": {"no equations": 1}}
    statuses: dict[str, int] = {} if solved.groups else {"no equations": 1}
    for one in solved.groups:
        status = BETTER_MAY_BE if fitted.doubtful and one.status == "converged" else one.status
        statuses[status] = statuses.get(status, 0) + 1
    given_way = {one.term for one in parameters if one.node in solved.parms and solved.parms[one.node].normalised}
    return {
        "chi_square": [float(value) for value in solved.chi_square],
        "equations": sum(one.equations for one in solved.groups),
        "rank": sum(one.rank for one in solved.groups),
        "iterations": max((one.iterations for one in solved.groups), default=0),
        "statuses": statuses,
        "normalised": [term.name for term in terms if term.name in given_way],
        "noise": solved.noise,
        "method": solved.method,
        "smoothed_hz": solved.smoothed_hz,
    }
