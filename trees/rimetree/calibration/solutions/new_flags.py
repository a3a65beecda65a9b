"""What applying solutions flags: by antenna and reason, counted before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup
from .antenna_jones import FLAGGED, NO_ANTENNA, SINGULAR

REASONS = {
    NO_ANTENNA: "no solutions for this antenna",
    FLAGGED: "solution flagged",
    SINGULAR: "solution cannot be inverted",
}
NOT_FINITE = "result not finite, or another correlation of the matrix flagged"


@dataclass(frozen=True)
class NewFlags:
    """Visibilities of a group: `all` of them, those `flagged` before, those `new`ly flagged.

    `good_of_antenna`, `all_of_antenna` [antenna]: unflagged before, and all, on baselines with an antenna of `antennas`
    (names); `lost_of_antenna`: what of these is newly flagged. `new_of_antenna`: {reason: [antenna]} newly flagged
    because of this antenna; a visibility counts for both antennas where both lack a solution. `usable`: whether any
    baseline has solutions at any place, flagged or not.
    """

    antennas: tuple[str, ...]
    all: int
    flagged: int
    new: int
    all_of_antenna: NDArray[np.int64]
    good_of_antenna: NDArray[np.int64]
    lost_of_antenna: NDArray[np.int64]
    new_of_antenna: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    usable: bool = True

    @classmethod
    def none(cls, antennas: Sequence[str]) -> NewFlags:
        """Of no data at all."""
        zeros = np.zeros(len(antennas), np.int64)
        return cls(tuple(antennas), 0, 0, 0, zeros, zeros, zeros)

    @classmethod
    def from_counts(cls, group: MsGroup, counts: dict) -> NewFlags:
        """What the extension counted for the antennas of a group."""
        because = np.array(counts["because_of"], np.int64).reshape(len(group.antennas), -1)
        reasons = {**{text: because[:, code] for code, text in REASONS.items()}, NOT_FINITE: because[:, 0]}
        return cls(
            tuple(group.antenna_names[antenna] for antenna in group.antennas),
            counts["all"],
            counts["flagged"],
            counts["new"],
            *(np.array(counts[of], np.int64) for of in ("all_of", "good_of", "lost_of")),
            {reason: numbers for reason, numbers in reasons.items() if numbers.any()},
            counts["usable"],
        )

    @property
    def nothing_left(self) -> bool:
        """Whether what was not flagged before all is now."""
        return not self.usable or (self.all > self.flagged and self.flagged + self.new == self.all)

    def after(self, now: NewFlags) -> NewFlags:
        """With what a count of the flags that were written, `now`, shows beyond this."""
        beyond = self.good_of_antenna - now.good_of_antenna - self.lost_of_antenna
        new = now.flagged - self.flagged
        if new <= self.new:
            return self
        return replace(self, new=new, new_of_antenna={**self.new_of_antenna, NOT_FINITE: np.maximum(beyond, 0)})
