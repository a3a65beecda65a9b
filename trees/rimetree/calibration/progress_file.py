"""What a calibration has found so far, in a file beside the one that it will write: chunk after chunk, each whole.

A record is its length, a checksum and the data; a record that was being written when the program was killed is short or
has a wrong checksum, and is dropped with all behind it. The first record says what is being solved; a run that would do
something else does not continue it. Where the solutions are used after that, which may change the set's flags, a last
record says that all is solved.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from ..arguments import checked
from ..whole_file import require_place
from .errors import CalibrationError

_ENDING = ".progress"
_MAGIC = b"RimeTree calibration 1\n"
_HEAD = struct.Struct("<QI")
_SECONDS_BETWEEN_WAITS = 2.0  # for the disk
_FOLLOWS = "chunks"  # of a task: from terms, rows and memory, so that it is told where it is all that differs
_LONGEST_VALUE = 60  # characters that are told; digests are longer
_SOLVED = {"solved": True}  # summary of the record after the last chunk
_CHANGED_BY_USE = ("flags",)  # of a task: what using solutions changes in the set


class ProgressFile:
    """Append-only file of the chunks that are solved. `path` is that of the solutions; the file is PATH.progress."""

    def __init__(self, path: str | os.PathLike, task: dict):
        self.path = os.fspath(path) + _ENDING
        self._task = json.dumps(task, sort_keys=True)
        self._on_disk = 0.0  # when all of it was

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether there is such a file, which nobody else writes meanwhile. Raises `CalibrationError` if another run is
        at it: what it says could not be told from what an interrupted run has left."""
        exists = os.path.exists(self.path)
        with self._opened() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                out = self.path.removesuffix(_ENDING)
                raise CalibrationError(
                    f"another calibration is writing {out}: wait for it, or give another name"
                ) from None
            except OSError:  # a file system without locks
                pass
            try:
                yield exists
            finally:
                with contextlib.suppress(FileNotFoundError):
                    if not exists and os.path.getsize(self.path) == 0:
                        os.unlink(self.path)

    def _opened(self) -> IO[bytes]:
        require_place(self.path.removesuffix(_ENDING))
        try:
            return open(self.path, "ab")
        except OSError as problem:
            raise self._not_written(problem) from problem

    def _not_written(self, problem: OSError) -> OSError:
        """Of a full disk Python does not say which file it was."""
        reason = problem.strerror or str(problem)
        return OSError(problem.errno or errno.EIO, f"cannot be written: {reason}", self.path)

    def begin(self) -> None:
        """A new file, without chunks; an old one is replaced."""
        self._write("wb", _MAGIC + _record(self._task.encode()))

    def resume(self) -> list[tuple[dict, dict[str, np.ndarray]]]:
        """(summary, arrays) of every chunk that was completed; what was written in part is cut off. Once all is solved,
        flags of the set may be others.

        Raises `CalibrationError` if the file is of another task or no such file.
        """
        with open(self.path, "rb") as file:
            content = file.read()
        if not content.startswith(_MAGIC) and not _MAGIC.startswith(content):
            raise CalibrationError(f"{self.path} was not written by a calibration; remove it to begin anew")
        records, good = _records(content)
        if not records:
            self.begin()
            return []
        found = [_unpacked(record) for record in records[1:]]
        chunks = [(summary, arrays) for summary, arrays in found if summary != _SOLVED]
        other = _difference(records[0].decode(), self._task, _CHANGED_BY_USE if len(chunks) < len(found) else ())
        if other:
            raise CalibrationError(
                f"{self.path} is of a calibration with other {other}; resume it with the same options and data, or "
                "give --overwrite to begin anew"
            )
        if good < len(content):
            with open(self.path, "rb+") as file:
                file.truncate(good)
                os.fsync(file.fileno())
        return chunks

    def add(self, summary: dict, arrays: dict[str, np.ndarray]) -> None:
        """Append one chunk; whatever happens to this program then, it is kept. A power failure may take the chunks of
        the last seconds."""
        buffer = io.BytesIO()
        np.savez(buffer, summary=np.array(json.dumps(summary)), **arrays)
        self._write("ab", _record(buffer.getvalue()))

    def all_solved(self) -> None:
        """Say that all is solved: what follows is what is done with the solutions."""
        self.add(_SOLVED, {})

    def _write(self, mode: str, data: bytes) -> None:
        try:
            with open(self.path, mode) as file:
                file.write(data)
                file.flush()
                if mode == "wb" or time.monotonic() - self._on_disk > _SECONDS_BETWEEN_WAITS:
                    os.fsync(file.fileno())
                    self._on_disk = time.monotonic()
        except OSError as problem:
            raise self._not_written(problem) from problem

    def remove(self) -> None:
        """When the solutions are written."""
        forget_progress(self.path.removesuffix(_ENDING))


@checked
def forget_progress(out: str | os.PathLike) -> None:
    """Remove the file of what was found on the way to the solutions in `out`, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.fspath(out) + _ENDING)


def _record(data: bytes) -> bytes:
    return _HEAD.pack(len(data), zlib.crc32(data)) + data


def _records(content: bytes) -> tuple[list[bytes], int]:
    """All whole records and where the last of them ends."""
    records, at = [], len(_MAGIC)
    while at + _HEAD.size <= len(content):
        length, checksum = _HEAD.unpack_from(content, at)
        data = content[at + _HEAD.size : at + _HEAD.size + length]
        if len(data) < length or zlib.crc32(data) != checksum:
            break
        records.append(data)
        at += _HEAD.size + length
    return records, at


def _unpacked(record: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    with np.load(io.BytesIO(record)) as arrays:
        found = dict(arrays)
    return json.loads(str(found.pop("summary"))), found


def _difference(old: str, new: str, besides: Sequence[str]) -> str:
    """What of two tasks differs; empty if nothing does."""
    before, now = json.loads(old), json.loads(new)
    told = ", ".join(_changes(before, now, (*besides, _FOLLOWS)))
    return told or ", ".join(_changes(before, now, besides))


def _changes(before: dict, now: dict, besides: Sequence[str] = ()) -> Iterator[str]:
    """What differs, with its values where these are short."""
    for key in sorted({*before, *now}.difference(besides)):
        one, other = before.get(key), now.get(key)
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            yield f"{key}: {', '.join(_changes(one, other))}"
            continue
        then, instead = _text(one), _text(other)
        yield key if max(len(then), len(instead)) > _LONGEST_VALUE else f"{key} ({then} then, {instead} now)"


def _text(value) -> str:
    if value in (None, "", []):
        return "none"
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
