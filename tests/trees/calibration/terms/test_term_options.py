"""Options of terms and of what is made of solutions: shared, smooth, begun elsewhere, flagged; and kinds of terms."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_term, parse_terms
from rimetree.calibration.searches.smoothing import smoothed
from rimetree.calibration.solutions.outliers_of_solutions import without_outliers

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0))])
POLARISED = rt.sky.SkyModel(
    [rt.sky.Source("a", *CENTRE, (60.0, 10.0, -15.0, 3.0)), rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 9.0, 2.0))]
)


@pytest.fixture
def kat7(tmp_path):
    """7 antennas, 6 times of 10 s, 16 channels of 1 MHz."""
    path = str(tmp_path / "a.ms")
    bands = rt.ms.Band.regular(1.0e9, 16e6, 16)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=10.0, bands=bands)
    return path


def solve(path, terms, out, sky=SKY, **options):
    report = calibration.calibrate(path, sky, parse_terms(terms), out, CalibrationOptions(overwrite=True, **options))
    (found,) = calibration.read_h5parm(out)
    return report, found


def test_antennas_that_share_a_solution(kat7, observe, tmp_path):
    """ANT-0 to ANT-2 have one gain; noise is less on it than on those of each by itself."""
    rng = np.random.default_rng(2)
    gain = rng.uniform(0.7, 1.4, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))
    gain[:3] = gain[0]
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: np.diag(gain[a]), noise_jy=5.0)
    text = "G: diag, common ANT-[0-2]"
    errors = {"solver": calibration.SolverOptions(errors_from_residuals=True)}
    report, found = solve(kat7, [text], tmp_path / "g.h5", reference="ANT-6", **errors)
    value, sigma = (
        np.array([x[q][0, 0, :, 0] for q in ("amplitude", "phase")]) for x in (found["G"].value, found["G"].sigma)
    )
    assert report.converged == 1 and (value[:, :3] == value[:, :1]).all() and (sigma[:, :3] == sigma[:, :1]).all()
    turned = gain * np.exp(-1j * np.angle(gain[6]))
    pull = np.abs(value[0] * np.exp(1j * value[1]) - turned) / sigma[0]
    assert np.sqrt((pull[:6] ** 2).mean() / 2) == pytest.approx(1.2, abs=0.5)  # the phase's error has the reference's
    assert report.noise_ratio == pytest.approx(5, rel=0.05)
    _, alone = solve(kat7, ["G: diag"], tmp_path / "h.h5", reference="ANT-6", **errors)
    assert (sigma[0, 0] < 0.75 * alone["G"].sigma["amplitude"][0, 0, 0, 0]).all()
    # The reference is one of those that share.
    _, inside = solve(kat7, [text], tmp_path / "i.h5", reference="ANT-1")
    assert (inside["G"].value["phase"][0, 0, :3] == 0).all() and not inside["G"].flag.any()
    with pytest.raises(CalibrationError, match="no antenna with data is named 'CS\\*'; there are ANT-0"):
        solve(kat7, ["G: diag, common CS*"], tmp_path / "n.h5")
    with pytest.warns(UserWarning, match="ANT-0, ANT-1: one antenna each"):
        solve(kat7, ["G: diag, common ANT-0 ANT-1 ANT-[2-4]"], tmp_path / "n.h5")


@pytest.mark.parametrize("kind", ["crosshand", "faraday"])
def test_kinds_on_a_polarised_sky(kat7, observe, tmp_path, kind):
    rotation_measure = np.array([0.0, 0.3, -0.5, 1.0, 0.2, -0.4, 0.7])

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None or kind == "crosshand":
            return np.diag([1, np.exp(0.8j)])
        angle = rotation_measure[antenna] * (299792458.0 / frequency_hz) ** 2
        matrices = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return np.broadcast_to(np.moveaxis(matrices, -1, 0), (len(time_s), len(frequency_hz), 2, 2))

    observe(kat7, POLARISED, CENTRE, jones, noise_jy=0.1)
    report, found = solve(kat7, [f"X: {kind}"], tmp_path / "x.h5", POLARISED)
    assert report.converged == 1
    term = found["X"]
    if kind == "crosshand":
        np.testing.assert_allclose(term.value["phase"][0, 0, :, 0, 1], 0.8, atol=1e-3)
        assert (term.value["phase"][..., 0] == 0).all() and not term.flag.any()
    else:
        pull = (term.value["rotationmeasure"][0, 0, :, 0, 0] - rotation_measure) / term.sigma["rotationmeasure"][
            0, 0, :, 0, 0
        ]
        assert np.abs(pull).max() < 5
    for group in rt.ms.groups(kat7, by_window=True):
        ns = rt.NodeScope()
        calibration.apply_tree(ns, group, found, subtract=POLARISED)
        rt.Forest(ns).run(kat7, **group.selection)
    (tile,) = rt.ms.tiles(kat7, ["CORRECTED_DATA"], time_slots=100)
    assert tile["columns"]["CORRECTED_DATA"].std() == pytest.approx(0.1 * 2**0.5, rel=0.05)


def test_a_term_of_which_nothing_is_found(kat7, observe, tmp_path):
    """Crossed hands are flagged: nothing tells a phase between the feeds, and nothing can be done with gains alone."""
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (30.0, 2.0, 3.0, 0.0))])
    flag = np.zeros((21, 6, 16, 2, 2), bool)
    flag[..., 0, 1] = flag[..., 1, 0] = True
    observe(kat7, sky, CENTRE, lambda a, p, t, f: np.eye(2), noise_jy=0.1, flag=flag)
    report, found = solve(kat7, ["G: scalar", "X: crosshand"], tmp_path / "x.h5", sky)
    assert report.useless == ["X"] and not report.usable and not found["G"].flag.any()
    assert report.flagged_fraction("X") == dict.fromkeys(found["X"].antennas, 1.0)
    # Elements that are what they are by definition are no solutions.
    assert not found["X"].flag[..., 0].any() and found["X"].flag[..., 1].all()


def test_begin_at_given_solutions(kat7, observe, tmp_path):
    """A fit that begins where another ended takes no further step, whatever the reference antenna."""
    rng = np.random.default_rng(2)
    gain = rng.uniform(0.7, 1.4, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))
    observe(kat7, SKY, CENTRE, lambda a, p, t, f: np.diag(gain[a]), noise_jy=5.0)
    first, found = solve(kat7, ["G: diag, 20s"], tmp_path / "g.h5", reference="ANT-6")
    again, same = solve(kat7, ["G: diag, 20s"], tmp_path / "h.h5", reference="ANT-2", start=[found])
    assert min(c.iterations for c in first.chunks[:1]) > max(c.iterations for c in again.chunks)
    assert again.chunks[0].chi_square[0] == pytest.approx(first.chunks[0].chi_square[-1], rel=1e-9)
    np.testing.assert_allclose(same["G"].value["amplitude"], found["G"].value["amplitude"], rtol=1e-6)
    phases, _ = solve(kat7, ["G: phase"], tmp_path / "p.h5", start=[found])
    assert phases.converged == 1


def test_least_fraction_of_data(kat7, observe, tmp_path):
    """ANT-3 has 1/8 of the data in the second half of the times."""
    flag = np.zeros((21, 6, 16), bool)
    of_antenna = [k for k, pair in enumerate(rt.ms.baselines(kat7)) if 3 in pair]
    flag[of_antenna, 3:, :14] = True
    observe(kat7, SKY, CENTRE, lambda *_: np.eye(2), noise_jy=0.1, flag=flag)
    for least, expected in ((0.0, False), (0.12, False), (0.13, True)):
        report, found = solve(kat7, ["G: diag, 30s"], tmp_path / "g.h5", min_fraction=least)
        flagged = found["G"].flag[..., 0]
        assert flagged[1, 0, 3, 0] == expected and flagged.sum() == int(expected), least
        assert report.flagged.get("without data", 0) == 4 * expected  # real and imaginary parts of two feeds


def term_of(values, sigma=0.1, kind="diag", frequency=None):
    """[freq] complex gains of one antenna with two equal feeds, at one time."""
    frequency = 1e9 + 1e6 * np.arange(len(values)) if frequency is None else frequency
    axes = {"time_s": np.array([5e9]), "time_width_s": np.array([60.0]), "frequency_hz": frequency}
    axes |= {"frequency_width_hz": np.full(len(values), 1e6), "antennas": ("CS1",), "directions": ("",)}
    found = calibration.TermSolutions.empty("G", kind, ("0", "1"), axes)
    for quantity, table in (("amplitude", np.abs(values)), ("phase", np.angle(values))):
        found.value[quantity][0, :, 0, 0] = table[:, None]
        found.sigma[quantity][0, :, 0, 0] = sigma
    found.flag[:] = False
    return found


def test_smooth_along_frequency():
    rng = np.random.default_rng(1)
    truth = 1.2 * np.exp(1j * np.linspace(-10, 10, 2000))  # through the turn of the phase
    noisy = truth + 0.1 * (rng.normal(size=2000) + 1j * rng.normal(size=2000))
    found = term_of(noisy)
    found.flag[0, 50] = True
    found.value["amplitude"][0, 50] = 1000.0
    new = smoothed(found, parse_term("G: diag, 1chan, smooth 1MHz CS*=10MHz"))
    gain = new.gain()[0, :, 0, 0, 0, 0]
    inside = np.delete(np.arange(20, 1980), 30)
    error = np.abs(gain - truth)[inside]
    # A Gaussian of sigma s channels averages 2 sqrt(pi) s of them.
    expected = 0.1 / np.sqrt(2 * np.sqrt(np.pi) * 10 / 2.3548)
    assert np.sqrt((error**2).mean() / 2) == pytest.approx(expected, rel=0.2)
    np.testing.assert_allclose(new.sigma["amplitude"][0, inside, 0, 0, 0], expected, rtol=0.1)
    assert np.isnan(gain[50]) and smoothed(found, parse_term("G: diag")) is found
    other = smoothed(found, parse_term("G: diag, 1chan, smooth 10MHz CS*=1kHz"))
    np.testing.assert_allclose(other.value["amplitude"], found.value["amplitude"])
    for wrong in ("smooth", "smooth 2", "smooth 2s", "smooth =2MHz", "smooth CS*=0MHz"):
        with pytest.raises(CalibrationError, match="smooth"):
            parse_term(f"G: diag, {wrong}")
    with pytest.raises(CalibrationError, match="several solutions along frequency"):
        parse_term("G: diag, 2min, smooth 2MHz")


def test_solutions_that_stand_out():
    rng = np.random.default_rng(1)
    values = np.exp(0.1 * rng.normal(size=100))
    values[7], values[30] = 10.0, 0.05
    found = term_of(values)
    found.flag[0, 60] = True
    new = without_outliers(found, 6.0)
    assert np.flatnonzero(new.flag[0, :, 0, 0, 0]).tolist() == [7, 30, 60]
    assert not without_outliers(term_of(np.ones(5)), 6.0).flag.any()
    every = term_of(values)
    every.flag[:] = True
    assert without_outliers(every, 6.0).flag.all()


def test_flagged_and_smooth_solutions_are_written(kat7, observe, tmp_path):
    def jones(antenna, patch, time_s, frequency_hz):
        size = np.ones(16)
        size[9] = 5.0 if antenna == 2 else 1.0
        return np.broadcast_to(size[:, None, None] * np.eye(2), (len(time_s), 16, 2, 2))

    observe(kat7, SKY, CENTRE, jones, noise_jy=0.5)
    _, found = solve(kat7, ["B: diag, 1chan, smooth 3MHz"], tmp_path / "b.h5", flag_solutions=8.0)
    term = found["B"]
    assert term.flag[0, 9, 2].all() and term.flag.sum() == 2
    good = ~term.flag
    assert np.abs(term.value["amplitude"][good] - 1).max() < 0.01 and term.text.endswith("smooth 3MHz")


def test_directions_without_signal_take_no_others_with_them(kat7, observe, tmp_path):
    """Of five patches one is not in the data, one is below the horizon, and one is too faint to be seen. Their gains
    follow the noise, slowly; the others are right, and good."""

    def patch(name, ra, dec, flux_jy):
        return rt.sky.Source(name, ra, dec, (flux_jy, 0.0, 0.0, 0.0), patch=name)

    there = [patch("a", *CENTRE, 60.0), patch("b", 0.937, -0.482, 30.0), patch("faint", 0.926, -0.489, 0.01)]
    absent = [patch("gone", 0.934, -0.49, 5.0), patch("under", CENTRE[0] + 2.6, 0.3, 5.0)]
    rng = np.random.default_rng(6)
    phase = {name: rng.uniform(-1, 1, (7, 2)) for name in ("a", "b", "faint")}

    def jones(antenna, patch, time_s, frequency_hz):
        return np.eye(2) if patch is None else np.diag(np.exp(1j * phase[patch][antenna]))

    observe(kat7, rt.sky.SkyModel(there), CENTRE, jones, noise_jy=1.0)
    sky, solver = rt.sky.SkyModel(there + absent), calibration.SolverOptions(iterations=400)
    report, found = solve(kat7, ["dE: diag, per patch"], tmp_path / "g.h5", sky, reference="ANT-6", solver=solver)
    assert report.converged == report.solves == 1 and report.noise_ratio == pytest.approx(1, abs=0.05)
    table = found["dE"]
    for name in ("a", "b"):
        at = table.directions.index(name)
        assert not table.flag[..., at, :].any() and f"dE, {name}" not in report.flagged_of
        error = np.angle(np.exp(1j * (table.value["phase"][0, 0, :, at] - (phase[name] - phase[name][6]))))
        sigma = table.sigma["phase"][0, 0, :, at]
        assert np.abs(error / np.where(sigma > 0, sigma, 1)).max() < 5
    assert table.flag[..., [table.directions.index(one) for one in ("gone", "under")], :].all()
    assert all(set(report.flagged_of[f"dE, {one}"]) == {"without signal"} for one in ("gone", "under"))
