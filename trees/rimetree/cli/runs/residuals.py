"""The report of residuals: as text, JSON or a page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import click

from ..options.outcome import require_places
from ..output import log, table

_ENDINGS = (".html", ".json", ".txt")


def _checked(ctx, param, value: Sequence[str]) -> Sequence[str]:
    for file in value:
        if file != "-" and os.path.splitext(file)[1].lower() not in _ENDINGS:
            raise click.BadParameter(f"{file!r} must end in {', '.join(_ENDINGS)}, or be - for text on the screen")
    return require_places(ctx, param, value)


def report_option(function):
    """--report."""
    return click.option(
        "--report",
        multiple=True,
        metavar="FILE",
        callback=_checked,
        help="Predict the model again and write what is left of the data, before and after, by correlation, antenna, "
        "time, channel and direction, against the noise that the data show: a page with plots if FILE ends in .html, "
        "else .json or .txt; - prints the text. May be repeated.",
    )(function)


def residual_text(found) -> str:
    """Tables and lines of what is left."""
    from rimetree.calibration.report import residual_report as said

    lines = [
        "residual power over data power, before (model times one number for all) and after; the noise is half the mean",
        "square of differences of neighbouring channels or times, whichever is less:",
    ]
    lines.append(table(*said.residual_rows(found), left=(0, 1, 2)))
    headers, rows = said.direction_rows(found)
    if rows:
        lines += ["what is left of each direction's model in the residuals:", table(headers, rows, left=(0, 1, 2))]
    worst = ", ".join(f"{name} {left:.4g}" for name, left in said.worst_antennas(found))
    lines.append(f"antennas of which most is left (residual/data, parallel hands): {worst or 'none'}")
    return "\n".join([*lines, *said.signal_lines(found)])


def write_reports(ms: str, found, files: Sequence[str], *, summary: str, averaging: Sequence[dict] = ()) -> None:
    """Write reports of residuals; `summary`: of what was solved; `averaging`: how baselines were averaged for that."""
    from rimetree import calibration
    from rimetree.plots.residual_page import write_residual_page
    from rimetree.whole_file import write_text

    for file in files:
        if file == "-":
            click.echo(residual_text(found))
            continue
        ending = os.path.splitext(file)[1].lower()
        if ending == ".html":
            write_residual_page(
                file, found, title=f"Calibration of {os.path.basename(os.path.abspath(ms))}", summary=summary
            )
        elif ending == ".json":
            figures = calibration.residual_json(found) | ({"averaging": list(averaging)} if averaging else {})
            write_text(file, json.dumps(figures, indent=2) + "\n")
        else:
            write_text(file, f"{summary}\n\n{residual_text(found)}\n")
        log(f"wrote {file}")
