"""Delays at the best of all turns of phase: beside a search over all of them, for planted delays and noise."""

import itertools

import numpy as np
import pytest

from rimetree.calibration.searches.fringe import fringe_fit
from rimetree.calibration.searches.turns import smallest_integers, with_best_turns
from rimetree.calibration.terms.kinds import phase_per_unit

N, N_CHANNEL, MOST = 5, 8, 4


def planted(quantity, rng, noise, n=N):
    """(matrix [channel, antenna, antenna] of unit visibilities with noise, rates, x [antenna])."""
    centre_hz, width_hz, most = (1.3e9, 2e6, 50e-9) if quantity == "clock" else (120e6, 1e6, 1.0)
    rate = phase_per_unit(quantity, centre_hz + width_hz * (np.arange(N_CHANNEL) - (N_CHANNEL - 1) / 2))
    x = rng.uniform(-most, most, n)
    p, q = np.triu_indices(n, 1)
    seen = np.exp(1j * (x[p] - x[q]) * rate[:, None])
    seen += noise * (rng.normal(size=seen.shape) + 1j * rng.normal(size=seen.shape))
    matrix = np.zeros((N_CHANNEL, n, n), complex)
    matrix[:, p, q], matrix[:, q, p] = seen, seen.conj()
    return matrix, rate, x


def climbed(matrix, rate, x):
    """The height of the maximum near x [case, antenna], one antenna after the other by a parabola: no other code."""
    p, q = np.triu_indices(x.shape[1], 1)

    def height(x):
        return (matrix[:, p, q].T * np.exp(-1j * (x[:, p] - x[:, q])[..., None] * rate)).real.sum(axis=(1, 2))

    step = 0.05 / rate.mean()
    for _ in range(60):
        for antenna in range(1, x.shape[1]):
            move = np.eye(x.shape[1])[antenna] * step
            low, here, high = height(x - move), height(x), height(x + move)
            bend = low - 2 * here + high
            x = x + np.where(bend < 0, 0.5 * (low - high) / np.where(bend < 0, bend, 1), 0)[:, None] * move
    return height(x)


def highest_of_all(matrix, rate, x):
    """Of all combinations of up to MOST turns of each antenna from x, those that differ from the first of them."""
    turns = np.array(list(itertools.product(range(-MOST, MOST + 1), repeat=len(x) - 1)))
    every = x + np.concatenate([np.zeros((len(turns), 1)), turns], axis=1) * 2 * np.pi / rate.mean()
    p, q = np.triu_indices(len(x), 1)
    heights = np.zeros(len(turns))
    for f, h in enumerate(rate):
        phasors = np.exp(1j * every * h)
        heights += (np.conj(phasors[:, p]) * phasors[:, q] * matrix[f, p, q]).real.sum(axis=1)
    return climbed(matrix, rate, every[np.argsort(-heights)[:20]]).max()


@pytest.mark.parametrize(("quantity", "noise"), [("clock", 0.06), ("clock", 0.2), ("tec", 0.2)])
def test_no_other_turns_are_better(quantity, noise):
    """Antenna by antenna one in ten had ended elsewhere."""
    rng = np.random.default_rng(3)
    worse = 0
    for _ in range(12):
        matrix, rate, x = planted(quantity, rng, noise)
        (found,) = fringe_fit(matrix[None, None], rate, 0, any_phase=False)
        best = max(highest_of_all(matrix, rate, found), highest_of_all(matrix, rate, x))
        worse += (best - climbed(matrix, rate, found[None])[0]) / noise**2 > 0.01
    assert worse == 0


def test_from_turns_elsewhere_of_several_antennas():
    """From any of these a search by single antennas cannot get away, or not to the best."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        matrix, rate, x = planted("clock", rng, 0.06, n=7)
        ends = [with_best_turns(matrix, rate, x + rng.integers(-2, 3, 7) * 2 * np.pi / rate.mean()) for _ in range(3)]
        heights = climbed(matrix, rate, np.array(ends))
        assert np.ptp(heights) / 0.06**2 < 0.01


def test_antennas_without_data_and_single_channels_stay():
    matrix, rate, x = planted("clock", np.random.default_rng(1), 0.0)
    matrix[:, 2] = matrix[:, :, 2] = 0
    assert with_best_turns(matrix, rate, x)[2] == x[2]
    np.testing.assert_array_equal(with_best_turns(matrix[:1], rate[:1], x), x)
    np.testing.assert_array_equal(with_best_turns(0 * matrix, rate, x), x)


@pytest.mark.parametrize("seed", range(5))
def test_smallest_integers(seed):
    """Beside all integers from -4 to 4."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    form, linear = root @ root.T + 0.1 * np.eye(4), rng.normal(size=4)
    every = np.array(list(itertools.product(range(-4, 5), repeat=4)))
    values = np.einsum("ki,ij,kj->k", every, form, every) + every @ linear
    order = np.argsort(values)[:6]
    found = smallest_integers(form, linear, 6)
    np.testing.assert_array_equal([turns for _, turns in found], every[order])
    shift = found[0][0] - values[order[0]]
    np.testing.assert_allclose([value - shift for value, _ in found], values[order], atol=1e-9)


def test_no_integers_of_a_form_without_a_minimum():
    assert smallest_integers(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2), 3) == []
