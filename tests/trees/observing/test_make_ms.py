"""Making Measurement Sets: UVW against astropy, times and hour angles, frequencies, and what is refused."""

import dataclasses
import math
import shutil
import warnings
from collections import namedtuple

import numpy as np
import pytest
from astropy import units as u
from astropy.coordinates import AltAz, EarthLocation, HADec, SkyCoord
from astropy.time import Time
from astropy.utils import iers

import rimetree as rt

iers.conf.auto_download = False
CENTRE = (math.radians(53.1), math.radians(-27.8))


def make(tmp_path, name="a.ms", **changes):
    options = {"phase_centre_rad": CENTRE, "duration_s": 3600.0, "integration_s": 600.0}
    return rt.ms.create(tmp_path / name, changes.pop("telescope", "kat-7"), **{**options, **changes})


def read(path, **options):
    (tile,) = rt.ms.tiles(path, time_slots=10000, **options)
    return tile


def astropy_uvw(telescope, centre, time_s):
    """[antenna, 3] by astropy alone: GCRS positions (with polar motion) projected on the frame of the direction."""
    x, y, z = telescope.ecef_m.T * u.m
    time = Time(time_s / 86400, format="mjd", scale="utc")
    xyz = EarthLocation.from_geocentric(x, y, z).get_gcrs(time).cartesian.xyz.to_value(u.m).T
    ra, dec = centre
    east = np.array([-math.sin(ra), math.cos(ra), 0.0])
    north = np.array([-math.sin(dec) * math.cos(ra), -math.sin(dec) * math.sin(ra), math.cos(dec)])
    away = np.array([math.cos(dec) * math.cos(ra), math.cos(dec) * math.sin(ra), math.sin(dec)])
    return xyz @ np.column_stack([east, north, away])


