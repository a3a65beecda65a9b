"""`rimetree calibrate`: solve for Jones terms."""

from __future__ import annotations

import os

import click

from ...machine import size_text
from ..errors import Failed, Interrupted, NothingUsable
from ..options.asked_calibration import AskedCalibration, ChosenFields
from ..options.asked_rows import ChosenRows
from ..options.beams import antennas_of
from ..options.calibration import calibration_options, held_files, order_options, solver_options
from ..options.centre import centre_option, warn_of_directions
from ..options.data_selection import averaging_options, channels_option, rows_options
from ..options.evaluation import evaluation_options
from ..options.fields import fields_text, names_of, of_fields, require_from_field
from ..options.models import by_model, model_column_option, read_models, sky_options, warn_of_sky
from ..options.outcome import wait_option
from ..options.sections import Sectioned
from ..options.sets import check_output, require_ms, warn_of_exposures
from ..options.settings import settings_option
from ..options.solutions import solutions_options
from ..options.together import refuse_without
from ..options.trees import smearing_option
from ..output import log
from ..runs.applying import run_apply
from ..runs.calibrating_text import (
    Progress,
    averaging_text,
    flux_text_of,
    joined,
    log_columns,
    log_windows,
    nothing_text,
    plan_text,
    report_text,
)
from ..runs.residuals import report_option, write_reports
from ..runs.weights import check_weights, require_spectra, weight_notes, weights_option, write_weights


