"""Skies that vary in time: one time after the other, or the brightness as a Jones term; the same as each time alone."""

import numpy as np
import pytest

import rimetree as rt

N_SOURCE, N_TIME, N_FREQ = 20, 5, 24
TIMES_S = 10.0 * np.arange(N_TIME)
FREQ_HZ = 1.0e9 + 4e6 * np.arange(N_FREQ)
BASELINES = [(0, 1), (0, 2), (1, 2)]
RNG = np.random.default_rng(17)


def over_time(*shape):
    """Numbers that vary, with time as their last dimension."""
    return RNG.normal(size=(*shape, N_TIME))


LM = 0.02 * over_time(N_SOURCE, 2)
SKY = {
    "lmn": np.concatenate([LM, np.sqrt(1 - (LM**2).sum(axis=1, keepdims=True))], axis=1),
    "stokes": over_time(N_SOURCE, 4),
    "shape": 1e-4 * np.abs(over_time(N_SOURCE, 3)),
    "flux_jy": over_time(N_SOURCE),
}
UVW_M = 300 * over_time(3, 2, 3)  # and its rates, m/s
JONES = (1 + 0.2 * RNG.normal(size=(3, N_SOURCE, N_TIME, N_FREQ))) * np.exp(0.1j)


def tree(varying, jones=False, rates=False, shapes=False, n_source=N_SOURCE, time=None, device="none"):
    """PSV nodes over all times, or at one; `varying`: what of the sky varies. Unpolarised, if that is "flux_jy"."""
    ns = rt.NodeScope()

    def values(numbers):
        return rt.Constant(numbers, cells_rank=1) if time is None else rt.Constant(numbers[..., time])

    for name, numbers in SKY.items():
        numbers = numbers[:n_source]
        ns[name] << (values(numbers) if name in varying else rt.Constant(numbers[..., 0]))
    ns.flux << rt.Parm(1.5, solvable=True)
    ns.B << ns.flux * (ns.flux_jy if "flux_jy" in varying else rt.Stokes(ns.stokes))
    for p in range(3):
        ns.uvw(p) << values(UVW_M[p] if rates else UVW_M[p, 0])
        ns.gain(p) << rt.Parm(1.0 + 0.1 * p, solvable=True)
        ns.beam(p) << (
            rt.Constant(JONES[p][:n_source], cells_rank=2)
            if time is None
            else rt.Constant(JONES[p][:n_source, [time]], cells_rank=2)
        )
        ns.J(p) << ns.gain(p) * ns.beam(p)
    for p, q in BASELINES:
        terms = (ns.J(p), rt.Conj(ns.J(q))) if jones else ()
        uvw = ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, uvw, ns.shape if shapes else None, *terms)
        ns.W(p, q) << rt.PSV(ns.lmn, ns.B, uvw, None, *terms, n_minus=0)  # another batch with the same terms
        ns.c(p, q) << rt.Condeq(rt.Constant(np.full((2, 2), 3 + 1j)), ns.V(p, q))
        ns.d(p, q) << rt.Condeq(rt.Constant(np.full((2, 2), 3 + 1j)), ns.W(p, q))
    ns.chi2 << rt.ChiSquare(*(equation(p, q) for p, q in BASELINES for equation in (ns.c, ns.d)))
    return rt.Forest(ns, device=device)


def cells(time=None):
    times_s = TIMES_S if time is None else TIMES_S[[time]]
    return rt.Cells(times_s, FREQ_HZ, time_width_s=10.0, freq_width_hz=4e6)


ROOTS = [f"V:{p}:{q}" for p, q in BASELINES]
CASES = [
    (("lmn",), {}),
    (("lmn",), {"rates": True, "shapes": True}),
    (("lmn",), {"jones": True}),
    (("stokes",), {}),
    (("stokes",), {"n_source": 8}),
    (("stokes",), {"jones": True, "n_source": 8}),
    (("stokes",), {"jones": True, "rates": True, "shapes": True, "n_source": 8}),
    (("flux_jy",), {}),
    (("flux_jy",), {"rates": True, "shapes": True}),
    (("flux_jy",), {"jones": True}),
    (("flux_jy", "lmn"), {}),
    (("shape",), {"shapes": True}),
    (("lmn", "stokes", "shape"), {"jones": True, "rates": True, "shapes": True}),
]


