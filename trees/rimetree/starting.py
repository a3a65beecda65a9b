"""What is to be said before anything is loaded, in processes of the command `rimetree`: the package's first import.

NumPy's linear algebra starts a thread for each core, which waits for work in a loop: 0.07 s of processor time in each
command. Commands have no use for these threads. Modules and trees are many objects without cycles: looking for some
again and again takes 4 % of the time of `calibrate`. A program that imports the package keeps what it has set.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys

_VARIABLE = "OPENBLAS_NUM_THREADS"


def _is_command(arguments: list[str]) -> bool:
    """Whether a process that was started like this is `rimetree`, or `python -m rimetree.cli`."""
    if any(os.path.basename(one) == "rimetree" for one in arguments[:2]):
        return True
    at = arguments.index("-m") if "-m" in arguments else len(arguments)
    options = [one for before, one in itertools.pairwise(arguments[:at]) if before not in ("-X", "-W")]
    return arguments[at + 1 : at + 2] == ["rimetree.cli"] and all(one.startswith("-") for one in options)


if _is_command(sys.orig_argv) and "numpy" not in sys.modules:
    os.environ.setdefault(_VARIABLE, "1")
    gc.set_threshold(100_000, 20, 20)
