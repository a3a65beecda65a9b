"""The example of primary beams: what turned feeds see through turned beams, against matrices that NumPy multiplies."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from direction_cosines import direction_cosines
from zenith_angle import zenith_angle

import rimetree as rt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 1.0472, -0.5236, (2.0, 0.4, -0.3, 0.1)),
        rt.sky.Source("b", 1.0532, -0.5290, (3.0, -0.2, 0.5, 0.2)),
        rt.sky.Source("c", 1.0430, -0.5170, (1.0, 0.1, 0.2, -0.3)),
    ]
)
DISH_M, WIDTH, LONGER = 12.0, 1.2, 1.1


def power(along, across, frequency_hz):
    width = WIDTH * 299792458.0 / (DISH_M * frequency_hz)
    return np.exp(-4 * np.log(2) * ((along / LONGER) ** 2 + across**2) / width**2)


def seen_by(centre, angle, frequency_hz):
    """[source, 2, 2]: brightness of what feeds see that are turned by an angle, with their beams."""
    east, north = direction_cosines(SKY.radec_rad, centre)[:2]
    place = (north + 1j * east) * np.exp(-1j * angle)
    stokes_i, q, u, v = SKY.stokes_jy.T
    linear = (q + 1j * u) * np.exp(-2j * angle)
    x, y = power(place.real, place.imag, frequency_hz), power(place.imag, place.real, frequency_hz)
    cross = np.sqrt(x * y) * (linear.imag + 1j * v)
    return np.moveaxis(
        np.array([[x * (stokes_i + linear.real), cross], [cross.conj(), y * (stokes_i - linear.real)]]), 2, 0
    )


@pytest.mark.parametrize("hour_angle", ["-3h", "1h"])
def test_beam_tree(hour_angle, tmp_path):
    path, file = tmp_path / "a.ms", tmp_path / "a.skymodel"
    rt.sky.write(SKY, file)
    centre = ["--phase-centre", "4h00m00s", "-30d00m", "--start-ha", hour_angle]
    size = ["--duration", "1s", "--integration", "1s", "--freq", "1.3GHz", "--bandwidth", "1MHz", "--channels", "2"]
    for command in (
        ["make-ms", path, "--telescope", "kat-7", *centre, *size],
        ["run", EXAMPLES / "beam_tree.py", path, "--", file],
    ):
        arguments = [sys.executable, "-m", "rimetree.cli", *map(str, command)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    (group,) = rt.ms.groups(path)
    (tile,) = rt.ms.tiles(path, ["DATA"])
    at = group.phase_centre_rad
    angle = zenith_angle(at, group.antenna_xyz_m[0], tile["time_s"][0])
    east, north, n = direction_cosines(SKY.radec_rad, at)
    lmn = np.array([east, north, n - 1])
    for f, frequency_hz in enumerate(tile["frequency_hz"]):
        fringe = np.exp(2j * np.pi * frequency_hz / 299792458.0 * (tile["uvw_m"][:, 0] @ lmn))
        wanted = np.einsum("bs,sij->bij", fringe, seen_by(at, angle, frequency_hz))
        found = tile["columns"]["DATA"][:, 0, f].reshape(-1, 2, 2)
        # Angles without aberration are off by 2e-4; antennas of one array see nearly the same one.
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-3)
    assert np.abs(wanted[:, 0, 0] - wanted[:, 1, 1]).max() > 0.3  # beams and polarisation are there