@pytest.mark.parametrize(("varying", "uses"), CASES)
def test_each_time_is_what_it_is_by_itself(varying, uses):
    as_term = varying == ("flux_jy",) or uses.get("n_source") == 8
    way = "as a Jones term" if as_term else "one time after the other"
    forest = tree(varying, **uses)
    got = forest.results(ROOTS, cells(), derivatives=True)
    assert any(way in note for note in forest.notes()), forest.notes()
    assert not any("cell by cell" in note for note in forest.notes())
    (text,) = (one["text"] for one in forest.describe(cells()) if one["node"] == ROOTS[0])
    assert way in text
    for time in range(N_TIME):
        single = tree(varying, time=time, **uses)
        expected = single.results(ROOTS, cells(time), derivatives=True)
        assert not any(way in note for note in single.notes())
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one.value[:, :, [time]], other.value, rtol=0, atol=1e-12 * N_SOURCE)
            assert set(one.derivatives) == set(other.derivatives)
            for parameter, derivative in other.derivatives.items():
                np.testing.assert_allclose(
                    one.derivatives[parameter][:, :, [time]], derivative, rtol=0, atol=1e-12 * N_SOURCE
                )


@pytest.mark.parametrize(("varying", "uses"), CASES)
def test_gradients_are_sums_over_times(varying, uses):
    value, gradient = tree(varying, **uses).value_and_gradient("chi2", cells())
    singles = [tree(varying, time=t, **uses).value_and_gradient("chi2", cells(t)) for t in range(N_TIME)]
    assert value == pytest.approx(sum(one for one, _ in singles), rel=1e-12)
    expected = sum(own for _, own in singles)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-11 * value)


@pytest.mark.parametrize(("varying", "uses"), [case for case in CASES if case[0] in (("flux_jy",), ("stokes",))])
def test_gradients_on_devices_are_those_of_the_host(varying, uses):
    """They are made there: had been made on the host, cell by cell."""
    forest = tree(varying, device="simulated", **uses)
    value, gradient = forest.value_and_gradient("chi2", cells())
    expected_value, expected = tree(varying, **uses).value_and_gradient("chi2", cells())
    assert value == pytest.approx(expected_value, rel=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-11 * value)
    assert not any("derivatives are computed on the host" in note for note in forest.notes())


def test_verified():
    """In extended precision, once however many times there are."""
    forest = tree(("lmn", "stokes"), jones=True)
    forest.results(ROOTS, cells(), verify=3)
    assert forest.verification().count == 3
    assert forest.verification().largest_error < 1e-12


def test_few_cells_are_done_one_by_one():
    forest = tree(("lmn",))
    forest.results(ROOTS, rt.Cells(TIMES_S, FREQ_HZ[:2], time_width_s=10.0, freq_width_hz=4e6))
    assert any("cell by cell" in note for note in forest.notes())


@pytest.mark.parametrize("n_source", [1, 8])
@pytest.mark.parametrize("name", ["stokes", "flux_jy"])
def test_what_is_no_number_stays_at_its_time(name, n_source, monkeypatch):
    good = tree((name,), n_source=n_source).results(ROOTS, cells())
    broken = SKY[name].copy()
    broken[0, ..., 2] = np.nan
    monkeypatch.setitem(SKY, name, broken)
    for one, other in zip(tree((name,), n_source=n_source).results(ROOTS, cells()), good, strict=True):
        assert np.isnan(one.value[0, 0, 2]).all()
        others = [0, 1, 3, 4]
        np.testing.assert_array_equal(one.value[:, :, others], other.value[:, :, others])


def test_gradients_of_baselines_beside_a_brightness_that_varies():
    """Of unknowns in u, v, w, which no kernel gives."""

    def forest(time=None):
        ns = rt.NodeScope()
        flux_jy = SKY["flux_jy"][:8]
        ns.B << (rt.Constant(flux_jy, cells_rank=1) if time is None else rt.Constant(flux_jy[:, time]))
        ns.scale << rt.Parm(1.0, solvable=True)
        for p, q in BASELINES:
            uvw = ns.scale * rt.Constant(UVW_M[p, 0, :, 0] - UVW_M[q, 0, :, 0])
            ns.V(p, q) << rt.PSV(rt.Constant(SKY["lmn"][:8, :, 0]), ns.B, uvw)
            ns.c(p, q) << rt.Condeq(rt.Constant(np.full((2, 2), 3 + 1j)), ns.V(p, q))
        ns.chi2 << rt.ChiSquare(*(ns.c(p, q) for p, q in BASELINES))
        return rt.Forest(ns)

    value, gradient = forest().value_and_gradient("chi2", cells())
    singles = [forest(t).value_and_gradient("chi2", cells(t)) for t in range(N_TIME)]
    assert value == pytest.approx(sum(one for one, _ in singles), rel=1e-12)
    assert np.abs(gradient).max() > 1e-3 * value
    np.testing.assert_allclose(gradient, sum(own for _, own in singles), rtol=1e-9)
