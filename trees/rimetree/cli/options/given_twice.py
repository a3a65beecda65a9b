"""Options that were given more than once and take one value only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from ..output import log


def warn_of_options_given_twice(command: click.Command, args: Sequence[str], parent: click.Context) -> None:
    """Of such an option the last value counts, as of all programs; but some options take several."""
    context = click.Context(command, parent=parent)
    try:
        _, rest, order = command.make_parser(context).parse_args(list(args))
    except click.UsageError:  # which is said when the command itself reads them
        return
    count = Counter(one for one in order if isinstance(one, click.Option))
    for option, n in count.items():
        if n > 1 and not (option.multiple or option.is_flag or option.count):
            log(f"warning: {max(option.opts, key=len)} is given {n} times: only the last one counts")
    if isinstance(command, click.Group) and rest and (inner := command.get_command(context, rest[0])) is not None:
        warn_of_options_given_twice(inner, rest[1:], context)
