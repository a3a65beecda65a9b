"""Signals of a sky's sources as they come to antennas: noise with the covariance of the measurement equation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import ducc0
import numpy as np
from numpy.typing import NDArray

from .._core import SPEED_OF_LIGHT_M_S, Error
from ..sky_fluxes import taper_at

#: Of the power of an extended source, what may be left out by leaving out modes.
_MODES_LEFT_OUT = 1e-6
#: Of a frequency, what the uv tapers of extended sources are taken to be constant over.
_TAPER_STEP = 0.005
#: Radians of a phase within half a segment that are neglected, and that terms of first and of second order make good.
NEGLECTED_RAD, FIRST_ORDER_RAD, SECOND_ORDER_RAD = 3e-4, 0.02, 0.15


@dataclass(frozen=True)
class SampledBand:
    """Samples of voltages: `rate_hz` per second and channel, `channels` around `centre_hz`, or of `is_real` samples one
    from there on."""

    rate_hz: float
    centre_hz: float
    channels: int = 1
    is_real: bool = False

    def points_hz(self, points: int) -> NDArray[np.float64]:
        """[point] frequencies (Hz) over the band, ascending."""
        width = self.rate_hz * (0.5 if self.is_real else self.channels)
        low = 0.0 if self.is_real else -0.5
        return self.centre_hz + width * (low + (np.arange(points) + 0.5) / points)

    @property
    def middle_hz(self) -> float:
        return self.centre_hz + (self.rate_hz / 4 if self.is_real else 0.0)

    def offsets_hz(self, n: int) -> NDArray[np.float64]:
        """[bin] offsets (Hz) from `centre_hz` of the bins of n samples: of one channel those of a transform, else one
        for each channel."""
        if self.channels > 1:
            return (np.arange(self.channels) - self.channels // 2) * self.rate_hz
        if self.is_real:
            return np.arange(n // 2 + 1) * self.rate_hz / n
        return np.fft.fftfreq(n, 1 / self.rate_hz)


@dataclass(frozen=True)
class Paths:
    """By how much signals come early (s) over a segment: a parabola in x, -1 at its begin, 0 in its middle, 1 at its
    end. [3 powers of x, antenna, source], and of the direction that phases are turned for exactly [3, antenna]."""

    early_s: NDArray[np.float64]
    common_s: NDArray[np.float64]

    @classmethod
    def through(cls, uvw_m: NDArray[np.float64], lmn: NDArray[np.float64], weight: NDArray[np.float64]) -> Paths:
        """Of positions [begin, middle and end; antenna, 3] and directions [source, 3] with weights, none negative; the
        common direction is their mean, or none where all weights are 0."""
        directions = np.concatenate([lmn, (weight @ lmn / (weight.sum() or 1.0))[None]])
        begin, middle, end = uvw_m @ directions.T / SPEED_OF_LIGHT_M_S
        early_s = np.stack([middle, (end - begin) / 2, (end + begin) / 2 - middle])
        return cls(early_s[:, :, :-1], early_s[:, :, -1])

    def largest_turn_rad(self, band: SampledBand) -> float:
        """Of what is left besides the common turn, in half a segment, at either end of the band."""
        if self.early_s.size == 0:
            return 0.0
        left = [
            hz * self.early_s[1:] - band.middle_hz * self.common_s[1:, :, None]
            for hz in band.points_hz(1 << 10)[[0, -1]]
        ]
        return 2 * math.pi * max(float(np.abs(one).sum(axis=0).max()) for one in left)


def taper_modes(
    shape: Sequence[float], uvw_m: NDArray[np.float64], band: SampledBand, n: int
) -> tuple[NDArray[np.complex128], NDArray[np.int64]]:
    """([antenna, mode, part], [bin] part of the band): weights of noise sources that do not depend on each other and
    together have the uv taper of a shape as covariance, R_pq = sum_m w_pm w_qm."""
    offsets = band.offsets_hz(n)
    low, high = band.centre_hz + offsets.min(), band.centre_hz + offsets.max()
    parts = max(1, math.ceil((high - low) / (_TAPER_STEP * max(high, 1.0))))
    part = np.minimum((offsets - offsets.min()) / max(high - low, 1e-300) * parts, parts - 1).astype(np.int64)
    baselines_m = [uvw_m[:, None, k] - uvw_m[None, :, k] for k in range(3)]
    weights = []
    for k in range(parts):
        wavelengths = (low + (k + 0.5) * (high - low) / parts) / SPEED_OF_LIGHT_M_S
        power, modes = np.linalg.eigh(taper_at(shape, *(metres * wavelengths for metres in baselines_m)))
        weights.append((modes * np.sqrt(np.maximum(power, 0)))[:, ::-1])  # the strongest first
    stacked = np.stack(weights, axis=-1)
    strength = np.square(stacked).sum(axis=0).max(axis=-1)
    count = int(np.count_nonzero(np.cumsum(strength[::-1])[::-1] > _MODES_LEFT_OUT * len(uvw_m)))
    return stacked[:, :count], part


class Segment:
    """Samples of n times: the sources' signals in all their frequencies, before they come to antennas.

    Of one channel the frequencies are those of a transform of all samples; channels have one frequency each, and
    samples that do not depend on each other. `stokes`: [source, 4, point]; `shapes`: [source] or None for points.
    """

    def __init__(self, band: SampledBand, n: int, paths: Paths, noise_jy: float, rng: np.random.Generator):
        self._band, self._n, self._paths, self._noise_jy, self._rng = band, n, paths, noise_jy, rng
        self._offset_hz = band.offsets_hz(n)
        self._shape = (n, band.channels) if band.channels > 1 else (len(self._offset_hz),)
        self._signals: list = []  # (source, both feeds, [antenna, part] weights or None, [bin] part)
        turn = paths.largest_turn_rad(band)
        self._order = 0 if turn <= NEGLECTED_RAD else 1 if turn <= FIRST_ORDER_RAD else 2

    def add_source(self, source: int, stokes, stokes_hz, shape, uvw_m, feed: str) -> None:
        frequency_hz = self._band.centre_hz + self._offset_hz
        if shape is None:
            self._signals.append((source, self._noise(stokes, stokes_hz, frequency_hz, feed), None, None))
            return
        weights, part = taper_modes(shape, uvw_m, self._band, self._n)
        for mode in range(weights.shape[1]):
            noise = self._noise(stokes, stokes_hz, frequency_hz, feed)
            self._signals.append((source, noise, weights[:, mode].astype(np.float32), part))

    def antenna(self, antenna: int, gain, late_s, beam: NDArray[np.float64] | None = None) -> list[np.ndarray]:
        """Samples [time, channel] (Jy^(1/2)) of both feeds of an antenna, with receiver noise. Their phases turn as the
        sources move: exactly for the common direction, and by terms of up to the second order for what differs.
        `beam`: [source, point] what is left of each source's signal at `SampledBand.points_hz`."""
        noise = np.float32(math.sqrt(self._noise_jy))  # which may well turn with the rest: it stays the same noise
        sums = np.zeros((self._order + 1, 2, *self._shape), np.complex64)
        for feed in range(2):
            sums[0, feed] = noise * normal(self._shape, self._rng)
        for source, signal, weights, part in self._signals:
            early_s = self._paths.early_s[:, antenna, source]
            arrived = self._phases(early_s[0])
            if weights is not None:
                arrived = arrived * weights[antenna][part]
            if beam is not None:
                points_hz = self._band.points_hz(beam.shape[1])
                left = np.interp(self._band.centre_hz + self._offset_hz, points_hz, beam[source])
                arrived = arrived * left.astype(np.float32)
            for feed in range(2):
                now = arrived * signal[feed]
                sums[0, feed] += now
                if not self._order:
                    continue
                common_s = self._paths.common_s[1:, antenna]
                turning, curving = (
                    2 * np.pi * ((self._band.centre_hz + self._offset_hz) * own - self._band.middle_hz * common)
                    for own, common in zip(early_s[1:], common_s, strict=True)
                )
                sums[1, feed] += turning.astype(np.float32) * now
                if self._order > 1:
                    sums[2, feed] += (turning**2 - 2j * curving).astype(np.complex64) * now
        x = self._x().astype(np.float32)[:, None]
        result = []
        for feed in range(2):
            bins = sums[:, feed] * (gain[feed] * self._phases(-late_s[feed]))
            samples = self._samples(bins[0])
            if self._order:
                samples = samples + 1j * x * self._samples(bins[1])
            if self._order > 1:
                samples = samples - 0.5 * x**2 * self._samples(bins[2])
            samples = samples * self._turn(antenna)
            result.append(samples.real * math.sqrt(2) if self._band.is_real else samples)
        return result

    def _x(self) -> NDArray[np.float64]:
        """Where samples are in the segment, -1 to 1: in their middles."""
        return (np.arange(self._n) + 0.5 - self._n / 2) / (self._n / 2)

    def _turn(self, antenna: int) -> np.ndarray:
        """[time, 1] what the common direction's path turns phases by."""
        _, first_s, second_s = self._paths.common_s[:, antenna]
        if first_s == second_s == 0:
            return np.ones((1, 1), np.complex64)
        x = self._x()
        turns = self._band.middle_hz * (first_s * x + second_s * x**2)
        return np.exp(2j * np.pi * turns).astype(np.complex64)[:, None]

    def _phases(self, early_s: float) -> np.ndarray:
        if early_s == 0:
            return np.complex64(1)
        whole = np.exp(2j * np.pi * math.remainder(self._band.centre_hz * early_s, 1.0))
        return (whole * np.exp(2j * np.pi * self._offset_hz * early_s)).astype(np.complex64)

    def _noise(self, stokes, stokes_hz, frequency_hz, feed: str) -> list[np.ndarray]:
        """Both feeds' noise [..., freq] of a source, whose covariance is the brightness matrix of the feeds."""
        i, q, u, v = (np.interp(frequency_hz, stokes_hz, one) for one in stokes)
        if (i < np.sqrt(q**2 + u**2 + v**2) * (1 - 1e-9)).any() or (i < 0).any():
            raise Error("a source has a negative flux, or is more than wholly polarised: there is no such signal")
        difference, lower = (q, u - 1j * v) if feed == "linear" else (v, q - 1j * u)
        # Cholesky factor of [[I + d, l*], [l, I - d]]
        x = np.sqrt(i + difference)
        across = np.divide(lower, x, out=np.zeros_like(x, dtype=complex), where=x > 0)
        y = np.sqrt(np.maximum(0, i - difference - np.abs(across) ** 2))
        first, second = normal(self._shape, self._rng), normal(self._shape, self._rng)
        return [x.astype(np.float32) * first, across.astype(np.complex64) * first + y.astype(np.float32) * second]

    def _samples(self, bins: np.ndarray) -> np.ndarray:
        """[..., time, channel] of bins; of real samples the analytic signal, times sqrt(1/2)."""
        if self._band.channels > 1:
            return bins
        if self._band.is_real:
            both = np.zeros((*bins.shape[:-1], self._n), np.complex64)
            both[..., : bins.shape[-1]] = bins * np.float32(math.sqrt(2))
            both[..., 0] = bins[..., 0].real
            if self._n % 2 == 0:
                both[..., self._n // 2] = bins[..., -1].real
            return ducc0.fft.c2c(both, axes=[both.ndim - 1], forward=False, inorm=1)[..., None]
        return ducc0.fft.c2c(bins, axes=[bins.ndim - 1], forward=False, inorm=1)[..., None]


def normal(shape, rng: np.random.Generator) -> np.ndarray:
    """Complex numbers of variance 1, complex64."""
    parts = rng.standard_normal((*shape, 2), dtype=np.float32) * np.float32(math.sqrt(0.5))
    return parts.view(np.complex64)[..., 0]
