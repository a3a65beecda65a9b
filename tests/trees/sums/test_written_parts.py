"""Real sums of cosines, and terms of two stations in one exponential, are taken together; flags and solves of these."""

import numpy as np
import pytest
from written_scene import (
    BASELINES,
    CELLS,
    LM,
    LMN,
    N_SOURCE,
    N_TIME,
    STOKES,
    TEC,
    TURN,
    WIDTH_HZ,
    C,
    across,
    angle,
    check,
    path,
    phase,
    roots_of,
    scene,
    sinc,
    total,
)

import rimetree as rt

REAL = {
    "cosines": (lambda ns, p, q: total(lambda s: ns.flux(s) * rt.Cos(angle(ns, p, q, s))), 3),
    "sines": (lambda ns, p, q: total(lambda s: rt.Sin(angle(ns, p, q, s)) * ns.flux(s) / 2), 3),
    "both": (
        lambda ns, p, q: rt.ToComplex(
            total(lambda s: ns.flux(s) * rt.Cos(angle(ns, p, q, s))),
            total(lambda s: ns.flux(s) * rt.Sin(angle(ns, p, q, s))),
        ),
        3,
    ),
    "of opposite signs": (lambda ns, p, q: total(lambda s: -ns.flux(s) * rt.Sin(-angle(ns, p, q, s))), 3),
    "Q cos + U sin": (
        lambda ns, p, q: total(
            lambda s: STOKES[s, 1] * rt.Cos(angle(ns, p, q, s)) + rt.Sin(angle(ns, p, q, s)) * STOKES[s, 2]
        ),
        6,
    ),
    "real parts of phases": (
        lambda ns, p, q: total(lambda s: rt.Real(rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q))) * ns.flux(s)),
        3,
    ),
    "with smearing": (
        lambda ns, p, q: total(lambda s: ns.flux(s) * rt.Cos(angle(ns, p, q, s)) * sinc(across(ns, p, q, s))),
        3,
    ),
    "of real matrices": (
        lambda ns, p, q: total(lambda s: rt.Cos(angle(ns, p, q, s)) * rt.Constant([[1.0, 0.1 * s], [0.2, 2.0]])),
        3,
    ),
    "with a spectrum": (
        lambda ns, p, q: total(lambda s: rt.Cos(angle(ns, p, q, s)) * ns.flux(s) * (ns.nu / 1e9) ** -0.7),
        3,
    ),
    "with an angle": (lambda ns, p, q: total(lambda s: rt.Cos(angle(ns, p, q, s) + 0.1 * s) * ns.flux(s)), 3),
}


@pytest.mark.parametrize("spelling", REAL)
def test_sums_of_real_numbers(spelling):
    write, n_psv = REAL[spelling]
    check(write, n_psv, left=["Polar"] if spelling == "with an angle" else [])


def test_cosines_beside_complex_numbers_are_evaluated_as_written():
    def write(ns, p, q):
        return total(lambda s: rt.Constant(1.0 + 0.5j) * ns.flux(s) * rt.Cos(angle(ns, p, q, s)))

    forest, roots = roots_of(write)
    written = roots_of(write, as_written=True)[0].results(roots, CELLS)
    for got, wanted in zip(forest.results(roots, CELLS), written, strict=True):
        np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-12 * N_SOURCE)
    assert "PSV" not in forest.timing().classes
    assert any("may be complex" in note for note in forest.notes())


def test_cosines_beside_phases_are_numbers():
    """A beam or a rotation that looks like the real part of a phase."""

    def term(ns, p, q, s):
        beam = rt.Cos(1e-9 * ns.nu * ns.width(p) * ns.lmn(s)[0])
        return phase(ns, p, q, s) * beam * ns.B(s)

    def write(ns, p, q):
        if (p, q) == (0, 1):
            for station in range(3):
                ns.width(station) << rt.Constant(20 + station + np.arange(N_TIME), cells_rank=1)
        return total(lambda s: term(ns, p, q, s))

    forest, roots = roots_of(write)
    written = roots_of(write, as_written=True)[0].results(roots, CELLS)
    for got, wanted in zip(forest.results(roots, CELLS), written, strict=True):
        np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-12 * N_SOURCE)
    assert forest.timing().classes["PSV"]["evaluations"] == 3, forest.notes()


