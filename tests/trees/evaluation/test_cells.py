"""Widths of cells that are not given: spacings of centres, and the same where these are but for rounding."""

import numpy as np
import pytest

import rimetree as rt


@pytest.mark.parametrize(
    "freq_hz",
    [
        np.linspace(1e9, 1.2e9, 64),
        np.linspace(1.2e9, 1e9, 64),
        np.linspace(0.1, 0.7, 7),
        1e9 + np.arange(5000) * 0.1e6 / 3,
        np.random.default_rng(1).permutation(np.linspace(4e10, 5e10, 1000)),
    ],
    ids=["ascending", "descending", "small", "many", "in no order"],
)
def test_widths_of_even_channels_are_one_width(freq_hz):
    width = rt.Cells(freq_hz=freq_hz).freq_width_hz
    assert np.ptp(width) == 0
    assert width[0] == pytest.approx(np.ptp(freq_hz) / (len(freq_hz) - 1), rel=1e-12)


def test_widths_of_times_in_seconds_of_mjd_are_one_width():
    width = rt.Cells(5.2e9 + 0.3 * np.arange(100)).time_width_s
    assert np.ptp(width) == 0
    assert width[0] == pytest.approx(0.3, rel=1e-6)


def test_widths_of_uneven_channels_are_spacings():
    centres = np.array([1.0e9, 1.1e9, 1.3e9, 1.2e9])
    np.testing.assert_array_equal(rt.Cells(freq_hz=centres).freq_width_hz, [1e8, 1e8, 1e8, 1e8])
    uneven = 1e9 + 1e6 * np.arange(8)
    uneven[5] += 1e-3  # a thousand times what rounding is
    width = rt.Cells(freq_hz=uneven).freq_width_hz
    np.testing.assert_array_equal(width, np.gradient(uneven))
    assert np.ptp(width) > 0


def test_one_channel_has_no_width_and_two_have_one():
    assert rt.Cells(freq_hz=[1e9]).freq_width_hz.tolist() == [0]
    assert rt.Cells(freq_hz=[1e9, 1.5e9]).freq_width_hz.tolist() == [5e8, 5e8]
    assert rt.Cells(freq_hz=[1e9, 1e9]).freq_width_hz.tolist() == [0, 0]
