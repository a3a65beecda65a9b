"""What `rimetree calibrate` says: of what it will do, of each chunk, and of all at the end."""

from __future__ import annotations

import math
import sys
import threading
import time

import click

from ...some_names import some_names
from ...utc import utc_text
from ..options.quantities import frequency_text
from ..output import log, table

_MOST_FLAGGED = 20
_SURE, _LITTLE = 6.0, 0.01  # standard deviations, and part of what is left, to speak of
_MUCH = 1.5  # times as large as noise: neighbours differ by more than noise, if by anything


def log_windows(plans, terms) -> None:
    """Says so where windows of a field are solved one by one and together would tell more."""
    alike: dict[tuple, list] = {}  # only windows of the same correlations can be solved together
    for group in (plan.group for plan in plans):
        alike.setdefault((group.field_id, group.correlations), []).append(group)
    delays = [term for term in terms if term.kind.name in ("delay", "rate", "tec")]
    term = (delays or terms)[0]
    windows: dict[int, list[str]] = {}
    for (field, _), groups in alike.items():
        together = groups if delays else _overlapping(groups)
        if len(together) > 1 and not term.all_windows:
            windows.setdefault(field, []).append(", ".join(str(group.data_desc_ids[0]) for group in together))
    if not windows:
        return
    how = f'; with the option "all windows" ("{term}, all windows") there is one for all of them'
    names = "; ".join(f"field {field}: {' and '.join(own)}" for field, own in list(windows.items())[:3])
    if delays:
        log(f"note: each spectral window ({names}) has a solution of its own of {term.name}{how}")
    else:
        log(
            f"note: spectral windows ({names}) overlap in frequency, as those of baseline-dependent averaging do, and "
            f"each has a solution of its own of {term.name}{how}"
        )


def _overlapping(groups) -> list:
    """Those that have frequencies within the band of another."""

    def overlap(one, other) -> bool:
        return max(one.frequency_hz[0], other.frequency_hz[0]) <= min(one.frequency_hz[1], other.frequency_hz[1])

    return [one for one in groups if any(other is not one and overlap(one, other) for other in groups)]


def log_columns(model, groups) -> None:
    for group in groups:
        means = [f"{name} {flux:.6g}" for name, flux in model.fluxes_jy("patch", group).items()]
        where = f"field {group.field_id}, window {joined(group.data_desc_ids)}"
        log(f"{where}: mean magnitude of the parallel hands of the model: {', '.join(means)}")


class Progress:
    """Chi-square of each iteration, on a terminal as it goes, and a line for each chunk.

    As a context it gives a sign of life besides, as one iteration of many unknowns may take minutes: how long the chunk
    has taken, on a terminal each second, else in a line each `every_s` seconds.
    """

    def __init__(self, successive: bool, every_s: float = 60.0):
        self._successive = successive
        self._others_held = False  # it has been said
        self._live = sys.stderr.isatty()
        self._every_s = 1.0 if self._live else every_s
        self._state, self._began, self._said = "", time.monotonic(), time.monotonic()
        self._ended, self._thread = threading.Event(), threading.Thread(target=self._watch, daemon=True)
        self.done = 0

    def __enter__(self) -> Progress:
        self._began = self._said = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every_s / 4):
            if time.monotonic() - self._said >= self._every_s:
                self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        state = f"{self._state or 'before the first iteration'}, {self._said - self._began:.0f} s"
        if self._live:
            click.echo(f"\r  {state}   ", err=True, nl=False)
        else:
            log(f"  chunk {self.done + 1}: {state}")

    def iteration(self, iteration: int, chi_square: float) -> None:
        self._state = f"iteration {iteration}: chi-square {chi_square:.6g}"
        if self._live:
            self._say()

    def chunk(self, report) -> None:
        if self._live:
            click.echo("\r" + " " * 70 + "\r", err=True, nl=False)
        self._state, self._began, self._said = "", time.monotonic(), time.monotonic()
        self.done = report.index + 1
        if self._successive and report.method and not report.in_turns:
            log("warning: --successive has no effect: the model is no sum of terms that have unknowns of their own")
            self._successive = False
        if report.others_held and not self._others_held:
            log(
                "equations of all unknowns together would be too large: terms of different intervals, or directions, "
                "are solved in turns, and errors are those with the others held"
            )
            self._others_held = True
        log(_chunk_text(report))


