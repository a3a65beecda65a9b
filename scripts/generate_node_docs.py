#!/usr/bin/env python3
"""Writes what is known of the node classes from their registry: docs/nodes.md and the type stubs
trees/rimetree/nodes.pyi.

    python scripts/generate_node_docs.py [--check]

With --check nothing is written; the exit status is 1 if a file is not what it would be.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

from rimetree import nodes
from rimetree.writing.signatures import VALUE_FIRST

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "nodes.md"
STUBS = ROOT / "trees" / "rimetree" / "nodes.pyi"

ANNOTATIONS = {
    "boolean": "bool",
    "integer": "int",
    "real": "float",
    "text": "str",
    "text_list": "list[str]",
    "array": "ArrayLike",
}
# Classes whose Python function is written by hand.
WRITTEN = {"PyNode": nodes.PyNode}

REFERENCE_HEAD = """\
# Node classes

Generated from the registry by `scripts/generate_node_docs.py`; do not edit. In Python the same is `help(rt.PSV)`.

Children are given by position or by label, state fields by name: `rt.LMN(radec, radec_0)`,
`rt.Spigot(station_1_index=0, station_2_index=1, input_column="UVW")`. A result is a tensor (its shape in brackets, `[]`
for a scalar) of values over time and frequency; an axis along which it does not vary has length 1.

**Flags** are bits, and any bit flags a cell. Where a class works element by element, or puts its children's elements
in another order (`Composer`, `Selector`, `Matrix22`, the transposes), an element has the flags of the elements that it
is made of; where an element is made of all elements of a child (products and inverses of matrices, `Norm`, `PSV`, ...)
all elements have the flags of all. Reductions over cells leave flagged cells out; a result is flagged, and 0, where all
that went into it is.

**Missing data.** Where the Measurement Set has no row of a baseline, the Spigots of it are *missing*, and so is what
has a missing child; what is missing is not written. Only `Add`, `ChiSquare` and `LogLikelihood` leave missing children
out and are missing if all are, and `MergeFlags` does without flags that are missing.

**Cells that do not vary.** `Sum` and `Mean` count all cells of the request: a child that has length 1 along an axis
that is summed over has its value on each cell of that axis.
"""

STUBS_HEAD = '''\
"""Generated from the registry by scripts/generate_node_docs.py; do not edit."""

from collections.abc import Callable, Sequence
from typing import Literal

from numpy.typing import ArrayLike

from . import _core as _core
from .writing.definitions import NodeDef
from .writing.scope import NodeStub

Child = NodeDef | NodeStub | ArrayLike

def refresh() -> dict[str, str]: ...
def class_infos() -> list[dict]: ...
def choices_of(class_name: str, field: str) -> tuple[str, ...]: ...
def documentation(info: dict) -> str: ...
def type_text(field: dict) -> str: ...
def default_text(field: dict) -> str: ...
'''


def reference(infos: list[dict]) -> str:
    """The page of all classes."""
    links = ", ".join(f"[{info['name']}](#{info['name'].lower()})" for info in infos)
    parts = [REFERENCE_HEAD, textwrap.fill(links, 118, break_long_words=False, break_on_hyphens=False) + "\n"]
    parts += [class_reference(info) for info in infos]
    return "\n".join(parts)


def class_reference(info: dict) -> str:
    """The section of one class."""
    lines = [f"## {info['name']}", "", info["summary"], ""]
    if info["name"] in WRITTEN:
        return "\n".join([*lines, "```text", inspect.getdoc(WRITTEN[info["name"]]), "```", ""])
    if info["formula"]:
        lines += ["```text", info["formula"], "```", ""]
    if info["children"]:
        rows = [
            (
                f"`{child['label']}`" + " (optional)" * child["optional"] + " (any number)" * child["repeated"],
                child["shape"],
                child["unit"],
                child["doc"],
            )
            for child in info["children"]
        ]
        lines += [*table(("Child", "Shape", "Unit", "Meaning"), rows), ""]
    if info["state"]:
        rows = [
            (
                f"`{field['name']}`",
                nodes.type_text(field),
                field["unit"],
                "required" if field["required"] else f"`{nodes.default_text(field)}`",
                field["doc"],
            )
            for field in info["state"]
        ]
        lines += [*table(("State", "Type", "Unit", "Default", "Meaning"), rows), ""]
    lines += [f"Result: {info['result']}.".replace("..", "."), ""]
    if info["reference"]:
        lines += [f"Reference: {info['reference']}.".replace("..", "."), ""]
    return "\n".join(lines)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return ["| " + " | ".join(row) + " |" for row in [list(head), ["---"] * len(head), *cells]]


def stubs(infos: list[dict]) -> str:
    """The type stubs of the module rimetree.nodes."""
    parts = []
    for info in infos:
        written = WRITTEN.get(info["name"])
        arguments = WRITTEN_ARGUMENTS[info["name"]] if written else class_arguments(info)
        text = inspect.getdoc(written) if written else nodes.documentation(info)
        lines = [f"def {info['name']}(", *(f"    {argument}," for argument in arguments), ") -> NodeDef:"]
        document = "\n".join(line.rstrip() for line in text.replace("\\", "\\\\").splitlines())
        body = textwrap.indent(f'"""{document}\n"""', "    ")
        parts.append("\n".join([*lines, body]) + "\n")
    names = "".join(f'    "{info["name"]}",\n' for info in infos)
    parts.append(f"__all__ = [\n{names}]\n")
    return STUBS_HEAD + "\n".join(parts)


WRITTEN_ARGUMENTS = {
    "PyNode": [
        "*children: Child",
        "evaluate: Callable[..., ArrayLike] | object",
        "pull_back: Callable[..., object] | None = None",
        "dims: Sequence[int] = ()",
        'depends_on: Sequence[str] = ("domain",)',
        'mixes: Sequence[str] = ("time", "freq", "l", "m")',
        "version: int | None = None",
        "origin: str | None = None",
    ]
}


def class_arguments(info: dict) -> list[str]:
    """Parameters of a class's function: children, then state fields by name."""
    state = list(info["state"])
    positional, repeated = [], []
    if info["name"] in VALUE_FIRST:
        field = next(field for field in state if field["name"] == "value")
        state.remove(field)
        positional.append(field_argument(field))
    for child in info["children"]:
        if child["repeated"]:
            repeated.append(f"*{child['label']}: Child | None")
        else:
            default = " | None = None" if child["optional"] or positional_has_default(positional) else ""
            positional.append(f"{child['label']}: Child{default}")
    fields = [field_argument(field) for field in state]
    return positional + (repeated or ["*"]) + fields + ["origin: str | None = None"]


def field_argument(field: dict) -> str:
    words = [f'"{word}"' for word in field["choices"]]
    annotation = f"Literal[{', '.join(words)}]" if words else ANNOTATIONS[field["type"]]
    argument = f"{field['name']}: {annotation}" + ("" if field["required"] else " = ...")
    if len(argument) < 115:
        return argument
    in_lines = "".join(f"        {word},\n" for word in words)  # as ruff formats it
    return argument.replace(f"[{', '.join(words)}]", f"[\n{in_lines}    ]")


def positional_has_default(arguments: list[str]) -> bool:
    return any("=" in argument for argument in arguments)


def main() -> int:
    infos = sorted(nodes.class_infos(), key=lambda info: info["name"].lower())
    stale = []
    for path, text in ((REFERENCE, reference(infos)), (STUBS, stubs(infos))):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv[1:]:
            stale.append(path.relative_to(ROOT))
        else:
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path} is out of date: run python scripts/generate_node_docs.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
