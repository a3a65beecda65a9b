"""Rotations of linear feeds outside of diagonal gains: V_pq = R(chi_p) D_p D_q^H R(-chi_q) I of an unpolarised sky.

With a and b, what D_p D_q^H has of each feed, the hands of circular feeds are

    RR = (a + b)/2 exp(i (chi_p - chi_q)),    LL = (a + b)/2 exp(-i (chi_p - chi_q)),
    RL = (a - b)/2 exp(i (chi_p + chi_q)),    LR = (a - b)/2 exp(-i (chi_p + chi_q)):

RR conj(LL) tells differences of angles, RL conj(LR) then what all antennas are turned by, whatever gains are: but for a
quarter of a turn, which takes each feed's gains to the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import ALL_HANDS, FROM_LINEAR
from .interval_search import IntervalSearch
from .rotation_search import angle_of
from .rotations_inside_gains import between, matrices_of, rotations_by

_ALIKE = 0.3  # of crossed hands of baselines, what these have in common


def search_rotation_outside_gains(
    intervals: IntervalSearch, term, sums: Coherence, *, origins: int
) -> NDArray[np.float64]:
    """As `IntervalSearch.search_rotation`, and what the reference is turned by, if gains tell it.
    `sums`: of `Hands.INTENSITY`."""
    hands = between(np.broadcast_to(FROM_LINEAR, (len(sums.antennas), 1, 1, 2, 2)), sums)
    parallel = np.stack([hands[..., 0, 0], hands[..., 1, 1]], axis=-1)
    found = intervals.search_rotation(term, sums, parallel, any_phase=True, origins=origins)
    turned = np.conj(intervals.phasors(term, found, sums)[..., 0]) ** 2
    p, q = sums.baselines.T
    crossed = hands[..., 0, 1] * np.conj(hands[..., 1, 0]) * turned[p] * turned[q]
    at_time, at_frequency = intervals.cells(term, sums)
    for t, f in np.ndindex(found.shape[1:3]):
        own = crossed[:, at_time == t][:, :, at_frequency == f]
        spectrum = own.sum(axis=(0, 1))
        if np.abs(spectrum).sum() > _ALIKE * np.abs(own).sum():  # else gains of feeds are the same: nothing is told
            found[0, t, f] += angle_of(term, spectrum, sums.frequency_hz[at_frequency == f], times=4)
    return found


def without_rotation(intervals: IntervalSearch, term, values, sums: Coherence) -> Coherence:
    """Sums of all hands, of data turned back by known angles, with the model of the hand. `sums`: of
    `Hands.INTENSITY`."""
    back = rotations_by(np.conj(intervals.phasors(term, values, sums)[..., 0]))
    seen, model = between(back, sums), matrices_of(sums.power[..., 0, 1])
    power = sums.power[..., :1, :1]
    product = seen * np.conj(model) / np.where(power[..., :1, 0, 0] > 0, power[..., :1, 0, 0], 1.0)[..., None]
    hands = np.stack([product[..., i, j] for i, j in ALL_HANDS], axis=-1)
    return replace(sums, product=hands[..., None], power=power)
