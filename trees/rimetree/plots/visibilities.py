"""Stokes I visibilities of a Measurement Set with their weights, as an imager wants them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._core import SPEED_OF_LIGHT_M_S, Error
from ..ms import CORRELATION_NAMES, MsGroup, tiles

_PARALLEL = {"XX", "YY", "RR", "LL"}


@dataclass(frozen=True)
class StokesI:
    """Rows and channels of one time-slot group: `uvw_m` [row, 3], `frequency_hz` and `width_hz` [channel] ascending in
    frequency, `weight` and `value` (complex, Jy; None where not read) [row, channel]. The weight is 0 where nothing may
    be used."""

    uvw_m: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    width_hz: NDArray[np.float64]
    weight: NDArray[np.float64]
    value: NDArray[np.complex128] | None

    @property
    def uv_wavelengths(self) -> NDArray[np.float64]:
        """[row, channel, 2] u and v in wavelengths."""
        return self.uvw_m[:, None, :2] * (self.frequency_hz / SPEED_OF_LIGHT_M_S)[None, :, None]


def stokes_i(group: MsGroup, column: str | None) -> Iterator[StokesI]:
    """Stokes I = mean of the parallel hands of `column` (None: only weights and coordinates).

    A visibility counts where all parallel hands that the set has are unflagged and of positive weight; its weight is
    the inverse of the variance of the mean, with weights as inverse variances. Values and weights that are not finite
    do not count. Raises `Error` where the correlations hold no Stokes I.
    """
    for tile in tiles(group.path, [] if column is None else [column], **group.selection):
        hands = _hands(tile["correlation_type"])
        weight, flag = tile["weight"][..., hands].astype(np.float64), tile["flag"][..., hands]
        known = (weight > 0) & np.isfinite(weight)
        good = (known & (flag == 0)).all(axis=-1) & (tile["row"] >= 0)[..., None]
        value = None
        if column is not None:
            each = tile["columns"][column][..., hands].astype(np.complex128)
            good &= np.isfinite(each).all(axis=-1)
            each[~good] = 0
            value = each.mean(axis=-1)
        inverse = np.divide(1.0, weight, out=np.ones(weight.shape), where=known).sum(axis=-1)
        weight = np.where(good, len(hands) ** 2 / inverse, 0.0)
        some = good.any(axis=-1)
        order = np.argsort(tile["frequency_hz"])
        yield StokesI(
            np.ascontiguousarray(tile["uvw_m"][some]),
            np.ascontiguousarray(tile["frequency_hz"][order]),
            tile["channel_width_hz"][order],
            np.ascontiguousarray(weight[some][:, order]),
            None if value is None else np.ascontiguousarray(value[some][:, order]),
        )


def hand_names(names: Sequence[str]) -> tuple[str, ...]:
    """The correlations, of these of a set, whose mean is taken for Stokes I: I, or the parallel hands."""
    return ("I",) if "I" in names else tuple(name for name in names if name in _PARALLEL)


def _hands(types: list[int]) -> list[int]:
    names = [CORRELATION_NAMES.get(number, "?") for number in types]
    found = [names.index(name) for name in hand_names(names)]
    if not found:
        raise Error(f"correlations {' '.join(names)} hold no Stokes I: XX, YY, RR, LL or I are needed")
    return found
