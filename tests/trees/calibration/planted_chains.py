"""Skies and gains of observations by seven antennas, for the fixtures `planted` and `solved`, and the tests of
calibration."""

import numpy as np

import rimetree as rt

CENTRE = (0.93, -0.485)
N_ANTENNA, N_TIME, N_CHANNEL = 7, 10, 12
FREQUENCY_HZ = np.array(rt.ms.Band.regular(1.3e9, 2e6 * N_CHANNEL, N_CHANNEL).frequency_hz)
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)
POLARISED = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 10.0, -15.0, 3.0)),
        rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 5.0, 0.0)),
        rt.sky.Source("c", 0.927, -0.489, (30.0, 5.0, 0.0, 2.0)),
    ]
)


def gains(rng, n_time, n_freq, n_feed=2, amplitude=0.3, phase=1.5):
    """[antenna, time, freq, feed]; those of the first antenna, to which phases refer, are real."""
    shape = (N_ANTENNA, n_time, n_freq, n_feed)
    turned = rng.uniform(-phase, phase, shape)
    turned[0] = 0
    return rng.uniform(1 - amplitude, 1 + amplitude, shape) * np.exp(1j * turned)


def diagonal(values):
    """[..., 2, 2] of [..., 2] or [..., 1]."""
    return np.einsum("...f,fg->...fg", np.broadcast_to(values, (*values.shape[:-1], 2)), np.eye(2))
