"""`rimetree run`: a user's tree script."""

from __future__ import annotations

import functools

import click

from ..options.asked_rows import AskedRows
from ..options.data_selection import RangeOfTimes, rows_options
from ..options.evaluation import as_written_option, evaluation_options, verify_option
from ..options.outcome import require_places, wait_option
from ..options.quantities import FREQUENCY
from ..options.script_arguments import ScriptCommand
from ..options.sets import check_columns, require_ms, warn_of_unfinished
from ..output import log


class _TimeOrRange(RangeOfTimes):
    """A range of times of the set, or the time of a cell: MJD in seconds."""

    name = "time"

    def convert(self, value, param, ctx):
        return super().convert(value, param, ctx) if "~" in str(value) else click.FLOAT.convert(value, param, ctx)


_time_option = click.option(
    "--time",
    "times",
    type=_TimeOrRange(),
    multiple=True,
    metavar="FROM~TO",
    help="Use only these times: UTC, e.g. 2025-01-01T20:30~2025-01-01T20:40, or durations from the beginning of the "
    "set, e.g. 10min~20min; 10min~ is all from then on. For --evaluate: time of a cell, MJD in seconds (UTC). May be "
    "repeated.",
)


@click.command("run", cls=ScriptCommand)
@click.argument("script", type=click.Path())
@click.argument("ms", type=click.Path(), required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS...]")
@evaluation_options
@as_written_option
@verify_option
@functools.partial(rows_options, time=_time_option)
@click.option(
    "--evaluate",
    "node",
    metavar="NODE",
    help='Print the values of a node, e.g. "K:0:1"; writes nothing. Over MS those beside its first time slots (10, or '
    "--time-slots), of the rows that are selected; with --time or --freq, or without MS, those on these cells.",
)
@click.option("--freq", type=FREQUENCY, multiple=True, help="For --evaluate: frequency of a cell; may be repeated.")
@click.option(
    "--dry-run", is_flag=True, help="Build the forest and say what memory it would take, but evaluate nothing."
)
@click.option(
    "--parms",
    "given",
    metavar="FILE",
    multiple=True,
    help="Give Parms the values that they have in FILE, which --save-parms has written: Parms that are not solvable "
    "become those of FILE, with a value for each group of time slots that was solved on; solvable ones start with "
    "them. Of several files the later ones come before the earlier.",
)
@click.option(
    "--save-parms",
    metavar="FILE",
    callback=require_places,
    help="Write what the tree's Solvers find to FILE (HDF5), for --parms of another run, also where the run is "
    "interrupted.",
)
@wait_option
@click.option("--report", metavar="FILE", help="Also write the timing report: JSON if FILE ends in .json, else text.")
def command(
    script,
    ms,
    arguments,
    precision,
    tolerance,
    verify,
    device,
    threads,
    memory,
    as_written,
    time_slots,
    node,
    freq,
    dry_run,
    given,
    save_parms,
    report,
    wait,
    **chosen,
) -> None:
    """Run tree script SCRIPT over Measurement Set MS: its Sinks write their columns.

    \b
    The script is Python and defines a tree, best in a function:
      import rimetree as rt
      def define_forest(ns, ms):       # ns: an empty NodeScope
          for p, q in ms.baselines:    # ms: baselines, antennas, phase_centre_rad, feed, ...
              ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW")
              ...
              ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q)

    Rows that are not selected keep what they hold; all channels are written.

    It is called once for each field (and kind of feed). A script may also make a NodeScope called ns at module level,
    where ms is defined; it is then run once for each field. ARGUMENTS after -- are the script's sys.argv[1:]. Without
    MS (ms is None) the forest is built and checked, and --evaluate prints values.
    """
    import rimetree as rt
    from rimetree.script import Script

    from ..runs.groups import memory_text, print_reports, run_groups
    from ..runs.parms import GivenParms, SavedParms

    script = Script(script, arguments)
    ranges = [one for one in chosen["times"] if isinstance(one, tuple)]
    cells_s = [one for one in chosen["times"] if not isinstance(one, tuple)]
    if cells_s and node is None:
        raise click.UsageError(f"--time {cells_s[0]:g}: times of cells go with --evaluate; of rows give FROM~TO")
    if save_parms and (ms is None or node is not None):
        raise click.UsageError("--save-parms is for runs over a Measurement Set")
    given, saved = GivenParms(given), SavedParms(save_parms)
    groups = [None]
    if ms is not None:
        summary = rt.ms.inspect(require_ms(ms), scan_cells=False)
        groups = AskedRows(**{**chosen, "times": ranges}).groups(ms, summary)

    def forest_of(group):
        forest = rt.Forest(
            script.scope(group),
            threads=threads,
            memory_bytes=int(memory) if memory else None,
            device=device,
            as_written=as_written,
        )
        if group is not None:
            warn_of_unfinished(group, forest)
        given.put_into(forest)
        saved.follow(forest)
        return forest

    if node is not None:
        forest = forest_of(groups[0])
        if ms is not None and not (cells_s or freq):
            if verify or tolerance:
                raise click.UsageError("--verify and --tolerance go with --evaluate on cells: give --time or --freq")
            click.echo(_beside_data(forest, groups[0], node, time_slots or 10))
            return
        cells = rt.Cells(cells_s or None, freq or None)
        values = forest.evaluate(node, cells, precision=precision, tolerance=tolerance, verify=verify)
        click.echo(f"{node}: {values.dtype} {list(values.shape)} [tensor..., time, freq]\n{values}")
        if verify:
            click.echo(forest.verification())
    elif ms is None or dry_run:
        for group in groups:
            forest = forest_of(group)
            if ms is not None:
                check_columns(ms, forest, wait)
            nodes = f"{len(forest.nodes())} nodes in {len(forest.plan()['batches'])} batches"
            click.echo(nodes if group is None else f"{group}: {nodes}; {memory_text(forest, group, time_slots)}")
        log("nothing was evaluated" + ("" if ms else ": no Measurement Set was given"))
    else:
        options = {
            "precision": precision,
            "tolerance": tolerance,
            "time_slots": time_slots,
            "verify": verify,
            "wait_s": wait,
        }
        with saved:
            reports = run_groups(ms, groups, forest_of, **options)
        print_reports(reports, report)


def _beside_data(forest, group, node: str, time_slots: int) -> str:
    """The values of a node on the first time-slot group of a group."""
    import numpy as np

    import rimetree as rt
    from rimetree.tile_values import columns_read, tile_values

    options = rt.ms.run_options(**{**group.selection, "time_slots": time_slots})
    tiles = rt.ms.Tiles(group.path, columns_read(forest), options)
    values, (there,) = tile_values(forest, tiles, 0, [node])
    about = tiles.keys()[0]
    where = f"field {about['field_id']}, data description {about['data_desc_id']}, {about['n_slot']} time slots"
    if not there:
        return f"{node}: there is nothing beside {where}: no rows of its baseline"
    found = values[0]
    for axis in (-2, -1):  # of what does not vary one number says all
        first = np.take(found, [0], axis=axis)
        found = first if np.array_equal(found, np.broadcast_to(first, found.shape), equal_nan=True) else found
    found = found if found.imag.any() else found.real
    return f"{node}: {found.dtype} {list(found.shape)} [tensor..., time, freq], {where}, flags aside\n{found}"
