"""Sets in which several antennas have one name."""

import numpy as np

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import parse_terms

CENTRE = (0.9273, -0.4848)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (5.0, 0.0, 0.0, 0.0))])


def test_antennas_of_one_name_have_solutions_of_their_own(tmp_path, observe, patched):
    """They had shared one gain, without a word."""
    made = tmp_path / "a.ms"
    bands = rt.ms.Band.regular(1.3125e9, 8e6, 4)
    rt.ms.create(made, "kat-7", phase_centre_rad=CENTRE, duration_s=60, integration_s=20, bands=bands)
    gains = np.random.default_rng(1).uniform(0.5, 2, 7)
    observe(made, SKY, CENTRE, lambda antenna, *_: gains[antenna] * np.eye(2) + np.zeros((3, 4, 2, 2)))
    patched(made / "ANTENNA", b"ANT-5", b"ANT-2")
    (group,) = rt.ms.groups(made)
    names = ["ANT-0", "ANT-1", "ANT-2@2", "ANT-3", "ANT-4", "ANT-2@5", "ANT-6"]
    assert [group.antenna_names[antenna] for antenna in range(7)] == names
    report = calibration.calibrate(made, SKY, parse_terms(["G: diag"]), tmp_path / "s.h5")
    found = report.solutions[0]["G"]
    assert list(found.antennas) == names
    np.testing.assert_allclose(np.abs(found.gain()[0, 0, :, 0, 0, 0]), gains, rtol=1e-4)