# 2015: UT1 - UTC was -0.47 s, which turns UVW by 7 arcsec if it is forgotten. 4e-6 is 0.8 arcsec: polar motion, which
# the node leaves out (below 0.6 arcsec), and the change of UT1 - UTC within the observation.
@pytest.mark.parametrize("telescope", ["kat-7", "vla-b"])
@pytest.mark.parametrize("start", ["2015-01-01T20:00:00", "2025-06-01T03:00:00"])
def test_uvw_agree_with_astropy(tmp_path, telescope, start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the source stands does not matter here
        made = make(tmp_path, telescope=telescope, start=start, frame="ICRS")
    array = rt.telescopes.get(telescope)
    tile = read(made.path)
    assert tile["uvw_m"].shape == (len(array) * (len(array) - 1) // 2, 6, 3)
    for t in (0, 5):
        antenna = astropy_uvw(array, CENTRE, tile["time_s"][t])
        expected = np.array([antenna[p] - antenna[q] for p, q in tile["baselines"]])
        error = np.linalg.norm(tile["uvw_m"][:, t] - expected, axis=1) / np.linalg.norm(expected, axis=1)
        assert error.max() < 4e-6
    assert rt.ms.inspect(made.path)["uvw"]["family"] == "p-q"


def test_uvw_are_in_the_frame_of_the_phase_centre(tmp_path):
    """The same physical direction in both frames: w is the same, and u and v turn by what north does. By ERFA's frame
    bias; it is 23 mas, of which 1e-4 is left out."""
    erfa = pytest.importorskip("erfa")
    bias = erfa.bp06(2451545.0, 0.0)[0]  # from the ICRS to J2000

    def axes(ra, dec):  # east, north, away
        east = [-math.sin(ra), math.cos(ra), 0.0]
        north = [-math.sin(dec) * math.cos(ra), -math.sin(dec) * math.sin(ra), math.cos(dec)]
        return np.array([east, north, [math.cos(dec) * math.cos(ra), math.cos(dec) * math.sin(ra), math.sin(dec)]])

    away = bias @ axes(*CENTRE)[2]
    moved = (math.atan2(away[1], away[0]) % (2 * math.pi), math.asin(away[2]))
    how = {"start": "2025-01-01T20:00:00"}
    icrs = read(make(tmp_path, "icrs.ms", frame="ICRS", **how).path)["uvw_m"]
    j2000 = read(make(tmp_path, "j2000.ms", phase_centre_rad=moved, **how).path)["uvw_m"]
    longest_m = np.linalg.norm(icrs, axis=-1).max()
    np.testing.assert_allclose(j2000[..., 2], icrs[..., 2], atol=1e-11 * longest_m)
    turned = axes(*moved) @ bias @ axes(*CENTRE).T
    np.testing.assert_allclose(j2000, icrs @ turned.T, atol=1e-11 * longest_m)
    same = read(make(tmp_path, "same.ms", **how).path)["uvw_m"]
    assert 1e-8 < np.abs(same - icrs).max() / longest_m < 1.2e-7


def test_times_are_centres_of_whole_integrations(tmp_path):
    made = make(tmp_path, start="2025-01-01T20:00:00", duration_s=100.0, integration_s=30.0)
    tile = read(made.path)
    first = Time("2025-01-01T20:00:15", scale="utc").mjd * 86400
    np.testing.assert_allclose(tile["time_s"], first + 30.0 * np.arange(3), atol=1e-3)
    assert made.n_time == 3  # the last 10 s hold no integration
    assert (tile["exposure_s"] == 30.0).all()
    assert made.first_time_s == pytest.approx(tile["time_s"][0], abs=1e-6)


def test_without_a_start_the_source_transits_in_the_middle(tmp_path):
    made = make(tmp_path)
    assert np.mean(made.hour_angle_rad) == pytest.approx(0, abs=1e-4)  # 1e-4 is 1.4 s: starts are whole seconds
    location = rt.telescopes.get("kat-7").location
    time = Time(np.array([made.first_time_s, made.last_time_s]) / 86400, format="mjd", scale="utc")
    source = SkyCoord(*CENTRE, unit="rad", frame="icrs")
    elevation = source.transform_to(AltAz(obstime=time, location=location)).alt.rad
    # Aberration, which astropy applies and the geometric figure does not, is at most 21 arcsec.
    assert made.elevation_rad[0] == pytest.approx(elevation.min(), abs=math.radians(25 / 3600))


def test_hour_angle_of_the_start(tmp_path):
    made = make(tmp_path, start_hour_angle_rad=-1.0, start="2025-03-04T11:00:00")
    half = 300 * 7.292e-5  # the first centre is half an integration later
    assert made.hour_angle_rad[0] == pytest.approx(-1.0 + half, abs=1e-6)
    assert rt.ms.inspect(made.path)["first_time"].startswith("2025-03-0")
    time = Time(made.first_time_s / 86400, format="mjd", scale="utc")
    frame = HADec(obstime=time, location=rt.telescopes.get("kat-7").location)
    hour_angle = SkyCoord(*CENTRE, unit="rad").transform_to(frame).ha.rad
    # Aberration and polar motion, which the geometric figure leaves out: 22 arcsec / cos(dec).
    assert made.hour_angle_rad[0] == pytest.approx(hour_angle, abs=math.radians(25 / 3600))


def test_bands_correlations_autocorrelations_and_weights(tmp_path):
    bands = [rt.ms.Band.regular(1.4e9, -32e6, 16, "down"), rt.ms.Band.of([1.0e9, 1.1e9, 1.15e9], 1e6)]
    made = make(tmp_path, bands=bands, correlations="yy, xx", autocorrelations=True, weight_spectrum=True)
    summary = rt.ms.inspect(made.path)
    assert made.n_row == summary["n_row"] == 2 * 6 * 28
    assert summary["n_autocorrelation"] == 2 * 6 * 7
    assert summary["data_descriptions"][0]["correlations"] == ["XX", "YY"]
    assert summary["weight_column"] == "WEIGHT_SPECTRUM"
    assert rt.ms.inspect(made.path, scan_cells=False)["weight_column"] == "WEIGHT_SPECTRUM"
    assert summary["flagged_fraction"] == summary["zero_weight_fraction"] == 0
    down, odd = summary["spectral_windows"]
    assert (down["order"], down["n_channel"], down["name"]) == ("descending", 16, "down")
    assert (down["lowest_hz"], down["highest_hz"]) == (1.385e9, 1.415e9)
    assert (odd["n_channel"], odd["regular"]) == (3, False)
    assert [antenna["name"] for antenna in summary["antennas"]] == list(rt.telescopes.get("kat-7").antenna_names)


def disk_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*"))


def test_the_size_said_is_that_on_the_disk(tmp_path):
    made = make(tmp_path, telescope="vla-d", phase_centre_rad=(1.0, 0.5), integration_s=180.0)
    assert made.bytes == pytest.approx(disk_bytes(tmp_path / "a.ms"), rel=0.2)  # tables are padded


def test_a_narrow_first_window_takes_no_room_for_others(tmp_path):
    """All had been in its tiles, thousands of rows of one channel: 1 GiB a column, of which each row needed all."""
    path, bands = tmp_path / "a.ms", [rt.ms.Band.regular(1e9, 1e6, 1), rt.ms.Band.regular(1.5e9, 64e6, 1024)]
    made = make(tmp_path, bands=bands, weight_spectrum=True)
    assert made.bytes == pytest.approx(disk_bytes(path), abs=20e6)
    ns = rt.NodeScope()
    rt.psv_tree(ns, rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (1.0, 0, 0, 0))]), CENTRE, rt.ms.baselines(path))
    rt.Forest(ns).run(path)
    rt.ms.save_flags(path, "a")
    assert disk_bytes(path) + disk_bytes(tmp_path / "a.ms.flagversions") < 60e6
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA"], data_desc_id=1, time_slots=100)
    np.testing.assert_allclose(tile["columns"]["MODEL_DATA"][..., 0], 1.0, rtol=1e-6)


