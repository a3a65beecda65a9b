"""Commands that see a sky model through the beams of aperture arrays, and through beams that stand."""

from dataclasses import replace

import numpy as np
import pytest
from beam_cubes import some_pattern, write_cubes
from command_scene import CENTRE

import rimetree as rt
from rimetree.cli.errors import Failed
from rimetree.cli.options.beam_kinds import Antenna
from rimetree.cli.options.beams import AskedBeams, BeamType, antennas_of


def read(path, column):
    """[baseline, slot, channel, correlation]"""
    (tile,) = rt.ms.tiles(path, [column], time_slots=100)
    return tile["columns"][column]


def test_aperture_arrays(command, kat7, sky_file, tmp_path):
    """Stations of a layout are as `rt.StationBeam` has them; of a compact array they have one horizon."""
    layout = tmp_path / "layout.txt"
    layout.write_text("0, 0\n0.1, -0.05\n")
    (group,) = rt.ms.groups(kat7)
    given = ("--sky", sky_file, "--no-smearing")
    said = command("simulate", kat7, *given, "--beam", f"station: {layout}, half-wave, 4cm").output
    assert "through the layout.txt of half-wave dipoles 0.04 m above the ground (" in said
    middle = np.mean(list(group.antenna_xyz_m.values()), axis=0)
    beams = rt.StationBeam.read(str(layout), middle, element="half-wave", height_m=0.04)
    ns, sky = rt.NodeScope(), rt.sky.read(sky_file).seen_through(beams)
    rt.psv_tree(ns, sky, group.phase_centre_rad, group.baselines, smearing=False, column="OTHER")
    rt.Forest(ns).run(kat7)
    np.testing.assert_allclose(read(kat7, "MODEL_DATA"), read(kat7, "OTHER"), atol=1e-6)


def test_tiles_of_the_mwa(command, sky_file, tmp_path):
    how = {"duration_s": 60.0, "integration_s": 60.0, "bands": rt.ms.Band.regular(1.5e8, 4e6, 2)}
    rt.ms.create(tmp_path / "low.ms", "kat-7", phase_centre_rad=CENTRE, **how)
    given = ("simulate", tmp_path / "low.ms", "--sky", sky_file, "--no-smearing", "--beam", "mwa")
    assert "through the MWA tile of short dipoles 0.278 m" in command(*given).output
    said = command(*given, "--pointing", "03h33m", "-27d30m").output
    assert "towards 53.25 -27.5 deg (16 elements, " in said


def test_aperture_arrays_that_do_not_fit(command, kat7, sky_file, tmp_path):
    layout, model = tmp_path / "layout.txt", tmp_path / "two.tm"
    layout.write_text("0 0\n")
    for k in range(2):
        (model / f"station{k}").mkdir(parents=True)
        (model / f"station{k}" / "layout.txt").write_text("0 0\n")
    for beam, said, code in (
        ("lofar", "does not say where the elements of its stations are: it has no sub-table LOFAR_ANTENNA_FIELD", 1),
        (f"station: {model}", "there are 2 stations in", 1),
        ("lofar: HBA", "expected lofar, without more", 2),
        ("station", "expected station: LAYOUT[, ELEMENT[, HEIGHT]]", 2),
        (f"station: {layout}, dipole", "isotropic, short or half-wave", 2),
        (f"station: {layout}, short, 1", "a unit is needed", 2),
        (f"station: {layout}, isotropic, 1m", "goes with dipoles", 2),
        (f"station: {tmp_path / 'none.txt'}", "no layout of a station that can be read", 2),
        (f"station: {kat7}", "there is no folder of a station with a layout.txt", 2),
    ):
        output = command("simulate", kat7, "--sky", sky_file, "--beam", beam, code=code).output
        assert said in " ".join(output.split()), output


