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
    found.add(np.array([5.0, 15.0]), PAIRS, np.array(linked, dtype=bool).T)
    return found


def apart(found, edges_s=EDGES_S, reference=10, alike=()):
    return {antenna: own.tolist() for antenna, own in found.apart(edges_s, reference, dict(alike)).items() if own.any()}


def test_what_no_data_link_with_the_reference_is_apart():
    found = links([1, 1, 1, 0], [1, 1, 1, 1])
    assert apart(found) == {13: [True, False], 14: [True, False]}
    assert apart(found, EDGES_S[[0, 2]]) == {}  # other times of the interval link them
    assert apart(found, alike={12: "a", 14: "a"}) == {}  # so do solutions that are shared
    assert apart(found, reference=13) == {antenna: [True, False] for antenna in (10, 11, 12)}


def test_without_data_of_the_reference_the_most_antennas_count():
    assert apart(links([0, 1, 1, 1], [1, 1, 1, 0]), reference=15) == {13: [False, True], 14: [False, True]}
    assert apart(links([0, 0, 0, 0], [0, 0, 0, 1])) == {}


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
