"""Terms that PSV is given as the conjugate transposes of others: it reads these others."""

import itertools

import numpy as np
import pytest

import rimetree as rt

N = 20
ANTENNAS = 16
FREQ_HZ = 1e8 + 1e6 * np.arange(8)
CELLS = rt.Cells([0.0, 10.0], FREQ_HZ, time_width_s=10.0)
PAIRS = [*itertools.combinations(range(0, ANTENNAS), 2), (2, 0), (1, 1)]
ELEMENTS = {"scalars": (N,), "matrices": (N, 2, 2), "a common matrix": (2, 2)}


def terms(kind, numbers, generator):
    """The antennas' terms, [.., time, freq]."""
    shape = (ANTENNAS, *ELEMENTS[kind], 2, 8)
    real = generator.normal(size=shape)
    return real if numbers == "real" else real + 1j * generator.normal(size=shape)


def conjugate_transposes(x):
    return x.conj() if x.ndim < 4 else np.swapaxes(x.conj(), -4, -3)


def constant(x, varies):
    """A node with such numbers; those of the first cell, if they do not vary."""
    return rt.Constant(x, cells_rank=2) if varies else rt.Constant(x[..., 0, 0])


def tree(first, second, *, written, antennas, varies=True, scale=1.0):
    """Visibilities with J2 J1 B J1^H J2^H; and one whose left terms are the conjugate transposes, and one with the same
    terms on both sides. `written`: the conjugate transposes are constants."""
    generator = np.random.default_rng(5)
    lm = 0.01 * generator.uniform(-1, 1, (N, 2))
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))]))
    ns.B << rt.Constant(generator.normal(size=(N, 2, 2)) + 1j * generator.normal(size=(N, 2, 2)))
    places = 2.0**-20 * np.round(2.0**20 * 300 * generator.uniform(-1, 1, (ANTENNAS, 3)))
    ns.scale << rt.Parm(scale, solvable=True)
    ns.turn << rt.Parm(0.3, solvable=True)
    for p in range(ANTENNAS):
        ns.uvw(p) << rt.Constant(places[p])
        for name, term, factor in (("J1", first[p], ns.scale), ("J2", second[p], rt.Polar(1.0, ns.turn))):
            ns[name](p) << factor * constant(term, varies)
            other = constant(conjugate_transposes(term), varies)
            ns[name + "H"](p) << (rt.Conj(factor) * other if written else rt.ConjTranspose(ns[name](p)))
    for p, q in PAIRS:
        difference = ns.uvw(p) - ns.uvw(q) if antennas else rt.Constant(places[p] - places[q])
        chain = {"V": ("J1", "J1H", "J2", "J2H"), "left": ("J1H", "J1", "J2H", "J2"), "same": ("J1", "J1", "J2", "J2")}
        for name, (a, b, c, d) in chain.items():
            ns[name](p, q) << rt.PSV(ns.lmn, ns.B, difference, None, ns[a](p), ns[b](q), ns[c](p), ns[d](q))
    return ns


def names(ns):
    return [ns[what](p, q).name for what in ("V", "left", "same") for p, q in PAIRS]


@pytest.mark.parametrize(
    ("antennas", "device", "varies"),
    [
        (True, "none", True),
        (True, "none", False),
        (False, "none", True),
        (False, "none", False),
        (True, "simulated", True),
    ],
    ids=["sides", "constant sides", "rows", "constant rows", "device"],
)
@pytest.mark.parametrize(
    ("first", "second", "numbers"),
    [
        ("scalars", "scalars", "complex"),
        ("scalars", "scalars", "real"),
        ("matrices", "scalars", "complex"),
        ("matrices", "matrices", "real"),
        ("a common matrix", "matrices", "complex"),
    ],
)
def test_they_give_what_written_ones_give(first, second, numbers, antennas, device, varies):
    generator = np.random.default_rng(2)
    given = terms(first, numbers, generator), terms(second, "complex", generator)
    lazy, plain = (tree(*given, written=written, antennas=antennas, varies=varies) for written in (False, True))
    forests = [rt.Forest(ns, device=device) for ns in (lazy, plain)]
    got, wanted = (
        forest.results(names(ns), CELLS, derivatives=True)
        for forest, ns in zip(forests, (lazy, plain), strict=True)
    )  # fmt: skip
    if antennas and device == "none":
        assert any("matrix product over sources (error" in note for note in forests[0].notes())
    for one, other in zip(got, wanted, strict=True):
        largest = np.abs(np.asarray(other.value)).max()
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12 * largest)
        assert set(one.derivatives) == set(other.derivatives)
        for parameter, slope in one.derivatives.items():
            np.testing.assert_allclose(slope, other.derivatives[parameter], rtol=0, atol=1e-12 * largest)
    values = [forest.results(names(ns), CELLS) for forest, ns in zip(forests, (lazy, plain), strict=True)]
    for one, other in zip(*values, strict=True):
        largest = np.abs(np.asarray(other.value)).max()
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12 * largest)


@pytest.mark.parametrize("varies", [True, False], ids=["varying", "constant"])
@pytest.mark.parametrize("antennas", [True, False], ids=["sides", "rows"])
@pytest.mark.parametrize("numbers", ["complex", "real"])
def test_gradients_go_through_them(antennas, varies, numbers):
    generator = np.random.default_rng(2)
    given = terms("matrices", numbers, generator), terms("scalars", "complex", generator)
    found = []
    for written in (False, True):
        ns = tree(*given, written=written, antennas=antennas, varies=varies, scale=1.2)
        residuals = []
        for name in ("V", "left", "same"):
            for p, q in PAIRS:
                ns["residual"](name, p, q) << rt.Condeq(rt.Constant(np.eye(2, dtype=complex)), ns[name](p, q))
                residuals.append(ns["residual"](name, p, q))
        ns.chi2 << rt.ChiSquare(*residuals)
        forest = rt.Forest(ns, device="none")  # whose methods it is about
        found.append(forest.value_and_gradient("chi2", CELLS))
        if antennas and varies:
            assert any("by the matrix product" in note for note in forest.notes())
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    # The smaller one is a difference of sums as large as the larger one.
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-11, atol=1e-13 * np.abs(found[1][1]).max())


def test_they_are_there_for_whoever_asks():
    generator = np.random.default_rng(2)
    given = terms("matrices", "complex", generator), terms("scalars", "complex", generator)
    ns = tree(*given, written=False, antennas=True)
    forest = rt.Forest(ns, threads=2)
    asked = [ns.V(0, 1).name, ns.J1H(1).name, ns.J1(1).name, ns.J2H(2).name]
    _, matrix, original, scalar = (np.asarray(r.value) for r in forest.results(asked, CELLS))
    np.testing.assert_array_equal(matrix, np.swapaxes(original.conj(), 1, 2))
    np.testing.assert_allclose(scalar, (given[1][2] * np.exp(0.3j)).conj(), rtol=1e-14)