@click.command("calibrate", cls=Sectioned)
@click.argument("ms", type=click.Path())
@click.option(
    "--term",
    "terms",
    multiple=True,
    required=True,
    metavar="TEXT",
    help='What to solve for, e.g. "G: diag, 2min, 8chan"; may be repeated.',
)
@click.option("--out", required=True, metavar="FILE", help="H5parm file for the solutions.")
@click.option("--data-column", default="DATA", show_default=True, help="Column to solve on.")
@sky_options(required=False, of_fields=True)
@model_column_option
@order_options
@solver_options
@click.option("--apply", "apply_", is_flag=True, help="Then write corrected data.")
@click.option("--subtract", is_flag=True, help="Then subtract the model with the solutions.")
@solutions_options
@weights_option
@report_option
@settings_option
@click.option("--resume", is_flag=True, help="Go on after the last chunk of a run that was interrupted.")
@click.option("--overwrite", is_flag=True, help="Replace FILE.")
@smearing_option
@centre_option
@evaluation_options
@rows_options
@channels_option
@averaging_options
@wait_option
@click.option("--dry-run", is_flag=True, help="Check everything, say what would be solved, write nothing.")
def command(ms, terms, out, **given):
    """Solve for Jones terms of Measurement Set MS, and write them to an H5parm file.

    The model is a sky model (--sky), which is predicted, or columns of the set (--model-column).

    \b
    A term is NAME: KIND, then options: how much one solution covers, and whether each patch has its own:
      scalar diag full phase amplitude delay rate tec rotation faraday crosshand leakage parallactic
      2min 10s 3slots 1scan   8chan 1.5MHz   "per patch"   "per source"   scalar   "all windows"
      "per patch A* B"  only these patches      "on 3C286"  only on this field (with --in-turn)
      "common CS*"  these antennas share one    "smooth 2MHz CS*=4MHz"  smoothed along frequency
      plane  values of antennas lie in a plane over the array (tec; phase and delay with scalar)
    Terms stand in the measurement equation from the left to the right, those of patches inside the others. A term of
    "all windows" has one solution for all spectral windows of a field, which are then solved together.

    \b
      rimetree calibrate obs.ms --sky field.skymodel --term "G: diag, 2min, 8chan" --out sol.h5 --apply
      rimetree calibrate obs.ms --sky field.skymodel --term "G: phase, 10s" --term "dE: scalar, 10min, per patch" \\
               --out sol.h5 --subtract
      rimetree calibrate obs.ms --model-column MODEL_DATA --term "G: full, 10s" --out sol.h5
      rimetree calibrate obs.ms --sky 0=flux.skymodel --sky 1=gain.skymodel --field 0,1 --in-turn \\
               --term "K: delay, on 0" --term "B: diag, 1chan, on 0" --term "G: diag, 5min" --flux-from 0 \\
               --out sol.h5 --apply --apply-to all

    With --apply CORRECTED_DATA = J_p^-1 DATA J_q^-H for the terms of the whole sky; with --subtract the model with all
    terms is subtracted first. A run that was killed goes on with --resume. The exit status is 3 where no solutions are
    usable; the set is then left as it is.
    """
    import rimetree as rt
    from rimetree import calibration
    from rimetree.calibration.solutions.correction import require_four_hands
    from rimetree.machine import return_freed_memory

    asked = AskedCalibration(**given)
    if asked.memory:
        return_freed_memory()

    require_ms(ms)
    _check_usage(asked, out)
    moved = asked.phase_centre or asked.move_phase_centre
    asked.beams.require(asked.sky, moved)
    _check_written(ms, asked)
    parsed = calibration.parse_terms(terms)
    summary = rt.ms.inspect(ms, scan_cells=False)
    fields = ChosenFields.of(asked, summary)
    if asked.weights:
        require_spectra(ms, ChosenRows(asked.ddid, fields.applied_to(asked)), summary)
    model = read_models(
        summary,
        sky=asked.sky,
        sky_format=asked.sky_format,
        skip_unsupported=asked.skip_unsupported,
        model_columns=asked.model_columns,
        patches=asked.patches,
    )
    model = asked.beams.through(model, antennas_of(summary, fields.with_model(asked)))
    selection = asked.selection(summary)
    if asked.no_smearing and asked.sky and (selection.averages or asked.average_loss):
        log("warning: averaged data are smeared, and with --no-smearing the model is not: far sources do not fit")
    options = calibration_options(asked, fields.solved_on, selection, summary)
    stages = calibration.plan_stages(ms, parsed, options, model, summary=summary)
    plans = [plan for stage in stages for plan in stage.plans]
    names = names_of(summary)
    _require_reference(fields.flux_from, stages, names)
    if asked.from_field:
        solved = {plan.group.field_id for plan in plans}
        held_terms = [one for sets in options.held_files for held in sets for one in held.terms]
        require_from_field(fields.from_field, solved, held_terms, names)
    _look_at_given(options, stages)
    _require_direction(asked.direction, options, stages, model, fields.apply_to)
    if asked.apply_ and not all(one.kind.diagonal for one in parsed):
        for plan in plans:
            require_four_hands(plan.group)
    for stage in stages:
        log_windows(stage.plans, stage.terms)
    _say_models(model, plans, summary, asked)
    for plan in plans:
        if plan.averaging is not None:
            (click.echo if asked.dry_run else log)(averaging_text(plan))
    if asked.dry_run:
        _say_memory(ms, model, parsed, options, stages, asked)
        return
    show = Progress(options.solver.successive)
    try:
        with show:
            report = calibration.calibrate(
                ms,
                model,
                parsed,
                out,
                options,
                on_chunk=show.chunk,
                on_iteration=show.iteration,
                stages=stages,
                keep_progress=True,
            )
    except KeyboardInterrupt:
        count = sum(len(plan.chunks) for plan in plans)
        message = f"interrupted; {show.done} of {count} chunks are solved: --resume goes on after them"
        raise Interrupted(message) from None
    try:
        _finish(ms, model, parsed, out, options, report, summary, fields, asked)
    except NothingUsable:
        calibration.forget_progress(out)
        raise
    except (Exception, KeyboardInterrupt):
        log(f"note: all chunks are solved, and {out} holds the solutions: --resume goes on after them")
        raise
    calibration.forget_progress(out)


def _check_written(ms: str, asked: AskedCalibration) -> None:
    """Raises what writing to the set would: rather now than after hours of solving."""
    if asked.applies:
        before = {"read": asked.data_column, "save_flags": not asked.no_flag_version}
        check_output(ms, asked.output_column, asked.wait, **before)
    if asked.weights:
        if not asked.apply_:
            raise click.UsageError("--weights goes with --apply")
        check_weights(ms, asked.wait)


