"""Bandpasses and gains of data of which some channels are noise: the others have solutions and errors of their own."""

import numpy as np
from planted_chains import CENTRE, N_CHANNEL, N_TIME, SKY, diagonal, gains
from planted_columns import write_column

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms

BAD = 7


def made(tmp_path, rng):
    """A set of KAT-7 without data, and the bandpasses and gains that its antennas are to have."""
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 2e6 * N_CHANNEL, N_CHANNEL)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=10.0 * N_TIME, integration_s=10.0, bands=band)
    return path, gains(rng, 1, N_CHANNEL), gains(rng, N_TIME, 1)


def test_gains_that_go_on_to_nothing(tmp_path, observe):
    """All baselines go to two antennas, and in one channel the data between these have the opposite sign: the best
    gains of one are 0 there, and those of the others infinite. All solutions were called ambiguous, as rounding had
    mixed what no data can tell with what these hardly tell; and errors of all channels were those of that one."""
    rng = np.random.default_rng(1)
    path, b, g = made(tmp_path, rng)
    visibilities = observe(path, SKY, CENTRE, lambda a, *_: diagonal((b * g)[a]))
    (tile,) = rt.ms.tiles(path, [], time_slots=10000)
    noise = rng.normal(size=(2, *visibilities.shape))
    data = visibilities + noise[0] + 1j * noise[1]
    data[tile["baselines"].index((0, 1)), :, BAD] *= -1
    flag = np.array([not {p, q} & {0, 1} for p, q in tile["baselines"]])
    write_column(path, tile, data, "DATA", np.broadcast_to(flag[:, None, None], data.shape[:3]), {})
    terms = parse_terms(["B: diag, 1chan", "G: diag, 1slot"])
    options = CalibrationOptions(solver=SolverOptions(iterations=400), reference="ANT-0", overwrite=True)
    report = calibration.calibrate(path, SKY, terms, tmp_path / "s.h5", options)
    assert report.normalised == ["B"] and report.converged == 1
    found = report.solutions[0]
    amplitude, sigma = (x["amplitude"][0, :, :, 0] for x in (found["B"].value, found["B"].sigma))
    good = np.setdiff1d(np.arange(N_CHANNEL), BAD)
    assert not found["G"].flag.any() and not found["B"].flag[0, good].any()
    assert sigma[good].max() < 0.1
    np.testing.assert_allclose(amplitude[good].mean(axis=0), 1, atol=0.2)


def test_a_channel_of_interference(tmp_path, observe):
    """A hundred times as bright as others, and no antennas make its phases: it had been most of the means of each
    antenna's bandpass, so that all other channels had 0.6 as amplitude, and other phases."""
    rng = np.random.default_rng(2)
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0))])
    path, b, g = made(tmp_path, rng)
    visibilities = observe(path, sky, CENTRE, lambda a, *_: diagonal((b * g)[a]))
    (tile,) = rt.ms.tiles(path, [], time_slots=10000)
    wrong = np.exp(1j * rng.uniform(-1, 1, (len(visibilities), 1, 2, 2)))  # of each baseline by itself
    visibilities[:, :, BAD] *= 100 * wrong
    noise = rng.normal(size=(2, *visibilities.shape))
    write_column(path, tile, visibilities + noise[0] + 1j * noise[1])
    terms = parse_terms(["B: diag, 1chan", "G: diag, 1slot"])
    report = calibration.calibrate(path, sky, terms, tmp_path / "s.h5", CalibrationOptions(reference="ANT-0"))
    assert report.normalised == ["B"] and report.converged == report.solves and not report.flagged
    amplitude, phase = (report.solutions[0]["B"].value[q][0, :, :, 0] for q in ("amplitude", "phase"))
    good = np.setdiff1d(np.arange(N_CHANNEL), BAD)
    assert (amplitude[BAD] > 4).all()
    np.testing.assert_allclose(amplitude[good].mean(axis=0), 1, rtol=1e-6)
    mean = np.average(np.unwrap(phase[good], axis=0), weights=amplitude[good], axis=0)
    np.testing.assert_allclose(np.angle(np.exp(1j * mean)), 0, atol=1e-6)  # all may be whole turns away
    planted = np.moveaxis(b, 0, 2)[0][good]
    np.testing.assert_allclose(amplitude[good], np.abs(planted) / np.abs(planted).mean(axis=0), rtol=0.05)
