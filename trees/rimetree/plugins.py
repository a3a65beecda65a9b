"""Loading node classes from shared libraries."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from . import _core, nodes
from .arguments import checked

_OWN = Path(__file__).parent / "librimetree_nodes.so"
_CUDA = Path(__file__).parent / "librimetree_nodes_cuda.so"  # where it was built with a CUDA toolkit


@dataclass(frozen=True)
class Plugin:
    """What a plugin brought: its `name`, `path`, what it says `about` itself, the `classes` it registered and the
    names it could not register because another plugin had them, or itself (`clashes`)."""

    name: str
    path: str
    about: str
    classes: list[str]
    clashes: list[str]


@checked
def load_plugin(path: str | os.PathLike) -> Plugin:
    """Load a shared library of node classes; they appear as functions of `rimetree`.

    A class whose name is taken, or that no script could write since names are no words of Python, is left out, with a
    warning. Raises `Error` if there is no such file, if it is not a RimeTree plugin, or if it was built for another ABI
    version.
    """
    plugin = Plugin(**_core.load_plugin(os.fspath(path)))
    problems = nodes.refresh()  # the functions are made from what is registered now
    for name in plugin.classes:
        if name in problems:
            warnings.warn(f"plugin {plugin.name!r}: node class {name!r} was left out: {problems[name]}", stacklevel=3)
    plugin = replace(plugin, classes=[name for name in plugin.classes if name not in problems])
    twice = [name for name in plugin.clashes if name in plugin.classes]
    if twice:
        warnings.warn(
            f"plugin {plugin.name!r} registers {', '.join(twice)} more than once; the first one counts", stacklevel=3
        )
    taken = [name for name in plugin.clashes if name not in plugin.classes]
    if taken:
        warnings.warn(
            f"plugin {plugin.name!r}: node classes {', '.join(taken)} exist already and were left out", stacklevel=3
        )
    return plugin


def load_cuda() -> Plugin | None:
    """The plugin for GPUs; None where it was not built."""
    return Plugin(**_core.load_plugin(os.fspath(_CUDA))) if _CUDA.is_file() else None


load_cuda()
#: The project's own node classes, which are a plugin like any other.
own_plugin = Plugin(**_core.load_plugin(os.fspath(_OWN)))
nodes.refresh()