def test_feed_of_the_telescope_decides_the_correlations(tmp_path):
    made = make(tmp_path, telescope="vla-d", phase_centre_rad=(1.0, 0.5))
    assert rt.ms.inspect(made.path)["data_descriptions"][0]["correlations"] == ["RR", "RL", "LR", "LL"]


def test_fields_are_named_by_their_place(tmp_path):
    assert rt.ms.inspect(make(tmp_path).path)["fields"][0]["name"] == "J0332-2748"
    make(tmp_path, "b.ms", phase_centre_rad=(math.radians(45), math.radians(-30)), field_name="mine")
    assert rt.ms.inspect(tmp_path / "b.ms")["fields"][0]["name"] == "mine"


def test_a_source_below_the_horizon_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match=r"below the horizon 100 % of the time \(elevation -"):
        make(tmp_path, phase_centre_rad=(1.0, math.radians(85)))


def test_antennas_that_cannot_see_the_source_are_a_warning(tmp_path):
    """Of a global array some antennas may have it below their horizon while others see it."""
    array = rt.telescopes.get("vla-d")
    far_m = np.array([4033947.0, 486991.0, 4900431.0])  # in Europe, 5 hours before it sees what transits here
    wide = dataclasses.replace(array, ecef_m=np.vstack([array.ecef_m[:-1], far_m]))
    centre = (1.0, math.radians(-20))
    with pytest.warns(UserWarning) as found:
        made = make(tmp_path, telescope=wide, phase_centre_rad=centre)
    (warning,) = found
    here = EarthLocation.from_geocentric(*far_m, unit="m")
    times = Time(np.array([made.first_time_s, made.last_time_s]) / 86400, format="mjd", scale="utc")
    up = SkyCoord(*centre, unit="rad").transform_to(AltAz(obstime=times, location=here)).alt.deg
    assert str(warning.message).startswith("the phase centre is below the horizon of 1 of 27 antennas")
    assert str(warning.message).endswith(f"{array.antenna_names[-1]} (elevation {up.min():.1f} deg)") and up.max() < 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(tmp_path, "b.ms", telescope=array, phase_centre_rad=centre)


