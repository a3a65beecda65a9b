"""Parallactic angles: known terms of a chain, outside or inside of what is solved for."""

import dataclasses

import numpy as np
import pytest
from zenith_angle import zenith_angle

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.calibration.model.held import HeldChain, HeldTerm
from rimetree.calibration.solutions import parallactic
from rimetree.calibration.solutions.parallactic import parallactic_angle_rad, parallactic_solutions

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (20.0, 2.0, -3.0, 0.5))])


@pytest.mark.parametrize("radec_rad", [(0.93, -0.3), (0.93, 0.8), (2.0, -1.2)])
def test_the_angle_is_that_of_the_zenith(radec_rad):
    xyz = np.array([[5109270.0, 2006780.0, -3239050.0], [3826896.2, 460979.5, 5064658.2]])
    times = 5.2e9 + 3600.0 * np.arange(0, 24, 5)
    found = parallactic_angle_rad(radec_rad, xyz, times)
    expected = np.array([[zenith_angle(radec_rad, one, t) for one in xyz] for t in times])
    assert np.abs(np.exp(1j * found) - np.exp(1j * expected)).max() < 2e-3  # aberration, and UT1


def jones_of(angle_rad, feed):
    """[time, 1, 2, 2]"""
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    if feed == "linear":
        return np.moveaxis(np.array([[c, s], [-s, c]]), -1, 0)[:, None]
    zero = np.zeros_like(c)
    return np.moveaxis(np.array([[c - 1j * s, zero], [zero, c + 1j * s]]), -1, 0)[:, None]


@pytest.fixture
def observed(tmp_path, observe):
    """Six hours seen by feeds that turn, with gains and leakages; both kinds of feeds."""

    def make(feed):
        path = str(tmp_path / f"{feed}.ms")
        rt.ms.create(
            path,
            dataclasses.replace(rt.telescopes.get("kat-7"), feed=feed),
            phase_centre_rad=CENTRE,
            duration_s=21600.0,
            integration_s=1800.0,
            bands=[rt.ms.Band.regular(1.3e9, 4e6, 2)],
        )
        (group,) = rt.ms.groups(path)
        rng = np.random.default_rng(5)
        gain = rng.uniform(0.7, 1.4, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))
        leakage = 0.1 * (rng.normal(size=(7, 2)) + 1j * rng.normal(size=(7, 2)))

        def jones(antenna, patch, time_s, frequency_hz):
            if patch is not None:
                return np.eye(2)
            angle = parallactic_angle_rad(CENTRE, group.antenna_xyz_m[antenna][None], time_s)[:, 0]
            d = np.array([[1, leakage[antenna, 0]], [leakage[antenna, 1], 1]])
            return np.diag(gain[antenna]) @ d @ jones_of(angle, feed)

        observe(path, SKY, CENTRE, jones, noise_jy=0.02)
        return path

    return make


def corrected(path, solutions):
    (group,) = rt.ms.groups(path, by_window=True)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, solutions, subtract=SKY)
    rt.Forest(ns).run(path, **group.selection)
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=100)
    assert not tile["flag"].any()
    return tile["columns"]["CORRECTED_DATA"]


@pytest.mark.parametrize("feed", ["linear", "circular"])
@pytest.mark.parametrize("in_turn", [False, True])
def test_gains_and_leakages_of_feeds_that_turn(observed, tmp_path, feed, in_turn):
    path = observed(feed)
    terms = parse_terms(["G: diag", "D: leakage", "P: parallactic"])
    options = CalibrationOptions(in_turn=in_turn)
    report = calibration.calibrate(path, SKY, terms, tmp_path / "g.h5", options)
    (found,) = calibration.read_h5parm(tmp_path / "g.h5")
    assert report.converged == report.solves and report.usable
    assert [term.name for term in found.terms] == ["G", "D", "P"] and not found["P"].flag.any()
    assert found["P"].shape[0] == 12 and found["P"].kind == ("rotation" if feed == "linear" else "phase")
    if not in_turn:  # nothing but noise is left, of the fit and of what is written
        assert report.noise_ratio == pytest.approx(0.02, rel=0.1)
        assert corrected(path, found).std() < 0.05
    # In turn gains do not know of the leakages, which leaves some.
    without = calibration.calibrate(path, SKY, terms[:2], tmp_path / "n.h5", options)
    assert without.noise_ratio > 2 * report.noise_ratio


def test_where_it_may_stand(observed, tmp_path):
    path = observed("linear")
    with pytest.raises(CalibrationError, match="stands between terms that are solved for together"):
        calibration.plan_stages(path, parse_terms(["G: diag", "P: parallactic", "D: leakage"]), CalibrationOptions())
    with pytest.raises(CalibrationError, match="nothing to solve for"):
        calibration.plan_stages(path, parse_terms(["P: parallactic"]), CalibrationOptions())
    with pytest.raises(CalibrationError, match="parallactic has no options"):
        parse_terms(["P: parallactic, 1slot"])
    outside = parse_terms(["P: parallactic", "G: full"])
    (stage,) = calibration.plan_stages(path, outside, CalibrationOptions())
    assert stage.before == ("P",) and [term.name for term in stage.terms] == ["G"]
    report = calibration.calibrate(path, SKY, outside, tmp_path / "o.h5")
    assert [term.name for term in report.solutions[0].terms] == ["P", "G"]


