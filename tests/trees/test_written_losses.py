"""What scripts write by hand beside phases: smearing as sin(x)/x, real sums of cosines, terms of two stations in one
exponential. All are taken together like what classes give."""

import numpy as np
import pytest

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


SMEARED = {
    "channels": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(across(ns, p, q, s)) * ns.B(s),
    "exposures": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(along(ns, p, q, s)) * ns.B(s),
    "both": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(along(ns, p, q, s)) * (ns.B(s) * sinc(across(ns, p, q, s))),
    "in a row": lambda ns, p, q, s: (
        (phase(ns, p, q, s) * rt.Sin(across(ns, p, q, s)) / across(ns, p, q, s) * rt.Sin(along(ns, p, q, s)) * ns.B(s))
        / along(ns, p, q, s)
    ),
    "one quotient": lambda ns, p, q, s: (
        (phase(ns, p, q, s) * rt.Sin(across(ns, p, q, s)) * rt.Sin(along(ns, p, q, s)))
        / (across(ns, p, q, s) * along(ns, p, q, s))
        * ns.B(s)
    ),
    "phases by class": lambda ns, p, q, s: (
        rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) * sinc(across(ns, p, q, s)) * ns.B(s) * sinc(along(ns, p, q, s))
    ),
    "phases of stations": lambda ns, p, q, s: rt.MatrixMultiply(
        rt.VisPhaseShift(ns.lmn(s), ns.uvw(p)),
        sinc(across(ns, p, q, s)) * ns.B(s),
        rt.Conj(rt.VisPhaseShift(ns.lmn(s), ns.uvw(q))),
    ),
    "one by class": lambda ns, p, q, s: (
        phase(ns, p, q, s)
        * rt.TFSmearFactor(ns.lmn(s), ns.uvw(p, q), smear_frequency=False)
        * sinc(across(ns, p, q, s))
        * ns.B(s)
    ),
    "two by class": lambda ns, p, q, s: (
        phase(ns, p, q, s)
        * rt.TFSmearFactor(ns.lmn(s), ns.uvw(p, q), smear_frequency=False)
        * rt.TFSmearFactor(ns.lmn(s), ns.uvw(p, q), smear_time=False, freq_width_hz=WIDTH_HZ)
        * ns.B(s)
    ),
    "phases of a baseline that is turned round": lambda ns, p, q, s: (
        rt.Conj(phase(ns, p, q, s)) * sinc(across(ns, p, q, s)) * sinc(-1 * along(ns, p, q, s)) * ns.B(s)
    ),
    "never zero": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(across(ns, p, q, s) + 1e-20) * ns.B(s),
    "elements": lambda ns, p, q, s: rt.Matrix22(
        phase(ns, p, q, s) * sinc(across(ns, p, q, s)) * ns.B(s)[0, 0],
        0,
        0,
        phase(ns, p, q, s) * ns.B(s)[1, 1] * sinc(across(ns, p, q, s)),
    ),
}


@pytest.mark.parametrize("spelling", SMEARED)
def test_smearing_by_hand(spelling):
    term = SMEARED[spelling]
    forest = check(lambda ns, p, q: total(lambda s: term(ns, p, q, s)))
    assert not {"Divide", "TFSmearFactor"} & set(forest.timing().classes)


@pytest.mark.parametrize("scale", [1e-6, 3.0])
def test_smearing_by_hand_of_coordinates_in_other_units(scale):
    """In units that a phase is scaled by, and smearing as well."""

    def term(ns, p, q, s):
        other = path(ns.uvw(p, q), ns.lmn(s)) * scale
        k = rt.Polar(1, TURN / scale / 1.1 * ns.nu * other)
        return k * sinc(np.pi / C / scale * WIDTH_HZ * other) * ns.B(s)

    check(lambda ns, p, q: total(lambda s: term(ns, p, q, s)))


