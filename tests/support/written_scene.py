"""A few sources on three baselines, for trees in which a script writes phases, smearing and stations' terms by hand."""

import numpy as np

import rimetree as rt

C = 299792458.0
TURN = 2 * np.pi / C
N_SOURCE, N_TIME = 4, 5
WIDTH_S, WIDTH_HZ = 7.0, 3e7
CELLS = rt.Cells(10.0 * np.arange(N_TIME), np.linspace(1.0e9, 1.2e9, 6), time_width_s=10, freq_width_hz=4e7)
RNG = np.random.default_rng(11)
LM = RNG.uniform(0.01, 0.03, (N_SOURCE, 2))
LMN = np.column_stack([LM, np.sqrt(1 - (LM**2).sum(axis=1))])
STOKES = RNG.normal([1, 0, 0, 0], 0.2, (N_SOURCE, 4))
UVW = RNG.uniform(-30, 30, (3, 2, 3, N_TIME)) * [[[[1.0]], [[1.0]]]]
TEC = RNG.normal(size=(3, N_SOURCE))
BASELINES = [(0, 1), (0, 2), (1, 2)]


def scene(parm=False):
    """Directions, brightness, fluxes, and coordinates of three stations with rates. `parm`: a flux is solvable."""
    ns = rt.NodeScope()
    ns.nu << rt.Freq()
    ns.lmn << rt.Constant(LMN)
    for s in range(N_SOURCE):
        ns.lmn(s) << rt.Constant(LMN[s])
        ns.flux(s) << (rt.Parm(STOKES[s, 0], solvable=True) if parm and s == 1 else rt.Constant(STOKES[s, 0]))
        ns.B(s) << rt.Stokes(rt.Composer(ns.flux(s), rt.Constant(STOKES[s, 1:])))
        for p in range(3):
            ns.tec(p, s) << rt.Constant(TEC[p, s])
    for p in range(3):
        ns.uvw(p) << rt.Constant(UVW[p], cells_rank=1)
    for p, q in BASELINES:
        ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
    return ns


def path(uvw, lmn, row=0):
    return uvw[row, 0] * lmn[0] + uvw[row, 1] * lmn[1] + uvw[row, 2] * (lmn[2] - 1)


def roots_of(write, parm=False, baselines=BASELINES, **options):
    ns = scene(parm)
    for p, q in baselines:
        ns.V(p, q) << write(ns, p, q)
    return rt.Forest(ns, **options), [f"V:{p}:{q}" for p, q in baselines]


def check(write, n_psv=3, left=()):
    """That all of a tree is taken together, and gives what it gives as it is written; `left`: classes of functions that
    it still needs. Gives the forest."""
    forest, roots = roots_of(write)
    written = roots_of(write, as_written=True)[0].results(roots, CELLS)
    for got, wanted in zip(forest.results(roots, CELLS), written, strict=True):
        assert np.iscomplexobj(got.value) == np.iscomplexobj(wanted.value)
        a, b = np.broadcast_arrays(got.value, wanted.value)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * N_SOURCE)
    classes = forest.timing().classes
    assert classes["PSV"]["evaluations"] == n_psv, forest.notes()
    assert {"Exp", "Polar", "Cos", "Sin"} & set(classes) <= set(left)
    return forest


def total(term):
    return rt.Add(*(term(s) for s in range(N_SOURCE)))


def phase(ns, p, q, s):
    return rt.Exp(1j * TURN * ns.nu * path(ns.uvw(p, q), ns.lmn(s)))


def sinc(x):
    return rt.Sin(x) / x


def across(ns, p, q, s):
    """Half of what the phase changes by across a channel."""
    return np.pi / C * WIDTH_HZ * path(ns.uvw(p, q), ns.lmn(s))


def along(ns, p, q, s):
    """The same over an exposure."""
    return np.pi * WIDTH_S * ns.nu / C * path(ns.uvw(p, q), ns.lmn(s), 1)


def angle(ns, p, q, s):
    return TURN * ns.nu * path(ns.uvw(p, q), ns.lmn(s))