@pytest.mark.parametrize("spelling", ["cosines", "sines", "both", "with smearing"])
def test_derivatives_of_real_sums(spelling):
    write = REAL[spelling][0]
    results = []
    for as_written in (False, True):
        forest, roots = roots_of(write, parm=True, as_written=as_written)
        results.append(forest.results(roots, CELLS, derivatives=True))
    for got, wanted in zip(*results, strict=True):
        assert got.derivatives.keys() == wanted.derivatives.keys() and wanted.derivatives
        for parameter, slope in wanted.derivatives.items():
            np.testing.assert_allclose(
                *np.broadcast_arrays(got.derivatives[parameter], slope), rtol=0, atol=1e-12 * N_SOURCE
            )


def ionosphere(ns, p, s):
    return 8.4e8 * ns.tec(p, s) / ns.nu


ENDS = {
    "of a difference": lambda ns, p, q, s: (
        rt.Exp(1j * (angle(ns, p, q, s) + 8.4e8 * (ns.tec(p, s) - ns.tec(q, s)) / ns.nu)) * ns.B(s)
    ),
    "apart from the phase": lambda ns, p, q, s: (
        rt.Exp(8.4e8j * (ns.tec(p, s) - ns.tec(q, s)) / ns.nu) * phase(ns, p, q, s) * ns.B(s)
    ),
    "by cosine and sine": lambda ns, p, q, s: (
        rt.ToComplex(
            rt.Cos(8.4e8 * (ns.tec(p, s) - ns.tec(q, s)) / ns.nu), rt.Sin(8.4e8 * (ns.tec(p, s) - ns.tec(q, s)) / ns.nu)
        )
        * phase(ns, p, q, s)
        * ns.B(s)
    ),
    "of two terms": lambda ns, p, q, s: (
        rt.Polar(1, angle(ns, p, q, s) - ionosphere(ns, q, s) + ionosphere(ns, p, s)) * ns.B(s)
    ),
    "beside clocks": lambda ns, p, q, s: (
        rt.Exp(1j * (angle(ns, p, q, s) + 8.4e8 * (ns.tec(p, s) - ns.tec(q, s)) / ns.nu + 0.1 * (q - p) * s)) * ns.B(s)
    ),
    "conjugate": lambda ns, p, q, s: (
        rt.Conj(rt.Exp(1j * (8.4e8 / ns.nu * (ns.tec(q, s) - ns.tec(p, s)) - angle(ns, p, q, s)))) * ns.B(s)
    ),
}


@pytest.mark.parametrize("spelling", ENDS)
def test_terms_of_two_stations_in_one_exponential(spelling, monkeypatch):
    monkeypatch.setenv("RIMETREE_DEVICE", "none")  # devices have no programs of stacks
    term = ENDS[spelling]

    def write(ns, p, q):
        return total(lambda s: term(ns, p, q, s))

    forest = check(write, left=["Exp", "Polar"])
    made = forest.timing().classes.get("Exp", forest.timing().classes.get("Polar"))
    assert made["evaluations"] <= 3 * N_SOURCE + 3 * N_SOURCE * ("clocks" in spelling), "one for each station"
    if spelling in ("of a difference", "apart from the phase"):
        assert made["batches"] == 0, "within the programs of stacks"


def test_what_dampens_is_not_conjugated():
    """exp(-z) is the conjugate of exp(z) only where z is imaginary."""

    def term(ns, p, q, s):
        return rt.Exp((1e8j + 3e7) * (ns.tec(p, s) - ns.tec(q, s)) / ns.nu) * phase(ns, p, q, s) * ns.B(s)

    def write(ns, p, q):
        return total(lambda s: term(ns, p, q, s))

    check(write, left=["Exp"])


