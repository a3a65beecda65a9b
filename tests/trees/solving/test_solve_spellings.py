"""Gains are solved for alike however they are written: inside of sums over sources, by elements, in any order."""

import numpy as np
import planted
import pytest

import rimetree as rt

N_SOURCE, N_STATION, N_TIME = 3, 4, 5
PAIRS = [(p, q) for p in range(N_STATION) for q in range(p + 1, N_STATION)]
CELLS = rt.Cells(10.0 * np.arange(N_TIME), np.linspace(1.0e9, 1.2e9, 6), time_width_s=10, freq_width_hz=4e7)
RNG = np.random.default_rng(17)
LM = RNG.uniform(-0.03, 0.03, (N_SOURCE, 2))
LMN = np.column_stack([LM, np.sqrt(1 - (LM**2).sum(axis=1))])
STOKES = RNG.normal([3, 0, 0, 0], 0.2, (N_SOURCE, 4))
UVW_M = RNG.uniform(-100, 100, (N_STATION, 3, N_TIME))
GAINS = 1 + 0.1 * (RNG.normal(size=(N_STATION, 2)) + 1j * RNG.normal(size=(N_STATION, 2)))


def each_element(of):
    return rt.Matrix22(*(of(i, j) for i in (0, 1) for j in (0, 1)))


def brightness(b, s):
    return each_element(lambda i, j: b(s, i, j))


def outside(ns, p, q, k, b):
    return ns.G(p) @ rt.Add(*(k(s) * brightness(b, s) for s in range(N_SOURCE))) @ ns.GH(q)


def inside(ns, p, q, k, b):
    return rt.Add(*(rt.MatrixMultiply(ns.G(p), k(s), brightness(b, s), ns.GH(q)) for s in range(N_SOURCE)))


def elements(ns, p, q, k, b):
    def element(s):
        return each_element(lambda i, j: ns.g(p, i) * k(s) * b(s, i, j) * rt.Conj(ns.g(q, j)))

    return rt.Add(*(element(s) for s in range(N_SOURCE)))


def elements_of_sums(ns, p, q, k, b):
    return each_element(
        lambda i, j: rt.Add(*(ns.g(p, i) * k(s) * b(s, i, j) * rt.Conj(ns.g(q, j)) for s in range(N_SOURCE)))
    )


def tree(write, flagged=(), as_written=None):
    """A Solver of diagonal gains; `flagged`: elements of the first source's brightness with a flagged cell."""
    ns = rt.NodeScope()
    for s in range(N_SOURCE):
        ns.lmn(s) << rt.Constant(LMN[s])
        ns.B(s) << rt.Stokes(rt.Constant(STOKES[s]))
    ns.is_bad << rt.Constant(np.arange(N_TIME) == 2, cells_rank=1)

    def b(s, i, j):
        number = ns.B(s)[i, j]
        return rt.MergeFlags(number, rt.ZeroFlagger(ns.is_bad, oper="GT")) if s == 0 and (i, j) in flagged else number

    for p in range(N_STATION):
        ns.uvw(p) << rt.Constant(UVW_M[p], cells_rank=1)
        ns.planted(p) << rt.Constant(np.diag(GAINS[p]))
        for i in (0, 1):
            ns.g(p, i) << rt.ToComplex(
                ns.re(p, i) << rt.Parm(1.0, solvable=True), ns.im(p, i) << rt.Parm(0.0, solvable=True)
            )
        ns.G(p) << rt.Matrix22(ns.g(p, 0), 0, 0, ns.g(p, 1))
        ns.GH(p) << rt.ConjTranspose(ns.G(p))
    for p, q in PAIRS:
        uvw = ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
        sky = rt.Add(*(rt.VisPhaseShift(ns.lmn(s), uvw) * ns.B(s) for s in range(N_SOURCE)))
        ns.data(p, q) << ns.planted(p) @ sky @ rt.ConjTranspose(ns.planted(q))
        ns.V(p, q) << write(ns, p, q, lambda s, uvw=uvw: rt.VisPhaseShift(ns.lmn(s), uvw), b)
        ns.condeq(p, q) << rt.Condeq(ns.data(p, q), ns.V(p, q))
    ns.solver << rt.Solver(*(ns.condeq(p, q) for p, q in PAIRS))
    return rt.Forest(ns, as_written=as_written)


