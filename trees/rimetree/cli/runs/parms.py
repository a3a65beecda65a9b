"""Values of Parms that a run takes from files, and those that it leaves in one."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import click

from ..output import log


class GivenParms:
    """What files of Parms say, to be put into forests; of several the later come before the earlier."""

    def __init__(self, files: Sequence[str]):
        from rimetree import ParmTable

        self._files = files
        tables = [ParmTable.read(file) for file in files]
        self._table = functools.reduce(ParmTable.joined, tables) if tables else None

    def put_into(self, forest) -> None:
        """Values for the forest's Parms; says which were given and which were not."""
        from rimetree.some_names import some_names

        if self._table is None:
            return
        names = set(self._table.put_into(forest))
        others = [node["name"] for node in forest.nodes("Parm") if node["name"] not in names]
        rest = f"; as the script has them: {some_names(others)}" if others else ""
        unused = [name for name in self._table if name not in names]
        rest += f"; not in the tree: {some_names(unused)}" if unused else ""
        log(f"{len(names)} Parms from {', '.join(self._files)}{rest}")


class SavedParms:
    """A context at the end of which, also where it fails, a file has what Solvers of the forests in it have found."""

    def __init__(self, file: str | None):
        self._file = file
        self._forest = None
        self._table = None

    def follow(self, forest) -> None:
        """From now on this forest's solves count, too. Raises `UsageError` where it has no Solver."""
        if self._file is None:
            return
        if not forest.nodes("Solver"):
            raise click.UsageError("--save-parms: the tree has no Solver, which would find something to save")
        self._take()
        self._forest = forest

    def _take(self) -> None:
        """What the forest of now has found; it is let go of."""
        from rimetree import ParmTable

        if self._forest is not None:
            found = ParmTable.of(self._forest, self._forest.solves)
            self._table = found if self._table is None else self._table.joined(found)
        self._forest = None

    def __enter__(self) -> SavedParms:
        return self

    def __exit__(self, failure, *_) -> None:
        if self._file is None:
            return
        self._take()
        if self._table:
            self._table.write(self._file)
            log(f"{self._file}: {len(self._table)} Parms{' of what was solved before' if failure else ''}")
        elif failure is None:
            log(f"warning: {self._file} is not written: nothing was solved for")
