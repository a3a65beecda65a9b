"""Rotations of linear feeds and Faraday rotations are found from anywhere, by the hands of circular feeds."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms

CENTRE = (0.93, -0.485)
N_ANTENNA, N_SLOT = 7, 6
B = rt.sky.Source("b", 0.935, -0.482, (25, 0, 0, 0))
SKY = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (60, 0, 0, 0)), B])
POLARISED = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (60, 9, 5, 1)), B])
QUANTITY = {"F": "rotationmeasure", "R": "rotation"}
#: Radians per unit of what is planted.
RATE = {"F": lambda nu: (299792458.0 / nu) ** 2, "T": lambda nu: -8.44797245e9 / nu}


def rotation(angle):
    rows = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.moveaxis(rows, (0, 1), (-2, -1)).astype(complex)


@pytest.mark.parametrize("sky", [SKY, POLARISED], ids=["unpolarised", "polarised"])
@pytest.mark.parametrize(
    ("terms", "most", "scale"),
    [
        (["F: faraday, 1slot"], {"F": 4.0}, 50.0),  # up to 16 rad
        (["F: faraday, 1slot", "T: tec, 1slot"], {"F": 2.0, "T": 0.2}, 0.02),
        (["S: scalar, 1slot", "F: faraday, 1slot"], {"F": 2.0, "S": 3.0}, 50.0),
        (["R: rotation, 1slot"], {"R": 3.0}, 50.0),
        (["P: phase, scalar, 1slot", "R: rotation, 1slot"], {"P": 3.0, "R": 1.5}, 1.0),
        (["A: amplitude", "F: faraday, 1slot"], {"F": 2.0}, 50.0),
    ],
    ids=lambda x: " ".join(one[0] for one in x) if isinstance(x, list) else "",
)
def test_from_anywhere(tmp_path, observe, terms, most, scale, sky):
    """Slots with values of their own at 150 MHz, in data of any scale; of an unpolarised sky relative to the
    reference."""
    rng = np.random.default_rng(3)
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(150e6, 16e6, 16)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=10.0 * N_SLOT, integration_s=10.0, bands=band)
    planted = {name: rng.uniform(-x, x, (N_ANTENNA, N_SLOT)) for name, x in most.items()}

    def jones(antenna, patch, time_s, frequency_hz):
        result = np.eye(2) * np.sqrt(scale)
        for name, values in planted.items():
            angle = values[antenna][:, None] * RATE.get(name, np.ones_like)(frequency_hz)
            result = result @ (rotation(angle) if name in QUANTITY else np.exp(1j * angle)[..., None, None] * np.eye(2))
        return result

    observe(path, sky, CENTRE, jones, noise_jy=0.5 * scale)
    options = CalibrationOptions(overwrite=True, reference="ANT-0", solver=SolverOptions(errors_from_residuals=True))
    report = calibration.calibrate(path, sky, parse_terms(terms), tmp_path / "s.h5", options)
    assert report.converged == report.solves and not report.flagged
    name = next(name for name in planted if name in QUANTITY)
    found = report.solutions[0][name]
    value, sigma = (table[QUANTITY[name]][:, 0, :, 0, 0] for table in (found.value, found.sigma))
    off = value - (planted[name] - (planted[name][0] if sky is SKY else 0)).T
    if name == "R":  # half a turn of all antennas is not seen; beside phases, of any
        off -= np.pi * np.round(off[:, :1] / np.pi)
        turn = np.pi if "P" in planted else 2 * np.pi
        off -= turn * np.round(off / turn)
    assert (sigma[:, 1:] > 0).all()
    assert np.abs(off[:, 1:] / sigma[:, 1:]).max() < 5
