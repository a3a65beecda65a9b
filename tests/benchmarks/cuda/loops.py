"""Loops that keep their inputs on a device: predictions of a run, chi-square with its gradient, and a calibration.

    python tests/benchmarks/cuda/loops.py [--device cuda:0] [--antennas 64] [--sources 1000] [--slots 10] ...

Of each iteration it prints the time, where it went, and the bytes that were copied to the device and back. "arithmetic"
is what the node's class took without copies, "needed" the copies of what had changed since the last iteration,
"avoidable" those of what had not, "overhead" the framework. The first iteration, in which everything is sent, has a
line of its own.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

import rimetree as rt

CHANNEL_HZ = 1e6


def observation(options, generator):
    """Scope with lmn, brightness of solvable fluxes and UVW; baselines; cells."""
    n = options.sources
    lm = 0.02 * generator.uniform(-1, 1, (n, 2))
    lmn = np.concatenate([lm, np.sqrt(1 - (lm**2).sum(axis=1, keepdims=True))], axis=1)
    array = rt.telescopes.get("meerkat")
    ns = rt.NodeScope()
    ns.radec_0 << rt.Constant(np.radians([0.0, -50.0]))
    ns.lmn << rt.Constant(lmn)
    for p in range(options.antennas):
        ns.uvw(p) << rt.UVW(ns.radec_0, array.ecef_m[p], array.centre_ecef_m)
    pairs = list(itertools.combinations(range(options.antennas), 2))
    for p, q in pairs:
        ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
    times = 5.2e9 + 10.0 * np.arange(options.slots)
    return ns, pairs, rt.Cells(times, 1.4e9 + CHANNEL_HZ * np.arange(options.channels))


def report(what: str, forest: rt.Forest, iterate, n_iteration: int, work: float) -> None:
    """Times `iterate(i)` n_iteration + 1 times; the first alone. `work`: source-visibilities of one."""
    device = forest.device_statistics()
    before = dict(device[0]) if device else {}
    for first, numbers in ((True, range(1)), (False, range(1, n_iteration + 1))):
        forest.reset_timing()
        start = time.perf_counter()
        for i in numbers:
            iterate(i)
        n = len(numbers)
        seconds = (time.perf_counter() - start) / n
        timing = forest.timing()
        psv = timing.classes.get("PSV", {})
        needed, avoidable = psv.get("changed_seconds", 0.0) / n, psv.get("unchanged_seconds", 0.0) / n
        arithmetic = psv.get("seconds", 0.0) / n - needed - avoidable
        after = forest.device_statistics()[0] if device else {}
        up, down = ((after.get(k, 0) - before.get(k, 0)) / n for k in ("bytes_up", "bytes_down"))
        copy = (after.get("copy_seconds", 0) - before.get("copy_seconds", 0)) / n
        print(
            f"{what + (', first' if first else ''):<44}{1e3 * seconds:10.2f} ms {work / seconds:10.3g}/s; PSV: "
            f"arithmetic {1e3 * arithmetic:.2f}, needed {1e3 * needed:.2f}, avoidable {1e3 * avoidable:.2f} ms;"
            f" framework {1e3 * timing.overhead_seconds / n:.2f} ms of {1e3 * timing.total_seconds / n:.2f};"
            f" {up:.0f} bytes up, {down:.0f} down, copies {1e3 * copy:.2f} ms",
            flush=True,
        )
        before = dict(after)


def predicted(options, generator):
    """As `observation`, and a forest with the visibilities V(p, q) of fixed fluxes, of whose names a list."""
    ns, pairs, cells = observation(options, generator)
    ns.B << rt.Constant(generator.uniform(0.1, 1, options.sources))
    for p, q in pairs:
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q))
    return ns, pairs, cells, rt.Forest(ns, device=options.device), [ns.V(p, q).name for p, q in pairs]


def predictions(options) -> None:
    """A group of time slots after the other."""
    _, pairs, cells, forest, roots = predicted(options, np.random.default_rng(1))

    def group(i):
        later = rt.Cells(cells.time_s + 1000.0 * i, cells.freq_hz)
        forest.results(roots, later)

    work = float(options.sources) * len(pairs) * options.slots * options.channels
    report("predict, a time-slot group", forest, group, options.iterations, work)


def gradients(options) -> None:
    """Chi-square and its gradient by the flux of each source, at other fluxes each time."""
    generator = np.random.default_rng(2)
    ns, pairs, cells = observation(options, generator)
    flux = generator.uniform(0.1, 1, options.sources)
    for s in range(options.sources):
        ns.flux(s) << rt.Parm(float(flux[s]), solvable=True)
    ns.B << rt.Composer(*(ns.flux(s) for s in range(options.sources)))
    shape = (2, 2, options.slots, options.channels)
    for p, q in pairs:
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q))
        data = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
        ns.R(p, q) << rt.Condeq(rt.Constant(data, cells_rank=2), ns.V(p, q))
    ns.chi2 << rt.ChiSquare(*(ns.R(p, q) for p, q in pairs))
    forest = rt.Forest(ns, device=options.device)
    moved = [flux * (1 + 0.01 * generator.standard_normal(len(flux))) for _ in range(options.iterations + 1)]
    work = float(options.sources) * len(pairs) * options.slots * options.channels
    report(
        f"chi-square, gradient by {options.sources} fluxes",
        forest,
        lambda i: forest.chi_square("chi2", cells, moved[i]),
        options.iterations,
        work,
    )


def calibration(options) -> None:
    """Diagonal gains of all antennas, constant, of a model that PSV predicts; data without noise."""
    generator = np.random.default_rng(3)
    ns, pairs, cells, model, roots = predicted(options, generator)
    seen = [np.asarray(one.value) for one in model.results(roots, cells)]
    parts = generator.standard_normal((2, options.antennas, 2))
    gains = 1 + 0.2 * (parts[0] + 1j * parts[1])
    for p in range(options.antennas):
        for k in range(2):
            ns.re(p, k) << rt.Parm(1.0, solvable=True)
            ns.im(p, k) << rt.Parm(0.0, solvable=True)
        ns.G(p) << rt.Matrix22(rt.ToComplex(ns.re(p, 0), ns.im(p, 0)), 0, 0, rt.ToComplex(ns.re(p, 1), ns.im(p, 1)))
    for (p, q), one in zip(pairs, seen, strict=True):
        data = gains[p][:, None, None, None] * one * gains[q].conj()[None, :, None, None]
        ns.R(p, q) << rt.Condeq(rt.Constant(data, cells_rank=2), ns.G(p) @ ns.V(p, q) @ ns.G(q).H)
    ns.solver << rt.Solver(*(ns.R(p, q) for p, q in pairs))
    forest = rt.Forest(ns, device=options.device)
    start = time.perf_counter()
    found = forest.solve("solver", cells)
    print(f"calibration, diagonal gains of {options.antennas} antennas: {time.perf_counter() - start:.3f} s")
    print(found)
    print(forest.timing())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    for name, default in (("antennas", 64), ("sources", 1000), ("slots", 10), ("channels", 64), ("iterations", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    predictions(chosen)
    gradients(chosen)
    calibration(chosen)
