"""Phases of sources that a script writes by hand, as exp(i x) of numbers, are taken together like those of a class."""

import numpy as np
import pytest

import rimetree as rt

C = 299792458.0
TURN = 2 * np.pi / C
N_SOURCE, N_TIME = 4, 5
CELLS = rt.Cells(10.0 * np.arange(N_TIME), np.linspace(1.0e9, 1.2e9, 6), time_width_s=10, freq_width_hz=4e7)
RNG = np.random.default_rng(5)
LM = RNG.uniform(-0.03, 0.03, (N_SOURCE, 2))
LMN = np.column_stack([LM, np.sqrt(1 - (LM**2).sum(axis=1))])
STOKES = RNG.normal([1, 0, 0, 0], 0.2, (N_SOURCE, 4))
UVW_M = RNG.uniform(-30, 30, (2, 3, N_TIME))


def scene(moving=True):
    """Directions, brightness and coordinates of two stations; `moving`: the latter vary in time."""
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(LMN)
    ns.B << rt.Stokes(rt.Constant(STOKES))
    ns.nu << rt.Freq()
    for s in range(N_SOURCE):
        ns.lmn(s) << rt.Constant(LMN[s])
        ns.B(s) << rt.Stokes(rt.Constant(STOKES[s]))
    for p in (0, 1):
        ns.uvw(p) << (rt.Constant(UVW_M[p], cells_rank=1) if moving else rt.Constant(UVW_M[p, :, 0]))
    ns.uvw << ns.uvw(0) - ns.uvw(1)
    return ns


def path(uvw, lmn):
    return uvw[0] * lmn[0] + uvw[1] * lmn[1] + uvw[2] * (lmn[2] - 1)


def expanded(ns, s):
    """Each product by itself, and in wavelengths."""
    turns = 2 * np.pi / (C / ns.nu)
    u, v, w = (ns.uvw[i] for i in range(3))
    ll, m, n = (ns.lmn(s)[i] for i in range(3))
    return turns * u * ll + v * m * turns + w * n * turns - turns * w


def numbers(ns, s):
    """Directions as numbers of the script."""
    ll, m, n = (float(x) for x in LMN[s])
    return TURN * (ns.uvw[0] * ll + ns.uvw[1] * m + (n - 1) * ns.uvw[2]) * ns.nu


def loose(ns, s):
    """Coordinates that are in no vector."""
    for i, name in enumerate("uvw"):
        if s == 0:
            ns[f"loose_{name}"] << rt.Constant(UVW_M[0, i] - UVW_M[1, i], cells_rank=1)
    u, v, w = (ns[f"loose_{name}"] for name in "uvw")
    return TURN * ns.nu * (u * ns.lmn(s)[0] + v * ns.lmn(s)[1] + w * (ns.lmn(s)[2] - 1))


def offset(ns, s):
    """l, m, n - 1 as one vector."""
    return ns.lmn(s) - rt.Constant([0.0, 0.0, 1.0])


def row_by_column(ns, s):
    column = rt.Composer(ns.lmn(s)[0], ns.lmn(s)[1], ns.lmn(s)[2] - 1, dims=[3, 1])
    return TURN * ns.nu * (rt.Composer(ns.uvw, dims=[1, 3]) @ column)[0, 0]


PHASES = {
    "plain": lambda ns, s: TURN * ns.nu * path(ns.uvw, ns.lmn(s)),
    "of wavelengths": lambda ns, s: 2 * np.pi * path(ns.uvw, ns.lmn(s)) / (C / ns.nu),
    "of scaled coordinates": lambda ns, s: 2 * np.pi * path(ns.uvw * ns.nu / C, ns.lmn(s)),
    "negative twice": lambda ns, s: -TURN * ns.nu * path(-ns.uvw, ns.lmn(s)),
    "with another speed": lambda ns, s: 2 * np.pi / 3e8 * ns.nu * path(ns.uvw * (3e8 / C), ns.lmn(s)),
    "expanded": expanded,
    "numbers": numbers,
    "loose": loose,
    "sum of products": lambda ns, s: TURN * ns.nu * rt.Sum(ns.uvw * offset(ns, s), reduction_axes=[], tensor_axis=0),
    "vectors": lambda ns, s: 2 * np.pi * ((ns.uvw * (ns.nu / C)) @ offset(ns, s)),
    "vectors less w": lambda ns, s: TURN * ns.nu * (ns.lmn(s) @ ns.uvw - ns.uvw[2]),
    "numbers as a vector": lambda ns, s: TURN * ns.nu * (ns.uvw @ rt.Constant(LMN[s] - [0, 0, 1])),
    "row by column": row_by_column,
}
EXPONENTIALS = {
    "exp": lambda x: rt.Exp(1j * x),
    "exp of a complex number": lambda x: rt.Exp(rt.ToComplex(0, x)),
    "polar": lambda x: rt.Polar(1, x),
    "cos and sin": lambda x: rt.ToComplex(rt.Cos(x), rt.Sin(x)),
    "cos + i sin": lambda x: 1j * rt.Sin(x) + rt.Cos(x),
    "conjugate": lambda x: rt.Conj(rt.ToComplex(rt.Cos(x), -rt.Sin(x))),
    "cos - i sin": lambda x: rt.Conj(rt.Cos(x) - rt.Sin(x) * 1j),
    "minus twice": lambda x: -rt.ToComplex(-rt.Cos(x), -rt.Sin(x)),
    "with an amplitude": lambda x: rt.Polar(2, x) * 0.5,
    "with two amplitudes": lambda x: rt.ToComplex(2 * rt.Cos(x), rt.Sin(x) * 2) / 2,
}


