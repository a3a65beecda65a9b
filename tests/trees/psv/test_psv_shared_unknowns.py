"""Derivatives with respect to unknowns on which the Jones terms of both ends of all baselines depend: PSV makes them
with the values. Wanted are differences of sums in NumPy."""

import itertools

import numpy as np
import pytest

import rimetree as rt

N, ANTENNAS, CHANNELS = 20, 40, 16
FREQ_HZ = 1e8 + 1e6 * np.arange(CHANNELS)
CELLS = rt.Cells([0.0, 10.0], FREQ_HZ, time_width_s=10.0)
PAIRS = list(itertools.combinations(range(ANTENNAS), 2))
C_M_S = 299792458.0
START = {"scale": 1.2, "turn": 0.3, "flux": 0.9, "own": 0.7, "left": 1.1}
SHAPES = {"real": (N,), "complex": (N,), "diagonal": (N, 2, 2), "full": (N, 2, 2)}


class Scene:
    def __init__(self, kind, sides):
        generator = np.random.default_rng(3)
        self.kind, self.sides = kind, sides
        lm = 0.01 * generator.uniform(-1, 1, (N, 2))
        self.lmn = np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))])
        self.fluxes = generator.uniform(0.5, 2, N)
        self.places = 2.0**-20 * np.round(2.0**20 * 300 * generator.uniform(-1, 1, (ANTENNAS, 3)))
        shape = (ANTENNAS, *SHAPES[kind], 2, CHANNELS)
        self.terms = generator.normal(size=shape) + (0 if kind == "real" else 1j * generator.normal(size=shape))
        if kind == "diagonal":
            self.terms[:, :, [0, 1], [1, 0]] = 0

    def tree(self):
        ns = rt.NodeScope()
        for name, value in START.items():
            ns[name] << rt.Parm(value, solvable=True)
        ns.lmn << rt.Constant(self.lmn)
        ns.one << rt.Constant(np.ones(N))
        ns.B << ns.flux * rt.Constant(self.fluxes)
        one = rt.Constant(1.0 if self.kind == "real" else 1.0 + 0j)
        for p in range(ANTENNAS):
            ns.uvw(p) << rt.Constant(self.places[p])
            turn = ns.turn if self.kind == "real" else rt.Polar(1.0, ns.turn * (0.1 * p))
            own = ns.own if p == 2 else one
            ns.J(p) << ns.scale * turn * own * rt.Constant(self.terms[p], cells_rank=2)
            ns.JH(p) << rt.ConjTranspose(ns.J(p))
            ns.L(p) << ns.left * ns.J(p)
        for p, q in PAIRS:
            right = ns.JH(q) if self.sides == "both" else ns.one
            ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p) - ns.uvw(q), None, ns.L(p), right)
        return ns

    def by_numpy(self, p, q, values):
        """[2, 2, time, freq]"""
        path = (self.lmn - [0, 0, 1]) @ (self.places[p] - self.places[q])
        k = values["flux"] * self.fluxes[:, None] * np.exp(2j * np.pi * path[:, None] * FREQ_HZ / C_M_S)

        def term(a):
            turn = values["turn"] if self.kind == "real" else np.exp(0.1j * a * values["turn"])
            j = values["scale"] * turn * (values["own"] if a == 2 else 1.0) * self.terms[a]
            return j if j.ndim == 5 else np.eye(2)[None, :, :, None, None] * j[:, None, None]

        right = term(q) if self.sides == "both" else np.eye(2)[None, :, :, None, None] * np.ones((N, 1, 1, 1, 1))
        return values["left"] * np.einsum("sijtf,sf,skjtf->iktf", term(p), k, right.conj())

    def slope(self, p, q, name, step=1e-3):
        """Of the fourth order, in an unknown."""
        moved = [self.by_numpy(p, q, START | {name: START[name] + i * step}) for i in (-2, -1, 1, 2)]
        return (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("sides", ["both", "left"])
@pytest.mark.parametrize("kind", SHAPES)
def test_slopes_are_those_of_numpy(kind, sides, precision):
    scene = Scene(kind, sides)
    ns = scene.tree()
    forest = rt.Forest(ns, device="none")  # whose methods it is about
    roots = [ns.V(p, q).name for p, q in PAIRS]
    results = forest.results(roots, CELLS, derivatives=True, precision=precision)
    if precision == "double":
        assert any("in one pass with the values" in note for note in forest.notes())
    tolerance = 1e-10 if precision == "double" else 3e-6
    for (p, q), result in zip(PAIRS, results, strict=True):
        wanted = scene.by_numpy(p, q, START)
        largest = np.abs(scene.terms).max() ** 2 * 4 * scene.fluxes.sum()
        np.testing.assert_allclose(result.value, wanted, rtol=0, atol=tolerance * largest)
        on_own = 2 in ((p, q) if sides == "both" else (p,))
        on_turn = kind == "real" or p > 0 or sides == "both"
        expected = {"scale", "flux", "left"} | ({"own"} if on_own else set()) | ({"turn"} if on_turn else set())
        assert {name for name, _ in result.derivatives} >= expected
        for name in expected:
            slope = result.derivatives[name, 0]
            np.testing.assert_allclose(
                np.broadcast_to(slope, wanted.shape),
                scene.slope(p, q, name),
                rtol=0,
                atol=(10 * ANTENNAS * tolerance) * largest,
                err_msg=name,
            )


def test_values_are_the_same_bits_without_derivatives():
    ns = Scene("full", "both").tree()
    roots = [ns.V(p, q).name for p, q in PAIRS]
    with_slopes = rt.Forest(ns, threads=1).results(roots, CELLS, derivatives=True)
    alone = rt.Forest(ns, threads=2).results(roots, CELLS)
    again = rt.Forest(ns, threads=2).results(roots, CELLS, derivatives=True)
    for one, other, third in zip(with_slopes, alone, again, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
        for parameter, slope in one.derivatives.items():
            np.testing.assert_array_equal(slope, third.derivatives[parameter])
