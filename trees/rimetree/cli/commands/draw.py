"""`rimetree draw`: a forest as SVG."""

from __future__ import annotations

import click

from ..errors import Failed
from ..options.quantities import Count
from ..options.script_arguments import ScriptCommand
from ..output import log
from ..runs.forests import forest_options, forests


@click.command("draw", cls=ScriptCommand)
@forest_options
@click.option("-o", "--output", required=True, metavar="FILE", help="Picture to write, .svg.")
@click.option("--root", metavar="NODE", help='Only this node and what is below it, e.g. "V:0:1".')
@click.option(
    "--max-nodes",
    type=Count(min=1),
    default=150,
    show_default=True,
    help="Larger forests are drawn by batch: nodes of one class that are evaluated together.",
)
def command(output, root, max_nodes, **which) -> None:
    """Draw a forest as SVG: of a tree script, or the ready-made tree of a sky model on a Measurement Set.

    \b
    rimetree draw script.py sim.ms -o forest.svg
    rimetree draw sim.ms --sky field.skymodel --many-node --root V:0:1 -o baseline.svg

    Children point to the nodes that use them. Of several fields the first is drawn (--field chooses another). Needs
    Graphviz's program dot.
    """
    from rimetree import plots

    if not output.lower().endswith(".svg"):
        raise click.BadParameter(f"{output!r} must end in .svg", param_hint="--output")
    _, forest = next(forests(**which))
    names = {node["name"] for node in forest.nodes()}
    if root is not None and root not in names:
        near = [name for name in sorted(names) if root.lower() in name.lower()][:5]
        raise Failed(f"there is no node {root!r}" + (f"; similar are {', '.join(near)}" if near else ""))
    drawn = plots.draw(forest, output, root=root, max_nodes=max_nodes)
    log(f"wrote {output}: {drawn}")
