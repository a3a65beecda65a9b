"""What machine this is."""

from __future__ import annotations

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


def memory_bytes() -> int:
    """Size of the main memory; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
