"""Planted rates, as of clocks that run apart, are found with the delays and phases beside them, and applied."""

import numpy as np
import pytest
from planted_chains import CENTRE, N_ANTENNA, POLARISED, SKY, diagonal

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms

MAX_RATE = 1.6e-11  # s/s: at 1.3 GHz 0.2 turns in a slot; less than half a turn between two antennas


def make(tmp_path, bands=None, slots=24, integration_s=10.0):
    path = str(tmp_path / "a.ms")
    bands = bands or rt.ms.Band.regular(1.3e9, 16e6, 16)
    rt.ms.create(
        path,
        "kat-7",
        phase_centre_rad=CENTRE,
        duration_s=integration_s * slots,
        integration_s=integration_s,
        bands=bands,
    )
    return path


class Planted:
    """Delays of up to 40 ns, rates, and phases of [antenna, interval, feed] in intervals of so many seconds."""

    def __init__(self, seed=1, interval_s=120.0, intervals=2, feeds=2, max_rate=MAX_RATE):
        rng, shape = np.random.default_rng(seed), (N_ANTENNA, intervals, feeds)
        self.interval_s = interval_s
        self.rate = rng.uniform(-max_rate, max_rate, shape)
        self.delay, self.phase = rng.uniform(-40e-9, 40e-9, shape), rng.uniform(-3, 3, shape)
        self.amplitude = rng.uniform(0.7, 1.4, shape)

    def jones(self, antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        begin = time_s[0] - 0.5 * (time_s[1] - time_s[0])
        at = np.floor((time_s - begin) / self.interval_s).astype(int)
        since = time_s - begin - (at + 0.5) * self.interval_s
        delay = self.delay[antenna][at] + self.rate[antenna][at] * since[:, None]
        phase = 2 * np.pi * frequency_hz[None, :, None] * delay[:, None] + self.phase[antenna][at][:, None]
        return diagonal(self.amplitude[antenna][at][:, None] * np.exp(1j * phase))


def solve(path, terms, tmp_path, sky=SKY, **options):
    out = tmp_path / "sol.h5"
    report = calibration.calibrate(path, sky, parse_terms(terms), out, CalibrationOptions(overwrite=True, **options))
    return report, calibration.read_h5parm(out)


def relative(values, reference):
    """[time, antenna, feed], less those of the reference, of [antenna, time, feed]."""
    values = np.moveaxis(values, 0, 1)
    return values - values[:, reference : reference + 1]


@pytest.mark.parametrize("sky", [SKY, POLARISED], ids=["unpolarised", "polarised"])
@pytest.mark.parametrize(
    "terms",
    [
        ["K: delay, 2min", "R: rate, 2min", "G: diag, 2min"],
        ["G: diag, 2min", "R: rate, 2min", "K: delay, 2min"],
        ["R: rate, 2min", "K: delay, 2min", "P: phase, 2min", "A: amplitude, 2min"],
    ],
)
def test_fringes_are_found_from_anywhere(observe, tmp_path, terms, sky):
    path, planted = make(tmp_path), Planted()
    observe(path, sky, CENTRE, planted.jones, noise_jy=1.0)
    report, (found,) = solve(path, terms, tmp_path, sky)
    assert report.converged == report.solves == 2
    assert report.noise_ratio == pytest.approx(1, abs=0.03)
    term = found["R"]
    reference = term.antennas.index(report.chunks[0].reference)
    value, sigma = (table["rate"][:, 0, :, 0] for table in (term.value, term.sigma))
    truth = relative(planted.rate, reference)
    if sky is POLARISED:  # which tells what feeds of the reference differ by
        truth[..., 1] += planted.rate[reference, :, None, 1] - planted.rate[reference, :, None, 0]
    others = np.delete(np.arange(N_ANTENNA), reference)
    assert np.abs((value - truth)[:, others] / sigma[:, others]).max() < 5
    assert term.sigma["rate"].max() < 1e-13
