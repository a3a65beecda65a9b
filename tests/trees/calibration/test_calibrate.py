"""Planted terms are recovered from noisy data, within the errors that are reported, whatever is missing."""

import numpy as np
import pytest
from planted_chains import CENTRE, N_ANTENNA, POLARISED, SKY

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, SolverOptions, parse_terms

DEAD = 5
TEC_RAD_HZ = -8.44797245e9


@pytest.fixture
def kat7(tmp_path):
    """A function that makes a set of KAT-7: 21 baselines, 12 times of 10 s, 8 channels of 2 MHz at 1.3 GHz."""

    def make(name="a.ms", channels=8, times=12, bands=None):
        rt.ms.create(
            tmp_path / name,
            "kat-7",
            phase_centre_rad=CENTRE,
            duration_s=10.0 * times,
            integration_s=10.0,
            bands=bands or rt.ms.Band.regular(1.3e9, 2e6 * channels, channels),
        )
        return str(tmp_path / name)

    return make


def index_of(time_s, seconds):
    """Which solution interval of so many seconds each time is in."""
    return np.floor((time_s - time_s[0] + 1e-3) / seconds).astype(int)


def gains(rng, n_time, n_freq, amplitude=0.3, phase=1.5):
    """Complex gains [antenna, time, freq, feed]."""
    shape = (N_ANTENNA, n_time, n_freq, 2)
    return rng.uniform(1 - amplitude, 1 + amplitude, shape) * np.exp(1j * rng.uniform(-phase, phase, shape))


def diagonal(values):
    """[..., 2, 2] of [..., 2]."""
    return np.einsum("...f,fg->...fg", values, np.eye(2)).astype(complex)


def solve(path, terms, tmp_path, sky=SKY, **options):
    out = tmp_path / "sol.h5"
    report = calibration.calibrate(path, sky, parse_terms(terms), out, CalibrationOptions(overwrite=True, **options))
    found = calibration.read_h5parm(out)
    return report, found


def assert_within_errors(value, sigma, truth, quantity, *, referred):
    """Chi-square of value - truth over the errors, within 4 standard deviations of its expectation; arrays [time, freq,
    antenna, ...]. Errors of different antennas are independent, but for the share of the reference antenna if they are
    `referred` to it: half of each variance, where antennas are alike."""
    difference = value - truth
    if quantity == "phase":
        difference = np.angle(np.exp(1j * difference))
    antennas = np.flatnonzero((np.isfinite(sigma) & (sigma > 0)).all(axis=(0, 1, 3)))
    assert len(antennas) > 2
    shares = np.full((len(antennas), len(antennas)), 0.5 if referred else 0.0)
    np.fill_diagonal(shares, 1.0)
    pull = (difference / np.where(sigma > 0, sigma, 1))[:, :, antennas]
    chi_square = np.einsum("tfae,ab,tfbe->", pull, np.linalg.inv(shares), pull)
    assert abs(chi_square - pull.size) < 4 * np.sqrt(2 * pull.size), chi_square / pull.size
    assert np.abs(pull).max() < 6


