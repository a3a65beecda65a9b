"""Unknowns of a forest as one vector, and what checks of its derivatives find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Parameter:
    """One solvable Parm's place in the vector of unknowns.

    `name`: of the Parm. `unknowns`: its slice of the vector. `shape`: of its state field `value`; the slice is that,
    row-major. `minimum`, `maximum`: bounds of each unknown (infinite where there are none). `prior_mean`,
    `prior_sigma`: normal priors (sigma 0: none).
    """

    name: str
    unknowns: slice
    shape: tuple[int, ...]
    minimum: np.ndarray
    maximum: np.ndarray
    prior_mean: np.ndarray
    prior_sigma: np.ndarray


@dataclass(frozen=True)
class NodeCheck:
    """A node's derivative in forward mode along one direction against finite differences of the node's own function.

    `difference`: the largest over cells, as a fraction of the node's largest derivative. `noise`: what the finite
    differences themselves may be wrong by, in the same unit. `extended`: whether they were formed in extended
    precision.
    """

    node: str
    node_class: str
    difference: float
    noise: float
    extended: bool

    def good(self, tolerance: float = 1e-9) -> bool:
        return self.difference <= tolerance + 10 * self.noise


@dataclass(frozen=True)
class DerivativeCheck:
    """What `Forest.check_derivatives` finds.

    `nodes`: every node that depends on unknowns. `forward`, `reverse`: derivatives of the root with respect to each
    unknown, in both modes, by (Parm's name, index in its raveled `value`: tile by tile, coefficient by coefficient);
    empty if the root is no real number without axes.
    """

    nodes: list[NodeCheck]
    forward: dict[tuple[str, int], float]
    reverse: dict[tuple[str, int], float]

    @classmethod
    def from_runtime(cls, nodes: list[tuple], unknowns: list[tuple]) -> DerivativeCheck:
        """From what the extension module gives."""
        return cls(
            [NodeCheck(*one) for one in nodes],
            {(parm, k): forward for parm, k, forward, _ in unknowns},
            {(parm, k): reverse for parm, k, _, reverse in unknowns},
        )

    @property
    def reverse_difference(self) -> float:
        """Largest difference between the modes, as a fraction of the largest derivative."""
        scale = np.max([abs(x) for x in self.forward.values()], initial=0.0)
        largest = np.max([abs(x - self.reverse[key]) for key, x in self.forward.items()], initial=0.0)
        return float(largest / scale if scale > 0 else largest)

    def good(self, tolerance: float = 1e-9) -> bool:
        """Whether all nodes agree with finite differences, and both modes with each other."""
        return all(node.good(tolerance) for node in self.nodes) and self.reverse_difference <= tolerance

    def __str__(self) -> str:
        worst = sorted(self.nodes, key=lambda node: -np.nan_to_num(node.difference, nan=np.inf))[:5]
        lines = [f"{len(self.nodes)} nodes, {len(self.forward)} derivatives of the root"]
        lines += [
            f"  {node.node} ({node.node_class}): off by {node.difference:.1e}, finite differences by {node.noise:.1e}"
            for node in worst
        ]
        return "\n".join([*lines, f"  forward and reverse mode differ by {self.reverse_difference:.1e}"])
