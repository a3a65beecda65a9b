"""The number of threads: what is asked for, else the environment, else what the process may use."""

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree.cli import cli


@pytest.fixture
def threads_of(monkeypatch):
    """A function: how many threads a forest has, asked for so many, with these environment variables."""

    def threads_of(asked=None, own=None, openmp=None):
        for name, value in (("RIMETREE_NUM_THREADS", own), ("OMP_NUM_THREADS", openmp)):
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        ns = rt.NodeScope()
        ns.x << rt.Constant(1.0)
        return rt.Forest(ns, threads=asked).plan()["threads"]

    return threads_of


def test_what_counts_first(threads_of):
    assert threads_of(2, "3", "5") == 2
    assert threads_of(None, "3", "5") == 3
    assert threads_of(None, None, "5,2") == 5
    assert 1 <= threads_of() <= len(os.sched_getaffinity(0))


def test_a_mistake_is_told(threads_of, monkeypatch):
    with pytest.raises(rt.Error, match=r'RIMETREE_NUM_THREADS is "all"; expected a number of threads'):
        threads_of(None, "all")
    result = CliRunner().invoke(cli, ["info"])
    assert result.exit_code == 1
    assert "RIMETREE_NUM_THREADS" in result.output
    monkeypatch.setenv("RIMETREE_NUM_THREADS", "3")
    assert ", 3 threads;" in CliRunner().invoke(cli, ["info"]).output


@pytest.mark.parametrize("command", ["simulate", "run", "image", "explain", "bench psv"])
def test_help_says_what_the_default_is(command):
    text = " ".join(CliRunner().invoke(cli, [*command.split(), "--help"]).output.split())
    assert (
        "default: the environment variable RIMETREE_NUM_THREADS, else OMP_NUM_THREADS, else one for each core" in text
    )


def test_threads_that_cannot_be_started_are_an_error():
    """The program had waited for ever for those that had been started. Here there is room for the stacks of some."""
    script = (
        "import resource, rimetree as rt\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**30,) * 2)\n"
        "ns = rt.NodeScope()\n"
        "ns.x << rt.Constant(1.0)\n"
        "try:\n    rt.Forest(ns, threads=100000)\n"
        "except rt.Error as error:\n    print(error)\n"
        "print(rt.Forest(ns, threads=2).evaluate(ns.x).item())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    said, value = done.stdout.splitlines()
    assert re.match(r"of 100000 threads only \d+ could be started: .*; ask for fewer$", said) and value == "1.0"
