"""The forests that `draw` and `explain` are about: of a script, or the ready-made one of a sky model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import click

from ..options.asked_rows import AskedRows
from ..options.beams import antennas_of
from ..options.data_selection import rows_options
from ..options.models import read_sky, sky_options
from ..options.sets import require_ms
from ..options.together import refuse_without
from ..options.trees import scope_of_sky, tree_options

_OF_READY_TREES = ("column", "no_smearing", "many_node", "phase_centre")


def forest_options(function: Callable) -> Callable:
    """Arguments and options that say which forest is meant."""
    for add in (tree_options, sky_options(required=False), rows_options):
        function = add(function)
    function = click.option(
        "--column", default="MODEL_DATA", show_default=True, help="Column that the tree of --sky writes."
    )(function)
    # The commands are ScriptCommands.
    return click.argument("what", nargs=-1, required=True, metavar="[SCRIPT.py] [MS] [-- ARGUMENTS...]")(function)


def forests(
    what,
    arguments,
    sky,
    sky_format,
    skip_unsupported,
    patches,
    beams,
    column,
    no_smearing,
    many_node,
    phase_centre,
    forest_arguments: dict | None = None,
    **chosen,
) -> Iterator:
    """(group or None, Forest) for each group of the Measurement Set; `chosen`: what `rows_options` gives."""
    import rimetree as rt
    from rimetree.script import Script

    what = list(what)
    script = None
    if os.path.splitext(what[0])[1] == ".py":
        script, what = what[0], what[1:]
    if (script is None) == (sky is None):
        raise click.UsageError("give a script (ending in .py), or --sky FILE and a Measurement Set")
    refuse_without("--sky", sky is not None, "patches", "sky_format", "skip_unsupported", *_OF_READY_TREES)
    beams.require(sky, phase_centre)
    ms = what.pop(0) if what else None
    if script is None and ms is None:
        raise click.UsageError("give a Measurement Set to which the tree of --sky belongs")
    how = forest_arguments or {}
    groups = [None]
    if ms is not None:
        summary = rt.ms.inspect(require_ms(ms), scan_cells=False)
        groups = AskedRows(**chosen).groups(ms, summary)
    if script is not None:
        written = Script(script, [*what, *arguments])
        for group in groups:
            yield group, rt.Forest(written.scope(group), **how)
        return
    model = beams.through(
        read_sky(sky, sky_format, skip_unsupported, patches), antennas_of(summary, [group.field_id for group in groups])
    )
    for group in groups:
        tree = {"no_smearing": no_smearing, "many_node": many_node, "phase_centre": phase_centre}
        yield group, rt.Forest(scope_of_sky(group, model, column, **tree), **how)
