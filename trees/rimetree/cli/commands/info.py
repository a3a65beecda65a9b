"""`rimetree info`: versions, devices, node classes."""

from __future__ import annotations

import platform
import shutil
import sys

import click

from ..errors import Failed
from ..output import table


@click.command("info")
@click.option("--nodes", is_flag=True, help="List the node classes.")
@click.option("--node", metavar="CLASS", help="Explain a node class: formula, children, state, units, e.g. PSV.")
@click.option("--plugin", multiple=True, metavar="FILE", help="Load this plugin (.so) first; may be repeated.")
def command(nodes, node, plugin) -> None:
    """Show versions, devices and processor features; --nodes and --node tell what trees are made of."""
    import rimetree as rt

    loaded = [rt.load_plugin(file) for file in plugin]
    infos = rt.nodes.class_infos()
    if node is not None:
        click.echo(_help(rt, infos, node))
        return
    if nodes:
        rows = [[info["name"], info["summary"]] for info in sorted(infos, key=lambda info: info["name"].lower())]
        click.echo(table(["class", "what it computes"], rows, left=(0, 1)))
        return
    click.echo("\n".join(_about(rt, infos, loaded)))


def _help(rt, infos: list[dict], name: str) -> str:
    by_lower = {info["name"].lower(): info for info in infos}
    info = by_lower.get(name.lower())
    if info is None:
        near = [one["name"] for one in infos if name.lower() in one["name"].lower()]
        raise Failed(f"there is no node class {name!r}" + (f"; similar are {', '.join(near)}" if near else ""))
    labels = [f"*{c['label']}" if c["repeated"] else c["label"] for c in info["children"]]
    fields = [
        f"{field['name']}={'...' if field['required'] else rt.nodes.default_text(field)}" for field in info["state"]
    ]
    return f"{info['name']}({', '.join([*labels, *fields])})\n\n{rt.nodes.documentation(info)}"


def _about(rt, infos: list[dict], loaded: list) -> list[str]:
    import astropy
    import numpy as np

    from rimetree import _core, plugins
    from rimetree.machine import processor_name

    machine = _core.machine()
    own, cuda = plugins.own_plugin, plugins.load_cuda()
    lines = [
        f"rimetree {rt.__version__}, plugin ABI {machine['plugin_abi_version']}",
        f"Python {platform.python_version()} ({sys.executable}), NumPy {np.__version__}, astropy {astropy.__version__}",
        "",
        f"CPU: {processor_name()}, {machine['threads']} threads; {own.about}",
        f"CUDA: {cuda.about if cuda else 'none in this build'}",
        f"devices: {', '.join([*machine['devices'], 'host', 'simulated', 'simulated:BYTES'])}",
        f"dot (for draw): {shutil.which('dot') or 'not found'}",
        "",
        f"{len(infos)} node classes (--nodes lists them): {own.name} from {own.path}",
    ]
    lines += [f"plugin {one.name}: {', '.join(one.classes)} from {one.path}; {one.about}" for one in loaded]
    return lines
