"""Parts of a search for all terms that share no unknown but scales: feeds, and intervals that are as long as those of
all terms. Each is searched by itself, as one has far fewer minima than all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .joint_fit import DirectionSums, Unknowns
from .joint_unknowns import TermUnknowns


@dataclass(frozen=True, eq=False)
class Block:
    """`sums` and `unknowns` of some bins and feeds; `numbers`: of the unknowns, tight, among those of all; `count`: of
    the visibilities."""

    sums: DirectionSums
    unknowns: TermUnknowns
    numbers: NDArray[np.intp]
    count: int


def blocks_of(
    sums: DirectionSums, unknowns: TermUnknowns, data: NDArray[np.float64], count: NDArray[np.int64]
) -> list[Block]:
    """`data`, `count` [baseline, time, freq, feed]: as of `Coherence`."""
    shared = set(unknowns.scales)
    own = [one for one in unknowns.tight if not shared.issuperset(one.index[one.index >= 0])]
    numbers = [[one.index[one.index >= 0] for one in own if one.feeds[feed]] for feed in (0, 1)]
    both = len(np.intersect1d(*(np.concatenate([np.zeros(0, int), *map(np.ravel, some)]) for some in numbers))) > 0
    feeds = [np.array([0, 1])] if both or sums.product.shape[3] < 2 else [np.array([0]), np.array([1])]
    found = []
    for times, frequencies in _connected([one.cells for one in own], sums.product.shape[1:3]):
        for some in feeds:
            at = np.ix_(range(len(sums.baselines)), times, frequencies, some)
            part = DirectionSums(sums.baselines, sums.product[at], sums.power[at], float(data[at].sum()), sums.antennas)
            found.append(Block(part, *_some(unknowns, times, frequencies, some), int(count[at].sum())))
    return found


def _connected(cells: Sequence[NDArray[np.intp]], shape) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(times, frequencies) of sets of bins of which no unknown is in two; `cells` [time, freq] of each kind."""
    # Intervals divide the axes: what is connected is so on each axis by itself.
    label = [np.arange(n) if cells else np.zeros(n, np.intp) for n in shape]
    for axis in (0, 1):
        changed = True
        while changed:
            before = label[axis].copy()
            for one in cells:
                at = np.take(one, 0, axis=1 - axis)
                least = np.full(one.max() + 1, shape[axis])
                np.minimum.at(least, at, label[axis])
                label[axis] = least[at]
            changed = (before != label[axis]).any()
    times, frequencies = ([np.flatnonzero(own == k) for k in np.unique(own)] for own in label)
    return [(t, f) for t in times for f in frequencies]


def _some(unknowns: TermUnknowns, times, frequencies, feeds) -> tuple[TermUnknowns, NDArray[np.intp]]:
    def part(of: Sequence[Unknowns]) -> tuple[list[Unknowns], NDArray[np.intp], NDArray[np.intp]]:
        """(unknowns, their old numbers, [old number]: the new one, -1 of those that are not there)."""
        kept = []
        for one in of:
            if one.feeds[feeds].any():
                cells, at = np.unique(one.cells[np.ix_(times, frequencies)], return_inverse=True)
                at = at.reshape(len(times), len(frequencies))
                kept.append(
                    replace(one, rate=one.rate[frequencies], cells=at, index=one.index[cells], feeds=one.feeds[feeds])
                )
        total = 1 + max((int(one.index.max(initial=-1)) for one in of), default=-1)
        used = np.unique(np.concatenate([[-1], *(one.index.ravel() for one in kept)]))[1:]
        new = np.full(total + 1, -1)  # of -1, which is the last, too
        new[used] = np.arange(len(used))
        return [replace(one, index=new[one.index]) for one in kept], used, new

    tight, numbers, new = part(unknowns.tight)
    loose, _, new_loose = part(unknowns.loose)
    pairs = new[unknowns.tight_of] >= 0
    others = np.stack([new_loose[unknowns.others[:, 0]], new[unknowns.others[:, 1]]], axis=1)
    found = TermUnknowns(
        tight,
        loose,
        new_loose[unknowns.whole[pairs]],
        new_loose[unknowns.slope[pairs]],
        unknowns.middle[pairs],
        new[unknowns.tight_of[pairs]],
        others[others[:, 1] >= 0],
        _mapped(unknowns.scale_of, new),
        unknowns.of_all if unknowns.of_all is None else int(new[unknowns.of_all]),
        new[unknowns.amplitudes][new[unknowns.amplitudes] >= 0],
        [int(new_loose[number]) for number in unknowns.loose_scales],
        _mapped(unknowns.number, new),
    )
    return found, numbers


def _mapped(numbers: Mapping, new: NDArray[np.intp]) -> dict:
    return {key: int(new[number]) for key, number in numbers.items() if new[number] >= 0}
