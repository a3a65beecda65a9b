"""Whether a minimum is the lowest is told by how often it is found, and not by noise: models are never quite right."""

import time
from dataclasses import replace

import numpy as np
import pytest
from patch_sky import CENTRE_RAD, patch_sky

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import parse_terms
from rimetree.calibration.directions import joint_starts
from rimetree.calibration.starts.fewer_directions import BETTER_MAY_BE
from rimetree.cli.runs.calibrating_text import report_text

N, N_TIME, N_CHANNEL, NOISE_JY = 7, 6, 8, 5.0
FLUXES_JY = patch_sky(6)[0]


@pytest.fixture
def calibrated(solved):
    """calibrated(term, patches, true_jy={}, sky=None, noise_jy=5): the report on data with phases of each patch; the
    model is that of so many patches, and the data have `true_jy` of some, or another sky."""

    def run(term, patches, true_jy=None, sky=None, noise_jy=NOISE_JY):
        phase = dict(zip(FLUXES_JY, np.random.default_rng(0).uniform(-np.pi, np.pi, (6, N)), strict=True))

        def of_patch(antenna, patch):
            return (np.exp(1j * phase[patch][antenna]) if patch in phase else 1.0) * np.eye(2)

        seen, model = sky or patch_sky(patches, true_jy)[1], patch_sky(patches)[1]
        data = {"model": model, "slots": N_TIME, "channels": N_CHANNEL, "noise_jy": noise_jy, "seed": 1}
        return solved([term], lambda _: np.eye(2), seen, of_patch, **data)[0]

    return run


def test_many_antennas_need_no_fits_without_directions(tmp_path, observe, monkeypatch):
    """Those took most of the time: 20 antennas cannot be explained by a direction that is not there."""

    def unexpected(*_):
        raise AssertionError

    monkeypatch.setattr(joint_starts, "_with_fewer", unexpected)
    path, every = str(tmp_path / "a.ms"), rt.telescopes.get("meerkat")
    fields = ("antenna_names", "ecef_m", "dish_diameter_m")
    some = replace(every, **{name: getattr(every, name)[:20] for name in fields})
    band = rt.ms.Band.regular(1.3e9, 2e6, 1)
    rt.ms.create(path, some, phase_centre_rad=CENTRE_RAD, duration_s=20.0, integration_s=10.0, bands=band)
    phase = dict(zip(FLUXES_JY, np.random.default_rng(0).uniform(-np.pi, np.pi, (6, 20)), strict=True))

    def seen(antenna, patch, time_s, frequency_hz):
        gain = np.exp(1j * phase[patch][antenna]) if patch in phase else 1.0
        return np.broadcast_to(gain * np.eye(2), (len(time_s), len(frequency_hz), 2, 2))

    sky = patch_sky(2)[1]
    observe(path, sky, CENTRE_RAD, seen, noise_jy=NOISE_JY, seed=1)
    report = calibration.calibrate(path, sky, parse_terms(["P: phase, scalar, per patch"]), tmp_path / "s.h5")
    assert statuses(report) == {"converged"} and not report.flagged
    assert report.noise_ratio == pytest.approx(NOISE_JY, rel=0.05)


def statuses(report):
    return {status for one in report.chunks for status in one.statuses}


def test_a_minimum_that_no_other_start_leads_to_is_told(calibrated, monkeypatch):
    """As if all random starts had ended higher: it was "converged", with phases wrong by a radian."""
    monkeypatch.setattr(joint_starts, "_ROUNDS", (0, 0))
    report = calibrated("P: phase, scalar, per patch", 6)
    assert report.noise_ratio > 1.02 * NOISE_JY
    assert statuses(report) == {BETTER_MAY_BE}


@pytest.mark.parametrize("term", ["P: phase, scalar, per patch", "T: tec, per patch"])
def test_a_model_that_is_not_quite_right_has_converged(calibrated, term):
    """What it leaves is much more than noise, but the lowest minimum is found again and again."""
    report = calibrated(term, 4, true_jy={"p0": 0.8 * FLUXES_JY["p0"]})
    assert 1.03 * NOISE_JY < report.noise_ratio < 2 * NOISE_JY
    assert report.over_noise == pytest.approx(report.noise_ratio / NOISE_JY, rel=0.1)
    assert statuses(report) == {"converged"} and not report.flagged


def test_scales_that_are_not_found_again_leave_a_poor_fit_in_doubt(calibrated, monkeypatch):
    """As if no two searches with free scales had ended alike: a direction may be absent. It was "converged"."""
    monkeypatch.setattr(joint_starts, "_free", lambda _, found, how: replace(found, possible=False, found_once=True))
    report = calibrated("P: phase, scalar, per patch", 4, true_jy={"p0": 0.8 * FLUXES_JY["p0"]})
    assert statuses(report) == {BETTER_MAY_BE}


@pytest.mark.parametrize("term", ["P: phase, per patch", "T: tec, per patch", "K: delay, per patch"])
def test_a_wrong_sky_ends_soon_and_does_not_pass_for_a_good_fit(calibrated, term):
    elsewhere = rt.sky.Source("x", CENTRE_RAD[0] + 0.03, CENTRE_RAD[1] - 0.02, (70, 0, 0, 0))
    began = time.process_time()
    report = calibrated(term, 3, sky=rt.sky.SkyModel([elsewhere]), noise_jy=1.0)
    assert time.process_time() - began < 15  # 2 s
    assert 0.7 * report.noise_ratio < report.over_noise < 1.05 * report.noise_ratio  # noise is 1, and neighbours differ
    text = report_text(report, report.solutions[0].terms)
    assert ("not explained" in text) == (report.over_noise > 1.5)
    missed = "without signal" in text or "not detected" in text
    assert ("a better sky may have signal" in text) == (missed and report.over_noise > 1.5)
    assert statuses(report) == {BETTER_MAY_BE} or report.over_noise > 1.5
