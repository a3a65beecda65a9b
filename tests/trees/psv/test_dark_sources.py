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
