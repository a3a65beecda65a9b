"""Which antennas data link with each other: sets of antennas that have no baselines among themselves in an interval
have phases that nothing relates, whatever convention holds those of one antenna."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class Links:
    """Baselines with good data of some antennas (their numbers in the set), at each time."""

    antennas: Sequence[int]
    _parts: list[tuple[NDArray, NDArray, NDArray]] = field(default_factory=list)

    def add(self, time_s: NDArray[np.float64], pairs: NDArray[np.intp], linked: NDArray[np.bool_]) -> None:
        """`pairs` [baseline, 2]: indices into `antennas`; `linked` [baseline, time]."""
        self._parts.append((time_s.copy(), pairs, linked))  # which does not hold what a tile read

    def apart(
        self, edges_s: NDArray[np.float64], reference: int, alike: Mapping[int, str]
    ) -> dict[int, NDArray[np.bool_]]:
        """{antenna: [interval]}: whether no data link it, over others, with the reference, or where that has none with
        the most antennas. `edges_s`: of the intervals; `alike`: the same name for antennas that share solutions."""
        n, own = len(self.antennas), np.array([alike.get(antenna, antenna) for antenna in self.antennas], dtype=str)
        joined = np.zeros((len(edges_s) - 1, n, n), bool)
        for time_s, pairs, linked in self._parts:
            at = np.searchsorted(edges_s[1:-1], time_s, side="right")
            for interval in np.unique(at):
                p, q = pairs[linked[:, at == interval].any(axis=1)].T
                joined[interval, p, q] = joined[interval, q, p] = True
        there = joined.any(axis=1)
        joined |= own == own[:, None]
        first = list(self.antennas).index(reference)
        each = np.array([_apart(one, seen, first) for one, seen in zip(joined, there, strict=True)])
        return dict(zip(self.antennas, each.T, strict=True))


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
