"""What applying solutions flags: by antenna and reason, counted before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..arguments import checked
from ..cells import Cells
from ..ms import CORRELATION_NAMES, MsGroup, OpenSet, tiles
from .antenna_jones import FLAGGED, NO_ANTENNA, SINGULAR, AntennaJones

REASONS = {
    NO_ANTENNA: "no solutions for this antenna",
    FLAGGED: "solution flagged",
    SINGULAR: "solution cannot be inverted",
}
NOT_FINITE = "result not finite, or another correlation of the matrix flagged"
_TILE_BYTES = 16 << 20  # of flags and weights that are looked at together
_FEEDS = {
    **{"XX": (0, 0), "XY": (0, 1), "YX": (1, 0), "YY": (1, 1)},
    **{"RR": (0, 0), "RL": (0, 1), "LR": (1, 0), "LL": (1, 1)},
}


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


@checked
def count_new_flags(
    group: MsGroup, used: dict[int, Sequence[AntennaJones]] | None, opened: OpenSet | None = None
) -> NewFlags:
    """What would be flagged where these matrices (of `apply_tree`) are not there; None: only what is flagged now.

    Reads flags, no visibilities.
    """
    number = {antenna: index for index, antenna in enumerate(group.antennas)}
    zeros = np.zeros(len(number), np.int64)
    every, good, lost = zeros.copy(), zeros.copy(), zeros.copy()
    because = {reason: zeros.copy() for reason in REASONS.values()}
    totals = np.zeros(3, np.int64)  # all, unflagged, new
    usable = used is None
    for tile in tiles(opened or group.path, [], **{**group.selection, "time_slots": _slots(group)}):
        cells = Cells(tile["time_s"], tile["frequency_hz"])
        feeds = [_FEEDS.get(CORRELATION_NAMES.get(kind, ""), (None, None)) for kind in tile["correlation_type"]]
        of_side = [{}, {}]
        if used is not None:
            for antenna in group.antennas:
                reasons = _reasons(used[antenna], cells)
                for side in (0, 1):
                    of_side[side][antenna] = _of_correlations(reasons, [pair[side] for pair in feeds])
        for k, (p, q) in enumerate(tile["baselines"]):
            present = np.broadcast_to((tile["row"][k] >= 0)[:, None, None], tile["flag"][k].shape)
            unflagged = present & (tile["flag"][k] == 0)
            count, left = int(present.sum()), int(unflagged.sum())
            ends = (number[p], number[q])
            every[list(ends)] += count
            good[list(ends)] += left
            totals += (count, left, 0)
            if used is None:
                continue
            codes = (of_side[0][p], of_side[1][q])
            bad = (codes[0] > 0) | (codes[1] > 0)
            usable = usable or bool((present & ~bad).any())
            if not bad.any():
                continue
            lost_here = int((unflagged & bad).sum())
            totals[2] += lost_here
            lost[list(ends)] += lost_here
            for end, code in zip(ends, codes, strict=True):
                for value, text in REASONS.items():
                    because[text][end] += int((unflagged & (code == value)).sum())
    return NewFlags(
        tuple(group.antenna_names[antenna] for antenna in group.antennas),
        int(totals[0]),
        int(totals[0] - totals[1]),
        int(totals[2]),
        every,
        good,
        lost,
        {reason: counts for reason, counts in because.items() if counts.any()},
        usable,
    )


def _slots(group: MsGroup) -> int:
    """Time slots whose flags and weights take some MiB."""
    of_slot = 5 * len(group.baselines) * group.n_channel * len(group.correlations)
    return max(1, _TILE_BYTES // max(1, of_slot))


def _reasons(used: Sequence[AntennaJones], cells: Cells) -> NDArray[np.uint8]:
    """[time, freq, feed]: 0, or the first reason of the matrices of an antenna."""
    total = np.zeros((len(cells.time_s), len(cells.freq_hz), 2), np.uint8)
    for own in used:
        total = np.where(total == 0, own.reasons(cells), total)
    return total


def _of_correlations(reason: NDArray[np.uint8], feeds: Sequence[int | None]) -> NDArray[np.uint8]:
    """[time, freq, correlation] of one side; Stokes I (None) needs both feeds."""
    either = np.maximum(reason[..., 0], reason[..., 1])
    return np.stack([either if feed is None else reason[..., feed] for feed in feeds], axis=-1)
