"""Chi-square or a likelihood of a whole Measurement Set, with its gradient, for optimisers and samplers."""

from __future__ import annotations

import os
import warnings
from typing import Protocol, runtime_checkable

import numpy as np

from .. import _core
from .._core import Error
from ..arguments import checked
from ..writing.scope import NodeStub
from .mismatches import mismatches
from .run import run_options

_CLASSES = ("ChiSquare", "LogLikelihood")


@runtime_checkable
class Forest(Protocol):
    """What is asked of a `rimetree.Forest`, which makes objectives itself."""

    _core: object

    def nodes(self) -> list[dict]: ...

    def set_parameters(self, x: np.ndarray) -> None: ...

    def get_state(self, node: str) -> dict: ...


class MsObjective:
    """A ChiSquare or LogLikelihood node of a forest, summed over a Measurement Set: a function of all unknowns.

        objective = rt.MsObjective(forest, "obs.ms")
        found = scipy.optimize.minimize(objective, forest.parameter_vector(), jac=True, method="L-BFGS-B")

    The sum goes over all time-slot groups of all fields and data descriptions that the options choose, in a fixed
    order. Which columns are compared the Spigots of the tree say. Flagged data, data of weight 0 and baselines that a
    group does not have are left out. One tree serves all rows: with several fields choose one by `field_id`, or move
    all to one `phase_centre_rad`, unless directions in the tree do not depend on the phase centre. Warns of fields with
    different phase centres.

    Data are read at the first call and stay in memory, as far as `memory_bytes` goes; the rest is read anew at every
    call. If there is room beside the data, what of the models depends on no unknown stays as well, and is not evaluated
    again. A set that changes must be opened again.

    Parameters
    ----------
    forest : the compiled tree
    path : of the Measurement Set, which is only read
    node : the ChiSquare or LogLikelihood; None: the only one that the forest has
    memory_bytes : for what is kept between calls; None: half of what the forest's results may take
    options : as of `rimetree.ms.run_options`: data_desc_id, field_id, time_slots, channels, time_range_s, ...

    Raises `Error` where node and set do not fit together.
    """

    @checked
    def __init__(
        self,
        forest: Forest,
        path: str | os.PathLike,
        node: NodeStub | str | None = None,
        *,
        memory_bytes: int | None = None,
        **options,
    ):
        self.forest = forest
        self.path = os.fspath(path)
        self.node = _the_node(forest, node)
        chosen = {**run_options(**options), "memory_bytes": int(memory_bytes or 0)}
        for key in ("verify", "continues", "more_follow", "rows_expected", "join_windows", "wait_s"):
            if chosen.pop(key):
                raise Error(f"an objective takes no option {key!r}: nothing is written or verified")
        self._core = _core.open_objective(forest._core, self.path, self.node, chosen)
        for text in mismatches(forest, path, run_options(**options)):
            warnings.warn(text, stacklevel=3)

    def __call__(self, x: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """The value and its gradient, [unknown] as `Forest.parameter_vector` (value's unit per unknown's unit).

        `x`: the vector of unknowns to set first; None: their present values. The gradient is computed in reverse mode,
        at the cost of a few evaluations however many unknowns there are. Raises `Error` where a node fails, no tile
        has data, or all data are flagged.
        """
        value, gradient = self._evaluate(x, True)
        return value, np.array(gradient)

    def value(self, x: np.ndarray | None = None) -> float:
        """The value alone, which is quicker."""
        return self._evaluate(x, False)[0]

    def _evaluate(self, x, with_gradient: bool):
        if x is not None:
            self.forest.set_parameters(x)
        n_tile, has_good, value, gradient = self._core.evaluate(with_gradient)
        if n_tile == 0:
            raise Error(f"node {self.node!r} has no data in any of the {len(self)} time-slot groups of {self.path}")
        if not has_good and not self._takes_flagged_data():
            raise Error(f"all data of {self.path} that node {self.node!r} would sum are flagged or have weight 0")
        return value, gradient

    def _takes_flagged_data(self) -> bool:
        spigots = (one["name"] for one in self.forest.nodes() if one["class"] == "Spigot")
        return any(self.forest.get_state(name)["flag_bit"] == 0 for name in spigots)

    def __len__(self) -> int:
        """Number of time-slot groups."""
        return self._core.state()["n_tile"]

    def statistics(self) -> dict:
        """`n_tile`, `n_row`: what is summed over; `time_slots`: per tile at most; `n_tile_kept`, `kept_bytes`: of
        data in memory now; `kept_result_bytes`: of results of nodes."""
        return self._core.state()

    def __repr__(self) -> str:
        return f"MsObjective({self.node!r} over {len(self)} time-slot groups of {self.path!r})"


def _the_node(forest: Forest, node: NodeStub | str | None) -> str:
    if node is not None:
        return forest._name(node)
    found = [one["name"] for one in forest.nodes() if one["class"] in _CLASSES]
    if len(found) != 1:
        raise Error(
            f"say which node is to be summed: the forest has {', '.join(found) or 'no ChiSquare and no LogLikelihood'}"
        )
    return found[0]
