"""A sky seen by a telescope as voltages: what its receivers would have written to files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ducc0
import numpy as np
from numpy.typing import NDArray

from ._core import Error
from .arguments import check_fields, checked
from .correlate import BYTES_OF_FORMATS
from .make_ms import _antenna_uvw, _dut1
from .sky import SkyModel
from .sky_trees import stokes_at
from .telescopes import Telescope

LIGHT_M_S = 299792458.0
#: Standard deviation of each number, in least significant bits, at which fewest of the signal is lost.
BEST_RMS = {
    "mwa32t": 5.3,
    "mwa32t-swapped": 5.3,
    "chime": 2.95,
    "int4": 2.95,
    "int4-low": 2.95,
    "int8": 30.0,
    "real8": 30.0,
}
#: (bits, where the real and the imaginary part begin, whether codes are in excess), as of the runtime's formats.
_CODES = {
    "mwa32t": (5, 0, 5, False),
    "mwa32t-swapped": (5, 5, 0, False),
    "chime": (4, 4, 0, True),
    "int4": (4, 4, 0, False),
    "int4-low": (4, 0, 4, False),
    "int8": (8, 0, 8, False),
}
_SEGMENT = 1 << 17  # samples over which delays stand still: 0.1 s of the MWA's


@dataclass(frozen=True)
class Receivers:
    """What turns a sky into codes.

    `format`, `order`: as of the node `Voltages`; `n_receiver`: files of order "groups". `sample_rate_hz`: samples per
    second; `centre_hz`: the frequency that is mixed to zero (of "real8" the lower end of the band). `channels`: 1, or
    as many channels of that rate around the centre. `noise_jy`: receiver noise of each input as a flux density (SEFD).
    `rms`: standard deviation of each number in least significant bits (None: where fewest of the signal is lost).
    `gain`: [antenna,feed] complex, relative; `delay_s`: [antenna,feed] by which cables make signals late.
    """

    format: str
    sample_rate_hz: float
    centre_hz: float
    noise_jy: float
    order: str = "time,channel,input"
    n_receiver: int = 1
    channels: int = 1
    rms: float | None = None
    gain: np.ndarray | None = None
    delay_s: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.format not in BYTES_OF_FORMATS:
            raise Error(f"format is {self.format!r}, expected {', '.join(map(repr, BYTES_OF_FORMATS))}")
        if not (
            self.sample_rate_hz > 0 and self.centre_hz > 0 and self.noise_jy >= 0 and (self.rms is None or self.rms > 0)
        ):
            raise Error("sample_rate_hz, centre_hz and rms must be positive, and noise_jy at least 0")
        if self.order not in ("time,channel,input", "groups"):
            raise Error(f"order is {self.order!r}, expected 'time,channel,input' or 'groups'")
        if self.order == "groups" and (BYTES_OF_FORMATS[self.format] != 2 or self.channels != 1):
            raise Error("groups are of one channel, of samples of 16 bits")
        if self.format == "real8" and self.channels != 1:
            raise Error("real samples are of one channel")


@dataclass(frozen=True)
class MadeVoltages:
    """What `make_voltages` wrote: `files`, `n_sample`, `lsb2_per_jy` (what 1 Jy is in squares of the least significant
    bit), and the fraction of numbers that were `cut_off`."""

    files: list[str]
    n_sample: int
    lsb2_per_jy: float
    cut_off: float


@checked
def make_voltages(
    path: str | os.PathLike,
    sky: SkyModel,
    telescope: Telescope,
    receivers: Receivers,
    *,
    phase_centre_rad: Sequence[float],
    start_mjd_s: float,
    duration_s: float,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> MadeVoltages:
    """Write the voltages of a sky of point sources, antenna after antenna with two feeds each.

    Each source is noise whose covariance is its brightness matrix (Jy) at each frequency; it comes to an antenna at the
    time that the path difference to the array's centre takes, exact to a part of a sample, and with its phase. Delays
    stand still for 2^17 samples. So the covariance of the antennas at each frequency is that of the measurement
    equation, V_pq = sum_s B_s exp(2 pi i nu/c (u l + v m + w n)) with gains, plus receiver noise on the diagonal.
    `progress(done, all)` is told samples. Files of order "groups" get numbers: PATH.0, PATH.1, ...

    Raises `Error` for extended sources, and where something does not fit.
    """
    path = os.fspath(path)
    _check(sky, telescope, receivers)
    rng = np.random.default_rng(seed)
    n_antenna, n_input = len(telescope), 2 * len(telescope)
    n_sample = round(duration_s * receivers.sample_rate_hz)
    if n_sample < 1:
        raise Error(f"{duration_s:g} s hold no sample of {receivers.sample_rate_hz:g} per second")
    frequency_hz = _band(receivers, 16)
    stokes = stokes_at(sky, frequency_hz) if len(sky) else np.zeros((0, 4, len(frequency_hz)))
    power_jy = receivers.noise_jy + stokes[:, 0].sum(axis=0).mean()
    if not power_jy > 0:
        raise Error("there are neither sources nor noise")
    numbers_of_sample = 1 if receivers.format == "real8" else 2
    scale = (receivers.rms or BEST_RMS[receivers.format]) / math.sqrt(power_jy / numbers_of_sample)
    gain = np.ones((n_antenna, 2)) if receivers.gain is None else np.asarray(receivers.gain, complex)
    cable_s = np.zeros((n_antenna, 2)) if receivers.delay_s is None else np.asarray(receivers.delay_s, float)
    if gain.shape != (n_antenna, 2) or cable_s.shape != (n_antenna, 2):
        raise Error(f"gain and delay_s must be [antenna,feed], [{n_antenna},2]")
    dut1_s, lmn = _dut1(start_mjd_s), _lmn(sky, phase_centre_rad)
    cut, numbers = 0, 0
    with _Files(path, receivers, n_input) as files:
        for first in range(0, n_sample, _SEGMENT):
            n = min(_SEGMENT, n_sample - first)
            middle_s = start_mjd_s + (first + n / 2) / receivers.sample_rate_hz
            uvw_m = _antenna_uvw(telescope, np.asarray(phase_centre_rad, float), np.array([middle_s]), dut1_s)[0]
            delay_s = uvw_m @ lmn.T / LIGHT_M_S  # [antenna, source] by which a signal comes early
            bins = _Bins(receivers, n, stokes, frequency_hz, rng)
            codes = np.empty((n, receivers.channels, n_input), files.dtype)
            for antenna in range(n_antenna):
                signals = bins.antenna(delay_s[antenna], gain[antenna], cable_s[antenna], rng)
                for feed in range(2):
                    codes[:, :, 2 * antenna + feed], lost = _codes(scale * signals[feed], receivers.format)
                    cut, numbers = cut + lost, numbers + numbers_of_sample * n * receivers.channels
            files.write(codes)
            if progress is not None:
                progress(first + n, n_sample)
    return MadeVoltages(files.names, n_sample, scale**2, cut / numbers)


def _check(sky: SkyModel, telescope: Telescope, receivers: Receivers) -> None:
    extended = [source.name for source in sky if source.shape is not None]
    if extended:
        raise Error(f"source {extended[0]!r} is extended; voltages are made of point sources")
    if telescope.feed != "linear":
        raise Error(f"telescope {telescope.name!r} has {telescope.feed} feeds; voltages are made for linear ones")
    if receivers.order == "groups" and 2 * len(telescope) % receivers.n_receiver:
        raise Error(f"{2 * len(telescope)} inputs cannot be shared by {receivers.n_receiver} receivers")


def _lmn(sky: SkyModel, centre_rad: Sequence[float]) -> NDArray[np.float64]:
    """[source,3] direction cosines l, m, n."""
    ra, dec = np.asarray(sky.radec_rad).reshape(-1, 2).T
    ra_0, dec_0 = centre_rad
    east = np.cos(dec) * np.sin(ra - ra_0)
    north = np.sin(dec) * np.cos(dec_0) - np.cos(dec) * np.sin(dec_0) * np.cos(ra - ra_0)
    towards = np.sin(dec) * np.sin(dec_0) + np.cos(dec) * np.cos(dec_0) * np.cos(ra - ra_0)
    return np.stack([east, north, towards], axis=1)


def _band(receivers: Receivers, points: int) -> NDArray[np.float64]:
    """Frequencies over the band, ascending, at which fluxes are asked for."""
    width = receivers.sample_rate_hz * (receivers.channels if receivers.format != "real8" else 0.5)
    low = 0.0 if receivers.format == "real8" else -0.5
    return receivers.centre_hz + width * (low + (np.arange(points) + 0.5) / points)


class _Bins:
    """Samples of one segment: the sources' signals in all their frequencies, before they come to antennas.

    Of one channel the frequencies are those of a transform of all samples; channels have one frequency each, and
    samples that do not depend on each other.
    """

    def __init__(self, receivers: Receivers, n: int, stokes, stokes_hz, rng: np.random.Generator):
        self._receivers, self._n = receivers, n
        rate = receivers.sample_rate_hz
        if receivers.channels > 1:
            offset_hz = (np.arange(receivers.channels) - receivers.channels // 2) * rate
            shape = (n, receivers.channels)
        elif receivers.format == "real8":
            offset_hz, shape = np.arange(n // 2 + 1) * rate / n, (n // 2 + 1,)
        else:
            offset_hz, shape = np.fft.fftfreq(n, 1 / rate), (n,)
        self._offset_hz, self._shape = offset_hz, shape
        self._signals = [_signals(one, stokes_hz, receivers.centre_hz + offset_hz, shape, rng) for one in stokes]

    def antenna(self, early_s, gain, late_s, rng: np.random.Generator) -> list[np.ndarray]:
        """Samples [time, channel] (Jy^(1/2)) of both feeds of an antenna, with receiver noise."""
        noise = math.sqrt(self._receivers.noise_jy)
        sums = [noise * _normal(self._shape, rng) for _ in range(2)]
        for delay, signal in zip(early_s, self._signals, strict=True):
            turned = self._phases(delay)
            for feed in range(2):
                sums[feed] += turned * signal[feed]
        return [self._samples(sums[feed] * (gain[feed] * self._phases(-late_s[feed]))) for feed in range(2)]

    def _phases(self, early_s: float) -> np.ndarray:
        if early_s == 0:
            return np.complex64(1)
        whole = np.exp(2j * np.pi * math.remainder(self._receivers.centre_hz * early_s, 1.0))
        return (whole * np.exp(2j * np.pi * self._offset_hz * early_s)).astype(np.complex64)

    def _samples(self, bins: np.ndarray) -> np.ndarray:
        if self._receivers.channels > 1:
            return bins
        if self._receivers.format == "real8":
            return np.fft.irfft(bins, self._n)[:, None] * math.sqrt(self._n)
        return ducc0.fft.c2c(bins, forward=False, inorm=1)[:, None]


def _signals(stokes, stokes_hz, frequency_hz, shape, rng: np.random.Generator) -> list[np.ndarray]:
    """Both feeds' noise [..., freq] of a source, whose covariance is the brightness matrix of linear feeds."""
    i, q, u, v = (np.interp(frequency_hz, stokes_hz, one) for one in stokes)
    if (i < np.sqrt(q**2 + u**2 + v**2) * (1 - 1e-9)).any() or (i < 0).any():
        raise Error("a source has a negative flux, or is more than wholly polarised: there is no such signal")
    x = np.sqrt(i + q)  # Cholesky factor of [[I + Q, U + iV], [U - iV, I - Q]]
    across = np.divide(u - 1j * v, x, out=np.zeros_like(x, dtype=complex), where=x > 0)
    y = np.sqrt(np.maximum(0, i - q - np.abs(across) ** 2))
    first, second = _normal(shape, rng), _normal(shape, rng)
    return [x.astype(np.float32) * first, across.astype(np.complex64) * first + y.astype(np.float32) * second]


