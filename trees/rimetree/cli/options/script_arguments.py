"""Arguments that a command hands on to a tree script."""

from __future__ import annotations

import click


class ScriptCommand(click.Command):
    """A command whose function takes `arguments`: what stands after "--" is a script's, whatever stands before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        after = args[end + 1 :]  # click empties the list
        rest = super().parse_args(ctx, args[:end])
        ctx.params["arguments"] = (*ctx.params.get("arguments", ()), *after)
        return rest
