"""Solutions for simulations: of which times, frequencies and directions, and what a calibration finds of them."""

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import ITRS, EarthLocation, SkyCoord
from astropy.time import Time

import rimetree as rt
from rimetree import calibration
from rimetree.calibration.making import make_solutions
from rimetree.calibration.making.make_solutions import _unit_vectors
from rimetree.calibration.solutions.parallactic import parallactic_solutions

CENTRE = (0.5, -0.6)
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.5, -0.6, (5.0, 0.0, 0.0, 0.0), patch="near"),
        rt.sky.Source("b", 0.51, -0.59, (3.0, 0.0, 0.0, 0.0), patch="far"),
    ]
)


@pytest.fixture
def command():
    """Runs a command line, and returns what it says."""
    from click.testing import CliRunner

    from rimetree.cli import cli

    def run(*arguments, code=0):
        result = CliRunner().invoke(cli, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        return result.output

    return run


def make(path, *texts, sky=None, seed=0):
    return calibration.make_solutions(path, calibration.parse_made_terms(texts), sky, seed=seed)


@pytest.fixture
def kat7(tmp_path):
    """Four minutes, in two windows of 4 and 2 channels."""
    bands = [rt.ms.Band.regular(1.3e9, 4e6, 4), rt.ms.Band.regular(1.5e9, 2e6, 2)]
    rt.ms.create(tmp_path / "a.ms", "kat-7", phase_centre_rad=CENTRE, duration_s=240.0, integration_s=10.0, bands=bands)
    return tmp_path / "a.ms"


def test_what_is_the_same_in_windows_and_what_is_not(kat7):
    texts = ["G: diag, 1min, phase 1rad", "K: delay, spread 1ns", "B: scalar, 1chan, amplitude 10%", "P: parallactic"]
    first, second = make(kat7, *texts)
    assert [term.name for term in first.terms] == ["G", "K", "B", "P"]
    for name in ("G", "K"):
        for quantity, values in first[name].value.items():
            np.testing.assert_array_equal(values, second[name].value[quantity])
    assert first["G"].shape == (4, 1, 7, 1, 2)
    assert first["K"].shape == (1, 1, 7, 1, 2)
    assert (first["B"].shape[1], second["B"].shape[1]) == (4, 2)
    assert len(np.unique(np.concatenate([first["B"].value["amplitude"], second["B"].value["amplitude"]], axis=1))) == 42
    expected = parallactic_solutions(kat7, calibration.parse_term("P: parallactic"))
    np.testing.assert_array_equal(first["P"].value["rotation"], expected["P"].value["rotation"])
    assert [one.provenance["data_desc_ids"] for one in (first, second)] == ["0", "1"]


def test_values_of_a_term_depend_on_the_seed_and_its_name_alone(kat7):
    (alone, _), (after, _), (other, _) = (
        make(kat7, "G: diag, 1min, phase 1rad"),
        make(kat7, "K: delay, spread 1ns", "G: diag, 1min, phase 1rad"),
        make(kat7, "G: diag, 1min, phase 1rad", seed=-1),
    )
    np.testing.assert_array_equal(alone["G"].value["phase"], after["G"].value["phase"])
    assert not np.isclose(alone["G"].value["phase"], other["G"].value["phase"]).any()
    (named, _) = make(kat7, "H: diag, 1min, phase 1rad")
    assert not np.isclose(alone["G"].value["phase"], named["H"].value["phase"]).any()


def test_constant_values_are_so_in_all_fields(small_ms):
    path = small_ms(n_field=2, n_time=6)
    (solutions,) = make(path, "K: delay, spread 1ns", "G: diag, 20s, phase 1rad")
    assert solutions["K"].shape == (1, 1, 4, 1, 2)
    assert solutions["G"].field_ids is None
    assert solutions["G"].shape[0] == 3


def test_directions_are_those_of_the_sky(kat7):
    texts = ["S: delay, scalar, per source, spread 1ns", "T: tec, per patch far, spread 1TECU"]
    solutions, _ = make(kat7, *texts, sky=SKY)
    assert solutions["S"].directions == ("a", "b")
    assert solutions["T"].directions == ("far",)
    assert solutions.direction_radec_rad["b"] == pytest.approx((0.51, -0.59))
    with pytest.raises(calibration.CalibrationError, match="sky model"):
        make(kat7, texts[1])
    with pytest.raises(calibration.CalibrationError, match="no patch of the model is named nowhere"):
        make(kat7, "T: tec, per patch nowhere, spread 1TECU", sky=SKY)
    with pytest.raises(calibration.CalibrationError, match="no antenna with data is named 'm0"):
        make(kat7, "K: delay, spread 1ns, common m0*")


def test_lines_of_sight_are_where_astropy_has_them():
    time_s = 5.2e9 + np.array([0.0, 20000.0])
    ours = _unit_vectors(CENTRE, time_s)
    times = Time(time_s / 86400, format="mjd", scale="utc")
    theirs = SkyCoord(*CENTRE, unit="rad").transform_to(ITRS(obstime=times, location=EarthLocation(0, 0, 6.4e6 * u.m)))
    # Aberration (1e-4 rad) and UT1 - UTC are left out here.
    np.testing.assert_allclose(ours, np.moveaxis(theirs.cartesian.xyz.value, 0, -1), atol=2e-4)


def test_screens_are_seen_alike_where_lines_of_sight_are_near(kat7):
    text = "T: tec, 10s, per patch, spread 0.1TECU at 1km"
    (solutions, _) = make(kat7, text, sky=SKY)
    tec = solutions["T"].value["tec"][:, 0, :, :, 0]
    antennas, directions = tec - tec[:, :1], tec - tec[..., :1]
    # 200 m between antennas, 4 km between directions at 300 km, 1 km of wind from slot to slot.
    assert 1e-4 < np.abs(antennas[:, 1:]).std() < 0.05
    assert 0.1 < directions[..., 1].std() + np.abs(directions[..., 1]).mean() < 1
    assert 0.02 < np.diff(tec, axis=0).std() < 0.3
    (mean, _) = make(kat7, text + ", mean 10TECU", sky=SKY)
    slant = (mean["T"].value["tec"][:, 0, :, :, 0] - tec) / 10
    assert (slant > 1).all()
    assert (slant < 1.1).all()  # near the zenith


def test_a_screen_follows_the_field_that_is_observed(tmp_path):
    scans = [rt.ms.Scan(place, 300.0, name) for name, place in (("low", (0.5, 0.3)), ("high", CENTRE))] * 2
    rt.ms.create(tmp_path / "b.ms", "kat-7", scans=scans, integration_s=60.0, bands=rt.ms.Band.regular(1.3e9, 4e6, 1))
    (solutions,) = make(tmp_path / "b.ms", "T: tec, 1slot, spread 0TECU at 1km, mean 1TECU")
    slant = solutions["T"].value["tec"][:, 0, 0, 0, 0]
    of_field = np.array([field for _, field, _ in rt.ms.slot_times(tmp_path / "b.ms")])
    assert slant[of_field == 0].min() > slant[of_field == 1].max() + 0.05
    # Intervals that do not divide scans end with them, and are of their field.
    (solutions,) = make(tmp_path / "b.ms", "T: tec, 2min, spread 0TECU at 1km, mean 1TECU")
    term = solutions["T"]
    assert term.shape[0] == 12
    assert term.field_ids.tolist() == [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3
    of_field = term.value["tec"][:, 0, 0, 0, 0]
    assert of_field[term.field_ids == 0].min() > of_field[term.field_ids == 1].max() + 0.05


def test_what_was_made_is_what_a_calibration_finds(kat7, tmp_path, command):
    rt.sky.write(SKY, tmp_path / "sky.txt", "bbs")
    terms = [
        "--term", "G: diag, 2min, amplitude 10%, phase 60deg, over 20min", "--term", "K: delay, spread 5ns",
        "--term", "D: leakage, spread 3%", "--term", "T: phase, scalar, per patch, spread 20deg",
    ]  # fmt: skip
    said = command("make-solutions", kat7, "--out", tmp_path / "true.h5", "--sky", tmp_path / "sky.txt", *terms)
    assert "G: diag, 2min: 7 antennas, 2 times, 1 frequencies" in said
    assert "2 directions" in said
    true = calibration.read_solutions(tmp_path / "true.h5")
    assert "amplitude 10%" in true[0].provenance["drawn"]
    sky = ("--sky", tmp_path / "sky.txt")
    command("simulate", kat7, *sky, "--solutions", tmp_path / "true.h5", "--column", "DATA")
    solved = ["--term", "G: diag, 2min", "--term", "K: delay, all windows", "--term", "D: leakage, all windows"]
    solved += ["--term", "T: phase, scalar, per patch, all windows"]
    command("calibrate", kat7, *sky, *solved, "--out", tmp_path / "found.h5")
    found = calibration.read_solutions(tmp_path / "found.h5")
    names = list(true[0].antenna_xyz_m)
    for window, frequency_hz in enumerate((1.3e9, 1.5e9)):
        time_s = true[window]["G"].time_s
        for direction in ("near", "far"):
            seen = []
            for sets in (true, found):
                own = sets[min(window, len(sets) - 1)]
                jones, bad = own.jones_of(names, time_s, np.array([frequency_hz]), direction=direction)
                assert not bad.any()
                seen.append(np.einsum("tfpij,tfqkj->tfpqik", jones, jones.conj()))
            np.testing.assert_allclose(seen[1], seen[0], atol=2e-5)


def test_the_same_seed_is_the_same_screen_whatever_the_intervals(kat7):
    text = "T: tec, {}, per patch, spread 0.1TECU at 1km"
    (fine, _), (coarse, _) = (make(kat7, text.format(one), sky=SKY) for one in ("10s", "30s"))
    # The middle of 30 s is the middle of its second slot.
    np.testing.assert_allclose(coarse["T"].value["tec"], fine["T"].value["tec"][1::3], atol=1e-6)


def test_what_turns_linear_feeds_is_none_of_circular_ones(tmp_path):
    rt.ms.create(tmp_path / "c.ms", "vla-d", phase_centre_rad=(0.5, 0.6), duration_s=60.0, integration_s=30.0,
                 bands=rt.ms.Band.regular(1.4e9, 1e6, 1))  # fmt: skip
    for kind in ("rotation, spread 3deg", "faraday, spread 1rad/m2"):
        with pytest.raises(calibration.CalibrationError, match="circular"):
            make(tmp_path / "c.ms", f"R: {kind}")
    make(tmp_path / "c.ms", "P: parallactic", "X: crosshand, spread 10deg")


def test_what_is_below_the_horizon_is_warned_of(kat7):
    low = rt.sky.SkyModel([*SKY, rt.sky.Source("low", 0.5 + np.pi, 0.6, (1.0, 0.0, 0.0, 0.0), patch="low")])
    with pytest.warns(UserWarning, match="low goes down to -.* below the horizon"):
        make(kat7, "T: tec, per patch, spread 0.1TECU at 1km", sky=low)


def test_the_same_name_twice_and_no_term_are_refused(kat7):
    for texts, said in (((), "there is no term"), (("G: diag, phase 1rad", "G: scalar, phase 1rad"), "are named 'G'")):
        with pytest.raises(calibration.CalibrationError, match=said):
            calibration.make_solutions(kat7, [calibration.parse_made_term(one) for one in texts])


def test_directions_without_the_term_keep_the_unit_matrix(kat7, tmp_path, command):
    rt.sky.write(SKY, tmp_path / "sky.txt", "bbs")
    sky = ("--sky", tmp_path / "sky.txt")
    term = ("--term", "E: scalar, per patch far, mean 0.5")
    command("make-solutions", kat7, "--out", tmp_path / "e.h5", *sky, *term)
    (made, _) = calibration.read_solutions(tmp_path / "e.h5")
    assert set(made.direction_radec_rad) == {"near", "far"}
    assert made.provenance["uvw_family"] == rt.ms.inspect(kat7, scan_cells=False)["uvw"]["family"] != ""
    command("simulate", kat7, *sky, "--solutions", tmp_path / "e.h5", "--column", "SEEN")
    for name, patch in (("NEAR", "near"), ("FAR", "far")):
        command("simulate", kat7, *sky, "--patch", patch, "--column", name)
    for tile in rt.ms.tiles(kat7, ["SEEN", "NEAR", "FAR"], time_slots=100):
        seen, near, far = (tile["columns"][name] for name in ("SEEN", "NEAR", "FAR"))
        np.testing.assert_allclose(seen, near + 0.25 * far, atol=1e-5)


def test_phases_go_on_as_they_are_stored(kat7, tmp_path):
    """Between values that are drawn there are straight lines, whatever turns others beside them make."""
    texts = [
        "K: delay, scalar, 1min, spread 3ns",
        "G: scalar, 1min, amplitude 10%",
        "P: phase, scalar, 1min, spread 9rad",
    ]
    sets = make(kat7, *texts)
    calibration.write_h5parm(tmp_path / "d.h5", sets)
    solutions = calibration.read_solutions(tmp_path / "d.h5")[0]
    times = np.linspace(solutions["K"].time_s[0], solutions["K"].time_s[-1], 19)
    jones, _ = solutions.jones("ANT-2", times, np.array([1.3e9]), method="linear")
    value = {
        (name, quantity): np.interp(times, solutions["K"].time_s, solutions[name].value[quantity][:, 0, 2, 0, 0])
        for name, quantity in (("K", "clock"), ("G", "amplitude"), ("P", "phase"))
    }
    expected = value["G", "amplitude"] * np.exp(1j * (2 * np.pi * 1.3e9 * value["K", "clock"] + value["P", "phase"]))
    np.testing.assert_allclose(jones[:, 0, 0, 0], expected, atol=1e-9)


def test_phases_go_on_as_they_are_stored_along_frequency(kat7):
    (solutions, _) = make(kat7, "B: phase, scalar, 1chan, spread 9rad")
    term = solutions["B"]
    phase = term.value["phase"][0, :, 3, 0, 0]
    assert np.abs(np.diff(phase)).max() > np.pi
    frequencies = np.linspace(term.frequency_hz[0], term.frequency_hz[-1], 13)
    jones, _ = solutions.jones("ANT-3", term.time_s, frequencies, method="linear")
    expected = np.exp(1j * np.interp(frequencies, term.frequency_hz, phase))
    np.testing.assert_allclose(jones[0, :, 0, 0], expected, atol=1e-12)


def test_solutions_that_do_not_fit_into_memory_are_refused(kat7, monkeypatch):
    monkeypatch.setattr(make_solutions, "free_memory_bytes", lambda: 30_000)
    with pytest.raises(calibration.CalibrationError, match=r"24 times, 6 frequencies, 7 antennas .* give longer"):
        make(kat7, "G: diag, 1slot, 1chan, phase 1rad")
    make(kat7, "G: diag, 1min, phase 1rad")


def test_files_are_not_replaced_and_directions_need_a_sky(kat7, tmp_path, command):
    term = ("--term", "K: delay, spread 1ns")
    command("make-solutions", kat7, "--out", tmp_path / "a.h5", *term)
    assert "exists" in command("make-solutions", kat7, "--out", tmp_path / "a.h5", *term, code=1)
    command("make-solutions", kat7, "--out", tmp_path / "a.h5", *term, "--overwrite")
    of_patches = ("--term", "T: tec, per patch, spread 1TECU")
    assert "--sky" in command("make-solutions", kat7, "--out", tmp_path / "b.h5", *of_patches, code=2)
    assert "there is no option" in command(
        "make-solutions", kat7, "--out", tmp_path / "b.h5", "--term", "K: delay, spred 1ns", code=1
    )
    rt.sky.write(SKY, tmp_path / "sky.txt", "bbs")
    sky = ("--sky", tmp_path / "sky.txt", "--out", tmp_path / "sky.txt", "--overwrite")
    assert "is the sky model" in command("make-solutions", kat7, *sky, *of_patches, code=2)
