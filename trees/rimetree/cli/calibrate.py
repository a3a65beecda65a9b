"""`rimetree calibrate`: solve for Jones terms."""

from __future__ import annotations

import itertools
import math
import sys

import click

from .apply import run_apply, solutions_options
from .errors import Failed, Interrupted
from .output import log, table
from .quantities import Quantity, frequency_text, utc_text
from .selection import (
    centre_option,
    check_output,
    evaluation_options,
    model_column_option,
    read_model,
    require_ms,
    rows_options,
    sky_options,
    wait_option,
    warn_of_directions,
    warn_of_sky,
)

_LENGTH = Quantity("length", {"m": 1.0, "km": 1e3, "lambda": -1.0, "klambda": -1e3}, 1.0, positive=False)


def _solver_options(function):
    """--robust, --iterations, --tolerance-of-solution, --scale-errors, --successive, --reference."""
    for option in (
        click.option("--reference", metavar="ANTENNA", help="That phases refer to; default: one with many data."),
        click.option(
            "--successive", is_flag=True, help="One direction after the other, in turns, instead of all together."
        ),
        click.option(
            "--scale-errors", is_flag=True, help="Scale errors by what the residuals say of the noise, not the weights."
        ),
        click.option("--iterations", type=click.IntRange(min=1), default=100, show_default=True, help="At most."),
        click.option(
            "--robust",
            type=click.FloatRange(min=0, min_open=True),
            metavar="DOF",
            help="Student's t with so many degrees of freedom (2 to 5 are usual): outliers do no harm.",
        ),
        click.option("--uvmax", type=_LENGTH, help="Solve on baselines up to this: m, km, lambda, klambda."),
        click.option("--uvmin", type=_LENGTH, help="Solve on baselines from this on: m, km, lambda, klambda."),
    ):
        function = option(function)
    return function


@click.command("calibrate")
@click.argument("ms", type=click.Path())
@click.option("--term", "terms", multiple=True, required=True, metavar="TEXT", help='E.g. "G: diag, 2min, 8chan".')
@click.option("--out", required=True, metavar="FILE", help="H5parm file for the solutions.")
@click.option("--data-column", default="DATA", show_default=True, help="To solve on.")
@sky_options(required=False)
@model_column_option
@_solver_options
@click.option("--apply", "apply_", is_flag=True, help="Then write corrected data.")
@click.option("--subtract", is_flag=True, help="Then subtract the model with the solutions.")
@solutions_options
@click.option("--resume", is_flag=True, help="Go on after the last chunk of a run that was interrupted.")
@click.option("--overwrite", is_flag=True, help="Replace FILE.")
@click.option("--no-smearing", is_flag=True, help="No smearing over the integration time and the channel width.")
@centre_option
@evaluation_options
@rows_options
@wait_option
@click.option("--dry-run", is_flag=True, help="Check everything, say what would be solved, write nothing.")
def command(ms, terms, out, sky, sky_format, skip_unsupported, model_columns, field, ddid, dry_run, **given):
    """Solve for Jones terms of Measurement Set MS, and write them to an H5parm file.

    The model is a sky model (--sky), which is predicted, or columns of the set (--model-column).

    \b
    A term is NAME: KIND, then options: how much one solution covers, and whether each patch has its own:
      scalar diag full phase amplitude delay tec rotation leakage
      2min 10s 3slots   8chan 1.5MHz   "per patch"   "per source"   scalar   "all windows"
    Terms stand in the measurement equation from the left to the right, those of patches inside the others. A term of
    "all windows" has one solution for all spectral windows of a field, which are then solved together.

    \b
      rimetree calibrate obs.ms --sky field.skymodel --term "G: diag, 2min, 8chan" --out sol.h5 --apply
      rimetree calibrate obs.ms --sky field.skymodel --term "G: phase, 10s" --term "dE: scalar, 10min, per patch" \\
               --out sol.h5 --subtract
      rimetree calibrate obs.ms --model-column MODEL_DATA --term "G: full, 10s" --out sol.h5

    With --apply CORRECTED_DATA = J_p^-1 DATA J_q^-H for the terms of the whole sky; with --subtract the model with all
    terms is subtracted first. A run that was killed goes on with --resume.
    """
    import rimetree as rt
    from rimetree import calibration
    from rimetree.sky_trees import flux_text

    require_ms(ms)
    if given["apply_"] or given["subtract"]:  # rather now than after hours of solving
        check_output(ms, given["output_column"], given["wait"])
    parsed = calibration.parse_terms(terms)
    model = read_model(sky, sky_format, skip_unsupported, model_columns)
    summary = rt.ms.inspect(ms, scan_cells=False)
    options = _options(given, field, ddid, sky or " ".join(model_columns), summary)
    plans = calibration.plan_groups(ms, parsed, options)
    _log_windows(plans, parsed)
    if sky is None:
        _log_columns(model, plans)
    else:
        if given["phase_centre"] is None:
            warn_of_directions(summary, [plan.group.field_id for plan in plans])
        warn_of_sky(model, [plan.group for plan in plans], given["phase_centre"])
        log(f"{sky}: {len(model)} sources, {flux_text(model, [plan.group for plan in plans])}")
    if dry_run:
        click.echo(_plan_text(plans, parsed))
        for plan, need in zip(plans, calibration.check(model, parsed, options, plans), strict=True):
            windows = _joined(plan.group.data_desc_ids)
            click.echo(f"field {plan.group.field_id}, window {windows}: a chunk takes about {need}")
        click.echo("dry run: nothing was solved or written")
        return
    show = _Progress(options.solver.successive)
    try:
        report = calibration.calibrate(
            ms, model, parsed, out, options, on_chunk=show.chunk, on_iteration=show.iteration, plans=plans
        )
    except KeyboardInterrupt:
        count = sum(len(plan.chunks) for plan in plans)
        message = f"interrupted; {show.done} of {count} chunks are solved: --resume goes on after them"
        raise Interrupted(message) from None
    click.echo(_report_text(report, parsed))
    log(f"wrote {out}")
    if not report.usable:
        untouched = "; the set is left as it is" if given["apply_"] or given["subtract"] else ""
        what = "nothing usable came out" if report.converged else "no solve converged"
        reasons = f" ({_counts(report.flagged)})" if report.converged else ""
        raise Failed(f"{what}: all solutions in {out} are flagged{reasons}{untouched}")
    if given["apply_"] or given["subtract"]:
        _use(ms, model, report.solutions, field, ddid, given)


