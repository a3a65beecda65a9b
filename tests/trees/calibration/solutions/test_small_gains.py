"""Errors of phases of gains that are hardly larger than their errors."""

from dataclasses import replace

import numpy as np
import pytest
from patch_sky import CENTRE_RAD, patch_sky

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms
from rimetree.calibration.solutions.small_gains import with_errors_of_small_gains

N, N_TIME, N_CHANNEL, NOISE_JY = 7, 12, 8, 5.0
N_DATA = N * (N - 1) // 2 * N_TIME * N_CHANNEL * 2


@pytest.mark.parametrize("scaled", [True, False])
def test_a_faint_patch_beside_bright_ones(tmp_path, observe, scaled):
    """Of 12 standard deviations in all data together, most of which the others can take: noise makes its gains large
    and had made the errors of their phases 1.5 times too small."""
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 2e6 * N_CHANNEL, N_CHANNEL)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE_RAD, bands=band, duration_s=10.0 * N_TIME, integration_s=10.0)
    fluxes, sky = patch_sky(3, {"p1": 12 * NOISE_JY / np.sqrt(N_DATA)})
    pulls = {one: [] for one in fluxes}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        gain = {one: rng.uniform(0.7, 1.3, (N, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 2))) for one in fluxes}

        def seen(antenna, patch, time_s, frequency_hz, gain=gain):
            own = np.eye(2) if patch is None else np.diag(gain[patch][antenna])
            return np.broadcast_to(own, (len(time_s), len(frequency_hz), 2, 2))

        observe(path, sky, CENTRE_RAD, seen, noise_jy=NOISE_JY, seed=seed + 1)
        options = CalibrationOptions(
            reference="ANT-0", overwrite=True, solver=SolverOptions(errors_from_residuals=scaled)
        )
        report = calibration.calibrate(path, sky, parse_terms(["dE: diag, per patch"]), tmp_path / "s.h5", options)
        term = report.solutions[0]["dE"]
        for k, name in enumerate(term.directions):
            true = np.angle(gain[name] * np.conj(gain[name][:1]))[1:]
            value, sigma = (x["phase"][0, 0, 1:, k] for x in (term.value, term.sigma))
            pulls[name].append(np.angle(np.exp(1j * (value - true))) / sigma / (1 if scaled else NOISE_JY))
    size = {name: np.sqrt(np.nanmean(np.square(own))) for name, own in pulls.items()}
    assert 0.5 < size["p1"] < 1.25
    assert 0.6 < size["p0"] < 1.4 and 0.6 < size["p2"] < 1.4


def test_sure_ones_held_ones_and_what_is_beside_the_diagonal_stay(made_term):
    term = made_term("full", ("00", "01", "10", "11"))
    sigma = {q: np.full(term.shape, 0.1) for q in term.sigma}
    sigma["amplitude"][2] = sigma["phase"][2] = 0.6  # of one time
    sigma["phase"][:, :, 0] = 0.0  # held
    found = with_errors_of_small_gains(replace(term, sigma=sigma), 1.0).sigma["phase"]
    changed = np.zeros(term.shape, bool)
    changed[2, :, 1:4, :, [0, 3]] = True
    assert ((found != sigma["phase"]) == changed).all() and (found[changed] > 0.8).all()


def test_of_weights_that_are_not_those_of_the_noise(made_term):
    """Errors of a tenth, where those of the data are ten times what weights say."""
    term = made_term()
    term = replace(term, sigma={q: np.full(term.shape, 0.06) for q in term.sigma})
    there = ~term.flag
    as_it_is, larger = (with_errors_of_small_gains(term, variance).sigma["phase"][there] for variance in (1.0, 100.0))
    assert (as_it_is == 0.06).all()
    assert (larger > 0.08).all() and (larger < 0.12).all()  # in units of the weights
