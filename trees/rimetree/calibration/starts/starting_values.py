"""Where a fit begins, and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...evaluation.solving import SolveReport


@dataclass(frozen=True, eq=False)
class StartingValues:
    """`values`: {name of a Parm: [time, freq] of its solutions}; `scale`: data over model, None where terms have it;
    `absent`: directions without signal; `share`: how much of each direction's model is in the data, relative to that of
    which most is; `floor`, `floor_freedom`: as of `Coherence`; `solved`: the fit from here, where one was made;
    `released`: as of `SolveTree.solved`; `lowest`: whether it ends in the lowest minimum, as far as that has been found
    often enough; None where it was not searched for; `others`: where else a fit may begin that leaves more than
    noise."""

    values: Mapping[str, NDArray[np.float64]]
    scale: float | None = None
    absent: tuple[str, ...] = ()
    share: Mapping[str, float] = field(default_factory=dict)
    floor: float = math.nan
    floor_freedom: int = 0
    solved: SolveReport | None = None
    lowest: bool | None = None
    released: frozenset[str] = frozenset()
    others: tuple[StartingValues, ...] = ()


#: Fits these Parms to a chunk, from where it begins.
Run = Callable[[StartingValues, set[str]], SolveReport | None]
