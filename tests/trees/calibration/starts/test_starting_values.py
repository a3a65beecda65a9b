"""Phases, delays and TEC are found from anywhere, in data of any scale; outliers do no harm in weights of any scale."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms

CENTRE = (0.93, -0.485)
N_ANTENNA, N_CHANNEL = 7, 8
TEC_RAD_HZ = -8.44797245e9
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)
RATE = {
    "phase": np.ones_like,
    "clock": lambda nu: 2 * np.pi * nu,
    "tec": lambda nu: TEC_RAD_HZ / nu,
}


@pytest.fixture
def made(tmp_path):
    """made(slots, centre_hz, width_hz): a set of KAT-7 with slots of 10 s and 8 channels."""

    def make(slots, centre_hz=1.3e9, width_hz=2e6):
        path = str(tmp_path / "a.ms")
        band = rt.ms.Band.regular(centre_hz, N_CHANNEL * width_hz, N_CHANNEL)
        rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=10.0 * slots, integration_s=10.0, bands=band)
        return path

    return make


def solve(path, terms, tmp_path, sky=SKY, **solver):
    options = CalibrationOptions(overwrite=True, reference="ANT-0", solver=SolverOptions(**solver))
    report = calibration.calibrate(path, sky, parse_terms(terms), tmp_path / "sol.h5", options)
    return report, report.solutions[0]


@pytest.mark.parametrize(
    ("kind", "quantity", "most", "band"),
    [
        ("phase", "phase", np.pi, (1.3e9, 2e6)),
        ("phase, scalar", "phase", np.pi, (1.3e9, 2e6)),
        ("delay", "clock", 50e-9, (1.3e9, 2e6)),
        ("tec", "tec", 1.0, (120e6, 1e6)),
    ],
)
def test_from_anywhere_in_data_of_any_scale(made, observe, tmp_path, kind, quantity, most, band):
    """30 slots with phases of their own (delays up to 65 turns, TEC up to 11), in data 0.001 to 1000 times as large as
    the model, with noise of a hundredth of it: all at the planted values, within their errors, in few iterations."""
    n, rng = 30, np.random.default_rng(1)
    path = made(n, *band)
    (term,) = parse_terms([f"P: {kind}, 1slot"])
    planted = rng.uniform(-most, most, (N_ANTENNA, n, len(term.elements)))
    scale = 10.0 ** rng.uniform(-3, 3, n)

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        turned = np.exp(1j * planted[antenna][:, None, :] * RATE[quantity](frequency_hz)[None, :, None])
        return np.einsum("tcf,fg->tcfg", turned * np.sqrt(scale)[:, None, None] * np.ones(2), np.eye(2))

    observe(path, SKY, CENTRE, jones, noise_jy=scale[:, None, None, None])
    report, found = solve(path, [term.text], tmp_path, errors_from_residuals=True)
    assert report.converged == report.solves == n and not report.flagged
    assert np.median([chunk.iterations for chunk in report.chunks]) <= 10
    of_chunks = [np.median(some) for some in np.split(scale, len(report.chunks))]
    np.testing.assert_allclose([chunk.scale for chunk in report.chunks], of_chunks, rtol=0.05)
    value, sigma = found["P"].value[quantity], found["P"].sigma[quantity]
    wanted = np.moveaxis(planted - planted[:1], 0, 1)
    difference = value[:, 0, :, 0] - wanted
    if quantity == "phase":
        difference = np.angle(np.exp(1j * difference))
    good = sigma[:, 0, :, 0] > 0
    assert good[:, 1:].all()
    assert np.abs(difference[good] / sigma[:, 0, :, 0][good]).max() < 5


@pytest.mark.parametrize(("kind", "quantity"), [("delay", "clock"), ("phase", "phase")])
def test_tec_beside_terms_of_feeds(made, observe, tmp_path, kind, quantity):
    """A TEC of each slot, up to two from the reference, and delays or phases that differ between the feeds: all found,
    in data of any scale."""
    n, rng = 16, np.random.default_rng(12)
    path = made(n, 140e6, 4e6)
    tec = rng.uniform(-1, 1, (N_ANTENNA, n, 1))
    other = rng.uniform(-1, 1, (N_ANTENNA, n, 2)) * {"clock": 50e-9, "phase": np.pi}[quantity]
    scale = 10.0 ** rng.uniform(-3, 3, n)

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        rates = RATE["tec"](frequency_hz)[None, :, None], RATE[quantity](frequency_hz)[None, :, None]
        phase = tec[antenna][:, None] * rates[0] + other[antenna][:, None] * rates[1]
        return np.einsum("tcf,fg->tcfg", np.exp(1j * phase) * np.sqrt(scale)[:, None, None], np.eye(2))

    observe(path, SKY, CENTRE, jones, noise_jy=0.5 * scale[:, None, None, None])
    report, found = solve(path, ["T: tec, 1slot", f"P: {kind}, 1slot"], tmp_path, errors_from_residuals=True)
    assert report.converged == report.solves == n and not report.flagged
    found_tec = found["T"].value["tec"][:, 0, :, 0]
    assert np.abs(found_tec - np.moveaxis(tec - tec[:1], 0, 1)).max() < 0.02
    difference = found["P"].value[quantity][:, 0, :, 0] - np.moveaxis(other - other[:1], 0, 1)
    sigma = found["P"].sigma[quantity][:, 0, :, 0]
    difference = np.angle(np.exp(1j * difference)) if quantity == "phase" else difference
    assert np.abs(difference[:, 1:] / sigma[:, 1:]).max() < 6


def test_phases_of_three_directions_for_few_antennas(made, observe, tmp_path):
    """One direction after the other ends in a wrong place for more than half of such slots."""
    n, rng = 8, np.random.default_rng(6)
    path = made(n)
    sky = rt.sky.SkyModel([*SKY, rt.sky.Source("c", 0.926, -0.489, (35.0, 0.0, 0.0, 0.0), patch="other")])
    planted = {name: rng.uniform(-np.pi, np.pi, (N_ANTENNA, n, 2)) for name in sky.patches}

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is None:
            return np.eye(2)
        phasors = np.exp(1j * planted[patch][antenna])[:, None] * np.ones((1, N_CHANNEL, 1))
        return np.einsum("tcf,fg->tcfg", phasors, np.eye(2))

    observe(path, sky, CENTRE, jones, noise_jy=3.0)
    report, found = solve(path, ["P: phase, 1slot, per patch"], tmp_path, sky=sky, errors_from_residuals=True)
    assert report.converged == report.solves and not report.flagged
    for d, name in enumerate(found["P"].directions):
        value, sigma = (x["phase"][:, 0, :, d] for x in (found["P"].value, found["P"].sigma))
        wanted = np.moveaxis(planted[name] - planted[name][:1], 0, 1)
        difference = np.angle(np.exp(1j * (value - wanted)))[:, 1:]
        assert np.abs(difference / sigma[:, 1:]).max() < 6


@pytest.mark.parametrize("successive", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_phases_of_directions(made, observe, tmp_path, successive, scale):
    """Two directions with any phases, no gains besides, in raw data."""
    path, rng = made(3), np.random.default_rng(2)
    planted = {name: rng.uniform(-np.pi, np.pi, (N_ANTENNA, 2)) for name in ("middle", "side")}

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is None:
            return np.eye(2) * np.sqrt(scale)
        return np.diag(np.exp(1j * planted[patch][antenna])) * np.ones((3, N_CHANNEL, 1, 1))

    observe(path, SKY, CENTRE, jones, noise_jy=scale)
    report, found = solve(path, ["P: phase, per patch"], tmp_path, successive=successive)
    assert report.converged == report.solves == 1 and not report.flagged
    assert report.chunks[0].iterations <= 30
    assert report.scale == pytest.approx(scale, rel=0.01)
    for d, name in enumerate(found["P"].directions):
        value, sigma = (x["phase"][0, 0, :, d] for x in (found["P"].value, found["P"].sigma))
        difference = np.angle(np.exp(1j * (value - planted[name] + planted[name][:1])))[1:]
        assert np.abs(difference).max() < 0.1
        assert np.abs(difference / (sigma[1:] * scale)).max() < 5


def test_a_direction_without_signal_leaves_the_others_alone(made, observe, tmp_path):
    """A source in the model that the sky does not have, with gains of its own: fits end, and the other direction and
    the gains are as good as without it."""
    path, rng = made(4), np.random.default_rng(3)
    planted = rng.uniform(0.7, 1.3, (N_ANTENNA, 2)) * np.exp(1j * rng.uniform(-1, 1, (N_ANTENNA, 2)))
    sky = rt.sky.SkyModel([*SKY, rt.sky.Source("c", 0.94, -0.48, (5.0, 0.0, 0.0, 0.0), patch="nothing")])

    def jones(antenna, patch, time_s, frequency_hz):
        return np.diag(planted[antenna]) * np.ones((4, N_CHANNEL, 1, 1)) if patch == "side" else np.eye(2)

    observe(path, SKY, CENTRE, jones, noise_jy=1.0)
    # Before the end, values that had far to go are flagged, and not all that were solved with them.
    report, found = solve(path, ["dE: diag, per patch"], tmp_path, sky=sky)
    assert report.usable and found["dE"].flag[..., :2, :].mean() < 0.3
    report, found = solve(path, ["dE: diag, per patch"], tmp_path, sky=sky, iterations=500)
    assert report.converged == 1
    names = found["dE"].directions
    side = found["dE"].value["amplitude"][0, 0, :, names.index("side")]
    sigma = found["dE"].sigma["amplitude"][0, 0, :, names.index("side")]
    assert not found["dE"].flag[..., [names.index("middle"), names.index("side")], :].any()
    assert np.abs((side - np.abs(planted)) / sigma).max() < 5


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_outliers_whatever_the_unit_of_the_weights(made, observe, tmp_path, scale):
    """Weights of 1 where noise is 0.002, 2 or 2000 Jy, a twentieth of the data wild: the noise is found and gains are
    within errors that follow from it."""
    path, rng = made(6), np.random.default_rng(4)
    planted = rng.uniform(0.7, 1.3, (N_ANTENNA, 2)) * np.exp(1j * rng.uniform(-1, 1, (N_ANTENNA, 2)))
    planted[0] = np.abs(planted[0])
    wild = 1 + 5 * (rng.random((N_ANTENNA, 6, N_CHANNEL)) < 0.01)

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        return np.diag(planted[antenna] * np.sqrt(scale)) * wild[antenna][:, :, None, None]

    observe(path, SKY, CENTRE, jones, noise_jy=2.0 * scale)
    report, found = solve(path, ["G: diag"], tmp_path, robust_dof=3.0)
    assert report.converged == 1 and report.chunks[0].iterations <= 30
    # Student's t with 3 degrees of freedom is narrower than the Gaussian that fits the same middle.
    assert report.chunks[0].noise == pytest.approx(2 * scale, rel=0.3)
    for quantity, wanted in (("amplitude", np.abs(planted) * np.sqrt(scale)), ("phase", np.angle(planted))):
        value, sigma = (x[quantity][0, 0, :, 0] for x in (found["G"].value, found["G"].sigma))
        pull = ((value - wanted) / np.where(sigma > 0, sigma, 1))[sigma > 0]
        assert np.mean(pull**2) < 2 and np.abs(pull).max() < 5


@pytest.mark.parametrize("terms", [["K: delay, 1slot", "T: tec, 1slot"], ["T: tec, 1slot", "K: delay"]])
def test_delays_and_tec_together(tmp_path, observe, terms):
    """120 to 180 MHz: delays of each feed up to 60 ns and TEC up to 1.5, some to be found for each slot."""
    n, rng = 3, np.random.default_rng(4)
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(150e6, 60e6, 40)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=10.0 * n, integration_s=10.0, bands=band)
    delay, tec = rng.uniform(-60e-9, 60e-9, (N_ANTENNA, n, 2)), rng.uniform(-1.5, 1.5, (N_ANTENNA, n))
    if "K: delay" in terms:
        delay[:] = delay[:, :1]

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        phase = 2 * np.pi * delay[antenna][:, None] * frequency_hz[:, None]
        phase = phase + TEC_RAD_HZ * tec[antenna][:, None, None] / frequency_hz[:, None]
        return np.exp(1j * phase)[..., None] * np.eye(2)

    observe(path, SKY, CENTRE, jones, noise_jy=1.0)
    report, found = solve(path, terms, tmp_path)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1, rel=0.05)
    for name, planted in (("K", delay), ("T", tec[..., None])):
        (value,), (sigma,) = (table.values() for table in (found[name].value, found[name].sigma))
        planted = planted[:, : value.shape[0]] if name == "T" or value.shape[0] > 1 else planted[:, :1]
        error = value[:, 0, :, 0] - np.moveaxis(planted - planted[:1], 1, 0)
        assert np.abs(error / np.where(sigma[:, 0, :, 0] > 0, sigma[:, 0, :, 0], np.inf)).max() < 5
