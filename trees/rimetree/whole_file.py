"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[str]:
    """Gives the name of a temporary file beside `path`, with the same ending, to be written.

    It replaces `path` when the block ends, and is removed where the block raises. Raises `OSError`, which names
    `path`, where the folder is missing, cannot be written or the disk is full.
    """
    file = os.path.realpath(os.fspath(path))
    temporary = _name_beside(path)
    try:  # from before there is a file: a signal may come at any time
        _create(temporary, path)
        yield temporary
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        os.chmod(temporary, _permissions(file))
        os.replace(temporary, file)
    except BaseException as problem:
        with suppress(OSError):
            os.unlink(temporary)
        cause = _of_the_system(problem)
        if cause is None:
            raise
        reason = cause.strerror or str(cause)
        raise OSError(cause.errno or errno.EIO, f"cannot be written: {reason}", os.fspath(path)) from problem


def claim_space(file: BinaryIO, count: int) -> None:
    """Makes an open file `count` bytes long. Raises `OSError` where the disk has no room for them: now, rather than in
    the middle, and what is written by way of memory (`numpy.memmap`) would end the program then."""
    try:
        os.posix_fallocate(file.fileno(), 0, count)
    except OSError as problem:
        if problem.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        file.truncate(count)  # of a file system that promises nothing


def require_place(path: str | os.PathLike) -> None:
    """Raises what `whole_file` would at its beginning: for what is written after a long computation."""
    temporary = _name_beside(path)
    try:
        _create(temporary, path)
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _name_beside(path: str | os.PathLike) -> str:
    """A name in the folder of `path`, with the same ending, that no other file has."""
    file = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(file)
    if os.path.isdir(file):
        raise IsADirectoryError(21, "this is a folder, not a file", os.fspath(path))
    if os.path.exists(file) and not os.path.isfile(file):  # /dev/null, which whoever may would replace
        raise OSError(errno.EINVAL, "this is no file that could be replaced", os.fspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(2, "there is no folder to write this file to", os.fspath(path))
    return os.path.join(folder, f".{name}.{secrets.token_hex(4)}{os.path.splitext(name)[1]}")


def _create(temporary: str, path: str | os.PathLike) -> None:
    """An empty file; raises `OSError` that names `path`."""
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as problem:
        raise OSError(problem.errno, f"cannot be written: {problem.strerror}", os.fspath(path)) from problem


def _of_the_system(problem: BaseException | None) -> OSError | None:
    """The error of the system behind another one, as where a library fails once more while it closes its file."""
    while isinstance(problem, Exception) and not isinstance(problem, OSError):
        problem = problem.__context__
    return problem if isinstance(problem, OSError) else None


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file (UTF-8) as a whole."""
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def _permissions(file: str) -> int:
    """The permissions of the file to be replaced, or what a new file gets here."""
    try:
        return stat.S_IMODE(os.stat(file).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
