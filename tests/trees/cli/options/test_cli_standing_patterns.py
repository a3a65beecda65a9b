"""Commands that see a sky model through patterns of antennas that stand."""

import numpy as np
from beamfits import some_pattern, write_beamfits

import rimetree as rt


def read(path, column):
    """[baseline, slot, channel, correlation]"""
    (tile,) = rt.ms.tiles(path, [column], time_slots=100)
    return tile["columns"][column]


def standing_file(folder, name="standing.beamfits", frequency_hz=(1.3e9, 1.5e9), **how):
    azimuth, zenith_angle = np.radians(np.arange(0, 360, 5)), np.radians(np.arange(0, 91, 5))
    table = some_pattern(np.asarray(frequency_hz) / 1e9 * 150e6, azimuth, zenith_angle)
    return write_beamfits(folder / name, table, frequency_hz, azimuth, zenith_angle, **how)


def test_antennas_that_stand_have_the_pattern_of_a_file(command, kat7, sky_file, tmp_path):
    """The same as in Python, with the horizon in the middle of a compact array."""
    file = standing_file(tmp_path)
    beam = ("--sky", sky_file, "--beam", file)
    said = command("simulate", kat7, *beam, "--column", "DATA", "--no-smearing").output
    assert "Jy through the standing pattern standing.beamfits (" in said and "was not given" not in said
    (group,) = rt.ms.groups(kat7)
    site_m = np.mean([antenna["position_m"] for antenna in rt.ms.inspect(kat7)["antennas"]], axis=0)
    sky = rt.sky.read(sky_file).seen_through(rt.StandingPattern.read(file, site_m))
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, group.phase_centre_rad, group.baselines, smearing=False, column="PYTHON")
    rt.Forest(ns).run(kat7)
    found = read(kat7, "DATA")
    assert np.abs(found).max() > 0.1
    np.testing.assert_allclose(found, read(kat7, "PYTHON"), rtol=0, atol=1e-6)
    # That it stands at the zenith may be said, and nothing else.
    command("simulate", kat7, *beam, "--drift-scan", "0deg", "90deg", "--column", "OTHER", "--no-smearing")
    np.testing.assert_array_equal(read(kat7, "OTHER"), found)
    said = command("simulate", kat7, *beam, "--drift-scan", "0deg", "60deg", code=1).output
    assert "the pattern says itself how the antenna stands" in said
    said = command("simulate", kat7, *beam, "--pointing", "4h", "-30deg", code=1).output
    assert "an antenna that stands follows nothing on the sky" in said
    # Some antennas may have other beams.
    said = command("simulate", kat7, "--sky", sky_file, "--beam", f"ANT-[0-2]={file}", "--beam", "airy").output
    assert "beams: 3 x standing pattern standing.beamfits (" in said and "), 4 x airy beam of a dish of 12 m" in said
    sol = tmp_path / "sol.h5"
    command("calibrate", kat7, *beam, "--no-smearing", "--term", "G: diag", "--out", sol)
    gains = rt.calibration.read_h5parm(sol)[0].terms[0]
    assert np.nanmax(np.abs(gains.value["amplitude"] - 1)) < 1e-5


def test_standing_patterns_that_do_not_fit(command, kat7, sky_file, tmp_path):
    said = command("simulate", kat7, "--sky", sky_file, "--beam", standing_file(tmp_path, frequency_hz=(1e9, 1.1e9)))
    assert "was not given at" in said.output
    said = command("simulate", kat7, "--sky", sky_file, "--beam", "none.beamfits", code=2).output
    assert "no FITS file that can be read" in said
    file = standing_file(tmp_path, BTYPE="power")
    assert "expected efield" in command("simulate", kat7, "--sky", sky_file, "--beam", file, code=2).output
