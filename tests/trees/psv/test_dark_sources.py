"""Sources without flux, of which maps of the whole sky have many below the horizon: they take no time, and what depends
on them is what it was."""

import numpy as np
import pytest

import rimetree as rt

N_SOURCE, N_TIME, FREQ_HZ = 60, 3, 1e8 + 1e6 * np.arange(5)
RNG = np.random.default_rng(11)
LM = RNG.uniform(-0.3, 0.3, (N_SOURCE, 2))
LMN = np.column_stack([LM, np.sqrt(1 - (LM**2).sum(axis=1))])
STOKES = RNG.normal(size=(N_SOURCE, 4)) * (np.arange(N_SOURCE)[:, None] % 7 == 2)
SHAPE = 1e-3 * RNG.uniform(1, 2, (N_SOURCE, 3)) * (np.arange(N_SOURCE)[:, None] % 2)
UVW_M = RNG.normal(scale=30, size=(3, N_TIME, 1))
CELLS = rt.Cells(10.0 * np.arange(N_TIME), FREQ_HZ)
LIT = STOKES.any(axis=1)

on_devices = pytest.mark.parametrize("device", ["none", "simulated"])


def visibilities(brightness, device, lmn=LMN, shape=SHAPE, uvw=UVW_M):
    ns = rt.NodeScope()
    ns.V << rt.PSV(lmn, brightness, rt.Constant(uvw, cells_rank=2), shape)
    forest = rt.Forest(ns, device=device)
    return forest.evaluate(ns.V, CELLS), " ".join(forest.notes())


@on_devices
def test_they_are_left_out(device):
    values, notes = visibilities(rt.Stokes(STOKES), device)
    assert f"{LIT.sum()} of {N_SOURCE} sources (others have no flux)" in notes
    alone, notes = visibilities(rt.Stokes(STOKES[LIT]), device, LMN[LIT], SHAPE[LIT])
    assert f"{LIT.sum()} sources" in notes
    np.testing.assert_array_equal(values, alone)


@on_devices
def test_a_sky_without_any_flux_is_dark(device):
    values, notes = visibilities(rt.Stokes(np.zeros((N_SOURCE, 4))), device)
    assert f"1 of {N_SOURCE} sources" in notes
    np.testing.assert_array_equal(values, np.zeros_like(values))


@on_devices
@pytest.mark.parametrize("where", ["lmn", "shape", "uvw"])
def test_no_numbers_are_seen(where, device):
    numbers = {"lmn": LMN.copy(), "shape": SHAPE.copy(), "uvw": UVW_M.copy()}
    numbers[where][1] = np.nan
    assert np.isnan(visibilities(rt.Stokes(STOKES), device, **numbers)[0][0, 0]).all()


@on_devices
def test_flux_at_one_channel_is_enough(device):
    flux = np.zeros((N_SOURCE, 1, len(FREQ_HZ)))
    flux[8, 0, 3] = 2.0
    values, notes = visibilities(rt.Constant(flux, cells_rank=2), device, shape=None)
    assert f"1 of {N_SOURCE} sources" in notes
    assert not values[0, 0][:, [0, 1, 2, 4]].any()
    np.testing.assert_allclose(np.abs(values[0, 0][:, 3]), 2.0, rtol=1e-12)


@on_devices
def test_derivatives_by_their_fluxes(device):
    """Also where their brightness is given as zero times an unknown, and the value leaves them out."""
    ns = rt.NodeScope()
    ns.dark << rt.Parm(0.0, solvable=True)
    profile = np.where(LIT, 0.0, 1.0)
    ns.flux << rt.Constant(STOKES[:, 0]) + ns.dark * rt.Constant(profile)
    ns.V << rt.PSV(LMN, ns.flux, rt.Constant(UVW_M, cells_rank=2))
    ns.chi2 << rt.ChiSquare(ns.V - rt.Constant(np.diag([3.0 + 1j, 3.0 + 1j])))
    forest = rt.Forest(ns, device=device)
    moved = forest.result(ns.V, CELLS, derivatives=True)
    assert f"{LIT.sum()} of {N_SOURCE} sources" in " ".join(forest.notes())
    (by_flux,) = moved.derivatives.values()
    expected, _ = visibilities(rt.Constant(1.0 - LIT), device, shape=None)
    np.testing.assert_allclose(by_flux, expected, rtol=1e-12, atol=1e-12)
    assert forest.check_derivatives(ns.chi2, CELLS).good(1e-7)


