"""The interval for a place along time or frequency."""

import tracemalloc

import numpy as np
import pytest

from rimetree.calibration.solutions.nearest import nearest


def by_hand(centre, width, at):
    """One place after the other: those that hold it by their centres, else by their edges."""
    found = []
    for x in at:
        away = np.maximum(np.abs(x - centre) - width / 2, 0)
        close = np.flatnonzero(away <= away.min() + 1e-6)
        found.append(close[np.argmin(np.abs(x - centre)[close])])
    return found


@pytest.mark.parametrize("order", ["ascending", "descending", "mixed"])
@pytest.mark.parametrize("kind", ["alike", "gaps", "overlapping", "nested", "repeated"])
def test_it_holds_the_place_or_is_next_to_it(kind, order):
    rng = np.random.default_rng(8)
    centre, width = np.arange(40) * 10.0, np.full(40, 10.0)
    if kind == "gaps":
        width = rng.uniform(1, 9, 40)
    elif kind == "overlapping":
        width = np.full(40, 35.0)
    elif kind == "nested":
        width = rng.choice([4.0, 90.0], 40)
    elif kind == "repeated":
        centre = np.repeat(centre[:20], 2)
    turned = {"ascending": np.arange(40), "descending": np.arange(40)[::-1], "mixed": rng.permutation(40)}[order]
    centre, width = 5e9 + centre[turned], width[turned]
    at = 5e9 + rng.uniform(-100, 500, 300)
    np.testing.assert_array_equal(nearest(centre, width, at), by_hand(centre, width, at))
    assert nearest(centre[:1], width[:1], at).max() == 0


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_many_channels_take_little_memory(spread):
    """Of 32768 channels with a solution each all distances were 8 GiB, several times over: a run was killed."""
    n = 16384
    centre = 1e9 + 1e4 * np.arange(n)
    width = 1e4 * (1 + spread * np.sin(np.arange(n)))
    tracemalloc.start()
    found = nearest(centre, width, centre[: n if spread == 0 else 200])
    assert tracemalloc.get_traced_memory()[1] < 64e6
    tracemalloc.stop()
    np.testing.assert_array_equal(found, np.arange(len(found)))


@pytest.mark.parametrize("centre", [[10.0, 20.0], [20.0, 10.0]])
def test_halfway_the_first_counts(centre):
    assert nearest(np.array(centre), np.full(2, 2.0), np.array([15.0])) == [0]


@pytest.mark.parametrize(("centre", "at"), [([0.0, 10.0], -1.0), ([0.0, -10.0], 1.0)])
def test_a_wide_interval_behind_a_narrow_one(centre, at):
    """Only one of its edges is where the order of centres has it."""
    assert nearest(np.array(centre), np.array([0.1, 30.0]), np.array([at])) == [1]
