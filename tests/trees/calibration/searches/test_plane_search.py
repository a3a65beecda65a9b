"""Slopes for which data are in phase."""

import numpy as np
import pytest

from rimetree.calibration.searches.plane_search import best_slopes


def scene(rng, n_slope, n_channel=6, n_antenna=12):
    places = rng.normal(size=(n_antenna, n_slope))
    first, second = np.triu_indices(n_antenna, 1)
    rate = np.linspace(1.0, 1.3, n_channel)
    u = (places[first] - places[second])[:, None, :] * rate[None, :, None]
    return u.reshape(-1, n_slope), rng.uniform(0.5, 2.0, len(first) * n_channel)


@pytest.mark.parametrize("n_slope", [1, 2])
@pytest.mark.parametrize("size", [0.1, 3.0, 15.0])
def test_slopes_of_many_turns_are_found(n_slope, size):
    """15: 20 turns of phase on long baselines."""
    rng = np.random.default_rng(n_slope)
    for _ in range(10):
        u, weight = scene(rng, n_slope)
        planted = rng.normal(size=n_slope)
        planted *= size / np.linalg.norm(planted)
        np.testing.assert_allclose(best_slopes(weight * np.exp(1j * (u @ planted)), u), planted, atol=1e-7)


def test_noise_of_the_size_of_the_signal_moves_them_little():
    rng = np.random.default_rng(0)
    u, weight = scene(rng, 2, n_channel=16)
    planted = np.array([4.0, -2.5])
    noise = rng.normal(size=(2, len(u)))
    found = best_slopes(weight * np.exp(1j * (u @ planted)) + noise[0] + 1j * noise[1], u)
    sigma = np.sqrt(np.diag(np.linalg.inv((u * weight[:, None]).T @ u))) * np.sqrt(1 / weight.mean())
    assert (np.abs(found - planted) < 5 * sigma).all()


def test_where_there_is_nothing():
    assert (best_slopes(np.zeros(5, complex), np.ones((5, 2))) == 0).all()
    assert (best_slopes(np.ones(5, complex), np.zeros((5, 1))) == 0).all()


def test_data_in_phase_have_no_slopes():
    """One channel on a grid has equal peaks: the nearest counts."""
    u = 2 * np.pi * np.arange(1, 6)[:, None] / 5.0
    np.testing.assert_allclose(best_slopes(np.ones(5, complex), u), 0, atol=1e-9)
    np.testing.assert_allclose(best_slopes(np.exp(0.2j * u[:, 0]), u), 0.2, atol=1e-9)
