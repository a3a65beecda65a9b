"""A sky seen by a telescope as voltages: what its receivers would have written to files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..arguments import check_fields, checked, random_generator
from ..beams import kinds_of
from ..directions import direction_cosines, require_direction
from ..observing.antenna_uvw import antenna_uvw
from ..observing.horizon import horizontal, warn_of_sources
from ..sky import SkyModel
from ..sky_fluxes import stokes_at, voltages_at
from ..telescopes import Telescope
from ..utc import dut1, require_date
from ..whole_file import claim_space, whole_file
from .correlate import BYTES_OF_FORMATS, check_format
from .sample_orders import in_order, order_axes
from .signals import SECOND_ORDER_RAD, Paths, SampledBand, Segment

#: Standard deviation of each number, in least significant bits, at which fewest of the signal is lost.
BEST_RMS = {
    "mwa32t": 5.3,
    "mwa32t-swapped": 5.3,
    "chime": 2.95,
    "chime-low": 2.95,
    "int4": 2.95,
    "int4-low": 2.95,
    "int8": 30.0,
    "int8-swapped": 30.0,
    "real8": 30.0,
    "float32": 1.0,
    "float32-swapped": 1.0,
}
#: (bits, where the real and the imaginary part begin, whether codes are in excess), as of the runtime's formats.
_CODES = {
    "mwa32t": (5, 0, 5, False),
    "mwa32t-swapped": (5, 5, 0, False),
    "chime": (4, 4, 0, True),
    "chime-low": (4, 0, 4, True),
    "int4": (4, 4, 0, False),
    "int4-low": (4, 0, 4, False),
    "int8": (8, 0, 8, False),
    "int8-swapped": (8, 8, 0, False),
}
#: Samples of a segment: what noise is made for at a time, 0.1 s of the MWA's; and the fewest, where phases turn fast.
_SEGMENT, _SHORTEST = 1 << 17, 1 << 7


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
        check_format(self.format)
        if not (
            self.sample_rate_hz > 0 and self.centre_hz > 0 and self.noise_jy >= 0 and (self.rms is None or self.rms > 0)
        ):
            raise Error("sample_rate_hz, centre_hz and rms must be positive, and noise_jy at least 0")
        below_hz = 0.0 if self.format == "real8" else (self.channels // 2 + 0.5) * self.sample_rate_hz
        if self.centre_hz < below_hz:
            raise Error(
                f"a band around centre_hz {self.centre_hz:g} Hz with sample_rate_hz {self.sample_rate_hz:g} Hz "
                f"{f'in each of {self.channels} channels ' if self.channels > 1 else ''}reaches down to "
                f"{self.centre_hz - below_hz:g} Hz; frequencies must be positive"
            )
        order_axes(self.order)
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
    seed: int | Sequence[int] = 0,
    progress: Callable[[int, int], None] | None = None,
) -> MadeVoltages:
    """Write the voltages of a sky, antenna after antenna with two feeds each.

    Each source is noise whose covariance is its brightness matrix (Jy) at each frequency; it comes to an antenna at the
    time that the path difference to the array's centre takes, exact to a part of a sample, and with its phase, which
    turns as the Earth does. An extended source is as much noise that comes from its middle, in modes that do not depend
    on each other and together have its uv taper as covariance. So the covariance of the antennas at each frequency and
    time is that of the measurement equation, V_pq = sum_s B_s taper_spq exp(2 pi i nu/c (u l + v m + w n)) with gains,
    plus receiver noise on the diagonal. The noise of sources begins anew after at most 2^17 samples.
    `progress(done, all)` is told samples. Files of order "groups" get numbers: PATH.0, PATH.1, ...

    Raises `Error` where something does not fit.
    """
    path = os.fspath(path)
    _check(sky, telescope, receivers)
    require_direction("phase_centre_rad", phase_centre_rad)
    require_date(start_mjd_s)
    rng = random_generator(seed)
    n_antenna, n_input = len(telescope), 2 * len(telescope)
    n_sample = round(duration_s * receivers.sample_rate_hz)
    if n_sample < 1:
        raise Error(f"{duration_s:g} s hold no sample of {receivers.sample_rate_hz:g} per second")
    band = SampledBand(
        receivers.sample_rate_hz, receivers.centre_hz, receivers.channels, receivers.format.startswith("real")
    )
    frequency_hz = band.points_hz(16)
    stokes, beams = _received(sky, frequency_hz, phase_centre_rad, n_antenna)
    power_jy = receivers.noise_jy + (stokes[:, 0] * (1 if beams is None else beams**2)).sum(axis=-2).mean()
    if not power_jy > 0:
        raise Error("there are neither sources nor noise")
    numbers_of_sample = 1 if band.is_real else 2
    scale = (receivers.rms or BEST_RMS[receivers.format]) / math.sqrt(power_jy / numbers_of_sample)
    gain = np.ones((n_antenna, 2)) if receivers.gain is None else np.asarray(receivers.gain, complex)
    cable_s = np.zeros((n_antenna, 2)) if receivers.delay_s is None else np.asarray(receivers.delay_s, float)
    if gain.shape != (n_antenna, 2) or cable_s.shape != (n_antenna, 2):
        raise Error(f"gain and delay_s must be [antenna,feed], [{n_antenna},2]")
    dut1_s, lmn = dut1(start_mjd_s), direction_cosines(sky.radec_rad, phase_centre_rad)
    if len(sky):
        elevation, _ = horizontal(telescope, sky.radec_rad, start_mjd_s + np.array([0.0, duration_s]), dut1_s)
        warn_of_sources(sky.names, elevation, 3)
    shapes = sky.shapes_seen_from(phase_centre_rad) if len(sky) else []

    def positions_m(time_s) -> NDArray[np.float64]:
        return antenna_uvw(telescope, np.asarray(phase_centre_rad, float), np.asarray(time_s, float), dut1_s, "J2000")

    cut, numbers, first = 0, 0, 0
    with _Files(path, receivers, n_input, n_sample) as files:
        while first < n_sample:
            n = min(_SEGMENT, n_sample - first)
            while True:
                begin_s = start_mjd_s + first / band.rate_hz
                uvw_m = positions_m(begin_s + np.array([0, 0.5, 1]) * n / band.rate_hz)
                paths = Paths.through(uvw_m, lmn, stokes[:, 0].mean(axis=1))
                if n <= _SHORTEST or paths.largest_turn_rad(band) <= SECOND_ORDER_RAD:
                    break
                n = max(_SHORTEST, n // 2)
            segment = Segment(band, n, paths, receivers.noise_jy, rng)
            for source, fluxes in enumerate(stokes):
                shape = shapes[source] if sky[source].is_extended else None
                segment.add_source(source, fluxes, frequency_hz, shape, uvw_m[1], telescope.feed)
            codes = np.empty((n, receivers.channels, n_input), files.dtype)
            for antenna in range(n_antenna):
                beam = None if beams is None else beams[antenna]
                signals = segment.antenna(antenna, gain[antenna], cable_s[antenna], beam)
                for feed in range(2):
                    codes[:, :, 2 * antenna + feed], lost = _codes(scale * signals[feed], receivers.format)
                    cut, numbers = cut + lost, numbers + numbers_of_sample * n * receivers.channels
            files.write(codes)
            first += n
            if progress is not None:
                progress(first, n_sample)
    return MadeVoltages(files.names, n_sample, scale**2, cut / numbers)


def _check(sky: SkyModel, telescope: Telescope, receivers: Receivers) -> None:
    if telescope.feed not in ("linear", "circular"):
        raise Error(f"telescope {telescope.name!r} has {telescope.feed} feeds; known are linear and circular ones")
    if receivers.order == "groups" and 2 * len(telescope) % receivers.n_receiver:
        raise Error(f"{2 * len(telescope)} inputs cannot be shared by {receivers.n_receiver} receivers")
    if named := [source.name for source in sky if source.shapelets is not None]:
        raise Error(f"source {named[0]!r} is a sum of shapelets, which may be negative: voltages cannot be made of it")


def _received(
    sky: SkyModel, frequency_hz: NDArray[np.float64], centre_rad: Sequence[float], n_antenna: int
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """[source,4,freq] Stokes parameters (Jy), as a beam that all antennas have lets through; and where beams differ,
    the voltages that they leave [antenna,source,freq]."""
    if not len(sky):
        return np.zeros((0, 4, len(frequency_hz))), None
    if sky.beam is not None and not all(beam.is_real and not beam.varies_in_time for beam in kinds_of(sky.beam)[0]):
        raise Error(
            "voltages are made through beams of dishes that follow the sky, not through patterns from files or stations"
        )
    if sky.beam is None or not kinds_of(sky.beam)[1]:
        return stokes_at(sky, frequency_hz, centre_rad), None
    beams = voltages_at(sky, frequency_hz, centre_rad)
    if len(beams) != n_antenna:
        raise Error(f"the sky is seen through {len(beams)} beams, but there are {n_antenna} antennas")
    return stokes_at(sky.seen_through(None), frequency_hz, centre_rad), beams


def _codes(samples: np.ndarray, name: str) -> tuple[np.ndarray, int]:
    """Codes of samples in least significant bits, and how many numbers were cut off."""
    if name.startswith("float32"):
        return (samples.imag + 1j * samples.real if name.endswith("swapped") else samples).astype("<c8"), 0
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

    def __init__(self, path: str, receivers: Receivers, n_input: int, n_sample: int):
        self._receivers = receivers
        groups = receivers.order == "groups"
        self.names = [f"{path}.{k}" for k in range(receivers.n_receiver)] if groups else [path]
        self.dtype = np.dtype({1: "u1", 2: "<u2", 8: "<c8"}[BYTES_OF_FORMATS[receivers.format]])
        self._inputs, self._done = n_input // len(self.names), 0
        self._shape = (n_sample, receivers.channels, n_input)
        self._files: list[BinaryIO] = []

    def __enter__(self) -> _Files:
        n_sample, n_channel, _ = self._shape
        counted = self._receivers.order == "groups"  # a number with the inputs of each sample
        with ExitStack() as opened:
            for name in self.names:
                file = opened.enter_context(open(opened.enter_context(whole_file(name)), "rb+"))
                claim_space(file, n_sample * n_channel * (self._inputs + counted) * self.dtype.itemsize)
                self._files.append(file)
            self._opened = opened.pop_all()
        return self

    def write(self, codes: np.ndarray) -> None:
        """Samples [time, channel, input]."""
        axes, first = order_axes(self._receivers.order), self._done
        self._done += len(codes)
        if axes[0] == "groups":
            counters = (first + np.arange(len(codes))).astype("<u2")
            for k, file in enumerate(self._files):
                own = codes[:, 0, k * self._inputs : (k + 1) * self._inputs]
                np.concatenate([counters[:, None], own], axis=1).tofile(file)
        elif axes[0] == "time":
            in_order(codes, axes).tofile(self._files[0])
        else:  # a piece of the time axis everywhere
            n_sample, n_channel, n_input = self._shape
            lengths = {"time": n_sample, "channel": n_channel, "input": n_input, "antenna": n_input // 2, "feed": 2}
            shape = tuple(lengths[axis] for axis in axes)
            whole = np.memmap(self._files[0], self.dtype, "r+", shape=shape)
            piece = [slice(first, first + len(codes)) if axis == "time" else slice(None) for axis in axes]
            whole[tuple(piece)] = in_order(codes, axes)
            whole.flush()

    def __exit__(self, *problem) -> None:
        self._opened.__exit__(*problem)
