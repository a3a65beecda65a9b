"""What commands print: tables on stdout, and the progress of long work on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from ..utc import utc_text


def log(text: str) -> None:
    """A line about what is being done, on stderr."""
    click.echo(text, err=True)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], *, left: Sequence[int] = (0,)) -> str:
    """Columns of text, right-aligned but for those whose numbers are in `left`."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(headers), *cells]) for i in range(len(headers))]

    def line(row: Sequence[str]) -> str:
        parts = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(parts).rstrip()

    return "\n".join([line(list(headers)), line(["-" * width for width in widths]), *map(line, cells)])


@contextmanager
def progress(title: str, column: str) -> Iterator:
    """A function to give to `Forest.run` as `progress`: a bar on a terminal, else a line every few seconds."""
    if sys.stderr.isatty():
        with _bar(title) as show:
            yield show
    else:
        yield _lines(title, column)


def _lines(title: str, column: str):
    last = time.monotonic()

    def show(tiles_done: int, tiles: int, rows_done: int, rows: int, time_s: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 5 or tiles_done == tiles:
            last = now
            share = 100 * rows_done / rows if rows else 100.0
            log(f"{title}: {share:.0f} % ({rows_done} of {rows} rows), {column} written up to {utc_text(time_s)} UTC")

    return show


@contextmanager
def _bar(title: str) -> Iterator:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[until]}"),
    ]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, until="")

        def show(tiles_done: int, tiles: int, rows_done: int, rows: int, time_s: float) -> None:
            bar.update(task, total=rows, completed=rows_done, until=f"up to {utc_text(time_s)} UTC")

        yield show
