"""Where terms have many intervals along frequency one or two are searched, and the others follow."""

import numpy as np
import pytest

from rimetree.calibration.directions.coarse_fits import coarse_fits
from rimetree.calibration.directions.joint_fit import DirectionSums, JointFit, Unknowns
from rimetree.calibration.directions.joint_search import OFTEN, ended, least_coarsely, lowest
from rimetree.calibration.directions.joint_unknowns import TermUnknowns

_ANTENNAS, _CHANNELS, _DIRECTIONS, _CELLS = 7, 8, 3, 40


def problem(rng):
    """(sums, unknowns, place of what was planted) of a bandpass of phases, and phases of all directions but one."""
    p, q = np.triu_indices(_ANTENNAS, 1)
    model = rng.normal(size=(len(p), 1, _CHANNELS, 1, _CELLS, _DIRECTIONS, 2)) @ [10, 10j]
    band = rng.uniform(-np.pi, np.pi, (_CHANNELS, _ANTENNAS))
    phases = rng.uniform(-np.pi, np.pi, (_DIRECTIONS, _ANTENNAS))
    band[:, 0] = phases[:, 0] = phases[0] = 0.0
    gains = np.exp(1j * (band[:, :, None] + phases.T))  # [freq, antenna, direction]
    seen = np.moveaxis(gains[:, p] * np.conj(gains[:, q]), 1, 0)[:, None, :, None, None]
    data = (model * seen).sum(axis=-1)
    data = data + rng.normal(size=(*data.shape, 2)) @ [1, 1j]
    sums = DirectionSums(
        np.stack([p, q], axis=1),
        np.einsum("btfenk,btfen->btfek", model.conj(), data),
        np.einsum("btfenk,btfenl->btfekl", model.conj(), model),
        float((np.abs(data) ** 2).sum()),
        _ANTENNAS,
    )
    feeds, channels, ones = np.ones(1, bool), np.arange(_CHANNELS)[None], np.ones(_CHANNELS)
    n = _ANTENNAS - 1
    numbers = np.arange((_CHANNELS + _DIRECTIONS - 1) * n).reshape(-1, n)
    index = np.pad(numbers, ((0, 0), (1, 0)), constant_values=-1)
    own = [Unknowns(ones, True, np.ones(_DIRECTIONS, bool), feeds, channels, index[:_CHANNELS])]
    for k in range(1, _DIRECTIONS):
        row = index[_CHANNELS + k - 1][None]
        own.append(Unknowns(ones, True, np.arange(_DIRECTIONS) == k, feeds, 0 * channels, row))
    none, every = np.zeros(0, int), np.arange(numbers.size)
    others = np.stack([every, every], axis=1)
    number = {("phase", int(k)): int(k) for k in every}
    unknowns = TermUnknowns(own, own, none, none, np.zeros(0), none, others, {}, None, none, [], number)
    return sums, unknowns, np.concatenate([band[:, 1:].ravel(), phases[1:, 1:].ravel()])


def test_some_channels_of_a_bandpass_are_searched_and_the_others_follow():
    rng = np.random.default_rng(2)
    sums, unknowns, planted = problem(rng)
    every = JointFit(sums, unknowns.loose)
    for fit, (middle, count) in zip(
        coarse_fits(sums, unknowns), ((3.5, 1), (3.5, 2), (1.75, 1), (5.25, 1)), strict=True
    ):
        assert fit.exact
        # A few channels with the phases of directions; the other channels one by one, the nearest first.
        assert len(fit.numbers) == fit.fit.count == (count + _DIRECTIONS - 1) * (_ANTENNAS - 1)
        assert len(fit.rest) == _CHANNELS - count
        channels = [min(one.numbers) // (_ANTENNAS - 1) for one in fit.rest]
        assert channels == sorted(channels, key=lambda channel: abs(channel - middle))
        known = np.where(np.isin(np.arange(len(planted)), fit.numbers), planted, 0.0)
        place = fit.extended(known[None].copy(), 20, [], rng)
        np.testing.assert_array_equal(place[0, fit.numbers], planted[fit.numbers])
        right, before, found = (every.chi_square(one[None])[0] for one in (planted, known, place[0]))
        assert found < right < 0.1 * before


def test_what_the_starts_of_one_channel_agree_on_is_found_once():
    """It was taken for the lowest minimum of all channels, as converged, where another channel had another."""
    rng = np.random.default_rng(2)
    sums, unknowns, planted = problem(rng)
    found = lowest(sums, unknowns, np.zeros(len(planted)), lambda _: False, scaled=True, batches=1)
    assert found.often <= 2  # from where it begins, and from anywhere
    few = lowest(sums, unknowns, np.zeros(len(planted)), lambda _: False, scaled=True, batches=4)
    assert few.chi_square <= found.chi_square and few.often >= OFTEN
    with_planted = ended(sums, unknowns, planted, scaled=True)
    assert few.chi_square <= with_planted.chi_square * (1 + 1e-6)


def test_the_least_of_part_of_a_band():
    rng = np.random.default_rng(2)
    sums, unknowns, planted = problem(rng)
    least = least_coarsely(sums, unknowns, np.zeros_like(planted), scaled=True)
    assert least == pytest.approx(least_coarsely(sums, unknowns, planted, scaled=True), rel=1e-6)
