"""Results of a benchmark as JSON: everything that is needed to judge and to repeat them."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import numpy as np

from .. import _core
from .._core import Error
from ..machine import memory_bytes, processor_name
from ..whole_file import write_text
from .measuring import Measurement

FORMAT = "rimetree bench psv 1"


@dataclass
class Record:
    """One run of the benchmark. `about`: date, machine, versions. `cases`: one dict for each, in the order in which
    they ran; those that gave wrong answers have an "error" and no figures."""

    about: dict
    cases: list[dict] = field(default_factory=list)

    def add(self, measured: Measurement) -> dict:
        self.cases.append(_figures(measured))
        return self.cases[-1]

    def add_error(self, name: str, message: str) -> None:
        self.cases.append({"name": name, "error": message})

    @property
    def errors(self) -> list[str]:
        return [case["error"] for case in self.cases if "error" in case]

    def write(self, path: str | os.PathLike) -> None:
        """Write the file as a whole; raises `OSError`."""
        self.about["load_average_at_the_end"] = _load()
        write_text(path, json.dumps({"format": FORMAT, **self.about, "cases": self.cases}, indent=1) + "\n")


def new_record(peak: dict, threads: int | None, seconds: float) -> Record:
    """A record without cases: where and when. `peak`: of `_core.multiply_add_peak`; `threads`: None is the default."""
    about = where_and_when(threads, seconds)
    about["machine"] |= {
        "instruction_set": peak["instruction_set"],
        "peak_multiply_adds_per_second_of_a_core": {
            "double": peak["double_per_second"],
            "single": peak["single_per_second"],
        },
    }
    return Record(about)


def where_and_when(threads: int | None, seconds: float) -> dict:
    """What every record says of machine, versions, date and load. `threads`: None is the default."""
    from .. import __version__, plugins

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": processor_name(),
            "processors": os.cpu_count(),
            "threads": threads or _core.machine()["threads"],
            "memory_bytes": memory_bytes(),
            "system": platform.platform(),
        },
        "versions": {
            "rimetree": __version__,
            "nodes": plugins.own_plugin.about,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "seconds_per_case": seconds,
        "load_average_at_the_start": _load(),
    }


def read_record(path: str | os.PathLike) -> Record:
    """Read what `Record.write` wrote; raises `Error` where it is something else, `OSError` where it cannot be read."""
    with open(path, encoding="utf-8") as stream:
        try:
            content = json.load(stream)
            if content["format"] != FORMAT:
                raise Error(f"{os.fspath(path)}: format {content['format']!r}, expected {FORMAT!r}")
            cases = content.pop("cases")
            if not all(isinstance(case["name"], str) for case in cases):
                raise TypeError("a case without a name")
        except (ValueError, KeyError, TypeError) as problem:
            raise Error(f"{os.fspath(path)} is not a file that rimetree bench wrote: {problem!r}") from problem
    return Record(content, cases)


def speed_ups(new: Iterable[dict], old: Record) -> dict[str, float]:
    """By name of the cases that both have: new rate over the old one, per second of processor time."""
    before = {case["name"]: case for case in old.cases if "error" not in case}
    rate = "source_visibilities_per_processor_second"
    return {
        case["name"]: case[rate] / before[case["name"]][rate]
        for case in new
        if "error" not in case and case["name"] in before
    }


def mean_ratio(ratios: Iterable[float]) -> float:
    """Geometric mean; raises `ValueError` if there are none."""
    logarithms = [math.log(ratio) for ratio in ratios]
    if not logarithms:
        raise ValueError("no ratios")
    return math.exp(sum(logarithms) / len(logarithms))


def write_trees(path: str | os.PathLike, cases: list[dict], seconds: float) -> None:
    """Write the figures of `rimetree bench trees` (`TreeFigures.as_dict`) as JSON; raises `OSError`."""
    from .._core import multiply_add_peak

    about = new_record(multiply_add_peak(), 1, seconds).about
    write_text(path, json.dumps({"format": "rimetree bench trees 1", **about, "cases": cases}, indent=1) + "\n")


def _load() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def _figures(measured: Measurement) -> dict:
    clocks = measured.clocks
    return {
        "name": measured.case.name,
        **asdict(measured.case),
        "baselines": measured.n_baseline,
        "time_slots": measured.n_slot,
        "time_slots_of_the_observation": measured.case.n_time,
        "time_slots_in_a_group": measured.group_slots,
        "threads": measured.threads,
        "method": measured.method,
        "source_visibilities": measured.source_visibilities,
        "source_visibilities_per_second": measured.rate,
        "source_visibilities_per_processor_second": measured.rate_per_core,
        "of_multiply_add_peak": measured.of_peak,
        "useful_multiply_adds_per_source_visibility": measured.case.multiply_adds,
        "seconds": {
            "total": clocks.total_s,
            "total_without_avoidable_copies": clocks.needed_s,
            "computation_only": clocks.computing_s,
            "framework": clocks.framework_s,
            "avoidable_copies": clocks.unchanged_s,
            "needed_copies": clocks.changed_s,
            "processor": clocks.processor_s,
        },
        "total_seconds_of_all_passes": measured.totals_s,
        "estimate_over_measured": measured.of_estimate,
        "result_bytes": measured.result_bytes,
        "verified": {
            "visibilities": measured.verification.count,
            "largest_error": measured.verification.largest_error,
            "allowed_error": measured.verification.tolerance,
        },
    }
