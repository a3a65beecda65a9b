"""Telescopes: known places and sizes, names, layout files and their errors."""

import math

import numpy as np
import pytest

from rimetree import telescopes

HEADER = "# observatory: TEST\n# feed: circular\n# mount: EQUATORIAL\n# band_centre_hz: 3e8\n# band_width_hz: 1e7\n"
TWO = "name,x,y,z,diameter\nA,5109243.2,2006797.8,-3239112.7,13.5\nB, 5109256.5, 2006813.1, -3239082.1, 12\n"


def write(tmp_path, text, name="mine.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


# Longitudes and latitudes (deg) of the observatories, longest baselines (m) as the observatories state them.
@pytest.mark.parametrize(
    ("name", "count", "longitude", "latitude", "baseline_m", "tolerance"),
    [
        ("meerkat", 64, 21.444, -30.713, 7700, 0.01),
        ("wsrt", 14, 6.604, 52.915, 2700, 0.02),
        ("vla-a", 27, -107.618, 34.079, 36400, 0.02),
        ("vla-b", 27, -107.618, 34.079, 11100, 0.02),
        ("vla-c", 27, -107.618, 34.079, 3400, 0.02),
        ("vla-d", 27, -107.618, 34.079, 1030, 0.02),
        ("lofar", 70, 6.87, 52.91, 1.3e6, 0.05),
        ("kat-7", 7, 21.41, -30.72, 185, 0.05),
        ("atca", 6, 149.55, -30.313, 5939, 0.01),
        ("ska-mid", 197, 21.444, -30.713, 150000, 0.06),
        ("ska-low", 512, 116.764, -26.825, 65000, 0.02),
        ("alma", 13, -67.75, -23.02, 8283, 0.01),
        ("aca", 10, -67.755, -23.033, 45, 0.01),
        ("alma-c43-1", 43, -67.755, -23.029, 161, 0.01),
        ("alma-c43-10", 43, -67.755, -23.025, 16200, 0.01),
        ("askap", 36, 116.632, -26.697, 6440, 0.02),
        ("ngvla", 214, -107.618, 34.079, 1.27e6, 0.01),
        ("vlba", 10, -106.2, 35.8, 8611e3, 0.01),
        ("mwa", 128, 116.671, -26.703, 2870, 0.02),
        ("hera", 350, 21.428, -30.721, 876, 0.02),
    ],
)
def test_place_and_size(name, count, longitude, latitude, baseline_m, tolerance):
    telescope = telescopes.get(name)
    assert len(telescope) == count
    assert telescope.ecef_m.shape == (count, 3)
    assert telescope.dish_diameter_m.shape == (count,)
    assert math.degrees(telescope.longitude_rad) == pytest.approx(longitude, abs=0.05)
    assert math.degrees(telescope.latitude_rad) == pytest.approx(latitude, abs=0.05)
    assert telescope.longest_baseline_m == pytest.approx(baseline_m, rel=tolerance)


def test_all_available_are_complete():
    names = telescopes.available()
    assert len(names) >= 13
    assert set(telescopes.ALIASES.values()) <= set(names)
    for name in names:
        telescope = telescopes.get(name)
        assert telescope.name == name
        assert telescope.source and telescope.description and telescope.observatory
        assert telescope.band_width_hz < 2 * telescope.band_centre_hz
        heights = telescope.antenna_locations.height.value
        assert heights.shape == (len(telescope),)
        assert np.all(np.abs(heights) < 5500)


def test_feeds_and_mounts():
    assert telescopes.get("vla-d").feed == "circular"
    assert telescopes.get("meerkat").feed == "linear"
    assert telescopes.get("wsrt").mount == "EQUATORIAL"
    assert telescopes.get("meerkat").mount == "ALT-AZ"
    assert telescopes.get("mwa").mount == "FIXED"


def test_dish_diameters():
    assert set(telescopes.get("ska-mid").dish_diameter_m) == {13.5, 15.0}
    assert set(telescopes.get("vla").dish_diameter_m) == {25.0}


@pytest.mark.parametrize("name", ["MeerKAT", "meerkat-64", "MEERKAT 64", "meerkat_64"])
def test_spelling_does_not_matter(name):
    assert telescopes.get(name).name == "meerkat64"


def test_unknown_name_lists_known_and_near_ones():
    with pytest.raises(telescopes.TelescopeError) as error:
        telescopes.get("merkat")
    assert "did you mean meerkat64" in str(error.value)
    assert "vla-a" in str(error.value)
    with pytest.raises(telescopes.TelescopeError, match=r"known are aca, alma13, alma-c43-1, alma-c43-2.*\.csv"):
        telescopes.get("xyzzy")


def test_user_file(tmp_path):
    telescope = telescopes.get(write(tmp_path, HEADER + TWO))
    assert (telescope.name, telescope.observatory, telescope.feed) == ("mine", "TEST", "circular")
    assert telescope.antenna_names == ("A", "B")
    assert (telescope.band_centre_hz, telescope.band_width_hz) == (3e8, 1e7)
    np.testing.assert_array_equal(telescope.ecef_m[1], [5109256.5, 2006813.1, -3239082.1])
    np.testing.assert_array_equal(telescope.dish_diameter_m, [13.5, 12.0])
    assert not telescope.ecef_m.flags.writeable


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("A,1,2,3,4\n", "1:1", "expected the line 'name,x,y,z,diameter'"),
        (TWO + "C,1,2,3\n", "4:1", "4 values, expected 5"),
        (TWO + "A,5109243.2,2006797.8,-3239112.7,13.5\n", "4:1", "'A' was already given in line 2"),
        (TWO + "C,5109243.2,xx,-3239112.7,13.5\n", "4:13", "y is 'xx', expected a finite number"),
        (TWO + "C,5109243.2,nan,-3239112.7,13.5\n", "4:13", "y is 'nan'"),
        (TWO + "C,100.0,200.0,3.0,13.5\n", "4:1", "geocentric"),
        (TWO + "C,5109243.2,2006797.8,-3239112.7,0\n", "4:1", "diameter of 0 m"),
        (TWO + ",5109243.2,2006797.8,-3239112.7,1\n", "4:1", "no name"),
        ("# band_width_hz: wide\n" + TWO, "1:18", "band_width_hz is 'wide'"),
    ],
)
def test_wrong_files_are_located(tmp_path, text, place, message):
    path = write(tmp_path, text)
    with pytest.raises(telescopes.TelescopeError) as error:
        telescopes.read(path)
    assert str(error.value).startswith(f"{path}:{place}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,x,y,z,diameter\n", "no antennas"),
        ("# mount: SHIP\n" + TWO, "mount 'SHIP' is not one of ALT-AZ"),
        ("# feed: round\n" + TWO, "feed 'round' is not one of linear, circular"),
        ("# band_width_hz: -1\n" + TWO, "not positive"),
    ],
)
def test_wrong_contents(tmp_path, text, message):
    with pytest.raises(telescopes.TelescopeError, match=message):
        telescopes.read(write(tmp_path, text))


def test_missing_and_binary_files(tmp_path):
    with pytest.raises(telescopes.TelescopeError, match="No such file"):
        telescopes.get(tmp_path / "none.csv")
    path = tmp_path / "binary.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(telescopes.TelescopeError, match="not UTF-8"):
        telescopes.read(path)


def test_shapes_are_checked():
    with pytest.raises(telescopes.TelescopeError, match=r"expected \(2, 3\) and \(2,\)"):
        telescopes.Telescope("x", ("a", "b"), np.zeros((2, 2)), np.ones(2))
    position = [5109243.2, 2006797.8, -3239112.7]
    with pytest.raises(telescopes.TelescopeError, match="repeated"):
        telescopes.Telescope("x", ("a", "a"), np.array([position, position]), np.ones(2))


def test_repr_names_what_it_is():
    assert repr(telescopes.get("atca")) == "<Telescope 'atca-6a': 6 antennas, 5939 m>"
