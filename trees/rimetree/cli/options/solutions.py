"""How solutions are applied to data."""

from __future__ import annotations

import click


def solutions_options(function):
    """How solutions are used: --direction, --interpolation, --output-column, --no-flag-version."""
    function = click.option(
        "--no-flag-version", is_flag=True, help="Do not save the flags first (see `rimetree flags`)."
    )(function)
    function = click.option(
        "--output-column",
        default="CORRECTED_DATA",
        show_default=True,
        help="Column to write; created if it is missing.",
    )(function)
    function = click.option(
        "--interpolation",
        type=click.Choice(["nearest", "linear"]),
        default="nearest",
        show_default=True,
        help="Between solutions: nearest takes that of the interval; linear interpolates amplitude and phase.",
    )(function)
    return click.option(
        "--direction",
        metavar="NAME",
        help="Correct also for the terms of this patch or source; default: only for those of the whole sky.",
    )(function)
