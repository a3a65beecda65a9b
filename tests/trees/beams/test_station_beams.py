"""Skies seen through stations, against sums over their elements and against azimuths and elevations."""

import os
from dataclasses import replace

import numpy as np
import pytest
from direction_cosines import direction_cosines

import rimetree as rt
from rimetree.beams import Place, beams_text, jones_nodes, oskar_layouts
from rimetree.observing.mounts import horizon
from rimetree.sky_fluxes import stokes_at

SITE = np.array([-2559454.0, 5095372.0, -2849057.0])
CENTRE = (0.1, -0.46)
RNG = np.random.default_rng(5)
#: Near the transit of the centre at the site, and two hours later.
TIMES = 5.24e9 + 1800.0 * 21 + np.array([0.0, 7200.0])
FREQUENCY_HZ = np.array([1.2e8, 1.5e8, 1.51e8])
CELLS = rt.Cells(time_s=TIMES, time_width_s=60.0, freq_hz=FREQUENCY_HZ, freq_width_hz=1e6)
RADEC = np.array(CENTRE) + RNG.uniform(-0.4, 0.4, (7, 2))
SKY = rt.sky.SkyModel(
    [rt.sky.Source(f"s{k}", *place, tuple(RNG.uniform(-0.3, 1.0, 4))) for k, place in enumerate(RADEC)]
)
UVW_M = np.array([300.0, -120.0, 45.0])


def psv(ns, seen):
    return seen.psv(0, 1, rt.Constant(UVW_M))


def visibilities(beams, sky=SKY, write=psv):
    """[2,2,time,freq] of antennas 0 and 1."""
    ns = rt.NodeScope()
    ns.V << write(ns, rt.sky_nodes(ns, sky.seen_through(beams), CENTRE))
    found = rt.Forest(ns).evaluate(ns.V, CELLS)
    return np.broadcast_to(found, (2, 2, len(TIMES), len(FREQUENCY_HZ)))


def many_nodes(ns, seen):
    """The same from a node for each source."""
    left, right = seen.terms(0, 1) or (rt.Constant(np.ones(seen.n_source)),) * 2
    parts = []
    for s in range(seen.n_source):
        ns.K(s) << rt.VisPhaseShift(lmn=seen.lmn[s], uvw=UVW_M)
        parts.append(rt.MatrixMultiply(ns.K(s), left[s], seen.inner_brightness[s], right[s]))
    return rt.Add(*parts)


def jones_of(beam, sky=SKY):
    """[source,2,2,time,freq]: what a station makes of I = 1 of each source is J J^H; here J itself."""
    ns = rt.NodeScope()
    place = Place.of(ns, sky.radec_rad, CENTRE)
    dish = rt.StationBeam.of_elements([[0, 0]], SITE, element="short")  # a matrix: so are all
    jones_nodes(ns, [beam, dish], place)
    found = rt.Forest(ns).evaluate(ns.voltage(0), CELLS)
    return np.broadcast_to(found, (len(sky), 2, 2, len(TIMES), len(FREQUENCY_HZ)))


def element_uvw(places_m, pointing=CENTRE):
    """[element,time,3] of elements to the east, the north and the zenith of the site."""
    ns = rt.NodeScope()
    for e, xyz in enumerate(np.asarray(places_m) @ horizon(SITE)):
        ns.uvw(e) << rt.UVW(rt.Constant(pointing), xyz, np.zeros(3))
    forest = rt.Forest(ns)
    return np.stack([forest.evaluate(ns.uvw(e), CELLS)[:, :, 0].T for e in range(len(places_m))])


def test_visibilities_of_stations_are_those_of_their_elements_added_up():
    layouts = [RNG.normal(scale=8.0, size=(n, 3)) for n in (5, 6)]
    beams = [rt.StationBeam.of_elements(layout, SITE) for layout in layouts]
    lmn = np.stack(direction_cosines(SKY.radec_rad, CENTRE), axis=1)
    (one, other) = (element_uvw(layout) for layout in layouts)
    for t in range(len(TIMES)):
        baselines = UVW_M + one[:, None, t] - other[None, :, t]
        stokes = np.broadcast_to(SKY.stokes_jy[:, None], (len(SKY), len(FREQUENCY_HZ), 4))
        found = rt.predict(baselines.reshape(-1, 3), FREQUENCY_HZ, lmn, stokes)
        expected = found.mean(axis=0).reshape(len(FREQUENCY_HZ), 2, 2)
        np.testing.assert_allclose(np.moveaxis(visibilities(beams)[:, :, t], -1, 0), expected, atol=1e-11)


