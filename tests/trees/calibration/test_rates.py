"""Planted rates, as of clocks that run apart, are found with the delays and phases beside them, and applied."""

import numpy as np
import pytest
from planted_chains import CENTRE, N_ANTENNA, POLARISED, SKY, diagonal

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms

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


def test_one_rate_for_all_windows_of_any_phase(observe, tmp_path):
    bands = [rt.ms.Band.regular(middle, 8e6, 4) for middle in (1.25e9, 1.3e9, 1.41e9)]
    path, planted = make(tmp_path, bands), Planted(intervals=1, interval_s=240.0)
    rng = np.random.default_rng(3)
    for window in range(3):
        planted.phase = rng.uniform(-3, 3, planted.phase.shape)
        observe(path, SKY, CENTRE, planted.jones, noise_jy=1.0, data_desc_id=window, seed=window)
    terms = ["K: delay, all windows", "R: rate, all windows", "G: diag"]
    report, sets = solve(path, terms, tmp_path)
    assert report.converged == report.solves == 1 and report.noise_ratio == pytest.approx(1, abs=0.03)
    reference = sets[0]["R"].antennas.index(report.chunks[0].reference)
    for name, quantity, truth in (("R", "rate", planted.rate), ("K", "clock", planted.delay)):
        error = sets[0][name].value[quantity][:, 0, :, 0] - relative(truth, reference)
        sigma = sets[0][name].sigma[quantity][:, 0, :, 0]
        assert np.abs(error).max() < 5 * sigma.max()


def test_rates_of_both_feeds_alike_beside_phases_of_each(observe, tmp_path):
    path, planted = make(tmp_path), Planted(feeds=1)
    planted.phase = np.random.default_rng(4).uniform(-3, 3, (N_ANTENNA, 2, 2))
    planted.amplitude = np.broadcast_to(planted.amplitude, planted.phase.shape)
    observe(path, SKY, CENTRE, planted.jones, noise_jy=1.0)
    terms = ["G: diag, 2min", "K: delay, scalar, 2min", "R: rate, scalar, 2min"]
    report, (found,) = solve(path, terms, tmp_path)
    assert report.converged == report.solves == 2 and report.noise_ratio == pytest.approx(1, abs=0.03)
    reference = found["R"].antennas.index(report.chunks[0].reference)
    error = found["R"].value["rate"][:, 0, :, 0] - relative(planted.rate, reference)
    assert np.abs(error).max() < 5 * found["R"].sigma["rate"].max()


def test_directions_inside_rates(observe, tmp_path):
    """Phases of a direction are searched for once rates of the whole sky are known."""
    path, planted = make(tmp_path), Planted()
    of_side = np.random.default_rng(6).uniform(-3, 3, (N_ANTENNA, 2))

    def jones(antenna, patch, time_s, frequency_hz):
        if patch == "side":
            at = (np.arange(len(time_s)) >= 12).astype(int)
            return diagonal(np.exp(1j * of_side[antenna][at])[:, None, None]) + np.zeros((1, len(frequency_hz), 1, 1))
        return planted.jones(antenna, patch, time_s, frequency_hz)

    observe(path, SKY, CENTRE, jones, noise_jy=1.0)
    terms = ["G: diag, 2min", "K: delay, 2min", "R: rate, 2min", "P: phase, scalar, 2min, per patch"]
    report, (found,) = solve(path, terms, tmp_path)
    assert report.converged == report.solves == 2 and report.noise_ratio == pytest.approx(1, abs=0.03)
    assert not report.chunks[0].absent
    reference = found["R"].antennas.index(report.chunks[0].reference)
    assert np.abs(found["R"].value["rate"][:, 0, :, 0] - relative(planted.rate, reference)).max() < 1e-13


def test_small_rates_of_directions(observe, tmp_path):
    path = make(tmp_path)
    rate = np.random.default_rng(7).uniform(-1e-12, 1e-12, (N_ANTENNA, 1))

    def jones(antenna, patch, time_s, frequency_hz):
        since = time_s - time_s.mean()
        turned = 2 * np.pi * frequency_hz[None, :, None] * rate[antenna] * since[:, None, None] * (patch == "side")
        return diagonal(np.exp(1j * turned))

    observe(path, SKY, CENTRE, jones, noise_jy=1.0)
    report, (found,) = solve(path, ["R: rate, scalar, per patch side"], tmp_path)
    assert report.converged == report.solves == 1 and report.noise_ratio == pytest.approx(1, abs=0.03)
    term = found["R"]
    reference = term.antennas.index(report.chunks[0].reference)
    error = term.value["rate"][0, 0, :, term.directions.index("side"), 0] - (rate - rate[reference])[:, 0]
    assert np.abs(error).max() < 5 * term.sigma["rate"].max()


def test_an_interval_of_one_slot_tells_no_rate(tmp_path):
    path = make(tmp_path)
    with pytest.raises(CalibrationError, match=r"R: rate, 1slot.*one time slot each"):
        solve(path, ["R: rate, 1slot"], tmp_path)


@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_rates_between_and_beyond_intervals(made_term, method):
    """Within an interval a rate is a delay that grows; between two it is the nearer one, or half of both their mean."""
    term = made_term("rate", quantities=("rate",), name="R")
    rate, middle = term.value["rate"][:, 0, 1, 0], term.time_s
    at = np.array([middle[0] - 70, middle[1] + 10, middle[1] + 30 + 1e-3, middle[3] + 100])
    found, bad = term.jones("A1", "", at, term.frequency_hz[:1], method)
    nearest = [0, 1, 2, 3]
    delay = rate[nearest] * (at - middle[nearest])[:, None]
    if method == "linear":
        part = (at[1:3] - middle[1])[:, None] / 60
        own = [rate[k] * (at[1:3] - middle[k])[:, None] for k in (1, 2)]
        delay[1:3] = 0.5 * ((1 - part) * own[0] + part * own[1])
    expected = np.exp(2j * np.pi * term.frequency_hz[0] * delay)
    assert not bad.any()
    np.testing.assert_allclose(found[:, 0, [0, 1], [0, 1]], expected, atol=1e-9)
    keys = term.cell_keys(at, term.frequency_hz, method)
    np.testing.assert_array_equal(keys[0], at)
