"""Commands that see a sky model through a primary beam."""

from dataclasses import replace

import numpy as np
import pytest
from beam_cubes import some_pattern, write_cubes
from command_scene import CENTRE
from direction_cosines import direction_cosines
from scipy.special import j1

import rimetree as rt

BEAM = "cosine: 57.5arcmin, 1.5GHz"


def read(path, column):
    """[baseline, slot, channel, correlation]"""
    (tile,) = rt.ms.tiles(path, [column], time_slots=100)
    return tile["columns"][column]


def apparent(sky_file, path):
    """The visibilities that NumPy expects, from `rt.predict` and the power in each direction and channel."""
    sky = rt.sky.read(sky_file)
    (group,) = rt.ms.groups(path)
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    l, m, n = direction_cosines(sky.radec_rad, group.phase_centre_rad)  # noqa: E741
    y = 1.1889647809329456 * np.hypot(l, m)[:, None] * tile["frequency_hz"] / (np.radians(57.5 / 60) * 1.5e9)
    power = (np.cos(np.pi * y) / (1 - 4 * y**2)) ** 2
    slope = np.where([[source.spectrum != ()] for source in sky], (tile["frequency_hz"] / 1.4e9) ** -0.7, 1.0)
    stokes = sky.stokes_jy[:, None, :] * (power * slope)[:, :, None]
    lmn = np.stack([l, m, n], axis=1)
    uvw = tile["uvw_m"].reshape(-1, 3)
    found = rt.predict(uvw, tile["frequency_hz"], lmn, stokes, gaussian=sky.shape_axes(group.phase_centre_rad))
    return found.reshape(*tile["uvw_m"].shape[:2], len(tile["frequency_hz"]), 4)


def test_simulate_sees_through_a_beam(command, kat7, sky_file):
    said = command("simulate", kat7, "--sky", sky_file, "--beam", BEAM, "--no-smearing").output
    assert "Jy through the cosine beam of 57.5 arcmin at 1500 MHz" in said
    expected = apparent(sky_file, kat7)
    assert np.abs(read(kat7, "MODEL_DATA") - expected).max() < 1e-6  # single precision on disk
    command("simulate", kat7, "--sky", sky_file, "--beam", BEAM, "--no-smearing", "--many-node", "--column", "OTHER")
    assert np.abs(read(kat7, "OTHER") - expected).max() < 1e-6
    command("simulate", kat7, "--sky", sky_file, "--no-smearing", "--column", "OTHER")
    assert np.abs(read(kat7, "OTHER") - expected).max() > 0.01


def test_dishes_are_those_of_the_set(command, kat7, sky_file):
    """KAT-7's have 12 m."""
    for column, beam in (("ONE", "airy"), ("TWO", "airy: 12m"), ("THREE", "AIRY:1200cm, 0m")):
        command("simulate", kat7, "--sky", sky_file, "--column", column, "--beam", beam)
    assert (read(kat7, "ONE") == read(kat7, "TWO")).all() and (read(kat7, "ONE") == read(kat7, "THREE")).all()
    for column, right_ascension in (("TWO", "03:32:30"), ("THREE", "03:33:00")):
        pointing = ("--pointing", right_ascension, "-27d48m")
        command("simulate", kat7, "--sky", sky_file, "--column", column, "--beam", "airy", *pointing)
    np.testing.assert_allclose(read(kat7, "TWO"), read(kat7, "ONE"), atol=1e-6)
    assert np.abs(read(kat7, "THREE") - read(kat7, "ONE")).max() > 0.01


