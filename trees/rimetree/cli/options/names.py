"""Arguments that are lists of names or numbers."""

from __future__ import annotations

import re

import click


class Names(click.ParamType):
    """Numbers, names or patterns with commas between them, as a tuple of text; `3~5` is 3, 4 and 5."""

    name = "names"

    def convert(self, value, param, ctx) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found: list[str] = []
        for part in (part.strip() for part in value.split(",")):
            span = re.fullmatch(r"(\d+)~(\d+)", part)
            if span and int(span[1]) > int(span[2]):
                self.fail(f"{part!r}: the smaller number comes first")
            if not part:
                self.fail(f"{value!r}: expected numbers or names with commas between them, or a range such as 3~5")
            found += map(str, range(int(span[1]), int(span[2]) + 1)) if span else [part]
        return tuple(found)


class Numbers(Names):
    """Numbers, or ranges of them, with commas between them, as a tuple of integers."""

    name = "numbers"

    def convert(self, value, param, ctx) -> tuple[int, ...]:
        found = super().convert(value, param, ctx)
        if wrong := [one for one in found if not str(one).isdigit()]:
            self.fail(f"{wrong[0]!r} is no number; expected e.g. 0,2 or 3~5")
        return tuple(map(int, found))


NAMES, NUMBERS = Names(), Numbers()