def test_drift_scans(command, kat7, sky_file, tmp_path):
    """The same beam, while the sky drifts through it: near transit as one that follows; an hour of it later not."""
    (group,) = rt.ms.groups(kat7)
    ns = rt.NodeScope()
    ns.there << rt.azimuth_elevation(group.phase_centre_rad, np.mean(list(group.antenna_xyz_m.values()), axis=0))
    middle = rt.Cells(time_s=[group.some_times_s.mean()])
    azimuth, elevation = np.degrees(rt.Forest(ns).evaluate(ns.there, middle)[:, 0, 0])
    given = ("simulate", kat7, "--sky", sky_file, "--no-smearing", "--beam", "gaussian: 57.5arcmin, 1.5GHz")
    command(*given)
    said = command(*given, "--column", "OTHER", "--drift-scan", f"{azimuth}deg", f"{elevation}deg").output
    assert f"at azimuth {azimuth:.6g} and elevation {elevation:.6g} deg" in said
    follows, stands = read(kat7, "MODEL_DATA"), read(kat7, "OTHER")
    np.testing.assert_allclose(stands[:, 2], follows[:, 2], atol=1e-3 * np.abs(follows).max())
    assert np.abs(stands[:, 0] - follows[:, 0]).max() > 0.01 * np.abs(follows).max()
    command("simulate", kat7, "--sky", sky_file, "--drift-scan", "0deg", "90deg", code=2)
    both = ("--pointing", "03h33m", "-27d", "--drift-scan", "0deg", "90deg")
    assert "not both" in command(*given, *both, code=2).output
    places, cube_hz = np.linspace(-0.02, 0.02, 5), np.linspace(1e9, 2e9, 5)
    cubes = write_cubes(tmp_path, some_pattern(cube_hz, places, places), cube_hz, places, places)
    said = command(*given[:-1], cubes, "--drift-scan", "0deg", "90deg", code=1).output
    assert "patterns from files are those of dishes that follow the sky" in said


def test_stations_far_apart_have_their_own_horizon(command, sky_file, tmp_path):
    """Of WSRT, 2.7 km long, and antennas without a place are not of the array."""
    layout = tmp_path / "layout.txt"
    layout.write_text("0 0\n3 1\n")
    rt.ms.create(
        tmp_path / "a.ms", "wsrt", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=30.0,
        bands=rt.ms.Band.regular(1.4e9, 4e6, 2),
    )  # fmt: skip
    for element in ("isotropic", "short"):
        given = ("simulate", tmp_path / "a.ms", "--sky", sky_file, "--beam", f"station: {layout}, {element}")
        assert "beams: 14 x layout.txt of " in command(*given).output
        command(*given, "--column", "OTHER", "--many-node")
        one, other = read(tmp_path / "a.ms", "MODEL_DATA"), read(tmp_path / "a.ms", "OTHER")
        np.testing.assert_allclose(other, one, atol=1e-6)
        assert one.any()


def test_stations_of_a_telescope_model_are_those_of_the_antennas_in_order(command, kat7, sky_file, tmp_path):
    (group,) = rt.ms.groups(kat7)
    layouts = [[[0.0, 0.0], [0.1 * (k + 1), -0.05 * k]] for k in range(7)]
    for k, layout in enumerate(layouts):
        (tmp_path / "seven.tm" / f"station{k}").mkdir(parents=True)
        np.savetxt(tmp_path / "seven.tm" / f"station{k}" / "layout.txt", layout)
    command("simulate", kat7, "--sky", sky_file, "--no-smearing", "--beam", f"station: {tmp_path / 'seven.tm'}")
    middle = np.mean(list(group.antenna_xyz_m.values()), axis=0)
    ns, beams = rt.NodeScope(), [rt.StationBeam.of_elements(layout, middle) for layout in layouts]
    sky = rt.sky.read(sky_file).seen_through(beams)
    rt.psv_tree(ns, sky, group.phase_centre_rad, group.baselines, smearing=False, column="OTHER")
    rt.Forest(ns).run(kat7)
    np.testing.assert_allclose(read(kat7, "MODEL_DATA"), read(kat7, "OTHER"), atol=1e-6)


def test_antennas_without_a_place_are_not_of_the_array():
    from rimetree.cli.options.beam_kinds import Antenna, placed

    here = [5109271.5, 2006808.9, -3239130.7]
    near = [here[0] + 10, here[1], here[2]]
    one, other, lost = placed([Antenna("a", 1.0), Antenna("b", 1.0), Antenna("c", 1.0)], [here, near, [0, 0, 0]])
    assert one.middle_m == other.middle_m == (here[0] + 5, here[1], here[2])
    assert one.horizon_m == one.middle_m and lost.horizon_m is None
    assert placed([Antenna("a", 1.0)], [[0, 0, 0]])[0].middle_m is None


def test_dipoles_half_a_wave_above_the_ground(command, kat7, sky_file, tmp_path):
    """Where they see nothing at the zenith, their response there cannot be 1."""
    said = command("simulate", kat7, "--sky", sky_file, "--beam", "mwa", code=1).stderr
    assert "dipoles 0.278 m above a ground are half a wave or more above it at 1400 MHz" in said
    assert "wavelength is 0.2141 m" in said and "expected less than 539.2 MHz" in said
    command("beam-solutions", kat7, "--beam", "mwa", "--out", tmp_path / "b.h5", code=1)
    assert not (tmp_path / "b.h5").exists()