def test_diagonal_gains_within_their_errors(kat7, observe, tmp_path):
    """30 % of the data flagged, an antenna dead, gains far from the start, weights that are right."""
    path, rng = kat7(), np.random.default_rng(1)
    planted = gains(rng, 4, 2, phase=3.1)

    def jones(antenna, patch, time_s, frequency_hz):
        at = np.ix_(index_of(time_s, 30), np.arange(len(frequency_hz)) // 4)
        return diagonal(planted[antenna][at]) if patch is None else np.eye(2)

    flag = rng.random((21, 12, 8)) < 0.3
    pairs = rt.ms.baselines(path)
    flag[[k for k, pair in enumerate(pairs) if DEAD in pair]] = True
    observe(path, SKY, CENTRE, jones, noise_jy=1.0, flag=flag)
    report, (found,) = solve(path, ["G: diag, 30s, 4chan"], tmp_path)
    assert report.converged == report.solves == 8 and len(report.chunks) == 4
    assert report.noise_ratio == pytest.approx(1, abs=0.03)
    term = found["G"]
    assert term.flag[:, :, DEAD].all() and not np.delete(term.flag, DEAD, axis=2).any()
    assert report.flagged_fraction("G")["ANT-5"] == 1.0 and report.good_fraction["ANT-5"] == 0.0
    truth = np.moveaxis(planted, 0, 2)
    reference = term.antennas.index(report.chunks[0].reference)
    turned = truth * np.exp(-1j * np.angle(truth[:, :, reference : reference + 1]))
    for quantity, values in (("amplitude", np.abs(turned)), ("phase", np.angle(turned))):
        table, sigma = (x[quantity][:, :, :, 0] for x in (term.value, term.sigma))
        assert_within_errors(table, sigma, values, quantity, referred=quantity == "phase")
    assert (term.value["phase"][:, :, reference] == 0).all() and (term.sigma["phase"][:, :, reference] == 0).all()


@pytest.mark.parametrize(
    ("text", "parameter", "unit"),
    [
        ("K: delay, 1min", "clock", 20e-9),
        ("T: tec, 1min", "tec", 2.0),
        ("P: phase, 1min", "phase", 1.0),
        ("P: phase, scalar, 1min", "phase", 1.0),
        ("A: amplitude, 1min", "amplitude", 0.2),
        ("R: rotation, 1min", "rotation", 0.3),
    ],
)
def test_real_kinds_within_their_errors(kat7, observe, tmp_path, text, parameter, unit):
    path, rng = kat7(), np.random.default_rng(2)
    sky = POLARISED if parameter == "rotation" else SKY
    (term,) = parse_terms([text])
    planted = rng.uniform(-unit, unit, (N_ANTENNA, 2, len(term.elements)))
    planted += parameter == "amplitude"

    def jones(antenna, patch, time_s, frequency_hz):
        value = planted[antenna][index_of(time_s, 60)][:, None, :] * np.ones((1, len(frequency_hz), 1))
        nu = frequency_hz[None, :, None]
        if parameter == "rotation":
            c, s = np.cos(value[..., 0]), np.sin(value[..., 0])
            return np.moveaxis(np.array([[c, -s], [s, c]]), (0, 1), (-2, -1)).astype(complex)
        factor = {
            "clock": np.exp(2j * np.pi * nu * value),
            "tec": np.exp(1j * TEC_RAD_HZ * value / nu),
            "phase": np.exp(1j * value),
            "amplitude": value,
        }[parameter]
        return diagonal(np.broadcast_to(factor, (*factor.shape[:2], 2)))

    def seen(antenna, patch, time_s, frequency_hz):
        return np.eye(2) if patch else jones(antenna, patch, time_s, frequency_hz)

    observe(path, sky, CENTRE, seen, noise_jy=1.0)
    report, (found,) = solve(path, [text], tmp_path, sky)
    assert report.converged == report.solves > 0 and report.noise_ratio == pytest.approx(1, abs=0.03)
    table = found[term.name]
    truth = np.moveaxis(planted, 0, 1)[:, None]
    if parameter not in ("amplitude", "rotation"):
        reference = table.antennas.index(report.chunks[0].reference)
        truth = truth - truth[:, :, reference : reference + 1]
    value, sigma = table.value[parameter][:, :, :, 0], table.sigma[parameter][:, :, :, 0]
    assert not table.flag.any()
    assert_within_errors(value, sigma, truth, parameter, referred=parameter not in ("amplitude", "rotation"))


@pytest.mark.parametrize(
    ("texts", "sky"),
    [(["J: full, 1min"], SKY), (["G: diag", "D: leakage"], POLARISED), (["G: diag", "D: leakage"], SKY)],
)
def test_matrices_take_the_model_to_the_data(kat7, observe, tmp_path, texts, sky):
    """Full matrices and leakages are told but for what visibilities cannot tell: what counts is what they do."""
    path, rng = kat7(channels=4), np.random.default_rng(3)
    planted = gains(rng, 1, 1)[:, 0, 0]
    cross = 0.15 * (rng.normal(size=(2, N_ANTENNA)) + 1j * rng.normal(size=(2, N_ANTENNA)))
    matrices = np.array([np.diag(g) @ [[1, a], [b, 1]] for g, a, b in zip(planted, *cross, strict=True)])

    def jones(antenna, patch, time_s, frequency_hz):
        return np.eye(2) if patch else np.broadcast_to(matrices[antenna], (len(time_s), len(frequency_hz), 2, 2))

    clean = observe(path, sky, CENTRE, jones, noise_jy=1.0)
    report, (found,) = solve(path, texts, tmp_path, sky)
    assert report.converged == report.solves > 0 and report.noise_ratio == pytest.approx(1, abs=0.03)
    assert not any(term.flag.any() for term in found.terms)
    # The model with the solutions meets the noiseless data to what the noise lets through.
    group = rt.ms.groups(path, by_window=True)[0]
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, found, correct=False, subtract=sky)
    observe(path, sky, CENTRE, jones)
    rt.Forest(ns).run(path, **group.selection)
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=100)
    error = np.abs(tile["columns"]["CORRECTED_DATA"]) ** 2
    # Each of the parameters takes up one of the noise's 2 x 4 x (baselines x times x channels) parts of variance 1.
    unknowns = sum(chunk.rank for chunk in report.chunks)
    assert error.sum() == pytest.approx(unknowns, rel=0.5) and np.abs(clean).max() > 50


