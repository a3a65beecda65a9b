"""The Correlate node: useful operations per second, with products that are checked bit by bit."""

from __future__ import annotations

import json
import os
import tempfile
import time

import numpy as np

from ..cells import Cells
from ..correlate import BYTES_OF_FORMATS, correlate
from ..forest import Forest
from ..nodes import Correlate, Voltages
from ..scope import NodeScope
from ..whole_file import write_text
from .measuring import WrongAnswerError
from .record import where_and_when

FORMAT = "rimetree bench correlate 1"
_SAMPLES = 4096
_CHECKED = 67  # samples that are correlated one pair after the other, too


def new_correlator_record(threads: int | None, seconds: float) -> dict:
    """A record without cases: where and when."""
    return {"format": FORMAT, **where_and_when(threads, seconds), "cases": []}


def write_correlator_record(path: str | os.PathLike, record: dict) -> None:
    """Write the file as a whole; raises `OSError`."""
    write_text(path, json.dumps(record, indent=1) + "\n")


def measure_correlator(
    format: str,
    n_input: int,
    *,
    strategy: str = "automatic",
    threads: int | None = None,
    seconds: float = 2.0,
) -> dict:
    """Time one channel of 4096 random samples for about so many seconds; the fastest evaluation counts.

    Raises `WrongAnswerError` where products are not those of one pair after the other, to the last bit.
    """
    rng = np.random.default_rng(n_input)
    width = BYTES_OF_FORMATS.get(format, 1)
    codes = rng.integers(0, 256, (_SAMPLES, 1, n_input, width), np.uint8).view(f"<u{width}")[..., 0]
    part, options = codes[:_CHECKED], {"format": format, "integration": _CHECKED, "threads": threads}
    if not (correlate(part, strategy=strategy, **options) == correlate(part, strategy="pairs", **options)).all():
        raise WrongAnswerError(f"{format}, {n_input} inputs: wrong products, so there is no speed")
    with tempfile.NamedTemporaryFile() as file:
        codes.tofile(file)
        file.flush()
        wall_s, processor_s = _best(file.name, format, n_input, strategy, threads, seconds)
    operations = 4.0 * n_input * (n_input + 1) * _SAMPLES
    return {
        "format": format,
        "inputs": n_input,
        "samples": _SAMPLES,
        "strategy": strategy,
        "operations_per_second": operations / wall_s,
        "operations_per_processor_second": operations / processor_s,
        "channel_samples_per_second": _SAMPLES / wall_s,
    }


def _best(path: str, format: str, n_input: int, strategy: str, threads: int | None, seconds: float):
    """Wall and processor time of the evaluation that took least of the latter."""
    ns = NodeScope()
    ns.voltages << Voltages(source=path, format=format, n_input=n_input)
    ns.V << Correlate(ns.voltages, integration=_SAMPLES, strategy=strategy)
    forest = Forest(ns, threads=threads, device="none")
    cells = Cells([_SAMPLES / 2], [1.0], time_width_s=float(_SAMPLES), freq_width_hz=1.0)
    best, started = (float("inf"), float("inf")), time.perf_counter()
    while time.perf_counter() - started < seconds:
        forest.forget()
        forest.reset_timing()
        forest.evaluate(ns.V, cells)
        timing = forest.timing()
        best = min(best, (timing.total_seconds, timing.processor_seconds), key=lambda pair: pair[1])
    return best
