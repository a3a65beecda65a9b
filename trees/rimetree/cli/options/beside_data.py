"""A sky beside the visibilities of a column: --add-to, --subtract-from and --again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import click
from click.core import ParameterSource


@dataclass(frozen=True)
class AskedSum:
    """What --add-to and --subtract-from (columns, or None) and --again say."""

    add_to: str | None
    subtract_from: str | None
    again: bool

    @property
    def column(self) -> str | None:
        """The column that is read."""
        return self.add_to or self.subtract_from

    @property
    def of_tree(self) -> dict[str, str | None]:
        """As arguments of ready-made trees."""
        return {"add_to": self.add_to, "subtract_from": self.subtract_from}


def sum_options(function: Callable) -> Callable:
    """--add-to, --subtract-from and --again of a command with --column, as an argument `beside`, an `AskedSum`."""

    @functools.wraps(function)
    def with_sum(*arguments, add_to, subtract_from, again, **given):
        if add_to and subtract_from:
            raise click.UsageError("give --add-to or --subtract-from, not both")
        asked = AskedSum(add_to or None, subtract_from or None, again)
        source = click.get_current_context().get_parameter_source("column")
        if asked.column and source is ParameterSource.DEFAULT:
            option = "--add-to" if add_to else "--subtract-from"
            raise click.UsageError(f"with {option} say where to write with --column; it may be {asked.column} itself")
        if again and asked.column != given["column"]:
            raise click.UsageError("--again is for --add-to or --subtract-from the column that is written")
        return function(*arguments, beside=asked, **given)

    with_sum = click.option(
        "--again",
        is_flag=True,
        help="Add or subtract what was added or subtracted before, in a column that is read and written.",
    )(with_sum)
    with_sum = click.option(
        "--subtract-from",
        metavar="COLUMN",
        help="Write what is left of this column when the sky is subtracted.",
    )(with_sum)
    return click.option(
        "--add-to",
        metavar="COLUMN",
        help="Write the sum of this column and the sky (and the noise): sources put into observed data, or noise into "
        "simulated data.",
    )(with_sum)
