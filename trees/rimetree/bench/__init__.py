"""Benchmarks that check their own results: what is wrong has no speed.

from rimetree import bench

peak = bench.multiply_add_peak()
case = bench.select(bench.grid(), ["wsrt/I/double/1000"])[0]
print(bench.measure(case, peak=peak).rate)

`rimetree bench psv` is the same on the command line.
"""

from .._core import machine, multiply_add_peak, tune_device
from .cases import PsvCase, grid, quick, select
from .correlator import measure_chain, measure_correlator, new_correlator_record, write_correlator_record
from .figure import write_figure
from .measuring import Clocks, Measurement, WrongAnswerError, measure
from .record import Record, mean_ratio, new_record, read_record, speed_ups, write_trees


def device_names() -> list[str]:
    """The GPUs of this machine."""
    return list(machine()["devices"])


__all__ = [
    "Clocks",
    "Measurement",
    "PsvCase",
    "Record",
    "WrongAnswerError",
    "device_names",
    "grid",
    "mean_ratio",
    "measure",
    "measure_chain",
    "measure_correlator",
    "multiply_add_peak",
    "new_correlator_record",
    "new_record",
    "quick",
    "read_record",
    "select",
    "speed_ups",
    "tune_device",
    "write_correlator_record",
    "write_figure",
    "write_trees",
]