def test_beams_of_telescopes(command, tmp_path, sky_file):
    for telescope, frequency, said in (
        ("vla-d", "1.4GHz", "through the beam of the dishes of vla"),
        ("atca-6a", "2.1GHz", "through the beam of the dishes of atca"),
        ("kat-7", "600MHz", "through the beam of the dishes of gmrt"),
        ("meerkat", "1.4GHz", "through the cosine beam of 57.5 arcmin at 1500 MHz"),
        ("alma", "100GHz", "through the airy beam of a dish of 10.7 m, 0.0701 of its diameter shadowed"),
    ):
        path, kind = tmp_path / f"{telescope}.ms", said.split()[-1] if "dishes" in said else telescope
        band = ("--freq", frequency, "--bandwidth", "10MHz", "--channels", "2")
        centre, times = ("--phase-centre", "3h32m30s", "-27d48m"), ("--duration", "10s", "--integration", "10s")
        command("make-ms", path, "--telescope", telescope, *centre, *times, *band)
        assert said in command("simulate", path, "--sky", sky_file, "--beam", kind).output
    path = tmp_path / "kat-7.ms"
    assert "ANT-0 has a diameter of 12 m" not in command("simulate", path, "--sky", sky_file, "--beam", "alma").output
    text = command("simulate", path, "--sky", sky_file, "--beam", "atca").output
    assert "warning: beam of the dishes of atca was not given at 597.5 to 602.5 MHz; beyond its first and last" in text
    refused = command("simulate", tmp_path / "vla-d.ms", "--sky", sky_file, "--beam", "alma", code=1).output
    assert "antenna vla-00 has a diameter of 25 m in the set; dishes of ALMA have 12 or 7 m" in refused
    assert (
        "expected vla, without more"
        in command("simulate", path, "--sky", sky_file, "--beam", "vla: 25m", code=2).output
    )


def test_calibration_uses_the_same_beam(command, kat7, sky_file, tmp_path):
    beam = ("--sky", sky_file, "--beam", BEAM)
    command("simulate", kat7, *beam, "--column", "DATA")
    sol = tmp_path / "sol.h5"
    command("calibrate", kat7, *beam, "--term", "G: diag, 2min", "--out", sol)
    gains = rt.calibration.read_h5parm(sol)[0].terms[0]
    assert np.nanmax(np.abs(gains.value["amplitude"] - 1)) < 1e-5
    command("apply", kat7, "--solutions", sol, "--subtract", *beam)
    assert np.abs(read(kat7, "CORRECTED_DATA")).max() < 1e-5
    # Without it gains take up what the beam lets not through.
    command("calibrate", kat7, *beam[:2], "--term", "G: diag, 2min", "--out", sol, "--overwrite")
    gains = rt.calibration.read_h5parm(sol)[0].terms[0]
    assert np.nanmax(np.abs(gains.value["amplitude"] - 1)) > 1e-3


def test_images_and_trees_are_compared_through_it(command, kat7, sky_file, tmp_path):
    beam = ("--sky", sky_file, "--beam", "gaussian: 20arcmin, 1.4GHz")
    command("simulate", kat7, *beam, "--column", "DATA")
    table = command("image", kat7, "--column", "DATA", *beam, "-o", tmp_path / "a.png").output
    seen_jy = [float(line.split()[1]) for line in table.splitlines() if line.startswith("b ")]
    (group,) = rt.ms.groups(kat7)
    widths = np.hypot(*direction_cosines(rt.sky.read(sky_file).radec_rad, group.phase_centre_rad)[:2, 1]) / np.radians(
        20 / 60
    )
    assert seen_jy == pytest.approx([2.0 ** (-4 * widths**2)], rel=5e-3)  # at a frequency near 1.4 GHz
    assert "DishBeam" in command("explain", kat7, *beam).output


@pytest.mark.parametrize(
    "options, message",
    [
        (["--beam", "top hat"], "there is no beam 'top hat'; there are airy, gaussian, cosine"),
        (["--beam", "beam__.fits"], "in single quotes, so that the shell leaves them"),  # what a shell makes of $(corr)
        (["--beam", "gaussian"], "expected gaussian: WIDTH, FREQUENCY"),
        (["--beam", "gaussian: 57.5, 1.5GHz"], "a unit is needed"),
        (["--beam", "airy: 12m, 13m"], "blockage is a part of the dish's diameter"),
        (["--beam", "airy: 1m, 2m, 3m"], "expected airy: DIAMETER"),
        (["--pointing", "3h32m30s", "-27d48m"], "--pointing goes with --beam"),
        (["--beam", "airy", "--phase-centre", "3h32m30s", "-27d48m"], "give --pointing as well"),
    ],
)
def test_what_is_no_beam_is_refused(command, kat7, sky_file, options, message):
    assert message in command("simulate", kat7, "--sky", sky_file, *options, code=2).output


