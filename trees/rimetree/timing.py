"""Where the time of an evaluation went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimingReport:
    """Accumulated wall times in seconds.

    `classes`: per node class a dict of `evaluations` (nodes), `reused` (results still valid), `batches` (calls) and
    `seconds` inside the class; of these, as far as the class tells, `unchanged_seconds` went into preparing or copying
    what had not changed since the last call, `changed_seconds` what had; the rest is arithmetic. `overhead_seconds`:
    what the framework itself took of `total_seconds`. `processor_seconds`: processor time of the process meanwhile, all
    threads together.
    """

    classes: dict[str, dict]
    total_seconds: float
    processor_seconds: float
    overhead_seconds: float
    peak_result_bytes: int

    @property
    def overhead_fraction(self) -> float:
        """Framework overhead as a part of node arithmetic and overhead together."""
        return self.overhead_seconds / self.total_seconds if self.total_seconds > 0 else 0.0

    def __str__(self) -> str:
        lines = [f"{'node class':<18}{'nodes':>10}{'reused':>10}{'calls':>8}{'seconds':>12}{'us/node':>10}"]
        for name, one in sorted(self.classes.items(), key=lambda item: -item[1]["seconds"]):
            each = 1e6 * one["seconds"] / one["evaluations"] if one["evaluations"] else 0.0
            lines.append(
                f"{name:<18}{one['evaluations']:>10}{one['reused']:>10}{one['batches']:>8}"
                f"{one['seconds']:>12.6f}{each:>10.2f}"
            )
        lines.append(
            f"evaluation {self.total_seconds:.6f} s, of which framework overhead {self.overhead_seconds:.6f} s "
            f"({100 * self.overhead_fraction:.2f} %); results at most {self.peak_result_bytes / 2**20:.1f} MiB"
        )
        return "\n".join(lines)
