"""Terms that are solved one after the other, on fields of their own, on top of others; and what they are used for."""

import warnings

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms

CAL, PHASE, TARGET = (0.93, -0.485), (0.97, -0.50), (0.99, -0.51)
N_ANTENNA = 7


def point(radec, flux_jy, name="a", **polarised):
    return rt.sky.SkyModel([rt.sky.Source(name, *radec, (flux_jy, *polarised.get("quv", (0.0, 0.0, 0.0))))])


@pytest.fixture
def three_fields(tmp_path):
    """CAL 80 s, PHASE 40 s, TARGET 60 s, PHASE 40 s; 10 s and 8 channels of 2 MHz at 1.3 GHz."""
    path = str(tmp_path / "a.ms")
    scans = [(CAL, 80.0, "CAL"), (PHASE, 40.0, "PHASE"), (TARGET, 60.0, "TARGET"), (PHASE, 40.0, "PHASE")]
    rt.ms.create(
        path,
        "kat-7",
        scans=[rt.ms.Scan(*one) for one in scans],
        integration_s=10.0,
        bands=rt.ms.Band.regular(1.3e9, 16e6, 8),
    )
    return path


class Planted:
    """K B G: delays, a bandpass, and gains that drift slowly in time."""

    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.delay_s = rng.uniform(-20e-9, 20e-9, (N_ANTENNA, 2))
        self.delay_s[0] = 0
        turn = rng.uniform(-0.1, 0.1, (N_ANTENNA, 8, 2))
        self.bandpass = rng.uniform(0.7, 1.4, (N_ANTENNA, 8, 2)) * np.exp(1j * turn)
        self.level = rng.uniform(0.6, 1.5, (N_ANTENNA, 2))
        self.rate = rng.uniform(-1e-3, 1e-3, (N_ANTENNA, 2))

    def __call__(self, antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.broadcast_to(np.eye(2), (len(time_s), len(frequency_hz), 2, 2))
        delay = np.exp(2j * np.pi * frequency_hz[:, None] * self.delay_s[antenna])
        phase = self.rate[antenna] * (time_s[:, None] - 5.2e9) % (2 * np.pi)
        gain = self.level[antenna] * np.exp(1j * phase)
        values = delay * self.bandpass[antenna] * gain[:, None]
        return np.einsum("tcf,fg->tcfg", values, np.eye(2))


def observe_fields(observe, path, jones, skies, noise_jy=0.0):
    """DATA of each field, FIELD_ID in the order of `skies` [(sky, centre)]."""
    return [
        observe(path, sky, centre, jones, noise_jy=noise_jy, field_id=k, seed=k)
        for k, (sky, centre) in enumerate(skies)
    ]


def corrected(path, field_id, column="CORRECTED_DATA"):
    (tile,) = rt.ms.tiles(path, [column], time_slots=1000, field_id=field_id)
    values = tile["columns"][column]
    return values.reshape(*values.shape[:3], 2, 2)


def apply(path, sets, fields=None, **options):
    for group in rt.ms.groups(path, field_id=fields, by_window=True):
        ns = rt.NodeScope()
        calibration.apply_tree(ns, group, calibration.solutions_for(sets, group), **options)
        rt.Forest(ns).run(path, **group.selection)


CHAIN = ["K: delay, on CAL", "B: diag, 1chan, on CAL", "G: diag, 50s, on CAL PHASE"]


def test_calibrator_to_target_with_its_flux_scale(three_fields, observe, tmp_path):
    """K and B from one calibrator, G from two, one of unknown flux; the target comes out as it is."""
    planted = Planted()
    planted.rate[:] = 0
    truth = point(PHASE, 3.7)
    seen = point(TARGET, 0.8, quv=(0.1, 0.05, 0.0))
    observe_fields(observe, three_fields, planted, [(point(CAL, 12.0), CAL), (truth, PHASE), (seen, TARGET)])
    target = observe(three_fields, seen, TARGET, lambda a, p, t, f: np.eye(2), field_id=2, column="TRUE")
    sky = {0: point(CAL, 12.0), 1: point(PHASE, 1.0)}
    out = tmp_path / "sol.h5"
    report = calibration.calibrate(
        three_fields, sky, parse_terms(CHAIN), out, CalibrationOptions(in_turn=True, field_id=[0, 1])
    )
    assert report.converged == report.solves
    assert [chunk.terms for chunk in report.chunks] == [["K"], ["B"], ["G"], ["G"], ["G"], ["G"]]
    (found,) = calibration.read_h5parm(out)
    assert [term.name for term in found.terms] == ["K", "B", "G"]
    np.testing.assert_array_equal(found["G"].field_ids, [0, 0, 1, 1])
    # What of the phases of the bandpass is a slope belongs to the delay; the reference antenna has none.
    delay = found["K"].value["clock"][0, 0, :, 0]
    reference = found["K"].antennas.index(report.chunks[0].reference)
    assert np.abs(delay - planted.delay_s + planted.delay_s[reference]).max() < 5e-9
    frequency = 1.3e9 + 2e6 * (np.arange(8) - 3.5)
    relative = delay[:, None] - planted.delay_s[:, None]
    product = found["B"].gain()[0, :, :, 0].diagonal(axis1=-2, axis2=-1)  # [channel, antenna, feed]
    expected = planted.bandpass.transpose(1, 0, 2) * np.exp(
        -2j * np.pi * np.moveaxis(relative, 1, 0) * frequency[:, None, None]
    )
    ratio = product / expected
    ratio = ratio / ratio[:, :1]
    assert np.abs(ratio / ratio.mean(axis=0) - 1).max() < 1e-6  # one number for each antenna and feed is left open
    (scaled,), (ratio,) = calibration.transfer_flux_scale([found], 0)
    assert ratio.field_id == 1 and ratio.ratio == pytest.approx(3.7, rel=1e-6) and ratio.sigma < 1e-6
    apply(three_fields, [scaled.of_fields([1])], [2])
    found = corrected(three_fields, 2)
    np.testing.assert_allclose(found[..., (0, 1), (0, 1)], target[..., (0, 1), (0, 1)], atol=2e-5)
    np.testing.assert_allclose(np.abs(found), np.abs(target), atol=2e-5)  # unpolarised: no phase between the feeds


def test_what_is_held_is_what_a_file_holds(three_fields, observe, tmp_path):
    """In turn, and as two runs of which the second holds what the first found: the same solutions."""
    observe_fields(observe, three_fields, Planted(), [(point(CAL, 12.0), CAL)], noise_jy=0.1)
    sky, options = point(CAL, 12.0), {"field_id": 0}
    first, second, both = (tmp_path / f"{name}.h5" for name in "abc")
    terms = parse_terms(["B: diag, 1chan", "G: diag, 20s"])
    calibration.calibrate(three_fields, sky, terms, both, CalibrationOptions(in_turn=True, **options))
    calibration.calibrate(three_fields, sky, terms[:1], first, CalibrationOptions(**options))
    held = calibration.read_h5parm(first)
    calibration.calibrate(three_fields, sky, terms[1:], second, CalibrationOptions(held=held, **options))
    (one,), (other,) = map(calibration.read_h5parm, (both, second))
    for quantity in ("amplitude", "phase"):
        np.testing.assert_array_equal(one["G"].value[quantity], other["G"].value[quantity])
        np.testing.assert_array_equal(one["G"].sigma[quantity], other["G"].sigma[quantity])
    assert [term.name for term in other.terms] == ["G"]


def test_held_solutions_of_other_fields_do_not_count(three_fields, observe, tmp_path):
    """Linear interpolation of G between scans would mix in those of a field whose model has another flux."""
    planted = Planted()
    planted.rate[:] = 0
    observe_fields(observe, three_fields, planted, [(point(CAL, 12.0), CAL), (point(PHASE, 3.7), PHASE)])
    terms = parse_terms(["B: diag, 1chan, on CAL", "G: diag, 20s", "A: amplitude, 10s"])
    options = CalibrationOptions(in_turn=True, field_id=[0, 1], interpolation="linear")
    sky = {0: point(CAL, 12.0), 1: point(PHASE, 1.0)}
    calibration.calibrate(three_fields, sky, terms, tmp_path / "a.h5", options)
    (found,) = calibration.read_h5parm(tmp_path / "a.h5")
    np.testing.assert_allclose(found["A"].value["amplitude"], 1.0, atol=1e-5)
    for one in calibration.residuals(three_fields, sky, [[found]], options):
        assert one.of_correlations.left[0] < 1e-9


def test_leakages_inside_held_gains_within_their_errors(three_fields, observe, tmp_path):
    """Gains of 0.1 to 3 make the noise of corrected data unequal: weights must follow."""
    rng = np.random.default_rng(5)
    gain = rng.uniform(0.1, 3.0, (N_ANTENNA, 2)) * np.exp(1j * rng.uniform(-3, 3, (N_ANTENNA, 2)))
    gain[0] = np.abs(gain[0])
    leak = 0.1 * (rng.normal(size=(N_ANTENNA, 2)) + 1j * rng.normal(size=(N_ANTENNA, 2)))

    def jones(antenna, patch, time_s, frequency_hz):
        matrix = np.diag(gain[antenna]) @ np.array([[1, leak[antenna, 0]], [leak[antenna, 1], 1]])
        return np.broadcast_to(matrix if patch is None else np.eye(2), (len(time_s), len(frequency_hz), 2, 2))

    polarised = rt.sky.SkyModel(
        [
            rt.sky.Source("a", *CAL, (60.0, 10.0, -15.0, 3.0)),
            rt.sky.Source("b", CAL[0] + 0.005, CAL[1] + 0.003, (25.0, 0.0, 5.0, -4.0)),
        ]
    )
    observe(three_fields, polarised, CAL, jones, noise_jy=1.0, field_id=0)
    (group,) = rt.ms.groups(three_fields, field_id=0, by_window=True)
    names = tuple(group.antenna_names[a] for a in group.antennas)
    axes = {"time_s": np.array([5e9]), "time_width_s": np.array([1e9]), "frequency_hz": np.array([1.3e9])}
    axes |= {"frequency_width_hz": np.array([16e6]), "antennas": names, "directions": ("",)}
    term = calibration.TermSolutions.empty("G", "diag", ("0", "1"), axes)
    term.value["amplitude"][0, 0, :, 0], term.value["phase"][0, 0, :, 0] = np.abs(gain), np.angle(gain)
    term.flag[:] = False
    held = [calibration.Solutions((term,))]
    out = tmp_path / "d.h5"
    options = CalibrationOptions(held=held, field_id=0)
    report = calibration.calibrate(three_fields, polarised, parse_terms(["D: leakage"]), out, options)
    assert report.noise_ratio == pytest.approx(1, abs=0.03)  # weights follow the gains
    (found,) = calibration.read_h5parm(out)
    matrices = found["D"].gain()[0, 0, :, 0]
    pulls = []
    for k, element in ((1, (0, 1)), (2, (1, 0))):
        sigma = found["D"].sigma["amplitude"][0, 0, :, 0, k]
        pulls.append(np.abs(matrices[(slice(None), *element)] - leak[:, k - 1]) / np.where(sigma > 0, sigma, np.inf))
    pulls = np.array(pulls)
    assert np.sqrt((pulls**2).mean() / 2) < 1.6 and pulls.max() < 6 and pulls.max() > 0.1


def test_held_directions_and_pinned_ones(tmp_path, observe):
    """Of three patches one has a term to solve for, one a term that is held, one none."""
    path = str(tmp_path / "a.ms")
    bands = rt.ms.Band.regular(1.3e9, 16e6, 8)
    rt.ms.create(path, "kat-7", phase_centre_rad=CAL, duration_s=60.0, integration_s=10.0, bands=bands)
    places = {"mid": (0.93, -0.485), "east": (0.94, -0.482), "west": (0.92, -0.489)}
    sky = rt.sky.SkyModel([rt.sky.Source(n, *p, (20.0, 0.0, 0.0, 0.0), patch=n) for n, p in places.items()])
    rng = np.random.default_rng(3)
    gains = {
        name: rng.uniform(0.7, 1.3, N_ANTENNA) * np.exp(1j * rng.uniform(-1, 1, N_ANTENNA)) for name in ("east", "west")
    }

    def jones(antenna, patch, time_s, frequency_hz):
        value = gains[patch][antenna] if patch in gains else 1.0
        return np.broadcast_to(value * np.eye(2), (len(time_s), len(frequency_hz), 2, 2))

    observe(path, sky, CAL, jones)
    first, second = tmp_path / "east.h5", tmp_path / "west.h5"
    # The first knows of the west what is true, by a term beside; then it alone is asked for.
    terms = parse_terms(["E: scalar, per patch east", "W: scalar, per patch west"])
    report = calibration.calibrate(path, sky, terms, first, CalibrationOptions())
    (both,) = calibration.read_h5parm(first)
    assert report.converged == report.solves and both["E"].directions == ("east",)
    held = [both.only(["E"])]
    calibration.calibrate(path, sky, terms[1:], second, CalibrationOptions(held=held))
    (found,) = calibration.read_h5parm(second)
    for term, name in ((both["E"], "east"), (both["W"], "west"), (found["W"], "west")):
        own = term.gain()[0, 0, :, 0, 0, 0]
        turned = gains[name] * np.exp(-1j * np.angle(gains[name][0]) + 1j * np.angle(own[0]))
        # `mid` is as it is: even the phase of the others is told.
        assert np.abs(own - gains[name]).max() < 1e-5 or np.abs(own - turned).max() < 1e-5
    with pytest.raises(CalibrationError, match="no patch of the model is named north; there are mid, east, west"):
        calibration.calibrate(path, sky, parse_terms(["N: scalar, per patch north"]), tmp_path / "n.h5")


def test_a_run_in_turn_is_resumed(three_fields, observe, tmp_path):
    observe_fields(observe, three_fields, Planted(), [(point(CAL, 12.0), CAL)], noise_jy=0.1)
    terms = parse_terms(["B: diag, 1chan", "G: diag, 20s"])
    whole, out = tmp_path / "whole.h5", tmp_path / "sol.h5"
    options = {"in_turn": True, "field_id": 0}
    calibration.calibrate(three_fields, point(CAL, 12.0), terms, whole, CalibrationOptions(**options))

    def stop(report):
        if report.index == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibration.calibrate(three_fields, point(CAL, 12.0), terms, out, CalibrationOptions(**options), on_chunk=stop)
    with pytest.raises(CalibrationError, match="order of solving"):
        calibration.calibrate(three_fields, point(CAL, 12.0), terms, out, CalibrationOptions(resume=True, field_id=0))
    report = calibration.calibrate(
        three_fields, point(CAL, 12.0), terms, out, CalibrationOptions(resume=True, **options)
    )
    assert [chunk.resumed for chunk in report.chunks] == [True, True, True, False, False]
    (one,), (other,) = map(calibration.read_h5parm, (whole, out))
    np.testing.assert_array_equal(one["G"].value["phase"], other["G"].value["phase"])


def test_data_without_held_solution_tell_nothing(three_fields, observe, tmp_path):
    observe_fields(observe, three_fields, Planted(), [(point(CAL, 12.0), CAL)])
    out, again = tmp_path / "b.h5", tmp_path / "g.h5"
    sky = point(CAL, 12.0)
    calibration.calibrate(three_fields, sky, parse_terms(["B: diag, 1chan"]), out, CalibrationOptions(field_id=0))
    (held,) = calibration.read_h5parm(out)
    held["B"].flag[:, :, 3] = True
    options = CalibrationOptions(held=[held], field_id=0)
    report = calibration.calibrate(three_fields, sky, parse_terms(["G: diag"]), again, options)
    (found,) = calibration.read_h5parm(again)
    assert found["G"].flag[:, :, 3].all() and not np.delete(found["G"].flag, 3, axis=2).any()
    assert set(report.flagged) == {"without data"}


def test_a_term_without_solutions_ends_the_run(three_fields, observe, tmp_path):
    """What comes after it would be flagged as a whole."""
    flag = np.ones((21, 8, 8), bool)
    sky = point(CAL, 12.0)
    observe(three_fields, sky, CAL, lambda *_: np.eye(2), field_id=0, flag=flag)
    options = CalibrationOptions(in_turn=True, field_id=0)
    with pytest.raises(CalibrationError, match=r'all solutions of "B: diag, 1chan" are flagged .*of field 0'):
        calibration.calibrate(three_fields, sky, parse_terms(["B: diag, 1chan", "G: diag"]), tmp_path / "s.h5", options)


@pytest.mark.parametrize(
    ("terms", "options", "says"),
    [
        (["G: diag, on CAL"], {}, "only terms that are solved for in turn"),
        (["G: diag, on NONE"], {"in_turn": True}, "there is no field 'NONE'; there are 0 CAL, 1 PHASE, 2 TARGET"),
        (["G: diag, on TARGET"], {"in_turn": True, "field_id": [0, 1]}, "none of its fields"),
        (["G: diag"], {"in_turn": True, "field_id": 7}, "no FIELD_ID 7"),
    ],
)
def test_errors(three_fields, tmp_path, terms, options, says):
    with pytest.raises(rt.Error, match=says):
        calibration.plan_stages(three_fields, parse_terms(terms), CalibrationOptions(**options))


def test_fields_by_number_name_and_pattern():
    names = ["3C286", "3C48", "J0408"]
    for wanted, expected in ((["0"], [0]), (["3C*"], [0, 1]), (["!3C48"], [0, 2]), (["2", "3C48"], [1, 2])):
        assert calibration.field_numbers(names, wanted) == expected
    assert calibration.field_numbers(names, ["3C*", "!3C48"]) == [0]
    for wrong in (["4"], ["X*"], []):
        with pytest.raises(CalibrationError):
            calibration.field_numbers(names, wrong)


def test_a_number_that_is_the_name_of_another_field_is_told():
    with pytest.warns(UserWarning, match="field '1' is the name of field 2 here, and not number 1"):
        assert calibration.field_numbers(["3C286", "3C48", "1"], ["1"]) == [2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert calibration.field_numbers(["0", "1"], ["1"]) == [1]


def test_a_flux_scale_needs_a_term_on_both(three_fields, made_term):
    with pytest.raises(CalibrationError, match="no term of the whole sky has amplitudes both there"):
        calibration.transfer_flux_scale([calibration.Solutions((made_term(),))], 0)