@pytest.fixture
def mixed(tmp_path):
    """Six dishes of 12 m, and the third one of 7 m."""
    kat7 = rt.telescopes.get("kat-7")
    sizes = np.where(np.arange(len(kat7)) == 2, 7.0, kat7.dish_diameter_m)
    path = tmp_path / "mixed.ms"
    rt.ms.create(
        path, replace(kat7, dish_diameter_m=sizes), phase_centre_rad=CENTRE, duration_s=60.0, integration_s=60.0,
        bands=rt.ms.Band.regular(1.4e9, 4e6, 4),
    )  # fmt: skip
    return path


def through_dishes_that_differ(sky_file, path):
    """What NumPy and SciPy expect of `mixed`."""
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    sky = rt.sky.read(sky_file)
    l, m, n = direction_cosines(sky.radec_rad, CENTRE)  # noqa: E741
    sine, frequency_hz = np.hypot(l, m)[:, None], tile["frequency_hz"]
    voltage = {}
    for diameter_m in (12.0, 7.0):
        x = np.pi * diameter_m * sine * frequency_hz / 299792458.0
        voltage[diameter_m] = np.where(x == 0, 1, 2 * j1(x) / np.where(x == 0, 1, x))
    slope = np.where([[source.spectrum != ()] for source in sky], (frequency_hz / 1.4e9) ** -0.7, 1.0)
    expected = []
    for b, pair in enumerate(tile["baselines"]):
        p, q = (voltage[7.0 if antenna == 2 else 12.0] for antenna in pair)
        stokes = sky.stokes_jy[:, None, :] * (p * q * slope)[:, :, None]
        expected.append(
            rt.predict(
                tile["uvw_m"][b],
                frequency_hz,
                np.stack([l, m, n], axis=1),
                stokes,
                gaussian=sky.shape_axes(CENTRE),
            ).reshape(-1, len(frequency_hz), 4)
        )
    return np.array(expected)


def test_dishes_may_differ(command, mixed, sky_file):
    expected = through_dishes_that_differ(sky_file, mixed)
    small = ("--beam", "ANT-2=airy: 7m")
    for k, beams in enumerate(
        [("--beam", "airy"), (*small, "--beam", "airy: 12m"), ("--beam", "airy", *small),
         (*small, "--beam", "ANT-[013-6] = airy:1200cm"), ("--beam", "airy", "--many-node")]
    ):  # fmt: skip
        said = command("simulate", mixed, "--sky", sky_file, "--no-smearing", "--column", f"C{k}", *beams).output
        assert "through beams: 6 x airy beam of a dish of 12 m, 1 x airy beam of a dish of 7 m" in said
        assert np.abs(read(mixed, f"C{k}") - expected).max() < 1e-6


def test_calibration_and_images_through_dishes_that_differ(command, mixed, sky_file, tmp_path):
    beam = ("--sky", sky_file, "--beam", "airy")
    command("simulate", mixed, *beam, "--column", "DATA")
    sol = tmp_path / "sol.h5"
    command("calibrate", mixed, *beam, "--term", "G: diag", "--out", sol)
    gains = rt.calibration.read_h5parm(sol)[0].terms[0]
    assert np.nanmax(np.abs(gains.value["amplitude"] - 1)) < 1e-5
    assert "what is subtracted" not in command("apply", mixed, "--solutions", sol, "--subtract", *beam).stderr
    assert np.abs(read(mixed, "CORRECTED_DATA")).max() < 1e-5
    command("image", mixed, "--column", "DATA", *beam, "-o", tmp_path / "a.png")
    assert "DishBeam" in command("explain", mixed, *beam).output


