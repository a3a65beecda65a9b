"""What is no number in directions' shapes or in rates of baselines makes visibilities that are none, by any method: a
source does not vanish, nor its smearing, without a word."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.sky.source import PROFILES

N_TIME, N_SOURCE = 4, 6
RNG = np.random.default_rng(3)
LM = RNG.uniform(0.01, 0.03, (N_SOURCE, 2))
LMN = np.column_stack([LM, np.sqrt(1 - (LM**2).sum(axis=1))])
UVW = RNG.uniform(-300, 300, (2, 3, N_TIME)) * [[[1.0]], [[1e-4]]]
SHAPE = RNG.uniform(1e-4, 1e-3, (N_SOURCE, 3))
JONES = RNG.normal(size=(N_SOURCE, 2, 2))
METHODS = ["direct", "single", "with jones", "many channels"]

on_devices = pytest.mark.parametrize("device", ["none", "simulated"])
by_methods = pytest.mark.parametrize("method", METHODS)


def parallel_hand(method, device, uvw, shape=None, jones=JONES):
    """[time, freq] of XX by a method."""
    times = 30 if method == "many channels" else 1
    ns = rt.NodeScope()
    ns.J << rt.Constant(jones)
    more = [ns.J, ns.J.H] if method == "with jones" else []
    shapes = None if shape is None else np.tile(shape, (times, 1))
    ns.V << rt.PSV(np.tile(LMN, (times, 1)), np.ones(times * N_SOURCE), rt.Constant(uvw, cells_rank=1), shapes, *more)
    freq_hz = 1e9 + 1e5 * np.arange(2048 if method == "many channels" else 8)
    cells = rt.Cells(10.0 * np.arange(N_TIME), freq_hz, time_width_s=10, freq_width_hz=1e5)
    asked = {"single": {"precision": "single"}, "many channels": {"tolerance": 1e-4}}.get(method, {})
    return rt.Forest(ns, device=device).evaluate(ns.V, cells, **asked)[0, 0]


@on_devices
@by_methods
@pytest.mark.parametrize("times", [1, N_TIME])
def test_rates(times, method, device):
    uvw = UVW.copy()
    uvw[1, 1, :times] = np.nan
    xx = parallel_hand(method, device, uvw)
    assert np.isnan(xx[:times]).all()
    assert np.isfinite(xx[times:]).all()


@on_devices
@by_methods
@pytest.mark.parametrize("number", ["major", "minor", "angle"])
@pytest.mark.parametrize("profile", PROFILES)
def test_shapes(profile, number, method, device):
    shape = np.column_stack([SHAPE, np.full(N_SOURCE, float(PROFILES.index(profile)))])
    shape[2, ["major", "minor", "angle"].index(number)] = np.nan
    assert np.isfinite(parallel_hand(method, device, UVW, np.nan_to_num(shape))).all()
    assert np.isnan(parallel_hand(method, device, UVW, shape)).all()
