"""All solutions of one spectral window: terms in the order in which they stand in the measurement equation."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import check_fields
from ..errors import CalibrationError
from ..terms.terms import parse_term
from .continued_phases import continued_phases
from .term_solutions import AS_STORED, TermSolutions

#: In the provenance: from the centre of the first channel to that of the last, of each window.
WINDOWS = "windows_hz"


def windows_text(centres_hz: Iterable[NDArray[np.float64]]) -> str:
    """Of windows whose channels have these centres."""
    return " ".join(f"{float(centre.min())!r}~{float(centre.max())!r}" for centre in centres_hz)


@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions of the terms of one spectral window.

    `terms`: in their order, the first next to the correlator. `feed`: "linear" or "circular". `antenna_xyz_m`:
    {name: [3] ITRF}. `direction_radec_rad`: {name: (ra, dec)}, in the frame of the sky model. `provenance`: {what: text
    or number}, where they come from. `name`: of the solution set in a file.
    """

    terms: tuple[TermSolutions, ...]
    feed: str = "linear"
    antenna_xyz_m: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    direction_radec_rad: dict[str, tuple[float, float]] = field(default_factory=dict)
    provenance: dict[str, str | float] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self, CalibrationError)

    def __repr__(self) -> str:
        """What they are; not all their numbers."""
        terms = "; ".join(term.text or f"{term.name}: {term.kind}" for term in self.terms)
        return f"<Solutions of {self.feed} feeds, {len(self.antenna_xyz_m)} antennas: {terms or 'no terms'}>"

    def __getitem__(self, name: str) -> TermSolutions:
        for term in self.terms:
            if term.name == name:
                return term
        raise CalibrationError(f"there are no solutions of {name!r}; there are {', '.join(t.name for t in self.terms)}")

    def has(self, name: str) -> bool:
        """Whether there are solutions of a term of this name."""
        return any(term.name == name for term in self.terms)

    def only(self, names: Collection[str]) -> Solutions:
        """The terms of these names."""
        return replace(self, terms=tuple(term for term in self.terms if term.name in names))

    def inside(self, outer: Solutions) -> Solutions:
        """Both together, the terms of `outer` left of these."""
        return replace(
            self,
            terms=(*outer.terms, *self.terms),
            antenna_xyz_m={**outer.antenna_xyz_m, **self.antenna_xyz_m},
            direction_radec_rad={**outer.direction_radec_rad, **self.direction_radec_rad},
        )

    def of_fields(self, field_ids: Collection[int]) -> Solutions:
        """Of each term the solutions of these fields, or all where it has none of these (or does not say)."""
        return replace(self, terms=tuple(term.of_fields(field_ids) for term in self.terms))

    @property
    def directions(self) -> list[str]:
        """Names of the directions that have solutions of their own, of all terms."""
        return list(dict.fromkeys(name for term in self.terms if term.of_directions for name in term.directions))

    def jones(
        self,
        antenna: str,
        time_s: NDArray[np.float64],
        frequency_hz: NDArray[np.float64],
        *,
        direction: str | None = None,
        method: str = "nearest",
        terms: str = "all",
    ) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        """Product of the terms of an antenna, [time, freq, 2, 2], and which feeds have no solution, [time, freq, 2].

        Without `direction` only terms that hold for the whole sky count. `terms`: "all", or only those of the "whole
        sky" or of the "direction". See `TermSolutions.jones`.
        """
        product, bad = self.jones_of([antenna], time_s, frequency_hz, direction=direction, method=method, terms=terms)
        return product[:, :, 0], bad[:, :, 0]

    def jones_of(
        self,
        antennas: Sequence[str],
        time_s: NDArray[np.float64],
        frequency_hz: NDArray[np.float64],
        *,
        direction: str | None = None,
        method: str = "nearest",
        terms: str = "all",
    ) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        """As `jones`, of several antennas: [time, freq, antenna, 2, 2] and bool [time, freq, antenna, 2]."""
        product = np.empty((len(time_s), len(frequency_hz), len(antennas), 2, 2), dtype=complex)
        product[...] = np.eye(2)
        bad = np.zeros(product.shape[:-1], dtype=bool)
        for term in self._that_count(direction, terms):
            where = direction if term.of_directions else ""
            how = {} if method == "nearest" else self._interpolation(term)
            matrices, missing = term.jones_of(antennas, where, time_s, frequency_hz, method, **how)
            product = product @ matrices
            if not term.diagonal:  # it mixes the feeds
                missing = np.repeat(missing.any(axis=-1, keepdims=True), 2, axis=-1)
                bad = np.repeat(bad.any(axis=-1, keepdims=True), 2, axis=-1)
            bad = bad | missing
        return product, bad

    @functools.cached_property
    def _continued(self) -> Mapping[str, NDArray[np.float64]]:
        return continued_phases([term for term in self.terms if term.convention != AS_STORED])

    def _interpolation(self, term: TermSolutions) -> dict[str, Any]:
        """As `TermSolutions.jones_of` wants it."""
        several = len(str(self.provenance.get("data_desc_ids", "")).split()) > 1
        apart = several and bool(term.text) and not parse_term(term.text).all_windows
        windows = self._window_of(term.frequency_hz) if apart else None
        return {"phases": self._continued.get(term.name), "windows": windows}

    def _window_of(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.integer]:
        """For each interval along frequency a number that it shares with the others of its window; with none where the
        file does not say how windows lie."""
        found = -1 - np.arange(len(frequency_hz))
        for number, band in enumerate(str(self.provenance.get(WINDOWS, "")).split()):
            low_hz, high_hz = map(float, band.split("~"))
            found[(low_hz <= frequency_hz) & (frequency_hz <= high_hz)] = number
        return found

    def _that_count(self, direction: str | None, terms: str) -> list[TermSolutions]:
        """The terms of a direction, of the whole sky, or both."""
        known = [t for t in self.terms if not t.of_directions or (direction is not None and direction in t.directions)]
        return [term for term in known if terms == "all" or term.of_directions == (terms == "direction")]

    def cell_keys(
        self, time_s: NDArray[np.float64], frequency_hz: NDArray[np.float64], *, method: str = "nearest"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[term, time], [term, freq]: numbers by which the matrices of terms follow from a cell."""
        keys = [term.cell_keys(time_s, frequency_hz, method) for term in self.terms]
        cells = (time_s, frequency_hz)
        return tuple(np.array([of[axis] for of in keys]).reshape(len(keys), len(cells[axis])) for axis in (0, 1))

    def knows(self, antenna: str, direction: str | None = None) -> bool:
        """Whether the terms that count without or with a direction have an antenna of this name."""
        return all(
            antenna in term.antennas for term in self.terms if not term.of_directions or direction in term.directions
        )

    @property
    def diagonal(self) -> bool:
        """Whether all terms are."""
        return all(term.diagonal for term in self.terms)
