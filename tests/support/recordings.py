"""Files of voltages, and correlating them by command."""

from __future__ import annotations

import numpy as np

COMMON = ["--phase-centre", "4h00m00s", "-26d42m00s", "--start", "2025-01-01T13:28:32"]


def groups(path, counters, word=33, inputs=4):
    """A file of groups of so many inputs."""
    words = np.full((len(counters), inputs), word, "<u2")
    np.column_stack([np.asarray(counters) % 65536, words]).astype("<u2").tofile(path)
    return path


def correlate(command, layout, file, *more, code=0):
    options = ["--format", "mwa32t", "--layout", layout, *COMMON, "--integration", "1ms", "-o", file.parent / "o.ms"]
    return command("correlate", file, *options, *more, code=code)
