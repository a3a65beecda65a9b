"""The tree that is solved: the model with the terms to solve for, against the data of every baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ... import nodes as rt
from ..._core import SPEED_OF_LIGHT_M_S, Error, check_state
from ...arguments import check_fields
from ...ms import MsGroup
from ...writing.families import NodeFamily, over
from ...writing.indices import Index, each
from ...writing.scope import NodeScope, NodeStub
from ..errors import CalibrationError
from ..model.held import Held
from ..model.model_trees import SkyPart, model_nodes
from ..model.models import Model
from ..terms.gauge import Axis, brightest
from ..terms.planes import Planes
from ..terms.term_trees import Parameter
from ..terms.terms import Term, check_antennas, has_amplitude
from .term_nodes import TermNodes
from .told_terms import check_correlations

_SHORT_BIT = 4


@dataclass(frozen=True)
class DataSelection:
    """Which data are solved on: their column, and limits of the baseline's length in the uv plane, in metres or in
    wavelengths (0 and infinity: none)."""

    column: str = "DATA"
    min_m: float = 0.0
    max_m: float = float("inf")
    min_wavelengths: float = 0.0
    max_wavelengths: float = float("inf")

    def __post_init__(self) -> None:
        check_fields(self)
        for least, most, unit in (
            (self.min_m, self.max_m, "m"),
            (self.min_wavelengths, self.max_wavelengths, "wavelengths"),
        ):
            if not least <= most:
                raise CalibrationError(f"baselines from {least:g} to {most:g} {unit}: the smaller length comes first")

    @property
    def limited(self) -> bool:
        """Whether baselines must be of some length."""
        return (self.min_m, self.max_m, self.min_wavelengths, self.max_wavelengths) != (0.0, math.inf, 0.0, math.inf)


def within_limits(tile: dict, baseline: int | slice, data: DataSelection) -> NDArray[np.bool_] | None:
    """[..., time, channel]: whether a baseline of a tile, or some, are as long as they should be; None: all are."""
    if not data.limited:
        return None
    uv = tile["uvw_m"][baseline][..., :2]
    length = np.hypot(uv[..., 0], uv[..., 1])[..., None]
    wavelengths = length * tile["frequency_hz"] / SPEED_OF_LIGHT_M_S
    near = (length >= data.min_m) & (wavelengths >= data.min_wavelengths)
    return near & (length <= data.max_m) & (wavelengths <= data.max_wavelengths)


@dataclass(frozen=True)
class SolverOptions:
    """How it is solved: as the state fields of the node `Solver`."""

    iterations: int = 100
    tolerance: float = 1e-8
    robust_dof: float = 0.0
    errors_from_residuals: bool = False
    successive: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.iterations < 1:
            raise CalibrationError(f"iterations is a number from 1 on, not {self.iterations}")
        try:
            check_state("Solver", {"tolerance": self.tolerance, "robust_dof": self.robust_dof})
        except Error as problem:
            raise CalibrationError(str(problem)) from None


@dataclass(frozen=True)
class SolveTree:
    """What a solve is about.

    `solver`: the Solver node; `parameters`: of all terms; `directions`: {term
    name: directions, ("",) for the whole sky}; `radec_rad`: {direction: (ra, dec)}; `n_part`: parts of the model;
    `columns`: of the set, those that are parts of the model; `brightness_jy`: {"patch" or "source": {direction: flux}};
    `pinned`: directions that keep the unit matrix while others have terms;
    `scale`: the Parm for how much larger the data are than the model, where no term has an amplitude.
    `presence`: {direction: a Parm that is 1 if its model is in the data, else 0}, of phases of directions.
    `middles`: {name of a term of rates: a Parm for the middle of its solution intervals (MJD, seconds)}.
    `compared`: {baseline: (data, model with the terms)}; `looked`: {baseline: (the same, weight)}, where weights follow
    residuals.
    `smooth_hz`: as the Solver's state field.
    `untold`: (term, direction, None for the whole sky) of which this sky tells nothing, held at the unit matrix.
    `axes`: {(term, direction): the axis around which full matrices may be turned}.
    `turning`: names of terms of which a phase between the feeds may turn full matrices inside of them.
    `planes`: what stands between parameters of terms in planes and the Parms that are solved for.
    """

    solver: NodeStub
    parameters: list[Parameter]
    directions: dict[str, tuple[str, ...]]
    radec_rad: dict[str, tuple[float, float]] = field(default_factory=dict)
    n_part: int = 1
    columns: tuple[str, ...] = ()
    brightness_jy: dict[str, dict[str, float]] = field(default_factory=dict)
    scale: NodeStub | None = None
    pinned: tuple[str, ...] = ()
    presence: dict[str, NodeStub] = field(default_factory=dict)
    middles: dict[str, NodeStub] = field(default_factory=dict)
    looked: dict[tuple[int, int], tuple[NodeStub, NodeStub, NodeStub]] = field(default_factory=dict)
    smooth_hz: float = 0.0
    untold: frozenset[tuple[str, str | None]] = frozenset()
    axes: dict[tuple[str, str | None], Axis] = field(default_factory=dict)
    turning: frozenset[str] = frozenset()
    compared: dict[tuple[int, int], tuple[NodeStub, NodeStub]] = field(default_factory=dict)
    planes: Planes = field(default_factory=lambda: Planes(()))

    @property
    def n_column(self) -> int:
        return len(self.columns)

    @cached_property
    def gains_of(self) -> dict[str, tuple[str, ...]]:
        """{name of a term of directions that has amplitudes: directions that are solved for}."""
        found: dict[str, dict[str, None]] = {}
        for one in self.parameters:
            if one.direction is not None and one.part in ("re", "amplitude") and one.start == 1 and not one.fixed:
                found.setdefault(one.term, {})[one.direction] = None
        return {name: tuple(directions) for name, directions in found.items()}

    @property
    def brightest(self) -> dict[str, str]:
        """{"patch" or "source": the brightest direction}."""
        return {per: brightest(of) for per, of in self.brightness_jy.items()}

    def held_instead(self, absent: Collection[str]) -> set[str]:
        """Parms of the brightest direction that is there, where that which is held for a term is not."""
        found = set()
        for name in {one.term for one in self.parameters if one.fixed and one.direction in absent}:
            of = next(of for of in self.brightness_jy.values() if set(self.directions[name]) <= set(of))
            there = {one: of[one] for one in self.directions[name] if one not in absent}
            if there:
                chosen = brightest(there)
                found |= {one.node for one in self.parameters if one.term == name and one.direction == chosen}
        return found

    def held_turns(self) -> dict[tuple[str, str | None], set[int]]:
        """{(term, direction): elements of which a turn is held for the reference antenna}."""
        found: dict[tuple[str, str | None], set[int]] = {}
        for one in self.parameters:
            if one.referred and one.part not in ("re", "amplitude"):
                found.setdefault((one.term, one.direction), set()).add(one.element)
        return found

    def solved(self, reference: int, absent: Collection[str] = (), released: Collection[str] = ()) -> list[Parameter]:
        """The parameters to solve for, if phases refer to this antenna; `absent`: directions without signal;
        `released`: Parms that are held if they would not be, and solved for if they would be held."""
        # Antennas may share a Parm: one that is held for the reference antenna is for all that share it.
        held = {one.node for one in self.parameters if one.referred and one.antenna == reference} ^ set(released)
        held |= self.held_instead(absent)
        return [one for one in self.parameters if not (one.fixed or one.node in held)]


def solve_tree(
    ns: NodeScope,
    group: MsGroup,
    model: Model,
    terms: Sequence[Term],
    *,
    data: DataSelection,
    options: SolverOptions,
    phase_centre_rad: Sequence[float] | None = None,
    smearing: bool = True,
    held: Held | None = None,
    weights: Callable[[NodeScope, Index, Index], NodeFamily] | None = None,
    redundant: Collection[str] = (),
    smooth_hz: float = 0.0,
) -> SolveTree:
    """The tree for one field and spectral window, with what is `held` around and inside the terms. `weights(ns, p, q)`:
    nodes by which the weights of baselines are multiplied, so that `SolveTree.looked` is there. `redundant`: names of
    terms that are held at the unit matrix. `smooth_hz`: as the Solver's state field."""
    every, terms = terms, [term for term in terms if term.name not in redundant]
    held = held or Held(group)
    parts = model.parts([*(term.per for term in every), *held.pers])
    check_correlations(every, group, held)
    check_antennas(every, [group.antenna_names[antenna] for antenna in group.antennas])
    made = TermNodes(ns, group, model, terms, [term for term in every if term.name in redundant], held)

    def jones(antenna: int, part: SkyPart | None) -> list[NodeStub]:
        if part is None:
            return [made.node(term, antenna, None) for term in every if term.per is None]
        named = [(term, part.directions[term.per]) for term in every if term.per is not None]
        return [made.node(term, antenna, direction) for term, direction in named if term.acts_on(direction)]

    def inside(antenna: int, part: SkyPart | None) -> list[NodeStub]:
        return held.inside(ns, antenna, part)

    centre = phase_centre_rad or group.phase_centre_rad
    model_nodes(ns, parts, group.baselines, centre, jones, feed=group.feed, smearing=smearing, inside=inside)
    scale = None if has_amplitude(terms) else ns.scale << rt.Parm(1.0, solvable=True)
    p, q = each(group.baselines, members=2)
    value, seen, weight = _observed(ns, p, q, data, scale, held)
    weighted = weight if weights is None else rt.Multiply(weight, weights(ns, p, q), elementwise=True)
    condeqs = over(p, ns.condeq(p, q) << rt.Condeq(value, seen, weighted))
    of_baselines = [over(p, nodes) for nodes in (value, seen, weight)]
    return SolveTree(
        ns.solver << rt.Solver(*condeqs, **_solver_state(options), smooth_hz=smooth_hz),
        made.parameters,
        {term.name: directions_of(term, model) for term in every},
        {name: place for per in made.fluxes for name, place in model.radec_rad(per, centre).items()},
        len(parts),
        tuple(part.column for part in parts if part.column),
        made.fluxes,
        scale,
        _pinned(every, model, made.fluxes),
        made.presence,
        made.middles,
        {} if weights is None else dict(zip(group.baselines, zip(*of_baselines, strict=True), strict=True)),
        smooth_hz,
        frozenset(made.untold),
        made.axes,
        made.turning,
        dict(zip(group.baselines, zip(*of_baselines[:2], strict=True), strict=True)),
        Planes(tuple(made.planes.values())),
    )


