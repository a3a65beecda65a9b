"""What memory held before it was PSV's changes nothing: gradients by the matrix product of smeared sources."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rimetree as rt

N_STATION, N_SOURCE = 20, 16
BASELINES = [(p, q) for p in range(N_STATION) for q in range(p + 1, N_STATION)]
CELLS = rt.Cells(10.0 * np.arange(4), 1.4e9 + 1e6 * np.arange(16), time_width_s=10, freq_width_hz=1e6)


def tree():
    rng = np.random.default_rng(1)
    lm = rng.uniform(-0.01, 0.01, (N_SOURCE, 2))
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))]))
    ns.B << rt.Stokes(rt.Constant(rng.normal([1, 0, 0, 0], 0.2, (N_SOURCE, 4))))
    for p in range(N_STATION):
        ns.uvw(p) << rt.Constant(rng.normal(size=(2, 3)) * [[300], [0.1]])
        ns.g(p) << rt.Parm(900.0 + p, solvable=True)  # with numbers of 1e306 from memory it becomes infinite
        ns.J(p) << ns.g(p) * rt.Constant(rng.normal(size=(N_SOURCE, 4, 16)), cells_rank=2)
    for p, q in BASELINES:
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p) - ns.uvw(q), None, ns.J(p), rt.ConjTranspose(ns.J(q)))
        ns.c(p, q) << rt.Condeq(rt.Constant(np.zeros((2, 2))), ns.V(p, q))
    ns.chi2 << rt.ChiSquare(*(ns.c(p, q) for p, q in BASELINES))
    return rt.Forest(ns, threads=1, device="none")


def largest_error():
    """Of the gradient, beside the sum of what each visibility contributes."""
    forest = tree()
    expected = np.zeros(N_STATION)
    for one in forest.results([f"V:{p}:{q}" for p, q in BASELINES], CELLS, derivatives=True):
        for (name, _), slope in one.derivatives.items():
            expected[int(name[2:])] += 2 * (np.conj(one.value) * slope).real.sum()
    _, gradient = forest.value_and_gradient("chi2", CELLS)
    assert any("derivatives by the matrix product" in note for note in forest.notes()), forest.notes()
    return np.abs(gradient - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("memory", ["as it is", "large numbers"])
def test_gradients_do_not_read_what_memory_held(memory):
    # The C library of Linux fills memory with this byte's complement: numbers of 1e306.
    held = {"MALLOC_PERTURB_": "128"} if memory == "large numbers" else {}
    done = subprocess.run([sys.executable, __file__], env=os.environ | held, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1e-13


if __name__ == "__main__":
    print(largest_error())
