"""Layouts of CASA and OSKAR, and antennas of Measurement Sets, as telescopes."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from astropy.coordinates import EarthLocation

import rimetree as rt
from rimetree import telescopes
from rimetree.telescopes import of_ms

#: A model of OSKAR with three stations, without folders of their own.
GOOD = {"layout.txt": "0 0\n0 100 0 0 0 0\n100 0\n", "position.txt": "116.7 -26.8 300\n"}


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_geocentric_places_of_casa(tmp_path):
    text = """# observatory=VLA
# coordsys=XYZ
# x y z diam pad#
-1601614.061201\t-5042001.676547\t3554652.455603\t25.  W08
-1602592.823528 -5042055.013423 3554140.652770 25. W16  # a remark
"""
    found = telescopes.get(written(tmp_path / "vla.a.cfg", text))
    assert (found.name, found.antenna_names, found.observatory) == ("vla.a", ("W08", "W16"), "VLA")
    assert (found.feed, found.mount, found.band_centre_hz) == ("circular", "ALT-AZ", 1.4e9)
    np.testing.assert_array_equal(found.ecef_m[1], [-1602592.823528, -5042055.013423, 3554140.652770])
    np.testing.assert_array_equal(found.dish_diameter_m, 25)


def test_a_place_of_the_file_goes_before_that_of_the_observatory(tmp_path):
    """As in CASA 6.7, which makes these numbers of it."""
    text = "# observatory=ALMA\n# COFA=-70.0,-30.0\n# coordsys=LOC (local tangent plane)\n0 0 0 12. A1\n"
    found = telescopes.get(written(tmp_path / "a.cfg", text))
    np.testing.assert_allclose(found.ecef_m[0], [1890775, -5194862, -3170374], atol=1)
    raised = telescopes.get(written(tmp_path / "b.cfg", text.replace("-30.0", "-30.0, 1000")))
    assert np.linalg.norm(raised.ecef_m[0] - found.ecef_m[0]) == pytest.approx(1000)


def test_westerbork_is_equatorial(tmp_path):
    text = "# observatory = WSRT\n# coordsys = XYZ\n3828763.1 442449.1 5064923.0 25 RT0\n"
    found = telescopes.get(written(tmp_path / "a.cfg", text))
    assert (found.mount, found.feed) == ("EQUATORIAL", "linear")


def test_local_places_of_casa(tmp_path):
    """Against what CASA 6.7 makes of its file aca.cycle7.named.cfg (its function readantenna)."""
    text = """# observatory=ACA
