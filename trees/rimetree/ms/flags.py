"""Versions of flags, kept beside a Measurement Set as CASA's flagmanager keeps them.

`x.ms.flagversions/FLAG_VERSION_LIST` has a line `name : comment` for each, `x.ms.flagversions/flags.NAME` is a table
with the columns FLAG and FLAG_ROW of all rows.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from .. import _core
from .._core import Error
from ..arguments import checked
from ..whole_file import write_text

_LIST = "FLAG_VERSION_LIST"
_NAME = re.compile(r"[A-Za-z0-9_.+-]+")


@dataclass(frozen=True)
class FlagVersion:
    """A version of the flags of a set: its name, what was noted with it, and the path of its table."""

    name: str
    comment: str
    path: str


@dataclass(frozen=True)
class FlagChange:
    """What restoring did: of so many `visibilities`, `before` were flagged and `after` are (by FLAG or FLAG_ROW)."""

    visibilities: int
    before: int
    after: int


def versions_folder(path: str | os.PathLike) -> str:
    """The folder of the flag versions of a set: `x.ms.flagversions` beside `x.ms`, or what the link `x.ms` leads to: a
    set has the same versions under each of its names."""
    return os.path.realpath(path) + ".flagversions"


@checked
def flag_versions(path: str | os.PathLike) -> list[FlagVersion]:
    """The versions that there are, in the order in which they were saved; none where nothing was saved."""
    folder = versions_folder(path)
    try:
        with open(os.path.join(folder, _LIST), encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        name, _, comment = line.partition(" : ")
        table = os.path.join(folder, f"flags.{name.strip()}")
        if name.strip() and os.path.isdir(table):
            found.append(FlagVersion(name.strip(), comment.strip(), table))
    return found


@checked
def require_flag_versions(path: str | os.PathLike) -> None:
    """Raises `Error` where no version could be saved: for what is done after a long computation."""
    folder = versions_folder(path)
    place = folder if os.path.lexists(folder) else os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(place):
        raise Error(f"flags of {os.fspath(path)} cannot be saved in {folder}: it is no folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise Error(f"flags of {os.fspath(path)} cannot be saved in {folder}: no permission to write to {place}")


@checked
def save_flags(path: str | os.PathLike, name: str, comment: str = "") -> FlagVersion:
    """Save FLAG and FLAG_ROW as a version. Raises `Error` where the name is taken or none, or the disk is full."""
    path = os.fspath(path)
    if not _NAME.fullmatch(name):
        raise Error(f"a flag version cannot be called {name!r}: use letters, digits and _ . + -")
    if "\n" in comment or "\r" in comment:
        raise Error("the comment of a flag version must be one line")
    return _save(path, lambda: name, comment)


@checked
def save_flags_before(path: str | os.PathLike, what: str) -> FlagVersion:
    """Save the flags under a name of its own, `before_WHAT_1`, `before_WHAT_2`, ..., with the time as the comment."""
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")

    def name() -> str:
        return next(one for n in itertools.count(1) if not _is_taken(path, one := f"before_{what}_{n}"))

    return _save(os.fspath(path), name, f"flags before rimetree {what}, {when} UTC")


def _is_taken(path: str | os.PathLike, name: str) -> bool:
    table = os.path.join(versions_folder(path), f"flags.{name}")
    return any(version.name == name for version in flag_versions(path)) or os.path.lexists(table)


def _save(path: str, name_of: Callable[[], str], comment: str) -> FlagVersion:
    """`name_of()` is asked for when no other process saves any."""
    folder = versions_folder(path)
    is_first = not os.path.lexists(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        with _alone_in(folder):
            return _saved(path, name_of(), comment)
    except BaseException as problem:
        if is_first:
            with contextlib.suppress(OSError):  # there was no folder, or there is something in it
                os.rmdir(folder)
        if isinstance(problem, OSError):
            reason = problem.strerror or os.strerror(problem.errno or errno.EIO)
            raise Error(f"flags of {path} cannot be saved in {folder}: {reason}") from problem
        raise


@contextlib.contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Waits until no other process saves flags there: it would not have the other's version in its list."""
    file = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _saved(path: str, name: str, comment: str) -> FlagVersion:
    known, folder = flag_versions(path), versions_folder(path)
    if _is_taken(path, name):
        raise Error(f"{path} has a flag version {name!r} already; choose another name")
    table = os.path.join(folder, f"flags.{name}")
    partial = table + ".partial"
    try:
        shutil.rmtree(partial, ignore_errors=True)
        _core.save_flags(path, partial)
        os.rename(partial, table)
        lines = [f"{version.name} : {version.comment}" for version in known]
        write_text(os.path.join(folder, _LIST), "\n".join([*lines, f"{name} : {comment}"]) + "\n")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return FlagVersion(name, comment, table)


@checked
def restore_flags(path: str | os.PathLike, name: str, *, wait_s: float = 0.0) -> FlagChange:
    """Give FLAG and FLAG_ROW the values of a version. `wait_s`: for how long to wait where another program writes to
    the set. Raises `Error` where there is no such version or it does not fit the set."""
    known = flag_versions(path)
    for version in known:
        if version.name == name:
            return FlagChange(**_core.restore_flags(os.fspath(path), version.path, float(wait_s)))
    names = ", ".join(version.name for version in known) or "none"
    raise Error(f"{os.fspath(path)} has no flag version {name!r}; there are {names}")
