"""--weights: what applying solutions does to the noise, written as weights."""

from __future__ import annotations

import click

from ..options.sets import check_output
from ..output import log

_COLUMN = "WEIGHT_SPECTRUM"


def weights_option(function):
    """--weights."""
    return click.option(
        "--weights",
        is_flag=True,
        help="Then multiply WEIGHT_SPECTRUM, which the set must have, by what correcting does to the noise (for gains: "
        "|g_p g_q|^2). Once: applying again multiplies again.",
    )(function)


def check_weights(ms: str, wait_s: float) -> None:
    """Raises where they cannot be written, before anything is."""
    check_output(ms, _COLUMN, wait_s, read=_COLUMN)


def write_weights(ms: str, files, rows: dict, *, direction: str | None, interpolation: str, wait_s: float) -> None:
    """Of `rows` (as of `rt.ms.groups`), for solution sets of some files, the first outside the next."""
    import rimetree as rt
    from rimetree import calibration
    from rimetree.calibration.solutions.corrected_weights import weights_tree

    groups = rt.ms.groups(ms, **rows, by_window=True)
    for index, group in enumerate(groups):
        ns, solutions = rt.NodeScope(), calibration.chain_for(files, group)
        weights_tree(ns, group, solutions, direction=direction, interpolation=interpolation)
        part = (index, len(groups), sum(one.n_row for one in groups))
        rt.Forest(ns).run(ms, wait_s=wait_s, part=part, **group.selection)
    log(f"weights of corrected data are in {_COLUMN} of {ms}")
