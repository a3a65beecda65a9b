"""Using solutions: correcting data with the inverse of what was solved for, subtracting the model with it, and
predicting what a sky looks like with it.

    CORRECTED_DATA = J_p^-1 (DATA - model) J_q^-H          MODEL_DATA = model + noise (or DATA + model + noise)

where J is the product of the terms of the whole sky (and, if a direction is named, of those of this direction), and the
model has all terms, those of its directions and those of the whole sky. Data without a solution are flagged, and so are
results that are not finite; weights stay as they are.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from ..arguments import checked
from ..beams import require_pointing
from ..evaluation.cells import Cells
from ..ms import MsGroup
from ..receiver_noise import ReceiverNoise
from ..sky import SkyModel
from ..sky_trees import beside_data, sink_nodes
from ..writing.scope import NodeScope, NodeStub
from .errors import CalibrationError
from .model.model_trees import SkyPart, model_nodes
from .model.models import ModelColumns, as_model
from .model.predicted_tiles import slots_within
from .solutions.antenna_jones import AntennaJones
from .solutions.correction import JonesUse, check_correction
from .solutions.parallactic import with_own_turn
from .solutions.solutions import Solutions

_NO_SOLUTION_BIT = 2
_DATA_BYTES = 32 << 20  # that a tree looks at together
# Matrices are of one tile's cells: what follows from them is of no use to the next tile, and is not kept for it.
_OF_TILE = {"depends_on": ["domain", "data"]}


@checked
def apply_tree(
    ns: NodeScope,
    group: MsGroup,
    solutions: Solutions,
    *,
    correct: bool = True,
    subtract: SkyModel | ModelColumns | None = None,
    direction: str | None = None,
    interpolation: str = "nearest",
    data_column: str = "DATA",
    column: str = "CORRECTED_DATA",
    phase_centre_rad: Sequence[float] | None = None,
    smearing: bool = True,
    used: list[JonesUse] | None = None,
) -> NodeStub:
    """The tree that corrects the data of a group and subtracts a model with the solutions. Returns the VisDataMux.

    `correct`: whether J is taken out. `subtract`: sources to subtract, or columns with their visibilities. `direction`:
    a patch or source whose terms count in J. `used`: a list that receives the matrices without which data are flagged,
    for `count_new_flags`. Parallactic angles are those of the group, whatever set solutions are of. Raises
    `CalibrationError` where solutions and data do not fit together.
    """
    solutions = with_own_turn(solutions, group)
    if correct:
        check_correction(group, solutions, direction)
    elif direction is not None and direction not in solutions.directions:
        raise CalibrationError(
            f"there are no solutions for direction {direction!r}; there are {', '.join(solutions.directions) or 'none'}"
        )
    names = group.antenna_names

    def data(p: int, q: int) -> NodeStub:
        return ns.data(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column=data_column)

    used = [] if used is None else used
    need: dict[int, list[AntennaJones]] = {p: [] for p in group.antennas}
    if subtract is not None:
        centre = phase_centre_rad or group.phase_centre_rad
        if phase_centre_rad is not None and isinstance(subtract, SkyModel):
            require_pointing(subtract.beam)
        _model(ns, group, solutions, subtract, interpolation, centre, smearing, need, used)
    if correct:
        used.append(JonesUse(solutions, direction, interpolation))
    for p in group.antennas:
        if correct:
            own = AntennaJones.of_solutions(solutions, names[p], interpolation, direction)
            need[p].append(own)
            ns.inverse(p) << rt.PyNode(evaluate=own.inverse, dims=(2, 1 if solutions.diagonal else 2), **_OF_TILE)
    values = {}
    for p, q in group.baselines:
        value = data(p, q)
        if subtract is not None:
            value = ns.residual(p, q) << rt.Subtract(value, ns.model(p, q))
        if correct and solutions.diagonal:
            factor = rt.MatrixMultiply(ns.inverse(p), rt.ConjTranspose(ns.inverse(q)))
            value = ns.corrected(p, q) << rt.Multiply(value, factor, elementwise=True)
        elif correct:
            value = ns.corrected(p, q) << rt.MatrixMultiply(ns.inverse(p), value, rt.ConjTranspose(ns.inverse(q)))
        values[p, q] = value
    return _flagged_sinks(ns, group, values, need, column)


@checked
def corrupted_tree(
    ns: NodeScope,
    group: MsGroup,
    solutions: Solutions,
    sky: SkyModel,
    *,
    interpolation: str = "nearest",
    column: str = "MODEL_DATA",
    phase_centre_rad: Sequence[float] | None = None,
    smearing: bool = True,
    noise: ReceiverNoise | None = None,
    add_to: str | None = None,
    subtract_from: str | None = None,
    used: list[JonesUse] | None = None,
) -> NodeStub:
    """The tree that predicts what a group sees of a sky with all terms of solutions, and noise. Returns the VisDataMux.

    Arguments as of `apply_tree`, and `add_to` and `subtract_from` as of `psv_tree`. What there is no solution for is
    flagged. Raises `CalibrationError` where solutions, sky and data do not fit together.
    """
    solutions = with_own_turn(solutions, group)
    need: dict[int, list[AntennaJones]] = {p: [] for p in group.antennas}
    if phase_centre_rad is not None:
        require_pointing(sky.beam)
    centre = phase_centre_rad or group.phase_centre_rad
    _model(ns, group, solutions, sky, interpolation, centre, smearing, need, [] if used is None else used)
    which = {"add_to": add_to, "subtract_from": subtract_from}
    values = {(p, q): beside_data(ns, p, q, ns.model(p, q), **which) for p, q in group.baselines}
    if noise is not None:
        noise = noise.of_correlations(group.correlations)
        values = {(p, q): noise.added_to(ns, p, q, value) for (p, q), value in values.items()}
    return _flagged_sinks(ns, group, values, need, column)


def _flagged_sinks(
    ns: NodeScope, group: MsGroup, values: dict, need: dict[int, list[AntennaJones]], column
) -> NodeStub:
    """Writes values of baselines, and flags where one of the matrices that an antenna needs is not there."""
    for p in group.antennas:
        ns.good(p) << rt.PyNode(evaluate=functools.partial(_all_good, need[p]), dims=(2, 1), **_OF_TILE)
    for (p, q), value in values.items():
        good = rt.MatrixMultiply(ns.good(p), rt.Transpose(ns.good(q)))
        ns.V(p, q) << rt.MergeFlags(value, rt.ZeroFlagger(good, oper="EQ", flag_bit=_NO_SOLUTION_BIT))
    return sink_nodes(ns, group.baselines, column=column, write_flags=True)


def _all_good(used: Sequence[AntennaJones], cells: Cells) -> NDArray[np.float64]:
    return functools.reduce(np.multiply, (own.good(cells) for own in used))


def _model(ns, group, solutions, sky, interpolation, phase_centre_rad, smearing, need, used) -> None:
    """`ns.model(p, q)` of sources, with all terms of the solutions; adds these to `need` and `used`."""
    parts = parts_with_solutions(sky, solutions, group)
    used.append(JonesUse(solutions, None, interpolation, "whole sky"))
    named = [part.name for part in parts if part.name in solutions.directions]
    used += [JonesUse(solutions, name, interpolation, "direction") for name in named]
    made: dict[tuple, NodeStub] = {}

    def jones(p: int, part: SkyPart | None) -> list[NodeStub]:
        terms = "whole sky" if part is None else "direction"
        if part is not None and part.name not in solutions.directions:
            return []
        key = (p, part.name if part else None)
        if key not in made:
            own = AntennaJones.of_solutions(
                solutions, group.antenna_names[p], interpolation, part.name if part else None, terms
            )
            need[p].append(own)
            name = ns.J(p) if part is None else ns.J(p, part.name)
            made[key] = name << rt.PyNode(evaluate=own.matrix, dims=(2, 2), **_OF_TILE)
        return [made[key]]

    model_nodes(ns, parts, group.baselines, phase_centre_rad, jones, feed=group.feed, smearing=smearing)


def parts_with_solutions(sky: SkyModel | ModelColumns, solutions: Solutions, group: MsGroup) -> list[SkyPart]:
    """The parts of a model that have terms of their own, named as the directions of the solutions, without those of
    which all solutions are flagged: they are not in the data, or nobody knows how. Raises `CalibrationError` for a
    direction that has none, unless it was solved beside others as it is."""
    per: set[str | None] = {None}
    known = {*solutions.directions, *str(solutions.provenance.get("pinned_directions", "")).split("\n")}
    if solutions.directions:
        per = {"source"}
        if isinstance(sky, SkyModel) and all(source.patch for source in sky):
            per = {"patch"} if set(sky.patches) <= known else per
    model = as_model(sky).seen_by(group)
    if isinstance(model, ModelColumns):
        model.check(group)
    parts = model.parts(per)
    unknown = [part.name for part in parts if per != {None} and part.name not in known]
    if unknown:
        raise CalibrationError(
            f"there are no solutions for {', '.join(unknown[:5])}; there are some for {', '.join(solutions.directions)}"
        )
    lost = [part.name for part in parts if part.name in solutions.directions and _all_flagged(solutions, part.name)]
    if not 0 < len(lost) < len(parts):
        return parts
    warnings.warn(
        f"all solutions of {', '.join(lost[:5])}{', ...' if len(lost) > 5 else ''} are flagged: what the model says "
        "of these directions is left out",
        stacklevel=2,
    )
    return [part for part in parts if part.name not in lost]


def _all_flagged(solutions: Solutions, direction: str) -> bool:
    """Whether a term has no solution at all for a direction."""
    return any(
        one.flag[:, :, :, one.directions.index(direction)].all()
        for one in solutions.terms
        if direction in one.directions
    )


@checked
def slots_of_tree(group: MsGroup) -> int:
    """How many time slots a tree that applies or subtracts looks at together, at least 1: with more it takes more
    memory, and is hardly faster."""
    return slots_within(group, 0, _DATA_BYTES)
