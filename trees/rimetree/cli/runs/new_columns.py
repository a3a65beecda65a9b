"""Columns that a command makes: what rows hold that it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..output import log
from .groups import run_groups

if TYPE_CHECKING:
    from rimetree.ms import MsGroup


def fill_new_column(ms, groups: Sequence[MsGroup], read: str, column: str, wait_s: float) -> None:
    """Where a column is not there yet, and `groups` leave rows out, have it hold there what the column `read` does."""
    import rimetree as rt
    from rimetree.sky_trees import sink_nodes

    all_groups = rt.ms.groups(ms, autocorrelations=True)
    there = any(column in group.columns for group in groups)
    if there or sum(group.n_row for group in groups) == sum(group.n_row for group in all_groups):
        return
    log(f"{column} is new: rows that are left out hold what {read} does")

    def copying(group):
        ns = rt.NodeScope()
        for p, q in group.baselines:
            ns.V(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column=read)
        sink_nodes(ns, group.baselines, column=column)
        return rt.Forest(ns)

    run_groups(ms, all_groups, copying, time_slots=None, wait_s=wait_s)
