"""Data that a fit leaves out, or hardly looks at, do not lead astray where it begins."""

import numpy as np
import pytest
from planted_columns import predicted_by_psv, write_column

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0), patch="mid"),
        rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)
TERMS = ["A: diag, 5slots, 4chan, per patch mid", "B: diag, 10slots, 8chan, per patch side"]


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """Gains [antenna, feed] of each patch, of any phase but those of ANT-0; noise of 1 Jy; 1 % of the data are 20 times
    as large as they should be."""
    path = str(tmp_path_factory.mktemp("spoilt") / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 16e6, 16)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=200.0, integration_s=10.0, bands=band)
    rng = np.random.default_rng(5)
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    gains, value = {}, 0.0
    for patch in SKY.patches:
        gain = rng.uniform(0.7, 1.3, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))
        gain[0] = np.abs(gain[0])
        p, q = np.array(tile["baselines"]).T
        factor = gain[p][:, None, None, :, None] * np.conj(gain[q])[:, None, None, None, :]
        value = value + factor * predicted_by_psv(tile, SKY.select(patches=[patch]), CENTRE)
        gains[patch] = gain
    value = value + rng.normal(size=value.shape) + 1j * rng.normal(size=value.shape)
    value[rng.random(value.shape[:3]) < 0.01] *= 20
    write_column(path, tile, value)
    return path, gains


@pytest.mark.parametrize(
    "options",
    [
        {"flag_data": 6.0},
        {"flag_data": 6.0, "noise_per": "baseline"},
        {"solver": SolverOptions(robust_dof=3.0)},
    ],
    ids=["flag-data", "noise-per", "robust"],
)
def test_gains_of_patches_are_found_beside_outliers(spoilt, tmp_path, options):
    path, gains = spoilt
    out = tmp_path / "s.h5"
    report = calibration.calibrate(path, SKY, parse_terms(TERMS), out, CalibrationOptions(reference="ANT-0", **options))
    assert report.converged == report.solves == 4
    (solutions,) = calibration.read_h5parm(out)
    for term, patch in zip(solutions.terms, SKY.patches, strict=True):
        of_patch = term.directions.index(patch)
        amplitude, sigma = (of["amplitude"][:, :, :, of_patch] for of in (term.value, term.sigma))
        pulls = (amplitude - np.abs(gains[patch])) / sigma
        assert 0.8 < np.sqrt(np.mean(pulls**2)) < 1.2
        found = np.einsum("...ii->...i", term.gain()[:, :, :, of_patch])
        assert np.abs(found - gains[patch]).max() < 0.4


@pytest.mark.parametrize("seed", [0, 2])
def test_what_gains_tell_of_leakages_is_found_by_robust_fits(tmp_path, seed):
    """Leakages of the reference are told as gains change, of an unpolarised sky, and were held: outliers were so much
    of what is left that this passed for noise, "converged", with errors of half of the sky."""
    path, rng = str(tmp_path / "a.ms"), np.random.default_rng(seed)
    band = rt.ms.Band.regular(1.3e9, 20e6, 8)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=120.0, integration_s=10.0, bands=band)
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    gain = rng.uniform(0.7, 1.3, (7, 6, 1, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 6, 1, 2)))
    leakage = 0.05 * (rng.normal(size=(7, 1, 1, 2, 2, 2)) @ [1, 1j])
    leakage[..., [0, 1], [0, 1]] = 1.0
    jones = np.repeat(gain, 2, axis=1)[..., None] * leakage
    p, q = np.array(tile["baselines"]).T
    seen = jones[p] @ predicted_by_psv(tile, SKY, CENTRE) @ np.conj(np.swapaxes(jones[q], -1, -2))
    value = seen + 0.5 * (rng.normal(size=(*seen.shape, 2)) @ [1, 1j])
    spoilt = rng.random(seen.shape) < 0.02
    value[spoilt] += 100 * np.exp(1j * rng.uniform(0, 6, spoilt.sum()))
    write_column(path, tile, value)
    options = CalibrationOptions(reference="ANT-0", solver=SolverOptions(robust_dof=3.0))
    terms = parse_terms(["G: diag, 2slots", "D: leakage"])
    report = calibration.calibrate(path, SKY, terms, tmp_path / "s.h5", options)
    assert report.converged == report.solves and not report.flagged
    found = [report.solutions[0].jones(f"ANT-{k}", tile["time_s"], tile["frequency_hz"])[0] for k in range(7)]
    found = np.array(found)
    model = found[p] @ predicted_by_psv(tile, SKY, CENTRE) @ np.conj(np.swapaxes(found[q], -1, -2))
    assert np.abs(model - seen).max() < 1.0
