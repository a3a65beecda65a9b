"""Skies whose directions or shapes vary along channels, as refraction and scattering make them: PSV does one channel,
or one cell, after the other, and gives what it gives for each cell by itself."""

import itertools

import numpy as np
import pytest

import rimetree as rt

N_TIME, N_FREQ = 3, 4
TIMES_S, FREQ_HZ = 10.0 * np.arange(N_TIME), 1.2e8 + 4e6 * np.arange(N_FREQ)
BASELINES = [(0, 1), (0, 2), (1, 2)]


class Sky:
    """Numbers [..., time, freq] of which some are alike at all times or in all channels."""

    def __init__(self, n_source, varying, axes):
        rng = np.random.default_rng(5)

        def over(name, *shape):
            extent = [n if axis in axes and name in varying else 1 for axis, n in (("t", N_TIME), ("f", N_FREQ))]
            return rng.normal(size=(*shape, *extent))

        lm = 0.02 * over("lmn", n_source, 2)
        self.parts = {
            "lmn": np.concatenate([lm, np.sqrt(1 - (lm**2).sum(axis=1, keepdims=True))], axis=1),
            "shape": 1e-3 * np.abs(over("shape", n_source, 3)),
            "stokes": over("stokes", n_source, 4),
        }
        self.uvw_m = 300 * rng.normal(size=(3, 2, 3, N_TIME, 1))
        self.jones = rng.normal(size=(3, n_source, N_TIME, N_FREQ)) + 1j

    def forest(self, cell=None, jones=True, refracted=False):
        """All cells, or one (time, channel); directions and shapes may depend on unknowns."""

        def constant(numbers):
            if cell is not None:
                numbers = numbers[..., min(cell[0], numbers.shape[-2] - 1), min(cell[1], numbers.shape[-1] - 1)]
            return rt.Constant(numbers, cells_rank=2 if cell is None else 0)

        ns = rt.NodeScope()
        for name, numbers in self.parts.items():
            ns[name] << constant(numbers)
        ns.flux << rt.Parm(1.5, solvable=True)
        ns.B << ns.flux * rt.Stokes(ns.stokes)
        moved, shape = ns.lmn, ns.shape
        if refracted:
            shift = np.random.default_rng(6).normal(scale=1e-3, size=(2, *self.parts["lmn"].shape[:2], N_TIME, N_FREQ))
            moved = ns.moved << ns.lmn + rt.Parm(0.3, solvable=True) * constant(shift[0])
            shape = ns.size << ns.shape + rt.Parm(0.4, solvable=True) * constant(shift[1])
        for p in range(3):
            ns.uvw(p) << constant(self.uvw_m[p])
            ns.J(p) << constant(self.jones[p])
        for p, q in BASELINES:
            terms = (ns.J(p), rt.Conj(ns.J(q))) if jones else ()
            ns.V(p, q) << rt.PSV(moved, ns.B, ns.uvw(p) - ns.uvw(q), shape, *terms)
        ns.chi2 << rt.ChiSquare(*(ns.V(p, q) - rt.Constant(np.full((2, 2), 3 + 1j)) for p, q in BASELINES))
        return rt.Forest(ns, device="none")  # devices do it cell by cell


def cells(cell=None):
    times, channels = (TIMES_S, FREQ_HZ) if cell is None else (TIMES_S[[cell[0]]], FREQ_HZ[[cell[1]]])
    return rt.Cells(times, channels, time_width_s=10.0, freq_width_hz=4e6)


CASES = [
    (200, ("lmn",), "f", "one channel after the other, as directions vary along channels"),
    (200, ("shape",), "f", "one channel after the other, as shapes vary along channels"),
    (200, ("lmn", "shape", "stokes"), "f", "one channel after the other"),
    (200, ("lmn", "shape", "stokes"), "tf", "one cell after the other"),
    (3, ("lmn", "stokes"), "f", "cell by cell"),
    (3, ("lmn", "stokes"), "tf", "cell by cell"),
]


@pytest.mark.parametrize("jones", [False, True])
@pytest.mark.parametrize(("n_source", "varying", "axes", "note"), CASES)
def test_each_cell_is_what_it_is_by_itself(n_source, varying, axes, note, jones):
    sky = Sky(n_source, varying, axes)
    forest = sky.forest(jones=jones)
    roots = [f"V:{p}:{q}" for p, q in BASELINES]
    got = forest.results(roots, cells(), derivatives=True)
    assert any(note in text for text in forest.notes()), forest.notes()
    assert note in next(one["text"] for one in forest.describe(cells()) if one["node"] == roots[0])
    value, gradient = forest.value_and_gradient("chi2", cells())
    sums = 0.0, 0.0
    for t, f in itertools.product(range(N_TIME), range(N_FREQ)):
        single = sky.forest((t, f), jones)
        for one, other in zip(got, single.results(roots, cells((t, f)), derivatives=True), strict=True):
            np.testing.assert_allclose(one.value[..., [t], [f]], other.value[..., 0], rtol=0, atol=1e-11 * n_source)
            for parameter, own in other.derivatives.items():
                np.testing.assert_allclose(
                    one.derivatives[parameter][..., [t], [f]], own[..., 0], rtol=0, atol=1e-11 * n_source
                )
        found = single.value_and_gradient("chi2", cells((t, f)))
        sums = sums[0] + found[0], sums[1] + found[1]
    assert value == pytest.approx(sums[0], rel=1e-11)
    np.testing.assert_allclose(gradient, sums[1], rtol=0, atol=1e-10 * value)


@pytest.mark.parametrize("n_source", [3, 200])
def test_gradients_of_directions_and_shapes(n_source):
    """With respect to what is cut into slices itself."""
    sky = Sky(n_source, ("stokes",), "f")
    value, gradient = sky.forest(refracted=True).value_and_gradient("chi2", cells())
    singles = [
        sky.forest(cell, refracted=True).value_and_gradient("chi2", cells(cell))
        for cell in itertools.product(range(N_TIME), range(N_FREQ))
    ]
    assert value == pytest.approx(sum(own for own, _ in singles), rel=1e-11)
    expected = sum(own for _, own in singles)
    assert np.abs(expected).min() > 0 and len(expected) == 3
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-10 * value)