@pytest.mark.parametrize(
    "options, code, message",
    [
        (["--beam", "ANT-2=airy: 7m"], 1, "no --beam is for antenna ANT-0, ANT-1, ANT-3"),
        (["--beam", "airy", "--beam", "airy: 7m"], 2, "say for which antennas each is"),
        (["--beam", "ANT-2=airy", "--beam", "*=airy: 7m"], 1, "two --beam are for antenna ANT-2"),
        (["--beam", "=airy"], 2, "expected antennas before ="),
        (["--beam", "CM*=airy", "--beam", "airy"], 1, "there is no antenna 'CM*'; there are ANT-0"),
    ],
)
def test_beams_of_antennas_that_are_refused(command, mixed, sky_file, options, code, message):
    assert message in command("simulate", mixed, "--sky", sky_file, *options, code=code).output


def test_models_that_are_subtracted_without_their_beam_are_warned_of(command, kat7, sky_file, tmp_path):
    """What was left of sources far from the middle had looked like sources."""
    beam, sol = ("--beam", "gaussian: 30arcmin, 1.4GHz"), tmp_path / "sol.h5"
    command("simulate", kat7, "--sky", sky_file, *beam, "--column", "DATA")
    command("calibrate", kat7, "--sky", sky_file, *beam, "--term", "G: diag", "--out", sol)
    subtract = ("apply", kat7, "--solutions", sol, "--sky", sky_file, "--subtract", "--dry-run")
    assert "what is subtracted" not in command(*subtract, *beam).stderr
    seen = "seen through the gaussian beam of 30 arcmin at 1400 MHz, smeared; what is subtracted is seen"
    assert f"{seen} without a primary beam, smeared" in command(*subtract).stderr
    elsewhere = command(*subtract, *beam, "--pointing", "3h33m", "-27d50m").stderr
    assert f"{seen} through the gaussian beam of 30 arcmin at 1400 MHz towards 53.25 -27.83" in elsewhere


def test_a_beam_needs_a_sky(command, kat7):
    said = command(
        "calibrate", kat7, "--model-column", "DATA", "--beam", "airy", "--term", "G: diag", "--out", "x.h5", code=2
    )
    assert "--beam goes with --sky" in said.output


def test_beams_of_data_that_are_moved_say_where_they_point(kat7, sky_file, tmp_path):
    """In Python, too: the moved phase centre had been taken for where the dishes point."""
    from rimetree import calibration

    beam, moved = rt.Beam("gaussian", 0.01, 1.4e9), (CENTRE[0] + 0.01, CENTRE[1])
    terms, out = calibration.parse_terms(["G: diag"]), tmp_path / "sol.h5"
    sky = rt.sky.read(sky_file)
    rt.Forest(tree_of(kat7, sky.seen_through(beam))).run(kat7)
    options = calibration.CalibrationOptions(selection=rt.ms.Selection(phase_centre_rad=moved))
    with pytest.raises(rt.Error, match="give the beams a pointing_rad"):
        calibration.calibrate(kat7, sky.seen_through(beam), terms, out, options)
    pointed = sky.seen_through(replace(beam, pointing_rad=CENTRE))
    report = calibration.calibrate(kat7, pointed, terms, out, options)
    assert np.nanmax(np.abs(report.solutions[0].terms[0].value["amplitude"] - 1)) < 1e-3
    (group,) = rt.ms.groups(kat7)
    with pytest.raises(rt.Error, match="give the beams a pointing_rad"):
        calibration.apply_tree(
            rt.NodeScope(),
            group,
            report.solutions[0],
            subtract=sky.seen_through(beam),
            phase_centre_rad=moved,
        )


def tree_of(path, sky):
    """The scope of a tree that writes a sky into DATA."""
    ns = rt.NodeScope()
    (group,) = rt.ms.groups(path)
    rt.psv_tree(ns, sky, group.phase_centre_rad, group.baselines, feed=group.feed, column="DATA")
    return ns


