"""Commands that documents and examples show are commands that there are, with options that there are."""

import ast
import inspect
import re
import shlex
import textwrap
from pathlib import Path

import click
import pytest

from rimetree.cli import cli

ROOT = Path(__file__).resolve().parents[3]
SHOWN = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/benchmarks/*.md")])
WHOLE = re.compile(r"^ *(?:\w+=\S+ )?rimetree ((?:.*\\\n)*.*)$", re.MULTILINE)  # a line of a block of code
NAMED = re.compile(r"`(?:\w+=\S+ )?rimetree ([^`]*)`")  # in a sentence, where arguments may be left out


def lines(expression: re.Pattern, text: str) -> list[list[str]]:
    found = [match.replace("\\\n", " ") for match in expression.findall(text)]
    return [shlex.split(line, comments=True) for line in found if "..." not in line]


def resolved(arguments: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    command, context = cli, click.Context(cli, info_name="rimetree")
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        below = command.get_command(context, arguments[0])
        if below is None:
            raise click.UsageError(f"there is no command {arguments[0]}")
        command, context, arguments = below, click.Context(below, info_name=arguments[0], parent=context), arguments[1:]
    return command, context, arguments


def parse(arguments: list[str]) -> None:
    """Raises click.UsageError where the command line would be refused before anything is done."""
    command, context, rest = resolved(arguments)
    if not isinstance(command, click.Group):
        command.make_context(command.name, rest, parent=context.parent)


def look_up(arguments: list[str]) -> None:
    """Raises click.UsageError where the command or one of its options is not there."""
    command, context, rest = resolved(arguments)
    known = {name for option in command.get_params(context) for name in (*option.opts, *option.secondary_opts)}
    for name in rest:
        if name.startswith("--") and name.split("=")[0] not in known | {"--"}:
            raise click.UsageError(f"there is no option {name}")


def complaints(text: str) -> list[str]:
    found = []
    for expression, check in ((WHOLE, parse), (NAMED, look_up)):
        for arguments in lines(expression, text):
            try:
                check(arguments)
            except click.UsageError as error:
                found.append(f"rimetree {shlex.join(arguments)}: {error.format_message()}")
    return found


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_documents_show_commands_that_there_are(path):
    assert not complaints(path.read_text(encoding="utf-8"))


def test_the_readme_shows_some():
    assert len(lines(WHOLE, (ROOT / "README.md").read_text(encoding="utf-8"))) >= 6


@pytest.mark.parametrize(
    "text",
    ["rimetree make-mss x.ms", "    rimetree image x.ms --no-such-option", "rimetree image x.ms", "see `rimetree imag`",
     "see `rimetree image --colum`", "rimetree image x.ms \\\n  --sise 3 -o x.png"],
)  # fmt: skip
def test_wrong_commands_would_be_found(text):
    assert len(complaints(text)) == 1


def shown_in_help() -> list[list[str]]:
    """The examples of all commands' helps, each without "rimetree"."""
    found = []
    for name in cli.list_commands(click.Context(cli)):
        text = inspect.cleandoc(cli.get_command(click.Context(cli), name).help or "")
        found += [line for line in lines(WHOLE, text) if line[0] == name]
    return found


def test_examples_of_helps_would_be_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = shown_in_help()
    assert {line[0] for line in found} >= {"calibrate", "apply", "inspect-ms", "make-ms", "image", "plot-solutions"}
    for line in found:
        parse(line[: line.index(">") if ">" in line else None])


def commands(group: click.Group, name: str = "") -> list[tuple[str, click.Command]]:
    found, context = [], click.Context(group)
    for one in group.list_commands(context):
        below = group.get_command(context, one)
        found += commands(below, f"{name}{one} ") if isinstance(below, click.Group) else [(name + one, below)]
    return found


def unused(function) -> set[str]:
    """Arguments that a function takes and does nothing with."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    used = {node.id for part in tree.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    return {argument.arg for argument in (*tree.args.args, *tree.args.kwonlyargs)} - used


@pytest.mark.parametrize("command", [pytest.param(one, id=name) for name, one in commands(cli)])
def test_no_option_is_ignored(command):
    assert not unused(command.callback)


def test_what_is_ignored_is_found():
    def of_both(start, duration):
        return duration

    assert unused(of_both) == {"start"}
