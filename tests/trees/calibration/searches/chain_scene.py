"""Sums over data that known terms have made without noise, for searches of chains and rotations alone."""

from types import SimpleNamespace

import numpy as np

from rimetree.calibration.data.coherence import Coherence
from rimetree.calibration.searches.interval_search import IntervalSearch

N, N_TIME, N_CHANNEL = 6, 4, 8
FREQUENCY_HZ = 150e6 + 0.3e6 * np.arange(N_CHANNEL)
BASELINES = np.stack(np.triu_indices(N, 1), axis=1)
TIMES = {"1slot": N_TIME, "2slots": N_TIME // 2}
FREQUENCIES = {"1chan": N_CHANNEL, "4chan": N_CHANNEL // 4}


class Intervals(IntervalSearch):
    """Of terms whose options {name: options} say their intervals; without a plan."""

    def __init__(self, options):
        super().__init__(None, any_phase=False)
        object.__setattr__(self, "options", options)

    def intervals_of(self, term, chunk):
        options = self.options[term.name]
        return tuple(max([1, *(count[one] for one in options if one in count)]) for count in (TIMES, FREQUENCIES))

    def cells(self, term, sums):
        return tuple(
            np.arange(size) * count // size
            for size, count in zip((N_TIME, N_CHANNEL), self.intervals_of(term, None), strict=True)
        )


def sums_of(product, power):
    """Of products and powers [baseline, time, freq, hand(, model ...)]."""
    shape = product.shape[:4]
    bins = SimpleNamespace(chunk=None)
    return Coherence(list(range(N)), BASELINES, FREQUENCY_HZ, product, power, np.ones(shape), np.ones(shape, int), bins)
