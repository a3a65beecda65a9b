"""Bins in which the data of a chunk are summed."""

from __future__ import annotations

from dataclasses import dataclass

from ..data.coherence import CoherenceBins
from ..terms.grid import Chunk


@dataclass(frozen=True, eq=False)
class ChunkBins(CoherenceBins):
    """`chunk`: of which the data are."""

    chunk: Chunk
