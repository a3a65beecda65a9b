"""Measurement Sets that commands are given: whether they are there and can be written, and what is odd about them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import Failed
from ..output import log


def require_ms(path: str) -> str:
    """The path of a Measurement Set; raises `Failed` where there is none."""
    if not os.path.exists(path):
        raise Failed(f"there is no Measurement Set {path}")
    return path


def check_output(ms: str, column: str, wait_s: float, *, read: str | None = None, save_flags: bool = False) -> None:
    """Raises where a column, or before it a version of the flags, cannot be written, before anything is computed; and
    where it is the column to `read` and a run that did the same has not come to its end."""
    import rimetree as rt

    if column == "WEIGHT_SPECTRUM" and read != column:
        raise Failed(f"{ms}: WEIGHT_SPECTRUM holds weights: visibilities are not written there")
    wait_until_writable(ms, [column], wait_s)
    if column == read:
        for journal in rt.ms.inspect(ms, scan_cells=False)["progress"]:
            if journal["column"] == column:
                raise Failed(
                    f"{ms}: {journal['text']}; what has been written may have been changed already, and would be a "
                    "second time. Bring a copy of the data back; if that is done, delete "
                    f"{ms}/rimetree.{column}.progress"
                )
    if save_flags:
        rt.ms.require_flag_versions(ms)


def check_columns(ms: str, forest, wait_s: float) -> None:
    """Raises where one of the columns that the Sinks of a forest write cannot be written."""
    sinks = [node["name"] for node in forest.nodes() if node["class"] == "Sink"]
    columns = list(dict.fromkeys(forest.get_state(name)["output_column"] for name in sinks))
    if columns:
        wait_until_writable(ms, columns, wait_s)


def wait_until_writable(ms: str, columns: Sequence[str], wait_s: float) -> None:
    """Says that it waits, and for whom: a command that is silent for minutes looks as if it hung."""
    import rimetree as rt

    try:
        rt.ms.check_writable(ms, columns)
    except rt.ms.SetLockedError as error:
        if not wait_s > 0:
            raise
        log(f"waiting for up to {wait_s:g} s: {str(error).partition(';')[0]}")
        rt.ms.check_writable(ms, columns, wait_s=wait_s)


def warn_of_unfinished(group, forest) -> None:
    """Which of the columns that the Spigots of a forest read a run has not finished writing."""
    from rimetree.tile_values import columns_read

    for column in columns_read(forest):
        if column in group.unfinished:
            group.require_column(column)


def warn_of_exposures(summary: dict) -> None:
    """Where a model cannot be smeared in time as the data are."""
    exposures_s = summary["exposures_s"]
    if exposures_s and exposures_s[0] <= 0:
        which = "all" if exposures_s[-1] <= 0 else "some"
        log(f"warning: EXPOSURE is 0 s or negative in {which} rows: what is predicted there is not smeared in time")
    if n := summary["n_exposure_not_finite"]:
        log(f"warning: {n} rows have an EXPOSURE that is not a number: nothing can be predicted for them")