@pytest.mark.parametrize("what", ["coordinates", "flux"])
def test_flags_and_missing_data(what):
    """Of one source, or of a baseline."""

    def write(ns, p, q):
        low = rt.ZeroFlagger(rt.Time() - 15, oper="LT")
        ns.own(p, q) << (rt.MergeFlags(ns.uvw(p, q), low) if what == "coordinates" else ns.uvw(p, q))
        flux = [rt.MergeFlags(ns.flux(s), low) if what == "flux" and s == 2 else ns.flux(s) for s in range(N_SOURCE)]

        def x(s):
            return path(ns.own(p, q), ns.lmn(s))

        return total(lambda s: flux[s] * rt.Cos(TURN * ns.nu * x(s)) * sinc(np.pi / C * WIDTH_HZ * x(s)))

    forest, roots = roots_of(write)
    written = roots_of(write, as_written=True)[0].results(roots, CELLS)
    for got, wanted in zip(forest.results(roots, CELLS), written, strict=True):
        assert np.any(wanted.flags)
        np.testing.assert_array_equal(*np.broadcast_arrays(got.flags, wanted.flags))
        np.testing.assert_allclose(*np.broadcast_arrays(got.value, wanted.value), rtol=0, atol=1e-12 * N_SOURCE)


def solvable(what, as_written=None):
    """A Solver of planted numbers of each source but the first: a flux in a real sum, the electrons above a station in
    one exponential with those above another one, or a direction in smearing by hand. Gives the forest, the Parms, and
    what is planted."""
    ns = scene()
    planted, start = {"flux": (STOKES[:, 0], 0.5), "TEC": (0.2 * TEC[1], 0.0), "l": (LM[:, 0], LM[:, 0] + 1e-3)}[what]
    start = np.broadcast_to(start, N_SOURCE)
    condeqs = []

    for s in range(1, N_SOURCE):
        ns.unknown(s) << rt.Parm(start[s], solvable=True)

    def number(s, is_planted):
        return rt.Constant(planted[s]) if is_planted or s == 0 else ns.unknown(s)

    def term(p, q, s, x):
        if what == "flux":
            return x * rt.Cos(angle(ns, p, q, s)) * sinc(across(ns, p, q, s))
        if what == "TEC":
            own = {0: 0.0, 1: x, 2: ns.tec(2, s)}
            return rt.Exp(1j * (angle(ns, p, q, s) + 8.4e8 * (own[p] - own[q]) / ns.nu)) * ns.B(s)
        lmn = rt.Composer(x, rt.Constant(LMN[s, 1:]))
        way = path(ns.uvw(p, q), [x, rt.Constant(LMN[s, 1]), rt.Constant(LMN[s, 2])])
        return rt.VisPhaseShift(lmn, ns.uvw(p, q)) * sinc(np.pi / C * WIDTH_HZ * way) * ns.B(s)

    for p, q in BASELINES:
        data, model = (
            rt.Add(*(term(p, q, s, number(s, is_planted)) for s in range(N_SOURCE))) for is_planted in (True, False)
        )
        condeqs.append(ns.condeq(p, q) << rt.Condeq(data, model))
    ns.solver << rt.Solver(*condeqs)
    forest = rt.Forest(ns, as_written=as_written)
    return forest, [f"unknown:{s}" for s in range(1, N_SOURCE)], planted[1:]


@pytest.mark.parametrize("what", ["flux", "TEC", "l"])
def test_solves_find_what_is_planted(what):
    for as_written in (False, True):
        forest, unknowns, planted = solvable(what, as_written)
        assert forest.solve("solver", CELLS).converged
        found = [np.asarray(forest.get_state(name)["value"]).item() for name in unknowns]
        np.testing.assert_allclose(found, planted, rtol=0, atol=1e-8)
        assert as_written or "PSV" in forest.timing().classes, forest.notes()
