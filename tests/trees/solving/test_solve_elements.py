"""Gains are solved on some elements of visibilities, or on sums of them, as fast as on whole matrices: on sums over the
data, with the same equations as the general way has."""

import numpy as np
import planted
import pytest

import rimetree as rt

N_STATION, N_TIME, N_CHANNEL = 5, 4, 6
PAIRS = [(p, q) for p in range(N_STATION) for q in range(p + 1, N_STATION)]
CELLS = rt.Cells(10.0 * np.arange(N_TIME), 1e9 + 1e7 * np.arange(N_CHANNEL), time_width_s=10, freq_width_hz=1e7)


def listed(x):
    return rt.Selector(x, index=[3, 0], multi=True)


#: Equations [(data, model), ...] of a baseline's matrices.
EQUATIONS = {
    "XX": lambda d, v: [(d[0, 0], v[0, 0])],
    "XX and YY": lambda d, v: [(d[0, 0], v[0, 0]), (d[1, 1], v[1, 1])],
    "XX and YX": lambda d, v: [(d[0, 0], v[0, 0]), (d[1, 0], v[1, 0])],
    "a row": lambda d, v: [(d[0], v[0])],
    "a column": lambda d, v: [(d[:, 1], v[:, 1])],
    "a list": lambda d, v: [(listed(d), listed(v))],
    "of a row": lambda d, v: [(d[1, 0], v[1][0]), (d[1, 1], v[1, 1])],
    "composed": lambda d, v: [(rt.Composer(d[0, 0], d[1, 1]), rt.Composer(v[0, 0], v[1, 1]))],
    "composed anew": lambda d, v: [(d.T, rt.Matrix22(v[0, 0], v[1, 0], v[0, 1], v[1, 1]))],
    "with zeros": lambda d, v: [(d, rt.Matrix22(v[0, 0], 0, 0, v[1, 1]))],
    "whole and an element": lambda d, v: [(d, v), (d[0, 0], v[0, 0])],
    "a row and an element": lambda d, v: [(d[0], v[0]), (d[1, 1], v[1, 1])],
    "elements without unknowns": lambda d, v: [
        (d[i, j], rt.Matrix22(v[0, 0], 0, 0, v[1, 1])[i, j]) for i, j in np.ndindex(2, 2)
    ],
    "Stokes I": lambda d, v: [(0.5 * (d[0, 0] + d[1, 1]), 0.5 * (v[0, 0] + v[1, 1]))],
    "half of Stokes I": lambda d, v: [((d[0, 0] + d[1, 1]) / 2, (v[0, 0] + v[1, 1]) / 2)],
    "over a number": lambda d, v: [(d / 2j, v / 2j)],
    "over what varies": lambda d, v: [(d[0, 0] / rt.Freq(), v[0, 0] / rt.Freq())],
    "Stokes Q and U": lambda d, v: [
        (d[0, 0] - d[1, 1], v[0, 0] - v[1, 1]),
        (d[0, 1] + d[1, 0], v[0, 1] + v[1, 0]),
    ],
    "transposed": lambda d, v: [(d.T, v.T)],
    "turned": lambda d, v: [(d.H, v.H)],
    "conjugate": lambda d, v: [(np.conj(d[:, 0]), np.conj(v[:, 0]))],
    "of the turned": lambda d, v: [(np.conj(d[1, 0]), v.H[0, 1]), (np.conj(d[0, 0]), v.H[0, 0])],
    "a row of the turned": lambda d, v: [(d.H[1], v.H[1])],
    "a difference": lambda d, v: [(d[0, 0] - v[0, 0], 0.0)],
    "twice": lambda d, v: [(2 * d[1, 1], 2 * v[1, 1])],
    "model first": lambda d, v: [(v[0, 0], d[0, 0])],
}


