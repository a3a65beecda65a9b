"""Options that only mean something together with others."""

from __future__ import annotations

import click
from click.core import ParameterSource


def refuse_without(others: str, there: bool, *names: str) -> None:
    """Raises where one of these options (by the names of their parameters) was given on the command line and `others`
    are not there. What a file of settings says may be for other runs, too."""
    if there:
        return
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in names and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(option.opts, key=len)} goes with {others}")
