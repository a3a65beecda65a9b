"""Where the sources are that a beam is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from ..evaluation.cells import Cells
from ..forest import Forest
from ..writing.scope import NodeDef, NodeScope


@dataclass(frozen=True)
class Place:
    """Directions of `n_source` sources, as nodes: `radec` [S,2]; `centre` [2], right ascension and declination of where
    a beam points; `lmn` [S,3], direction cosines from there."""

    radec: Any
    centre: Any
    lmn: Any
    n_source: int

    @classmethod
    def of(cls, ns: NodeScope, radec_rad: NDArray[np.float64], centre_rad: Sequence[float]) -> Place:
        """Constant ones; `ns.lmn` are the direction cosines."""
        radec, centre = rt.Constant(radec_rad), rt.Constant(centre_rad)
        return cls(radec, centre, ns.lmn << rt.LMN(radec, centre), len(radec_rad))

    def unit(self) -> NodeDef:
        """[S,2,2], unit matrices."""
        return rt.Constant(np.tile(np.eye(2), (self.n_source, 1, 1)))


def power_of(ns: NodeScope, frequency_hz: Sequence[float], n_source: int) -> NDArray[np.float64]:
    """[source,freq] what `ns.power` [S] gives, which does not vary in time."""
    cells = Cells(freq_hz=frequency_hz, freq_width_hz=1.0, time_s=[0.0])
    power = Forest(ns).evaluate(ns.power, cells)[:, 0]
    return np.broadcast_to(power.real, (n_source, len(frequency_hz)))