def test_smearing_by_hand_of_stacks():
    def write(ns, p, q):
        ll, m, n = (rt.Selector(ns.lmn, index=[-1, i]) for i in range(3))
        uvw = ns.uvw(p, q)
        way = uvw[0, 0] * ll + uvw[0, 1] * m + uvw[0, 2] * (n - 1)
        flux = rt.Composer(*(ns.flux(s) for s in range(N_SOURCE)))
        k = rt.Exp(1j * TURN * ns.nu * way) * sinc(np.pi / C * WIDTH_HZ * way) * flux
        return rt.Sum(k, reduction_axes=[], tensor_axis=0)

    check(write)


def test_a_source_at_the_phase_centre_is_not_smeared():
    """Where 0/0 is no number smearing is one."""
    ns = rt.NodeScope()
    ns.uvw << rt.Constant([100.0, 50.0, 10.0])
    ns.lmn(0) << rt.Constant([0.0, 0.0, 1.0])
    ns.lmn(1) << rt.Constant(LMN[1])

    def term(s):
        lmn = ns.lmn(s)
        way = ns.uvw[0] * lmn[0] + ns.uvw[1] * lmn[1] + ns.uvw[2] * (lmn[2] - 1)
        return rt.VisPhaseShift(ns.lmn(s), ns.uvw) * sinc(np.pi / C * WIDTH_HZ * way) * rt.Constant(np.eye(2))

    ns.V << term(0) + term(1)
    wanted = np.exp(1j * TURN * CELLS.freq_hz * ([100, 50, 10] @ (LMN[1] - [0, 0, 1])))
    wanted = 1 + wanted * np.sinc(WIDTH_HZ / C * ([100, 50, 10] @ (LMN[1] - [0, 0, 1])))
    got = rt.Forest(ns).evaluate("V", CELLS)
    np.testing.assert_allclose(got[0, 0], np.broadcast_to(wanted, got[0, 0].shape), rtol=0, atol=1e-12)


NO_SMEARING = {
    "a part of it varies with frequency": lambda ns, p, q, s: across(ns, p, q, s) + across(ns, p, q, s) * ns.nu / 1e9,
    "rates are not those of coordinates": lambda ns, p, q, s: across(ns, p, q, s) * (ns.nu / 1e9),
    "not just one factor": lambda ns, p, q, s: across(ns, p, q, s) * ns.uvw(p, q)[0, 0] * 1e-3,
}


@pytest.mark.parametrize("reason", NO_SMEARING)
def test_what_is_no_smearing_is_said(reason):
    x = NO_SMEARING[reason]
    forest, roots = roots_of(lambda ns, p, q: total(lambda s: phase(ns, p, q, s) * sinc(x(ns, p, q, s)) * ns.B(s)))
    written = roots_of(
        lambda ns, p, q: total(lambda s: phase(ns, p, q, s) * sinc(x(ns, p, q, s)) * ns.B(s)), as_written=True
    )[0]
    for got, wanted in zip(forest.results(roots, CELLS), written.results(roots, CELLS), strict=True):
        np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-12 * N_SOURCE)
    (note,) = (note for note in forest.notes() if "is no smearing of a source" in note)
    assert reason in note


def angle(ns, p, q, s):
    return TURN * ns.nu * path(ns.uvw(p, q), ns.lmn(s))


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


def test_what_keeps_a_term_from_a_sum_is_named_as_it_is_written():
    def write(ns, p, q):
        return total(lambda s: phase(ns, p, q, s) * sinc(across(ns, p, q, s)) * sinc(across(ns, p, q, s)) * ns.B(s))

    forest, roots = roots_of(write)
    forest.results(roots, CELLS)
    (note,) = (note for note in forest.notes() if "two factors of this kind" in note)
    assert "(Divide)" in note


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
def test_terms_of_two_stations_in_one_exponential(spelling):
    term = ENDS[spelling]

    def write(ns, p, q):
        return total(lambda s: term(ns, p, q, s))

    forest = check(write, left=["Exp", "Polar"])
    made = forest.timing().classes.get("Exp", forest.timing().classes.get("Polar"))
    assert made["evaluations"] <= 3 * N_SOURCE + 3 * N_SOURCE * ("clocks" in spelling), "one for each station"


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
