"""Trees that begin at voltages and end in a Measurement Set: channelise, correlate, follow the phase centre, write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Error
from ..arguments import check_fields, checked
from ..nodes import (
    Channelise,
    Constant,
    Correlate,
    Correlation,
    MergeFlags,
    Multiply,
    Sink,
    Spigot,
    VisPhaseShift,
    Voltages,
    ZeroFlagger,
)
from ..observing.measurement_set import Band
from ..utc import require_date
from ..writing.scope import NodeScope
from .correlate import BYTES_OF_FORMATS, check_format
from .sample_orders import order_axes

#: Complex samples per second of a channel where a system is known by its format.
SAMPLE_RATES_HZ = {"mwa32t": 1.28e6, "mwa32t-swapped": 1.28e6, "chime": 390625.0, "chime-low": 390625.0}


def usual_channel_format(format: str) -> str:
    """What channels are rounded to where nothing else is said: samples that are floats may be of any size."""
    return "float32" if format.startswith("float32") else "int8"


@dataclass(frozen=True)
class Recording:
    """How voltages were recorded, and what is to become of them.

    `files`: as of the node `Voltages`, with `format`, `order`, `lost`; `n_input`: inputs in the files; `file_channels`
    that they have already. `sample_rate_hz`: samples per second of a channel of the files; `centre_hz`: frequency that
    is at zero in them, or of their middle channel. `start_mjd_s`: when the first sample begins, seconds of MJD (UTC).
    `channels`, `taps`, `window`, `channel_format`, `gain`, `delay_s`: as of the node `Channelise`; `channels` None: the
    files' own; `channel_format` None: int8, or float32 of samples that are floats. Streams (tcp://, udp://, shm://)
    instead of files, which bring as many inputs each, have `duration_s`, and are waited for `timeout_s`.
    """

    files: Sequence[str]
    format: str
    n_input: int
    sample_rate_hz: float
    centre_hz: float
    start_mjd_s: float
    order: str = "time,channel,input"
    lost: str = "error"
    file_channels: int = 1
    channels: int | None = None
    taps: int = 1
    window: str = "rectangular"
    channel_format: str | None = None
    gain: float = 1.0
    delay_s: Sequence[float] = ()
    duration_s: float | None = None
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_format(self.format)
        require_date(self.start_mjd_s)
        if self.channel_format is None:
            object.__setattr__(self, "channel_format", usual_channel_format(self.format))
        if not (self.sample_rate_hz > 0 and self.centre_hz > 0):
            raise Error("sample_rate_hz and centre_hz must be positive")
        if self.channels is not None and self.file_channels != 1:
            raise Error(
                f"the files have {self.file_channels} channels already, which are not divided further: give no number "
                "of channels to make"
            )
        if self.channels is None and self.file_channels == 1 and self.is_real:
            raise Error("real samples must be channelised: say into how many channels")
        axes = order_axes(self.order)
        if "feed" in axes and self.n_input % 2:
            raise Error(f"{self.n_input} inputs are not two feeds of each antenna, which the order has")
        if self.is_stream and (self.duration_s is None or self.order == "groups"):
            raise Error("a stream is not of order groups, and needs its duration (--duration, duration_s)")

    @property
    def is_stream(self) -> bool:
        return any(file.startswith(("tcp://", "udp://", "shm://")) for file in self.files)

    @property
    def is_real(self) -> bool:
        return self.format.startswith("real")

    @property
    def n_channel(self) -> int:
        return self.channels or self.file_channels

    @property
    def samples_per_spectrum(self) -> int:
        """Samples of the files that make one of a channel that is correlated."""
        return (self.channels or 1) * (2 if self.is_real else 1)

    @property
    def channel_rate_hz(self) -> float:
        """Samples per second of a channel that is correlated."""
        return self.sample_rate_hz / self.samples_per_spectrum

    def band(self) -> Band:
        """The channels that come out."""
        if self.channels is None:
            width = self.sample_rate_hz
            centres = self.centre_hz + (np.arange(self.file_channels) - self.file_channels // 2) * width
        elif self.is_real:
            width = self.sample_rate_hz / 2 / self.channels
            centres = self.centre_hz + np.arange(self.channels) * width
        else:
            width = self.sample_rate_hz / self.channels
            centres = self.centre_hz + (np.arange(self.channels) - self.channels // 2) * width
        return Band.of(centres, np.full(len(centres), width))

    def integration(self, wanted_s: float) -> int:
        """Samples of a channel in the integration nearest to so many seconds; at least 1."""
        return max(1, round(wanted_s * self.channel_rate_hz))

    def n_sample(self) -> int:
        """Whole samples of a channel that all files have (where what is lost is masked: that any file has), or that the
        stream will have."""
        if self.is_stream:
            return round(self.duration_s * self.channel_rate_hz)
        return self._n_file_sample() // self.samples_per_spectrum

    def length_s(self) -> float:
        """Of what `n_sample` counts."""
        return self.duration_s if self.is_stream else self._n_file_sample() / self.sample_rate_hz

    def beyond_s(self, used_s: float) -> dict[str, float]:
        """{file: seconds of it beyond the first `used_s`}, of files that have some; of a stream nobody knows."""
        if self.is_stream:
            return {}
        found = {file: n / self.sample_rate_hz - used_s for file, n in self._samples_of_files().items()}
        least_s = 0.5 * self.samples_per_spectrum / self.sample_rate_hz
        return {file: beyond_s for file, beyond_s in found.items() if beyond_s > least_s}

    def _n_file_sample(self) -> int:
        each = self._samples_of_files().values()
        return max(each) if self.lost == "mask" else min(each)

    def _samples_of_files(self) -> dict[str, int]:
        """Where each file ends: whole samples of all inputs and channels from the first that all files have."""
        inputs = self.n_input // len(self.files) if self.order == "groups" else self.n_input
        step = BYTES_OF_FORMATS[self.format] * (self.file_channels * inputs + (self.order == "groups"))
        try:
            for file in self.files:
                if os.path.exists(file) and not os.path.isfile(file):
                    raise Error(f"cannot read {file!r}: it is no plain file of samples")
            counts = [os.path.getsize(file) // step for file in self.files]
            if self.order == "groups" and all(counts):
                counts = self._ends_of_groups(counts, step)
        except OSError as problem:
            raise Error(f"cannot read {problem.filename!r}: {problem.strerror}") from None
        return dict(zip(self.files, counts, strict=True))

    def _ends_of_groups(self, counts: Sequence[int], step: int) -> list[int]:
        """Of files with so many groups of `step` bytes, by their counters of 16 bits: those that are lost count, those
        that come again do not, and files may begin at different times."""
        counters = []
        for path, count in zip(self.files, counts, strict=True):
            with open(path, "rb") as file:
                first = file.read(2)
                file.seek((count - 1) * step)
                counters.append([int.from_bytes(two, "little") for two in (first, file.read(2))])
        starts = [_signed(first - counters[0][0]) for first, _ in counters]
        lengths = [
            count + (_signed(last - first + 1 - count) if self.lost == "mask" else 0)
            for count, (first, last) in zip(counts, counters, strict=True)
        ]
        return [max(0, start - max(starts) + length) for start, length in zip(starts, lengths, strict=True)]


def _signed(counter: int) -> int:
    """The number of 16 bits that a difference of counters is, from -32768 to 32767."""
    return (counter + 32768) % 65536 - 32768


@checked
def voltage_tree(
    recordings: Recording | Sequence[Recording],
    *,
    integration: int,
    baselines: Sequence[tuple[int, int]],
    feeds: int = 2,
    inputs: Sequence[Sequence[int]] = (),
    column: str = "DATA",
    follow: bool = True,
    strategy: str = "automatic",
) -> NodeScope:
    """A tree whose Sinks write the visibilities of these baselines and their weights.

    `recordings`: one, or one for each band, of inputs and integrations that are the same; each band is a spectral
    window. Nodes: `voltages`, `channels` (where there is a channeliser; of several bands both with the band's number),
    `products`, and by baseline `V` (visibilities as measured), `vis` (with the phase centre followed) and `weight`.
    `integration`: samples of a channel in a time slot. `feeds`, `inputs`: as of the node `Correlation`. `follow`:
    phases are turned back by what the path to the phase centre differs in, w of the Measurement Set; else the array
    looks where it looks. Channel 0 of real samples, of which the two halves are the same and have no phase, is flagged,
    with weight 0. Raises `Error` where such bands differ in their number of channels.
    """
    ns = NodeScope()
    bands = [recordings] if isinstance(recordings, Recording) else list(recordings)
    numbers = [()] if len(bands) == 1 else [(band,) for band in range(len(bands))]
    sources = [_source(ns, recording, number) for recording, number in zip(bands, numbers, strict=True)]
    middle_hz = [float(np.mean(recording.band().frequency_hz)) for recording in bands]
    ns.products << Correlate(*sources, integration=integration, strategy=strategy, band_hz=middle_hz)
    ns.behind << Constant([0.0, 0.0, -1.0])  # whose phase is that of -w
    if any(recording.is_real for recording in bands):
        if len({recording.n_channel for recording in bands}) > 1:
            raise Error("bands of real samples must have the same number of channels")
        counts = np.ones((1, bands[0].n_channel))
        counts[:, 0] = 0
        ns.counts << Constant(counts, cells_rank=2)
    chosen = {"feeds": feeds, "inputs": np.asarray(inputs, dtype=float).reshape(-1, feeds) if len(inputs) else []}
    for p, q in baselines:
        baseline = {"station_1_index": p, "station_2_index": q}
        ns.V(p, q) << Correlation(ns.products, **baseline, **chosen)
        weight = Correlation(ns.products, quantity="weight", **baseline, **chosen)
        ns.weight(p, q) << (Multiply(ns.counts, weight) if ns.counts.initialized() else weight)
        vis = ns.V(p, q)
        if follow and p != q:
            ns.uvw(p, q) << Spigot(input_column="UVW", **baseline)
            ns.back(p, q) << VisPhaseShift(ns.behind, ns.uvw(p, q), n_minus=0)
            vis = ns.vis(p, q) << Multiply(ns.V(p, q), ns.back(p, q))
        if ns.counts.initialized():
            vis = MergeFlags(vis, ZeroFlagger(ns.counts, oper="EQ"))
        ns.sink(p, q) << Sink(vis, output_column=column, write_flags=True, **baseline)
        ns.weight_sink(p, q) << Sink(ns.weight(p, q), output_column="WEIGHT_SPECTRUM", **baseline)
    return ns


def _source(ns: NodeScope, recording: Recording, band: tuple):
    """The node that a band's samples come from; `band`: what its name has besides."""
    voltages = ns.voltages(*band) if band else ns.voltages
    voltages << Voltages(
        source=list(recording.files),
        format=recording.format,
        order=recording.order,
        lost=recording.lost,
        n_channel=recording.file_channels,
        n_input=recording.n_input,
        start_s=recording.start_mjd_s,
        sample_interval_s=1 / recording.sample_rate_hz,
        timeout_s=recording.timeout_s,
    )
    if recording.channels is None:
        if len(recording.delay_s) > 0:
            raise Error("delays are taken out by the channeliser, but the files have their channels already")
        return voltages
    channels = ns.channels(*band) if band else ns.channels
    channels << Channelise(
        voltages,
        n_channel=recording.channels,
        taps=recording.taps,
        window=recording.window,
        format=recording.channel_format,
        gain=recording.gain,
        delay_s=np.asarray(recording.delay_s, dtype=float),
        centre_hz=recording.centre_hz,
    )
    return channels
