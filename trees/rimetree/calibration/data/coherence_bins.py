"""Where sums over the data of a chunk begin and end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..terms.grid import Chunk


@dataclass(frozen=True, eq=False)
class CoherenceBins:
    """Where sums over a chunk begin and end: edges in time (MJD, seconds), and in frequency (Hz; None: each channel by
    itself)."""

    chunk: Chunk
    time_edges_s: NDArray[np.float64]
    frequency_edges_hz: NDArray[np.float64] | None

    def times(self, time_s: NDArray[np.float64]) -> NDArray[np.intp]:
        """[time] the bin of each time (MJD, seconds)."""
        return np.searchsorted(self.time_edges_s[1:-1], time_s, side="right")

    def mean_times(self) -> NDArray[np.float64]:
        """[bin] the mean of the time slots in each (MJD, seconds); the middle of those without any."""
        edges, at = self.time_edges_s, self.times(self.chunk.slot_s)
        count = np.bincount(at, minlength=len(edges) - 1)
        since = np.bincount(at, self.chunk.slot_s - edges[0], minlength=len(edges) - 1)
        return edges[0] + np.where(count > 0, since / np.maximum(count, 1), 0.5 * (edges[:-1] + edges[1:]) - edges[0])

    def since_middle_s(self, name: str, at_time: NDArray[np.intp]) -> NDArray[np.float64]:
        """[bin] how long after the middle of a term's solution interval each is; `at_time`: the interval of each."""
        return self.mean_times() - self.chunk.times[name].centre[at_time]

    def frequencies(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.intp]:
        """[channel] the bin of each channel."""
        if self.frequency_edges_hz is None:
            return np.arange(len(frequency_hz))
        return np.searchsorted(self.frequency_edges_hz[1:-1], frequency_hz, side="right")
