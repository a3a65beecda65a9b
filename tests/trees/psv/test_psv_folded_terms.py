"""Jones terms that many baselines have in common go into the brightness: the same visibilities as with terms of each
baseline."""

import itertools

import numpy as np
import pytest

import rimetree as rt

N_ANTENNA, N_SOURCE = 12, 7
FREQUENCY_HZ = np.linspace(1.3e9, 1.5e9, 5)
CELLS = rt.Cells(freq_hz=FREQUENCY_HZ, time_s=np.arange(3.0))
PAIRS = list(itertools.combinations(range(N_ANTENNA), 2))


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    """Devices apply terms where they are."""
    monkeypatch.setenv("RIMETREE_DEVICE", "none")


def tree(kinds, brightness, term):
    """`ns.V(p, q)` of all baselines; the antennas have terms `term(kind, rng)` of so many kinds."""
    rng = np.random.default_rng(1)
    lm = rng.uniform(-0.02, 0.02, (N_SOURCE, 2))
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))]))
    stokes = rng.normal(size=(N_SOURCE, 4))
    ns.B << (rt.Stokes(stokes) if brightness == "polarised" else rt.Constant(stokes[:, 0]))
    for kind in range(kinds):
        values = term(rng)
        ns.E(kind) << rt.Constant(values, cells_rank=max(0, values.ndim - 3))
    xyz_m = rng.normal(size=(N_ANTENNA, 3, 3)) * 300
    for p, q in PAIRS:
        ns.uvw(p, q) << rt.Constant(xyz_m[q] - xyz_m[p], cells_rank=1)
        one, other = ns.E(p % kinds), ns.E(q % kinds)
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q), None, one, other.H)
    return ns


def complex_numbers(rng, *dims):
    return rng.normal(size=dims) + 1j * rng.normal(size=dims)


TERMS = {
    "numbers": lambda rng: rng.normal(size=N_SOURCE),
    "complex numbers": lambda rng: complex_numbers(rng, N_SOURCE),
    "matrices": lambda rng: complex_numbers(rng, N_SOURCE, 2, 2),
    "matrices that vary along channels": lambda rng: complex_numbers(rng, N_SOURCE, 2, 2, 1, 5),
    "matrices that vary in time": lambda rng: complex_numbers(rng, N_SOURCE, 2, 2, 3, 1),
    "one matrix for all sources": lambda rng: complex_numbers(rng, 2, 2),
}


def is_folded(forest):
    return any("products of brightness and Jones terms" in note for note in forest.notes())


@pytest.mark.parametrize("brightness", ["polarised", "unpolarised"])
@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("term", TERMS)
def test_terms_of_many_baselines_are_those_of_each(term, kinds, brightness):
    forest = rt.Forest(tree(kinds, brightness, TERMS[term]))
    together = forest.results([f"V:{p}:{q}" for p, q in PAIRS], CELLS)
    assert is_folded(forest) == (term != "matrices that vary in time")
    alone = rt.Forest(tree(kinds, brightness, TERMS[term]))
    for (p, q), found in zip(PAIRS, together, strict=True):
        expected = alone.evaluate(f"V:{p}:{q}", CELLS)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(np.broadcast_to(found.value, expected.shape), expected, rtol=0, atol=1e-11 * scale)
    assert not is_folded(alone)


def test_few_baselines_of_each_kind_keep_their_terms():
    forest = rt.Forest(tree(5, "polarised", TERMS["matrices that vary along channels"]))
    forest.results([f"V:{p}:{q}" for p, q in PAIRS], CELLS)
    assert not is_folded(forest)


def test_fluxes_and_terms_that_are_solved_for_move_what_they_should():
    """Derivatives keep the terms that they are with respect to."""
    parameters = {}
    for name in ("folded", "alone"):
        ns = tree(1, "unpolarised", TERMS["complex numbers"])
        ns.gain << rt.Parm(1.3, solvable=True)
        ns.J << ns.gain * ns.E(0)
        nodes = []
        for p, q in PAIRS:
            ns.W(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q), None, ns.J, ns.J.H)
            nodes.append(ns.W(p, q))
        forest = rt.Forest(ns)
        found = forest.results(nodes, CELLS, derivatives=True) if name == "folded" else [
            forest.result(node, CELLS, derivatives=True) for node in nodes
        ]  # fmt: skip
        parameters[name] = [(one.value, one.derivatives["gain", 0]) for one in found]
    for one, other in zip(parameters["folded"], parameters["alone"], strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(b).max())
        np.testing.assert_allclose(one[1], 2 * one[0] / 1.3, rtol=0, atol=1e-11 * np.abs(one[1]).max())


def test_no_numbers_reach_what_they_belong_to():
    """A term that is no number makes the visibilities of its antennas none, and no others."""
    values = [np.ones(N_SOURCE), np.ones(N_SOURCE)]
    values[1][3] = np.nan
    term = iter(values)
    forest = rt.Forest(tree(2, "unpolarised", lambda rng: next(term)))
    found = forest.results([f"V:{p}:{q}" for p, q in PAIRS], CELLS)
    assert is_folded(forest)
    for (p, q), one in zip(PAIRS, found, strict=True):
        assert np.isnan(one.value[0, 0]).all() == (p % 2 == 1 or q % 2 == 1)