def solution(report):
    re, im = (
        np.array([[float(report.parms[f"{x}:{p}:{i}"].value) for i in (0, 1)] for p in range(N_STATION)])
        for x in ("re", "im")
    )
    return re + 1j * im


def check(got, expected):
    np.testing.assert_allclose(solution(got), solution(expected), rtol=0, atol=1e-7)
    count = [sum(group.equations for group in one.groups) for one in (got, expected)]
    assert count[0] == count[1]


@pytest.mark.parametrize("write", [inside, elements, elements_of_sums])
def test_gains_in_a_sum_are_jones_terms_of_the_sum(write):
    forest = tree(write)
    report = forest.solve("solver", CELLS)
    assert "1 diagonal Jones term" in report.method
    expected = tree(outside, as_written=True).solve("solver", CELLS)
    check(report, expected)
    found = solution(report)
    np.testing.assert_allclose(found * found[:1].conj(), GAINS * GAINS[:1].conj(), atol=1e-6)
    again = forest.solve("solver", CELLS)
    check(again, expected)
    np.testing.assert_allclose(forest.evaluate("V:0:1", CELLS), forest.evaluate("data:0:1", CELLS), atol=1e-6)


@pytest.mark.parametrize("write", [inside, elements, elements_of_sums])
@pytest.mark.parametrize("flagged", [[(0, 0)], [(0, 0), (0, 1), (1, 0), (1, 1)]])
def test_what_is_flagged_within_a_sum_is_left_out(write, flagged):
    forest = tree(write, flagged)
    for _ in range(2):
        report = forest.solve("solver", CELLS)
        check(report, tree(write, flagged, as_written=True).solve("solver", CELLS))


