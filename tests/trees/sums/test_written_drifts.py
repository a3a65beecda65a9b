"""Phases written by hand of directions that vary in time are taken together like those of a class."""

import numpy as np
import pytest

import rimetree as rt

C = 299792458.0
TURN = 2 * np.pi / C
N_SOURCE, N_TIME = 18, 3
START_S = 4.9e9
CELLS = rt.Cells(START_S + 10.0 * np.arange(N_TIME), np.linspace(1.0e9, 1.2e9, 8), time_width_s=10, freq_width_hz=4e7)
RNG = np.random.default_rng(8)
LM = RNG.uniform(-0.03, 0.03, (N_SOURCE, 2))
STOKES = RNG.normal([1, 0, 0, 0], 0.2, (N_SOURCE, 4))
STATIONS_M = 5.1e6 * np.array([1, 0, 0]) + RNG.uniform(-30, 30, (2, 3))
UVW_M = RNG.uniform(-30, 30, (2, 3, N_TIME))


def scene(coordinates, rate=1e-5):
    """Directions at a rate each, and coordinates by class or as numbers."""
    ns = rt.NodeScope()
    ns.nu << rt.Freq()
    ns.later << rt.Time() - START_S
    ns.rate << rt.Parm(rate, solvable=True)
    for s in range(N_SOURCE):
        ns.l(s) << float(LM[s, 0]) + (1 + 0.1 * s) * ns.rate * ns.later
        ns.m(s) << float(LM[s, 1]) - 1e-5 * ns.later
        ns.n(s) << rt.Sqrt(1 - ns.l(s) * ns.l(s) - rt.Sqr(ns.m(s)))
        ns.lmn(s) << rt.Composer(ns.l(s), ns.m(s), ns.n(s))
        ns.B(s) << rt.Stokes(rt.Constant(STOKES[s]))
    for p in (0, 1):
        if coordinates == "by class":
            ns.uvw(p) << rt.UVW(rt.Constant([0.3, -0.5]), STATIONS_M[p], STATIONS_M[0])
        else:
            ns.uvw(p) << rt.Constant(UVW_M[p], cells_rank=1)
    ns.uvw << ns.uvw(0) - ns.uvw(1)
    return ns


def path(uvw, lmn):
    return uvw[0] * lmn[0] + uvw[1] * lmn[1] + uvw[2] * (lmn[2] - 1)


def of_vectors(ns, s):
    return rt.Exp(1j * TURN * ns.nu * path(ns.uvw, ns.lmn(s))) * ns.B(s)


def of_numbers(ns, s):
    u, v, w = (ns.uvw[i] for i in range(3))
    n_minus_1 = -(ns.l(s) * ns.l(s) + rt.Sqr(ns.m(s))) / (1 + ns.n(s))
    return rt.Polar(1, TURN * ns.nu * (u * ns.l(s) + v * ns.m(s) + w * n_minus_1)) * ns.B(s)


def of_stations(ns, s):
    k = [rt.Exp(1j * TURN * ns.nu * path(ns.uvw(p), ns.lmn(s))) for p in (0, 1)]
    return rt.MatrixMultiply(k[0], ns.B(s), rt.Conj(k[1]))


def of_products(ns, s):
    offset = ns.lmn(s) - rt.Constant([0.0, 0.0, 1.0])
    return rt.Exp(1j * TURN * ns.nu * rt.Sum(ns.uvw * offset, reduction_axes=[], tensor_axis=0)) * ns.B(s)


def forests(write, coordinates):
    """As it is evaluated, and as it is written."""
    for as_written in (False, True):
        ns = scene(coordinates)
        ns.V << rt.Add(*(write(ns, s) for s in range(N_SOURCE)))
        ns.data << rt.Constant(np.ones((2, 2)))
        ns.chi2 << rt.ChiSquare(rt.Condeq(ns.data, ns.V))
        yield rt.Forest(ns, as_written=as_written)


@pytest.mark.parametrize("coordinates", ["by class", "as numbers"])
@pytest.mark.parametrize("write", [of_vectors, of_numbers, of_stations, of_products])
def test_directions_at_a_rate(write, coordinates):
    forest, written = forests(write, coordinates)
    got, wanted = (one.evaluate("V", CELLS) for one in (forest, written))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12 * N_SOURCE)
    assert any(f"{N_SOURCE} sources taken together" in note for note in forest.notes()), forest.notes()
    assert not {"Exp", "Polar"} & set(forest.timing().classes)
    (got,), (wanted,) = (one.results(["V"], CELLS, derivatives=True) for one in (forest, written))
    np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-12 * N_SOURCE)
    ((parameter, slope),) = wanted.derivatives.items()
    np.testing.assert_allclose(got.derivatives[parameter], slope, rtol=0, atol=1e-11 * np.abs(slope).max())
    (value, gradient), (expected, slopes) = (one.value_and_gradient("chi2", CELLS) for one in (forest, written))
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-10)


def test_stacks_of_directions_at_a_rate():
    def write(ns):
        lmn = ns.stack << rt.Composer(*(ns.lmn(s) for s in range(N_SOURCE)), dims=[N_SOURCE, 3])
        ll, m, n = (rt.Selector(lmn, index=[-1, i]) for i in range(3))
        x = TURN * ns.nu * (ns.uvw[0] * ll + ns.uvw[1] * m + ns.uvw[2] * (n - 1))
        brightness = rt.Composer(*(ns.B(s) for s in range(N_SOURCE)), dims=[N_SOURCE, 2, 2])
        return rt.Sum(rt.MatrixMultiply(rt.Exp(1j * x), brightness), reduction_axes=[], tensor_axis=0)

    values = []
    for as_written in (False, True):
        ns = scene("by class")
        ns.V << write(ns)
        forest = rt.Forest(ns, as_written=as_written)
        values.append(forest.evaluate("V", CELLS))
        assert ("PSV" in forest.timing().classes) != as_written
    np.testing.assert_allclose(*values, rtol=0, atol=1e-12 * N_SOURCE)
