"""The opinion on Solver: scipy's minimum of the same sum of squares, by the second opinion's own residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize

from .reductions import weighted_squares
from .registry import Call, interpret, opinion
from .values import Value, exact


@dataclass
class Objective:
    """The residuals of the Condeqs below a Solver as a function of its Parms, with priors as further residuals.

    The vector of unknowns holds the values of each Parm in turn, row-major. `below`: the tree without the Solver.
    """

    below: object
    cells: object
    condeqs: list[str]
    parms: list[str]

    def start(self) -> np.ndarray:
        return np.concatenate([np.ravel(self._state(name)["value"]).astype(float) for name in self.parms])

    def _state(self, name: str) -> dict:
        return next(node for node in self.below.nodes if node.name == name).full_state()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper; where one number is given it is that of the constant terms."""
        lower = [self._limits(name, "minimum", -np.inf) for name in self.parms]
        upper = [self._limits(name, "maximum", np.inf) for name in self.parms]
        return np.concatenate(lower), np.concatenate(upper)

    def _limits(self, name: str, field: str, otherwise: float) -> np.ndarray:
        state = self._state(name)
        value, given = np.asarray(state["value"], float), np.asarray(state[field], float)
        if given.size == 0:
            return np.full(value.size, otherwise)
        n = int(np.prod(value.shape[-2:])) if value.ndim >= 2 else 1
        each = given.ravel() if given.size == n else np.r_[given.ravel(), np.full(n - 1, otherwise)]
        return np.tile(each, value.size // n)

    def priors(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation for each unknown; 0 where there is no prior."""
        sigma = [self._limits(name, "prior_sigma", 0.0) for name in self.parms]
        mean = [self._limits(name, "prior_mean", 0.0) for name in self.parms]
        return np.concatenate(mean), np.concatenate(sigma)

    def with_values(self, x: np.ndarray):
        """The tree with other values of the Parms."""
        nodes, first = list(self.below.nodes), 0
        for name in self.parms:
            k = next(i for i, node in enumerate(nodes) if node.name == name)
            shape = np.shape(nodes[k].state["value"])
            size = int(np.prod(shape))
            value = np.reshape(x[first : first + size], shape)
            nodes[k] = replace(nodes[k], state={**nodes[k].state, "value": value})
            first += size
        return replace(self.below, nodes=nodes)

    def data_residuals(self, x: np.ndarray) -> np.ndarray:
        """Weighted real residuals, the real and the imaginary part of complex ones each."""
        values = interpret(self.with_values(x), self.cells)
        rows = []
        for name in self.condeqs:
            child = values[name]
            call = Call("", "Condeq", ["x"], [child], {}, self.cells, np.random.default_rng(0))
            for _, weight, good, parts in weighted_squares(call):
                r = np.broadcast_to(child.x, good.shape)[0][good[0]] * np.sqrt(weight[0][good[0]])
                rows += [r.real, r.imag] if parts == 2 else [r]
        return np.concatenate(rows) if rows else np.zeros(0)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        mean, sigma = self.priors()
        held = sigma > 0
        return np.concatenate([self.data_residuals(x), (x[held] - mean[held]) / sigma[held]])

    def value(self, x: np.ndarray) -> float:
        return float(np.sum(self.residuals(x) ** 2))

    def minimum(self, start: np.ndarray) -> np.ndarray:
        """Where scipy's least squares end from `start`, held within the bounds."""
        lower, upper = self.bounds()
        inside = np.clip(start, lower, upper)
        options = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, "x_scale": "jac", "max_nfev": 30}
        # A start on a bound is moved inside by scipy itself, which needs room between the bounds.
        found = scipy.optimize.least_squares(self.residuals, inside, bounds=(lower, upper), jac="3-point", **options)
        return found.x if self.value(found.x) < self.value(inside) else inside


def objective_of(tree, solver: str, cells) -> Objective:
    """What a Solver node makes small."""
    node = next(one for one in tree.nodes if one.name == solver)
    below = replace(tree, nodes=[one for one in tree.nodes if one.class_name != "Solver"])
    solvable = [one.name for one in below.nodes if one.class_name == "Parm" and one.state.get("solvable")]
    parms = list(node.state.get("parms", [])) or solvable
    # Condeqs on which the choice of unknowns has no influence belong to no group of unknowns.
    moved = {name for name in parms}
    for one in below.nodes:
        if any(child in moved for _, child in one.children):
            moved.add(one.name)
    condeqs = [name for _, name in node.children if name in moved]
    return Objective(below, cells, condeqs, [name for name in solvable if name in parms])


@opinion("Solver")
def solver(call: Call) -> Value:
    """[5]: what it was, the minimum, the number of data; then what only the way to it decides: 0 iterations, 1."""
    objective = objective_of(call.outside["tree"], call.name, call.cells)
    start = objective.start()
    before, after = (np.sum(objective.data_residuals(x) ** 2) for x in (start, objective.minimum(start)))
    count = len(objective.data_residuals(start))
    return exact(np.reshape([before, after, count, 0, 1], (5, 1, 1, 1, 1)))
