"""What machine this is."""

from __future__ import annotations

import ctypes
import os
import platform


def processor_name() -> str:
    """The name of the processor, where the system tells; else its kind, e.g. "aarch64"."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def size_text(count: float) -> str:
    """ "1.5 GiB" of a number of bytes."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def memory_bytes() -> int:
    """Size of the main memory; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


_M_MMAP_THRESHOLD = -3  # as GNU defines it
_M_ARENA_MAX = -8
_LARGE_BYTES = 4 << 20


def return_freed_memory() -> None:
    """Have large arrays given back to the system when they are freed.

    GNU's allocator keeps those up to 32 MiB once such have been freed, for each thread and with gaps between them: a
    set that is read tile by tile then takes up to twice as much. This costs some time, as the system clears what it
    gives. With other allocators nothing is done."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def give_back_freed_memory() -> None:
    """Give to the system what has been freed by now: what comes next takes other arrays. GNU's allocator keeps it else.

    With other allocators nothing is done."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def share_freed_memory() -> None:
    """Have all threads take memory from one place.

    GNU's allocator has a place for each thread, and one does not get what another has freed: where some read, work and
    write in turns a set, that was 14 MB. With other allocators nothing is done."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def free_memory_bytes() -> int:
    """What this process can still take of the main memory, within the limit of its control group; 0 where the system
    does not tell."""
    free = _field("/proc/meminfo", "MemAvailable:") * 1024
    limit = _number("/sys/fs/cgroup/memory.max")
    if limit:
        # Cached files that are not in use make room when room is needed.
        used = _number("/sys/fs/cgroup/memory.current") - _field("/sys/fs/cgroup/memory.stat", "inactive_file")
        free = min(free or limit, max(0, limit - used))
    return free


def resident_bytes() -> int:
    """What this process has of the main memory; 0 where the system does not tell."""
    return _field("/proc/self/status", "VmRSS:") * 1024


def _field(file: str, name: str) -> int:
    try:
        with open(file, encoding="utf-8") as stream:
            return next((int(line.split()[1]) for line in stream if line.startswith(name)), 0)
    except (OSError, ValueError):
        return 0


def _number(file: str) -> int:
    """0 where the file does not exist or holds no number ("max")."""
    try:
        with open(file, encoding="utf-8") as stream:
            return int(stream.read())
    except (OSError, ValueError):
        return 0
