"""Ready-made trees of a sky over the groups of a set: what is checked and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..options.models import model_of
from ..options.trees import scope_of_sky
from .applied import AppliedNotes, summed_digests
from .groups import memory_text, run_groups
from .new_columns import fill_new_column

if TYPE_CHECKING:
    from rimetree.ms import MsGroup


def run_trees_of_sky(ms, groups: Sequence[MsGroup], tree: dict, resources: dict, accuracy: dict, **how) -> list:
    """Write what `groups` see of a sky, or what a column then is. `tree`: as of `scope_of_sky`. Returns
    [(group, RunReport)], none of a dry run.

    `how`: `dry_run`, `wait` (s), `verify`, `as_written`, `selection` of the rows of the groups, or None, and `again`:
    whether the same may be done a second time to a column that is read and written.
    """
    import rimetree as rt

    read = tree["add_to"] or tree["subtract_from"]
    for group in groups if read else ():
        group.require_column(read)
    notes = None
    if read == tree["column"]:
        subtract = tree["subtract_from"] is not None
        done = [(one, summed_digests(model_of(tree["sky"], one), tree["noise"], subtract=subtract)) for one in groups]
        notes = AppliedNotes(ms, read, done, how["selection"])
        notes.check(how["again"])

    def forest_of(group):
        options = {key: resources[key] for key in ("threads", "device")}
        options["memory_bytes"] = int(resources["memory"]) if resources["memory"] else None
        own = {**tree, "sky": model_of(tree["sky"], group)}
        return rt.Forest(scope_of_sky(group, **own), as_written=how["as_written"], **options)

    time_slots = resources["time_slots"]
    if how["dry_run"]:
        for group in groups:
            click.echo(f"{group}; {memory_text(forest_of(group), group, time_slots)}")
        click.echo("dry run: nothing was written")
        return []
    if read:
        fill_new_column(ms, groups, read, tree["column"], how["wait"])
    options = {"verify": how["verify"], "wait_s": how["wait"]}
    reports = run_groups(ms, groups, forest_of, time_slots=time_slots, **accuracy, **options)
    if notes is not None:
        notes.add()
    return reports
