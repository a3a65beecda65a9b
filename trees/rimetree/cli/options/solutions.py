"""How solutions are applied to data."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence

import click

from ..output import log
from .applied_terms import of_terms
from .fields import chosen_fields, names_of, of_fields
from .names import NAMES


def solution_files_options(what: str, *, required: bool) -> Callable:
    """--solutions, --from-field and --terms; `what` solutions are for begins the help."""
    return functools.partial(_with_solution_files, what=what, required=required)


def _with_solution_files(function: Callable, what: str, required: bool) -> Callable:
    function = click.option(
        "--terms",
        type=NAMES,
        metavar="NAMES",
        help="Use these terms of the solutions only: names or patterns, e.g. K,G*; !R leaves out.",
    )(function)
    function = click.option(
        "--from-field",
        type=NAMES,
        metavar="FIELD",
        help="Use the solutions of these fields of the set only, of terms that have any there.",
    )(function)
    return click.option(
        "--solutions",
        required=required,
        multiple=True,
        metavar="FILE",
        help=f"{what}H5parm file, written by `rimetree calibrate` or another program; FILE:SET or FILE:SET/TERM for "
        "one of its solution sets, or one term of it; or a calibration table of CASA. May be repeated: the first "
        "stands outside the next.",
    )(function)


def interpolation_option(function: Callable) -> Callable:
    """--interpolation."""
    return click.option(
        "--interpolation",
        type=click.Choice(["nearest", "linear"]),
        default="nearest",
        show_default=True,
        help="Between solutions: nearest takes that of the interval; linear interpolates amplitude and phase.",
    )(function)


def flag_version_option(function: Callable) -> Callable:
    """--no-flag-version."""
    return click.option("--no-flag-version", is_flag=True, help="Do not save the flags first (see `rimetree flags`).")(
        function
    )


def read_solutions(files: Sequence[str], from_field, terms, summary: dict) -> list:
    """[file] solution sets, of these fields of a set (None: of all), and of these terms."""
    from rimetree import calibration

    places = [os.path.realpath(file) for file in files]
    if twice := [file for k, file in enumerate(files) if places[k] in places[:k]]:
        raise click.UsageError(f"--solutions {twice[0]} is given twice, and would be applied twice")
    found = [calibration.read_solutions(file) for file in files]
    if message := calibration.casa_order_warning(found):
        log(f"warning: {message}")
    if from_field is not None:
        fields = chosen_fields(summary, from_field) or range(len(summary["fields"]))
        found = of_fields(found, fields, names_of(summary))
    return found if terms is None else of_terms(found, terms)


def solutions_options(function):
    """How solutions are used: --direction, --interpolation, --output-column, --no-flag-version."""
    function = flag_version_option(function)
    function = click.option(
        "--output-column",
        default="CORRECTED_DATA",
        show_default=True,
        help="Column to write; created if it is missing.",
    )(function)
    function = interpolation_option(function)
    return click.option(
        "--direction",
        metavar="NAME",
        help="Correct also for the terms of this patch or source; default: only for those of the whole sky.",
    )(function)
