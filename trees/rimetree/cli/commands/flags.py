"""`rimetree flags`: versions of the flags of a Measurement Set."""

from __future__ import annotations

import click

from ..options.outcome import wait_option
from ..options.sets import require_ms, wait_until_writable
from ..output import log, table


@click.group("flags")
def command() -> None:
    """List, save and restore versions of the flags of a Measurement Set.

    They are kept beside it in MS.flagversions, as CASA's flagmanager keeps them, which can use them too. `rimetree
    apply` and `rimetree calibrate --apply` save a version before they write.
    """


@command.command("list")
@click.argument("ms", type=click.Path())
def list_command(ms) -> None:
    """List the versions of the flags of MS, the oldest first."""
    import rimetree as rt

    versions = rt.ms.flag_versions(require_ms(ms))
    if not versions:
        click.echo("no flag versions")
        return
    click.echo(table(["version", "comment"], [[one.name, one.comment] for one in versions], left=(0, 1)))


@command.command("save")
@click.argument("ms", type=click.Path())
@click.argument("name")
@click.option("--comment", default="", help="Text that is stored with the version.")
def save_command(ms, name, comment) -> None:
    """Save FLAG and FLAG_ROW of MS as version NAME."""
    import rimetree as rt

    log(f"saved {rt.ms.save_flags(require_ms(ms), name, comment).path}")


@command.command("restore")
@click.argument("ms", type=click.Path())
@click.argument("name", required=False)
@wait_option
def restore_command(ms, name, wait) -> None:
    """Give FLAG and FLAG_ROW of MS the values of version NAME. The version stays."""
    import rimetree as rt

    if name is None:
        known = ", ".join(one.name for one in rt.ms.flag_versions(require_ms(ms))) or "none"
        raise click.UsageError(f"say which version of the flags is restored: {ms} has {known}")
    wait_until_writable(require_ms(ms), [], wait)
    change = rt.ms.restore_flags(ms, name, wait_s=wait)
    every = max(1, change.visibilities)
    click.echo(
        f"{ms}: flags of {name} restored; flagged were {100 * change.before / every:.4g} % of the visibilities, "
        f"now are {100 * change.after / every:.4g} %"
    )
