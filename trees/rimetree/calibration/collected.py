"""Solutions as they come in, chunk after chunk, and what they look like together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..evaluation.solving import SolutionFlag
from .data.links import Links
from .solutions.small_gains import with_errors_of_small_gains
from .solutions.term_solutions import TermSolutions
from .starts.fewer_directions import BestFit
from .terms.grid import Axis, Chunk
from .terms.kinds import observed_elements
from .terms.term_trees import Parameter, polar_of
from .terms.terms import Term

# Bits of a Solver's flags that leave a value usable: held by a bound is the user's wish.
_USABLE = int(SolutionFlag.AT_BOUND)  # ~ of a SolutionFlag has its own bits only
#: Besides the Solver's: the model of a direction is not found in the data.
WITHOUT_SIGNAL = 1 << 16
#: The sky of the model is not polarised as it would have to be.
NOT_TOLD = 1 << 17
#: The model of a direction is not found in the data, as would be so if it was there: it does not stand out from noise.
NOT_DETECTED = 1 << 18
_REASONS = (
    (NOT_TOLD, "not determined by this sky"),
    (WITHOUT_SIGNAL, "without signal"),
    (NOT_DETECTED, "not detected"),
    (SolutionFlag.NO_DATA, "without data"),
    (SolutionFlag.NOT_SOLVED, "not solved"),
    (SolutionFlag.UNDETERMINED, "undetermined"),
    (SolutionFlag.AMBIGUOUS, "ambiguous"),
    (SolutionFlag.NOT_CONVERGED, "not converged"),
)


def chunk_arrays(
    terms: Sequence[Term],
    parameters: Sequence[Parameter],
    asked: Collection[str],
    solved: dict[str, dict[str, np.ndarray]],
    shapes: dict[str, tuple[int, int]],
) -> dict[str, np.ndarray]:
    """What to keep of a chunk: {"NAME:value", "NAME:sigma", "NAME:cross", "NAME:flag"}, each [parameter, time, freq] of
    a term.

    `asked`: names of the Parms that were to be solved for. `solved`: {name of the Parm: {"value", "sigma", ...}} of
    those that were, arrays [time, freq]. `shapes`: {term name: (times, frequencies)}. A parameter that is held has its
    value and no error; it is good where anything of the term is.
    """
    arrays = {}
    for term in terms:
        own = [one for one in parameters if one.term == term.name]
        value = np.empty((len(own), *shapes[term.name]))
        sigma, cross, flag = np.zeros(value.shape), np.zeros(value.shape), np.zeros(value.shape, dtype=np.int32)
        for k, one in enumerate(own):
            found = solved.get(one.node)
            if found is None:
                value[k] = one.start
                flag[k] = SolutionFlag.NO_DATA  # nothing that was read depends on it
                continue
            value[k], sigma[k], cross[k], flag[k] = (found[key] for key in ("value", "sigma", "cross", "flag"))
        held = np.array([one.node not in asked for one in own])
        if held.any():
            flag[held] = _flag_of_held(flag[~held] & ~_USABLE)
        own_arrays = {"value": value, "sigma": sigma, "cross": cross, "flag": flag}
        arrays |= {f"{term.name}:{key}": array for key, array in own_arrays.items()}
    return arrays


def flag_absent(
    terms: Sequence[Term], parameters: Sequence[Parameter], arrays: dict[str, np.ndarray], fitted: BestFit
) -> None:
    """Flags what was not solved for because the model of a direction is not found in the data: as not converged if it
    may be there, for the fit without it has ended in a minimum that may not be the lowest; as not detected if noise
    would hide it."""
    for term in terms:
        own = [one.direction if term.per is not None else None for one in parameters if one.term == term.name]
        flag = arrays[f"{term.name}:flag"]
        for name in fitted.begin.absent:
            there = np.array([one == name for one in own], dtype=bool)
            if fitted.doubtful:
                flag[there] = SolutionFlag.NOT_CONVERGED  # data would be missed where it was not solved for
            else:
                flag[there] |= NOT_DETECTED if name in fitted.hidden else WITHOUT_SIGNAL


def flag_untold(
    parameters: Sequence[Parameter], arrays: dict[str, np.ndarray], untold: Collection[tuple[str, str | None]]
) -> None:
    """Flags terms, and directions of them, of which the sky tells nothing: (term, direction) each."""
    for name in {term for term, _ in untold}:
        own = [one for one in parameters if one.term == name]
        arrays[f"{name}:flag"][[(name, one.direction) in untold for one in own]] = NOT_TOLD


def flag_apart(
    parameters: Sequence[Parameter],
    arrays: dict[str, np.ndarray],
    links: Links,
    axes: Mapping[str, tuple[Axis, Axis]],
    reference: int,
) -> None:
    """Flags antennas that no data link with the reference, of terms of which that is held: data tell no more than what
    such antennas are to each other. `axes`: intervals of each term along time and frequency."""
    for name, (times, frequencies) in axes.items():
        own = [one for one in parameters if one.term == name]
        held = {one.direction for one in own if one.referred}
        if not held:
            continue
        first = [
            one
            for one in own
            if (one.part, one.element, one.direction) == (own[0].part, own[0].element, own[0].direction)
        ]
        apart = links.apart(times.edges, frequencies.edges, reference, {one.antenna: one.node for one in first})
        for k, one in enumerate(own):
            if one.direction in held:
                arrays[f"{name}:flag"][k][apart[one.antenna]] |= SolutionFlag.AMBIGUOUS


def _flag_of_held(others: np.ndarray) -> np.ndarray:
    """Flags [time, freq] of values that are not solved for, from those of the others [parameter, time, freq]: as far as
    nothing of the term is good, for the reasons that most of it has."""
    if len(others) == 0:
        return np.full(others.shape[1:], SolutionFlag.NO_DATA, dtype=others.dtype)
    shared, any_of = np.bitwise_and.reduce(others), np.bitwise_or.reduce(others)
    return np.where((others != 0).all(axis=0), np.where(shared != 0, shared, any_of & ~SolutionFlag.NO_DATA), 0)


def flag_reasons(
    terms: Sequence[Term],
    parameters: Sequence[Parameter],
    arrays: dict[str, np.ndarray],
    correlations: Collection[str],
) -> dict[str, dict[str, int]]:
    """{term, or "term, direction": how many of its values in a chunk are flagged, by what the Solver says is the
    reason} (one for each value, the gravest). Feeds that the data do not have do not count."""
    found = {}
    for term in terms:
        observed = observed_elements(term.elements, correlations)
        own = [one for one in parameters if one.term == term.name]
        for direction in dict.fromkeys(one.direction for one in own):
            these = [observed[one.element] and one.direction == direction for one in own]
            reasons = _counted(arrays[f"{term.name}:flag"][np.array(these, dtype=bool)].ravel())
            if reasons:
                found[term.name if direction is None else f"{term.name}, {direction}"] = reasons
    return found


def _counted(flags: np.ndarray) -> dict[str, int]:
    found = {}
    for bit, reason in _REASONS:
        found[reason] = int(((flags & bit) != 0).sum())
        flags = np.where(flags & bit, 0, flags)
    return {reason: count for reason, count in found.items() if count}


class Collected:
    """The solutions of one term over all chunks of a spectral window: tables to be filled. `directions`: of all fields;
    those that a field does not have are flagged there."""

    def __init__(self, term: Term, directions: Sequence[str], antennas: dict[int, str], frequency: Axis):
        self._term = term
        self._antennas = list(antennas)
        self._axes = {
            "frequency_hz": frequency.centre,
            "frequency_width_hz": frequency.width,
            "antennas": tuple(antennas.values()),
            "directions": tuple(directions),
        }
        self._parts: list[tuple[Axis, TermSolutions]] = []
        self._convention = ""
        self._fields: list[np.ndarray] = []
        #: How many were flagged for want of signal.
        self.faint = 0

    @property
    def name(self) -> str:
        """Of the term."""
        return self._term.name

    def add(
        self,
        chunk: Chunk,
        parameters: Sequence[Parameter],
        arrays: dict,
        *,
        convention: str,
        field_id: int,
        variance: float,
    ) -> TermSolutions:
        """The solutions of a field's chunk, as `chunk_arrays` keeps them; by which convention, if by any; `variance`:
        by which weights differ from 1/sigma^2, and squares of errors with them. Returns them as they are kept."""
        self._convention = convention or self._convention
        axis = chunk.times[self._term.name]
        self._fields.append(np.full(len(axis.centre), field_id))
        axes = {"time_s": axis.centre, "time_width_s": axis.width, **self._axes}
        part = TermSolutions.empty(self._term.name, self._term.kind.name, self._term.elements, axes)
        found = {key: arrays[f"{self._term.name}:{key}"] for key in ("value", "sigma", "cross", "flag")}
        own = [one for one in parameters if one.term == self._term.name]
        for key in dict.fromkeys((one.antenna, one.direction) for one in own):
            at = [k for k, one in enumerate(own) if (one.antenna, one.direction) == key]
            a = self._antennas.index(key[0])
            d = self._axes["directions"].index(key[1] or "")
            place = (slice(None), slice(None), a, d)
            self._fill(part, [own[k] for k in at], {key: array[at] for key, array in found.items()}, place)
        self._parts.append((axis, with_errors_of_small_gains(part, variance)))
        return self._parts[-1][1]

    def flag_faint(self, flag: np.ndarray) -> None:
        """Flags solutions of the last chunk for want of signal."""
        axis, kept = self._parts[-1]
        self.faint += int((flag & ~kept.flag).sum())
        self._parts[-1] = (axis, replace(kept, flag=kept.flag | flag))

    def _fill(self, part, parameters, found, at) -> None:
        value, sigma, flag = found["value"], found["sigma"], found["flag"]
        by_element: dict[int, dict[str, int]] = {}
        for k, one in enumerate(parameters):
            by_element.setdefault(one.element, {})[one.part] = k
        shape = part.flag[at].shape[:2]
        if not by_element.keys() >= set(range(len(self._term.elements))):
            part.flag[at] = False  # the diagonal of a leakage is 1 by definition
            for table in part.sigma.values():
                table[at] = 0.0
        for element, parts in by_element.items():
            where = (*at, element)
            bad = np.zeros(shape, dtype=bool)
            for k in parts.values():
                bad |= (flag[k] & ~_USABLE) != 0
                bad |= ~np.isfinite(value[k])
            part.flag[where] = bad
            if "re" in parts:
                re, im = parts["re"], parts["im"]
                values, sigmas = polar_of(value[re], value[im], sigma[re], sigma[im], found["cross"][re])
            else:
                values = {q: value[k] for q, k in parts.items()}
                sigmas = {q: sigma[k] for q, k in parts.items()}
            for quantity in values:
                part.value[quantity][where] = np.where(bad, part.value[quantity][where], values[quantity])
                part.sigma[quantity][where] = np.where(bad, np.nan, sigmas[quantity])

    def solutions(self) -> TermSolutions:
        """All chunks together, by time."""
        parts = [part for _, part in self._parts]
        order = np.argsort(np.concatenate([part.time_s for part in parts]), kind="stable")

        def joined(arrays):
            return np.concatenate(arrays)[order]

        return TermSolutions(
            self._term.name,
            self._term.kind.name,
            tuple(self._term.elements),
            time_s=joined([part.time_s for part in parts]),
            time_width_s=joined([part.time_width_s for part in parts]),
            **self._axes,
            value={q: joined([part.value[q] for part in parts]) for q in parts[0].value},
            sigma={q: joined([part.sigma[q] for part in parts]) for q in parts[0].sigma},
            flag=joined([part.flag for part in parts]),
            text=self._term.text,
            field_ids=joined(self._fields),
            convention=self._convention,
        )