def tree(write, moving=True, **options):
    ns = scene(moving)
    ns.V << write(ns)
    return rt.Forest(ns, **options)


def expected(moving=True):
    return tree(lambda ns: rt.PSV(ns.lmn, ns.B, ns.uvw), moving).evaluate("V", CELLS)


def check(write, moving=True):
    forest = tree(write, moving)
    wanted = expected(moving)
    np.testing.assert_allclose(forest.evaluate("V", CELLS), wanted, rtol=0, atol=1e-12 * N_SOURCE)
    assert forest.timing().classes["PSV"]["evaluations"] == 1, "all sources in one node"
    assert not {"Exp", "Polar", "Cos", "Sin"} & set(forest.timing().classes)
    written = tree(write, moving, as_written=True).evaluate("V", CELLS)
    np.testing.assert_allclose(written, wanted, rtol=0, atol=1e-12 * N_SOURCE)
    return forest


@pytest.mark.parametrize("phase", PHASES)
def test_phases_in_any_association(phase):
    x = PHASES[phase]
    check(lambda ns: rt.Add(*(rt.Exp(1j * x(ns, s)) * ns.B(s) for s in range(N_SOURCE))))


@pytest.mark.parametrize("exponential", EXPONENTIALS)
@pytest.mark.parametrize("moving", [True, False])
def test_exponentials_in_any_spelling(exponential, moving):
    k = EXPONENTIALS[exponential]
    check(lambda ns: rt.Add(*(k(PHASES["plain"](ns, s)) * ns.B(s) for s in range(N_SOURCE))), moving)


@pytest.mark.parametrize("moving", [True, False])
def test_phases_of_stations(moving):
    def write(ns):
        def k(p, s):
            return rt.Polar(1, TURN * ns.nu * path(ns.uvw(p), ns.lmn(s)))

        return rt.Add(*(rt.MatrixMultiply(k(0, s), ns.B(s), rt.Conj(k(1, s))) for s in range(N_SOURCE)))

    check(write, moving)


@pytest.mark.parametrize("moving", [True, False])
def test_stacks_of_sources(moving):
    def write(ns):
        ll, m, n = (rt.Selector(ns.lmn, index=[-1, i]) for i in range(3))
        x = TURN * ns.nu * (ns.uvw[0] * ll + ns.uvw[1] * m + ns.uvw[2] * (n - 1))
        return rt.Sum(rt.MatrixMultiply(rt.Exp(1j * x), ns.B), reduction_axes=[], tensor_axis=0)

    check(write, moving)


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("minus_w", [True, False])
def test_stacks_as_rows_of_a_matrix(moving, minus_w):
    def write(ns):
        x = ns.lmn @ ns.uvw - ns.uvw[2] if minus_w else rt.Constant(LMN - [0, 0, 1]) @ ns.uvw
        k = rt.Exp(1j * TURN * ns.nu * x)
        return rt.Sum(rt.MatrixMultiply(k, ns.B), reduction_axes=[], tensor_axis=0)

    check(write, moving)


