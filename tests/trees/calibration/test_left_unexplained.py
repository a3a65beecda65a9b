"""Fits of phases of directions that have not found the best values say so, however little is left of the data."""

import time
from dataclasses import replace

import numpy as np
import pytest
from patch_sky import CENTRE_RAD, patch_sky

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.coherence import Coherence
from rimetree.calibration.fewer_directions import BETTER_MAY_BE
from rimetree.calibration.left_unexplained import deviations

N, N_TIME, N_CHANNEL = 7, 6, 8
FLUXES_JY, SKY = patch_sky(4)


@pytest.fixture
def calibrated(tmp_path, observe):
    """calibrated(term, fluxes_jy={}, sky=SKY): the report on data of a sky with phases of each patch, these fluxes
    instead of its own, and noise of 5 Jy; the model is SKY."""

    def run(term, fluxes_jy=None, sky=SKY):
        path = str(tmp_path / "a.ms")
        band = rt.ms.Band.regular(1.3e9, 2e6 * N_CHANNEL, N_CHANNEL)
        rt.ms.create(
            path, "kat-7", phase_centre_rad=CENTRE_RAD, duration_s=10.0 * N_TIME, integration_s=10.0, bands=band
        )
        phase = dict(zip(SKY.patches, np.random.default_rng(0).uniform(-np.pi, np.pi, (4, N)), strict=True))
        share = {patch: flux / FLUXES_JY[patch] for patch, flux in (fluxes_jy or {}).items()}

        def seen(antenna, patch, time_s, frequency_hz):
            gain = np.sqrt(share.get(patch, 1.0)) * np.exp(1j * phase[patch][antenna] if patch in phase else 0.0)
            return np.broadcast_to(gain * np.eye(2), (len(time_s), len(frequency_hz), 2, 2))

        observe(path, sky, CENTRE_RAD, seen, noise_jy=5.0, seed=1)
        options = CalibrationOptions(reference="ANT-0")
        return calibration.calibrate(path, SKY, parse_terms([term]), tmp_path / "sol.h5", options)

    return run


def test_wrong_fluxes_are_not_taken_for_a_good_fit(calibrated):
    """It was "converged", with a chi-square that is hardly larger than that of noise."""
    report = calibrated("P: phase, scalar, per patch", {"p0": 0.9 * FLUXES_JY["p0"]})
    assert report.noise_ratio < 5 * 1.1
    assert [set(one.statuses) for one in report.chunks] == [{BETTER_MAY_BE}]
    assert not report.flagged


def test_a_wrong_sky_ends_soon_and_nothing_is_without_signal(calibrated):
    """As seen in a real set, of another source than those of the model."""
    elsewhere = rt.sky.Source("x", CENTRE_RAD[0] + 0.03, CENTRE_RAD[1] - 0.02, (70, 0, 0, 0))
    began = time.process_time()
    report = calibrated("P: phase, per patch", sky=rt.sky.SkyModel([elsewhere]))
    assert time.process_time() - began < 15  # 3 s
    assert [set(one.statuses) for one in report.chunks] == [{BETTER_MAY_BE}]
    assert {reason for reasons in report.flagged_of.values() for reason in reasons} <= {"not converged"}


@pytest.mark.parametrize("patch", [None, "p0"])
def test_good_fits_have_converged(calibrated, patch):
    report = calibrated("P: phase, scalar, per patch", {} if patch is None else {patch: 0.0})
    assert report.converged == report.solves
    assert report.flagged_of == ({} if patch is None else {f"P, {patch}": {"without signal": N}})


def planted(rng, noise, times=4, channels=6):
    """(sums over data of two directions that resemble each other, phases of each antenna and direction)."""
    baselines = np.stack(np.triu_indices(N, 1), axis=1)
    shape = len(baselines), times, channels, 2
    fringe = np.exp(1j * rng.uniform(-0.4, 0.4, len(baselines))[:, None] * np.linspace(-1, 1, channels))
    model = np.ones((*shape, 2), complex) * [20.0, 10.0]
    model[..., 1] *= fringe[:, None, :, None]
    phases = rng.uniform(-np.pi, np.pi, (N, 2))
    real, imaginary = noise * rng.normal(size=(2, *shape))
    data = (model * turned(phases, baselines)).sum(axis=-1) + real + 1j * imaginary
    product, power = np.conj(model) * data[..., None], np.conj(model)[..., :, None] * model[..., None, :]
    count = np.ones(shape, np.int64)
    frequency_hz = 1e9 + 1e6 * np.arange(channels)
    return Coherence(list(range(N)), baselines, frequency_hz, product, power, np.abs(data) ** 2, count), phases


def turned(phases, baselines):
    """[baseline, 1, 1, 1, direction]"""
    gains = np.exp(1j * phases)
    p, q = baselines.T
    return (gains[p] * np.conj(gains[q]))[:, None, None, None]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_factors_explain_what_wrong_phases_leave(seed, together, scale):
    rng = np.random.default_rng(seed)
    sums, phases = planted(rng, noise=3.0)
    sums = replace(sums, product=sums.product * scale, power=sums.power * scale, data=sums.data * scale)
    at = np.zeros(4, np.intp), np.zeros(6, np.intp)

    def found(phases, absent=()):
        seen = turned(phases, sums.baselines) * np.ones((*sums.product.shape[:-1], 1))
        return deviations(sums, seen, ["a", "b"], absent, at, 0, together=together)

    assert abs(found(phases)) < 4
    wrong = phases + [0, 0.5] * rng.choice([-1, 1], (N, 1))
    assert found(wrong) > 6
    assert found(phases, ["b"]) > 6  # it is there
