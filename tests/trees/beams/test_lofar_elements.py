"""Elements of LOFAR's low band, beside Hamaker's model of them."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.beams.lofar import _LBA_HEIGHT_M


@pytest.mark.parametrize(
    ("frequency_hz", "along", "across"),
    [  # of EveryBeam 0.9.1 (hamaker_lba): power of a dipole at zenith angles of 0, 15, ..., 75 deg
        (40e6, [1, 0.92, 0.68, 0.42, 0.20, 0.06], [1, 0.99, 0.93, 0.78, 0.52, 0.19]),
        (58e6, [1, 0.93, 0.72, 0.47, 0.25, 0.09], [1, 0.99, 0.96, 0.87, 0.64, 0.25]),
        (66e6, [1, 0.93, 0.72, 0.48, 0.27, 0.10], [1, 1.00, 0.98, 0.92, 0.71, 0.30]),
    ],
)
def test_low_band_elements(frequency_hz, along, across):
    angle, zero = np.radians(15 * np.arange(6)), np.zeros(6)
    for expected, axis in ((along, 0), (across, 1)):
        lmn = np.stack(
            [np.sin(angle), zero, np.cos(angle)] if axis == 0 else [zero, np.sin(angle), np.cos(angle)], axis=1
        )
        ns = rt.NodeScope()
        ns.J << rt.CrossedDipoles(rt.Constant(lmn), rt.Constant([0.0, 0.0]), np.eye(3), height_m=_LBA_HEIGHT_M)
        jones = rt.Forest(ns).evaluate(ns.J, rt.Cells(freq_hz=[frequency_hz]))[..., 0, 0]
        power = (np.abs(jones[:, 0]) ** 2).sum(axis=-1)  # of X, which points to the east
        assert np.abs(power - expected).max() < 0.18  # without a ground it is up to 0.6
