"""Programs that end while a daemon thread evaluates a tree."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading, time
import numpy as np
import rimetree as rt

ns = rt.NodeScope()
ns.lmn << rt.Constant(np.stack([np.zeros(3000), np.zeros(3000), np.ones(3000)], axis=1))
ns.uvw << rt.Constant([100.0, 200.0, 30.0]) * (rt.Time() * 1e-3)
ns.kernel << rt.PSV(ns.lmn, rt.Constant(np.ones(3000)), ns.uvw)
ns.function << rt.PyNode(evaluate=lambda cells: (time.sleep(1e-3), 1.0)[1])
forest, cells = rt.Forest(ns), rt.Cells(np.arange(100.0), np.linspace(1e9, 2e9, 200))

def work():
    while True:
        forest.evaluate(sys.argv[1], cells)
        forest.forget()
        begun.set()

begun = threading.Event()
threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.05)
print("main thread ends", flush=True)
"""


@pytest.mark.parametrize("node", ["kernel", "function"])
def test_they_end_quietly(node):
    """Most of them had been aborted: Python ends such threads by unwinding them, which C++ does not survive."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, node], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for one in running:
        said, errors = one.communicate(timeout=60)
        assert (one.returncode, said, errors) == (0, "main thread ends\n", "")


def test_a_forked_process_waits_for_no_thread_of_the_other():
    script = SCRIPT.replace("print(", "pid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint(").replace(
        "import sys,", "import os, sys,"
    )
    done = subprocess.run([sys.executable, "-c", script, "kernel"], capture_output=True, text=True, timeout=8)
    assert done.returncode == 0 and done.stdout == 2 * "main thread ends\n"