def test_a_run_with_another_beam_is_another_run(sky_file):
    """What a calibration that is resumed goes by."""
    from rimetree.calibration.model.models import PredictedSky

    sky = rt.sky.read(sky_file)
    beams = [None, rt.Beam("gaussian", 0.01, 1e9), rt.Beam("gaussian", 0.011, 1e9), rt.Beam.of_dish(12.0)]
    assert len({PredictedSky(sky.seen_through(beam)).fingerprint for beam in beams}) == len(beams)


def test_directions_count_by_what_is_seen_of_them(kat7, sky_file):
    from rimetree.calibration.model.models import PredictedSky

    (group,) = rt.ms.groups(kat7)
    sky = rt.sky.read(sky_file)
    seen = PredictedSky(sky.seen_through(rt.Beam("gaussian", np.radians(20 / 60), group.frequency_hz[0])))
    plain = PredictedSky(sky).fluxes_jy("source", group)
    l, m, _ = direction_cosines(sky.radec_rad, group.phase_centre_rad)  # noqa: E741
    for name, widths in zip(sky.names, np.hypot(l, m) / np.radians(20 / 60), strict=True):
        share = seen.fluxes_jy("source", group)[name] / plain[name]
        assert share == pytest.approx(2.0 ** (-4 * widths**2), rel=0.01)


def test_voltages_are_of_what_the_beam_lets_through(command, tmp_path, sky_file):
    options = ("--layout", "kat-7", "--phase-centre", "3h32m30s", "-27d48m", "--sky", sky_file, "--noise", "0")
    options = (*options, "--duration", "1ms", "--sample-rate", "1MHz", "--freq", "1.4GHz", "--format", "int8")
    options = (*options, "--start", "2025-01-01T19:48:00")
    scale = []
    for beam in ((), ("--beam", "airy: 60m")):
        said = command("make-voltages", tmp_path / f"v{len(beam)}.dat", *options, *beam).output
        scale.append(float(said.split("1 Jy is ")[1].split()[0]))
    assert scale[1] > 1.1 * scale[0]  # the same power of numbers for less flux


def test_patterns_from_files_turn_with_the_mounts(command, kat7, sky_file, tmp_path):
    """The same as in Python, at each time; through the solver as well."""
    grid, cube_hz = np.linspace(-0.05, 0.05, 41), np.linspace(1.3e9, 1.5e9, 3)
    files = write_cubes(tmp_path, some_pattern(cube_hz, grid, grid), cube_hz, grid, grid)
    beam = ("--sky", sky_file, "--beam", files)
    said = command("simulate", kat7, *beam, "--column", "DATA", "--no-smearing").output
    assert "Jy through the pattern beam_$(corr)_$(reim).fits" in said and "was not given" not in said
    (group,) = rt.ms.groups(kat7)
    antennas = rt.ms.inspect(kat7)["antennas"]
    site_m = np.mean([antenna["position_m"] for antenna in antennas], axis=0)
    sky = rt.sky.read(sky_file).seen_through(rt.BeamPattern.read(files, site_m=site_m))
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, group.phase_centre_rad, group.baselines, smearing=False, column="PYTHON")
    rt.Forest(ns).run(kat7)
    found = read(kat7, "DATA")
    np.testing.assert_allclose(found, read(kat7, "PYTHON"), rtol=0, atol=1e-6)
    command("simulate", kat7, *beam, "--column", "OTHER", "--no-smearing", "--many-node")
    np.testing.assert_allclose(read(kat7, "OTHER"), found, rtol=0, atol=1e-6)
    sol = tmp_path / "sol.h5"
    command("calibrate", kat7, *beam, "--no-smearing", "--term", "G: diag", "--out", sol)
    gains = rt.calibration.read_h5parm(sol)[0].terms[0]
    assert np.nanmax(np.abs(gains.value["amplitude"] - 1)) < 1e-5
    # The sky is polarised in other ways at each place and time, which leaves matrices nothing to choose.
    command("calibrate", kat7, *beam, "--no-smearing", "--term", "J: full", "--out", sol, "--overwrite")
    command("apply", kat7, "--solutions", sol, "--subtract", *beam, "--no-smearing")
    assert np.abs(read(kat7, "CORRECTED_DATA")).max() < 1e-4
    # By cubics.
    said = command("simulate", kat7, *beam[:-1], f"{files}, cubic", "--column", "OTHER", "--no-smearing").output
    assert ", cubic)" in said
    assert 0 < np.abs(read(kat7, "OTHER") - found).max() < 0.1
    said = command("simulate", kat7, *beam[:-1], f"{files}, square", code=2).output
    assert "the method of a pattern is linear or cubic" in said
    # Some antennas may have dishes.
    said = command("simulate", kat7, "--sky", sky_file, "--beam", f"ANT-[0-2]={files}", "--beam", "airy").output
    assert "beams: 3 x pattern beam_$(corr)_$(reim).fits (" in said and "), 4 x airy beam of a dish of 12 m" in said