def test_tiles_are_stations_of_stations():
    tiles, elements = RNG.normal(scale=9.0, size=(4, 3)), RNG.normal(scale=1.5, size=(3, 3))
    apart = (tiles[:, None] + elements).reshape(-1, 3)
    both = [rt.StationBeam.of_elements(tiles, SITE, tile_elements_m=elements), rt.StationBeam.of_elements(apart, SITE)]
    one, other = (visibilities([beam, rt.Beam.of_dish(3.0)]) for beam in both)
    np.testing.assert_allclose(one, other, atol=1e-11)
    assert "of tiles of 3 isotropic elements (4 tiles, " in str(both[0])
    elsewhere = replace(both[0], tile_pointing_rad=(0.2, -0.5))
    assert np.abs(visibilities([elsewhere, rt.Beam.of_dish(3.0)]) - one).max() > 0.01


@pytest.mark.parametrize("element", ["short", "half-wave"])
def test_dipoles_are_seen_by_azimuth_elevation_and_parallactic_angle(element):
    azimuths = (np.radians(70.0), np.radians(-15.0))
    beam = rt.StationBeam.of_elements(
        [[0, 0]], SITE, element=element, height_m=0.4, x_azimuth_rad=azimuths[0], y_azimuth_rad=azimuths[1]
    )
    found = jones_of(beam)
    for s, place in enumerate(SKY.radec_rad):
        ns = rt.NodeScope()
        ns.chi << rt.parallactic_angle(place, SITE)
        ns.there << rt.azimuth_elevation(place, SITE)
        forest = rt.Forest(ns)
        chi, (a, elevation) = forest.evaluate(ns.chi, CELLS)[:, 0], forest.evaluate(ns.there, CELLS)[:, :, 0]
        # On the sky, seen from below: to the zenith, and to its left, where azimuths are less. East, north, up.
        upwards = np.stack([-np.sin(a) * np.sin(elevation), -np.cos(a) * np.sin(elevation), np.cos(elevation)])
        left = np.stack([-np.cos(a), np.sin(a), np.zeros_like(a)])
        north, east = np.cos(chi) * upwards - np.sin(chi) * left, np.sin(chi) * upwards + np.cos(chi) * left
        source = np.stack([np.sin(a) * np.cos(elevation), np.cos(a) * np.cos(elevation), np.sin(elevation)])
        wave = 2 * np.pi * 0.4 * FREQUENCY_HZ / 299792458.0
        ground = np.sin(wave * np.sin(elevation)[:, None]) / np.sin(wave)
        for d, azimuth in enumerate(azimuths):
            axis = np.array([np.sin(azimuth), np.cos(azimuth), 0.0])
            c = axis @ source
            gain = np.cos(np.pi / 2 * c) / (1 - c**2) if element == "half-wave" else np.ones_like(c)
            expected = np.stack([axis @ north, axis @ east]) * gain
            # The zenith is the same; azimuths and elevations leave nothing else out here.
            np.testing.assert_allclose(found[s, d], expected[:, :, None] * ground, atol=1e-12)


def test_elements_may_count_differently_for_both_feeds():
    layout, weights = RNG.normal(scale=8.0, size=(6, 2)), np.array([[1, 1, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1.0]])
    for element in ("isotropic", "half-wave"):
        both = jones_of(rt.StationBeam.of_elements(layout, SITE, weights=weights, element=element))
        for row in range(2):
            alone = jones_of(rt.StationBeam.of_elements(layout[weights[row] > 0], SITE, element=element))
            np.testing.assert_allclose(both[:, row], alone[:, row], atol=1e-12)


def test_one_beam_of_all_is_as_that_of_each():
    tile = rt.StationBeam.mwa_tile(SITE)
    isotropic = rt.StationBeam.of_elements(RNG.normal(scale=5.0, size=(9, 2)), SITE)
    for beam in (tile, isotropic):
        alone, two = visibilities(beam), [beam, replace(beam, name="another")]
        apart = visibilities(two)
        np.testing.assert_allclose(alone, apart, atol=1e-12)
        np.testing.assert_allclose(visibilities(two, write=many_nodes), apart, atol=1e-11)


def test_where_it_points_it_lets_all_through():
    sky = SKY.seen_through(None)
    sky = rt.sky.SkyModel([replace(sky.sources[0], ra_rad=0.15, dec_rad=-0.5)])
    beam = rt.StationBeam.of_elements(RNG.normal(scale=30.0, size=(20, 2)), SITE, pointing_rad=(0.15, -0.5))
    np.testing.assert_allclose(np.abs(visibilities(beam, sky)), np.abs(visibilities(None, sky)), atol=1e-12)
    assert np.abs(visibilities(beam.pointed_at((0.2, -0.5)), sky)[0, 0]).max() < 0.9 * abs(
        visibilities(None, sky)[0, 0, 0, 0]
    )


