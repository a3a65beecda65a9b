"""`rimetree simulate`: a sky model as visibilities."""

from __future__ import annotations

import click
from click.core import ParameterSource

from ..options.asked_rows import AskedRows
from ..options.beams import antennas_of
from ..options.centre import warn_of_directions
from ..options.data_selection import rows_options
from ..options.evaluation import as_written_option, evaluation_options, verify_option
from ..options.models import read_sky, sky_options, warn_of_sky
from ..options.outcome import outcome_options
from ..options.quantities import FLUX
from ..options.sets import check_output, require_ms, warn_of_exposures
from ..options.together import refuse_without
from ..options.trees import scope_of_sky, tree_options
from ..output import log


@click.command("simulate")
@click.argument("ms", type=click.Path())
@sky_options(required=True)
@click.option("--column", default="MODEL_DATA", show_default=True, help="Column to write; created if it is missing.")
@click.option(
    "--noise",
    type=FLUX,
    default=0.0,
    metavar="FLUX",
    help="Add noise of this standard deviation, to real and imaginary part each: Jy, mJy, uJy; a bare number: Jy.",
)
@click.option("--seed", type=int, default=0, help="Seed of the noise: the same seed gives the same noise.")
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
    noise,
    seed,
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
    """Predict the visibilities (Jy) of a sky model into a column of Measurement Set MS.

    Each field gets a tree with its own phase centre, and with linear or circular feeds as its correlations say. Rows
    that are not selected, and autocorrelations, keep what they hold; all channels are written. Flags and weights are
    not changed. --noise is the standard deviation of the real and of the imaginary part of each visibility.

    Interrupted runs leave MS readable; `rimetree inspect-ms` then says up to which time the column is complete.
    """
    import rimetree as rt

    from ...sky_fluxes import flux_text
    from ..runs.groups import memory_text, print_reports, run_groups

    given = click.get_current_context().get_parameter_source("noise") is not ParameterSource.DEFAULT
    refuse_without("--noise", given, "seed")
    require_ms(ms)
    beams.require(sky, phase_centre)
    check_output(ms, column, wait)
    model = read_sky(sky, sky_format, skip_unsupported, patches)
    summary = rt.ms.inspect(ms, scan_cells=False)
    groups = AskedRows(**chosen).groups(ms, summary)
    model = beams.through(model, antennas_of(summary, [group.field_id for group in groups]))
    warn_of_directions(summary, [group.field_id for group in groups], phase_centre)
    warn_of_sky(model, groups, phase_centre)
    if not no_smearing:
        warn_of_exposures(summary)
    tree = {"no_smearing": no_smearing, "many_node": many_node, "phase_centre": phase_centre}
    log(f"{sky}: {len(model)} sources, {flux_text(model, groups)}; {ms}: {len(groups)} tree(s) to evaluate")

    def forest_of(group):
        scope = scope_of_sky(group, model, column, noise_jy=noise, seed=seed, **tree)
        memory_bytes = int(memory) if memory else None
        return rt.Forest(scope, threads=threads, memory_bytes=memory_bytes, device=device, as_written=as_written)

    if dry_run:
        for group in groups:
            click.echo(f"{group}; {memory_text(forest_of(group), group, time_slots)}")
        click.echo("dry run: nothing was written")
        return
    options = {
        "precision": precision,
        "tolerance": tolerance,
        "time_slots": time_slots,
        "verify": verify,
        "wait_s": wait,
    }
    reports = run_groups(ms, groups, forest_of, **options)
    print_reports(reports, report)
