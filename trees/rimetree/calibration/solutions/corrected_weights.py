"""Weights of corrected data: V' = A V B^H of independent V has the variances |A|^2 var |B^T|^2, element by element."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ... import nodes as rt
from ...arguments import checked
from ...evaluation.cells import Cells
from ...ms import MsGroup
from ...writing.scope import NodeScope
from .antenna_jones import AntennaJones
from .solutions import Solutions

_COLUMN = "WEIGHT_SPECTRUM"
_LARGEST = np.finfo(np.float32).max  # that the column can hold
_OF_TILE = {"depends_on": ["domain", "data"]}


@checked
def weights_tree(
    ns: NodeScope,
    group: MsGroup,
    solutions: Solutions,
    *,
    direction: str | None = None,
    interpolation: str = "nearest",
) -> None:
    """The tree that multiplies WEIGHT_SPECTRUM by what correcting the data of a group does to their noise: for diagonal
    matrices by |J_p|^2 |J_q|^2. Weights of data without a solution, or one of whose parts has no weight, or that the
    column cannot hold, become 0. The set must have the column.
    """
    for p in group.antennas:
        own = AntennaJones.of_solutions(solutions, group.antenna_names[p], interpolation, direction)
        powers = functools.partial(_powers, own, solutions.diagonal)
        ns.powers(p) << rt.PyNode(evaluate=powers, dims=(2, 2), **_OF_TILE)
    for p, q in group.baselines:
        ns.weight(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="WEIGHT")
        ns.corrected(p, q) << rt.PyNode(
            ns.weight(p, q), ns.powers(p), ns.powers(q), evaluate=_corrected, dims=(2, 2), **_OF_TILE
        )
        ns.sink(p, q) << rt.Sink(ns.corrected(p, q), station_1_index=p, station_2_index=q, output_column=_COLUMN)


def _powers(own: AntennaJones, diagonal: bool, cells: Cells) -> NDArray[np.float64]:
    """[2, 2, time, freq] squared magnitudes of the inverse's elements; NaN where there is none."""
    inverse, good = own.inverse(cells), own.good(cells)
    if diagonal:
        matrices = np.zeros((2, 2, *inverse.shape[2:]))
        for feed in (0, 1):
            matrices[feed, feed] = np.abs(inverse[feed, 0]) ** 2
        inverse = matrices
    else:
        inverse = np.abs(inverse) ** 2
    return np.where(good > 0, inverse, np.nan)


def _corrected(cells: Cells, weight, left, right) -> NDArray[np.float64]:
    """[2, 2, time, freq] weights of A V B^H, of weights of V and the squared magnitudes of A and B."""
    del cells
    weight = np.real(weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(weight > 0, 1 / np.where(weight > 0, weight, 1), np.inf)
        # Elements that are 0 take nothing, also of data without weight.
        total = np.zeros(np.broadcast_shapes(weight.shape, left.shape, right.shape))
        for i, j, k, m in np.ndindex(2, 2, 2, 2):
            part = left[i, k] * right[j, m]
            total[i, j] += np.where(part == 0, 0.0, part * variance[k, m])
        found = np.where((total > 0) & np.isfinite(total), 1 / np.where(total > 0, total, 1), 0.0)
    return np.where(found <= _LARGEST, found, 0.0)
