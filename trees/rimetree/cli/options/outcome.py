"""What becomes of results: --dry-run, --report and --wait of commands that write to a set."""

from __future__ import annotations

from collections.abc import Callable

import click

from .quantities import DURATION


def outcome_options(function: Callable) -> Callable:
    """--dry-run, --report and --wait of a command that writes to a Measurement Set."""
    function = wait_option(function)
    function = click.option(
        "--report",
        metavar="FILE",
        callback=require_places,
        help="Also write the timing report: JSON if FILE ends in .json, else text.",
    )(function)
    return click.option(
        "--dry-run", is_flag=True, help="Check everything and say what would be done, but write nothing."
    )(function)


def require_places(ctx, param, value):
    """The value of an option of a file, or of several, to be written at the end; raises `OSError` where that could not
    be done."""
    from rimetree.whole_file import require_place

    for file in [value] if isinstance(value, str) else value or ():
        if file != "-":
            require_place(file)
    return value


def wait_option(function: Callable) -> Callable:
    """--wait."""
    return click.option(
        "--wait",
        type=DURATION,
        default=0.0,
        help="How long to wait if another program is writing to the set, e.g. 10min; default: do not wait. Programs "
        "that only read it do not matter.",
    )(function)
