"""Solutions of spectral windows: those of all fields of a window go together, and those of all stages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from .collected import Collected
from .plan.planning import CalibrationOptions
from .report.reports import ChunkReport
from .searches.smoothing import smoothed
from .session import Session
from .solutions.choosing import FIELDS, SEEN, fields_of, fields_text, window_ids
from .solutions.faint_solutions import faint
from .solutions.gains_of_noise import GainsOverErrors, feeds_without_signal
from .solutions.one_reference import with_feeds_apart, with_one_reference
from .solutions.outliers_of_solutions import without_outliers
from .solutions.solutions import WINDOWS, Solutions, windows_text
from .solutions.term_solutions import TermSolutions
from .terms.conventions import NORMALISED
from .terms.full_chains import UNIT_MEAN
from .terms.grid import Chunk
from .terms.redundant import HELD
from .terms.terms import Term


class WindowSolutions:
    """Solutions of the terms of one stage in one spectral window, or in several that are solved together."""

    def __init__(self, sessions: Sequence[Session], terms: Sequence[Term], feeds_apart: bool):
        self._feeds_apart = feeds_apart
        self._session, self._sessions, self._terms = sessions[0], list(sessions), list(terms)
        group = self._session.plan.group
        antennas = sorted({antenna for session in sessions for antenna in session.plan.group.antennas})
        self._names = {antenna: group.antenna_names[antenna] for antenna in antennas}
        frequencies = self._session.plan.frequencies
        self._collected = [
            Collected(term, self._directions(term.name), self._names, frequencies[term.name]) for term in terms
        ]
        self.good = dict.fromkeys(self._names.values(), 0)
        self.all = dict.fromkeys(self._names.values(), 0)
        self._references: dict[tuple[int, float], str] = {}  # of each slot of a field
        self._scales: list[float] = []
        self._smoothed_hz: list[float] = []  # of each chunk
        self.any = False
        #: How many solutions of each term were flagged because they stand out.
        self.standing_out: dict[str, int] = {}
        #: Of each term.
        self.gains: dict[str, GainsOverErrors] = {term.name: GainsOverErrors() for term in terms}

    def _directions(self, term: str) -> list[str]:
        """Of all fields, whose models may have other patches."""
        return list(dict.fromkeys(name for one in self._sessions for name in one.tree.directions[term]))

    @property
    def feed(self) -> str:
        return self._session.plan.group.feed

    @property
    def faint(self) -> dict[str, int]:
        """{term: how many solutions are flagged for want of signal}."""
        return {collected.name: collected.faint for collected in self._collected}

    @property
    def data_desc_ids(self) -> tuple[int, ...]:
        return self._session.plan.group.data_desc_ids

    def add(self, session: Session, chunk: Chunk, arrays: dict, report: ChunkReport) -> None:
        """A chunk of one of the sessions."""
        # Errors that follow the residuals already, as those of robust fits do, know how large the noise is.
        noise = 1.0 if session.errors_from_residuals else report.noise_ratio / report.noise
        every = {}
        for collected in self._collected:
            kept = every[collected.name] = collected.add(
                chunk,
                session.tree.parameters,
                arrays,
                convention=_convention(session, collected.name, report),
                field_id=report.field_id,
                variance=noise**2 if noise > 0 else 1.0,
            )
            if noise > 0:  # else nobody knows how large errors are
                self.gains[collected.name].add(kept, noise**2)
        if session.min_snr > 0 and noise > 0:
            flags = faint(every, session.min_snr, noise**2)
            for collected in self._collected:
                collected.flag_faint(flags[collected.name])
        self._references |= {(report.field_id, float(slot)): report.reference for slot in chunk.slot_s}
        if report.scale is not None:
            self._scales.append(report.scale)
        if report.equations > 0:
            self._smoothed_hz.append(report.smoothed_hz)
        for antenna, good, every in zip(session.plan.group.antennas, arrays["good"], arrays["all"], strict=True):
            self.good[self._names[antenna]] += int(good)
            self.all[self._names[antenna]] += int(every)
        self.any = True

    def _finished(self, collected: Collected, options: CalibrationOptions) -> TermSolutions:
        """A term as it is kept: without what stands out, and smooth, where that is asked for."""
        found = collected.solutions()
        if options.flag_solutions > 0:
            found, all_found = without_outliers(found, options.flag_solutions), found
            self.standing_out[collected.name] = int((found.flag & ~all_found.flag).sum())
        term = next(term for term in self._terms if term.name == collected.name)
        return smoothed(found, term, min(self._smoothed_hz, default=0.0))

    def _of_one_reference(self, found: TermSolutions) -> TermSolutions:
        """With phases that go on where the reference antenna is another for want of data, and without that between the
        feeds where it is left to a later stage."""
        if found.field_ids is None or not (self._feeds_apart or len(set(self._references.values())) > 1):
            return found
        names = np.empty(len(found.time_s), object)
        for field_id in np.unique(found.field_ids):
            slots = np.array(sorted(slot for field, slot in self._references if field == field_id))
            own = np.flatnonzero(found.field_ids == field_id)
            near = slots[np.searchsorted(0.5 * (slots[1:] + slots[:-1]), found.time_s[own])]
            names[own] = [self._references[int(field_id), float(slot)] for slot in near]
        if self._feeds_apart:
            found = with_feeds_apart(found, list(names))
        others = [term.kind for term in self._terms if term.name != found.name]
        apart = all(kind.diagonal and kind.name != "crosshand" for kind in others)
        return with_one_reference(found, list(names), feeds_apart=apart)

    def solutions(self, options: CalibrationOptions) -> Solutions:
        """Of all chunks so far."""
        from .. import __version__

        group = self._session.plan.group
        pinned = list(dict.fromkeys(name for one in self._sessions for name in one.tree.pinned))
        fields = {one.plan.group.field_id: one.plan.group.field_name for one in self._sessions}
        return Solutions(
            tuple(self._of_one_reference(self._finished(collected, options)) for collected in self._collected),
            group.feed,
            {name: group.antenna_xyz_m[antenna] for antenna, name in self._names.items()},
            {name: radec for one in self._sessions for name, radec in one.tree.radec_rad.items()},
            {
                "program": f"RimeTree {__version__}",
                "measurement_set": os.path.realpath(group.path),
                "data_desc_id": float(group.data_desc_ids[0]),
                "data_desc_ids": " ".join(map(str, group.data_desc_ids)),
                WINDOWS: windows_text(centre_hz for centre_hz, _ in self._session.plan.bands.values()),
                FIELDS: fields_text(fields),
                "data_column": options.data.column,
                "created_utc": datetime.now(UTC).isoformat(timespec="seconds"),
                SEEN: self._session.seen,
                **({"data_over_model": float(np.median(self._scales))} if self._scales else {}),
                **({"pinned_directions": "\n".join(pinned)} if pinned else {}),
                **options.provenance,
            },
        )


def _convention(session: Session, term: str, report: ChunkReport) -> str:
    if term in session.redundant:
        return HELD.format(session.redundant[term])
    if term not in report.normalised:
        return ""
    return UNIT_MEAN if term in session.exchanging else NORMALISED


def without_signal(windows: Sequence[WindowSolutions]) -> dict[tuple[int, ...], list[str]]:
    """{data description ids: antennas, or feeds of them, whose gains are hardly larger than those of noise}, of the
    windows of all stages."""
    by_window: dict[tuple[int, ...], list[WindowSolutions]] = {}
    for one in windows:
        by_window.setdefault(one.data_desc_ids, []).append(one)
    return {
        ids: feeds_without_signal([gains for one in own for gains in one.gains.values()], own[0].feed)
        for ids, own in by_window.items()
    }


def windows_of(
    sessions: Sequence[Session], terms: Sequence[Term], feeds_apart: bool
) -> dict[tuple[int, ...], WindowSolutions]:
    """{data description ids: `WindowSolutions`} of the sessions of one stage."""
    by_window: dict[tuple[int, ...], list[Session]] = {}
    for session in sessions:
        by_window.setdefault(session.plan.group.data_desc_ids, []).append(session)
    return {ids: WindowSolutions(some, terms, feeds_apart) for ids, some in by_window.items()}


def joined_sets(
    stages: Sequence[Sequence[Solutions]], terms: Sequence[Term], known: Mapping[str, Solutions] | None = None
) -> list[Solutions]:
    """One set for each window, with the terms of all stages, and those that are `known`, in the order of the
    measurement equation.

    Where one stage solved windows together and another did not, each window has the former's solutions too.
    """
    windows = {window_ids(one) for sets in stages for one in sets}
    finest = [ids for ids in windows if not any(set(other) < set(ids) for other in windows)]
    places = {term.name: place for place, term in enumerate(terms)}
    found = []
    for ids in sorted(finest):
        own = [one for sets in stages for one in sets if set(ids) <= set(window_ids(one))]
        every = [term for one in (*own, *(known or {}).values()) for term in one.terms]
        joined = sorted(every, key=lambda term: places[term.name])
        provenance = {key: value for one in own for key, value in one.provenance.items()}
        provenance |= {"data_desc_id": float(ids[0]), "data_desc_ids": " ".join(map(str, ids))}
        provenance[FIELDS] = fields_text({key: name for one in own for key, name in fields_of(one).items()})
        if any("amplitude" in term.value for term in joined):
            provenance.pop("data_over_model", None)  # where terms without amplitude were solved before
        positions = {name: xyz for one in own for name, xyz in one.antenna_xyz_m.items()}
        radec = {name: place for one in own for name, place in one.direction_radec_rad.items()}
        last = own[-1]
        found.append(
            replace(
                last, terms=tuple(joined), antenna_xyz_m=positions, direction_radec_rad=radec, provenance=provenance
            )
        )
    return found


def good_fractions(windows: Iterable[WindowSolutions]) -> dict[str, float]:
    """{antenna name: fraction of its data that are good} in some windows."""
    good: dict[str, int] = {}
    every: dict[str, int] = {}
    for window in windows:
        for name in window.good:
            good[name] = good.get(name, 0) + window.good[name]
            every[name] = every.get(name, 0) + window.all[name]
    return {name: good[name] / every[name] if every[name] else 0.0 for name in good}
