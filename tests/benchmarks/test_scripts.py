"""The benchmarks that are scripts, each with a small problem: they run, and say what they are there to say."""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def said(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(line: str) -> dict[str, float]:
    """Of a line of loops.py: {what: number}."""
    return {name: float(number) for number, name in re.findall(r"(\d+) (bytes up|down)", line)}


def test_loops_keep_their_inputs_on_a_device():
    """Four antennas and five sources, all in double precision."""
    small = {"device": "simulated", "antennas": "4", "sources": "5", "slots": "2", "channels": "3", "iterations": "2"}
    lines = said("cuda/loops.py", *(f"--{name}={value}" for name, value in small.items())).splitlines()
    predicted, gradient = ([one for one in lines if one.startswith(what)] for what in ("predict", "chi-square"))
    first, later = map(numbers, predicted)
    assert first["down"] == later["down"] == 6 * 2 * 3 * 4 * 16  # baselines, slots, channels, correlations
    assert later["bytes up"] < first["bytes up"]
    first, later = map(numbers, gradient)
    assert first["bytes up"] > later["bytes up"] == 8 * 5  # the fluxes
    assert later["down"] == 8 * (5 + 2)  # the gradient, and what goes with chi-square
    assert any("1 of 1 groups of unknowns converged" in one for one in lines)


def test_random_chains():
    (line,) = said("random_chains.py", "0", "1", "K: delay").splitlines()
    ratio = re.search(r": (\d\.\d+), 1 of 1 converged", line)
    assert ratio and abs(float(ratio[1]) - 1) < 0.02 and "WRONG" not in line


def test_chains_of_terms():
    assert {"P: phase, 1slot | A: amplitude, 4chan | L: leakage"} < set(said("chains_of_terms.py", "list").split("\n"))
    assert said("chains_of_terms.py", "P: phase, 1slot | L: leakage").splitlines()[-1] == "2 of 2 are right"
    planted = said("chains_of_terms.py", "--planted", "5", "K: delay | T: tec, per patch")
    assert planted.splitlines()[-1] == "2 of 2 are right"


def test_planted_directions():
    assert {"tec", "tec-dead0"} <= set(said("planted_directions.py", "list").split())


def test_phases_by_brute_force():
    assert "2 cases: worse 0" in said("phases_by_brute_force.py", "phase", "2")