EYE, FLIP = np.eye(2), np.eye(2)[::-1]
#: How a product of two stations' scalar gains g, their conjugates h and visibilities m may be written.
PRODUCTS = {
    "gains first": lambda g, h, m: g * h * m,
    "gains last": lambda g, h, m: m * (h * g),
    "numbers outside": lambda g, h, m: 2 * (g * m * h) * 0.5,
    "unit matrices": lambda g, h, m: (g * EYE) @ m @ rt.Multiply(h, EYE, elementwise=True),
    "diagonals that are added": lambda g, h, m: (g * np.diag([1, 0]) + g * np.diag([0, 1])) @ (m @ (EYE * h)),
    "known matrices": lambda g, h, m: rt.MatrixMultiply(g, FLIP, m, FLIP, h),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("how", PRODUCTS)
def test_products_are_jones_terms_in_any_order(how, turned):
    """All but those of some order had taken ten times as long. `turned`: the model is the first child of a Condeq."""
    random = np.random.default_rng(5)
    gains, ns = 1 + 0.3 * planted.complex_gaussian(random, (N_STATION,)), rt.NodeScope()
    for p in range(N_STATION):
        ns.g(p) << rt.ToComplex(ns.re(p) << rt.Parm(1.0, solvable=True), ns.im(p) << rt.Parm(0.0, solvable=True))
    for p, q in PAIRS:
        sky = planted.complex_gaussian(random, (2, 2, N_TIME, 6))
        seen = sky[::-1, ::-1] if how == "known matrices" else sky
        data = rt.Constant(gains[p] * seen * gains[q].conj(), cells_rank=2)
        model = PRODUCTS[how](ns.g(p), rt.Conj(ns.g(q)), rt.Constant(sky, cells_rank=2))
        ns.condeq(p, q) << rt.Condeq(*((model, data) if turned else (data, model)))
    ns.solver << rt.Solver(*(ns.condeq(p, q) for p, q in PAIRS))
    report = rt.Forest(ns).solve("solver", CELLS)
    assert report.converged and "sums over the data for 1 " in report.method
    found = np.array([report.parms[f"re:{p}"].value + 1j * report.parms[f"im:{p}"].value for p in range(N_STATION)])
    np.testing.assert_allclose(found * found[:1].conj(), gains * gains[:1].conj(), atol=1e-6)


#: How equations may be written of data d, what is solved for v and what is known k, where d - v is noise, or d - k - v.
EQUATIONS = {
    "D - V": lambda d, v, k: (d - v, 0.0),
    "0, V - D": lambda d, v, k: (0.0, v - d),
    "-V": lambda d, v, k: (-d, -v),
    "V - K": lambda d, v, k: (d - 2 * k, v - k),
    "K - V": lambda d, v, k: (k - (d - k), k - v),
    "minus within": lambda d, v, k: (d, rt.Negate(k - (v + k))),
}


@pytest.mark.parametrize("device", [None, "simulated"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("how", EQUATIONS)
def test_differences_and_minus_signs_are_of_jones_terms(how, full, device):
    """They had been solved for in the general way: more than ten times as long."""

    def solved(write, device=None, noise=0.05):
        random, ns = np.random.default_rng(6), rt.NodeScope()
        gains = np.eye(2) + 0.3 * planted.complex_gaussian(random, (N_STATION, 2, 2))
        gains *= 1 if full else np.eye(2)
        for p in range(N_STATION):
            for i, j in np.ndindex(2, 2):
                if full or i == j:
                    re = ns.re(p, i, j) << rt.Parm(float(i == j), solvable=True)
                    ns.g(p, i, j) << rt.ToComplex(re, ns.im(p, i, j) << rt.Parm(0.0, solvable=True))
                else:
                    ns.g(p, i, j) << 0.0  # zero by construction
            ns.G(p) << rt.Matrix22(*(ns.g(p, i, j) for i, j in np.ndindex(2, 2)))
        for p, q in PAIRS:
            sky, known, error = planted.complex_gaussian(random, (3, 2, 2, N_TIME, 6))
            seen = np.einsum("ij,jktf,lk->iltf", gains[p], sky, gains[q].conj()) + noise * error
            missing = random.random((2, 2, N_TIME, 6)) < 0.05
            seen[0, 1, 2, 3] = np.nan
            data = np.ma.array(seen + known * (how in ("V - K", "K - V")), mask=missing)
            ns.d(p, q) << rt.Constant(data, cells_rank=2)
            ns.v(p, q) << ns.G(p) @ rt.Constant(sky, cells_rank=2) @ ns.G(q).H
            weight = rt.Constant(random.uniform(0.5, 2.0, (N_TIME, 6)), cells_rank=2)
            ns.condeq(p, q) << rt.Condeq(*write(ns.d(p, q), ns.v(p, q), rt.Constant(known, cells_rank=2)), weight)
        ns.solver << rt.Solver(*(ns.condeq(p, q) for p, q in PAIRS))
        forest = rt.Forest(ns) if device is None else rt.Forest(ns, device=device)
        report = forest.solve("solver", CELLS)
        return report, np.array([forest.evaluate(ns.v(p, q), CELLS) for p, q in PAIRS])

    def plain(d, v, k):
        return (d - k if how in ("V - K", "K - V") else d), v

    (report, found), (expected, model) = solved(EQUATIONS[how], device), solved(plain)
    assert report.converged and "sums over the data for 1 " in report.method
    np.testing.assert_allclose(found, model, atol=1e-6)
    (group,), (other,) = report.groups, expected.groups
    assert group.equations == other.equations and group.chi_square == pytest.approx(other.chi_square, rel=1e-9)
    assert solved(EQUATIONS[how], device, noise=0.0)[0].groups[0].chi_square < 1e-20