def _chunk_text(report) -> str:
    head = (
        f"[{report.index + 1}/{report.count}] {', '.join(report.terms)}: field {report.field_id}, "
        f"window {joined(report.data_desc_ids)}, {utc_text(report.time_s[0])[:19]}: "
    )
    if report.resumed:
        return head + "solved before"
    if not report.chi_square:
        return head + f"nothing to solve for, flagged: {counts_text(report.flagged)}"
    values = [f"{value:.5g}" for value in report.chi_square]
    if len(values) > 6:
        values = [*values[:3], "...", *values[-2:]]
    flagged = f", flagged: {counts_text(report.flagged)}" if report.flagged else ""
    flagged += f", {report.left_out} visibilities left out" if report.left_out else ""
    others = [f"{count} {status}" for status, count in report.statuses.items() if status != "converged"]
    steps = f"{report.iterations} {'turns' if report.in_turns else 'iterations'}"
    return (
        head
        + f"chi-square {' > '.join(values)}, {steps}, {report.converged} of {report.solves} solves converged"
        + f"{' (' + ', '.join(others) + ')' if others else ''}, {_left_text(report)}{flagged}, "
        + f"{report.seconds:.2f} s"
    )


def _left_text(report) -> str:
    if not math.isnan(report.left):
        return f"residual/data {100 * report.left:.4g} %"
    return f"noise of data of weight 1: {report.noise_ratio:.4g}"


def _noise_text(ratio: float, deviations: float) -> str:
    """What residuals say of the noise; a ratio to it only where the weights say what it is. `deviations`: as of
    `CalibrationReport.over_weights`."""
    if math.isnan(ratio):
        return "noise: unknown"
    if 0.5 <= ratio <= 2:
        more = " (more than noise, if weights are 1/sigma^2)" if deviations > _SURE and ratio > 1 + _LITTLE else ""
        return f"residual over noise expected from the weights: {ratio:.4g}{more}"
    why = "weights are not 1/sigma^2" + (", or the model does not explain the data" if ratio > 2 else "")
    return (
        f"noise of data of weight 1, from the residuals: {ratio:.4g} ({why}: --scale-errors gives errors that follow "
        "the residuals)"
    )


def joined(data_desc_ids) -> str:
    return "+".join(map(str, data_desc_ids))


def counts_text(found: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in found.items())


def nothing_text(report, n_term: int, out: str, options) -> str:
    """Why nothing came out that can be used, and what may help."""
    what = "nothing usable came out" if report.converged else "no solve converged"
    which = (
        ""
        if len(report.useless) == n_term
        else f" of {', '.join(report.useless)}, without which the others are of no use,"
    )
    text = f"{what}: all solutions{which} in {out} are flagged"
    if report.flagged:
        text += f" ({counts_text(report.flagged)})"
    seen = [chunk for chunk in report.chunks if chunk.equations > 0]
    looked = not (options.flag_data or options.noise_per)  # else powers are not known
    if looked and seen and not any(chunk.data_power for chunk in seen):
        text += f"; {options.data.column} holds nothing but zeros"
    if not seen and options.data.limited:
        text += "; no good data are on baselines as long as --uvmin and --uvmax say"
    if "not converged" in report.flagged:
        text += f"; more than {options.solver.iterations} iterations (--iterations) may help"
    return text


def plan_text(plans, terms) -> str:
    lines = []
    for plan in plans:
        lines.append(f"{plan.group}: {len(plan.chunks)} chunks")
        for term in terms:
            frequencies = plan.frequencies[term.name]
            count = sum(len(chunk.times[term.name].centre) for chunk in plan.chunks)
            low, high = frequencies.edges[0], frequencies.edges[-1]
            lines.append(
                f"  {term}: {count} x {len(frequencies.centre)} solutions (time x frequency, "
                f"{frequency_text(low)} to {frequency_text(high)}) for each of {len(plan.group.antennas)} antennas"
            )
    return "\n".join(lines)


def averaging_text(plan) -> str:
    """How the baselines of a plan are averaged by their loss."""
    found = plan.averaging
    lines = [_averaging_line(plan.averaging_json())]
    rows = [[kind.slots, kind.channels, len(kind.baselines), f"{100 * kind.loss:.2g}"] for kind in found.kinds]
    lines.append(table(["slots", "channels", "baselines", "loss/%"], rows))
    for axis, name in found.kept.items():
        lines.append(
            f"{axis if axis == 'channels' else 'time slots'} are not averaged, for {name} changes with "
            f"{'frequency' if axis == 'channels' else 'time'} within them"
        )
    return "\n".join(lines)


def _averaging_line(found: dict) -> str:
    left = 100 * found["cells"] / max(1, found["cells_before"])
    return (
        f"field {found['field']}, window {joined(found['windows'])}, {', '.join(found['terms'])}: {left:.3g} % of the "
        f"cells are left ({found['cells']} of {found['cells_before']}); a source "
        f"{found['radius_deg']:.4g} deg from the phase centre loses at most {100 * found['largest_loss']:.2g} % "
        f"({100 * found['mean_loss']:.2g} % in the mean of the baselines)"
    )


