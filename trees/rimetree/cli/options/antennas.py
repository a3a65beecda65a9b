"""Options that are repeated for several kinds of antennas: [ANTENNAS=]WHAT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import click

from ..errors import Failed


class OfAntennas(Protocol):
    """`antennas`: names or patterns; none: all others."""

    antennas: tuple[str, ...]


Asked = TypeVar("Asked", bound=OfAntennas)


class NamedAntenna(Protocol):
    """`number`: among those of a set; `used`: whether there are data of it."""

    name: str
    number: int
    used: bool


def divided(text: str) -> tuple[tuple[str, ...], str]:
    """Names or patterns of antennas, and what is for them. Raises `ValueError` where = stands behind no names."""
    names, equals, what = text.partition("=")
    if not equals:
        return (), text
    antennas = tuple(name.strip() for name in names.split(",") if name.strip())
    if not antennas:
        raise ValueError(f"{text!r}: expected antennas before =, e.g. CM*={what.strip()}")
    return antennas, what


def refuse_two_for_all(option: str, asked: Sequence[OfAntennas], example: str) -> None:
    """Raises a usage error if more than one of a repeated option names no antennas; `example`: one that does."""
    if sum(not one.antennas for one in asked) > 1:
        raise click.UsageError(f"{option} is repeated: say for which antennas each is, as in {example}")


def askers(option: str, asked: Sequence[Asked], antennas: Sequence[NamedAntenna]) -> dict[int, Asked]:
    """What of a repeated option is for each antenna with data, by its number. Raises `Failed` for one of which none, or
    two, were given."""
    from rimetree.ms.selection import fitting_antennas

    names = {antenna.number: antenna.name for antenna in antennas}
    found: dict[int, Asked] = {}
    for one in asked:
        for number in set(fitting_antennas(names, one.antennas)):
            if number in found:
                raise Failed(f"two {option} are for antenna {names[number]}")
            found[number] = one
    for one in asked:
        if not one.antennas:
            found = dict.fromkeys(names, one) | found
    used = [antenna.number for antenna in antennas if antenna.used]
    if without := [names[number] for number in used if number not in found]:
        more = ", ..." if len(without) > 10 else ""
        raise Failed(
            f"no {option} is for antenna {', '.join(without[:10])}{more}; give one without names for all others"
        )
    return {number: found[number] for number in used}
