"""Noise of receivers in ready-made trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import nodes as rt
from ._core import Error
from .arguments import number, numbers
from .writing.scope import NodeDef, NodeScope


@dataclass(frozen=True)
class ReceiverNoise:
    """Normally distributed noise of visibilities: independent in real and imaginary parts, correlations, baselines,
    channels and times.

    Attributes
    ----------
    noise_jy : standard deviation of the real and of the imaginary part, each
    sefd_jy : system equivalent flux density of each feed of each antenna, or one of all; then that standard deviation
        is sqrt(SEFD_p SEFD_q / (2 CHAN_WIDTH EXPOSURE)), as of correlators that lose nothing (Wrobel & Walker 1999,
        ASP Conf. Ser. 180, 171). 0: none
    seed : decides the numbers

    Raises `Error` where both are given, or a number is negative or not finite.
    """

    noise_jy: float = 0.0
    sefd_jy: float | Sequence[float] = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        sefd_jy = numbers(self.sefd_jy, "sefd_jy", "Jy")
        if sefd_jy.ndim > 1:
            raise Error(f"sefd_jy is of shape {list(sefd_jy.shape)}, expected one number, or one of each antenna")
        if not (np.isfinite(sefd_jy).all() and (sefd_jy >= 0).all()):
            raise Error("sefd_jy must be finite, and not negative")
        noise_jy = number(self.noise_jy, "noise_jy", "Jy")
        if not (math.isfinite(noise_jy) and noise_jy >= 0):
            raise Error(f"noise_jy is {noise_jy:g}, it must be finite, and not negative")
        if noise_jy and sefd_jy.any():
            raise Error("noise is given by noise_jy or by sefd_jy, not by both")
        if not isinstance(self.seed, int | np.integer) or isinstance(self.seed, bool):
            raise Error(f"seed must be a whole number, not {self.seed!r}")
        object.__setattr__(self, "noise_jy", noise_jy)
        object.__setattr__(self, "sefd_jy", float(sefd_jy) if sefd_jy.ndim == 0 else tuple(sefd_jy.tolist()))

    @property
    def any(self) -> bool:
        """Whether there is noise at all."""
        return bool(self.noise_jy or np.any(self.sefd_jy))

    def of_correlations(self, correlations: Sequence[str]) -> ReceiverNoise:
        """The same for data of these correlations: Stokes I alone is the mean of two feeds, and each of them gets noise
        in trees; `noise_jy` is that of the mean."""
        return replace(self, noise_jy=self.noise_jy * math.sqrt(2)) if tuple(correlations) == ("I",) else self

    def added_to(self, ns: NodeScope, p: int, q: int, visibilities: NodeDef) -> NodeDef:
        """Visibilities [2,2] of antennas p and q plus the noise, `ns.noise(p, q)`."""
        stddev_jy = self._of_unit_cell(p, q) or self.noise_jy
        if not stddev_jy:
            return visibilities
        noise = rt.GaussNoise(stddev=stddev_jy, seed=self.seed, dims=[2, 2], complex=True)
        if self._of_unit_cell(p, q):
            noise = noise / rt.Sqrt(_samples(ns, p, q))
        ns.noise(p, q) << noise
        return rt.Add(visibilities, ns.noise(p, q))

    def weight(self, ns: NodeScope, p: int, q: int, correlations: Sequence[str]) -> NodeDef:
        """1 over the variance of real and of imaginary parts (1/Jy2) of data of antennas p and q, of which these are
        the correlations. Raises `Error` where there is no noise."""
        own = self.of_correlations(correlations)
        of_unit_cell = own._of_unit_cell(p, q)
        if not (of_unit_cell or own.noise_jy):
            raise Error(f"data of antennas {p} and {q} have no noise, and with it no weight")
        feeds = 2.0 if tuple(correlations) == ("I",) else 1.0
        if of_unit_cell:
            return rt.Constant(feeds / of_unit_cell**2) * _samples(ns, p, q)
        return rt.Constant(feeds / own.noise_jy**2)

    def _of_unit_cell(self, p: int, q: int) -> float:
        """Standard deviation (Jy) in 1 Hz and 1 s, if there are SEFDs."""
        if isinstance(self.sefd_jy, float):
            return self.sefd_jy / math.sqrt(2)
        if len(self.sefd_jy) <= max(p, q):
            raise Error(f"sefd_jy is of {len(self.sefd_jy)} antennas, and there is an antenna {max(p, q)}")
        return math.sqrt(self.sefd_jy[p] * self.sefd_jy[q] / 2)


def _samples(ns: NodeScope, p: int, q: int) -> NodeDef:
    """Channel width times exposure."""
    exposure = ns.exposure(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="EXPOSURE")
    if not ns.channel_width.initialized():
        ns.channel_width << rt.Grid(axis="freq", width=True)
    return ns.channel_width * exposure
