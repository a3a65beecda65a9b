"""`rimetree apply`: data with the inverse of solutions, and without a model."""

from __future__ import annotations

import click

from .errors import Failed
from .output import log
from .selection import (
    centre_option,
    evaluation_options,
    model_column_option,
    outcome_options,
    read_model,
    require_ms,
    rows_options,
    sky_options,
    warn_of_directions,
)


def solutions_options(function):
    """How solutions are used: --direction, --interpolation, --output-column."""
    function = click.option(
        "--output-column", default="CORRECTED_DATA", show_default=True, help="To write; made where it is missing."
    )(function)
    function = click.option(
        "--interpolation",
        type=click.Choice(["nearest", "linear"]),
        default="nearest",
        show_default=True,
        help="Between solutions: the one of the interval, or linear in amplitude and phase.",
    )(function)
    return click.option(
        "--direction", metavar="NAME", help="Correct also the terms of this patch or source; default: of none."
    )(function)


@click.command("apply")
@click.argument("ms", type=click.Path())
@click.option("--solutions", required=True, metavar="FILE", help="H5parm file, of `rimetree calibrate` or others.")
@click.option("--data-column", default="DATA", show_default=True, help="To read.")
@solutions_options
@click.option(
    "--subtract",
    is_flag=True,
    help="First subtract the model with all terms of the solutions.",
)
@click.option("--keep", multiple=True, metavar="PATCH", help="Do not subtract this patch or column; may be repeated.")
@click.option("--no-correct", is_flag=True, help="Only subtract; do not take the solutions out.")
@sky_options(required=False)
@model_column_option
@centre_option
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
    no_correct,
    sky,
    sky_format,
    skip_unsupported,
    model_columns,
    phase_centre,
    precision,
    tolerance,
    device,
    threads,
    memory,
    time_slots,
    field,
    ddid,
    dry_run,
    report,
):
    """Apply solutions to Measurement Set MS: CORRECTED_DATA = J_p^-1 DATA J_q^-H.

    J is the product of the terms that hold for the whole sky. Data without a solution are flagged in FLAG; weights are
    not changed. With --subtract the model of --sky or --model-column is subtracted before, each direction with all its
    terms.
    """
    from rimetree import calibration

    from .running import print_reports

    if subtract != (sky is not None or bool(model_columns)):
        raise click.UsageError("--subtract and --sky (or --model-column) go together: give both or none")
    if no_correct and not subtract:
        raise click.UsageError("with --no-correct and without --subtract there is nothing to do")
    require_ms(ms)
    model = None
    if subtract:
        model = _without(read_model(sky, sky_format, skip_unsupported, model_columns), keep)
    options = {
        "correct": not no_correct,
        "subtract": model,
        "direction": direction,
        "interpolation": interpolation,
        "data_column": data_column,
        "column": output_column,
        "phase_centre_rad": phase_centre,
    }
    rows = {"field": field, "ddid": ddid}
    resources = {"device": device, "threads": threads, "memory": memory, "time_slots": time_slots}
    accuracy = {"precision": precision, "tolerance": tolerance}
    reports = run_apply(ms, calibration.read_h5parm(solutions), rows, options, resources, accuracy, dry_run)
    if reports:
        print_reports(reports, report)


def _without(model, keep):
    """The model without the patches or directions to keep."""
    from rimetree import calibration

    if isinstance(model, calibration.ModelColumns):
        if unknown := [name for name in keep if name not in model.columns]:
            raise Failed(f"there is no direction {unknown[0]!r} to keep; there are {', '.join(model.columns)}")
        model = model.select(lambda name: name not in keep)
        left = len(model.columns)
    else:
        if keep:
            model.select(patches=keep)  # raises for a patch that there is not
            model = model.select(lambda source: source.patch not in keep)
        left = len(model)
    if left == 0:
        raise Failed("nothing is left to subtract")
    return model


def run_apply(ms, sets, rows: dict, options: dict, resources: dict, accuracy: dict, dry_run: bool = False) -> list:
    """Write corrected data; `options` as of `calibration.apply_tree`. Returns [(group, RunReport)]."""
    import rimetree as rt
    from rimetree import calibration

    from .running import memory_text, run_groups

    summary = rt.ms.inspect(ms, scan_cells=False)
    groups = calibration.groups_by_window(ms, data_desc_id=rows["ddid"], field_id=rows["field"])
    if isinstance(options["subtract"], rt.sky.SkyModel) and options["phase_centre_rad"] is None:
        warn_of_directions(summary, [group.field_id for group in groups])
    _warn_of_family(summary, sets)

    def forest_of(group):
        chosen = calibration.solutions_for(sets, group)
        unknown = [group.antenna_names[a] for a in group.antennas if not _known(chosen, group.antenna_names[a])]
        if unknown:
            log(f"warning: no solutions for antennas {', '.join(unknown)}: their data are flagged")
        scope = rt.NodeScope()
        calibration.apply_tree(scope, group, chosen, **options)
        memory = resources["memory"]
        return rt.Forest(
            scope,
            threads=resources["threads"],
            memory_bytes=int(memory) if memory else None,
            device=resources["device"],
        )

    if dry_run:
        for group in groups:
            click.echo(f"{group}; {memory_text(forest_of(group), group, resources['time_slots'])}")
        click.echo("dry run: nothing was written")
        return []
    return run_groups(ms, groups, forest_of, time_slots=resources["time_slots"], **accuracy)


def _known(solutions, antenna: str) -> bool:
    return all(antenna in term.antennas for term in solutions.terms)


def _warn_of_family(summary: dict, sets) -> None:
    """Gains of a set whose UVW have the other sign are the complex conjugates."""
    family = summary["uvw"]["family"]
    for solutions in sets:
        other = solutions.provenance.get("uvw_family")
        if other in ("p-q", "q-p") and family in ("p-q", "q-p") and other != family:
            log(
                f"warning: the solutions are of a Measurement Set with UVW of the family {other}, this one has "
                f"{family}: its gains are the complex conjugates"
            )
            return