def solved(write, full=False, device=None, noise=0.05, **solver):
    """The report, and the values of all models."""
    random, ns = np.random.default_rng(6), rt.NodeScope()
    gains = np.eye(2) + 0.2 * planted.complex_gaussian(random, (N_STATION, 2, 2))
    gains *= 1 if full else np.eye(2)
    for p in range(N_STATION):
        for i, j in np.ndindex(2, 2):
            if full or i == j:
                re = ns.re(p, i, j) << rt.Parm(float(i == j), solvable=True)
                ns.g(p, i, j) << rt.ToComplex(re, ns.im(p, i, j) << rt.Parm(0.0, solvable=True))
            else:
                ns.g(p, i, j) << 0.0  # zero by construction
        ns.G(p) << rt.Matrix22(*(ns.g(p, i, j) for i, j in np.ndindex(2, 2)))
    condeqs, models = [], []
    for p, q in PAIRS:
        sky, error = planted.complex_gaussian(random, (2, 2, 2, N_TIME, N_CHANNEL))
        seen = np.einsum("ij,jktf,lk->iltf", gains[p], sky, gains[q].conj()) + noise * error
        missing = random.random((2, 2, N_TIME, N_CHANNEL)) < 0.05
        seen[0, 0, 2, 3] = np.nan
        ns.d(p, q) << rt.Constant(np.ma.array(seen, mask=missing), cells_rank=2)
        bad = random.random((2, 2, N_TIME, N_CHANNEL)) < 0.02
        ns.sky(p, q) << rt.Constant(np.ma.array(sky, mask=bad), cells_rank=2)
        ns.v(p, q) << ns.G(p) @ ns.sky(p, q) @ ns.G(q).H
        weight = ns.w(p, q) << rt.Constant(random.uniform(0.5, 2.0, (N_TIME, N_CHANNEL)), cells_rank=2)
        for n, (data, model) in enumerate(write(ns.d(p, q), ns.v(p, q))):
            models.append(ns.of(p, q, n) << model)
            condeqs.append(ns.condeq(p, q, n) << rt.Condeq(data, model, weight))
    ns.solver << rt.Solver(*condeqs, iterations=200, **solver)
    forest = rt.Forest(ns, device=device)
    report = forest.solve("solver", CELLS)
    return report, np.concatenate([forest.evaluate(of, CELLS).ravel() for of in models])


def check_alike(found, expected):
    (report, values), (other, wanted) = found, expected
    assert "sums over the data" in report.method and "sums over" not in other.method
    np.testing.assert_allclose(values, wanted, atol=2e-5)
    (group,), (general,) = report.groups, other.groups
    assert (group.equations, group.flagged, group.not_finite) == (
        general.equations,
        general.flagged,
        general.not_finite,
    )
    assert group.chi_square == pytest.approx(general.chi_square, rel=1e-6)
    assert group.chi_square_before == pytest.approx(general.chi_square_before, rel=1e-9)
    assert group.rank == general.rank


