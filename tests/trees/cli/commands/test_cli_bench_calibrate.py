"""`rimetree bench calibrate`: gains of a planted observation, and what is said of their errors."""

import json
import sys

import numpy as np
import pytest
from rimetree._core import Error

from rimetree.bench.calibration import CalibrationCase, _run, gain_error, planted_gains, programs


def test_errors_of_gains_know_nothing_of_phases_that_are_open_and_of_gains_that_are_missing():
    planted = planted_gains(CalibrationCase(n_antenna=5, n_channel=4, n_slot=6, slots=3, channels=2, n_direction=3))
    assert planted.shape == (2, 2, 5, 3, 2)
    turns = np.exp(1j * np.arange(24.0)).reshape(2, 2, 1, 3, 2)  # of each interval, direction and feed
    found = planted * turns
    assert gain_error(found, planted) == pytest.approx((0, 0), abs=1e-14)
    found[0, 0, 0, 0, 0] = np.nan
    error, missing = gain_error(found, planted)
    assert error == pytest.approx(0, abs=1e-14) and missing == pytest.approx(1 / 120)
    found[:, :, 3] *= 1.1
    assert gain_error(found, planted)[0] == pytest.approx(
        0.1 * np.sqrt(np.mean(np.abs(planted[:, :, 3]) ** 2) / 5), 0.1
    )


@pytest.mark.parametrize(("directions", "noise", "most"), [(1, "1Jy", 1), (1, "100mJy", 0.1), (2, "1", 1)])
def test_a_small_observation_is_calibrated_to_its_noise(command, tmp_path, directions, noise, most):
    record = tmp_path / "record.json"
    options = ["--antennas", "7", "--channels", "4", "--slots", "4", "--sources", "3", "--interval", "2", "2"]
    options += ["--directions", str(directions), "--noise", noise]
    options += ["--repeat", "1", "--program", "RimeTree", "--json", str(record)]
    command("bench", "calibrate", *options)
    (figures,) = json.loads(record.read_text())["programs"]
    assert figures["flagged"] == 0 and 0.01 * most < figures["gain_error"] < most
    assert figures["processor_s"] > 0 and figures["memory_bytes"] > 2**20


def test_what_cannot_be_measured_is_said(command):
    assert "known are RimeTree" in command("bench", "calibrate", "--program", "rimetree", code=2).output
    assert "as many sources" in command("bench", "calibrate", "--directions", "21", code=2).output


def test_memory_is_that_of_the_command_and_not_of_who_runs_it(tmp_path):
    """A process that is forked begins with the memory of its parent."""
    mine = np.ones(40 << 20)  # 320 MiB
    processor, wall, memory = _run([sys.executable, "-S", "-c", "x = bytearray(50 << 20)"], str(tmp_path))
    assert 50 << 20 < memory < 120 << 20 and processor > 0 and wall > 0 and mine.all()
    with pytest.raises(Error, match="exit status 3: nothing"):
        _run([sys.executable, "-c", "import sys; print('nothing'); sys.exit(3)"], str(tmp_path))


def test_dp3_is_found_by_the_name_that_its_package_gives_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs() == {"RimeTree": True, "DP3": False, "QuartiCal": False}
    for name in ("DP3.py", "goquartical"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert programs() == {"RimeTree": True, "DP3": True, "QuartiCal": True}