def _say_models(model, plans, summary: dict, asked: AskedCalibration) -> None:
    """How large models are, and what of fields and sources warns of a wrong one."""
    from rimetree import calibration
    from rimetree.sky_fluxes import flux_text

    if asked.sky and not asked.no_smearing:
        warn_of_exposures(summary)
    for fields, own, groups in by_model(model, [plan.group for plan in plans]):
        if isinstance(own, calibration.ModelColumns):
            log_columns(own, groups)
            continue
        warn_of_directions(summary, [group.field_id for group in groups], asked.phase_centre)
        warn_of_sky(own, groups, asked.phase_centre)
        log(f"{fields or asked.sky[0]}: {len(own)} sources, {flux_text(own, groups)}")


def _say_memory(ms: str, model, terms, options, stages, asked: AskedCalibration) -> None:
    """What would be solved, and what memory that would take."""
    from rimetree import calibration

    every = calibration.check(model, terms, options, stages)
    for stage, needs in zip(stages, every, strict=True):
        click.echo(plan_text(stage.plans, stage.terms))
        for plan, need in zip(stage.plans, needs, strict=True):
            windows = joined(plan.group.data_desc_ids)
            click.echo(f"field {plan.group.field_id}, window {windows}: a chunk takes about {need}")
    most = max((need.of_command() for needs in every for need in needs), default=0)
    passes = {"report": bool(asked.report), "subtract": asked.subtract}
    most = max(most, calibration.memory_of_passes(ms, model, terms, options, **passes))
    more = ", more than --memory" if asked.memory and most > asked.memory else ""
    click.echo(f"the command takes about {size_text(most)} of memory in all{more}")
    click.echo("dry run: nothing was solved or written")


def _finish(
    ms, model, parsed, out, options, report, summary: dict, fields: ChosenFields, asked: AskedCalibration
) -> None:
    """What is done with solutions: they are told of, scaled, looked at and applied, as was asked."""
    from rimetree import calibration
    from rimetree.machine import return_freed_memory

    text = report_text(report, parsed)
    click.echo(text)
    sets = report.solutions
    if fields.flux_from is not None:
        sets, ratios = calibration.transfer_flux_scale(sets, fields.flux_from[0], names_of(summary))
        calibration.write_h5parm(out, sets)
        click.echo(flux_text_of(ratios, summary))
    log(f"wrote {out}")
    if not report.usable:
        untouched = "; the set is left as it is" if asked.applies else ""
        raise NothingUsable(f"{nothing_text(report, len(parsed), out, options)}{untouched}")
    held = held_files(asked)
    return_freed_memory()  # what follows reads and writes more than it computes
    if asked.report:  # with the models' own scale
        found = calibration.residuals(ms, model, [*held, report.solutions], options)
        write_reports(ms, found, asked.report, summary=text, averaging=report.averaging)
    if asked.applies:
        rows = ChosenRows(asked.ddid, fields.applied_to(asked))
        _use(ms, model, [*held, sets], rows, fields.from_field, asked)


def _require_direction(direction: str | None, options, stages, model, applied) -> None:
    """Raises where there will be no solutions for the direction that data are to be corrected for; `applied`: which
    fields are, if that was said."""
    from rimetree.calibration.model.models import as_model

    if direction is None:
        return
    fields = applied or {plan.group.field_id for stage in stages for plan in stage.plans}
    models = model if isinstance(model, dict) else {}
    every = [as_model(one) for one in models.values() or [model]]
    terms = [term for stage in stages for term in stage.terms if term.per is not None]
    held = [
        name for sets in options.held_files for one in sets for term in one.terms for name in term.directions if name
    ]
    for field in sorted(fields):
        own = [as_model(models[field])] if field in models else every
        names = [name for one in own for term in terms for name in one.directions(term.per) if term.acts_on(name)]
        if direction not in (*held, *names):
            there = ", ".join(dict.fromkeys([*held, *names])) or "none"
            where = f" on field {field}" if field in models else ""
            raise Failed(
                f"--direction {direction}: no term has solutions for such a direction{where}; there are {there}"
            )


def _outliers_in_means(options) -> str:
    """The warning where outliers have been averaged with good data before a fit weighs them; else empty."""
    averages = options.selection.averages or options.average_loss
    if not averages or not options.solver.robust_dof or options.flag_data:
        return ""
    return (
        "--robust finds outliers among means: one bad visibility has spoilt the mean that it is in. Leave them out "
        "before (--flag-data), or do not average"
    )


