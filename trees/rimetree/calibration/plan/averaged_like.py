"""How the baselines of a group are averaged on reading, each by what it loses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
Float64Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AveragedLike:
    """Baselines that are averaged over so many slots and channels at most, and what the worst of them loses."""

    slots: int
    channels: int
    baselines: list[Pair]
    loss: float


@dataclass(frozen=True, eq=False)
class BaselineAveraging:
    """How the baselines of a group are averaged.

    `kinds`: from the least averaged to the most; `most_loss`, `radius_rad`: what was asked for; `mean_loss`: of the
    baselines, for a source at that distance; `cells_before`, `cells`: of a time slot, channel and baseline each;
    `time_edges_s`, `frequency_edges_hz`: over which no cell reaches; `kept`: {"time" or "channels": why they are not
    averaged}.
    """

    kinds: list[AveragedLike]
    most_loss: float
    radius_rad: float
    mean_loss: float
    cells_before: int
    cells: int
    time_edges_s: Float64Array
    frequency_edges_hz: Float64Array
    kept: dict[str, str]

    @property
    def loss(self) -> float:
        """The largest, of a source at that distance."""
        return max((kind.loss for kind in self.kinds), default=0.0)

    @property
    def options(self) -> dict:
        """As options of `ms.run_options`; none where nothing is averaged."""
        if all(kind.slots * kind.channels == 1 for kind in self.kinds):
            return {}
        return {
            "average_baselines": [(kind.slots, kind.channels, kind.baselines) for kind in self.kinds],
            "average_time_edges_s": self.time_edges_s,
            "average_frequency_edges_hz": self.frequency_edges_hz,
            "average_off_centre": [self._off_centre(kind) for kind in self.kinds],
        }

    def _off_centre(self, kind: AveragedLike) -> float:
        """How far from the middle of a cell, as a part of it, a source has a phase that differs by the loss."""
        turn = math.sqrt(24 * kind.loss)  # over the cell: it loses turn^2/24
        return self.most_loss / turn if turn > self.most_loss else math.inf

    def to_json(self) -> dict:
        """As a dict of JSON types, with the number of baselines of each kind."""
        kinds = [
            {"slots": k.slots, "channels": k.channels, "baselines": len(k.baselines), "loss": k.loss}
            for k in self.kinds
        ]
        return {
            "kinds": kinds,
            "most_loss": self.most_loss,
            "radius_deg": math.degrees(self.radius_rad),
            "largest_loss": self.loss,
            "mean_loss": self.mean_loss,
            "cells_before": self.cells_before,
            "cells": self.cells,
            "not_averaged": self.kept,
        }
