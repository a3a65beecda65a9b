"""`rimetree bench`: how fast this machine is at what, with results that are checked."""

from __future__ import annotations

import click

from . import calibrate, correlate, psv, trees, tune


@click.group("bench")
def command() -> None:
    """Measure speed. Every case first checks its own results; what is wrong has no speed."""


for one in (psv, trees, tune, correlate, calibrate):
    command.add_command(one.command)