def test_help_says_what_beams_are_for(command):
    of_model, own = (" ".join(command(name, "--help").output.split()) for name in ("simulate", "beam-solutions"))
    assert "See the sky model through a primary beam: airy (of" in of_model and "fluxes are as seen." in of_model
    assert "The primary beam: airy (of" in own and "sky model through a" not in own and "as seen" not in own


@pytest.mark.filterwarnings("ignore:the phase centre is below the horizon")
def test_nothing_comes_through(command, sky_file, tmp_path):
    """There was a model of 0 Jy, without a word, and a calibration "without data"."""
    how = {"duration_s": 60.0, "integration_s": 60.0, "bands": rt.ms.Band.regular(1.5e8, 4e6, 2)}
    rt.ms.create(tmp_path / "set.ms", "kat-7", phase_centre_rad=CENTRE, start_hour_angle_rad=np.pi, **how)
    said = command("simulate", tmp_path / "set.ms", "--sky", sky_file, "--beam", "mwa").stderr
    assert "warning: field 0: nothing of the sky model comes through the beams; are all sources below the hor" in said


def test_pointing_of_a_set_of_lofar_of_several_fields(monkeypatch):
    """Where beams of its fields point to different places the set does not say where; --pointing had been no help."""

    def beams(ms, *, pointing_rad=None, field_id=None):
        if pointing_rad is None:
            raise rt.Error("beams of its fields point to different places")
        return [rt.StationBeam.of_elements([[0, 0]], (5e6, 2e6, -3e6), pointing_rad=pointing_rad)]

    monkeypatch.setattr(rt, "lofar_beams", beams)
    asked = AskedBeams((BeamType().convert("lofar", None, None),), (0.2, -0.3), None)
    antenna = Antenna("CS001HBA0", 30.0, ms="a.MS")
    assert asked.of([antenna])[0].pointing_rad == (0.2, -0.3)
    with pytest.raises(Failed, match="different places"):
        replace(asked, beams=(BeamType().convert("lofar", None, None),), pointing_rad=None).of([antenna])


def test_beams_of_lofar_point_where_they_did_in_the_fields_that_are_looked_at(command, sky_file, tmp_path, monkeypatch):
    """One field among several that point elsewhere; and a field that has no rows does not matter."""
    asked_of = []

    def beams(ms, *, pointing_rad=None, field_id=None):
        asked_of.append(field_id)
        return [rt.StationBeam.of_elements([[0, 0]], (5e6, 2e6, -3e6), pointing_rad=(0.2, -0.3))] * 7

    monkeypatch.setattr(rt, "lofar_beams", beams)
    ms = tmp_path / "two.ms"
    places = {"a": CENTRE, "b": (CENTRE[0], CENTRE[1] + 0.1)}
    scans = [rt.ms.Scan(places[name], 60.0, name) for name in places]
    rt.ms.create(ms, "kat-7", scans=scans, integration_s=30.0, bands=rt.ms.Band.regular(1.4e9, 4e6, 2))
    given, out = ("--sky", sky_file, "--beam", "lofar"), ("--term", "G: phase", "--out", tmp_path / "sol.h5")
    command("simulate", ms, *given, "--field", "b", "--column", "DATA", "--no-smearing")
    command("image", ms, *given, "--column", "DATA", "--field", "b", "--size", "32", "-o", tmp_path / "a.png")
    command("calibrate", ms, *given, *out, "--field", "b", "--dry-run")
    command("explain", ms, *given, "--field", "b")
    command("beam-solutions", ms, "--beam", "lofar", "--field", "b", "--out", tmp_path / "beam.h5")
    assert asked_of == [(1,)] * len(asked_of) and len(asked_of) >= 5
    asked_of.clear()
    command("calibrate", ms, "--sky", f"a={sky_file}", "--sky", f"b={sky_file}", *given[2:], *out, "--dry-run")
    assert set(asked_of) == {(0,), (1,)}, "each field has a model, and sees it through its own beams"
    asked_of.clear()
    summary = rt.ms.inspect(ms)
    command("simulate", ms, *given, "--dry-run")
    assert asked_of == [(0, 1)]
    assert antennas_of(summary | {"groups": summary["groups"][:1]})[0].field_ids == (0,)