def test_nothing_is_seen_below_the_horizon():
    sky = rt.sky.SkyModel([rt.sky.Source("below", CENTRE[0] + np.pi, 0.3, (1.0, 0.0, 0.0, 0.0))])
    for element in ("isotropic", "short", "half-wave"):
        assert not visibilities(rt.StationBeam.of_elements([[0, 0], [3, 1]], SITE, element=element), sky).any()


def test_reports_give_the_mean_of_the_times():
    """Of one isotropic element all; of pairs of dipoles the power of unpolarised sources."""
    whole = stokes_at(SKY, FREQUENCY_HZ)
    isotropic = SKY.seen_through(rt.StationBeam.of_elements([[0, 0]], SITE))
    np.testing.assert_allclose(stokes_at(isotropic, FREQUENCY_HZ, CENTRE, TIMES), whole, rtol=1e-12)
    tile = rt.StationBeam.mwa_tile(SITE)
    power = 0.5 * np.einsum("sijtf,sijtf->stf", jones_of(tile), np.conj(jones_of(tile))).real.mean(axis=1)
    found = stokes_at(SKY.seen_through(tile), FREQUENCY_HZ, CENTRE, TIMES)
    np.testing.assert_allclose(found, whole * power[:, None], rtol=1e-12)


def centre_at(time_s):
    """Azimuth and elevation of the centre."""
    ns = rt.NodeScope()
    ns.there << rt.azimuth_elevation(CENTRE, SITE)
    return tuple(rt.Forest(ns).evaluate(ns.there, rt.Cells(time_s=[time_s]))[:, 0, 0].tolist())


@pytest.mark.parametrize(
    "beam",
    [
        rt.Beam.of_dish(6.0),
        rt.StationBeam.of_elements(RNG.normal(scale=6.0, size=(12, 3)), SITE, element="short"),
        rt.StationBeam.of_elements([[0, 0], [5, 2]], SITE, tile_elements_m=[[0, 1], [1, 0.5], [0.3, 2]]),
    ],
    ids=["dish", "dipoles", "tiles"],
)
def test_beams_that_stand_are_those_that_follow_at_the_time_when_they_meet(beam):
    for t, other in ((0, 1), (1, 0)):
        standing = visibilities(beam.standing_at(centre_at(TIMES[t]), SITE))
        np.testing.assert_allclose(standing[:, :, t], visibilities(beam)[:, :, t], atol=1e-10)
        assert np.abs(standing[:, :, other] - visibilities(beam)[:, :, other]).max() > 0.05
    assert " at azimuth " in str(beam.standing_at((0.1, 1.0), SITE))
    assert beam.standing_at((0.1, 1.0), SITE).pointed_at(CENTRE) == beam.pointed_at(list(CENTRE))
    assert hash(beam.standing_at([0.1, 1.0], SITE)) == hash(beam.standing_at(np.array([0.1, 1.0]), list(SITE)))


def test_a_beam_at_the_zenith_sees_alike_all_around():
    """Of a ring of sources, and none of its own azimuth is preferred."""
    from rimetree.beams import drift_frame

    for azimuth in (0.0, 1.3):
        frame = drift_frame((azimuth, np.pi / 2))
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(frame[2], [0, 0, 1], atol=1e-15)
        assert np.linalg.det(frame) == pytest.approx(1)


def test_what_cannot_stand_is_refused():
    for how, said in (
        ({"azel_rad": (0.0, 1.0)}, "a dish that stands has azel_rad and site_m"),
        ({"azel_rad": (0.0, 2.0), "site_m": tuple(SITE)}, "an elevation of 0 to 90 deg"),
        ({"azel_rad": (0.0, 1.0), "site_m": (0.0, 0.0, 1.0)}, "no place on the Earth"),
        ({"azel_rad": (0.0, 1.0), "site_m": tuple(SITE), "pointing_rad": CENTRE}, "not both"),
    ):
        with pytest.raises(rt.Error, match=said):
            replace(rt.Beam.of_dish(6.0), **how)