def test_what_is_beside_them_is_of_the_same_directions_and_coordinates():
    def write(ns):
        def term(s):
            uvw = rt.Composer(ns.uvw, rt.Constant(np.zeros(3)), dims=[2, 3])
            smearing = rt.TFSmearFactor(ns.lmn(s), uvw)
            k = rt.Exp(1j * TURN * ns.nu * path([uvw[0, i] for i in range(3)], ns.lmn(s)))
            return rt.Multiply(k, smearing, ns.B(s))

        return rt.Add(*(term(s) for s in range(N_SOURCE)))

    forest, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(forest.evaluate("V", CELLS), written.evaluate("V", CELLS), rtol=0, atol=1e-12 * N_SOURCE)
    assert "TFSmearFactor" not in forest.timing().classes


def test_products_of_vectors_are_of_the_directions_that_they_are_made_from():
    def write(ns):
        def term(s):
            uvw = rt.Composer(ns.uvw, rt.Constant(np.zeros(3)), dims=[2, 3])
            k = rt.Exp(1j * TURN * ns.nu * (offset(ns, s) @ uvw[0]))
            return rt.Multiply(k, rt.TFSmearFactor(ns.lmn(s), uvw), ns.B(s))

        return rt.Add(*(term(s) for s in range(N_SOURCE)))

    forest, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(forest.evaluate("V", CELLS), written.evaluate("V", CELLS), rtol=0, atol=1e-12 * N_SOURCE)
    assert "TFSmearFactor" not in forest.timing().classes


@pytest.mark.parametrize("flagged", ["one of them", "all of them", "as a whole"])
def test_sums_that_leave_out_flagged_coordinates(flagged):
    def write(ns):
        below = {"one of them": ns.uvw, "all of them": ns.uvw[0], "as a whole": rt.Time() - 25}[flagged]
        flags = rt.ZeroFlagger(below, oper="LT")
        centre = rt.MergeFlags(rt.Constant([0.3, -0.5]), flags)
        whole = rt.UVW(centre, [5.1e6, 2.0e6, -3.2e6], [5.1e6, 2.0e6 + 20, -3.2e6])
        ns.flagged << (whole if flagged == "as a whole" else rt.MergeFlags(ns.uvw, flags))
        return rt.Add(
            *(
                rt.Exp(1j * TURN * ns.nu * rt.Sum(ns.flagged * offset(ns, s), reduction_axes=[], tensor_axis=0))
                * ns.B(s)
                for s in range(N_SOURCE)
            )
        )

    got, wanted = (tree(write, as_written=as_written).results(["V"], CELLS)[0] for as_written in (False, True))
    np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-12 * N_SOURCE)
    np.testing.assert_array_equal(*np.broadcast_arrays(got.flags, wanted.flags))


def test_numbers_may_change():
    def write(ns):
        ns.turn << rt.Constant(TURN)
        return rt.Add(*(rt.Exp(1j * ns.turn * ns.nu * path(ns.uvw, ns.lmn(s))) * ns.B(s) for s in range(N_SOURCE)))

    forest, written = tree(write), tree(write, as_written=True)
    forest.evaluate("V", CELLS)
    for one in (forest, written):
        one.set_state("turn", value=1.01 * TURN)
    np.testing.assert_allclose(forest.evaluate("V", CELLS), written.evaluate("V", CELLS), rtol=0, atol=1e-12 * N_SOURCE)
    for one in (forest, written):
        one.set_state("lmn:2", value=np.array([0.1, 0.2, 0.9]))
    np.testing.assert_allclose(forest.evaluate("V", CELLS), written.evaluate("V", CELLS), rtol=0, atol=1e-12 * N_SOURCE)


@pytest.mark.parametrize("varies", [True, False])
def test_delays_of_stations_are_factors_of_phases(varies):
    def write(ns):
        for p in (0, 1):
            tau_s = 1e-9 * RNG.normal(size=N_TIME if varies else ())
            ns.tau(p) << rt.Constant(tau_s, cells_rank=int(varies))
            ns.D(p) << rt.Exp(2j * np.pi * ns.nu * ns.tau(p))
        return rt.Add(
            *(
                rt.MatrixMultiply(ns.D(0), rt.VisPhaseShift(ns.lmn(s), ns.uvw), ns.B(s), rt.Conj(ns.D(1)))
                for s in range(N_SOURCE)
            )
        )

    forest = tree(write)
    assert np.isfinite(forest.evaluate("V", CELLS)).all()
    assert "PSV" in forest.timing().classes, forest.notes()
    assert not any("is no phase" in note for note in forest.notes())


def ionosphere(ns, p, s):
    """Radians, of a station and a source."""
    return 8.4e9 * rt.Constant(1e-2 * np.sin(3.7 * p + s)) / ns.nu