def test_fields_have_their_own_angles(tmp_path):
    """Whatever field gains are taken from, angles are those of each field at its times."""
    path, centres = str(tmp_path / "a.ms"), [(0.93, -0.485), (1.4, -0.1)]
    scans = [rt.ms.Scan(centres[k], 60.0, f"F{k}") for k in (0, 1, 0)]
    rt.ms.create(path, "kat-7", scans=scans, integration_s=30.0)
    (term,) = parse_terms(["P: parallactic"])
    found = parallactic_solutions(path, term).of_fields([0])["P"]
    slots = rt.ms.slot_times(path)
    expected = []
    for group in rt.ms.groups(path):
        xyz = np.array([group.antenna_xyz_m[antenna] for antenna in group.antennas])
        times = np.array([time_s for _, field, time_s in slots if field == group.field_id])
        expected += list(zip(times, -parallactic_angle_rad(centres[group.field_id], xyz, times), strict=True))
    expected.sort(key=lambda pair: pair[0])
    np.testing.assert_allclose(found.time_s, [time_s for time_s, _ in expected])
    np.testing.assert_allclose(found.value["rotation"][:, 0, :, 0, 0], [angle for _, angle in expected], atol=1e-12)
    assert np.ptp(found.value["rotation"]) > 0.1


def test_angles_of_another_set_are_those_of_its_own_times_and_directions(observed, tmp_path):
    path, other = observed("linear"), str(tmp_path / "other.ms")
    calibration.calibrate(path, SKY, parse_terms(["G: diag", "D: leakage", "P: parallactic"]), tmp_path / "g.h5")
    sets = calibration.read_h5parm(tmp_path / "g.h5")
    rt.ms.create(
        other,
        "kat-7",
        phase_centre_rad=(1.4, -0.1),
        start="2025-02-03T18:00:00",
        duration_s=7200.0,
        integration_s=1800.0,
        bands=[rt.ms.Band.regular(1.3e9, 4e6, 2)],
    )
    (group,) = rt.ms.groups(other)
    expected = parallactic_solutions(other, parse_terms(["P: parallactic"])[0])["P"]
    held = HeldChain(group, [HeldTerm("P", diagonal=False, sets=sets)])
    for antenna in (0, 6):
        name = group.antenna_names[antenna]
        wanted = jones_of(-expected.value["rotation"][:, 0, antenna, 0, 0], "linear")
        chain = calibration.chain_for([sets], group).only(["P"])
        for jones in (chain.jones, held.jones):
            np.testing.assert_allclose(jones(name, expected.time_s, [1.3e9])[0], wanted, atol=1e-12)
    assert np.ptp(expected.value["rotation"]) > 0.1 and not calibration.time_warning(group, chain)
    ns = rt.NodeScope()
    for p, q in group.baselines:
        ns.sink(p, q) << rt.Sink(rt.Constant(np.eye(2)), station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(other)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, sets[0].only(["P"]))
    rt.Forest(ns).run(other)
    (tile,) = rt.ms.tiles(other, ["CORRECTED_DATA"], time_slots=100)
    angle = expected.value["rotation"][:, 0, :, 0, 0]  # one array, so that turns of two antennas nearly cancel
    turned = [np.cos(angle[:, q] - angle[:, p]) for p, q in group.baselines]
    np.testing.assert_allclose(tile["columns"]["CORRECTED_DATA"][:, :, 0, 0], turned, atol=1e-6)


def test_other_mounts(tmp_path):
    for mount, angle in (("EQUATORIAL", True), ("X-Y", False)):
        path = str(tmp_path / f"{mount}.ms")
        array = dataclasses.replace(rt.telescopes.get("kat-7"), mount=mount)
        rt.ms.create(path, array, phase_centre_rad=CENTRE, duration_s=60.0, integration_s=30.0)
        (term,) = parse_terms(["P: parallactic"])
        if angle:
            found = parallactic_solutions(path, term)
            assert (found["P"].value["rotation"] == 0).all()
        else:
            with pytest.raises(CalibrationError, match=r"ANT-0 .* has the mount 'X-Y'; .* known of ALT-AZ and EQUATOR"):
                parallactic_solutions(path, term)


def test_windows_may_differ_in_the_last_digits_of_a_time(tmp_path, monkeypatch):
    path = str(tmp_path / "a.ms")
    rt.ms.create(path, "kat-7", phase_centre_rad=(0.93, -0.485), duration_s=90.0, integration_s=30.0)
    (term,) = parse_terms(["P: parallactic"])
    expected = parallactic_solutions(path, term)["P"]
    slots = [
        (window, field, time_s + 2e-6 * window) for _, field, time_s in rt.ms.slot_times(path) for window in (0, 1)
    ]
    monkeypatch.setattr(parallactic, "slot_times", lambda *_: slots)
    found = parallactic_solutions(path, term)["P"]
    np.testing.assert_array_equal(found.time_s, expected.time_s)
    np.testing.assert_array_equal(found.value["rotation"], expected.value["rotation"])
    monkeypatch.setattr(parallactic, "slot_times", lambda *_: [(0, 0, 5e9), (0, 1, 5e9)])
    inspected = parallactic.inspect(path, scan_cells=False)
    inspected["fields"] = inspected["fields"] * 2
    monkeypatch.setattr(parallactic, "inspect", lambda *_, **__: inspected)
    with pytest.raises(CalibrationError, match="several fields at the same times"):
        parallactic_solutions(path, term)