def test_layouts_are_read(tmp_path):
    file = tmp_path / "layout.txt"
    file.write_text("# east, north\n1.0, 2.0\n\n-3 4 0.5 0.01 7  # with errors\n")
    beam = rt.StationBeam.read(file, SITE, element="short")
    np.testing.assert_array_equal(beam.elements_m, [[1, 2, 0], [-3, 4, 0.5]])
    assert str(beam).startswith("layout.txt of short dipoles (2 elements, ")
    for text, said in (("1 a\n", "line 1"), ("\n", "no elements"), ("1\n", "line 1"), ("1 nan\n", "line 1")):
        file.write_text(text)
        with pytest.raises(rt.Error, match=said):
            rt.StationBeam.read(str(file), SITE)
    with pytest.raises(rt.Error, match="can be read"):
        rt.StationBeam.read(str(tmp_path / "none.txt"), SITE)


def test_telescope_models_of_oskar_are_read(tmp_path):
    for k in (1, 0):
        os.makedirs(tmp_path / f"station{k:03}")
        (tmp_path / f"station{k:03}" / "layout.txt").write_text(f"{k} 2\n" * (k + 1))
    (tmp_path / "layout.txt").write_text("0 0\n")
    assert [layout.tolist() for layout in oskar_layouts(str(tmp_path))] == [[[0, 2, 0]], [[1, 2, 0]] * 2]
    (tmp_path / "station000" / "element_types.txt").write_text("0\n")
    with pytest.raises(rt.Error, match=r"element_types\.txt: of stations only layout.txt is read"):
        oskar_layouts(str(tmp_path))
    with pytest.raises(rt.Error, match="no folder of a station"):
        oskar_layouts(str(tmp_path / "station001"))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"elements_m": [1.0, 2.0]}, "elements_m must be"),
        ({"elements_m": np.zeros((0, 2))}, "elements_m must be"),
        ({"site_m": (0, 0, 0)}, "no place on the Earth"),
        ({"axes": np.eye(3)}, "one of them"),
        ({"site_m": None}, "one of them"),
        ({"site_m": None, "axes": np.ones((3, 3))}, "right angles"),
        ({"weights": [1.0]}, "weights of a station of 2 elements"),
        ({"weights": [1.0, -1.0]}, "add up to 0"),
        ({"element": "dipole"}, "isotropic, short or half-wave"),
        ({"height_m": 1.0}, "goes with dipoles"),
        ({"height_m": -1.0, "element": "short"}, "must not be negative"),
        ({"pointing_rad": (1.0,)}, "must be 2 values"),
    ],
)
def test_what_is_no_station_is_refused(how, said):
    given = {"elements_m": [[0, 0], [1, 1]], "site_m": SITE} | how
    with pytest.raises(rt.Error, match=said):
        rt.StationBeam.of_elements(given.pop("elements_m"), given.pop("site_m"), **given)


def test_circular_feeds_have_no_dipoles():
    ns = rt.NodeScope()
    with pytest.raises(rt.Error, match="MWA tile has linear feeds, but the visibilities are of circular ones"):
        rt.sky_nodes(ns, SKY.seen_through(rt.StationBeam.mwa_tile(SITE)), CENTRE, feed="circular")
    isotropic = rt.StationBeam.of_elements([[0, 0], [1, 1]], SITE)
    rt.sky_nodes(ns, SKY.seen_through(isotropic), CENTRE, feed="circular")
    by_feed = rt.StationBeam.of_elements([[0, 0], [1, 1]], SITE, weights=[[1, 0], [1, 1]])
    with pytest.raises(rt.Error, match="station has linear feeds"):
        rt.sky_nodes(ns, SKY.seen_through(by_feed), CENTRE, feed="circular")


def test_stations_are_told_apart_by_their_elements():
    tile = rt.StationBeam.mwa_tile(SITE)
    wider = replace(tile, elements_m=2 * tile.elements_m)
    assert wider != tile and replace(tile) == tile and hash(replace(tile)) == hash(tile)
    assert SKY.seen_through(beam for beam in (tile, wider)).beam == (tile, wider)
    assert SKY.seen_through([tile, replace(tile)]).beam == tile


def test_stations_that_differ_by_their_elements_are_told_together():
    beams = [rt.StationBeam.of_elements(RNG.normal(size=(n, 2)), SITE, name="core") for n in (4, 5, 5)]
    text = beams_text([*beams, rt.Beam.of_dish(12.0)])
    assert text.startswith("beams: 3 x core of isotropic elements (") and text.endswith(
        "), 1 x airy beam of a dish of 12 m"
    )
    assert text != beams_text([beams[1], beams[0], beams[2], rt.Beam.of_dish(12.0)])