def _log_windows(plans, terms) -> None:
    """Says so where windows of a field are solved one by one and together would tell more."""
    by_field: dict[int, list] = {}
    for plan in plans:
        by_field.setdefault(plan.group.field_id, []).append(plan.group)
    several = {field: groups for field, groups in by_field.items() if len(groups) > 1}
    if not several:
        return
    delays = [term for term in terms if term.kind.name in ("delay", "tec")]
    term = (delays or terms)[0]
    how = f'; with the option "all windows" ("{term}, all windows") there is one for all of them'
    names = "; ".join(
        f"field {field}: {', '.join(str(group.data_desc_ids[0]) for group in groups)}"
        for field, groups in list(several.items())[:3]
    )
    if delays:
        log(f"note: each spectral window ({names}) has a solution of its own of {term.name}{how}")
    elif any(_overlap(groups) for groups in several.values()):
        log(
            f"note: spectral windows ({names}) overlap in frequency, as those of baseline-dependent averaging do, and "
            f"each has a solution of its own of {term.name}{how}"
        )


def _overlap(groups) -> bool:
    bands = sorted(group.frequency_hz for group in groups)
    return any(above[0] < below[1] for below, above in itertools.pairwise(bands))


def _log_columns(model, plans) -> None:
    for group in (plan.group for plan in plans):
        means = [f"{name} {flux:.6g}" for name, flux in model.fluxes_jy("patch", group).items()]
        log(f"field {group.field_id}: mean magnitude of the parallel hands of the model: {', '.join(means)}")


def _options(given: dict, field, ddid, sky: str, summary: dict):
    from rimetree import calibration

    least, most = given["uvmin"], given["uvmax"]
    limits = {}
    for name, value in (("min", least), ("max", most)):
        if value is not None:
            limits[f"{name}_m" if value >= 0 else f"{name}_wavelengths"] = abs(value)
    return calibration.CalibrationOptions(
        data=calibration.DataSelection(column=given["data_column"], **limits),
        solver=calibration.SolverOptions(
            iterations=given["iterations"],
            robust_dof=given["robust"] or 0.0,
            errors_from_residuals=given["scale_errors"],
            successive=given["successive"],
        ),
        data_desc_id=ddid,
        field_id=field,
        reference=given["reference"],
        phase_centre_rad=given["phase_centre"],
        smearing=not given["no_smearing"],
        precision=given["precision"],
        tolerance=given["tolerance"],
        device=given["device"],
        threads=given["threads"],
        memory_bytes=int(given["memory"]) if given["memory"] else None,
        resume=given["resume"],
        overwrite=given["overwrite"],
        provenance={
            "command": " ".join(["rimetree", *sys.argv[1:]]),
            "sky_model": sky,
            "uvw_family": summary["uvw"]["family"],
        },
    )


