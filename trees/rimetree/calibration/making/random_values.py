"""Values of terms that scatter at random: independent ones, ones that drift, planes over the array.

What drifts is a damped random walk (Uhlenbeck & Ornstein 1930, Phys. Rev. 36, 823): normal values whose correlation
is exp(-distance / scale), along time and along frequency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..terms.kinds import neutral
from ..terms.planes import places_in_plane
from .made_terms import MadeTerm

Float64Array = NDArray[np.float64]


class Scatter:
    """Standard normal numbers [T, F, A, D, E] of a term, with the correlations that it asks for."""

    def __init__(
        self,
        made: MadeTerm,
        axes: dict,
        shape: Sequence[int],
        xyz_m: dict[str, Float64Array],
        random: np.random.Generator,
    ):
        self._made, self._axes, self._shape, self._random = made, axes, tuple(shape), random
        term, names = made.term, list(axes["antennas"])
        owners = [names.index(term.shared_by(names, name)) for name in names]
        self._owner = np.array(owners)
        self._places = None
        if term.plane:
            places = places_in_plane(dict(enumerate(xyz_m[name] for name in names)), dict(enumerate(names)))
            # Of unit root mean square over the antennas, whatever the number of slopes.
            self._places = np.array(list(places.values())) / math.sqrt(len(places[0]))

    def __call__(self) -> Float64Array:
        """New numbers, the same for antennas that share solutions."""
        if self._places is None:
            return self._walk(self._shape)[:, :, self._owner]
        times, frequencies, _, *others = self._shape
        slopes = self._walk((times, frequencies, self._places.shape[1], *others))
        return np.einsum("tfs...,as->tfa...", slopes, self._places)

    def _walk(self, shape: Sequence[int]) -> Float64Array:
        values = self._random.standard_normal(shape)
        values = damped_walk(values, self._axes["time_s"], self._made.over_s)
        along_frequency = np.moveaxis(values, 1, 0)
        return np.moveaxis(damped_walk(along_frequency, self._axes["frequency_hz"], self._made.over_hz), 0, 1)


def damped_walk(normal: Float64Array, places: Float64Array, scale: float | None) -> Float64Array:
    """Standard normal numbers [N, ...] with a correlation of exp(-distance / scale) between the ascending places [N],
    of independent ones; those themselves without a scale."""
    if scale is None:
        return normal
    walk = normal.copy()
    for k, kept in enumerate(np.exp(-np.diff(places) / scale), start=1):
        walk[k] = kept * walk[k - 1] + math.sqrt(1 - kept**2) * normal[k]
    return walk


def scattered(made: MadeTerm, scatter: Scatter) -> dict[str, Float64Array]:
    """{quantity: [T, F, A, D, E]} of a term that is of no screen."""
    kind, spread = made.term.kind, made.spread
    if kind.quantities != ("amplitude", "phase"):
        (quantity,) = kind.quantities
        size, mean = spread.get("spread", 0.0), made.mean
        if quantity == "amplitude":
            return {quantity: (1.0 if mean is None else mean) * np.exp(size * scatter())}
        return {quantity: (mean or 0.0) + size * scatter()}
    mean = 1.0 if made.mean is None else made.mean
    amplitude = mean * np.exp(spread.get("amplitude", 0.0) * scatter())
    phase = spread.get("phase", 0.0) * scatter()
    crossed = [element in ("01", "10") for element in made.term.elements]
    if any(crossed):
        leakage = spread.get("spread" if kind.given else "leakage", 0.0) * mean / math.sqrt(2)
        complex_value = leakage * (scatter() + 1j * scatter())
        amplitude[..., crossed], phase[..., crossed] = (
            np.abs(complex_value)[..., crossed],
            np.angle(complex_value)[..., crossed],
        )
    return {"amplitude": amplitude, "phase": phase}


def with_given(made: MadeTerm, values: dict[str, Float64Array]) -> dict[str, Float64Array]:
    """What a kind says by definition instead of what was drawn."""
    given = [element in made.term.kind.given for element in made.term.elements]
    for quantity, array in values.items():
        array[..., given] = neutral(quantity, made.term.elements)[given]
    return values