FIELDS = {
    "n_antenna": 2,
    "fields": [
        {
            "antenna_id": k,
            "name": name,
            "axes": horizon(SITE).ravel().tolist(),
            "elements_m": (np.array([[k, 0, 0], [4, 5, 0], [6, 7 + k, 0.0]]) @ horizon(SITE)).ravel().tolist(),
            "is_dead": [0, 0, 1, 0, 1, 1],
            "tile_elements_m": (np.array([[1, 0, 0], [0, 1.2, 0]]) @ horizon(SITE)).ravel().tolist(),
        }
        for k, name in ((0, "HBA"), (1, "HBA0"), (1, "HBA1"))
    ],
    "station_directions_rad": [[0.1, -0.4]],
    "tile_directions_rad": [[0.1, -0.4]],
}


def test_stations_of_lofar_are_as_the_set_says(monkeypatch):
    """One of a field, and one joined of two; of each the last element is dead, and another for X."""
    monkeypatch.setattr(rt._core, "read_antenna_fields", lambda path: FIELDS)
    how = {
        "element": "short", "height_m": 0.45, "x_azimuth_rad": np.radians(225), "y_azimuth_rad": np.radians(135),
        "tile_elements_m": [[1, 0], [0, 1.2]], "pointing_rad": (0.1, -0.4),
    }  # fmt: skip
    expected = [
        rt.StationBeam.of_elements([[0, 0], [4, 5]], SITE, weights=[[1, 0], [1, 1]], **how),
        rt.StationBeam.of_elements([[1, 0], [4, 5]] * 2, SITE, weights=[[1, 0] * 2, [1] * 4], **how),
    ]
    found = rt.lofar_beams("a.MS")
    np.testing.assert_allclose(visibilities(found), visibilities(expected), atol=1e-10)
    assert str(found[1]).startswith("LOFAR HBA station of tiles of 2 short dipoles 0.45 m above the ground towards")
    assert rt.lofar_beams("a.MS", pointing_rad=(0.2, -0.3))[0].pointing_rad == (0.2, -0.3)
    low = FIELDS | {"fields": [field | {"name": "LBA", "tile_elements_m": []} for field in FIELDS["fields"][:2]]}
    monkeypatch.setattr(rt._core, "read_antenna_fields", lambda path: low)
    assert str(rt.lofar_beams("a.MS")[0]).startswith(
        "LOFAR LBA station of short dipoles 1.3 m above the ground towards"
    )


def test_stations_of_lofar_point_where_they_did_in_a_field(monkeypatch):
    several = {
        "station_directions_rad": [[0.1, -0.4], [0.2, -0.3], [0.2, -0.3]],
        "tile_directions_rad": [[0.1, -0.4], [0.2, -0.3], [0.25, -0.35]],
    }
    monkeypatch.setattr(rt._core, "read_antenna_fields", lambda path: FIELDS | several)
    assert rt.lofar_beams("a.MS", field_id=1)[0].pointing_rad == (0.2, -0.3)
    assert rt.lofar_beams("a.MS", field_id=[2])[0].tile_pointing_rad == (0.25, -0.35)
    with pytest.raises(rt.Error, match="beams of fields 0 and 1 point to different places; take one field"):
        rt.lofar_beams("a.MS")
    with pytest.raises(rt.Error, match="beams of fields 1 and 2 point to different places"):
        rt.lofar_beams("a.MS", field_id=[1, 2])
    with pytest.raises(rt.Error, match="where the beams of field 3 point"):
        rt.lofar_beams("a.MS", field_id=3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_antenna": 3}, "where the elements of antenna 2 are"),
        ({"station_directions_rad": [[0.1, 0.2], [0.1, 0.3]]}, "point to different places"),
        ({"fields": [FIELDS["fields"][0], *({**FIELDS["fields"][k], "tile_elements_m": [k] * 3} for k in (1, 2))]},
         "HBA0 and HBA1 differ in axes or tiles"),
        ({"n_antenna": 1, "fields": [FIELDS["fields"][0] | {"is_dead": [1, 0, 1, 0, 1, 1]}]}, "are flagged"),
    ],
)  # fmt: skip
def test_what_sets_do_not_say_is_told(changes, said, monkeypatch):
    monkeypatch.setattr(rt._core, "read_antenna_fields", lambda path: FIELDS | changes)
    with pytest.raises(rt.Error, match=said):
        rt.lofar_beams("a.MS")


def test_dipoles_half_a_wave_above_the_ground_are_refused():
    beam = rt.StationBeam.of_elements([[0, 0]], SITE, element="short", height_m=1.0)
    with pytest.raises(rt.Error, match="1 m above a ground are half a wave or more above it at 150 MHz"):
        jones_of(beam)
    jones_of(replace(beam, height_m=0.99))
