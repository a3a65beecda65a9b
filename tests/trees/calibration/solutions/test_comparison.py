"""Solutions beside others: what visibilities would be off by."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rimetree import calibration
from rimetree.calibration import Solutions, TermSolutions

TIMES, FREQUENCIES = 5e9 + 60.0 * np.arange(4), 1.3e9 + 1e6 * np.arange(3)
NAMES = ("A", "B", "C", "D")


def gains(jones, directions=("",), name="G", feed="linear", times=TIMES):
    """Solutions of matrices [T, F, A, D, 2, 2]; NaN: flagged."""
    values = np.asarray(jones, complex).reshape(*np.shape(jones)[:4], 4)
    flag = np.isnan(values)
    values = np.where(flag, 1.0, values)
    term = TermSolutions(
        name, "full", ("00", "01", "10", "11"), times, np.full(len(times), 60.0), FREQUENCIES, np.full(3, 1e6), NAMES,
        directions, {"amplitude": np.abs(values), "phase": np.angle(values)},
        {quantity: np.zeros(values.shape) for quantity in ("amplitude", "phase")}, flag,
    )  # fmt: skip
    return Solutions((term,), feed, {one: np.zeros(3) for one in NAMES}, name="sol000")


def drawn(seed, n_direction=1):
    random = np.random.default_rng(seed)
    shape = (4, 3, 4, n_direction, 2, 2)
    return np.eye(2) + 0.2 * (random.normal(size=shape) + 1j * random.normal(size=shape))


def test_it_is_what_visibilities_are_off_by():
    true, found = drawn(1), drawn(2)
    (one,) = calibration.compare_solutions([gains(true)], [gains(found)])
    wanted, got = (
        np.array([j[:, :, p, 0] @ j[:, :, q, 0].conj().swapaxes(-1, -2) for p in range(4) for q in range(4) if p != q])
        for j in (true, found)
    )
    scale = np.sqrt((np.abs(wanted) ** 2).sum(axis=(-2, -1)).mean())
    off = np.sqrt((np.abs(got - wanted) ** 2).sum(axis=(-2, -1)))
    assert one.difference == pytest.approx(np.sqrt((off**2).mean()) / scale, rel=1e-12)
    assert one.largest == pytest.approx(off.max() / scale, rel=1e-12)
    of_a = off.reshape(4, 3, 4, 3)[0], np.abs(wanted).reshape(4, 3, 4, 3, 4)[0]
    assert one.antennas["A"] == pytest.approx(np.sqrt((of_a[0] ** 2).sum() / (of_a[1] ** 2).sum()), rel=1e-12)
    assert one.missing == 0
    assert one.direction == ""


def test_what_no_data_tell_does_not_count():
    true = drawn(1)
    (one,) = calibration.compare_solutions([gains(true)], [gains(true * np.exp(0.7j))])
    assert one.difference < 1e-12
    (one,) = calibration.compare_solutions([gains(true)], [gains(1.1 * true)])
    assert one.difference == pytest.approx(0.21, rel=1e-9)


def test_one_antenna_that_is_wrong_is_named_and_flags_do_not_count():
    true = drawn(1)
    found = true.copy()
    found[:, :, 2] *= -1
    found[1, :, 0] = np.nan
    (one,) = calibration.compare_solutions([gains(true)], [gains(found)])
    assert max(one.antennas, key=one.antennas.get) == "C"
    assert one.antennas["C"] == pytest.approx(2, rel=1e-9)
    assert one.missing == pytest.approx(1 / 4 * 6 / 12)


def test_each_direction_with_the_terms_of_the_whole_sky():
    whole, two = drawn(3), drawn(4, 2)
    true = [gains(two, ("north", "south"), "dE").inside(gains(whole))]
    wrong = two.copy()
    wrong[:, :, :, 1] = drawn(5)[:, :, :, 0]
    found = [gains(wrong, ("north", "south"), "dE").inside(gains(whole))]
    north, south = calibration.compare_solutions(true, found)
    assert (north.direction, south.direction) == ("north", "south")
    assert north.difference < 1e-12
    assert south.difference > 0.1


def test_windows_are_those_of_the_nearest_frequencies():
    low, high = gains(drawn(1)), gains(drawn(2))
    (term,) = high.terms
    high = replace(high, terms=(replace(term, frequency_hz=term.frequency_hz + 1e8),), name="sol001")
    first, second = calibration.compare_solutions([low, high], [high, low])
    assert (first.name, second.name) == ("sol000", "sol001")
    assert first.difference == second.difference == 0


def test_what_cannot_be_compared_is_said():
    one = gains(drawn(1))
    for other, message in (
        (gains(drawn(1), times=TIMES + 1e6), "no times in common"),
        (gains(drawn(1), feed="circular"), "circular feeds"),
        (replace(one, terms=(replace(one.terms[0], antennas=("K", "L", "M", "D")),)), "no two antennas"),
    ):
        with pytest.raises(calibration.CalibrationError, match=message):
            calibration.compare_solutions([one], [other])
    with pytest.raises(calibration.CalibrationError, match="no solutions"):
        calibration.compare_solutions([one], [])


def test_the_command_says_it(tmp_path):
    from click.testing import CliRunner

    from rimetree.cli import cli

    true, found = drawn(1), drawn(1)
    found[:, :, 1] *= 1.01
    for name, jones in (("true.h5", true), ("found.h5", found)):
        calibration.write_h5parm(tmp_path / name, gains(jones))
    paths = [str(tmp_path / name) for name in ("true.h5", "found.h5")]
    done = CliRunner().invoke(cli, ["compare-solutions", *paths])
    assert done.exit_code == 0
    assert "whole sky" in done.output and "B (0.01)" in done.output and "0.0%" in done.output
    (one,) = json.loads(CliRunner().invoke(cli, ["compare-solutions", *paths, "--json"]).output)
    assert one["antennas"]["B"] == pytest.approx(0.01, rel=1e-6)
