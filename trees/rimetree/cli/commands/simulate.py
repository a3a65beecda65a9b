"""`rimetree simulate`: a sky model as visibilities."""

from __future__ import annotations

import click

from ..options.asked_rows import AskedRows
from ..options.beams import antennas_of
from ..options.beside_data import sum_options
from ..options.centre import warn_of_directions
from ..options.data_selection import rows_options
from ..options.evaluation import as_written_option, evaluation_options, verify_option
from ..options.models import by_model, read_models, sky_options, warn_of_sky
from ..options.noise import noise_options
from ..options.outcome import outcome_options
from ..options.sets import check_output, require_ms, warn_of_exposures
from ..options.solutions import (
    flag_version_option,
    interpolation_option,
    read_solutions,
    solution_files_options,
)
from ..options.together import refuse_without
from ..options.trees import tree_options
from ..output import log
from ..runs.weights import check_weights, require_spectra, write_noise_weights


@click.command("simulate")
@click.argument("ms", type=click.Path())
@sky_options(required=False, of_fields=True)
@click.option("--column", default="MODEL_DATA", show_default=True, help="Column to write; created if it is missing.")
@sum_options
@noise_options
@solution_files_options(
    "See the sky model with the gains and other Jones terms of these solutions, those of directions included. ",
    required=False,
)
@interpolation_option
@flag_version_option
@tree_options
@evaluation_options
@as_written_option
@verify_option
@rows_options
@outcome_options
def command(
    ms,
    sky,
    sky_format,
    skip_unsupported,
    patches,
    beams,
    column,
    beside,
    noise,
    solutions,
    from_field,
    terms,
    interpolation,
    no_flag_version,
    precision,
    tolerance,
    verify,
    device,
    threads,
    memory,
    as_written,
    time_slots,
    no_smearing,
    many_node,
    phase_centre,
    dry_run,
    report,
    wait,
    **chosen,
):
    """Predict the visibilities (Jy) of a sky model, or noise alone, into a column of Measurement Set MS.

    Each field gets a tree with its own phase centre, and with linear or circular feeds as its correlations say. Rows
    that are not selected, and autocorrelations, keep what they hold (in a new column they are 0, or with --add-to or
    --subtract-from what that column holds); all channels are written. Weights are changed by --weights only, flags only
    where --solutions have none.

    \b
      rimetree simulate sim.ms --sky field.skymodel --sefd 420Jy
      rimetree simulate sim.ms --sky field.skymodel --solutions gains.h5 --interpolation linear --column DATA
      rimetree simulate obs.ms --sky planted.skymodel --add-to DATA --column DATA_PLANTED

    Interrupted runs leave MS readable; `rimetree inspect-ms` then says up to which time the column is complete.
    """
    import rimetree as rt

    from ...sky_fluxes import flux_text
    from ..runs.applying import run_apply
    from ..runs.groups import print_reports
    from ..runs.skies import run_trees_of_sky

    ways = {"--many-node": many_node, "--verify": verify, "--as-written": as_written, "--together": as_written is False}
    _require_together(sky, noise, beside, solutions, ways)
    require_ms(ms)
    beams.require(sky, phase_centre)
    check_output(ms, column, wait, read=beside.column)
    summary = rt.ms.inspect(ms, scan_cells=False)
    model = read_models(summary, sky, sky_format, skip_unsupported, (), patches) if sky else rt.sky.SkyModel([])
    rows = AskedRows(**chosen)
    groups = rows.groups(ms, summary)
    antennas = antennas_of(summary, [group.field_id for group in groups])
    if weights := noise.weights:
        check_weights(ms, wait)
        require_spectra(ms, rows.chosen(summary), summary)
    model, noise = beams.through(model, antennas), noise.of(summary, antennas)
    if sky and not solutions:
        warn_of_directions(summary, [group.field_id for group in groups], phase_centre)
    if sky and not no_smearing:
        warn_of_exposures(summary)
    for fields, own, some in by_model(model, groups):
        warn_of_sky(own, some, phase_centre)
        log(f"{fields or sky[0]}: {len(own)} sources, {flux_text(own, some)}" if sky else "noise alone")
    log(f"{ms}: {len(groups)} tree(s) to evaluate")
    resources = {"device": device, "threads": threads, "memory": memory, "time_slots": time_slots}
    accuracy = {"precision": precision, "tolerance": tolerance}
    how = {"dry_run": dry_run, "wait": wait, "again": beside.again}
    if solutions:
        files = read_solutions(solutions, from_field, terms, summary)
        seen = {"sky": model, "noise": noise, "interpolation": interpolation, "column": column, **beside.of_tree}
        seen |= {"phase_centre_rad": phase_centre, "smearing": not no_smearing}
        how |= {"save_flags": not no_flag_version, "summary": summary}
        reports = run_apply(ms, files, rows.chosen(summary), seen, resources, accuracy, **how)
    else:
        tree = {"sky": model, "noise": noise, "column": column, **beside.of_tree}
        tree |= {"no_smearing": no_smearing, "many_node": many_node, "phase_centre": phase_centre}
        how |= {"selection": rows.selection(summary), "as_written": as_written, "verify": verify}
        reports = run_trees_of_sky(ms, groups, tree, resources, accuracy, **how)
    if weights and reports:
        write_noise_weights(ms, noise, groups, wait)
    if reports:
        print_reports(reports, report)


def _require_together(sky, noise, beside, solutions, others: dict) -> None:
    """Raises where there is nothing to predict; where options of trees without solutions are given with some, or the
    other way round; and where there are options of a sky without one."""
    if not sky and not noise.any:
        raise click.UsageError("give a sky model with --sky, or --sefd or --noise for noise alone")
    if not sky and beside.subtract_from:
        raise click.UsageError("--subtract-from goes with --sky; --add-to COLUMN adds noise alone")
    alone = ("sky_format", "skip_unsupported", "patches", "solutions", "no_smearing", "phase_centre", "many_node")
    refuse_without("--sky", bool(sky), *alone)
    refuse_without("--solutions", bool(solutions), "from_field", "terms", "interpolation", "no_flag_version")
    if solutions and (given := [option for option, value in others.items() if value]):
        raise click.UsageError(f"{given[0]} does not go with --solutions")