def test_without_noise_gains_are_those_planted(kat7, observe, tmp_path):
    path, rng = kat7(channels=2, times=6), np.random.default_rng(4)
    planted = gains(rng, 1, 1)[:, 0, 0]

    def jones(antenna, patch, time_s, frequency_hz):
        shape = (len(time_s), len(frequency_hz), 2, 2)
        return np.eye(2) if patch else np.broadcast_to(np.diag(planted[antenna]), shape)

    observe(path, SKY, CENTRE, jones)
    report, (found,) = solve(path, ["G: diag"], tmp_path)
    gain = np.einsum("aff->af", found["G"].gain()[0, 0, :, 0])
    reference = found["G"].antennas.index(report.chunks[0].reference)
    expected = planted * np.exp(-1j * np.angle(planted[reference]))
    # The column holds single precision: 6e-8 of each datum, less by the root of how many there are.
    assert np.abs(gain - expected).max() < 6e-8


def test_directions_and_a_term_of_the_whole_sky(kat7, observe, tmp_path):
    path, rng = kat7(), np.random.default_rng(5)
    fast, toward = gains(rng, 12, 1), gains(rng, 1, 1, amplitude=0.2, phase=0.5)[:, 0, 0]

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is None:
            return diagonal(fast[antenna][np.ix_(index_of(time_s, 10), np.zeros(len(frequency_hz), int))])
        return np.diag(toward[antenna]) if patch == "side" else np.eye(2)

    observe(path, SKY, CENTRE, jones, noise_jy=1.0)
    report, (found,) = solve(path, ["G: diag, 10s", "dE: diag, per patch"], tmp_path)
    assert report.converged == report.solves == 1 and report.noise_ratio == pytest.approx(1, abs=0.03)
    term = found["dE"]
    assert term.directions == ("middle", "side") and term.shape == (1, 1, 7, 2, 2)
    # The bright patch is the one that G is for.
    assert (term.value["amplitude"][..., 0, :] == 1).all() and (term.value["phase"][..., 0, :] == 0).all()
    reference = term.antennas.index(report.chunks[0].reference)
    truth = toward * np.exp(-1j * np.angle(toward[reference]))
    for quantity, values in (("amplitude", np.abs(truth)), ("phase", np.angle(truth))):
        table, sigma = (x[quantity][:, :, :, 1] for x in (term.value, term.sigma))
        assert_within_errors(table, sigma, values, quantity, referred=quantity == "phase")
    assert found.direction_radec_rad["side"] == pytest.approx((0.935, -0.482), abs=1e-6)


def test_windows_and_fields_are_solved_each_by_itself(small_ms, observe, tmp_path):
    """Two fields that take turns: each has its own phase centre and solutions; the file holds them by time."""
    path = small_ms(n_time=8, n_field=2)
    sky = rt.sky.SkyModel(
        [rt.sky.Source(f"f{i}", 0.9 + 0.1 * i + 1e-3, -0.5, (10.0 * (i + 1), 0, 0, 0)) for i in (0, 1)]
    )
    rng = np.random.default_rng(6)
    planted = gains(rng, 8, 1)[:4, :, 0]

    for field in (0, 1):

        def jones(antenna, patch, time_s, frequency_hz):
            slot = np.round((time_s - 5e9) / 10).astype(int)
            return np.repeat(diagonal(planted[antenna][slot])[:, None], len(frequency_hz), axis=1)

        observe(path, sky, (0.9 + 0.1 * field, -0.5), jones, field_id=field)
    report, (found,) = solve(path, ["G: diag, 1slot"], tmp_path, sky)
    assert [chunk.field_id for chunk in report.chunks] == [0] * 4 + [1] * 4
    term = found["G"]
    np.testing.assert_allclose(term.time_s, 5e9 + 10.0 * np.arange(8), atol=1e-6)
    gain = np.einsum("taff->atf", term.gain()[:, 0, :, 0])
    reference = term.antennas.index(report.chunks[0].reference)
    expected = planted * np.exp(-1j * np.angle(planted[reference]))
    assert np.abs(gain - expected).max() < 1e-6


