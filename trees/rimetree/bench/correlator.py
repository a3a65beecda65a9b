"""The Correlate node: useful operations per second, with products that are checked bit by bit."""

from __future__ import annotations

import json
import os
import tempfile
import time

import numpy as np

from .._core import multiply_add_peak
from ..evaluation.cells import Cells
from ..forest import Forest
from ..nodes import Channelise, Correlate, Voltages
from ..voltages.correlate import BYTES_OF_FORMATS, correlate
from ..whole_file import write_text
from ..writing.scope import NodeScope
from .measuring import WrongAnswerError
from .record import where_and_when

FORMAT = "rimetree bench correlate 1"
_NUMBERS = 1 << 22  # samples of all inputs together, so that a call's own time does not show
_CHECKED = 67  # samples that are correlated one pair after the other, too


def new_correlator_record(threads: int | None, seconds: float) -> dict:
    """A record without cases: where and when, and what a core of this machine can do, by its own probe."""
    record = {"format": FORMAT, **where_and_when(threads, seconds), "cases": []}
    peak = multiply_add_peak()
    record["machine"]["peak_operations_per_second_of_a_core"] = {
        "bytes": 2 * peak["bytes_per_second"],
        "single": 2 * peak["single_per_second"],
    }
    return record


def write_correlator_record(path: str | os.PathLike, record: dict) -> None:
    """Write the file as a whole; raises `OSError`."""
    write_text(path, json.dumps(record, indent=1) + "\n")


def measure_correlator(
    format: str,
    n_input: int,
    *,
    strategy: str = "automatic",
    threads: int | None = None,
    device: str = "none",
    seconds: float = 2.0,
) -> dict:
    """Time one channel of four million random samples for about so many seconds; the fastest evaluation counts.

    Raises `WrongAnswerError` where products are not those of one pair after the other, to the last bit.
    """
    rng = np.random.default_rng(n_input)
    width = BYTES_OF_FORMATS.get(format, 1)
    samples = max(_CHECKED, _NUMBERS // n_input)
    codes = rng.integers(0, 256, (samples, 1, n_input, width), np.uint8).view(f"<u{width}")[..., 0]
    part, options = codes[:_CHECKED], {"format": format, "integration": _CHECKED, "threads": threads}
    found = correlate(part, strategy=strategy, device=device, **options)
    if not (found == correlate(part, strategy="pairs", **options)).all():
        raise WrongAnswerError(f"{format}, {n_input} inputs: wrong products, so there is no speed")
    with tempfile.NamedTemporaryFile() as file:
        codes.tofile(file)
        file.flush()
        ns = NodeScope()
        ns.voltages << Voltages(source=file.name, format=format, n_input=n_input)
        ns.V << Correlate(ns.voltages, integration=samples, strategy=strategy)
        forest = Forest(ns, threads=threads, device=device)
        cells = Cells([samples / 2], [1.0], time_width_s=float(samples), freq_width_hz=1.0)
        wall_s, processor_s = _fastest(forest, ns.V, cells, seconds)
    operations = 4.0 * n_input * (n_input + 1) * samples
    return {
        "format": format,
        "inputs": n_input,
        "samples": samples,
        "strategy": strategy,
        "device": device,
        "operations_per_second": operations / wall_s,
        "operations_per_processor_second": operations / processor_s,
        "channel_samples_per_second": samples / wall_s,
        "bytes_per_second": codes.nbytes / wall_s,
    }


def measure_chain(
    *,
    n_input: int = 64,
    n_channel: int = 128,
    taps: int = 1,
    threads: int | None = None,
    device: str = "none",
    seconds: float = 4.0,
) -> dict:
    """Time channeliser and products together: the MWA-32T's 1.28 MHz of complex samples of 5 bits, read from files of
    groups as its four receivers write them.

    Operations are those of all products (8 each) and of the transforms (5 log2 n for each of n samples). Raises
    `WrongAnswerError` where products differ from those of NumPy's transform by more than rounding makes.
    """
    rng = np.random.default_rng(n_input)
    n_sample = max(1, 2**23 // (n_input * n_channel)) * n_channel
    levels = np.clip(np.rint(5.3 * rng.standard_normal((2, n_sample, n_input), np.float32)), -16, 15).astype(np.int32)
    codes = (levels[0] & 31 | (levels[1] & 31) << 5).astype("<u2")
    with tempfile.TemporaryDirectory() as folder:
        counters = np.arange(n_sample).astype("<u2")[:, None]
        files = [os.path.join(folder, str(receiver)) for receiver in range(4)]
        for file, own in zip(files, np.split(codes, 4, axis=1), strict=True):
            np.concatenate([counters, own], axis=1).tofile(file)
        ns = NodeScope()
        rate_hz = 1.28e6
        voltages = {"source": files, "format": "mwa32t", "order": "groups", "n_input": n_input}
        ns.voltages << Voltages(**voltages, sample_interval_s=1 / rate_hz)
        ns.channels << Channelise(ns.voltages, n_channel=n_channel, taps=taps, window=_window(taps), gain=4.0)
        ns.V << Correlate(ns.channels, integration=n_sample // n_channel)
        data_s = n_sample / rate_hz
        cells = Cells([data_s / 2], np.arange(1.0, n_channel + 1), time_width_s=data_s, freq_width_hz=1.0)
        forest = Forest(ns, threads=threads, device=device)
        if taps == 1:
            _check_chain(forest.evaluate(ns.V, cells)[:, 0], levels, n_channel)
        wall_s, processor_s = _fastest(forest, ns.V, cells, seconds)
    return {
        "inputs": n_input,
        "channels": n_channel,
        "taps": taps,
        "device": device,
        "data_seconds": data_s,
        "operations_per_second_of_data": {
            "products": rate_hz * 4.0 * n_input * (n_input + 1),
            "transforms": rate_hz * n_input * 5.0 * np.log2(n_channel),
        },
        "times_real_time": data_s / wall_s,
        "times_real_time_per_core": data_s / processor_s,
        "bytes_per_second": codes.nbytes / wall_s,
    }


def _window(taps: int) -> str:
    return "hann" if taps > 1 else "rectangular"


def _check_chain(found: np.ndarray, levels: np.ndarray, n_channel: int) -> None:
    """The first three inputs against NumPy: of a power of 56, rounding to 8 bits moves a mean of n by 1.5 / sqrt(n)."""
    x = levels[0, :, :3] + 1j * levels[1, :, :3]
    spectra = np.fft.fftshift(np.fft.fft(x.reshape(-1, n_channel, 3), axis=1), axes=1) / np.sqrt(n_channel)
    for product, (i, j) in enumerate([(0, 0), (1, 0), (1, 1), (2, 0)]):
        wanted = (spectra[..., i] * spectra[..., j].conj()).mean(axis=0)
        if np.abs(found[product] - wanted).max() > 8 / np.sqrt(len(spectra)):
            raise WrongAnswerError(f"products of inputs {i} and {j} are wrong, so there is no speed")


def _fastest(forest: Forest, node, cells: Cells, seconds: float) -> tuple[float, float]:
    """Wall and processor time of the evaluation that took least of the latter."""
    best, started = (float("inf"), float("inf")), time.perf_counter()
    while time.perf_counter() - started < seconds:
        forest.forget()
        forest.reset_timing()
        forest.evaluate(node, cells)
        timing = forest.timing()
        best = min(best, (timing.total_seconds, timing.processor_seconds), key=lambda pair: pair[1])
    return best
