"""Matrices of solutions on any cells: the kinds' formulas, interpolation, and flags."""

import dataclasses

import numpy as np
import pytest

from rimetree.calibration import CalibrationError, Solutions, TermSolutions

TIME, FREQ = np.array([5e9 + 30.0, 5e9 + 95.0]), np.array([1.4e9, 1.4004e9, 1.402e9])


def one(kind, elements, **values):
    """A single solution of one antenna A, at 5e9 s and 1.4 GHz."""
    shape = (1, 1, 1, 1, len(elements))
    return TermSolutions(
        "G", kind, elements, np.array([5e9]), np.array([10.0]), np.array([1.4e9]), np.array([1e6]), ("A",), ("",),
        {q: np.reshape(v, shape).astype(float) for q, v in values.items()},
        {q: np.zeros(shape) for q in values},
        np.zeros(shape, bool),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (one("scalar", ("",), amplitude=[2], phase=[np.pi / 2]), [[2j, 0], [0, 2j]]),
        (one("diag", ("0", "1"), amplitude=[2, 3], phase=[0, np.pi]), [[2, 0], [0, -3]]),
        (one("full", ("00", "01", "10", "11"), amplitude=[1, 2, 3, 4], phase=[0, 0, np.pi, 0]), [[1, 2], [-3, 4]]),
        (one("phase", ("0", "1"), phase=[np.pi / 2, 0]), [[1j, 0], [0, 1]]),
        (one("amplitude", ("",), amplitude=[0.5]), [[0.5, 0], [0, 0.5]]),
        (one("delay", ("0", "1"), clock=[1 / 1.4e9 / 4, 0]), [[1j, 0], [0, 1]]),
        # 1 TECU at 1.4 GHz turns the phase by -6.0343 rad: e^2/(4 pi eps0 m_e c nu) 1e16.
        (one("tec", ("",), tec=[1]), np.eye(2) * np.exp(-1j * 6.034266)),
        (one("rotation", ("",), rotation=[np.pi / 6]), [[3**0.5 / 2, -0.5], [0.5, 3**0.5 / 2]]),
    ],
)
def test_matrices_of_the_kinds(term, expected):
    matrix, bad = term.jones("A", "", np.array([5e9]), np.array([1.4e9]))
    np.testing.assert_allclose(matrix[0, 0], expected, atol=2e-6)
    np.testing.assert_array_equal(term.gain()[0, 0, 0, 0], matrix[0, 0])
    assert not bad.any()


def test_delays_and_tec_follow_frequency_between_solutions():
    frequency = np.array([1.0e9, 1.7e9])
    delay, _ = one("delay", ("0", "1"), clock=[1e-9, 0]).jones("A", "", np.array([0.0]), frequency)
    np.testing.assert_allclose(delay[0, :, 0, 0], np.exp(2j * np.pi * frequency * 1e-9))
    tec, _ = one("tec", ("",), tec=[0.1]).jones("A", "", np.array([0.0]), frequency)
    assert np.angle(tec[0, 0, 0, 0]) / np.angle(tec[0, 1, 0, 0]) == pytest.approx(1.7)


def test_nearest_takes_the_interval_that_holds_the_cell(made_term):
    term = made_term()
    matrices, bad = term.jones("A1", "", TIME, FREQ)
    gain = term.gain()[:, :, 1, 0]
    np.testing.assert_array_equal(matrices, gain[np.ix_([0, 1], [0, 0, 2])])
    assert not bad.any()
    far, _ = term.jones("A1", "", np.array([0.0, 9e9]), np.array([1.4e9]))
    np.testing.assert_array_equal(far[:, 0], gain[[0, 3], 0])


def test_linear_meets_the_solutions_and_the_middle_between_them(made_term):
    term = made_term("diag", seed=5)
    centres, _ = term.jones("A2", "", term.time_s, term.frequency_hz, "linear")
    np.testing.assert_allclose(centres, term.gain()[:, :, 2, 0], rtol=1e-12)
    middle, _ = term.jones("A2", "", term.time_s[:1] + 30, term.frequency_hz[:1], "linear")
    amplitude, phase = (term.value[q][:2, 0, 2, 0, 0] for q in ("amplitude", "phase"))
    assert abs(middle[0, 0, 0, 0]) == pytest.approx(abs(amplitude.mean()))
    step = (phase[1] - phase[0] + np.pi) % (2 * np.pi) - np.pi
    assert np.angle(
        middle[0, 0, 0, 0] * np.exp(-1j * (phase[0] + step / 2)) * np.sign(amplitude.mean())
    ) == pytest.approx(0, abs=1e-12)


