"""What the Parms of terms do to each feed of each antenna, in the bins of sums over the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import ALL_HANDS
from ..terms.kinds import phase_per_unit
from ..terms.term_trees import Parameter
from ..terms.terms import Term

_SLOPES = {"clock", "rate", "tec"}


def diagonals(
    parameters: Sequence[Parameter],
    term: Term,
    direction: str | None,
    known: Mapping[str, NDArray[np.float64]],
    sums: Coherence,
    cells: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> NDArray[np.complex128]:
    """[antenna, time, freq, feed] of the bins: the gains of a term in a direction (None: of the whole sky); 0 where
    they are not known.

    `known`: {name of a Parm: its solutions [time, freq]}, others are as in the unit matrix; `cells`: the solution
    interval of each bin, in time and in frequency. What mixes the feeds is left out.
    """
    at_time, at_frequency = cells
    own = [one for one in parameters if (one.term, one.direction) == (term.name, direction)]
    found = np.ones((len(sums.antennas), len(at_time), len(at_frequency), 2), complex)
    since_s = sums.bins.since_middle_s(term.name, at_time)[:, None]
    for a, antenna in enumerate(sums.antennas):
        for feed in (0, 1):
            values = {
                one.part: known.get(one.node, one.start) + np.zeros((1, 1))
                for one in own
                if one.antenna == antenna and term.elements[one.element] in ("", str(feed), 2 * str(feed))
            }
            found[a, :, :, feed] = _gain_of(
                values,
                sums.frequency_hz,
                since_s,
                lambda x: np.broadcast_to(x, (at_time.max() + 1, at_frequency.max() + 1))[at_time][:, at_frequency],
            )
    return np.nan_to_num(found)


def _gain_of(
    values: Mapping[str, NDArray], frequency_hz: NDArray, since_s: NDArray, on_bins: Callable
) -> NDArray[np.complex128]:
    """[time, freq] of one feed, from its parameters {part: [time, freq]}; `since_s` [time, 1]: the middle of their
    intervals. What mixes the feeds is left out."""
    at = {part: on_bins(value) for part, value in values.items()}
    if "re" in at:
        return at["re"] + 1j * at["im"]
    gain = at.get("amplitude", np.ones(1)) * np.exp(1j * at.get("phase", np.zeros(1)))
    for part in _SLOPES & at.keys():
        gain = gain * np.exp(1j * at[part] * phase_per_unit(part, frequency_hz, since_s))
    return gain


def on_baselines(gains: NDArray[np.complex128], sums: Coherence) -> NDArray[np.complex128]:
    """[baseline, ...] g_p conj(g_q) of gains [antenna, ...]."""
    p, q = sums.baselines.T
    return gains[p] * np.conj(gains[q])


def on_hands(gains: NDArray[np.complex128], sums: Coherence) -> NDArray[np.complex128]:
    """[baseline, time, freq, hand] of gains [antenna, time, freq, feed], for the hands that the sums are of."""
    p, q = sums.baselines.T
    hands = ALL_HANDS[: sums.product.shape[3]]
    return np.stack([gains[p, ..., i] * np.conj(gains[q, ..., j]) for i, j in hands], axis=-1)
