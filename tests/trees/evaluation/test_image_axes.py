"""The axes `l` and `m`: beams and images on a grid of directions, and what is added up over it."""

import numpy as np
import pytest

import rimetree as rt

C_M_S = 299792458.0
L = np.linspace(-0.1, 0.1, 7)
M = np.linspace(-0.05, 0.08, 5)
TIME_S = np.array([0.0, 10.0, 20.0])
FREQ_HZ = np.array([1e8, 1.2e8])
CELLS = rt.Cells(TIME_S, FREQ_HZ, l=L, m=M)
BEAM = np.exp(-(L[:, None] ** 2 + M**2) / 0.02)
IMAGE = 2.0 * BEAM * (1 + 3 * L[:, None] - 2 * M)


def image_tree() -> rt.NodeScope:
    """An image under a beam, whose brightness is a parameter, and its visibility on a baseline that moves."""
    ns = rt.NodeScope()
    ns.l << rt.Grid(axis="l")
    ns.m << rt.Grid(axis="m")
    ns.n << rt.Sqrt(1.0 - ns.l * ns.l - ns.m * ns.m)
    ns.beam << rt.Exp(-(ns.l * ns.l + ns.m * ns.m) / 0.02)
    ns.flux << rt.Parm(2.0, solvable=True)
    ns.image << ns.flux * ns.beam * (1 + 3 * ns.l - 2 * ns.m)
    ns.uvw << rt.Composer(rt.Constant(30.0), rt.Constant(-20.0) + 0.1 * rt.Time(), rt.Constant(7.0))
    ns.lmn << rt.Composer(ns.l, ns.m, ns.n)
    ns.vis << rt.Sum(ns.image * rt.VisPhaseShift(lmn=ns.lmn, uvw=ns.uvw), reduction_axes=["l", "m"])
    return ns


def transform(image: np.ndarray) -> np.ndarray:
    """[time, freq]: the sum over the grid, written out."""
    n = np.sqrt(1 - L[:, None] ** 2 - M**2)
    v_m = -20.0 + 0.1 * TIME_S[:, None, None, None]
    path_m = 30.0 * L[:, None] + v_m * M + 7.0 * (n - 1)
    phase = 2 * np.pi * FREQ_HZ[:, None, None] / C_M_S * path_m
    return np.sum(image * np.exp(1j * phase), axis=(2, 3))


def test_an_image_has_the_axes_of_its_directions():
    ns = image_tree()
    forest = rt.Forest(ns)
    image = forest.evaluate(ns.image, CELLS)
    assert image.shape == (1, 1, 7, 5) == (1, 1, *CELLS.shape[2:])
    np.testing.assert_allclose(image[0, 0], IMAGE, rtol=1e-14)
    with pytest.raises(rt.Error, match="no l axis"):
        forest.evaluate(ns.image, rt.Cells(TIME_S, FREQ_HZ, m=M))


def test_visibilities_of_an_image_are_its_fourier_transform():
    ns = image_tree()
    vis = rt.Forest(ns).evaluate(ns.vis, CELLS)
    assert vis.shape == (3, 2, 1, 1)
    np.testing.assert_allclose(vis[..., 0, 0], transform(IMAGE), atol=1e-13)


def test_one_direction_cosine_alone():
    ns = rt.NodeScope()
    ns.cut << rt.Exp(-rt.Grid(axis="m") * rt.Grid(axis="m") / 0.02) * rt.Freq()
    ns.area << rt.Sum(ns.cut, reduction_axes=["m"])
    forest = rt.Forest(ns)
    cells = rt.Cells(TIME_S, FREQ_HZ, m=M)
    assert forest.evaluate(ns.cut, cells).shape == (1, 2, 1, 5)
    np.testing.assert_allclose(
        forest.evaluate(ns.area, cells)[0, :, 0, 0], FREQ_HZ * np.sum(np.exp(-(M**2) / 0.02)), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("reduction", "axes", "numpy_s"),
    [(rt.Max, ["l"], np.max), (rt.Min, ["m"], np.min), (rt.Mean, ["l", "m"], np.mean), (rt.Sum, ["m"], np.sum)],
)
def test_reductions_over_directions(reduction, axes, numpy_s):
    ns = image_tree()
    ns.reduced << reduction(ns.image, reduction_axes=axes)
    expected = numpy_s(IMAGE, axis=tuple("lm".index(axis) for axis in axes), keepdims=True)
    np.testing.assert_allclose(rt.Forest(ns).evaluate(ns.reduced, CELLS)[0, 0], expected, rtol=1e-13)


def test_derivatives_of_an_image():
    ns = image_tree()
    ns.energy << rt.Sum(rt.Sqr(rt.Norm(ns.vis)), reduction_axes=["time", "freq"])
    forest = rt.Forest(ns)
    derivative = forest.result(ns.vis, CELLS, derivatives=True).derivatives["flux", 0]
    np.testing.assert_allclose(derivative[..., 0, 0], transform(IMAGE) / 2, atol=1e-13)
    energy = np.sum(np.abs(transform(IMAGE)) ** 2)
    value, gradient = forest.value_and_gradient(ns.energy, CELLS)
    np.testing.assert_allclose([value, *gradient], [energy, energy], rtol=1e-12)  # dE/dflux = 2 E/flux at flux 2
    assert forest.check_derivatives(ns.energy, CELLS).good()


def test_the_monolithic_node_says_that_directions_are_its_sources():
    ns = image_tree()
    ns.psv << rt.PSV(lmn=rt.Composer(ns.lmn, dims=[1, 3]), brightness=rt.Composer(ns.image, dims=[1]), uvw=ns.uvw)
    with pytest.raises(rt.Error, match="PSV knows the time and freq axes only"):
        rt.Forest(ns).evaluate(ns.psv, CELLS)


def test_a_python_node_sees_the_directions():
    ns = image_tree()
    ns.taken << rt.PyNode(
        ns.image, evaluate=lambda cells, image: image * np.hypot(cells.l[:, None], cells.m), mixes=[], version=0
    )
    taken = rt.Forest(ns).evaluate(ns.taken, CELLS)
    np.testing.assert_allclose(taken[0, 0], IMAGE * np.hypot(L[:, None], M), rtol=1e-14)


def test_an_image_is_solved_for():
    ns = image_tree()
    data = rt.Sum(
        ns.beam * rt.Constant(3.25) * (1 + 3 * ns.l - 2 * ns.m) * rt.VisPhaseShift(lmn=ns.lmn, uvw=ns.uvw),
        reduction_axes=["l", "m"],
    )
    ns.solver << rt.Solver(rt.Condeq(data, ns.vis))
    forest = rt.Forest(ns)
    assert forest.solve(ns.solver, CELLS).converged
    np.testing.assert_allclose(forest.parameter_vector(), [3.25], rtol=1e-9)