@pytest.mark.parametrize("device", [None, "simulated"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("how", EQUATIONS)
def test_elements_are_those_of_jones_terms(how, full, device):
    check_alike(solved(EQUATIONS[how], full, device), solved(EQUATIONS[how], full, method="generic"))


@pytest.mark.parametrize("how", ["XX", "a column", "composed", "Stokes I"])
def test_errors_with_tails(how):
    robust = {"robust_dof": 5.0}
    check_alike(solved(EQUATIONS[how], **robust), solved(EQUATIONS[how], method="generic", **robust))


def test_an_equation_that_keeps_others_from_being_summed_up_is_named():
    def notes(constraint):
        ns = rt.NodeScope()
        for p in range(3):
            ns.g(p) << rt.Parm(1.0, solvable=True)
        condeqs = [rt.Condeq(6.0, ns.g(p) * rt.Constant(2.0) * ns.g(q)) for p, q in ((0, 1), (0, 2), (1, 2))]
        if constraint:
            condeqs.append(ns.known << rt.Condeq(1.5, ns.g(0)))
        ns.solver << rt.Solver(*condeqs)
        forest = rt.Forest(ns)
        forest.solve(ns.solver, CELLS)
        return [note for note in forest.notes() if "beside them" in note]

    assert not notes(False)
    (note,) = notes(True)
    assert "of 4 Condeqs 3 could be" in note and '"known"' in note and "prior_sigma" in note


@pytest.mark.parametrize("how", ["a row", "a column", "a form"])
def test_rows_and_columns_times_matrices_are_no_elements(how):
    """Each of their elements is a sum."""
    write = {
        "a row": lambda row, g, column: row @ g,
        "a column": lambda row, g, column: g @ column,
        "a form": lambda row, g, column: rt.MatrixMultiply(row, g, column),
    }[how]

    def solve(method):
        random, ns = np.random.default_rng(9), rt.NodeScope()
        true = np.eye(2) + 0.2 * planted.complex_gaussian(random, (2, 2))
        parts = [
            rt.ToComplex(rt.Parm(float(k in (0, 3)), solvable=True), rt.Parm(0.0, solvable=True)) for k in range(4)
        ]
        ns.G << rt.Matrix22(*parts)
        vectors = planted.complex_gaussian(random, (2, 2, N_TIME, N_CHANNEL))
        row, column = (rt.Constant(one, cells_rank=2) for one in vectors)
        ns.solver << rt.Solver(
            rt.Condeq(write(row, rt.Constant(true), column), write(row, ns.G, column)), method=method
        )
        forest = rt.Forest(ns)
        report = forest.solve("solver", CELLS)
        return report, forest.evaluate(ns.G)[..., 0, 0] - true

    (auto, off), (generic, _) = solve("auto"), solve("generic")
    assert auto.groups[0].equations == generic.groups[0].equations
    np.testing.assert_allclose(off, 0, atol=1e-9)


def test_a_matrix_written_by_elements_is_one_of_jones_terms():
    """Each element a product of its own."""

    def tree(outside):
        random, ns = np.random.default_rng(8), rt.NodeScope()
        gains = 1 + 0.2 * planted.complex_gaussian(random, (N_STATION, 2))
        for p in range(N_STATION):
            for i in range(2):
                re = ns.re(p, i) << rt.Parm(1.0, solvable=True)
                ns.g(p, i) << rt.ToComplex(re, ns.im(p, i) << rt.Parm(0.0, solvable=True))
            ns.G(p) << rt.Matrix22(ns.g(p, 0), 0, 0, ns.g(p, 1))
        for p, q in PAIRS:
            sky = planted.complex_gaussian(random, (2, 2, N_TIME, N_CHANNEL))
            ns.sky(p, q) << rt.Constant(sky, cells_rank=2)
            seen = gains[p][:, None, None, None] * sky * gains[q].conj()[:, None, None]
            of = [ns.g(p, i) * ns.sky(p, q)[i, j] * rt.Conj(ns.g(q, j)) for i, j in np.ndindex(2, 2)]
            model = ns.G(p) @ ns.sky(p, q) @ ns.G(q).H if outside else rt.Matrix22(*of)
            ns.c(p, q) << rt.Condeq(rt.Constant(seen, cells_rank=2), model)
        ns.solver << rt.Solver(*(ns.c(p, q) for p, q in PAIRS))
        report = rt.Forest(ns).solve("solver", CELLS)
        assert "sums over the data" in report.method and report.converged
        value = {name: parm.value for name, parm in report.parms.items()}
        found = np.array([[value[f"re:{p}:{i}"] + 1j * value[f"im:{p}:{i}"] for i in (0, 1)] for p in range(N_STATION)])
        return report.groups[0].equations, found * found[0, 0].conj() / abs(found[0, 0])

    (equations, elements), (wanted, whole) = tree(False), tree(True)
    assert equations == wanted
    np.testing.assert_allclose(elements, whole, atol=1e-6)