def _pinned(terms: Sequence[Term], model: Model, pers: Collection[str]) -> tuple[str, ...]:
    """Directions on which no term acts while terms act on others."""
    acting = {per: [term for term in terms if term.per == per] for per in pers}
    every = {(per, name) for per in pers for name in model.directions(per)}
    return tuple(sorted({name for per, name in every if not any(term.acts_on(name) for term in acting[per])}))


def directions_of(term: Term, model: Model) -> tuple[str, ...]:
    """Directions of the model that a term is of, ("",) for the whole sky; raises `CalibrationError` where none of them
    is one of the term's."""
    if term.per is None:
        return ("",)
    every = model.directions(term.per)
    found = tuple(name for name in every if term.acts_on(name))
    if every and not found:
        raise CalibrationError(
            f'term "{term}": no {term.per} of the model is named {" or ".join(term.only)}; there are '
            f"{', '.join(every[:20])}{', ...' if len(every) > 20 else ''}"
        )
    return found


def _observed(ns: NodeScope, p: Index, q: Index, data: DataSelection, scale: NodeStub | None, held: Held) -> tuple:
    """Data, models with the terms, and weights of baselines."""
    value = ns.data(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column=data.column)
    weight = ns.weight(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="WEIGHT")
    for length, least, most in (
        (_length_m, data.min_m, data.max_m),
        (_length_wavelengths, data.min_wavelengths, data.max_wavelengths),
    ):
        if least > 0:
            value = rt.MergeFlags(value, rt.ZeroFlagger(length(ns, p, q) - least, oper="LT", flag_bit=_SHORT_BIT))
        if most < float("inf"):
            value = rt.MergeFlags(value, rt.ZeroFlagger(length(ns, p, q) - most, oper="GT", flag_bit=_SHORT_BIT))
    value, weight = held.divided(ns, p, q, value, weight)
    model = held.around(ns, p, q, ns.model(p, q))
    model = model if scale is None else rt.Multiply(scale, model)
    # Whoever looks at them asks for them by name.
    return tuple(
        node if isinstance(node, NodeFamily) else ns[name](p, q) << node
        for name, node in (("good_data", value), ("seen", model), ("good_weight", weight))
    )


def _length_m(ns: NodeScope, p: Index, q: Index) -> NodeFamily:
    # `uvw` has the rates of change in its second row where smearing is on.
    plain = ns.uvw_m(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW")
    u, v = (rt.Selector(plain, index=[i]) for i in (0, 1))
    return ns.uv_m(p, q) << rt.Sqrt(rt.Sqr(u) + rt.Sqr(v))


def _length_wavelengths(ns: NodeScope, p: Index, q: Index) -> NodeFamily:
    return ns.uv_wavelengths(p, q) << _length_m(ns, p, q) * rt.Freq() / SPEED_OF_LIGHT_M_S


def _solver_state(options: SolverOptions) -> dict:
    return {
        "iterations": options.iterations,
        "tolerance": options.tolerance,
        "robust_dof": options.robust_dof,
        "estimate_noise": options.robust_dof > 0,
        "errors_from_residuals": options.errors_from_residuals,
        "directions": "successive" if options.successive else "joint",
    }
