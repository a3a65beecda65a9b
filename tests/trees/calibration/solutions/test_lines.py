"""Straight lines between solutions."""

import numpy as np
import pytest

from rimetree.calibration.solutions import term_solutions
from rimetree.calibration.solutions.term_solutions import TermSolutions


@pytest.mark.parametrize("n_time", [1, 3])
def test_many_channels_are_done_together(n_time, monkeypatch):
    """A bandpass of 32768 channels took 36 s to apply along lines, and 2 s by the nearest."""
    n, times, rng = 500, 30.0 * np.arange(n_time), np.random.default_rng(3)
    shape = (n_time, n, 1, 1, 2)
    value = {"amplitude": rng.uniform(0.5, 2, shape), "phase": rng.uniform(-1, 1, shape)}
    flag = np.zeros(shape, bool)
    flag[0, ::7] = n_time > 1
    axes = {"time_s": times, "time_width_s": np.full(n_time, 30.0), "frequency_hz": 1e9 + 1e4 * np.arange(n)}
    zero = {q: np.zeros(shape) for q in value}
    term = TermSolutions(
        "B", "diag", ("0", "1"), **axes, frequency_width_hz=np.full(n, 1e4), antennas=("A",), directions=("",),
        value=value, sigma=zero, flag=flag,
    )  # fmt: skip
    at = np.array([-10.0, 12.0, 30.0, 47.0, 100.0])
    expected = np.empty((len(at), n, 2))
    for k, e in np.ndindex(n, 2):
        good = ~flag[:, k, 0, 0, e]
        expected[:, k, e] = np.interp(at, times[good], value["amplitude"][good, k, 0, 0, e])
    calls = []
    interpolated = np.interp
    monkeypatch.setattr(term_solutions.np, "interp", lambda *a: calls.append(1) or interpolated(*a))
    table, marks = value["amplitude"][:, :, 0, 0], flag[:, :, 0, 0]
    found, good = term._along_time("amplitude", table, marks, at, go_on=False)
    assert len(calls) <= 2 and good.all()
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_at_a_solution_no_other_counts(bad):
    """The other may be no number."""
    times, values = np.array([0.0, 10.0, 20.0]), np.array([[1.0], [3.0], [4.0]])
    values[bad] = np.nan
    found, _ = term_solutions._line(times, values, np.ones(3, bool), np.array([-5.0, 0.0, 10.0, 20.0, 25.0]), False)
    np.testing.assert_array_equal(found[:, 0], values[[0, 0, 1, 2, 2], 0])


def test_rates_of_an_antenna_without_solutions():
    shape = (3, 1, 2, 1, 2)
    value, flag = np.full(shape, 1e-12), np.zeros(shape, bool)
    flag[:, :, 1] = True
    term = TermSolutions(
        "R", "rate", ("0", "1"), 10.0 * np.arange(3), np.full(3, 10.0), np.array([1e9]), np.array([1e8]), ("A", "B"),
        ("",), value={"rate": value}, sigma={"rate": np.zeros(shape)}, flag=flag,
    )  # fmt: skip
    at = np.linspace(0, 20, 7)
    matrices, bad = term.jones_of(["A", "B"], "", at, np.array([1e9, 1.01e9]), "linear")
    assert bad[:, :, 1].all() and not bad[:, :, 0].any()
    alone, _ = term.jones("A", "", at, np.array([1e9, 1.01e9]), "linear")
    np.testing.assert_array_equal(matrices[:, :, 0], alone)
    np.testing.assert_array_equal(matrices[:, :, 1], np.broadcast_to(np.eye(2), (7, 2, 2, 2)))
