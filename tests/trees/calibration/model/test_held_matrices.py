"""Full matrices that are held around terms to solve for."""

import numpy as np
import pytest
from planted_chains import CENTRE, FREQUENCY_HZ, N_ANTENNA, POLARISED, diagonal

from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms


def test_delays_inside_full_matrices_that_are_held(solved, observe, tmp_path):
    """The search takes them out of the data; it had looked at the data as they are, and ended at other delays."""
    rng = np.random.default_rng(3)
    shape = (N_ANTENNA, 1, 1, 2, 2)
    around = np.exp(1j * rng.uniform(-np.pi, np.pi, (N_ANTENNA, 1, 1, 1, 1))) * np.eye(2)
    around = around + 0.4 * (rng.normal(size=shape) + 1j * rng.normal(size=shape))
    first, _, _ = solved(["F: full"], lambda antenna: around[antenna], POLARISED)
    assert first.converged == 1 and not first.flagged
    delay_s = np.append(0, rng.uniform(-20e-9, 20e-9, N_ANTENNA - 1))
    phasors = diagonal(np.exp(2j * np.pi * FREQUENCY_HZ * delay_s[:, None])[:, None, :, None])

    def seen(antenna, _patch, time_s, frequency_hz):
        return np.broadcast_to(around[antenna] @ phasors[antenna], (len(time_s), len(frequency_hz), 2, 2))

    path = str(tmp_path / "a.ms")
    observe(path, POLARISED, CENTRE, seen, noise_jy=1.0)
    options = CalibrationOptions(reference="ANT-0", held=first.solutions)
    report = calibration.calibrate(path, POLARISED, parse_terms(["K: delay"]), tmp_path / "k.h5", options)
    assert report.converged == report.solves == 1 and report.noise_ratio == pytest.approx(1, abs=0.05)
    found = report.solutions[0]["K"].value["clock"].reshape(N_ANTENNA, 2)
    np.testing.assert_allclose(found - found[:1], np.repeat(delay_s[:, None], 2, axis=1), atol=2e-11)
