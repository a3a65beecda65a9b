"""Spectral windows that are solved together: one delay for all of them, where a window alone tells little of it."""

import dataclasses

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.calibration.terms.grid import channels_of_windows
from rimetree.calibration.terms.terms import Interval

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (20.0, 0.0, 0.0, 0.0))])
BANDS = [rt.ms.Band.regular(1.50e9, -32e6, 4, "high"), rt.ms.Band.regular(1.30e9, 32e6, 4, "low")]
DELAY_S = 30e-9 * np.array([0.0, 0.9, -0.7, 0.3, -0.2, 0.5, -0.95])


@pytest.fixture
def kat7(tmp_path):
    path = str(tmp_path / "a.ms")
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=10.0, bands=BANDS)
    return path


def solve(path, terms, tmp_path, **options):
    options = CalibrationOptions(overwrite=True, reference="ANT-0", **options)
    report = calibration.calibrate(path, SKY, parse_terms(terms), tmp_path / "sol.h5", options)
    return report, calibration.read_h5parm(tmp_path / "sol.h5")


def delays(antenna, patch, time_s, frequency_hz):
    turned = np.exp(2j * np.pi * np.asarray(frequency_hz) * DELAY_S[antenna])
    return np.broadcast_to(turned[None, :, None, None] * np.eye(2), (len(time_s), len(frequency_hz), 2, 2))


def test_a_delay_of_all_windows(kat7, observe, tmp_path):
    """The error is that of the whole span of 200 MHz, not of a window of 32 MHz, and the turn is the right one."""
    for window in (0, 1):
        observe(kat7, SKY, CENTRE, delays, noise_jy=1.0, data_desc_id=window, seed=window)
    report, (found,) = solve(kat7, ["K: delay, scalar, all windows", "P: phase, scalar, all windows"], tmp_path)
    assert [chunk.data_desc_ids for chunk in report.chunks] == [(0, 1)] and report.converged == report.solves == 1
    term = found["K"]
    assert term.shape == (1, 1, 7, 1, 1) and term.frequency_width_hz[0] == pytest.approx(232e6)
    sigma, value = (table["clock"][0, 0, :, 0, 0] for table in (term.sigma, term.value))
    pull = (value - DELAY_S)[1:] / sigma[1:]
    assert np.abs(pull).max() < 4 and (pull**2).mean() < 3
    # Each window alone: the slope within 32 MHz, 10 times less well known.
    _, sets = solve(kat7, ["K: delay, scalar", "P: phase, scalar"], tmp_path)
    assert len(sets) == 2
    for alone in sets:
        assert (alone["K"].sigma["clock"][0, 0, 1:, 0, 0] > 5 * sigma[1:]).all()


def test_gains_of_each_window_beside_a_delay_of_all(kat7, observe, tmp_path):
    """Both windows are corrected with what was found, the gains being those of each."""
    rng = np.random.default_rng(5)
    amplitude = rng.uniform(0.5, 1.5, (7, 2))  # antenna, window

    def jones(antenna, patch, time_s, frequency_hz):
        window = 0 if np.min(frequency_hz) > 1.4e9 else 1
        return delays(antenna, patch, time_s, frequency_hz) * amplitude[antenna, window]

    for window in (0, 1):
        observe(kat7, SKY, CENTRE, jones, data_desc_id=window)
    _, (found,) = solve(kat7, ["K: delay, scalar, all windows", "A: amplitude, scalar, 2chan"], tmp_path)
    np.testing.assert_allclose(found["K"].value["clock"][0, 0, :, 0, 0], DELAY_S, atol=1e-13)
    term = found["A"]
    np.testing.assert_allclose(term.frequency_hz, [1.292e9, 1.308e9, 1.492e9, 1.508e9])
    expected = amplitude[:, [1, 1, 0, 0]].T
    np.testing.assert_allclose(term.value["amplitude"][0, :, :, 0, 0], expected, rtol=1e-5)
    for group in rt.ms.groups(kat7, by_window=True):
        ns = rt.NodeScope()
        calibration.apply_tree(ns, group, calibration.solutions_for([found], group), subtract=SKY)
        rt.Forest(ns).run(kat7, **group.selection)
    for tile in rt.ms.tiles(kat7, ["CORRECTED_DATA"], time_slots=100):
        assert np.abs(tile["columns"]["CORRECTED_DATA"]).max() < 2e-4 and not tile["flag"].any()


