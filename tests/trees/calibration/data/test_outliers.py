"""Visibilities that stand out are left out of a solve, and the noise of baselines and channels is found."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.data.outliers import standing_out, usual_noise, variances

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (20.0, 0.0, 3.0, 0.0))])


def complex_noise(rng, shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def test_what_stands_out():
    rng = np.random.default_rng(1)
    noise = np.abs(complex_noise(rng, (40, 30, 2)))
    noise[3, 4, 1] = 8.0
    noise[5, 6, 0] = np.nan
    out = standing_out(noise, 6.0, around="zero")
    assert out.sum() == 1 and out[3, 4, 1]
    # Magnitudes of a bandpass and a strong source: each channel has a middle of its own.
    source = np.abs(100.0 * np.linspace(0.5, 2, 30)[None, :, None] + complex_noise(rng, (40, 30, 2)))
    source[7, 0, 0] += 12
    found = standing_out(source, 6.0, around="median")
    assert found.sum() == 1 and found[7, 0, 0]
    # Few data tell nothing of themselves, only beside those of other baselines.
    few = noise[:2, 2:4].copy()
    few[1, 1, 0] = 50.0
    usual = usual_noise([noise, noise[20:], few])
    np.testing.assert_allclose(usual, 1, rtol=0.1)
    found = standing_out(few, 6.0, around="zero", usual=usual)
    assert found.sum() == 1 and found[1, 1, 0]
    assert not standing_out(few, 6.0, around="zero").any()
    assert not standing_out(few, 6.0, around="zero", usual=np.full(2, np.nan)).any()
    # And where all are equal none stands out.
    assert not standing_out(noise[:2, :2], 1.0, around="zero").any()
    assert not standing_out(np.ones((5, 5, 1)), 1.0, around="median").any()
    assert not standing_out(np.full((5, 5, 1), np.nan), 1.0, around="median").any()


def test_variances_by_medians():
    rng = np.random.default_rng(2)
    sizes = {(0, q): q * np.abs(complex_noise(rng, (50, 20, 2, 2))) for q in (1, 2, 3)}
    sizes[0, 1][0, 0] = 1e6
    found = variances(sizes, "baseline")
    assert [float(found[0, q][0, 0, 0, 0]) for q in (1, 2, 3)] == pytest.approx([1, 4, 9], rel=0.1)
    sizes[0, 4] = np.full((50, 20, 2, 2), np.nan)
    sizes[0, 5] = 1e-9 * sizes[0, 2]  # that fits exactly has no infinite weight
    found = variances(sizes, "baseline")
    assert found[0, 4] == 1 and 0.005 < found[0, 5] < 0.1
    by_channel = np.linspace(1, 5, 20)[None, :, None, None]
    found = variances({pair: by_channel * size for pair, size in sizes.items() if pair != (0, 5)}, "channel")
    ratio = found[0, 1][0, :, 0, 0] / np.linspace(1, 5, 20) ** 2
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=0.25)


@pytest.fixture
def spoilt(tmp_path, observe):
    """Two windows of 8 channels, 6 times: 2 % of the data are off by 30 Jy, baselines to ANT-0 are noisier."""
    path = str(tmp_path / "a.ms")
    bands = [rt.ms.Band.regular(centre, 8e6, 8) for centre in (1.3e9, 1.4e9)]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=10.0, bands=bands)
    rng = np.random.default_rng(3)
    gain = rng.uniform(0.7, 1.4, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))
    spoilt, n_bad = {}, 0
    for window in (0, 1):
        observe(path, SKY, CENTRE, lambda a, p, t, f: np.diag(gain[a]), data_desc_id=window)
        (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100, data_desc_id=window)
        value = tile["columns"]["DATA"].astype(complex)
        noise = np.array([3.0 if 0 in pair else 0.3 for pair in tile["baselines"]])
        value += noise[:, None, None, None] * complex_noise(rng, value.shape)
        bad = rng.random(value.shape[:3]) < 0.02
        value[bad] += 30 * np.exp(2j * np.pi * rng.random((bad.sum(), 1)))
        n_bad += 4 * int(bad.sum())
        spoilt[window] = tile["baselines"], value
    for window, (baselines, value) in spoilt.items():
        ns = rt.NodeScope()
        for k, (p, q) in enumerate(baselines):
            matrix = value[k].reshape(*value.shape[1:3], 2, 2)
            ns.V(p, q) << rt.Constant(np.ascontiguousarray(np.moveaxis(matrix, (2, 3), (0, 1))), cells_rank=2)
            ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
        rt.Forest(ns).run(path, time_slots=100, data_desc_id=window)
    return path, gain, n_bad


def pulls(found, gain):
    """(estimate - truth) / sigma of amplitudes, of all antennas, feeds and windows."""
    tables = [one["G"] for one in found]
    return np.concatenate(
        [((t.value["amplitude"][0, 0, :, 0] - np.abs(gain)) / t.sigma["amplitude"][0, 0, :, 0]).ravel() for t in tables]
    )


@pytest.mark.parametrize("term", ["G: diag", "G: diag, all windows"])
def test_outliers_are_left_out(spoilt, tmp_path, term):
    path, gain, n_bad = spoilt
    out = tmp_path / "g.h5"
    plain = CalibrationOptions(overwrite=True, solver=calibration.SolverOptions(errors_from_residuals=True))
    report = calibration.calibrate(path, SKY, parse_terms([term]), out, plain)
    assert report.noise_ratio > 3 and report.left_out == 0
    options = CalibrationOptions(overwrite=True, flag_data=6.0, noise_per="baseline", selection=rt.ms.Selection())
    report = calibration.calibrate(path, SKY, parse_terms([term]), out, options)
    assert report.noise_ratio == pytest.approx(1, rel=0.05)
    # Of data with noise of 3 Jy some of those that are off by 30 Jy are no further off than others.
    assert 0.9 * n_bad < report.left_out < 1.1 * n_bad
    pull = pulls(calibration.read_h5parm(out), gain)
    assert (pull**2).mean() == pytest.approx(1, abs=0.8) and np.abs(pull).max() < 4
    # The same, some time slots at a time, and some channels only.
    few = CalibrationOptions(
        overwrite=True, flag_data=6.0, noise_per="channel", selection=rt.ms.Selection(channels=[(0, 3), (5, 8)])
    )
    again = calibration.calibrate(path, SKY, parse_terms([term]), out, few)
    assert again.converged == again.solves and 0.6 * n_bad < again.left_out < 0.95 * n_bad


def test_outliers_of_chunks_of_few_data(spoilt, tmp_path):
    """Baselines had fewer than 8 data, and no outlier was found, however far off."""
    path, gain, _ = spoilt
    options = CalibrationOptions(overwrite=True, flag_data=6.0, selection=rt.ms.Selection(channels=[(0, 5)]))
    report = calibration.calibrate(path, SKY, parse_terms(["G: diag, 1slot"]), tmp_path / "g.h5", options)
    assert report.left_out > 100
    for solutions in report.solutions:
        amplitude = solutions["G"].value["amplitude"][:, 0, :, 0]
        assert np.median(np.abs(amplitude / np.abs(gain) - 1)) < 0.02
        assert np.abs(amplitude / np.abs(gain) - 1).max() < 0.3


@pytest.mark.parametrize(
    ("terms", "data"),
    [
        (["P: phase"], {}),
        (["K: delay", "P: phase"], {}),
        (["D: leakage"], {}),
        (["G: diag"], {"min_m": 40.0}),
        (["P: phase"], {"min_m": 40.0, "max_wavelengths": 700.0}),
    ],
)
def test_with_any_term_and_any_baselines(spoilt, tmp_path, terms, data):
    """Terms without amplitude have a scale besides, and limits of baselines nodes of their own: these had no names."""
    path, _, n_bad = spoilt
    options = CalibrationOptions(
        overwrite=True, flag_data=6.0, noise_per="baseline", data=calibration.DataSelection(**data)
    )
    report = calibration.calibrate(path, SKY, parse_terms(terms), tmp_path / "g.h5", options)
    assert 0.3 * n_bad < report.left_out < 1.5 * n_bad


def test_robust_with_weights_that_mean_nothing(spoilt, tmp_path):
    path, gain, _ = spoilt
    options = CalibrationOptions(noise_per="baseline", solver=calibration.SolverOptions(robust_dof=3.0))
    report = calibration.calibrate(path, SKY, parse_terms(["G: diag"]), tmp_path / "g.h5", options)
    assert report.converged == report.solves == 2
    pull = pulls(report.solutions, gain)
    assert (pull**2).mean() == pytest.approx(1, abs=0.8) and np.abs(pull).max() < 4
