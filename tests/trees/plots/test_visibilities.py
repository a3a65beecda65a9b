"""What imaging takes for Stokes I: flags, weights, values that are not finite."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.plots import visibilities


def group_with(monkeypatch, **changes):
    """A group whose only tile is made up: 1 baseline, 1 time, 3 channels (descending), XX XY YX YY."""
    tile = {
        "row": np.zeros((1, 1), int),
        "uvw_m": np.array([[[100.0, 50.0, 1.0]]]),
        "frequency_hz": np.array([1.2e9, 1.1e9, 1.0e9]),
        "channel_width_hz": np.array([3e6, 2e6, 1e6]),
        "correlation_type": [9, 10, 11, 12],
        "flag": np.zeros((1, 1, 3, 4), np.uint8),
        "weight": np.ones((1, 1, 3, 4), np.float32),
        "columns": {"DATA": np.array([[[[1, 9, 9, 3], [2, 9, 9, 4], [3, 9, 9, 5]]]], np.complex64)},
        **changes,
    }
    monkeypatch.setattr(visibilities, "tiles", lambda *_, **__: iter([tile]))
    return type("Group", (), {"path": "a.ms", "selection": {}})()


def only(group, column="DATA"):
    (some,) = visibilities.stokes_i(group, column)
    return some


def test_mean_of_parallel_hands_in_ascending_frequency(monkeypatch):
    some = only(group_with(monkeypatch))
    assert some.frequency_hz.tolist() == [1.0e9, 1.1e9, 1.2e9] and some.width_hz.tolist() == [1e6, 2e6, 3e6]
    assert some.value.tolist() == [[4, 3, 2]]
    assert some.weight.tolist() == [[2, 2, 2]]  # the variance of a mean of two is half
    np.testing.assert_allclose(some.uv_wavelengths[0, 0], np.array([100.0, 50.0]) * 1.0e9 / 299792458.0)


def test_a_flag_or_zero_weight_of_either_hand_takes_the_visibility_out(monkeypatch):
    flag = np.zeros((1, 1, 3, 4), np.uint8)
    flag[0, 0, 0, 3] = 1
    flag[0, 0, 1, 1] = 1  # a cross hand does not matter
    weight = np.ones((1, 1, 3, 4), np.float32)
    weight[0, 0, 2, 0] = 0
    some = only(group_with(monkeypatch, flag=flag, weight=weight))
    assert some.weight.tolist() == [[0, 2, 0]]
    assert some.value.tolist() == [[0, 3, 0]]


def test_weights_are_inverse_variances(monkeypatch):
    weight = np.ones((1, 1, 3, 4), np.float32)
    weight[0, 0, :, 3] = 3.0
    # var = (1 + 1/3) / 4 = 1/3
    np.testing.assert_allclose(only(group_with(monkeypatch, weight=weight)).weight, 3.0)


def test_values_and_weights_that_are_not_finite_do_not_count(monkeypatch):
    column = np.full((1, 1, 3, 4), 1 + 1j, np.complex64)
    column[0, 0, 1, 0] = complex(np.nan, np.inf)
    weight = np.ones((1, 1, 3, 4), np.float32)
    weight[0, 0, 2, [0, 3]] = np.inf  # of both hands the mean would weigh 1/0
    some = only(group_with(monkeypatch, columns={"DATA": column}, weight=weight))
    assert some.weight.tolist() == [[0, 0, 2]]  # by ascending frequency
    assert np.isfinite(some.value).all()


def test_absent_rows_and_single_hands(monkeypatch):
    absent = group_with(monkeypatch, row=np.full((1, 1), -1))
    assert only(absent).uvw_m.shape == (0, 3)
    shapes = {"flag": np.zeros((1, 1, 3, 1), np.uint8), "weight": np.full((1, 1, 3, 1), 5.0, np.float32)}
    values = {"DATA": np.full((1, 1, 3, 1), 7.0, np.complex64)}
    some = only(group_with(monkeypatch, correlation_type=[9], columns=values, **shapes))
    assert (some.weight == 5).all()
    assert (some.value == 7).all()


def test_cross_hands_alone_hold_no_stokes_i(monkeypatch):
    with pytest.raises(rt.Error, match="XY YX hold no Stokes I"):
        only(group_with(monkeypatch, correlation_type=[10, 11]))
