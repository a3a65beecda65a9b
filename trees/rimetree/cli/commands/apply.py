"""`rimetree apply`: data with the inverse of solutions, and without a model."""

from __future__ import annotations

import click

from ..options.asked_rows import AskedRows
from ..options.beams import antennas_of
from ..options.centre import centre_option
from ..options.data_selection import rows_options
from ..options.evaluation import evaluation_options
from ..options.models import model_column_option, of_patches, read_model, sky_options
from ..options.outcome import outcome_options
from ..options.sections import Sectioned
from ..options.sets import require_ms
from ..options.solutions import read_solutions, solution_files_options, solutions_options
from ..options.together import refuse_without
from ..options.trees import smearing_option
from ..runs.applying import run_apply
from ..runs.weights import check_weights, require_spectra, weight_notes, weights_option, write_weights


@click.command("apply", cls=Sectioned)
@click.argument("ms", type=click.Path())
@solution_files_options("", required=True)
@click.option("--data-column", default="DATA", show_default=True, help="Column to read.")
@solutions_options
@weights_option
@click.option(
    "--subtract",
    is_flag=True,
    help="First subtract the model with all terms of the solutions.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="PATCH",
    help="With --subtract: leave this patch or model column in (a name or a pattern); may be repeated.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Apply what was applied before to the same rows of a column that is read and written, or to the weights.",
)
@click.option("--no-correct", is_flag=True, help="With --subtract: only subtract; do not correct the data.")
@sky_options(required=False)
@model_column_option
@centre_option
@smearing_option
@evaluation_options
@rows_options
@outcome_options
def command(
    ms,
    solutions,
    data_column,
    direction,
    interpolation,
    output_column,
    subtract,
    keep,
    again,
    patches,
    beams,
    no_correct,
    sky,
    sky_format,
    skip_unsupported,
    model_columns,
    phase_centre,
    no_smearing,
    precision,
    tolerance,
    device,
    threads,
    memory,
    time_slots,
    from_field,
    terms,
    dry_run,
    report,
    wait,
    no_flag_version,
    weights,
    **chosen,
):
    """Apply solutions to Measurement Set MS: CORRECTED_DATA = J_p^-1 DATA J_q^-H.

    J is the product of the terms that hold for the whole sky. Data without a solution are flagged in FLAG, and what is
    newly flagged is printed by antenna and reason; flags are saved first (`rimetree flags restore`). Where nothing is
    usable nothing is changed, and the exit status is 3. Weights are changed by --weights only. Rows that are not
    selected, and autocorrelations, keep what they hold (in a new column they are the data); all channels are written.

    With --subtract the model of --sky or --model-column is subtracted before, each direction with all its terms.

    \b
      rimetree apply target.ms --solutions sol.h5 --interpolation linear
      rimetree apply obs.ms --solutions sol.h5 --sky field.skymodel --subtract --keep target --no-correct
    """
    import rimetree as rt
    from rimetree.machine import share_freed_memory

    from ..runs.groups import print_reports

    if subtract != (sky is not None or bool(model_columns)):
        raise click.UsageError("--subtract and --sky (or --model-column) go together: give both or none")
    refuse_without("--subtract", subtract, "keep", "patches", "sky_format", "skip_unsupported", "no_smearing")
    if no_correct and not subtract:
        raise click.UsageError("with --no-correct and without --subtract there is nothing to do")
    beams.require(sky, phase_centre)
    require_ms(ms)
    model = None
    if not subtract:  # without a tree, on which threads work side by side
        share_freed_memory()
    if subtract:
        model = _without(read_model(sky, sky_format, skip_unsupported, model_columns, patches), keep)
    options = {
        "correct": not no_correct,
        "direction": direction,
        "interpolation": interpolation,
        "data_column": data_column,
        "column": output_column,
        "phase_centre_rad": phase_centre,
        "smearing": not no_smearing,
    }
    if weights:
        if no_correct:
            raise click.UsageError("--weights are those of corrected data: leave --no-correct out")
        check_weights(ms, wait)
    summary = rt.ms.inspect(ms, scan_cells=False)
    rows = AskedRows(**chosen).chosen(summary)
    options["subtract"] = beams.through(model, antennas_of(summary, rows.field_id))
    files = read_solutions(solutions, from_field, terms, summary)
    if weights:
        require_spectra(ms, rows, summary)
        weight_notes(ms, files, rows, direction).check(again)
    resources = {"device": device, "threads": threads, "memory": memory, "time_slots": time_slots}
    accuracy = {"precision": precision, "tolerance": tolerance}
    how = {"dry_run": dry_run, "wait": wait, "save_flags": not no_flag_version, "summary": summary, "again": again}
    reports = run_apply(ms, files, rows, options, resources, accuracy, **how)
    if weights and reports:
        write_weights(ms, files, rows, direction=direction, interpolation=interpolation, wait_s=wait)
    if reports:
        print_reports(reports, report)


def _without(model, keep):
    """The model without the patches or directions to keep."""
    if not keep:
        return model
    return of_patches(model, [f"!{name}" for name in keep])
