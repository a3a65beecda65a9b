"""Smoothness along frequency inside the fit: solutions, errors and where it does better than smoothing afterwards."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_term, parse_terms
from rimetree.calibration.searches.smoothing import smoothed

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0))])
PATCHES = rt.sky.SkyModel(
    [
        rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.945, -0.475, (40.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)
N_CHANNEL, WIDTH_HZ = 32, 8e6


def make_set(path, integration_s):
    """7 antennas, 6 times, 32 channels of 1 MHz."""
    bands, times = rt.ms.Band.regular(1.0e9, 1e6 * N_CHANNEL, N_CHANNEL), {"integration_s": integration_s}
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=6 * integration_s, bands=bands, **times)
    return str(path)


@pytest.fixture
def kat7(tmp_path):
    """6 times of 10 s."""
    return make_set(tmp_path / "a.ms", 10.0)


def solve(path, terms, out, sky=SKY, **options):
    report = calibration.calibrate(path, sky, parse_terms(terms), out, CalibrationOptions(overwrite=True, **options))
    return report, report.solutions[0]


def curves(seed, n=7, slope=1.5, amplitude=0.2):
    """[antenna, channel] gains of any phase that change slowly along frequency."""
    rng, x = np.random.default_rng(seed), np.linspace(0, 1, N_CHANNEL)
    phase = rng.uniform(-3, 3, (n, 1)) + slope * rng.normal(size=(n, 1)) * x
    return (1 + amplitude * np.sin(3 * x + rng.uniform(0, 6, (n, 1)))) * np.exp(1j * phase)


def scalar(curve):
    """[time, channel, 2, 2] of one antenna, at six times."""
    return np.broadcast_to(curve[:, None, None] * np.eye(2), (6, N_CHANNEL, 2, 2))


def error(found, planted):
    """Root mean square of gains [channel, antenna] minus planted [antenna, channel]; a common phase is open."""
    turn = np.exp(1j * np.angle((np.conj(found) * planted.T).sum(axis=1, keepdims=True)))
    return float(np.sqrt(np.mean(np.abs(found * turn - planted.T) ** 2)))


def kernel(frequency_hz, width_hz=WIDTH_HZ):
    """[to, from]: what each channel gives to all adds up to 1."""
    distance = (frequency_hz[:, None] - frequency_hz) / (width_hz / (2 * np.sqrt(2 * np.log(2))))
    shares = np.exp(-0.5 * distance**2)
    return shares / shares.sum(axis=0)


def test_a_solution_fits_the_data_of_all_channels_best_as_the_kernel_weighs_them(kat7, observe, tmp_path):
    planted = curves(1)
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: scalar(planted[a]), noise_jy=30.0, seed=3)
    report, found = solve(kat7, ["B: scalar, 1chan, smooth 8MHz"], tmp_path / "b.h5")
    assert report.chunks[0].smoothed_hz == WIDTH_HZ and report.converged == N_CHANNEL
    (tile,) = rt.ms.tiles(kat7, ["DATA"], time_slots=100)
    data = tile["columns"]["DATA"][..., [0, 3]].astype(complex)  # [baseline, time, channel, feed]
    share = kernel(tile["frequency_hz"])
    gain = found["B"].gain()[0, :, :, 0, 0, 0]
    p, q = np.array(tile["baselines"]).T
    for channel in (0, 13, 31):

        def residual(x, channel=channel):
            g = x[:7] + 1j * np.concatenate([[0], x[7:]])
            left = (data - 60.0 * (g[p] * np.conj(g[q]))[:, None, None, None]) * np.sqrt(share[channel])[:, None]
            return np.concatenate([left.real.ravel(), left.imag.ravel()])

        turned = gain[channel] * np.conj(gain[channel, 0]) / abs(gain[channel, 0])
        begin = np.concatenate([turned.real, turned.imag[1:]])
        best = least_squares(residual, begin * 1.05, xtol=1e-14, ftol=1e-14, gtol=1e-14).x
        np.testing.assert_allclose(begin, best, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "noise_jy", "times"), [("diag", 250.0, 1.3), ("phase", 400.0, 1.3), ("scalar", 400.0, 1.5)]
)
def test_where_signal_is_low_it_does_better_than_smoothing_afterwards(kat7, observe, tmp_path, text, noise_jy, times):
    planted = curves(2, amplitude=0.0)
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: scalar(planted[a]), noise_jy=noise_jy, seed=4)
    _, plain = solve(kat7, [f"B: {text}, 1chan"], tmp_path / "plain.h5")
    after = smoothed(plain["B"], parse_term(f"B: {text}, 1chan, smooth 8MHz"))
    _, inside = solve(kat7, [f"B: {text}, 1chan, smooth 8MHz"], tmp_path / "inside.h5")
    errors = [error(one.gain()[0, :, :, 0, 0, 0], planted) for one in (plain["B"], after, inside["B"])]
    assert errors[0] > times * errors[1] and errors[1] > times * errors[2], errors


def test_two_directions(observe, tmp_path):
    """The median of channels, as some may end in another minimum, with either."""
    path, errors = make_set(tmp_path / "long.ms", 80.0), []
    term = "B: scalar, 1chan, smooth 8MHz, per patch"
    for seed in (1, 2, 3):
        planted = {"middle": curves(5 + seed), "side": curves(60 + seed)}

        def jones(antenna, patch, time_s, frequency_hz, planted=planted):
            return scalar(np.ones(N_CHANNEL)) if patch is None else scalar(planted[patch][antenna])

        observe(path, PATCHES, CENTRE, jones, noise_jy=60.0, seed=seed)
        report, inside = solve(path, [term], tmp_path / "inside.h5", PATCHES)
        assert report.chunks[0].smoothed_hz == WIDTH_HZ
        _, plain = solve(path, [term.replace(", smooth 8MHz", "")], tmp_path / "plain.h5", PATCHES)
        for d, name in enumerate(inside["B"].directions):
            tables = [one.gain()[0, :, :, d, 0, 0] for one in (smoothed(plain["B"], parse_term(term)), inside["B"])]
            errors.append([np.median([error(g[[c]], planted[name][:, [c]]) for c in range(N_CHANNEL)]) for g in tables])
    after, inside = np.mean(errors, axis=0)
    assert inside < 0.9 * after, errors


def test_errors_are_those_of_all_the_data_that_have_a_part(kat7, observe, tmp_path):
    """Of gains that do not change along frequency, in 40 realisations of the noise."""
    planted = np.repeat(curves(7)[:, :1], N_CHANNEL, axis=1)
    pulls = []
    for seed in range(40):
        observe(kat7, SKY, CENTRE, lambda a, p, t, f: scalar(planted[a]), noise_jy=20.0, seed=seed)
        options = {"solver": calibration.SolverOptions(errors_from_residuals=True)}
        _, found = solve(kat7, ["B: scalar, 1chan, smooth 8MHz"], tmp_path / "b.h5", **options)
        term = found["B"]
        away = term.value["amplitude"][0, 4:-4, :, 0, 0] - np.abs(planted.T[4:-4])
        pulls.append((away / term.sigma["amplitude"][0, 4:-4, :, 0, 0]) ** 2)
    assert np.mean(pulls) == pytest.approx(1, abs=0.15)


def test_where_a_fit_cannot_be_smooth_solutions_are_made_so_after_it(kat7, observe, tmp_path):
    planted = curves(1)
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: scalar(planted[a]), noise_jy=3.0)
    smooth = "B: diag, 1chan, smooth 8MHz"
    for terms, options, inside_hz in (
        ([smooth], {}, WIDTH_HZ),
        ([smooth + " ANT-3=4MHz"], {}, 4e6),  # the rest after it
        ([smooth, "G: diag, 1slot"], {}, WIDTH_HZ),
        (["B: diag, 1chan, smooth ANT-[0-2]=8MHz"], {}, 0.0),
        ([smooth, "A: amplitude, 2chan"], {}, 0.0),
        ([smooth, "K: delay"], {}, 0.0),
        ([smooth], {"flag_solutions": 8.0}, 0.0),
        ([smooth], {"solver": calibration.SolverOptions(robust_dof=3.0)}, 0.0),
    ):
        report, found = solve(kat7, terms, tmp_path / "b.h5", **options)
        assert report.chunks[0].smoothed_hz == inside_hz, terms
        if len(terms) == 1 and "ANT-[" not in terms[0]:
            assert np.abs(np.diff(found["B"].gain()[0, :, :, 0, 0, 0], n=2, axis=0)).mean(axis=0).max() < 0.05, terms


def test_what_is_left_to_do_after_the_fit_adds_up(kat7, observe, tmp_path):
    """ANT-3 is smoothed over 4 MHz by the fit, as all others, which are over 8 MHz in the end."""
    planted = np.repeat(curves(7)[:, :1], N_CHANNEL, axis=1)
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: scalar(planted[a]), noise_jy=5.0)
    _, wide = solve(kat7, ["B: scalar, 1chan, smooth 8MHz"], tmp_path / "w.h5")
    _, mixed = solve(kat7, ["B: scalar, 1chan, smooth 8MHz ANT-3=4MHz"], tmp_path / "m.h5")
    one, other = (found["B"].gain()[0, 6:-6, :, 0, 0, 0] for found in (wide, mixed))
    others = [a for a in range(7) if a != 3]
    np.testing.assert_allclose(np.abs(one[:, others]), np.abs(other[:, others]), atol=4e-3)
    of_wide, of_mixed = (found["B"].sigma["amplitude"][0, 10:-10, :, 0, 0].mean(axis=0) for found in (wide, mixed))
    assert of_mixed[3] == pytest.approx(np.sqrt(2) * of_wide[3], rel=0.05)
    np.testing.assert_allclose(of_mixed[others], of_wide[others], rtol=0.05)


def test_channels_without_data_have_no_solution(kat7, observe, tmp_path):
    flag = np.zeros((21, 6, N_CHANNEL), bool)
    flag[:, :, 9] = True
    of_antenna = [k for k, pair in enumerate(itertools.combinations(range(7), 2)) if 2 in pair]
    flag[of_antenna, :, 20:22] = True
    planted = curves(1)
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: scalar(planted[a]), noise_jy=0.5, flag=flag)
    _, found = solve(kat7, ["B: scalar, 1chan, smooth 8MHz"], tmp_path / "b.h5")
    flagged = found["B"].flag[0, :, :, 0, 0]
    assert flagged[9].all() and flagged[20:22, 2].all() and flagged.sum() == 7 + 2
    gain = replace(found["B"]).gain()[0, :, :, 0, 0, 0]
    good = ~flagged
    assert np.abs(np.abs(gain[good]) - np.abs(planted.T[good])).max() < 0.05
