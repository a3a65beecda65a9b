"""Chains of terms of which data tell only products: the products are recovered within their errors, and the terms come
in the convention that is documented."""

import h5py
import numpy as np
import pytest
from planted_chains import CENTRE, FREQUENCY_HZ, N_ANTENNA, N_CHANNEL, N_TIME, POLARISED, SKY, diagonal, gains

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms
from rimetree.calibration.terms.conventions import covers


def mean_phase(values, axis):
    """Of complex values: unwrapped, weighted with their amplitudes."""
    return np.average(np.unwrap(np.angle(values), axis=axis), weights=np.abs(values), axis=axis, keepdims=True)


def normalised(values, axis):
    """(what is left, what was taken out): mean amplitude 1 and mean phase 0 along the axis."""
    taken = np.abs(values).mean(axis=axis, keepdims=True) * np.exp(1j * mean_phase(values, axis))
    return values / taken, taken


def pulls(term, truth):
    """Differences over errors of complex gains [antenna, time, freq, feed], of amplitudes and of phases."""
    found = []
    wanted = np.moveaxis(truth, 0, 2)
    for quantity, of in (("amplitude", np.abs), ("phase", np.angle)):
        if quantity not in term.value:
            continue
        value, sigma = (x[quantity][:, :, :, 0] for x in (term.value, term.sigma))
        difference = value - of(wanted)
        if quantity == "phase":
            difference = np.angle(np.exp(1j * difference))
        there = np.broadcast_to(np.isfinite(sigma) & (sigma > 0), difference.shape)
        found.append(difference[there] / sigma[there])
        # What is held has no error and the value that it is held at.
        np.testing.assert_allclose(difference[~there], 0, atol=1e-12)
    return np.concatenate(found)


def assert_within_errors(*of_terms):
    """Mean square 1 +- 0.1 of several hundred pulls."""
    every = np.concatenate(of_terms)
    assert len(every) > 500
    assert np.mean(every**2) == pytest.approx(1, abs=0.1)
    assert np.abs(every).max() < 5


def check_report(report, normalised_terms):
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)
    assert report.normalised == normalised_terms


def check_bandpass_and_gain(report, found, b, g):
    """Solutions B and G are those that were planted, with mean amplitude 1 and mean phase 0 of B over channels."""
    check_report(report, ["B"])
    left, taken = normalised(b, axis=2)
    assert_within_errors(pulls(found["B"], left), pulls(found["G"], g * taken))
    amplitude, phase = (found["B"].value[q][0, :, :, 0] for q in ("amplitude", "phase"))
    np.testing.assert_allclose(amplitude.mean(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(mean_phase(amplitude * np.exp(1j * phase), 0), 0, atol=1e-9)


@pytest.mark.parametrize("order", ["BG", "GB"])
def test_bandpass_and_gain(solved, order):
    """What gave NaN for each solution, and exit status 0: the scale of each antenna goes to G."""
    rng = np.random.default_rng(1)
    b, g = gains(rng, 1, N_CHANNEL), gains(rng, N_TIME, 1)
    terms = {"B": "B: diag, 1chan", "G": "G: diag, 1slot"}
    report, found, out = solved([terms[name] for name in order], lambda a: diagonal((b * g)[a]))
    check_bandpass_and_gain(report, found, b, g)
    assert "mean amplitude" in found["B"].convention and not found["G"].convention
    with h5py.File(out) as file:
        tables = {table.attrs["term"].decode(): table for table in file["sol000"].values() if "term" in table.attrs}
        assert "mean amplitude" in tables["B"].attrs["convention"].decode()
        assert "convention" not in tables["G"].attrs
    assert calibration.read_h5parm(out)[0]["B"].convention == found["B"].convention


def test_bandpass_of_many_channels(solved):
    """Their numbers are too many for a matrix of all with all: with phases at each time 4096 channels took 166 s."""
    rng, n_time, n_channel = np.random.default_rng(4), 3, 300
    b, g = gains(rng, 1, n_channel), gains(rng, n_time, 1)
    terms = ["B: diag, 1chan", "G: diag, 1slot"]
    report, found, _ = solved(terms, lambda a: diagonal((b * g)[a]), slots=n_time, channels=n_channel, width_hz=1e5)
    check_bandpass_and_gain(report, found, b, g)


def test_a_signal_weaker_than_the_noise(solved):
    """The fit had converged, then been moved into the convention, and been called exhausted after that."""
    rng = np.random.default_rng(3)
    b, g = gains(rng, 1, N_CHANNEL), gains(rng, N_TIME, 1)
    weak = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (0.4, 0.0, 0.0, 0.0))])  # of visibilities with noise of 1 Jy
    report, _, _ = solved(["B: diag, 1chan", "G: diag, 1slot"], lambda a: diagonal((b * g)[a]), weak)
    assert report.converged == report.solves == 1 and not report.flagged and report.normalised == ["B"]


