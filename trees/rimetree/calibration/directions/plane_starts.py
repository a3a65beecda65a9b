"""Starting values of terms in a plane over the array, of several directions.

Planes shift sources, so that those of several directions hide each other's peaks, and may exchange them: all begin at
0, which is mostly near. If that does not explain the data other peaks are begun at, and count if they explain much
more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from .goodness import SIGNIFICANT
from .several_directions import Phasors, Search, SeveralDirections

_PEAKS, _FEW_PEAKS = 8, 2  # of a direction, where it is known when there are enough, and else

#: Values of a direction's terms for sums as of `Search`: of the peak than which so many are higher.
AtPeak = Callable[[NDArray[np.complex128], int], NDArray[np.float64]]


def find_planes(
    found: SeveralDirections, sums: Coherence, parts: Sequence[str], search: Search, phasors: Phasors, at_peak: AtPeak
) -> None:
    """Has `found` what explains most of the data, as far as that is looked for. `parts`: the direction of each part of
    the sums."""
    found.take({}, search, phasors)
    for name in [one for one in found.order if one in found.values]:
        product = sums.product[..., np.array(parts) == name].sum(axis=-1)
        for place in range(_PEAKS if sums.floor[0] > 0 else _FEW_PEAKS):
            if found.fits:
                return
            found.take({name: at_peak(product, place)}, search, phasors, worth=SIGNIFICANT**2 * found.noise)