def test_a_date_without_ut1_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="UT1 - UTC is not known"):
        made = make(tmp_path, start="2045-01-01T20:00:00", start_hour_angle_rad=0.0)
    assert made.dut1_s == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"telescope": "jodrell"}, "no telescope is named 'jodrell'"),
        ({"integration_s": 0.0}, "integration_s is 0 s"),
        ({"duration_s": float("nan")}, "duration_s is nan s"),
        ({"duration_s": 10.0}, "hold 0 integrations"),
        ({"phase_centre_rad": (1.0, 2.0)}, "within"),
        ({"start": "yesterday"}, "'yesterday'; expected a UTC date"),
        ({"start_mjd_s": 60676.8}, r"starts at 60676.8 s of MJD, which is 1858-11-17: expected is a time"),
        ({"start_mjd_s": 1.73e9}, "which is 1913-09"),  # of Unix
        ({"start": "2300-01-01"}, "which is 2300-01-01: expected is a time of the years 1933 to 2175"),
        ({"start_mjd_s": -1.0}, "starts at -1 s of MJD: expected is a time"),
        ({"correlations": "XX,ZZ"}, "unknown correlation 'ZZ'"),
        ({"correlations": "XX,RR"}, "one kind of feed"),
        ({"bands": []}, "no spectral window"),
        ({"columns": ["MODEL_DATA"]}, "DATA is not among the columns"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(tmp_path, changes, message):
    with pytest.raises((rt.Error, rt.telescopes.TelescopeError), match=message):
        make(tmp_path, **changes)
    assert list(tmp_path.iterdir()) == []


def test_bands_that_cannot_be():
    for wrong in (
        lambda: rt.ms.Band.regular(1e8, 3e8, 4),
        lambda: rt.ms.Band.of([1e9]),
        lambda: rt.ms.Band((1.0,), ()),
    ):
        with pytest.raises(rt.Error):
            wrong()


def test_too_little_disk_is_said_before_anything_is_done(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**9, 10**9, 1000))
    with pytest.raises(rt.Error, match=r"needs 1\.\d+ MiB of disk, but .* has only 1000 B free"):
        make(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_set_is_replaced_only_if_asked(tmp_path):
    make(tmp_path)
    with pytest.raises(rt.Error, match="it exists"):
        make(tmp_path)
    assert make(tmp_path, duration_s=1800.0, overwrite=True).n_time == 3
    assert rt.ms.inspect(tmp_path / "a.ms")["n_time"] == 3
    (tmp_path / "notes").mkdir()
    with pytest.raises(rt.Error, match="not a Measurement Set"):
        make(tmp_path, "notes", overwrite=True)


def test_flag_versions_of_a_set_go_with_it(tmp_path):
    """Those of the set before had been restored to the new one."""
    make(tmp_path)
    rt.ms.save_flags(tmp_path / "a.ms", "before")
    (tmp_path / "a.ms").rename(tmp_path / "b.ms")
    make(tmp_path)
    assert len(rt.ms.flag_versions(tmp_path / "a.ms")) == 1  # nobody has asked for anything to be deleted
    make(tmp_path, overwrite=True)
    assert rt.ms.flag_versions(tmp_path / "a.ms") == []


def test_one_antenna_has_autocorrelations_alone(tmp_path):
    layout = tmp_path / "one.csv"
    layout.write_text("name,x,y,z,diameter\nA,5109270.0,2006780.0,-3239050.0,25\n")
    asked = {"telescope": layout, "bands": rt.ms.Band((1e9,), (1e6,)), "correlations": "XX YY"}
    with pytest.raises(rt.Error, match="one has one antenna and no baseline"):
        make(tmp_path, **asked)
    assert not (tmp_path / "a.ms").exists()
    assert make(tmp_path, autocorrelations=True, **asked).n_row == 6


@pytest.mark.filterwarnings("error")
def test_frequencies_that_must_be_in_another_unit_are_warned_of(tmp_path):
    """1400 without a unit was 1.4 kHz, without a word."""
    how = {"phase_centre_rad": CENTRE, "duration_s": 60, "integration_s": 30}
    with pytest.warns(
        UserWarning, match=r"channels are at 1384 to 1416 Hz.*frequencies without a unit are in Hz"
    ) as said:
        rt.ms.create(tmp_path / "a.ms", "kat-7", bands=rt.ms.Band.regular(1400, 64, 2), **how)
    assert said[0].filename == __file__
    rt.ms.create(tmp_path / "b.ms", "kat-7", bands=rt.ms.Band.regular(15e6, 1e6, 2), **how)
