"""Where the time of an evaluation went."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..machine import size_text


@dataclass(frozen=True)
class TimingReport:
    """Accumulated wall times in seconds.

    `classes`: per node class a dict of `evaluations` (nodes; of these `on_devices` by launches of one program for
    many nodes, on a device), `reused` (results still valid), `batches` (calls) and `seconds` inside the class; of
    these, as far as the class tells, `unchanged_seconds` went into preparing or copying what had not changed since
    the last call, `changed_seconds` what had; the rest is arithmetic. `overhead_seconds`: what the framework itself
    took of `total_seconds`. `processor_seconds`: processor time of the process meanwhile, all threads together.
    `devices`: as `Forest.device_statistics`, since the forest was built.
    """

    classes: dict[str, dict]
    total_seconds: float
    processor_seconds: float
    overhead_seconds: float
    peak_result_bytes: int
    devices: list[dict] = field(default_factory=list)

    @property
    def overhead_fraction(self) -> float:
        """Framework overhead as a part of node arithmetic and overhead together."""
        return self.overhead_seconds / self.total_seconds if self.total_seconds > 0 else 0.0

    def __str__(self) -> str:
        if not self.classes:  # a run without a tree
            return f"arithmetic {self.total_seconds:.6f} s"
        lines = [f"{'node class':<18}{'nodes':>10}{'reused':>10}{'calls':>8}{'seconds':>12}{'us/node':>10}"]
        for name, one in sorted(self.classes.items(), key=lambda item: -item[1]["seconds"]):
            each = 1e6 * one["seconds"] / one["evaluations"] if one["evaluations"] else 0.0
            lines.append(
                f"{name:<18}{one['evaluations']:>10}{one['reused']:>10}{one['batches']:>8}"
                f"{one['seconds']:>12.6f}{each:>10.2f}"
            )
        lines.append(
            f"evaluation {self.total_seconds:.6f} s, of which framework overhead {self.overhead_seconds:.6f} s "
            f"({100 * self.overhead_fraction:.2f} %); results at most {size_text(self.peak_result_bytes)}"
        )
        lines += [_device_line(device) for device in self.devices]
        return "\n".join(lines)


def _device_line(device: dict) -> str:
    def mib(key: str) -> str:
        return size_text(device[key])

    return (
        f"{device['name']}: {mib('bytes_up')} up, {mib('bytes_down')} down in {device['copy_seconds']:.6f} s; at most "
        f"{mib('peak_bytes')} of {mib('budget_bytes')}; {device['uploads']} arrays sent, {device['hits']} times found "
        f"there, {device['evictions']} evicted"
    )