def moving_sky(stokes, places=LMN, shape=SHAPE, *, moved=None, terms=()):
    """Visibilities of three baselines, with the brightness as a Jones term; `stokes` [source,4,time]; `moved`
    [source,2,2]: what is added to it times an unknown that is 0; `terms`: others."""
    ns = rt.NodeScope()
    ns.B << rt.Stokes(rt.Constant(stokes, cells_rank=1))
    if moved is not None:
        ns.B_moved << ns.B + rt.MatrixMultiply(rt.Parm(0.0, solvable=True), rt.Constant(moved))
    brightness = ns.B if moved is None else ns.B_moved
    for k in range(3):
        ns.V(k) << rt.PSV(places, brightness, rt.Constant(UVW_M * (k + 1), cells_rank=2), shape, *terms)
    forest = rt.Forest(ns)
    found = forest.results([f"V:{k}" for k in range(3)], CELLS, derivatives=moved is not None)
    notes = " ".join(forest.notes())
    assert "as a Jones term" in notes
    return found, notes


def over_time(lit):
    """[source,4,time], where a source is lit at each time [source,time]."""
    return RNG.normal(size=(N_SOURCE, 4, 1)) * lit[:, None]


def test_what_is_dark_at_all_times_is_left_out():
    """Of a sky that drifts through a beam, that is what stays below the horizon."""
    lit = RNG.uniform(size=(N_SOURCE, N_TIME)) < 0.2
    stokes, ever = over_time(lit), lit.any(axis=1)
    assert 5 < ever.sum() < N_SOURCE - 5
    found, notes = moving_sky(stokes)
    assert f"{ever.sum()} of {N_SOURCE} sources (others have no flux)" in notes
    alone, notes = moving_sky(stokes[ever], LMN[ever], SHAPE[ever])
    assert f" {ever.sum()} sources" in notes
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-11)
    dark, notes = moving_sky(np.zeros_like(stokes))
    assert f"1 of {N_SOURCE} sources" in notes and not any(one.value.any() for one in dark)


def test_what_is_no_number_at_any_time_is_seen():
    stokes = over_time(np.arange(N_SOURCE)[:, None] % 7 == np.full(N_TIME, 2))
    stokes[1, 0, 2] = np.nan
    found, _ = moving_sky(stokes)
    assert np.isnan(found[0].value[0, 0, 2]).all() and np.isfinite(found[0].value[0, 0, :2]).all()
    stokes[1] = 0
    places = LMN.copy()
    places[1] = np.nan
    assert np.isnan(moving_sky(stokes, places)[0][0].value).all()


def test_no_numbers_of_other_terms_are_seen():
    """All sources stay, as their terms may have no value."""
    lit = np.arange(N_SOURCE)[:, None] % 7 == np.full(N_TIME, 2)
    gains = np.ones((N_SOURCE, N_TIME, 1))
    found, notes = moving_sky(over_time(lit), terms=[rt.Constant(gains, cells_rank=2)] * 2)
    assert f" {N_SOURCE} sources" in notes and np.isfinite(found[0].value).all()
    gains[1, 2] = np.nan
    found, _ = moving_sky(over_time(lit), terms=[rt.Constant(gains, cells_rank=2), 1.0])
    assert np.isnan(found[0].value[0, 0, 2]).all() and np.isfinite(found[0].value[0, 0, :2]).all()


def test_dark_sources_whose_brightness_moves_stay():
    lit = np.arange(N_SOURCE)[:, None] % 7 == np.full(N_TIME, 2)
    stokes = over_time(lit)
    found, notes = moving_sky(stokes, moved=np.where(lit.any(axis=1), 0.0, 1.0)[:, None, None] * np.eye(2))
    assert f" {N_SOURCE} sources" in notes
    expected, _ = visibilities(rt.Constant(1.0 - lit.any(axis=1)), "none")
    (by_flux,) = found[0].derivatives.values()
    np.testing.assert_allclose(by_flux, expected, rtol=0, atol=1e-11)
