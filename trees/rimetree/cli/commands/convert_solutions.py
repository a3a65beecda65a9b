"""`rimetree convert-solutions`: solutions in another format."""

from __future__ import annotations

import os

import click

from ..errors import Failed
from ..options.sets import require_ms
from ..options.solutions import read_solutions, solution_files_options
from ..output import log


@click.command("convert-solutions")
@click.argument("out", type=click.Path())
@solution_files_options("", required=True)
@click.option(
    "--ms",
    metavar="MS",
    help="The Measurement Set that solutions are for: tables of CASA have its windows and channels.",
)
@click.option(
    "--direction",
    metavar="NAME",
    help="For tables of CASA: take the terms of this patch or source, too; default: only those of the whole sky.",
)
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
def command(out, solutions, from_field, terms, ms, direction, overwrite):
    """Write solutions as the H5parm file OUT, or as tables of CASA, OUT.TERM.

    If OUT ends with .h5, .hdf5 or .h5parm, it is one file with all terms of all files; else there is a table for each
    term, as `applycal` of CASA takes them. Delays and the like become a bandpass there; from the first term on that is
    not diagonal, all terms are one table of gains and one of leakages.

    \b
      rimetree convert-solutions sol.h5 --solutions cal.B --solutions cal.G
      rimetree convert-solutions obs --solutions sol.h5 --ms obs.ms
    """
    import rimetree as rt
    from rimetree import calibration

    if ms is not None:
        require_ms(ms)
    summary = None if ms is None else rt.ms.inspect(ms, scan_cells=False)
    if from_field is not None and summary is None:
        raise click.UsageError("--from-field goes with --ms, which says what fields are called")
    files = read_solutions(solutions, from_field, terms, summary)
    if out.lower().endswith((".h5", ".hdf5", ".h5parm")):
        if direction is not None:
            raise click.UsageError("--direction is for tables of CASA: an H5parm file holds all directions")
        if not overwrite and os.path.lexists(out):
            raise Failed(f"{out} exists; choose another name or give --overwrite")
        sets = calibration.joined_sets(files)
        calibration.write_h5parm(out, sets)
        log(f"wrote {out}: {calibration.terms_text(sets)}; solution sets: {len(sets)}")
        return
    if ms is None:
        raise click.UsageError(f"{out}.TERM would be tables of CASA, which have the windows of a set: give --ms")
    paths = calibration.write_casa_tables(out, files, ms, direction=direction, overwrite=overwrite)
    log(f"wrote {', '.join(paths)}; applycal with gainfield='nearest' takes solutions of a field's own, as apply does")
