"""Which antennas data link with each other: sets of antennas that have no baselines among themselves in an interval
have phases that nothing relates, whatever convention holds those of one antenna."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class Links:
    """Baselines with good data of some antennas (their numbers in the set), at each time, and `by_channel` or not."""

    antennas: Sequence[int]
    by_channel: bool = False
    _parts: list[tuple[NDArray, NDArray, NDArray, NDArray, int]] = field(default_factory=list)

    def add(
        self,
        time_s: NDArray[np.float64],
        frequency_hz: NDArray[np.float64],
        pairs: NDArray[np.intp],
        linked: NDArray[np.bool_],
    ) -> None:
        """`pairs` [baseline, 2]: indices into `antennas`; `linked` [baseline, time, channel]."""
        if not self.by_channel:
            linked = linked.any(axis=-1, keepdims=True)
        # Copies, which do not hold what a tile read; an eighth of the memory.
        packed = np.packbits(linked, axis=-1)
        self._parts.append((time_s.copy(), np.array(frequency_hz), pairs, packed, linked.shape[-1]))

    def apart(
        self, edges_s: NDArray[np.float64], edges_hz: NDArray[np.float64], reference: int, alike: Mapping[int, str]
    ) -> dict[int, NDArray[np.bool_]]:
        """{antenna: [interval, band]}: whether no data link it, over others, with the reference, or where that has none
        with the most antennas. `edges_s`, `edges_hz`: of the intervals along time and frequency; `alike`: the same name
        for antennas that share solutions."""
        own = np.array([alike.get(antenna, antenna) for antenna in self.antennas], dtype=str)
        shared = own[:, None] == own
        first = list(self.antennas).index(reference)
        n_interval, n_band = len(edges_s) - 1, len(edges_hz) - 1
        found = np.zeros((len(own), n_interval, n_band), bool)
        for interval in range(n_interval):
            joined = self._joined(edges_s, edges_hz, interval)
            there = joined.any(axis=1)
            joined |= shared
            # Where all that are there are linked with the reference over one other at most nobody is apart.
            linked = (joined[:, first, :, None] & joined).any(axis=1)
            for band in np.flatnonzero((there & ~linked).any(axis=-1)):
                found[:, interval, band] = _apart(joined[band], there[band], first)
        return dict(zip(self.antennas, found, strict=True))

    def _joined(self, edges_s, edges_hz, interval: int) -> NDArray[np.bool_]:
        """[band, antenna, antenna]: whether good data of an interval link two of them."""
        n = len(self.antennas)
        joined = np.zeros((len(edges_hz) - 1, n, n), bool)
        for time_s, frequency_hz, pairs, packed, n_channel in self._parts:
            at = np.searchsorted(edges_s[1:-1], time_s, side="right") == interval
            if not at.any():
                continue
            linked = np.unpackbits(np.bitwise_or.reduce(packed[:, at], axis=1), axis=-1, count=n_channel).astype(bool)
            if self.by_channel:
                bands = np.searchsorted(edges_hz[1:-1], frequency_hz, side="right")
                order = np.argsort(bands, kind="stable")
                band, first = np.unique(bands[order], return_index=True)
                linked = np.logical_or.reduceat(linked[:, order], first, axis=1)
            else:
                band, linked = np.arange(len(joined)), np.broadcast_to(linked, (len(linked), len(joined)))
            baseline, at_band = np.nonzero(linked)
            p, q = pairs[baseline].T
            joined[band[at_band], p, q] = joined[band[at_band], q, p] = True
        return joined


def _apart(joined: NDArray[np.bool_], there: NDArray[np.bool_], reference: int) -> NDArray[np.bool_]:
    """[antenna]: of one interval; `there`: antennas with data."""
    sets: list[NDArray[np.bool_]] = []
    for antenna in [reference, *np.flatnonzero(there)]:
        if there[antenna] and not any(one[antenna] for one in sets):
            sets.append(_linked(joined, antenna))
    if not sets:
        return np.zeros(len(there), bool)
    main = sets[0] if there[reference] else max(sets, key=lambda one: np.count_nonzero(one & there))
    return there & ~main


def _linked(joined: NDArray[np.bool_], antenna: int) -> NDArray[np.bool_]:
    """[antenna]: those that are linked with one."""
    found = joined[antenna].copy()
    while True:
        more = found | joined[found].any(axis=0)
        if (more == found).all():
            return found
        found = more
