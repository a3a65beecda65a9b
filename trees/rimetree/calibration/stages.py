"""What is solved for after what: all terms together, or one after the other while those before are held."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..arguments import checked
from ..ms import inspect
from .errors import CalibrationError
from .held import Held, HeldTerm
from .kinds import KINDS
from .models import Model
from .planning import CalibrationOptions, GroupPlan, plan_groups
from .solutions import Solutions
from .terms import Term, is_among


@dataclass(frozen=True, eq=False)
class Stage:
    """Terms that are solved for together, of `plans`; `before` and `after`: names of the terms that stand outside and
    inside these in the measurement equation and have been solved for in an earlier stage."""

    terms: tuple[Term, ...]
    plans: tuple[GroupPlan, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@checked
def plan_stages(path: str | os.PathLike, terms: Sequence[Term], options: CalibrationOptions) -> list[Stage]:
    """What would be solved, in order; reads no visibilities. Raises `Error` where nothing is selected.

    Together all terms are one stage. In turn (`CalibrationOptions.in_turn`) each is one, in the order in which they are
    given, on its own fields where it has some.
    """
    if not options.in_turn:
        if limited := [term for term in terms if term.fields]:
            raise CalibrationError(
                f'term "{limited[0]}": only terms that are solved for in turn (--in-turn) have fields of their own; '
                "those that are solved for together have the same data"
            )
        return [Stage(tuple(terms), tuple(plan_groups(path, terms, options)))]
    stages = []
    for place, term in enumerate(terms):
        own = replace(options, field_id=_fields(path, term, options)) if term.fields else options
        plans = tuple(plan_groups(path, [term], own))
        stages.append(Stage((term,), plans, before=tuple(one.name for one in terms[:place])))
    return stages


def _fields(path: str | os.PathLike, term: Term, options: CalibrationOptions) -> list[int]:
    """Numbers of the fields that a term is solved for on."""
    names = [field["name"] for field in inspect(path, scan_cells=False)["fields"]]
    try:
        found = field_numbers(names, term.fields)
    except CalibrationError as error:
        raise CalibrationError(f'term "{term}": {error}') from None
    chosen = options.field_id
    if chosen is None:
        return found
    chosen = list(chosen) if isinstance(chosen, Sequence) else [chosen]
    both = [number for number in found if number in chosen]
    if not both:
        raise CalibrationError(
            f'term "{term}": none of its fields ({", ".join(map(str, found))}) is among those selected '
            f"({', '.join(map(str, chosen))})"
        )
    return both


@checked
def field_numbers(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Rows of the FIELD table with such `names` that are `wanted`: by number, by name or by a pattern (3C*, !3C48).

    Raises `CalibrationError` for one that fits no field.
    """
    found: set[int] = set()
    for one in wanted:
        if one.isdigit() and one not in names:
            own = {int(one)} if int(one) < len(names) else set()
        else:
            own = {k for k, name in enumerate(names) if is_among(name, [one])}
        if not own:
            every = ", ".join(f"{k} {name}" for k, name in enumerate(names[:20]))
            raise CalibrationError(f"there is no field {one!r}; there are {every}")
        found = found & own if one.startswith("!") and found else found | own
    if not found:
        raise CalibrationError(f"no field is left of {', '.join(wanted)}")
    return sorted(found)


class KnownTerms:
    """The terms that are held: those of the options, from the beginning, and those of each stage after it."""

    def __init__(self, options: CalibrationOptions, terms: Sequence[Term]):
        self._given = _held_terms(options)
        self._mine = {
            term.name: HeldTerm(
                term.name,
                term.kind.diagonal,
                term.per,
                has_amplitude="amplitude" in term.kind.quantities,
                interpolation=options.interpolation,
            )
            for term in terms
        }

    def held(self, stage: Stage, group, model: Model) -> Held:
        """What is held while a group of a stage is solved."""
        given = [replace(one, per=_per_of(one, model)) for one in self._given]
        outer = [*given, *(self._mine[name] for name in stage.before)]
        return Held(group, outer, [self._mine[name] for name in stage.after])

    def learn(self, stage: Stage, sets: Sequence[Solutions]) -> None:
        """What a stage has found, by window."""
        for term in stage.terms:
            self._mine[term.name].sets[:] = sets


def _held_terms(options: CalibrationOptions) -> list[HeldTerm]:
    names = list(dict.fromkeys(term.name for one in options.held for term in one.terms))
    found = []
    for name in names:
        sets = [one for one in options.held if any(term.name == name for term in one.terms)]
        term = sets[0][name]
        found.append(
            HeldTerm(
                name,
                term.diagonal,
                "patch" if term.of_directions else None,
                has_amplitude="amplitude" in KINDS[term.kind].quantities,
                interpolation=options.interpolation,
                sets=sets,
            )
        )
    return found


def _per_of(held: HeldTerm, model: Model) -> str | None:
    """Whether directions of a held term are patches or sources of the model. Raises `CalibrationError` for neither."""
    if held.per is None:
        return None
    names = [name for one in held.sets for name in one[held.name].directions]
    for per in ("patch", "source"):
        if set(names) & set(model.directions(per)):
            return per
    raise CalibrationError(
        f"what is held of {held.name} is for the directions {', '.join(names[:10])}, none of which is a patch or a "
        "source of the model"
    )