def test_several_windows_make_several_sets(kat7, observe, tmp_path):
    bands = [rt.ms.Band.regular(1.3e9, 8e6, 4, "low"), rt.ms.Band.regular(1.5e9, -6e6, 3, "high")]
    path = kat7(bands=bands, times=4)
    rng = np.random.default_rng(7)
    planted = gains(rng, 1, 2)[:, 0]
    for window in (0, 1):

        def jones(antenna, patch, time_s, frequency_hz, window=window):
            shape = (len(time_s), len(frequency_hz), 2, 2)
            return np.eye(2) if patch else np.broadcast_to(np.diag(planted[antenna, window]), shape)

        observe(path, SKY, CENTRE, jones, data_desc_id=window)
    report, (low, high) = solve(path, ["G: diag, 2chan"], tmp_path)
    assert low["G"].shape[1] == 2 and high["G"].shape[1] == 2
    assert high["G"].frequency_hz[0] < high["G"].frequency_hz[1]
    for window, found in enumerate((low, high)):
        gain = np.einsum("faii->fai", found["G"].gain()[0, :, :, 0])
        reference = found["G"].antennas.index(report.chunks[window].reference)
        expected = planted[:, window] * np.exp(-1j * np.angle(planted[reference, window]))
        assert np.abs(gain - expected).max() < 1e-6
    groups = rt.ms.groups(path, by_window=True)
    assert [calibration.solutions_for([high, low], group).terms[0].frequency_hz[0] for group in groups] == [
        low["G"].frequency_hz[0],
        high["G"].frequency_hz[0],
    ]


@pytest.mark.parametrize("uvw_sign", [1, -1])
def test_both_families_and_missing_baselines(small_ms, observe, tmp_path, uvw_sign):
    """UVW count as stored: seen with the opposite baselines, the same sky has the conjugate gains."""
    path = small_ms(n_time=4, uvw_sign=uvw_sign, pairs=[(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)])
    sky = rt.sky.SkyModel(
        [rt.sky.Source("a", 0.902, -0.5, (10.0, 0, 0, 0)), rt.sky.Source("b", 0.9, -0.503, (4.0, 0, 0, 0))]
    )
    planted = gains(np.random.default_rng(9), 1, 1)[:4, 0, 0]

    def jones(antenna, patch, time_s, frequency_hz):
        return np.broadcast_to(np.diag(planted[antenna]), (len(time_s), len(frequency_hz), 2, 2))

    def conjugate(*arguments):
        return np.conj(jones(*arguments))

    observe(path, sky, (0.9, -0.5), jones if uvw_sign > 0 else conjugate)
    report, (found,) = solve(path, ["G: diag"], tmp_path, sky)
    gain = np.einsum("aff->af", found["G"].gain()[0, 0, :, 0])
    reference = found["G"].antennas.index(report.chunks[0].reference)
    expected = planted * np.exp(-1j * np.angle(planted[reference]))
    assert np.abs(gain - (expected if uvw_sign > 0 else np.conj(expected))).max() < 1e-6


def test_baselines_between_two_sides_only(small_ms, observe, tmp_path):
    """Amplitudes are told but for a factor that one side has and the other has not: the data can be corrected."""
    path = small_ms(n_time=4, pairs=[(0, 2), (0, 3), (1, 2), (1, 3)])
    sky = rt.sky.SkyModel(
        [rt.sky.Source("a", 0.902, -0.5, (10.0, 0, 0, 0)), rt.sky.Source("b", 0.9, -0.503, (4.0, 0, 0, 0))]
    )
    planted = gains(np.random.default_rng(9), 1, 1)[:4, 0, 0]

    def jones(antenna, patch, time_s, frequency_hz):
        return np.broadcast_to(np.diag(planted[antenna]), (len(time_s), len(frequency_hz), 2, 2))

    observe(path, sky, (0.9, -0.5), jones)
    report, (found,) = solve(path, ["G: diag"], tmp_path, sky)
    assert not found["G"].flag.any() and report.converged == report.solves
    gain = np.einsum("aff->af", found["G"].gain()[0, 0, :, 0])
    for p, q in rt.ms.baselines(path):
        np.testing.assert_allclose(gain[p] * gain[q].conj(), planted[p] * planted[q].conj(), atol=1e-6)
    reference = found["G"].antennas.index(report.chunks[0].reference)
    assert (gain[reference] == 1).all()