def test_linear_phases_go_the_short_way_round(made_term):
    term = made_term()
    phase = term.value["phase"].copy()
    phase[:2, :, 1] = np.array([3.1, -3.1])[:, None, None, None]
    term = dataclasses.replace(term, value={"amplitude": np.ones(phase.shape), "phase": phase})
    middle, _ = term.jones("A1", "", term.time_s[:1] + 30, term.frequency_hz[:1], "linear")
    assert middle[0, 0, 0, 0] == pytest.approx(-1)


def test_flags(made_term):
    term = made_term()
    for method in ("nearest", "linear"):
        matrices, bad = term.jones("A0", "", term.time_s, term.frequency_hz, method)
        assert np.argwhere(bad[..., 0]).tolist() == [[1, 2]]
        np.testing.assert_array_equal(matrices[1, 2], np.eye(2))
        assert np.isfinite(matrices).all()
        for antenna in ("A4", "nobody"):  # flagged throughout; not in the table
            matrices, bad = term.jones(antenna, "", TIME, FREQ, method)
            assert bad.all() and (matrices == np.eye(2)).all()
    # Linear interpolation does not use what is flagged: between its neighbours the value is theirs.
    line = term.value["amplitude"].copy()
    line[1, 2, 0] = 1e9
    spoilt = dataclasses.replace(term, value={**term.value, "amplitude": line})
    a, _ = term.jones("A0", "", TIME, FREQ, "linear")
    b, _ = spoilt.jones("A0", "", TIME, FREQ, "linear")
    np.testing.assert_array_equal(a, b)


def test_one_flagged_feed_leaves_the_other(made_term):
    term = made_term()
    flag = np.zeros(term.shape, bool)
    flag[:, :, 1, 0, 1] = True
    term = dataclasses.replace(term, flag=flag)
    matrices, bad = term.jones("A1", "", TIME, FREQ)
    assert not bad[..., 0].any() and bad[..., 1].all()
    assert (matrices[..., 1, 1] == 1).all() and (matrices[..., 0, 0] != 1).all()
    full = made_term("full", ("00", "01", "10", "11"))
    flag = np.zeros(full.shape, bool)
    flag[..., 1] = True
    matrices, bad = dataclasses.replace(full, flag=flag).jones("A1", "", TIME, FREQ)
    assert bad.all() and (matrices == np.eye(2)).all()


def test_products_in_order(made_term):
    full, diag = made_term("full", ("00", "01", "10", "11"), name="D"), made_term(name="G")
    toward = made_term("phase", quantities=("phase",), name="E", directions=("north", "south"), seed=8)
    solutions = Solutions((diag, full, toward))
    g, d = (t.jones("A1", "", TIME, FREQ)[0] for t in (diag, full))
    e = toward.jones("A1", "south", TIME, FREQ)[0]
    np.testing.assert_allclose(solutions.jones("A1", TIME, FREQ)[0], g @ d)
    np.testing.assert_allclose(solutions.jones("A1", TIME, FREQ, direction="south")[0], g @ d @ e)
    np.testing.assert_allclose(solutions.jones("A1", TIME, FREQ, direction="south", terms="direction")[0], e)
    assert not np.allclose(g @ d, d @ g) and solutions.directions == ["north", "south"]


def test_errors(made_term):
    term = made_term()
    with pytest.raises(CalibrationError, match="must be one of nearest, linear"):
        term.jones("A1", "", TIME, FREQ, "cubic")
    with pytest.raises(CalibrationError, match="no direction 'up'"):
        term.jones("A1", "up", TIME, FREQ)
    with pytest.raises(CalibrationError, match=r"flag has shape \[2\]"):
        dataclasses.replace(term, flag=np.zeros(2, bool))
    with pytest.raises(CalibrationError, match="must ascend"):
        dataclasses.replace(term, time_s=term.time_s[::-1])


def test_they_say_what_they_are_in_a_line():
    term = one("diag", ("0", "1"), amplitude=[2, 3], phase=[0, np.pi])
    assert repr(term) == (
        "<TermSolutions 'G: diag': amplitude, phase; 1 times, 1 frequencies, 1 antennas, 1 directions; 0 % flagged>"
    )
    assert repr(Solutions((term,))) == "<Solutions of linear feeds, 0 antennas: G: diag>"
    assert repr(Solutions(())) == "<Solutions of linear feeds, 0 antennas: no terms>"
