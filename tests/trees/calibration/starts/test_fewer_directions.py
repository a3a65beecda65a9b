"""Whether a fit explains its data, so that nothing says that there may be a better one."""

import math
from types import SimpleNamespace

import pytest

from rimetree.calibration.starts.fewer_directions import BestFit, is_explained
from rimetree.calibration.starts.starting_values import StartingValues

FREEDOM = 20000


def fitted(chi_square, **floor):
    """A fit that has left this chi-square for each degree of freedom."""
    groups = [SimpleNamespace(equations=FREEDOM + 100, rank=100)]
    solved = SimpleNamespace(noise=1.0, chi_square=[9e9, chi_square * FREEDOM], groups=groups)
    return BestFit(StartingValues({}, **floor), solved)


@pytest.mark.parametrize(
    ("chi_square", "explained"), [(0.5, True), (1.02, True), (1.07, False), (1.15, False), (3, False)]
)
def test_where_only_weights_say_how_large_noise_is(chi_square, explained):
    """7 % of 20000 are seven standard deviations: up to 20 % had been taken for noise."""
    assert math.isnan(StartingValues({}).floor)
    assert is_explained(fitted(chi_square), 4.0) == explained


def test_what_data_say_of_the_noise_counts_more_than_weights():
    floor = {"floor": 1.15, "floor_freedom": FREEDOM // 2}
    assert is_explained(fitted(1.15, **floor), 4.0)
    assert not is_explained(fitted(1.5, **floor), 4.0)


def test_nothing_explains_data_that_were_not_solved():
    assert not is_explained(BestFit(StartingValues({}), None), 4.0)
