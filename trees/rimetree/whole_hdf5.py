"""HDF5 files that are written as a whole, also on disks that get full."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import h5py

from .whole_file import whole_file


@contextmanager
def whole_hdf5(path) -> Iterator[h5py.File]:
    """A new HDF5 file, which takes the place of `path` when the block ends. Raises `OSError` where that fails.

    Of writes that fail HDF5 is not told: it would go on, say nothing of data that are lost, and end the program later.
    """
    with whole_file(path) as temporary, _Disk(temporary, "wb+") as disk:
        try:
            with h5py.File(disk, "w") as file:
                yield file
            disk.flush()
        finally:
            if disk.problem is not None:
                raise disk.problem


class _Disk(io.FileIO):
    """A file that remembers the first write that failed, and takes all others as if nothing were amiss."""

    problem: OSError | None = None

    def write(self, data) -> int:
        view = memoryview(data).cast("B")
        at = 0
        try:
            while self.problem is None and at < len(view):
                at += super().write(view[at:])
        except OSError as problem:
            self.problem = problem
        return len(view)

    def truncate(self, size=None) -> int:
        try:
            return super().truncate(size)
        except OSError as problem:
            self.problem = self.problem or problem
            return self.tell() if size is None else size