def report_text(report, terms) -> str:
    ending = ", ".join(f"{count} {status}" for status, count in sorted(report.statuses.items()))
    lines = [
        f"{report.converged} of {report.solves} solves converged ({ending})",
        *_unexplained_lines(report.over_noise, report.flagged_of),
        *no_noise_lines(report.no_noise),
        f"values flagged: {counts_text(report.flagged) or 'none'}",
        *_flagged_lines(report.flagged_of),
        *_besides_lines(report.standing_out, "they stand out"),
        *_besides_lines(report.faint, "they have too little signal"),
        *_silent_lines(report.without_signal),
        *_scale_lines(report),
        *(
            [
                f"normalised: {', '.join(report.normalised)} (data tell only products of the terms: mean amplitude 1, "
                "mean phase 0; the others carry the rest)"
            ]
            if report.normalised
            else []
        ),
        *([f"visibilities left out, for they stand out: {report.left_out}"] if report.left_out else []),
        *(f"averaged by baseline: {_averaging_line(one)}" for one in report.averaging),
        *([] if math.isnan(report.left) else [f"residual over data: {100 * report.left:.4g} % of the power"]),
        _noise_text(report.noise_ratio, report.over_weights),
    ]
    flagged = {term.name: report.flagged_fraction(term.name) for term in terms}
    rows = [
        [name, f"{100 * (1 - good):.1f}", *(f"{100 * flagged[term.name].get(name, 1.0):.1f}" for term in terms)]
        for name, good in report.good_fraction.items()
    ]
    headers = ["antenna", "data flagged/%", *(f"{term.name} flagged/%" for term in terms)]
    return "\n".join([*lines, table(headers, rows)])


def _besides_lines(counts: dict[str, int], why: str) -> list[str]:
    many = [f"{count} of {name}" for name, count in counts.items() if count]
    return [f"solutions flagged besides, for {why}: {', '.join(many)}"] if many else []


def _silent_lines(without_signal: dict[tuple[int, ...], list[str]]) -> list[str]:
    """Antennas that saw nothing of the model: their solutions are not flagged, as noise may hide a signal."""
    windows: dict[str, list[int]] = {}
    for ids, names in without_signal.items():
        for name in names:
            windows.setdefault(name, []).extend(ids)
    every = sum(len(ids) for ids in without_signal)
    texts = [name if len(ids) == every else f"{name} (window {joined(sorted(ids))})" for name, ids in windows.items()]
    if not texts:
        return []
    return [
        f"without signal: {some_names(texts)}: gains are hardly larger than noise gives, and data that are corrected "
        "by them are noise; leave these antennas out (--antenna), or solve over longer intervals"
    ]


def _scale_lines(report) -> list[str]:
    """Of terms in turn only some may have had no amplitude beside them."""
    if report.scale is None:
        return []
    names = dict.fromkeys(name for chunk in report.chunks if chunk.scale is not None for name in chunk.terms)
    return [f"data over model: {report.scale:.4g} (found with {', '.join(names)}: no amplitude there to hold it)"]


def _unexplained_lines(over_noise: float, flagged_of: dict[str, dict[str, int]]) -> list[str]:
    """Where much more than noise is left: a fit may converge and not explain the data, and directions that are not
    found beside what it leaves may be in the sky all the same."""
    if not over_noise > _MUCH:
        return []
    missed = [name for name, reasons in flagged_of.items() if {"without signal", "not detected"} & set(reasons)]
    return [
        f"not explained: what is left is {over_noise:.3g} times as large as the noise by which neighbouring channels "
        "and times differ (sources or terms are missing, intervals are too long, or data are bad)",
        *(["  a better sky may have signal in directions that are not found with this one"] if missed else []),
    ]


def no_noise_lines(found) -> list[str]:
    """What is no noise, however little of the data it is: a fit that has converged is not always the best one."""
    if not (found.deviations > _SURE and found.part > _LITTLE):
        return []
    return [
        f"at least {min(100 * found.part, 99):.2g} % of what is left is no noise, as it is alike in neighbouring "
        "channels or times (sources or terms are missing, intervals are too long, or a fit is not the best one)"
    ]


def _flagged_lines(flagged_of: dict[str, dict[str, int]]) -> list[str]:
    """Of each term and direction, where there are several and not too many."""
    if not 1 < len(flagged_of) <= _MOST_FLAGGED and not any("," in name for name in flagged_of):
        return []
    worst = sorted(flagged_of.items(), key=lambda item: -sum(item[1].values()))
    rest = [f"  ... and {len(worst) - _MOST_FLAGGED} more"] if len(worst) > _MOST_FLAGGED else []
    return [f"  {name}: {counts_text(found)}" for name, found in worst[:_MOST_FLAGGED]] + rest


def flux_text_of(ratios, summary: dict) -> str:
    """How bright fields are, from the transfer of the flux scale."""
    rows = [
        [
            one.field_id,
            summary["fields"][one.field_id]["name"],
            joined(one.data_desc_ids),
            f"{one.ratio:.5g}",
            f"{one.sigma:.2g}",
        ]
        for one in ratios
    ]
    return "flux scale:\n" + table(["field", "name", "window", "times its model", "+-"], rows, left=(0, 1, 2))
