"""Jones terms that are the same for all sources of a PSV."""

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells([0.0, 10.0], [1e8, 1.1e8, 1.2e8], time_width_s=10.0)
RNG = np.random.default_rng(2)
N = 3
LM = 0.1 * RNG.normal(size=(N, 2))
LMN = np.column_stack([LM, np.sqrt(1 - np.sum(LM**2, axis=1))])
UVW = np.array([1200.0, -800.0, 30.0])


def jones(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


TERMS = {  # pairs as PSV takes them: the innermost first, with how many axes of cells they have
    "a matrix": [(jones(2, 2), jones(2, 2), 0)],
    "scalars": [(jones(), jones(), 0)],
    "inside of one with sources": [(jones(2, 2), jones(2, 2), 0), (jones(N, 2, 2), jones(N, 2, 2), 0)],
    "outside of one with sources": [(jones(N, 2, 2), jones(N), 0), (jones(2, 2), jones(2, 2), 0)],
    "on one side only": [(jones(2, 2), jones(N, 2, 2), 0)],
    "varying": [(jones(2, 2, 2, 3), jones(2, 2, 2, 3), 2)],
}


def matrices(term, cells_rank):
    """[source, 2, 2, time, freq]"""
    term = term[..., None, None] if cells_rank == 0 else term
    elements = term.shape[:-2]
    if elements in ((), (N,)):
        term = term[..., None, None, :, :] * np.eye(2)[:, :, None, None]
    return np.broadcast_to(term, (N, 2, 2, 2, 3))


def expected(pairs, brightness):
    freq = np.array([1e8, 1.1e8, 1.2e8])
    path = LMN[:, :2] @ UVW[:2] + (LMN[:, 2] - 1) * UVW[2]
    phase = np.exp(2j * np.pi * path[:, None] * freq / 299792458.0)
    total = np.einsum("sij,sf->sijf", brightness, phase)[:, :, :, None, :] * np.ones((1, 1, 1, 2, 1))
    for p, q, cells_rank in pairs:
        total = np.einsum("sijtf,sjktf,skltf->siltf", matrices(p, cells_rank), total, matrices(q, cells_rank))
    return total.sum(axis=0)


@pytest.mark.parametrize("device", ["none", "simulated"])
@pytest.mark.parametrize("name", TERMS)
def test_it_is_the_sum_over_sources(name, device):
    brightness = jones(N, 2, 2)
    ns = rt.NodeScope()
    children = [rt.Constant(x, cells_rank=rank) for p, q, rank in TERMS[name] for x in (p, q)]
    ns.V << rt.PSV(rt.Constant(LMN), rt.Constant(brightness), rt.Constant(UVW), None, *children)
    got = rt.Forest(ns, device=device).evaluate(ns.V, CELLS)
    scale = np.abs(expected(TERMS[name], brightness)).max()
    np.testing.assert_allclose(
        np.broadcast_to(got, (2, 2, 2, 3)), expected(TERMS[name], brightness), atol=1e-11 * scale
    )


def gain_tree(*, stacked):
    """A common gain of two antennas around the sources; or the same written out for each source."""
    ns = rt.NodeScope()
    ns.flux << rt.Parm(1.5, solvable=True)
    for p in (0, 1, 2):
        ns.re(p) << rt.Parm(1.0 + 0.1 * p, solvable=True)
        ns.im(p) << rt.Parm(0.2 - 0.1 * p, solvable=True)
        ns.G(p) << rt.Matrix22(rt.ToComplex(ns.re(p), ns.im(p)), 0.1, 0.2j, rt.ToComplex(ns.im(p), ns.re(p)))
        ns.J(p) << (rt.Composer(*[ns.G(p)] * N, dims=[N, 2, 2]) if stacked else rt.Identity(ns.G(p)))
        ns.JH(p) << rt.ConjTranspose(ns.J(p))
    ns.sky << rt.Composer(ns.flux, 2.0, 0.7)
    rng = np.random.default_rng(3)
    for p, q in ((0, 1), (0, 2), (1, 2)):
        uvw = rt.Constant(rng.normal(size=3) * 300)
        ns.V(p, q) << rt.PSV(rt.Constant(LMN), ns.sky, uvw, None, ns.J(p), ns.JH(q))
        data = rng.normal(size=(2, 2, 2, 3)) + 1j * rng.normal(size=(2, 2, 2, 3))
        ns.condeq(p, q) << rt.Condeq(rt.Constant(data, cells_rank=2), ns.V(p, q))
    residuals = [ns.condeq(p, q) for p, q in ((0, 1), (0, 2), (1, 2))]
    ns.chi2 << rt.ChiSquare(*residuals)
    ns.solver << rt.Solver(*residuals)
    return ns


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_gradients_and_solves_are_those_of_terms_with_sources(device):
    common, stacked = (rt.Forest(gain_tree(stacked=one), device=device) for one in (False, True))
    value, gradient = common.value_and_gradient("chi2", CELLS)
    expected_value, expected_gradient = stacked.value_and_gradient("chi2", CELLS)
    assert value == pytest.approx(expected_value, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-10 * np.abs(gradient).max())
    assert common.check_derivatives("chi2", CELLS).good()
    one, other = common.solve("solver", CELLS), stacked.solve("solver", CELLS)
    assert one.groups[0].chi_square == pytest.approx(other.groups[0].chi_square, rel=1e-8)


def test_no_sources():
    ns = rt.NodeScope()
    ns.V << rt.PSV(
        rt.Constant(np.zeros((0, 3))), rt.Constant(np.zeros(0)), rt.Constant(UVW), None, np.eye(2), np.eye(2)
    )
    assert not rt.Forest(ns).evaluate(ns.V, CELLS).any()


def test_what_fits_neither_is_refused():
    ns = rt.NodeScope()
    ns.V << rt.PSV(rt.Constant(LMN), rt.Constant(np.ones(N)), rt.Constant(UVW), None, np.ones(2), np.ones(2))
    with pytest.raises(rt.ForestError, match=r'child "jones" has dimensions \[2\]'):
        rt.Forest(ns)