def test_delay_bandpass_and_gain(solved):
    """The slope goes to the delay, the scale to G; phases of the bandpass turn several times over the band."""
    rng = np.random.default_rng(2)
    b, g = gains(rng, 1, N_CHANNEL, phase=0.5), gains(rng, N_TIME, 1)
    delay_s = rng.uniform(-100e-9, 100e-9, (N_ANTENNA, 1, 1, 2))
    delay_s[0] = 0
    turned = np.exp(2j * np.pi * FREQUENCY_HZ[:, None] * delay_s)
    report, found, _ = solved(["K: delay", "B: diag, 1chan", "G: diag, 1slot"], lambda a: diagonal((turned * b * g)[a]))
    check_report(report, ["B"])
    amplitude, phase = (found["B"].value[q][0, :, :, 0] for q in ("amplitude", "phase"))
    phase = np.unwrap(phase, axis=0)
    np.testing.assert_allclose(amplitude.mean(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose((amplitude * phase).sum(axis=0), 0, atol=1e-8)
    offset_hz = (FREQUENCY_HZ - FREQUENCY_HZ.mean())[:, None, None]
    np.testing.assert_allclose((amplitude * phase * offset_hz / 1e6).sum(axis=0), 0, atol=1e-6)
    # In the same convention: weighted lines taken out of the phases that were planted.
    left, taken = normalised(b, axis=2)
    wanted_delay = delay_s.copy()
    for a, f in np.ndindex(N_ANTENNA, 2):
        weight = np.abs(left[a, 0, :, f])
        slope, constant = np.polyfit(FREQUENCY_HZ - 1.3e9, np.angle(left[a, 0, :, f]), 1, w=np.sqrt(weight))
        line = slope * (FREQUENCY_HZ - 1.3e9) + constant
        left[a, 0, :, f] *= np.exp(-1j * line)
        taken[a, 0, :, f] *= np.exp(1j * (constant - slope * 1.3e9))
        wanted_delay[a, 0, 0, f] += slope / (2 * np.pi)
    clock, sigma = (x["clock"][0, 0, 1:, 0] for x in (found["K"].value, found["K"].sigma))
    assert_within_errors(
        pulls(found["B"], left), pulls(found["G"], g * taken), ((clock - wanted_delay[1:, 0, 0]) / sigma).ravel()
    )


def test_amplitude_and_phase_determine_each_other(solved):
    rng = np.random.default_rng(3)
    amplitude, phase = np.abs(gains(rng, 1, N_CHANNEL)), np.angle(gains(rng, N_TIME, 1))
    report, found, _ = solved(
        ["P: phase, 1slot", "A: amplitude, 1chan"], lambda a: diagonal((amplitude * np.exp(1j * phase))[a])
    )
    check_report(report, [])
    assert not found["P"].convention
    assert np.mean(pulls(found["A"], amplitude) ** 2) == pytest.approx(1, abs=0.25)
    assert np.mean(pulls(found["P"], np.exp(1j * phase)) ** 2) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    ("inner", "of"),
    [
        ("A: amplitude, 1chan", np.abs),
        ("S: scalar, 1chan", lambda x: x[..., :1]),
        ("P: phase, 1chan", lambda x: x / np.abs(x)),
    ],
)
def test_part_of_a_diagonal_gain(solved, inner, of):
    """Amplitudes, one gain for both feeds, and phases of channels, with diagonal gains of slots."""
    rng = np.random.default_rng(4)
    b, g = of(gains(rng, 1, N_CHANNEL)).astype(complex), gains(rng, N_TIME, 1)
    report, found, _ = solved([inner, "G: diag, 1slot"], lambda a: diagonal((b * g)[a]))
    check_report(report, [inner[0]])
    if inner[0] == "P":
        taken = np.exp(1j * mean_phase(b, 2))
        left = b / taken
        values, sigma = (x["phase"][:, :, :, 0] for x in (found["P"].value, found["P"].sigma))
        own = (np.angle(np.exp(1j * (values - np.angle(np.moveaxis(left, 0, 2))))) / np.where(sigma > 0, sigma, 1))[
            sigma > 0
        ]
    else:
        left, taken = normalised(b, axis=2)
        own = pulls(found[inner[0]], left)
    # Errors of the normalisation are common to many pulls, whose mean square scatters by a tenth or two.
    assert np.mean(np.concatenate([own, pulls(found["G"], g * taken)]) ** 2) == pytest.approx(1, abs=0.3)


def test_a_gain_and_a_full_matrix(solved):
    """Rows of a constant matrix may go to the gains: its diagonal becomes 1."""
    rng = np.random.default_rng(5)
    g = gains(rng, N_TIME, 1)
    f = np.eye(2) + 0.1 * (rng.normal(size=(N_ANTENNA, 2, 2)) + 1j * rng.normal(size=(N_ANTENNA, 2, 2)))
    f[0] = np.eye(2)
    report, found, _ = solved(["G: diag, 1slot", "F: full"], lambda a: diagonal(g[a]) @ f[a], sky=POLARISED)
    check_report(report, ["F"])
    diag = np.diagonal(f, axis1=-2, axis2=-1)
    matrix = found["F"].gain()[0, 0, :, 0]
    np.testing.assert_allclose(matrix[:, [0, 1], [0, 1]], 1, atol=1e-9)
    # One phase of all antennas and elements is open: that of the reference's first element is held.
    assert np.abs(matrix - f / diag[..., None])[1:].max() < 0.02
    assert np.mean(pulls(found["G"], g * diag[:, None, None, :])[: N_ANTENNA * N_TIME * 2] ** 2) == pytest.approx(
        1, abs=0.3
    )


ONE_POLARISED = rt.sky.SkyModel(
    [
        rt.sky.Source("a", *CENTRE, (60.0, 4.0, 9.0, 0.0)),
        rt.sky.Source("b", CENTRE[0] + 0.01, CENTRE[1], (25.0, 0, 0, 0)),
    ]
)


@pytest.mark.parametrize("sky", [SKY, POLARISED, ONE_POLARISED], ids=["unpolarised", "polarised", "one source is"])
def test_gains_and_leakages_need_no_convention(solved, sky):
    rng = np.random.default_rng(6)
    g = gains(rng, N_TIME, 1)
    d = 0.05 * (rng.normal(size=(N_ANTENNA, 2)) + 1j * rng.normal(size=(N_ANTENNA, 2)))
    d[0] = 0
    matrix = np.eye(2) + d[:, :, None] * np.array([[0, 1], [1, 0]])
    report, found, _ = solved(["G: diag, 1slot", "D: leakage"], lambda a: diagonal(g[a]) @ matrix[a], sky=sky)
    check_report(report, [])
    own = pulls(found["G"], g)
    solved_d = found["D"].gain()[0, 0, :, 0]
    sigma = found["D"].sigma["amplitude"][0, 0, :, 0]
    off = np.stack([(solved_d - matrix)[1:, 0, 1], (solved_d - matrix)[1:, 1, 0]], axis=-1)
    of_leakage = np.abs(off) / np.sqrt(2) / sigma[1:, 1:3]
    mean_square = np.mean(np.concatenate([own, of_leakage.ravel()]) ** 2)
    assert mean_square == pytest.approx(1, abs=0.17)  # two standard deviations of that of so many numbers


def test_gains_and_directions(solved):
    """dE of ten slots and gains of channels: neither covers the other, and what the brightest direction has in common
    with the gains goes to these."""
    rng = np.random.default_rng(7)
    b = gains(rng, 1, N_CHANNEL)
    e = {name: gains(rng, N_TIME, 1, amplitude=0.1, phase=0.3) for name in ("middle", "side")}
    terms = ["G: diag, 1chan", "dE: diag, 5slots, per patch"]
    e = {name: np.repeat(of[:, ::5], 5, axis=1) for name, of in e.items()}
    report, found, _ = solved(terms, lambda a: diagonal(b[a]), of_patch=lambda a, patch: diagonal(e[patch][a]))
    check_report(report, ["dE"])
    amplitude = found["dE"].value["amplitude"]
    names = found["dE"].directions
    np.testing.assert_allclose(amplitude[:, 0, :, names.index("middle")].mean(axis=0), 1, rtol=1e-9)
    left, taken = normalised(e["middle"], axis=1)
    side = np.moveaxis(e["side"] / taken, 0, 2)
    gain = found["dE"].gain()[:, 0, :, :, [0, 1], [0, 1]]  # [feed, time, antenna, direction]
    for name, truth in (("middle", np.moveaxis(left, 0, 2)), ("side", side)):
        difference = np.moveaxis(gain[..., names.index(name)], 0, -1) - truth[::5, 0]
        sigma = found["dE"].sigma["amplitude"][:, 0, :, names.index(name)]
        there = sigma > 0
        assert np.abs(difference[there] / sigma[there]).max() < 7
    assert_gains = found["G"].gain()[0, :, :, 0][..., [0, 1], [0, 1]]
    np.testing.assert_allclose(assert_gains, np.moveaxis(b * taken, 0, 2)[0], atol=0.1)


def test_bandpass_gain_and_directions(solved):
    """Gains of directions have no part in what bandpass and gain exchange: rounding errors of none had been taken for
    one, and all solutions of both were flagged as ambiguous."""
    rng = np.random.default_rng(10)
    b, g = gains(rng, 1, N_CHANNEL), gains(rng, N_TIME, 1)
    e = {name: gains(rng, 1, 1, amplitude=0.1, phase=0.3) for name in ("middle", "side")}
    terms = ["B: diag, 1chan", "G: diag, 1slot", "dE: diag, per patch"]
    report, found, _ = solved(terms, lambda a: diagonal((b * g)[a]), of_patch=lambda a, patch: diagonal(e[patch][a]))
    check_report(report, ["B"])
    left, taken = normalised(b, axis=2)
    assert np.mean(pulls(found["B"], left) ** 2) == pytest.approx(1, abs=0.2)
    # Gains of an antenna have errors in common: those of its direction.
    assert np.mean(pulls(found["G"], g * e["middle"] * taken) ** 2) < 2.5
    side = found["dE"].gain()[0, 0, :, found["dE"].directions.index("side")][:, [0, 1], [0, 1]]
    np.testing.assert_allclose(side, (e["side"] / e["middle"])[:, 0, 0], atol=0.1)


def test_a_fit_that_creeps_is_not_taken_for_one_that_has_ended(solved):
    """Gains of channels and of directions in each slot: twenty damped steps bring next to nothing on the way."""
    rng = np.random.default_rng(8)
    b = gains(rng, 1, N_CHANNEL)
    e = {name: gains(rng, N_TIME, 1, amplitude=0.1, phase=0.3) for name in ("middle", "side")}
    terms = ["G: diag, 1chan", "dE: diag, 1slot, per patch"]
    report, found, _ = solved(terms, lambda a: diagonal(b[a]), of_patch=lambda a, patch: diagonal(e[patch][a]))
    assert report.noise_ratio == pytest.approx(1, abs=0.02)
    assert np.mean([found[name].flag.mean() for name in ("G", "dE")]) < 0.1


def test_what_is_open_because_data_are_missing_is_flagged(tmp_path, observe):
    """One baseline alone: neither a convention nor anything else tells two gains from one product."""
    path, out = str(tmp_path / "two.ms"), tmp_path / "two.h5"
    rt.ms.create(
        path,
        "kat-7",
        phase_centre_rad=CENTRE,
        duration_s=30.0,
        integration_s=10.0,
        bands=rt.ms.Band.regular(1.3e9, 8e6, 4),
    )
    pairs = rt.ms.baselines(path)
    flag = np.ones((21, 3, 4), bool)
    flag[pairs.index((0, 1))] = False
    observe(path, SKY, CENTRE, lambda *_: np.broadcast_to(np.eye(2), (3, 4, 2, 2)), noise_jy=1.0, flag=flag)
    report = calibration.calibrate(path, SKY, parse_terms(["B: diag, 1chan", "G: diag, 1slot"]), out)
    assert not report.usable
    assert set(report.flagged) <= {"without data", "undetermined", "ambiguous"}


@pytest.mark.parametrize(
    ("one", "other", "whether"),
    [
        ("G: diag, 1slot", "dE: diag, 10slots, per patch", True),
        ("G: diag, 10slots", "dE: diag, 1slot, per patch", False),
        ("G: diag, 10s, 2chan", "dE: scalar, 1min, 4chan, per patch", True),
        ("G: diag, 10s, 3chan", "dE: scalar, 1min, 4chan, per patch", False),
        ("G: scalar", "dE: diag, per patch", False),
        ("P: phase", "dE: diag, per patch", False),
        ("G: full, 1slot", "dE: phase, 1min, per patch", True),
    ],
)
def test_which_term_can_do_all_that_another_can(one, other, whether):
    assert covers(*parse_terms([one, other])) == whether


def test_a_phase_between_feeds_that_changes_in_time(solved):
    """On an unpolarised sky leakages, which stay, tell it, but for a constant that they can take up."""
    rng = np.random.default_rng(9)
    g, turn = gains(rng, 1, 1), np.cumsum(rng.uniform(-0.6, 0.6, N_TIME))
    d = np.broadcast_to(np.eye(2), (N_ANTENNA, 2, 2)) + 0j
    d[:, 0, 1], d[:, 1, 0] = 0.2 * (rng.normal(size=(2, N_ANTENNA)) + 1j * rng.normal(size=(2, N_ANTENNA)))
    x = diagonal(np.stack([np.ones(N_TIME), np.exp(1j * turn)], axis=-1))[:, None]
    terms = ["G: diag", "X: crosshand, 1slot", "D: leakage"]
    report, found, out = solved(terms, lambda antenna: diagonal(g[antenna]) @ x @ d[antenna])
    assert report.converged == 1 and report.usable and report.noise_ratio == pytest.approx(1, abs=0.02)
    phase = found["X"].value["phase"][:, 0, 0, 0, 1]
    error = np.unwrap(phase) - turn
    assert np.abs(error - error.mean()).max() < 0.02
    options = CalibrationOptions(overwrite=True)
    without = calibration.calibrate(report.path, SKY, parse_terms([terms[0], terms[2]]), out, options)
    assert without.noise_ratio > 3


@pytest.mark.parametrize(
    ("terms", "successive"),
    [
        (["T: full, per patch, 2chan", "R: rotation, 2chan"], False),
        (["T: full, per patch", "R: rotation"], False),
        (["T: full, 4slots", "S: scalar, 1slot", "K: delay"], True),
        (["T: full, per patch", "C: crosshand", "A: amplitude"], False),
    ],
)
def test_exact_data_of_terms_that_data_do_not_tell_apart(tmp_path, observe, terms, successive):
    """Elements that are 0 but for rounding take no part in what conventions move."""
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 24e6, 8)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=80, integration_s=10, bands=band)
    sky = rt.sky.SkyModel(
        [
            rt.sky.Source("a", *CENTRE, (60.0, 3.0, -2.0, 0.5), patch="A"),
            rt.sky.Source("b", CENTRE[0] + 0.005, CENTRE[1] + 0.003, (25.0, 0.0, 1.0, 0.0), patch="B"),
        ]
    )
    seen = observe(path, sky, CENTRE, lambda *_: np.eye(2))
    options = CalibrationOptions(overwrite=True, solver=SolverOptions(successive=successive))
    report = calibration.calibrate(path, sky, parse_terms(terms), tmp_path / "sol.h5", options)
    assert report.converged == report.solves
    assert sum(chunk.chi_square[-1] for chunk in report.chunks) < 1e-12 * (np.abs(seen) ** 2).sum()
    for term in report.solutions[0].terms:
        for value in term.value.values():
            assert np.isfinite(value[~term.flag.astype(bool)]).all()
    assert "without data" not in report.flagged