def _use(ms, model, sets, field, ddid, given) -> None:
    options = {
        "correct": given["apply_"],
        "subtract": model if given["subtract"] else None,
        "direction": given["direction"],
        "interpolation": given["interpolation"],
        "data_column": given["data_column"],
        "column": given["output_column"],
        "phase_centre_rad": given["phase_centre"],
        "smearing": not given["no_smearing"],
    }
    resources = {key: given[key] for key in ("device", "threads", "memory", "time_slots")}
    accuracy = {key: given[key] for key in ("precision", "tolerance")}
    how = {"wait": given["wait"], "save_flags": not given["no_flag_version"]}
    run_apply(ms, sets, {"field": field, "ddid": ddid}, options, resources, accuracy, **how)


class _Progress:
    """Chi-square of each iteration, on a terminal as it goes, and a line for each chunk."""

    def __init__(self, successive: bool):
        self._successive = successive
        self._live = sys.stderr.isatty()
        self.done = 0

    def iteration(self, iteration: int, chi_square: float) -> None:
        if self._live:
            click.echo(f"\r  iteration {iteration}: chi-square {chi_square:.6g}   ", err=True, nl=False)

    def chunk(self, report) -> None:
        if self._live:
            click.echo("\r" + " " * 60 + "\r", err=True, nl=False)
        self.done = report.index + 1
        if self._successive and report.method and not report.in_turns:
            log("warning: --successive has no effect: the model is no sum of terms that have unknowns of their own")
            self._successive = False
        log(_chunk_text(report))


def _chunk_text(report) -> str:
    head = (
        f"[{report.index + 1}/{report.count}] field {report.field_id}, window {_joined(report.data_desc_ids)}, "
        f"{utc_text(report.time_s[0])[:19]}: "
    )
    if report.resumed:
        return head + "solved before"
    if not report.chi_square:
        return head + "no usable data: flagged"
    values = [f"{value:.5g}" for value in report.chi_square]
    if len(values) > 6:
        values = [*values[:3], "...", *values[-2:]]
    flagged = f", flagged: {_counts(report.flagged)}" if report.flagged else ""
    others = [f"{count} {status}" for status, count in report.statuses.items() if status != "converged"]
    steps = f"{report.iterations} {'turns' if report.in_turns else 'iterations'}"
    return (
        head
        + f"chi-square {' > '.join(values)}, {steps}, {report.converged} of {report.solves} solves converged"
        + f"{' (' + ', '.join(others) + ')' if others else ''}, residual/noise {report.noise_ratio:.4g}{flagged}, "
        + f"{report.seconds:.2f} s"
    )


def _joined(data_desc_ids) -> str:
    return "+".join(map(str, data_desc_ids))


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in found.items())


def _plan_text(plans, terms) -> str:
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


def _report_text(report, terms) -> str:
    ending = ", ".join(f"{count} {status}" for status, count in sorted(report.statuses.items()))
    ratio = report.noise_ratio
    lines = [
        f"{report.converged} of {report.solves} solves converged ({ending})",
        f"values flagged: {_counts(report.flagged) or 'none'}",
        *(
            []
            if report.scale is None
            else [f"data over model: {report.scale:.4g} (no term has an amplitude to hold it)"]
        ),
        *(
            [
                f"normalised: {', '.join(report.normalised)} (data tell only products of the terms: mean amplitude 1, "
                "mean phase 0; the others carry the rest)"
            ]
            if report.normalised
            else []
        ),
        "residual over noise expected from the weights: " + ("unknown" if math.isnan(ratio) else f"{ratio:.4g}"),
    ]
    flagged = {term.name: report.flagged_fraction(term.name) for term in terms}
    rows = [
        [name, f"{100 * (1 - good):.1f}", *(f"{100 * flagged[term.name].get(name, 1.0):.1f}" for term in terms)]
        for name, good in report.good_fraction.items()
    ]
    headers = ["antenna", "data flagged/%", *(f"{term.name} flagged/%" for term in terms)]
    return "\n".join([*lines, table(headers, rows)])
