"""Sets of antennas that no data link with each other."""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_CHANNEL, N_TIME

from rimetree.calibration.data.links import Links

PAIRS = np.array([(0, 1), (1, 2), (3, 4), (2, 3)])
EDGES_S = np.array([0.0, 10.0, 20.0])


def links(*linked):
    """Of six antennas that are called 10 to 15: one [baseline] for each of the times 5 and 15."""
    found = Links(range(10, 16))
    found.add(np.array([5.0, 15.0]), np.array([1e8]), PAIRS, np.array(linked, dtype=bool).T[:, :, None])
    return found


def apart(found, edges_s=EDGES_S, reference=10, alike=()):
    """Whole bands."""
    own = found.apart(edges_s, np.array([0.0, 2e8]), reference, dict(alike))
    return {antenna: one[:, 0].tolist() for antenna, one in own.items() if one.any()}


def test_what_no_data_link_with_the_reference_is_apart():
    found = links([1, 1, 1, 0], [1, 1, 1, 1])
    assert apart(found) == {13: [True, False], 14: [True, False]}
    assert apart(found, EDGES_S[[0, 2]]) == {}  # other times of the interval link them
    assert apart(found, alike={12: "a", 14: "a"}) == {}  # so do solutions that are shared
    assert apart(found, reference=13) == {antenna: [True, False] for antenna in (10, 11, 12)}


def test_without_data_of_the_reference_the_most_antennas_count():
    assert apart(links([0, 1, 1, 1], [1, 1, 1, 0]), reference=15) == {13: [False, True], 14: [False, True]}
    assert apart(links([0, 0, 0, 0], [0, 0, 0, 1])) == {}
    twos = links([1, 0, 1, 0], [1, 0, 1, 1])
    assert apart(twos, reference=15) == {10: [False, True], 11: [False, True], 13: [True, False], 14: [True, False]}
    # Antennas without data do not count, though they share solutions with others.
    assert apart(twos, reference=15, alike={12: "a", 13: "a"}) == apart(twos, reference=15)


def test_channels_link_by_themselves():
    linked = np.ones((4, 2, 20), bool)  # more channels than a byte has bits
    linked[3, 0, 11:] = False  # the last baseline links both sets
    linked[3, 1, :3] = False
    for by_channel, expected in ((True, [[False, False, True], [True, False, False]]), (False, None)):
        found = Links(range(10, 16), by_channel)
        found.add(np.array([5.0, 15.0]), 1e8 + 1e6 * np.arange(20)[::-1], PAIRS, linked[:, :, ::-1])
        own = found.apart(EDGES_S, np.array([0.9, 1.025, 1.105, 1.3]) * 1e8, 10, {})
        assert {antenna for antenna, one in own.items() if one.any()} == ({13, 14} if by_channel else set())
        if by_channel:
            assert own[13].tolist() == own[14].tolist() == expected


@pytest.mark.parametrize("terms", [["G: diag, 1slot"], ["P: phase, 1slot"], ["B: diag, 1chan", "G: scalar, 1slot"]])
def test_antennas_apart_from_the_reference_are_flagged(solved, terms):
    """They had any phase relative to the others, and one of them was flagged, or none: gains of slots in which but some
    baselines are good go to other data."""
    pairs = [(p, q) for p in range(N_ANTENNA) for q in range(p + 1, N_ANTENNA)]
    flag = np.zeros((len(pairs), N_TIME, N_CHANNEL), bool)
    flag[[(p < 4) != (q < 4) for p, q in pairs], 3] = True
    report, solutions, _ = solved(terms, lambda _: np.eye(2), flag=flag)
    bad = solutions[terms[-1][0]].flag
    assert bad[3, :, 4:].all() and not bad[3, :, :4].any() and not np.delete(bad, 3, axis=0).any()
    assert set(report.flagged) <= {"ambiguous", "undetermined"} and report.converged == report.solves


def test_antennas_apart_in_some_channels_are_flagged_there(solved):
    """A bandpass of antennas that are linked in other channels only had any phase there, and was good."""
    pairs = [(p, q) for p in range(N_ANTENNA) for q in range(p + 1, N_ANTENNA)]
    flag = np.zeros((len(pairs), N_TIME, N_CHANNEL), bool)
    flag[[(p < 4) != (q < 4) for p, q in pairs], :, 2] = True
    _, solutions, _ = solved(["B: diag, 1chan"], lambda _: np.eye(2), flag=flag)
    bad = solutions["B"].flag
    assert bad[:, 2, 4:].all() and not bad[:, 2, :4].any() and not np.delete(bad, 2, axis=1).any()
