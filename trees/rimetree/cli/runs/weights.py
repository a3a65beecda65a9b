"""--weights: what applying solutions does to the noise, or what noise was added, written as weights."""

from __future__ import annotations

import click

from ..errors import Failed
from ..options.asked_rows import ChosenRows
from ..options.sets import check_output
from ..output import log
from .applied import AppliedNotes, applied_digests

_COLUMN = "WEIGHT_SPECTRUM"


def weights_option(function):
    """--weights."""
    return click.option(
        "--weights",
        is_flag=True,
        help="Then multiply WEIGHT_SPECTRUM, which the set must have, by what correcting does to the noise (for gains: "
        "|g_p g_q|^2). Once: applying again would multiply again.",
    )(function)


def check_weights(ms: str, wait_s: float) -> None:
    """Raises where they cannot be written, before anything is."""
    check_output(ms, _COLUMN, wait_s, read=_COLUMN)


def require_spectra(ms: str, rows: ChosenRows, summary: dict) -> None:
    """Raises where `rows` have none: some writers make the column and fill it for no window, or for some."""
    chosen = {(group.field_id, window) for group in rows.groups(ms, summary) for window in group.data_desc_ids}
    for one in summary["groups"]:
        field, window = one["field_id"], one["data_desc_id"]
        if (field, window) in chosen and one["weight_column"] != _COLUMN:
            raise Failed(
                f"{ms}: {_COLUMN} of field {field}, window {window} holds no values, which --weights would multiply: "
                "leave these rows out (--field, --ddid), or --weights"
            )


def weight_notes(ms: str, files, rows: ChosenRows, direction: str | None) -> AppliedNotes:
    """Of what is to be done to the weights of `rows`."""
    from rimetree import calibration

    done = []
    for group in rows.groups(ms, by_window=True):
        own = applied_digests(calibration.chain_for(files, group), direction=direction)
        done.append((group, {"weighed": own["corrected"]}))
    return AppliedNotes(ms, _COLUMN, done, rows.selection)


def write_weights(
    ms: str, files, rows: ChosenRows, *, direction: str | None, interpolation: str, wait_s: float
) -> None:
    """Of `rows`, for solution sets of some files, the first outside the next."""
    import rimetree as rt
    from rimetree import calibration
    from rimetree.calibration.solutions.corrected_weights import weights_tree

    groups, notes = rows.groups(ms, by_window=True), weight_notes(ms, files, rows, direction)
    for index, group in enumerate(groups):
        ns, solutions = rt.NodeScope(), calibration.chain_for(files, group)
        weights_tree(ns, group, solutions, direction=direction, interpolation=interpolation)
        part = (index, len(groups), sum(one.n_row for one in groups))
        rt.Forest(ns).run(ms, wait_s=wait_s, part=part, **group.selection)
    notes.add()
    log(f"weights of corrected data are in {_COLUMN} of {ms}")


def write_noise_weights(ms: str, noise, groups, wait_s: float) -> None:
    """Those of a `ReceiverNoise`."""
    import rimetree as rt

    for index, group in enumerate(groups):
        ns = rt.NodeScope()
        for p, q in group.baselines:
            ns.weight(p, q) << noise.weight(ns, p, q, group.correlations)
            ns.sink(p, q) << rt.Sink(ns.weight(p, q), station_1_index=p, station_2_index=q, output_column=_COLUMN)
        part = (index, len(groups), sum(one.n_row for one in groups))
        rt.Forest(ns).run(ms, wait_s=wait_s, part=part, **group.selection)
    log(f"weights of the noise are in {_COLUMN} of {ms}")
