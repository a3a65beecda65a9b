"""Sets of several windows, with gains that change once."""

import numpy as np
import pytest
from planted_chains import CENTRE

import rimetree as rt

N_TIME, N_CHANNEL = 12, 16


@pytest.fixture
def planted_gains(tmp_path, observe):
    """planted_gains(sky, noise_jy, flag, bands, ...): a set of so many windows, and the gains [antenna, interval of
    6 slots, feed] in it; further options as of `rt.ms.create`."""

    def make(sky, noise_jy, flag=None, bands=1, **how):
        path = str(tmp_path / "a.ms")
        every = [rt.ms.Band.regular(1.2e9 + 1e8 * k, 2e6 * N_CHANNEL, N_CHANNEL) for k in range(bands)]
        times = {"duration_s": 10.0 * N_TIME, "integration_s": 10.0}
        rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, bands=every, **times, **how)
        rng = np.random.default_rng(3)
        gains = rng.uniform(0.7, 1.3, (7, 2, 2)) * np.exp(1j * rng.uniform(-2, 2, (7, 2, 2)))

        def seen(antenna, patch, time_s, frequency_hz):
            matrix = np.eye(2)[None, None] * (1 if patch else np.repeat(gains[antenna], 6, axis=0)[:, None, None, :])
            return np.broadcast_to(matrix, (len(time_s), len(frequency_hz), 2, 2))

        for window in range(bands):
            observe(path, sky, CENTRE, seen, noise_jy=noise_jy, flag=flag, data_desc_id=window)
        return path, gains

    return make