def _look_at_given(options, stages) -> None:
    """Says what is odd about options, solutions to begin at, and to hold; raises where nothing of the latter can be
    used."""
    from rimetree import calibration

    texts = [_outliers_in_means(options)]
    for stage in stages:
        for group in (plan.group for plan in stage.plans):
            texts += calibration.start_warnings(options.start, group, stage.terms)
            for sets in options.held_files:
                calibration.check_held(sets, group)
                held = calibration.chain_for([sets], group)
                said = ("held_warning", "frequency_warning", "time_warning", "feed_warning")
                texts += [getattr(calibration, warning)(group, held) for warning in said]
            if options.start:
                texts.append(calibration.feed_warning(group, calibration.solutions_for(options.start, group)))
    for text in list(dict.fromkeys(filter(None, texts)))[:5]:
        log(f"warning: {text}")


def _check_usage(asked: AskedCalibration, out: str) -> None:
    for fields, option in ((asked.apply_to, "--apply-to"), (asked.from_field, "--from-field")):
        if fields and not asked.applies:
            raise click.UsageError(f"{option} goes with --apply or --subtract")
    refuse_without("--apply or --subtract", asked.applies, "output_column", "no_flag_version", "direction")
    refuse_without("--apply, --subtract or --hold", asked.applies or bool(asked.hold), "interpolation")
    refuse_without("--hold", bool(asked.hold), "hold_terms")
    refuse_without("--sky", bool(asked.sky), "sky_format", "skip_unsupported", "no_smearing")
    if asked.average_loss:
        for average, option in (
            (asked.average_time, "--average-time"),
            (asked.average_channels, "--average-channels"),
        ):
            if average:
                raise click.UsageError(f"--average-loss says for each baseline what {option} says for all: give one")
    elif asked.average_radius is not None:
        raise click.UsageError("--average-radius goes with --average-loss")
    for file in asked.hold:
        if os.path.exists(out) and os.path.exists(file) and os.path.samefile(out, file):
            raise click.UsageError(
                f"{out} is held (--hold), and solutions on top of it cannot replace it: give another --out"
            )
    if asked.flux_from and len(asked.flux_from) != 1:
        raise click.UsageError("--flux-from takes one field")


def _require_reference(flux_from, stages, names) -> None:
    """Raises where a flux scale cannot go from one field to others, whatever is found."""
    from rimetree.calibration.solutions.flux_scale import require_amplitudes

    if flux_from is None:
        return
    terms_of = [(stage.terms, {plan.group.field_id for plan in stage.plans}) for stage in stages]
    fields = sorted(set().union(*(own for _, own in terms_of)))
    if len(flux_from) != 1 or flux_from[0] not in fields or len(fields) < 2:
        raise Failed(
            f"--flux-from {fields_text(flux_from, names)}: the flux scale goes from one field that is solved on to "
            f"others that are; solved on are the fields {fields_text(fields, names)}"
        )
    require_amplitudes(terms_of, flux_from[0], names)


def _use(ms, model, files, rows: ChosenRows, from_field, asked: AskedCalibration) -> None:
    options = {
        "correct": asked.apply_,
        "subtract": model if asked.subtract else None,
        "direction": asked.direction,
        "interpolation": asked.interpolation,
        "data_column": asked.data_column,
        "column": asked.output_column,
        "phase_centre_rad": asked.phase_centre,
        "smearing": not asked.no_smearing,
    }
    if from_field is not None:
        files = of_fields(files, from_field)
    resources = {
        "device": asked.device,
        "threads": asked.threads,
        "memory": asked.memory,
        "time_slots": asked.time_slots,
    }
    accuracy = {"precision": asked.precision, "tolerance": asked.tolerance}
    how = {"wait": asked.wait, "save_flags": not asked.no_flag_version}
    run_apply(ms, files, rows, options, resources, accuracy, **how)
    if asked.weights:
        same = {"direction": asked.direction, "interpolation": asked.interpolation, "wait_s": asked.wait}
        weight_notes(ms, files, rows, asked.direction).check(again=True)
        write_weights(ms, files, rows, **same)
