"""What is solved for after what: all terms together, or one after the other while those before are held."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..arguments import checked
from ..ms import OpenSet, inspect
from ..some_names import some_names
from .data.baseline_averaging import baseline_averaging, radius_of
from .errors import CalibrationError
from .model.held import Held, HeldTerm
from .model.models import Model, Models
from .plan.held_edges import edges_of_plans, edges_of_solutions, joined_edges
from .plan.planning import CalibrationOptions, GroupPlan, plan_groups
from .solutions.one_turn import is_turn, require_one_turn, turns_of
from .solutions.parallactic import is_known, parallactic_solutions
from .solutions.solutions import Solutions
from .terms.conventions import leaves_phase_between_feeds
from .terms.kinds import KINDS
from .terms.terms import Term, has_amplitude, is_among


@dataclass(frozen=True, eq=False)
class Stage:
    """Terms that are solved for together, of `plans`; `before` and `after`: names of the terms that stand outside and
    inside these in the measurement equation and have been solved for in an earlier stage; `feeds_apart`: the phase
    between the feeds of the reference antenna is left to a crosshand phase of a later stage."""

    terms: tuple[Term, ...]
    plans: tuple[GroupPlan, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    feeds_apart: bool = False


@checked
def plan_stages(
    path: str | os.PathLike,
    terms: Sequence[Term],
    options: CalibrationOptions,
    sky: object = None,
    *,
    summary: dict | None = None,
) -> list[Stage]:
    """What would be solved, in order; reads no visibilities. Raises `Error` where nothing is selected.

    `sky`: the model, as of `calibrate`; needed if baselines are averaged by what its sources lose.
    Together all terms are one stage, around and inside which parallactic angles stand. In turn
    (`CalibrationOptions.in_turn`) each is one, in the order in which they are given, on its own fields where it has
    some. `summary`: what `ms.inspect` said, if it was asked already.
    """
    if options.min_snr > 0 and not has_amplitude(terms):
        raise CalibrationError(
            "min_snr wants a term with amplitudes, e.g. gains: phases alone do not say how much of the model is in the "
            "data"
        )
    given = [name for sets in options.held_files for name in turns_of(sets)]
    require_one_turn([*given, *(term.name for term in terms if is_known(term))])
    stages = _stages(path, terms, options, summary or inspect(path, scan_cells=False))
    return _averaged(path, stages, terms, options, sky) if options.average_loss > 0 else stages


def _averaged(path, stages: Sequence[Stage], terms: Sequence[Term], options: CalibrationOptions, sky) -> list[Stage]:
    """The stages with baselines averaged by `options.average_loss`."""
    opened, models, found = OpenSet(path), None if sky is None else Models(sky), []
    known = {term.name for term in terms if is_known(term)}
    for number, stage in enumerate(stages):
        plans = []
        for plan in stage.plans:
            held = [
                edges_of_solutions(one, plan.group, options.interpolation)
                for sets in options.held_files
                for one in sets
            ]
            held += [
                edges_of_plans([*(p for p in earlier.plans)], earlier.terms, plan.group.field_id, options.interpolation)
                for earlier in stages[:number]
            ]
            turning = next((name for name in (*stage.before, *stage.after) if name in known), "")
            model = None if models is None else models.of(plan.group)
            averaging = baseline_averaging(
                opened, plan, options, radius_of(model, plan, options), joined_edges(held, turning)
            )
            group = replace(plan.group, selection={**plan.group.selection, **averaging.options})
            plans.append(replace(plan, group=group, averaging=averaging))
        found.append(replace(stage, plans=tuple(plans)))
    return found


def _stages(path: str | os.PathLike, terms: Sequence[Term], options: CalibrationOptions, summary: dict) -> list[Stage]:
    if not options.in_turn:
        if limited := [term for term in terms if term.fields]:
            raise CalibrationError(
                f'term "{limited[0]}": only terms that are solved for in turn (--in-turn) have fields of their own; '
                "those that are solved for together have the same data"
            )
        return [_together(path, terms, options, summary)]
    stages = []
    known = [term.name for term in terms if is_known(term)]
    for place, term in enumerate(terms):
        if is_known(term):
            continue
        own = replace(options, field_id=_fields(summary, term, options)) if term.fields else options
        plans = tuple(plan_groups(path, [term], own, summary=summary))
        before = tuple(one.name for one in terms[:place])
        after = tuple(name for name in known if name not in before)
        apart = leaves_phase_between_feeds(term, terms[place + 1 :])
        stages.append(Stage((term,), plans, before, after, apart))
    if not stages:
        raise CalibrationError("there is nothing to solve for: parallactic angles are known; add a term")
    _warn_of_other_windows(stages)
    return stages


def _warn_of_other_windows(stages: Sequence[Stage]) -> None:
    """Warns of windows in which terms are held that were solved for in others only."""
    where: dict[tuple[str, ...], list[str]] = {}
    solved: dict[str, set[int]] = {}
    for stage in stages:
        for group in (plan.group for plan in stage.plans):
            others = tuple(name for name, windows in solved.items() if not windows & set(group.data_desc_ids))
            where.setdefault(others, []).append(f"field {group.field_id}, window {group.data_desc_ids[0]}")
        own = {one for plan in stage.plans for one in plan.group.data_desc_ids}
        solved |= {term.name: own for term in stage.terms}
    for names, places in where.items():
        if names:
            warnings.warn(
                f"{', '.join(names)} are solved for in other windows than {some_names(list(dict.fromkeys(places)))}, "
                "which get those of the nearest window",
                stacklevel=3,
            )


def _together(path: str | os.PathLike, terms: Sequence[Term], options: CalibrationOptions, summary: dict) -> Stage:
    """All terms, with known ones outside or inside of them."""
    solved = [term for term in terms if not is_known(term)]
    if not solved:
        raise CalibrationError("there is nothing to solve for: parallactic angles are known; add a term")
    whole = [place for place, term in enumerate(terms) if term.per is None and not is_known(term)]
    before, after = [], []
    for place, term in enumerate(terms):
        if not is_known(term):
            continue
        outside, inside = (not whole or end for end in (place < min(whole, default=0), place > max(whole, default=0)))
        if not (outside or inside):
            raise CalibrationError(
                f'term "{term}" stands between terms that are solved for together: put it before or behind those of '
                "the whole sky, or solve in turn (--in-turn)"
            )
        (after if inside else before).append(term.name)
    plans = plan_groups(path, solved, options, summary=summary)
    return Stage(tuple(solved), tuple(plans), tuple(before), tuple(after))


def _fields(summary: dict, term: Term, options: CalibrationOptions) -> list[int]:
    """Numbers of the fields that a term is solved for on."""
    names = [field["name"] for field in summary["fields"]]
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
            if one.isdigit() and own != {int(one)} and int(one) < len(names):
                which = ", ".join(map(str, sorted(own)))
                warnings.warn(f"field {one!r} is the name of field {which} here, and not number {one}", stacklevel=3)
        if not own:
            every = ", ".join(f"{k} {name}" for k, name in enumerate(names[:20]))
            raise CalibrationError(f"there is no field {one!r}; there are {every}")
        found = found & own if one.startswith("!") and found else found | own
    if not found:
        raise CalibrationError(f"no field is left of {', '.join(wanted)}")
    return sorted(found)


class KnownTerms:
    """The terms that are held: those of the options, from the beginning, and those of each stage after it."""

    def __init__(self, path: str | os.PathLike, options: CalibrationOptions, terms: Sequence[Term]):
        self._given = _held_terms(options)
        self._mine = {
            term.name: HeldTerm(
                term.name,
                term.kind.diagonal,
                term.per,
                has_amplitude="amplitude" in term.kind.quantities,
                interpolation="nearest" if is_known(term) else options.interpolation,
                turns=is_known(term),
            )
            for term in terms
        }
        self.known = {term.name: parallactic_solutions(path, term) for term in terms if is_known(term)}
        for name, found in self.known.items():
            self._mine[name].sets[:] = [found]
            self._mine[name].diagonal = found.diagonal

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
    return [term for sets in options.held_files for term in _of_file(sets, options.interpolation)]


def _of_file(every: Sequence[Solutions], interpolation: str) -> list[HeldTerm]:
    found = []
    for name in dict.fromkeys(term.name for one in every for term in one.terms):
        sets = [one for one in every if any(term.name == name for term in one.terms)]
        term = sets[0][name]
        found.append(
            HeldTerm(
                name,
                term.diagonal,
                "patch" if term.of_directions else None,
                has_amplitude="amplitude" in KINDS[term.kind].quantities,
                interpolation=interpolation,
                turns=is_turn(term),
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
