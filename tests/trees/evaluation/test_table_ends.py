"""The first and the last entry of a table that `Interpolate` looks up, at places that scripts compute."""

import numpy as np
import pytest

import rimetree as rt

DEVICES = [None, "simulated"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("outside", ["nan", "zero", "edge"])
def test_grids_hold_their_own_places(outside, device):
    """Of half of them the last one was beyond the table, by rounding: no number, or 0."""
    for n in range(2, 40):
        grid = np.linspace(-0.05, 0.05, n)
        ns = rt.NodeScope()
        ns.places << (rt.Constant(grid) - grid[0]) / (grid[1] - grid[0])
        ns.x << rt.Interpolate(np.arange(1.0, n + 1), rt.Composer(ns.places, dims=[n, 1]), outside=outside)
        found = rt.Forest(ns, device=device).evaluate(ns.x).ravel()
        np.testing.assert_allclose(found, np.arange(1.0, n + 1), rtol=1e-13)


def test_times_and_frequencies_are_at_the_ends_of_their_tables():
    time_s, frequency_hz = 5.24e9 + np.arange(101.0), np.linspace(1.1e9, 1.7e9, 64)
    table = np.arange(101.0)[:, None] + 1000 * np.arange(64.0)
    ns = rt.NodeScope()
    ns.t << rt.Time() - time_s[0]
    ns.f << (rt.Freq() - frequency_hz[0]) / (frequency_hz[1] - frequency_hz[0])
    ns.x << rt.Interpolate(table, ns.t, ns.f)
    found = rt.Forest(ns).evaluate(ns.x, rt.Cells(time_s=time_s, freq_hz=frequency_hz))
    np.testing.assert_allclose(found, table, rtol=0, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("place, slope", [(-1e-9, 2.0), (0.0, 2.0), (2.0, 3.0), (2.0 + 1e-9, 3.0)])
def test_rounding_does_not_take_the_slope(place, slope, device):
    ns = rt.NodeScope()
    ns.place << rt.Parm(place, solvable=True)
    ns.x << rt.Interpolate([1.0, 3.0, 6.0], ns.place)
    value, gradient = rt.Forest(ns, device=device).value_and_gradient(ns.x, rt.Cells())
    assert value == (1.0 if place < 1 else 6.0) and gradient == pytest.approx([slope], rel=1e-12)


def test_entries_that_do_not_count_do_not_spoil():
    ns = rt.NodeScope()
    ns.x << rt.Interpolate([1.0, np.nan, 6.0], rt.Constant([[-1e-9], [2.0 + 1e-9]]))
    np.testing.assert_array_equal(rt.Forest(ns).evaluate(ns.x).ravel(), [1.0, 6.0])


@pytest.mark.parametrize("place", [-2e-6, 2.0 + 2e-6])
def test_beyond_rounding_there_is_nothing(place):
    ns = rt.NodeScope()
    ns.x << rt.Interpolate([1.0, 3.0, 6.0], place)
    assert np.isnan(rt.Forest(ns).evaluate(ns.x)).all()
