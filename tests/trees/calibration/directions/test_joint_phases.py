"""Phases of several directions at once: the best there are, for each cell."""

import numpy as np
import pytest

from rimetree.calibration.directions.joint_phases import CellSums, better_phasors

_FLUX_JY, _CHANNELS, _NOISE_JY = np.array([60.0, 25.0, 35.0, 20.0]), 8, 3.0


def observed(antennas, directions, cells, rng):
    """Sums over the data of random antennas in a field of some arcminutes, their baselines, and the phasors."""
    p, q = np.triu_indices(antennas, 1)
    uv, lm = rng.normal(size=(antennas, 2)) * 100, rng.normal(size=(directions, 2)) * 4e-3
    wavelength_m = 0.3 / (1.3 + 0.002 * np.arange(_CHANNELS))
    turns = ((uv[p] - uv[q]) @ lm.T)[:, None] / wavelength_m[:, None]  # [baseline, channel, direction]
    model = _FLUX_JY[:directions] * np.exp(2j * np.pi * turns)
    phasors = np.exp(2j * np.pi * rng.random((cells, antennas, directions)))
    data = np.einsum("bfk,cbk->bcf", model, phasors[:, p] * np.conj(phasors[:, q]))
    data = data + _NOISE_JY * (rng.normal(size=data.shape) + 1j * rng.normal(size=data.shape))
    shape = (len(p), cells, directions, directions)
    power = np.broadcast_to(np.einsum("bfk,bfl->bkl", np.conj(model), model)[:, None], shape)
    product = np.einsum("bcf,bfk->bck", data, np.conj(model))
    square = (np.abs(data) ** 2).sum(axis=-1)
    return CellSums(product, power, square, np.full(square.shape, _CHANNELS)), np.stack([p, q], axis=1), phasors


@pytest.mark.parametrize(("antennas", "directions"), [(5, 2), (7, 3), (12, 4)])
def test_they_explain_as_much_as_those_that_were_planted(antennas, directions):
    rng = np.random.default_rng(antennas)
    sums, baselines, planted = observed(antennas, directions, 12, rng)
    ones, free, unknowns = np.ones(directions), np.ones(directions, dtype=bool), directions * (antennas - 1)
    anything = np.exp(2j * np.pi * rng.random(planted.shape))
    assert sums.poor(baselines, anything, ones, unknowns).all()
    # Two standard deviations are noise.
    assert sums.poor(baselines, planted, ones, unknowns).mean() < 0.3
    found = better_phasors(sums, baselines, anything, ones, free)
    assert sums.poor(baselines, found, ones, unknowns).mean() < 0.2
    turned = found * np.conj(planted)
    error = np.angle(turned * np.conj(turned[:, :1]))
    assert (np.abs(error).max(axis=(1, 2)) < 0.5).mean() > 0.9


def test_what_is_good_or_not_free_stays():
    rng = np.random.default_rng(1)
    sums, baselines, planted = observed(7, 3, 8, rng)
    begin = planted.copy()
    begin[:4, :, :2] = np.exp(2j * np.pi * rng.random((4, 7, 2)))
    found = better_phasors(sums, baselines, begin, np.ones(3), np.array([True, True, False]))
    assert (found[..., 2] == begin[..., 2]).all()
    good = ~sums.poor(baselines, begin, np.ones(3), 12)
    assert good[4:].sum() >= 3 and not good[:4].any()
    assert (found[good] == begin[good]).all() and (found[:4, :, :2] != begin[:4, :, :2]).any()


def test_without_data_nothing_is_poor():
    nothing = CellSums(np.zeros((3, 1, 2), complex), np.zeros((3, 1, 2, 2)), np.zeros((3, 1)), np.zeros((3, 1), int))
    begin = np.ones((1, 3, 2), complex)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    assert (better_phasors(nothing, pairs, begin, np.ones(2), np.ones(2, dtype=bool)) == begin).all()