def test_what_cannot_be_solved_is_flagged_and_reported(kat7, observe, tmp_path):
    """An interval without data, one with a single baseline, and the antennas that this leaves."""
    path = kat7(channels=2)
    flag = np.zeros((21, 12, 2), bool)
    flag[:, :3] = True
    flag[1:, 3:6] = True  # all but the first baseline
    observe(path, SKY, CENTRE, lambda *_: np.eye(2), noise_jy=1.0, flag=flag)
    report, (found,) = solve(path, ["G: diag, 30s"], tmp_path)
    assert report.chunks[0].statuses == {"no equations": 1} and report.chunks[0].chi_square == []
    term = found["G"]
    assert term.flag[0].all() and term.flag[1, :, 2:].all() and not term.flag[2:].any()
    assert np.isfinite(term.value["amplitude"]).all()
    assert report.chunks[2].converged == report.chunks[2].solves and not report.chunks[2].flagged
    assert report.chunks[0].flagged == {"without data": 28}  # 7 antennas, 2 feeds, re and im
    assert sum(report.chunks[1].flagged.values()) >= 5 * 4


def test_outliers_do_no_harm_to_a_robust_solve(kat7, observe, tmp_path):
    path, rng = kat7(channels=2), np.random.default_rng(8)
    observe(path, SKY, CENTRE, lambda *_: np.eye(2), noise_jy=1.0)
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    values = tile["columns"]["DATA"].copy().reshape(21, 12, 2, 2, 2)
    values[rng.random(values.shape) < 0.03] += 300
    ns = rt.NodeScope()
    for k, (p, q) in enumerate(tile["baselines"]):
        ns.V(p, q) << rt.Constant(np.ascontiguousarray(np.moveaxis(values[k], (2, 3), (0, 1))), cells_rank=2)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(path, time_slots=100)
    error = {}
    for dof in (0.0, 3.0):
        _, (found,) = solve(path, ["G: diag"], tmp_path, solver=SolverOptions(robust_dof=dof))
        error[dof] = np.abs(np.einsum("aff->af", found["G"].gain()[0, 0, :, 0]) - 1).max()
    assert error[3.0] < 0.01 < 0.03 < error[0.0]


def test_errors(kat7, tmp_path):
    path = kat7(times=2)
    terms = parse_terms(["G: diag"])
    with pytest.raises(CalibrationError, match="no antenna 'X1' with data"):
        calibration.calibrate(path, SKY, terms, tmp_path / "sol.h5", CalibrationOptions(reference="X1", overwrite=True))
    loose = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (1.0, 0, 0, 0))])
    with pytest.raises(CalibrationError, match="in no patch of the sky model: a"):
        per_patch = parse_terms(["dE: diag, per patch"])
        calibration.calibrate(path, loose, per_patch, tmp_path / "sol.h5", CalibrationOptions(overwrite=True))
    (tmp_path / "there.h5").write_text("")
    with pytest.raises(CalibrationError, match="exists; choose another name or give --overwrite"):
        calibration.calibrate(path, SKY, terms, tmp_path / "there.h5")
    with pytest.raises(CalibrationError, match="nothing to resume"):
        calibration.calibrate(path, SKY, terms, tmp_path / "there.h5", CalibrationOptions(resume=True))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"min_fraction": 2}, "min_fraction is a number from 0 to 1, not 2"),
        ({"min_fraction": float("nan")}, "min_fraction is a number from 0 to 1, not nan"),
        ({"flag_data": -1}, "flag_data is a number from 0 on, not -1"),
        ({"flag_solutions": -0.5}, "flag_solutions is a number from 0 on"),
        ({"memory_bytes": 0}, "memory_bytes is a number from 1 on, not 0"),
        ({"threads": 0}, "threads is a number from 1 on, not 0"),
        ({"noise_per": "antenna"}, "noise_per is one of '', 'baseline', 'channel', not 'antenna'"),
        ({"interpolation": "cubic"}, "interpolation is one of 'nearest', 'linear', not 'cubic'"),
        ({"iterations": 0}, "iterations is a number from 1 on, not 0"),
        ({"robust_dof": -3}, '"robust_dof" is -3, expected at least 0'),
    ],
)
def test_options_that_mean_nothing_are_refused(options, says):
    made = calibration.SolverOptions if options.keys() & {"iterations", "robust_dof"} else CalibrationOptions
    with pytest.raises(CalibrationError, match=says):
        made(**options)


def test_without_solutions_nothing_is_left_of_data(kat7):
    path = kat7(times=2)
    for sets in ([], [[]]):
        with pytest.raises(CalibrationError, match="there are no solutions"):
            calibration.residuals(path, SKY, sets, CalibrationOptions())
