"""Jones terms with random values, of any kind and intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rimetree.calibration import Term
from rimetree.calibration.terms.kinds import jones_of

#: Delays at 1.3 GHz, TEC and rotation measures at 150 MHz turn phases by some whole turns.
_MOST = {"phase": np.pi, "clock": 20e-9, "tec": 0.3, "rotation": 1.5, "rotationmeasure": 1.0}
_SAME_AT_HZ = 150e6
_LEAKAGE = 0.05


def planted_jones(
    term: Term, rng: np.random.Generator, n_antenna: int, n_time: int, frequency_hz: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """[antenna, time, channel, 2, 2] of a term, whose intervals are of slots and channels that divide these evenly.

    Amplitudes are 0.7 to 1.3 (leakages up to 0.07), phases any; TEC and rotation measures grow with frequency so that
    they turn as much.
    """
    kind, n_freq = term.kind, len(frequency_hz)
    slots, channels = (
        most if one is None else int(one.count) for one, most in ((term.time, n_time), (term.frequency, n_freq))
    )
    shape = (1 if kind.name == "crosshand" else n_antenna, n_time // slots, n_freq // channels, len(term.elements))
    values = {}
    for quantity in kind.quantities:
        if quantity == "amplitude":
            value = rng.uniform(0.7, 1.3, shape)
        else:
            power = {"tec": 1, "rotationmeasure": 2}.get(quantity, 0)
            value = rng.uniform(-1, 1, shape) * _MOST[quantity] * (frequency_hz.mean() / _SAME_AT_HZ) ** power
        for e, element in enumerate(term.elements):
            if element in kind.given:
                value[..., e] = 1.0 if quantity == "amplitude" else 0.0
            elif element in ("01", "10") and quantity == "amplitude":
                value[..., e] *= _LEAKAGE
        values[quantity] = np.repeat(np.repeat(value, slots, axis=1), channels, axis=2)
    return np.broadcast_to(jones_of(values, term.elements, frequency_hz), (n_antenna, n_time, n_freq, 2, 2))