# coordsys=LOC (local tangent plane)
# x y z diam station antenna
-37.01384552 -551.9319303 -2.325092815 7. N601 CM01 # antenna names
-49.28641965 -547.2313425 -2.314768924 7. N602 CM02
"""
    found = telescopes.get(written(tmp_path / "aca.cfg", text))
    assert found.antenna_names == ("CM01", "CM02") and found.feed == "linear" and found.band_centre_hz == 230e9
    place = EarthLocation.from_geocentric(*found.ecef_m[0], unit="m")
    assert place.height.value == pytest.approx(5056.8 - 2.325, abs=0.03)
    assert place.lat.deg == pytest.approx(-23.02781575555555 - np.degrees(551.93 / 6.359e6), abs=2e-5)
    assert place.lon.deg == pytest.approx(
        -67.7548766583333 - np.degrees(37.0138 / (6.378e6 * np.cos(0.4019))), abs=2e-6
    )
    given = np.array([[-37.01384552, -551.9319303, -2.325092815], [-49.28641965, -547.2313425, -2.314768924]])
    assert np.linalg.norm(np.diff(found.ecef_m, axis=0)) == pytest.approx(
        np.linalg.norm(np.diff(given, axis=0)), abs=1e-6
    )


@pytest.mark.parametrize("names", [["", ""], ["A", "A"], ["A", ""]])
def test_names_that_are_missing_or_the_same_are_numbers(tmp_path, names):
    lines = "".join(f"-1601614.0{k} -5042001.6 3554652.4 25. {name}\n" for k, name in enumerate(names))
    found = telescopes.get(written(tmp_path / "a.cfg", f"# coordsys = XYZ\n{lines}"))
    assert found.antenna_names == ("A000", "A001") and found.observatory == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# observatory=ALMA\n# coordsys=UTM\n627789.81 7453079.62 5029.4 12.0 1\n", "coordsys=UTM, expected XYZ"),
        ("# observatory=ALMA\n1 2 3 12 A\n", "coordsys=nothing, expected XYZ"),
        (
            "# observatory=Mine\n# coordsys=LOC\n1 2 3 12 A\n",
            "observatory=Mine, whose own place is not known; give a line # COFA",
        ),
        ("# coordsys=LOC\n1 2 3 12 A\n", "observatory=nothing, whose own place is not known"),
        ("# COFA=1\n# coordsys=LOC\n1 2 3 12 A\n", "COFA=1, expected longitude,latitude in degrees"),
        ("# COFA=1,-126.8\n# coordsys=LOC\n1 2 3 12 A\n", "a.cfg: 1, -126.8 are no longitude and latitude"),
        ("# coordsys=XYZ\n1 2 3 A\n", "a.cfg:2:1: expected x, y, z and a diameter"),
        ("# coordsys=XYZ\n1 2 nan 12\n", "a.cfg:2:1: expected x, y, z and a diameter"),
        ("# coordsys=XYZ\n1 2 3 12 A\n", "not on the Earth"),
        ("# coordsys=XYZ\n", "the layout has no antennas"),
    ],
)
def test_what_is_no_layout_of_casa(tmp_path, text, message):
    with pytest.raises(telescopes.TelescopeError, match=message):
        telescopes.get(written(tmp_path / "a.cfg", text))


def test_a_model_of_oskar(tmp_path):
    """Stations to the east and north of a place; their own layouts say how large they are."""
    model = tmp_path / "ska"
    written(model / "position.txt", "116.76444824, -26.824722084, 300.0\n")
    written(model / "layout.txt", "# east, north, up\n0, 0, 0\n1000.0 0.0\n0,2000,5\n")
    for k, width in enumerate((10.0, 17.5, 3.0)):
        written(model / f"s{k:04d}" / "layout.txt", f"{-width},0\n{width},0\n")
    found = telescopes.get(model)
    assert (found.name, found.antenna_names, found.mount) == ("ska", ("s0000", "s0001", "s0002"), "FIXED")
    np.testing.assert_allclose(found.dish_diameter_m, [20, 35, 6])
    origin = EarthLocation.from_geodetic(116.76444824, -26.824722084, 300.0)
    np.testing.assert_allclose(found.ecef_m[0], [origin.x.value, origin.y.value, origin.z.value], atol=1e-6)
    away = found.ecef_m - found.ecef_m[0]
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), [0, 1000, np.hypot(2000, 5)], atol=1e-6)
    longitude, latitude = np.radians([116.76444824, -26.824722084])
    np.testing.assert_allclose(away[1], 1000 * np.array([-np.sin(longitude), np.cos(longitude), 0]), atol=1e-6)
    north = EarthLocation.from_geocentric(*found.ecef_m[2], unit="m")
    assert north.lat.deg > np.degrees(latitude) and north.lon.deg == pytest.approx(116.76444824, abs=1e-9)


def test_folders_of_stations_of_oskar(tmp_path):
    """Others do not count; of a few kinds a file says which of them each station is."""
    for name, text in GOOD.items():
        written(tmp_path / "m" / name, text)
    (tmp_path / "m" / "element_pattern").mkdir()
    (tmp_path / "m" / ".git").mkdir()
    for name, width in (("a", 10), ("b", 20)):  # with errors of elements' places, which do not matter here
        written(tmp_path / "m" / name / "layout.txt", f"{-width / 2},0,0,0,0,0.1\n{width / 2},0,0,0,0,0.1\n")
    written(tmp_path / "m" / "station_type_map.txt", "1\n0\n1\n")
    found = telescopes.get(tmp_path / "m")
    assert found.antenna_names == ("station000", "station001", "station002")
    np.testing.assert_allclose(found.dish_diameter_m, [20, 10, 20])


def test_other_layouts_of_oskar(tmp_path):
    ecef = telescopes.get("meerkat").ecef_m[:3]
    written(tmp_path / "a" / "layout_ecef.txt", "\n".join(" ".join(map(repr, map(float, one))) for one in ecef))
    found = telescopes.get(tmp_path / "a")
    np.testing.assert_array_equal(found.ecef_m, ecef)
    assert found.antenna_names == ("station000", "station001", "station002") and set(found.dish_diameter_m) == {1.0}
    places = EarthLocation.from_geocentric(*ecef.T, unit="m")
    lines = zip(places.lon.deg, places.lat.deg, places.height.value, strict=True)
    written(tmp_path / "b" / "layout_wgs84.txt", "\n".join(", ".join(map(repr, map(float, one))) for one in lines))
    written(tmp_path / "b" / "station" / "layout.txt", "0 0\n0 30\n")
    found = telescopes.get(tmp_path / "b")
    np.testing.assert_allclose(found.ecef_m, ecef, atol=1e-6)
    np.testing.assert_allclose(found.dish_diameter_m, 30)  # one folder is that of all stations


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"layout.txt": "0 0\n"}, r"position.txt: cannot be read: No such file"),
        ({"layout.txt": "0 0\n", "position.txt": "1 2\n3 4\n"}, r"position.txt: expected one line"),
        ({"layout.txt": "0 0\n1\n", "position.txt": "1 2\n"}, r"layout.txt:2:1: expected 2 to 3 numbers"),
        ({"layout_ecef.txt": "0 0 x\n"}, r"layout_ecef.txt:1:1: expected 3 to 3 numbers"),
        ({"layout_ecef.txt": "# nothing\n"}, r"layout_ecef.txt: there are no numbers"),
        ({"layout_ecef.txt": "1 2 3\n"}, r"not on the Earth"),
        ({"other.txt": ""}, r"this folder is neither a Measurement Set nor a telescope model of OSKAR"),
        (
            {"layout.txt": "0 0\n", "position.txt": "116.7 -126.8 300\n"},
            r"model: 116.7, -126.8 are no longitude and latitude",
        ),
        ({"layout.txt": "0 0 0 0 0.1\n", "position.txt": "1 2\n"}, r"layout.txt:1:1: errors of positions are not read"),
        ({**GOOD, "a/layout.txt": "0 0", "b/layout.txt": "0 0"}, r"2 folders of stations, expected one or 3"),
        ({**GOOD, "a/layout.txt": "0 0", "station_type_map.txt": "0\n"}, r"map.txt: expected 3 numbers of 1 folders"),
        (
            {**GOOD, "a/layout.txt": "0 0", "station_type_map.txt": "0\n0\n1\n"},
            r"map.txt: expected 3 numbers of 1 folders",
        ),
    ],
)
def test_what_is_no_model_of_oskar(tmp_path, files, message):
    for name, text in files.items():
        written(tmp_path / "model" / name, text)
    with pytest.raises(telescopes.TelescopeError, match=message):
        telescopes.get(tmp_path / "model")


@pytest.mark.parametrize(("name", "feed"), [("vla-d", "circular"), ("wsrt", "linear")])
def test_the_telescope_of_a_set(tmp_path, name, feed):
    path, own = tmp_path / "obs.ms", telescopes.get(name)
    when = {"start_mjd_s": 5.24e9, "duration_s": 10, "integration_s": 10}
    bands = [rt.ms.Band.regular(3.1e9, -64e6, 8), rt.ms.Band.regular(5e9, 64e6, 8)]
    rt.ms.create(path, own, bands=bands, phase_centre_rad=(1.0, 0.5), **when)
    found = telescopes.get(path)
    assert (found.name, found.feed, found.mount, found.observatory) == ("obs.ms", feed, own.mount, own.observatory)
    assert found.antenna_names == own.antenna_names
    np.testing.assert_array_equal(found.ecef_m, own.ecef_m)
    np.testing.assert_array_equal(found.dish_diameter_m, own.dish_diameter_m)
    assert (found.band_centre_hz, found.band_width_hz) == (pytest.approx(3.1e9), pytest.approx(64e6))
    other = tmp_path / "other.ms"
    rt.ms.create(other, found, phase_centre_rad=(2.0, 0.5), **when)
    assert rt.ms.inspect(other)["spectral_windows"][0]["width_hz"] > 0


def test_mounts_and_the_window_of_a_set(tmp_path, monkeypatch):
    path = tmp_path / "obs.ms"
    bands = [rt.ms.Band.regular(1e9, 8e6, 8), rt.ms.Band.regular(5e9, 64e6, 8)]
    rt.ms.create(
        path, "wsrt", bands=bands, phase_centre_rad=(1, 0.5), start_mjd_s=5.24e9, duration_s=10, integration_s=10
    )
    summary = json.loads(of_ms._core.inspect_ms(str(path), False))
    summary["data_descriptions"][0]["n_row"] = 0  # as the radiometers' of ALMA
    for k, mount in enumerate(("ALT-AZ+NASMYTH-R", "alt-az ", "X-Y", "")):
        summary["antennas"][k]["mount"] = mount
    monkeypatch.setattr(of_ms, "_core", SimpleNamespace(inspect_ms=lambda *given: json.dumps(summary)))
    with pytest.warns(UserWarning, match=r"mounts \[''\] of antennas are taken to be ALT-AZ"):
        found = telescopes.get(path)
    assert found.mounts == ("ALT-AZ+NASMYTH-R", "ALT-AZ", "X-Y", "ALT-AZ", *["EQUATORIAL"] * 10)
    assert found.band_centre_hz == pytest.approx(5e9)
    monkeypatch.undo()
    other = tmp_path / "other.ms"
    rt.ms.create(other, found, phase_centre_rad=(1, 0.5), start_mjd_s=5.24e9, duration_s=10, integration_s=10)
    assert [one["mount"] for one in rt.ms.inspect(other)["antennas"]] == list(found.mounts)
    with pytest.raises(telescopes.TelescopeError, match=r"2 mounts do not fit 14 antenna names"):
        replace(found, mount=("X-Y", "X-Y"))


def test_known_names_go_before_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "vla" / "layout_ecef.txt", "6378000 0 0\n")
    assert len(telescopes.get("vla")) == 27 and len(telescopes.get("./vla")) == 1
    (tmp_path / "mine.txt").write_text("name,x,y,z,diameter\n")
    with pytest.raises(telescopes.TelescopeError, match=r"mine.txt: layouts are files called \*.csv"):
        telescopes.get("mine.txt")


def test_antennas_of_a_set_that_are_nowhere(tmp_path, monkeypatch):
    """Of no place and without data they are left out; with data they are an error."""
    path = tmp_path / "obs.ms"
    rt.ms.create(path, "wsrt", phase_centre_rad=(1.0, 0.5), start_mjd_s=5.24e9, duration_s=10, integration_s=10)
    summary = json.loads(of_ms._core.inspect_ms(str(path), False))
    summary["antennas"][0] |= {"position_m": [0, 0, 0], "n_row": 0}
    monkeypatch.setattr(of_ms, "_core", SimpleNamespace(inspect_ms=lambda *given: json.dumps(summary)))
    assert len(telescopes.get(path)) == 13
    summary["antennas"][0]["n_row"] = 1
    with pytest.raises(telescopes.TelescopeError, match=r"obs.ms: antenna .* is 0 m from the Earth's centre"):
        telescopes.get(path)


def test_unknown_names_say_what_else_there_is():
    with pytest.raises(
        telescopes.TelescopeError, match=r"layout files \(.csv, or .cfg as CASA's\), Measurement Sets, and"
    ):
        telescopes.get("nowhere")
