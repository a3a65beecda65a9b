"""The data's own noise, by differences of neighbouring channels and times, says whether a fit explains them."""

import math

import numpy as np
import pytest

from rimetree.calibration.data.data_counts import count_data
from rimetree.calibration.plan.solve_trees import DataSelection
from rimetree.ms import CORRELATION_NAMES

NOISE, SHAPE = 0.3, (3, 40, 30, 2)  # of weight 1; [baseline, time, channel, correlation]
KINDS = [kind for name in ("XX", "YY") for kind, own in CORRELATION_NAMES.items() if own == name]


class Group:
    antennas = (0, 1, 2)


def tile(signal, rng, shape=SHAPE):
    weight = rng.uniform(0.5, 2, shape)
    value = signal + rng.normal(size=(*shape, 2)) @ [1, 1j] * NOISE / np.sqrt(weight)
    flag = (rng.random(shape) < 0.1).astype(np.uint8)
    value[flag == 1] = np.nan
    return {
        "baselines": [(0, 1), (0, 2), (1, 2)][: shape[0]],
        "correlation_type": KINDS,
        "columns": {"DATA": value},
        "weight": weight,
        "flag": flag,
        "row": np.zeros(shape[:2], int),
        "time_s": 10.0 * np.arange(shape[1]),
        "frequency_hz": 1e9 + 1e6 * np.arange(shape[2]),
    }


def noise_of(*tiles):
    return count_data(Group(), DataSelection("DATA"), tiles).noise


@pytest.mark.parametrize("axis", [1, 2])
def test_what_changes_along_one_axis_is_no_noise(axis):
    rng = np.random.default_rng(0)
    changing = np.expand_dims(10 * rng.normal(size=SHAPE[axis]), [k for k in range(4) if k != axis])
    assert noise_of(tile(changing, rng)) == pytest.approx(2 * NOISE**2, rel=0.05)
    assert noise_of(tile(changing, rng), tile(changing, rng)) == pytest.approx(2 * NOISE**2, rel=0.05)


@pytest.mark.parametrize(("axis", "expected"), [(1, 1), (2, 1)])
def test_of_one_time_or_channel_the_other_axis_tells(axis, expected):
    shape = tuple(expected if k == axis else n for k, n in enumerate(SHAPE))
    assert noise_of(tile(1.0, np.random.default_rng(1), shape)) == pytest.approx(2 * NOISE**2, rel=0.2)


def test_too_few_tell_nothing():
    assert noise_of(tile(1.0, np.random.default_rng(1), (3, 1, 1, 2))) is None
    assert noise_of() is None


def test_of_many_baselines_some_are_looked_at():
    shape = (3, 400, 300, 2)
    assert math.isclose(noise_of(tile(1.0, np.random.default_rng(1), shape)), 2 * NOISE**2, rel_tol=0.02)