ELSE = {
    "added": lambda ns, p, s: TURN * ns.nu * path(ns.uvw(p), ns.lmn(s)) + ionosphere(ns, p, s),
    "subtracted": lambda ns, p, s: -(ionosphere(ns, p, s) - TURN * ns.nu * path(ns.uvw(p), ns.lmn(s))),
    "in a product": lambda ns, p, s: TURN * (ns.nu * path(ns.uvw(p), ns.lmn(s)) + ionosphere(ns, p, s) / TURN),
    "in products": lambda ns, p, s: (
        2 * np.pi * ((0.1 * s + ns.nu / C * path(ns.uvw(p), ns.lmn(s))) + rt.Time() * 1e-3 * p)
    ),
    "a clock": lambda ns, p, s: 2 * np.pi * ns.nu * (path(ns.uvw(p), ns.lmn(s)) / C + 1e-9 * (p + 1) * rt.Time()),
    "with w apart": lambda ns, p, s: (
        TURN * ns.nu * (ns.lmn(s) @ ns.uvw(p)) - TURN * ns.nu * ns.uvw(p)[2] + ionosphere(ns, p, s)
    ),
}


@pytest.mark.parametrize("exponential", EXPONENTIALS)
@pytest.mark.parametrize("beside", ELSE)
def test_phases_with_something_else_beside_them(beside, exponential):
    """exp(i (x + y)) is exp(i x) exp(i y)."""
    x, k = ELSE[beside], EXPONENTIALS[exponential]

    def write(ns):
        return rt.Add(*(rt.MatrixMultiply(k(x(ns, 0, s)), ns.B(s), rt.Conj(k(x(ns, 1, s)))) for s in range(N_SOURCE)))

    forest, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(forest.evaluate("V", CELLS), written.evaluate("V", CELLS), rtol=0, atol=1e-12 * N_SOURCE)
    assert forest.timing().classes["PSV"]["evaluations"] == 1, forest.notes()
    assert not any("is no phase" in note for note in forest.notes())


@pytest.mark.parametrize("write", ["numbers", "in time", "stations", "stack"])
def test_sums_of_given_delays_say_so(write):
    def delay(ns, p, s):
        return ns.tau(p, s) << rt.Constant(1e-9 * RNG.normal(size=N_TIME), cells_rank=1)

    def phase(ns, tau_s):
        return rt.Exp(2j * np.pi * ns.nu * tau_s)

    trees = {
        "numbers": lambda ns: rt.Add(*(phase(ns, rt.Constant(1e-9 * s)) * ns.B(s) for s in range(N_SOURCE))),
        "in time": lambda ns: rt.Add(*(phase(ns, delay(ns, 0, s)) * ns.B(s) for s in range(N_SOURCE))),
        "stations": lambda ns: rt.Add(
            *(
                rt.MatrixMultiply(phase(ns, delay(ns, 0, s)), ns.B(s), rt.Conj(phase(ns, delay(ns, 1, s))))
                for s in range(N_SOURCE)
            )
        ),
        "stack": lambda ns: rt.Sum(
            rt.MatrixMultiply(phase(ns, rt.Constant(1e-9 * np.arange(N_SOURCE))), ns.B),
            reduction_axes=[],
            tensor_axis=0,
        ),
    }
    forest = tree(trees[write])
    forest.evaluate("V", CELLS)
    (note,) = (note for note in forest.notes() if "is no phase of a source" in note)
    assert "its delay is given" in note
    n_like = {"stack": 0, "stations": 2 * N_SOURCE - 1}.get(write, N_SOURCE - 1)
    assert (f"and {n_like} like it" in note) == (n_like > 0)


OTHERS = {
    "not proportional to frequency": lambda ns, s: TURN * ns.nu * ns.nu * 1e-9 * path(ns.uvw, ns.lmn(s)),
    "not real": lambda ns, s: TURN * ns.nu * path(ns.uvw, ns.lmn(s)) * (1 + 0.001j),
    "not just one factor": lambda ns, s: TURN * ns.nu * 1e-2 * path(ns.uvw, ns.uvw(1)) + 1e-3 * s,
}


@pytest.mark.parametrize("reason", OTHERS)
def test_what_is_no_such_phase_is_said(reason):
    x = OTHERS[reason]
    forest = tree(lambda ns: rt.Add(*(rt.Exp(1j * x(ns, s)) * ns.B(s) for s in range(N_SOURCE))))
    forest.evaluate("V", CELLS)
    assert "PSV" not in forest.timing().classes
    (note,) = (note for note in forest.notes() if "is no phase of a source" in note)
    assert reason in note and f"and {N_SOURCE - 1} like it" in note
