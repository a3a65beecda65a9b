"""Fits of full matrices of any size take few steps, however much of the sky is polarised."""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_TIME, POLARISED, SKY

import rimetree as rt

WEAK = rt.sky.SkyModel([rt.sky.Source(s.name, s.ra_rad, s.dec_rad, (s.stokes_jy[0], 0.3, -0.2, 0.1)) for s in SKY])
PARALLEL = rt.sky.SkyModel([rt.sky.Source(s.name, s.ra_rad, s.dec_rad, (s.stokes_jy[0], 0.3, 0, 0)) for s in SKY])


@pytest.mark.parametrize("interval", ["", ", 5slots, 6chan"])
@pytest.mark.parametrize("sky", [SKY, WEAK, PARALLEL, POLARISED], ids=["unpolarised", "weak", "parallel", "polarised"])
@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_few_steps(solved, sky, spread, interval):
    """Complex numbers around the unit matrix. Weakly polarised skies, which hardly tell what all matrices have in
    common, had taken up to 53 steps."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(2, N_ANTENNA, N_TIME, 1, 2, 2)) * spread
    planted = np.eye(2) + noise[0] + 1j * noise[1]
    planted = np.repeat(planted[:, :: 5 if interval else N_TIME], 5 if interval else N_TIME, axis=1)
    report, _, _ = solved([f"J: full{interval}"], lambda a: planted[a], sky=sky)
    assert report.converged == report.solves
    for chunk in report.chunks:
        assert chunk.iterations <= 9
        assert chunk.noise_ratio == pytest.approx(1, abs=0.05)
