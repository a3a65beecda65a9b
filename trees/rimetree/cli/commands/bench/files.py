"""Files of figures: whether they can be written."""

from __future__ import annotations

import os

import click


def check_files(json_file: str | None, plot: str | None, bench) -> None:
    """Before minutes are spent: whether results can be written."""
    if plot and os.path.splitext(plot)[1].lower() not in bench.figure.ENDINGS:
        raise click.BadParameter(f"{plot!r} must end in {', '.join(bench.figure.ENDINGS)}", param_hint="--plot")
    for file in filter(None, (json_file, plot)):
        folder = os.path.dirname(os.path.abspath(file))
        if not os.path.isdir(folder):
            raise click.BadParameter(f"there is no folder {folder!r}")