def _normal(shape, rng: np.random.Generator) -> np.ndarray:
    """Complex numbers of variance 1, complex64."""
    parts = rng.standard_normal((*shape, 2), dtype=np.float32) * np.float32(math.sqrt(0.5))
    return parts.view(np.complex64)[..., 0]


def _codes(samples: np.ndarray, name: str) -> tuple[np.ndarray, int]:
    """Codes of samples in least significant bits, and how many numbers were cut off."""
    if name == "real8":
        whole = np.rint(samples)
        cut = np.clip(whole, -128, 127)
        return cut.astype(np.int8).view(np.uint8), int(np.count_nonzero(cut != whole))
    bits, re_shift, im_shift, excess = _CODES[name]
    half = 1 << (bits - 1)
    code, lost = 0, 0
    for part, shift in ((samples.real, re_shift), (samples.imag, im_shift)):
        whole = np.rint(part).astype(np.int32)
        cut = np.clip(whole, -half, half - 1)
        lost += int(np.count_nonzero(cut != whole))
        code = code | ((cut + (half if excess else 0)) & (2 * half - 1)) << shift
    return code.astype("<u2" if BYTES_OF_FORMATS[name] == 2 else "u1"), lost


class _Files:
    """The files that are written; they get their names when all is done, and are gone where it is not."""

    def __init__(self, path: str, receivers: Receivers, n_input: int):
        self._receivers = receivers
        groups = receivers.order == "groups"
        self.names = [f"{path}.{k}" for k in range(receivers.n_receiver)] if groups else [path]
        self.dtype = np.dtype("<u2" if BYTES_OF_FORMATS[receivers.format] == 2 else "u1")
        self._inputs, self._counter = n_input // len(self.names), 0

    def __enter__(self) -> _Files:
        self._files = [open(name + ".partial", "wb") for name in self.names]  # noqa: SIM115 - closed by __exit__
        return self

    def write(self, codes: np.ndarray) -> None:
        """Samples [time, channel, input]."""
        if self._receivers.order != "groups":
            codes.tofile(self._files[0])
            return
        counters = (self._counter + np.arange(len(codes))).astype("<u2")
        self._counter += len(codes)
        for k, file in enumerate(self._files):
            own = codes[:, 0, k * self._inputs : (k + 1) * self._inputs]
            np.concatenate([counters[:, None], own], axis=1).tofile(file)

    def __exit__(self, kind, *_) -> None:
        for file, name in zip(self._files, self.names, strict=True):
            file.close()
            if kind is None:
                os.replace(name + ".partial", name)
            else:
                os.unlink(name + ".partial")