@pytest.mark.parametrize("size", [1.0, 1e-2])
def test_a_delay_beside_a_bandpass_of_a_narrow_band(solved, size):
    """8 MHz at 36 GHz, where a delay is all but a phase. Beside a weak antenna (`size`: its gains) delays were 0,
    and bandpasses had the slopes."""
    rng, frequency_hz = np.random.default_rng(1), np.array(rt.ms.Band.regular(36e9, 8e6, 16).frequency_hz)
    delay, phase = rng.uniform(-3e-9, 3e-9, 7), rng.uniform(-1, 1, (7, 6))
    delay[0], phase[0] = 0, 0

    def jones(antenna):
        turn = phase[antenna][:, None] + 2 * np.pi * frequency_hz * delay[antenna]
        return (size if antenna == 3 else 1.0) * np.exp(1j * turn)[..., None, None] * np.eye(2)

    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (10.0, 0, 0, 0))])
    data = {"middle_hz": 36e9, "width_hz": 0.5e6, "channels": 16, "slots": 6, "noise_jy": 0.01}
    report, solutions, _ = solved(["K: delay", "B: diag, 1chan", "G: diag, 1slot"], jones, sky, **data)
    assert report.normalised == ["B"] and not report.flagged
    found = solutions["K"]
    own = [1, 2, 4, 5, 6]
    pulls = (found.value["clock"] - delay[:, None, None])[0, 0, own] / (0.01 * found.sigma["clock"][0, 0, own])
    assert np.abs(pulls).max() < 4 and np.abs(found.sigma["clock"][0, 0, own]).max() < 1e-9