def test_skies_are_polarised_by_patterns(kat7, tmp_path):
    """What a calibration leaves undetermined follows from the brightness as it is seen."""
    from rimetree.calibration.model.models import PredictedSky

    (group,) = rt.ms.groups(kat7)
    grid, cube_hz = np.linspace(-0.05, 0.05, 41), np.linspace(1.3e9, 1.5e9, 3)
    ra, dec = group.phase_centre_rad
    sky = rt.sky.SkyModel(
        [rt.sky.Source(name, ra + x, dec, (1.0, 0.0, 0.0, 0.0)) for name, x in (("a", 0), ("b", 0.01))]
    )
    plain = np.tile([1, 0, 0, 1], (3, 41, 41, 1)) * np.exp(-((grid / 0.05) ** 2))[:, None]
    files = write_cubes(tmp_path, plain, cube_hz, grid, grid)
    for site_m in (None, group.antenna_xyz_m[0]):
        seen = sky.seen_through(rt.BeamPattern.read(files, site_m=site_m))
        assert PredictedSky(seen).polarisation(group) == PredictedSky(sky).polarisation(group)
    assert PredictedSky(sky).polarisation(group).hands == "none"
    files = write_cubes(tmp_path, some_pattern(cube_hz, grid, grid), cube_hz, grid, grid, name="leaky")
    found = PredictedSky(sky.seen_through(rt.BeamPattern.read(files))).polarisation(group)
    assert found.hands == "crossed" and not found.uniform


def test_patterns_that_do_not_fit_the_data(command, kat7, sky_file, tmp_path):
    grid, cube_hz = np.linspace(-0.05, 0.05, 11), np.linspace(1.0e9, 1.1e9, 3)
    files = write_cubes(tmp_path, some_pattern(cube_hz, grid, grid), cube_hz, grid, grid)
    said = command("simulate", kat7, "--sky", sky_file, "--beam", files).output
    assert "was not given at" in said
    files = write_cubes(tmp_path, some_pattern(cube_hz, grid, grid), cube_hz, grid, grid, feed="circular", name="c")
    said = command("simulate", kat7, "--sky", sky_file, "--beam", files, code=1).output
    assert "has circular feeds, but the visibilities are of linear ones" in said
    path = tmp_path / "xy.ms"
    rt.ms.create(
        path, replace(rt.telescopes.get("kat-7"), mount="X-Y"), phase_centre_rad=CENTRE, duration_s=60.0,
        integration_s=60.0,
    )  # fmt: skip
    said = command("simulate", path, "--sky", sky_file, "--beam", files, code=1).output
    assert "antenna ANT-0 has the mount 'X-Y'; how a pattern turns on the sky is known of ALT-AZ and EQUATORIAL" in said
    said = command("simulate", kat7, "--sky", sky_file, "--beam", f"{tmp_path}/none_$(corr)_$(reim).fits", code=2)
    assert "there is no file" in said.output
