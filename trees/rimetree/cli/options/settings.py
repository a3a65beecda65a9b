"""Options from a file of settings (TOML): `--settings FILE`."""

from __future__ import annotations

import difflib
import tomllib

import click

_OWN = "settings"


def settings_option(function):
    """--settings: what the command line does not say comes from a file."""
    return click.option(
        f"--{_OWN}",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_read,
        help="Take options from this file (TOML), named as here without dashes in front, e.g. in-turn = true or "
        'term = ["G: diag, 2min"]; what the command line says comes before it.',
    )(function)


def _read(ctx: click.Context, param: click.Parameter, file: str | None) -> None:
    if file is None:
        return
    try:
        with open(file, "rb") as opened:
            found = tomllib.load(opened)
    except OSError as problem:
        raise click.BadParameter(f"{file}: {problem.strerror}") from None
    except tomllib.TOMLDecodeError as problem:
        raise click.BadParameter(f"{file} is no TOML: {problem}") from None
    known = {
        text.lstrip("-"): one
        for one in ctx.command.params
        if isinstance(one, click.Option) and one.name != _OWN
        for text in (*one.opts, *one.secondary_opts)
    }
    values = {}
    for key, value in found.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise click.BadParameter(
                f"{file}: there is no option {key!r}" + (f"; did you mean {near[0]!r}?" if near else "")
            )
        values[known[key].name] = _fitting(file, key, value, known[key])
    ctx.default_map = {**(ctx.default_map or {}), **values}


def _fitting(file: str, key: str, value, option: click.Option):
    """A value as the command line would have it."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise click.BadParameter(f"{file}: {key} = {value!r}: expected true or false")
        return value
    if isinstance(value, dict | bool):
        raise click.BadParameter(f"{file}: {key} = {value!r}: expected text, a number or a list of these")
    if option.multiple:
        return value if isinstance(value, list) else [value]
    if isinstance(value, list) and option.nargs == 1:
        return ",".join(map(str, value))
    return value if isinstance(value, list) else str(value)