def test_together_is_as_alone_where_nothing_is_shared(kat7, observe, tmp_path):
    """Diagonal gains of each window beside a term of all windows that changes nothing: the same gains."""
    for window in (0, 1):
        observe(kat7, SKY, CENTRE, delays, noise_jy=1.0, data_desc_id=window, seed=window)
    _, alone = solve(kat7, ["G: diag, 1chan"], tmp_path)
    _, (found,) = solve(kat7, ["R: rotation, all windows", "G: diag, 1chan"], tmp_path)
    for k, one in enumerate(alone):
        at = slice(4, 8) if k == 0 else slice(0, 4)  # the first window is the higher one
        for quantity in ("amplitude", "phase"):
            difference = found["G"].value[quantity][:, at] - one["G"].value[quantity]
            assert np.abs(difference).max() < 0.2 * np.nanmax(one["G"].sigma[quantity])
        # So they are between channels of a window, and beyond its ends; files that say no windows have the nearest.
        centre_hz = one["G"].frequency_hz
        between_hz = np.concatenate(
            [[centre_hz[0] - 9e6], 0.5 * (centre_hz[1:] + centre_hz[:-1]), [centre_hz[-1] + 3e6]]
        )
        cells, gains = (one["G"].time_s, between_hz), found.only(["G"])
        own, together, nearest = (
            sols.jones("ANT-1", *cells, method=method)[0]
            for sols, method in ((one, "linear"), (gains, "linear"), (gains, "nearest"))
        )
        np.testing.assert_allclose(together, own, atol=0.02)
        assert np.abs(nearest - own).max() > 0.5
        unsaid = dataclasses.replace(gains, provenance={**gains.provenance, "windows_hz": ""})
        np.testing.assert_array_equal(unsaid.jones("ANT-1", *cells, method="linear")[0], nearest)


def test_a_window_that_is_flagged_does_not_spoil_the_other(kat7, observe, tmp_path):
    observe(kat7, SKY, CENTRE, delays, data_desc_id=0)
    observe(kat7, SKY, CENTRE, delays, data_desc_id=1, flag=np.ones((21, 6, 4), dtype=bool))
    _, (found,) = solve(kat7, ["K: delay, scalar, all windows", "G: phase, scalar"], tmp_path)
    assert not found["K"].flag.any()
    assert found["G"].flag[:, 0].all() and not found["G"].flag[:, 1].any()
    # With phases of its own window only the slope is left of a delay.
    np.testing.assert_allclose(found["K"].value["clock"][0, 0, :, 0, 0], DELAY_S, atol=1e-12)


def test_a_window_that_is_chosen_is_solved_alone(kat7, observe, tmp_path):
    for window in (0, 1):
        observe(kat7, SKY, CENTRE, delays, data_desc_id=window)
    report, (found,) = solve(kat7, ["K: delay, scalar, all windows"], tmp_path, data_desc_id=1)
    assert report.chunks[0].data_desc_ids == (1,)
    assert found["K"].frequency_hz[0] == pytest.approx(1.3e9)


def test_intervals_of_windows():
    low, high = (np.array([1.0, 2.0, 3.0]), np.ones(3)), (np.array([11.0, 10.0]), -np.ones(2))
    whole = channels_of_windows([low, high], None, together=True)
    assert whole.edges.tolist() == [0.5, 11.5]
    each = channels_of_windows([high, low], None, together=False)
    assert each.edges.tolist() == [0.5, 6.5, 11.5] and each.centre.tolist() == [2.0, 10.5]
    two = channels_of_windows([high, low], Interval(count=2), together=False)
    assert two.edges.tolist() == [0.5, 2.5, 6.5, 11.5] and two.width.tolist() == [2.0, 1.0, 2.0]
    with pytest.raises(CalibrationError, match="windows overlap"):
        channels_of_windows([low, (np.array([3.0, 4.0]), np.ones(2))], None, together=False)
    assert channels_of_windows([low, (np.array([3.0, 4.0]), np.ones(2))], None, together=True).width[0] == 4.0


def test_windows_that_overlap_share_all_terms(observe, tmp_path):
    """A term of each by itself is refused; the way out that the message names is one: intervals in MHz."""
    path = str(tmp_path / "b.ms")
    bands = [rt.ms.Band.regular(1.300e9, 32e6, 4, "coarse"), rt.ms.Band.regular(1.312e9, 32e6, 8, "fine")]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=10.0, bands=bands)
    amplitude = np.random.default_rng(6).uniform(0.5, 1.5, (7, 3))  # antenna, 16 MHz from 1284 MHz on

    def jones(antenna, patch, time_s, frequency_hz):
        gain = amplitude[antenna, ((frequency_hz - 1.284e9) // 16e6).astype(int)]
        return gain[:, None, None] * delays(antenna, patch, time_s, frequency_hz)

    for window in (0, 1):
        observe(path, SKY, CENTRE, jones, data_desc_id=window)
    message = (
        r'term "B: amplitude, 2chan": spectral windows overlap \(1284 to 1316 MHz and 1296 to 1328 MHz\).*Add "all'
    )
    with pytest.raises(CalibrationError, match=message):
        solve(path, ["K: delay, all windows", "B: amplitude, 2chan"], tmp_path)
    _, (found,) = solve(path, ["K: delay, all windows", "B: amplitude, 16MHz, all windows"], tmp_path)
    for feed in (0, 1):
        np.testing.assert_allclose(found["B"].value["amplitude"][0, :, :, 0, feed].T, amplitude, rtol=1e-6)
        np.testing.assert_allclose(found["K"].value["clock"][0, 0, :, 0, feed], DELAY_S, atol=1e-14)


def test_joined_windows_are_for_solving(kat7):
    ns = rt.NodeScope()
    ns.sink << rt.Sink(rt.Constant(np.eye(2)), station_1_index=0, station_2_index=1, output_column="DATA")
    with pytest.raises(rt.Error, match="joined for solving only"):
        rt.Forest(ns).run(kat7, join_windows=True)
