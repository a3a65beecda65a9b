"""Searches from random places, of which hardly any ends in the lowest minimum: minima are shaken."""

import numpy as np
import pytest

from rimetree.calibration.directions.joint_fit import DirectionSums, JointFit, Unknowns
from rimetree.calibration.directions.joint_search import OFTEN, lowest
from rimetree.calibration.directions.joint_unknowns import TermUnknowns
from rimetree.calibration.directions.shaken_minima import lowest_of

_FLUX_JY, _NOISE_JY, _CELLS = np.array([60.0, 25.0, 40.0, 30.0, 35.0, 20.0]), 5.0, 96
_ANTENNAS = 7


def problem(directions, rng):
    """(sums, unknowns, place of what was planted) of phases of directions that resemble each other: over the cells
    phases of a baseline's models turn by a few tenths of a radian."""
    p, q = np.triu_indices(_ANTENNAS, 1)
    east, north = rng.normal(size=(2, _ANTENNAS, 1, 1)) * 2.5
    angle = 0.1 * np.linspace(-1, 1, _CELLS)[:, None]
    u, v = east * np.cos(angle) + north * np.sin(angle), north * np.cos(angle) - east * np.sin(angle)
    at = rng.uniform(-1, 1, (2, directions))
    turned = np.exp(1j * (u * at[0] + v * at[1]))
    model = _FLUX_JY[:directions] * turned[p] * np.conj(turned[q])  # [baseline, cell, direction]
    phases = rng.uniform(-np.pi, np.pi, (_ANTENNAS, directions))
    phases[0] = 0.0
    gains = np.exp(1j * phases)
    data = (model * (gains[p] * np.conj(gains[q]))[:, None]).sum(axis=-1)
    data = data + _NOISE_JY * (rng.normal(size=(2, *data.shape)).T @ [1, 1j]).T
    product = np.einsum("bck,bc->bk", np.conj(model), data)[:, None, None, None]
    power = np.einsum("bck,bcl->bkl", np.conj(model), model)[:, None, None, None]
    sums = DirectionSums(np.stack([p, q], axis=1), product, power, float((np.abs(data) ** 2).sum()), _ANTENNAS)
    index = np.arange(directions * (_ANTENNAS - 1)).reshape(directions, -1)
    own = [
        Unknowns(np.ones(1), True, np.arange(directions) == k, np.ones(1, bool), np.zeros((1, 1), int), np.array([one]))
        for k, one in enumerate(np.pad(index, ((0, 0), (1, 0)), constant_values=-1))
    ]
    none, numbers = np.zeros(0, int), np.arange(index.size)
    unknowns = TermUnknowns(
        own,
        own,
        none,
        none,
        np.zeros(0),
        none,
        np.stack([numbers, numbers], axis=1),
        {},
        None,
        none,
        [],
        {("phase", int(k)): int(k) for k in numbers},
    )
    return sums, unknowns, phases[1:].T.ravel()


def searched(sums, unknowns, **how):
    begin = np.zeros(len(unknowns.number))
    return lowest(sums, unknowns, begin, lambda found: False, scaled=False, **{"batches": 6, **how})


@pytest.mark.parametrize("seed", range(3))
def test_six_directions_of_seven_antennas(seed):
    """Two or three of a thousand random places are next to the lowest minimum."""
    sums, unknowns, planted = problem(6, np.random.default_rng(seed))
    _, (best,) = JointFit(sums, unknowns.tight).climbed(planted[None], 80)
    found = searched(sums, unknowns)
    assert found.chi_square < best * (1 + 1e-6) and found.often >= OFTEN
    alone = searched(sums, unknowns, batches=1)  # random places, as they are
    assert alone.often < OFTEN and alone.chi_square > best + 100 * _NOISE_JY**2


def test_what_many_random_places_lead_to_is_not_looked_for_any_longer():
    sums, unknowns, planted = problem(2, np.random.default_rng(3))
    _, (best,) = JointFit(sums, unknowns.tight).climbed(planted[None], 80)
    found = searched(sums, unknowns, batches=1)
    assert found.chi_square < best * (1 + 1e-6) and found.often >= OFTEN


def test_of_minima_that_are_the_same_there_is_one():
    place, chi_square = np.arange(5.0)[:, None], np.array([3.0, 1.0, 2.0, 1.0 + 1e-7, 2.5])
    kept, lowered = lowest_of(place, chi_square, 3)
    assert kept.ravel().tolist() == [1, 2, 4] and lowered.tolist() == [1.0, 2.0, 2.5]
