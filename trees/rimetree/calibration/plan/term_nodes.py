"""Nodes of the terms of a solve: of antennas and directions, and what of them is held because no data tell it."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import replace

from ... import nodes as rt
from ...ms import MsGroup
from ...writing.scope import NodeScope, NodeStub
from ..model.held import Held
from ..model.models import Model
from ..terms.axis_gauge import open_axis
from ..terms.conventions import as_fine
from ..terms.gauge import (
    Axis,
    Polarisation,
    exchanges_turns,
    has_two_sides,
    held_of_all,
    held_parameters,
    reference_direction,
    turned_inside,
)
from ..terms.kinds import ROTATIONS, TIME_QUANTITIES
from ..terms.planes import Plane, places_of
from ..terms.term_trees import Parameter, jones_nodes
from ..terms.terms import Term
from .told_terms import has_crossed_hands, is_told, tells_crossed_hands_alone


class TermNodes:
    """Made as they are asked for. `redundant`: names of terms, none of `terms`, that are held at the unit matrix.

    `parameters`: of all nodes so far; `fluxes`: {None, "patch" or "source": {direction: Jy}}; `presence`, `middles`,
    `untold`, `axes`, `planes`: as of `SolveTree`."""

    def __init__(
        self, ns: NodeScope, group: MsGroup, model: Model, terms: Sequence[Term], redundant: Sequence[Term], held: Held
    ):
        self._ns, self._group, self._model, self._held = ns, group, model, held
        self._terms, self._redundant = list(terms), {term.name for term in redundant}
        self._two_sides = has_two_sides(group.baselines)
        self._crossed_alone = tells_crossed_hands_alone(terms, group, held)
        # Functions, not methods: an object that holds a method of its own stays, with the set that its nodes read,
        # until Python looks for circles.
        self._polarisation = functools.cache(functools.partial(_seen_polarisation, model, group, held))
        self._told = functools.cache(functools.partial(_is_told, self._terms, model, group, held))
        self._made: dict[tuple[str, int, str | None], NodeStub] = {}
        self.fluxes = {per: model.fluxes_jy(per, group) for per in {t.per for t in (*terms, *redundant)} - {None}}
        self.parameters: list[Parameter] = []
        self.presence: dict[str, NodeStub] = {}
        self.middles: dict[str, NodeStub] = {}
        self.untold: set[tuple[str, str | None]] = set()
        self.axes: dict[tuple[str, str | None], Axis] = {}
        self.planes: dict[tuple[str, str | None], Plane] = {}
        self._slopes: dict[tuple[str, str | None], list[NodeStub]] = {}
        self._places = functools.cache(functools.partial(places_of, group))

    def node(self, term: Term, antenna: int, direction: str | None) -> NodeStub:
        """The matrix of a term; antennas that share their solutions have one node."""
        key = (term.name, antenna, direction)
        if key in self._made:
            return self._made[key]
        names = self._group.antenna_names
        first = term.shared_by([names[a] for a in self._group.antennas], names[antenna])
        owner = next(a for a in self._group.antennas if names[a] == first)
        if owner != antenna:
            self._made[key] = self.node(term, owner, direction)
            shared = [o for o in self.parameters if (o.term, o.antenna, o.direction) == (term.name, owner, direction)]
            self.parameters.extend(replace(one, antenna=antenna) for one in shared)
        else:
            fixed, held = self._gauge(term, direction)
            around = {"modulus": self._modulus(term, direction), "middle": self._middle(term)}
            around["held_of_all"] = held_of_all(term, self._terms)
            if term.plane:
                around |= {"slopes": self._slopes_of(term, direction, fixed), "place": self._places()[antenna]}
            self._made[key], own = jones_nodes(self._ns, term, antenna, direction, fixed=fixed, held=held, **around)
            self.parameters.extend(own)
            if term.plane:
                plane = self.planes[term.name, direction]
                plane.places[own[0].node], plane.antennas[own[0].node] = self._places()[antenna], antenna
        return self._made[key]

    def _slopes_of(self, term: Term, direction: str | None, fixed: bool) -> list[NodeStub]:
        """The Parms of a term in a plane, of a direction."""
        key = (term.name, direction)
        if key not in self._slopes:
            quals = () if direction is None else (direction,)
            count = len(next(iter(self._places().values())))
            names = [self._ns[f"{term.name}_slope{k}"] for k in range(count)]
            names = [name(*quals) if quals else name for name in names]
            self._slopes[key] = [name << rt.Parm(0.0, solvable=not fixed) for name in names]
            self.planes[key] = Plane(tuple(node.name for node in self._slopes[key]), {}, {})
        return self._slopes[key]

    @property
    def turning(self) -> frozenset[str]:
        """As of `SolveTree`."""
        where = self._terms, self._polarisation, self._model.directions
        return frozenset(term.name for term in self._terms if exchanges_turns(term, *where))

    def _gauge(self, term: Term, direction: str | None) -> tuple[bool, Collection[tuple[str, str]]]:
        """Whether all of a term (in a direction) is held; and what is of a reference antenna. Notes what is not told,
        and around which axis matrices may be turned."""
        if term.name in self._redundant:
            return True, set()
        if not self._told(term, direction):
            self.untold.add((term.name, direction))
            return True, set()
        seen, others = self._polarisation(None if direction is None else term.per, direction), self._terms
        for other in self._terms if direction is None else ():  # a direction of which this is the only full matrix
            place = other.per and reference_direction(other, self._terms, self.fluxes[other.per])
            if place and other.kind.name == "full" and as_fine(other, term):
                seen = self._polarisation(other.per, place)
                others = [one for one in others if one.name != other.name]
        if turned_inside(term, others, direction, self._polarisation, self._model.directions):
            seen = replace(seen, hands="none")
        axis = None if self._two_sides else open_axis(term, others, seen)
        if axis is not None:
            self.axes[term.name, direction] = axis
        is_reference = direction is not None and direction == reference_direction(
            term, self._terms, self.fluxes[term.per]
        )
        sides = {"two_sides": self._two_sides, "crossed_alone": self._crossed_alone}
        return is_reference, held_parameters(term, others, seen, **sides)

    def _modulus(self, term: Term, direction: str | None) -> NodeStub | float:
        """Of phasors of a term: 1, or whether the direction is there."""
        if direction is None or not (term.turns or term.kind.name in ROTATIONS):
            return 1.0
        if direction not in self.presence:
            self.presence[direction] = self._ns.presence(direction) << rt.Parm(1.0, solvable=False)
        return self.presence[direction]

    def _middle(self, term: Term) -> NodeStub | None:
        """Of the solution intervals of a term whose matrices change within them in time."""
        if term.name not in self.middles and TIME_QUANTITIES & set(term.kind.quantities):
            self.middles[term.name] = self._ns[f"{term.name}_middle"] << rt.Parm(0.0, solvable=False)
        return self.middles.get(term.name)


def _is_told(
    terms: Sequence[Term], model: Model, group: MsGroup, held: Held, term: Term, direction: str | None
) -> bool:
    sky = model.polarisation(group, None if direction is None else term.per, direction or "")
    return is_told(term, terms, sky, group, held)


def _seen_polarisation(
    model: Model, group: MsGroup, held: Held, per: str | None, direction: str | None
) -> Polarisation:
    """Of a direction, or of the whole sky, as feeds see it."""
    found = model.polarisation(group, per, direction or "")
    if found.hands == "crossed" and not has_crossed_hands(group):
        found = replace(found, hands="parallel")  # whatever the sky has, no crossed hands tell it
    if held.turns and found.hands != "none":  # what feeds see of it changes with time
        return Polarisation("crossed", False)
    return found
