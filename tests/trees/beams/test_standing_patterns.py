"""Skies seen through files of UVBeam, against stations of short dipoles and against sums in NumPy."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from beamfits import AXES, DEG, short_dipoles, some_pattern, write_beamfits

import rimetree as rt
from rimetree.beams import Place, beams_text, jones_nodes, require_pointing
from rimetree.observing.mounts import horizon

SITE = np.array([5109270.0, 2006780.0, -3239050.0])
CENTRE = (0.1, -0.53)
TIMES = 5.24e9 + 1800.0 * np.arange(0, 48, 5)
BEAM_HZ = np.array([1.2e8, 1.3e8, 1.4e8, 1.5e8])
FREQUENCY_HZ = np.array([1.2e8, 1.37e8, 1.5e8])
CELLS = rt.Cells(time_s=TIMES, time_width_s=60.0, freq_hz=FREQUENCY_HZ, freq_width_hz=1e6)
AZIMUTH, ZENITH_ANGLE = np.arange(0, 360, 5) * DEG, np.arange(0, 91, 5) * DEG
RNG = np.random.default_rng(7)
RADEC = np.column_stack([RNG.uniform(0, 2 * np.pi, 60), np.arcsin(RNG.uniform(-1, 1, 60))])


def jones(beam, radec=RADEC, cells=CELLS):
    """[source,2,2,time,freq]"""
    ns = rt.NodeScope()
    jones_nodes(ns, [beam], Place.of(ns, np.asarray(radec), CENTRE))
    found = rt.Forest(ns).evaluate(ns.voltage(0), cells)
    return np.broadcast_to(found, (len(radec), 2, 2, *found.shape[3:-1], len(cells.freq_hz)))


def directions(radec=RADEC, site=SITE):
    """[3,source,time]: to the east, the north and the zenith."""
    ns = rt.NodeScope()
    for k, place in enumerate(np.asarray(radec)):
        for axis, vector in enumerate(horizon(site)):
            ns.along(k, axis) << rt.UVW(rt.Constant(place), vector, np.zeros(3))
    forest = rt.Forest(ns)
    return np.array(
        [[forest.evaluate(ns.along(k, axis), CELLS)[2, :, 0] for k in range(len(radec))] for axis in range(3)]
    )


def dipoles_file(folder, azimuth=AZIMUTH, zenith_angle=ZENITH_ANGLE, frequency_hz=(1.4e8,), **how):
    table = short_dipoles(azimuth, zenith_angle)[:, :, None] * np.ones((len(frequency_hz), 1, 1))
    return write_beamfits(folder / "dipoles.beamfits", table, frequency_hz, azimuth, zenith_angle, **how)


def some_file(folder, name="some", azimuth=AZIMUTH, zenith_angle=ZENITH_ANGLE, **how):
    table = some_pattern(BEAM_HZ, azimuth, zenith_angle)
    return write_beamfits(folder / f"{name}.beamfits", table, BEAM_HZ, azimuth, zenith_angle, **how)


@pytest.mark.parametrize("step_deg", [5, 2.5])
def test_fields_of_short_dipoles_are_those_of_a_station_of_one(tmp_path, step_deg):
    """Along all directions of the sky, to what cubics leave; below the horizon nothing."""
    azimuth, zenith_angle = np.arange(0, 360, step_deg) * DEG, np.arange(0, 91, step_deg) * DEG
    found = jones(rt.StandingPattern.read(dipoles_file(tmp_path, azimuth, zenith_angle), SITE))
    expected = jones(rt.StationBeam.of_elements([[0, 0]], SITE, element="short"))
    assert (expected == 0).all(axis=(1, 2, 4)).any() and (np.abs(expected).max(axis=(1, 2)) > 0.99).any()
    np.testing.assert_allclose(found, expected, rtol=0, atol=8e-5 * (step_deg / 5) ** 3)


def test_on_the_grid_it_is_what_the_file_says(tmp_path):
    """Of sources that are at places of the grid once: east, north and zenith there are those of the sky."""
    beam = rt.StandingPattern.read(some_file(tmp_path), SITE)
    z, a = (
        np.ravel(x) for x in np.meshgrid(ZENITH_ANGLE[[0, 1, 3, 10, 17]], AZIMUTH[[0, 1, 20, 50, 71]], indexing="ij")
    )
    # Where that is on the sky at the first time: the frame of the place, in the terms of the sky.
    axes = np.stack([directions([place])[:, 0, 0] for place in ((0, 0), (np.pi / 2, 0), (0, np.pi / 2))], axis=1)
    to = np.stack([np.sin(z) * np.cos(a), np.sin(z) * np.sin(a), np.cos(z)])
    x, y, pole = np.linalg.inv(axes) @ to
    radec = np.column_stack([np.arctan2(y, x), np.arcsin(pole)])
    found = jones(beam, radec)[..., 0, :]
    own = jones(rt.StationBeam.of_elements([[0, 0]], SITE, element="short"), radec)[:, :, :, 0, 0]
    table = some_pattern(BEAM_HZ, AZIMUTH, ZENITH_ANGLE)[:, :, [0, 3]]
    dipole = short_dipoles(AZIMUTH, ZENITH_ANGLE)
    for k in range(len(z)):
        at = round(z[k] / DEG / 5), round(a[k] / DEG / 5)
        # Fields along azimuth and zenith angle from those of the sky, by dipoles that answer to both.
        to_sky = np.linalg.solve(dipole[(slice(None), slice(None), *at)].T, own[k])
        for f, channel in enumerate((0, 2)):
            expected = table[(slice(None), slice(None), f, *at)].T @ to_sky
            np.testing.assert_allclose(found[k, :, :, channel], expected, rtol=0, atol=1e-9)


def test_between_frequencies_it_is_smooth(tmp_path):
    """Against a file with planes at all of them."""
    beam = rt.StandingPattern.read(some_file(tmp_path), SITE)
    table = some_pattern(FREQUENCY_HZ[1:2], AZIMUTH, ZENITH_ANGLE)
    exact = rt.StandingPattern.read(
        write_beamfits(tmp_path / "one.beamfits", table, FREQUENCY_HZ[1:2], AZIMUTH, ZENITH_ANGLE), SITE
    )
    found, expected = jones(beam)[..., 1], jones(exact)[..., 1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
    assert beam.reaches(1.2e8, 1.5e8) and not beam.reaches(1.1e8, 1.3e8)
    # Beyond the first and the last frequency it is as there.
    beyond = rt.Cells(time_s=TIMES[:1], freq_hz=[1.0e8, 1.2e8, 1.5e8, 1.9e8])
    low, first, last, high = np.moveaxis(jones(beam, RADEC, beyond), -1, 0)
    assert (low == first).all() and (high == last).all()


@pytest.mark.parametrize(
    "azimuth, zenith_angle",
    [
        (np.arange(-180, 180, 5), np.arange(0, 91, 5)),
        (np.arange(0, 361, 5), np.arange(0, 91, 5)),
        (np.arange(355, -1, -5), np.arange(180, -1, -5)),
        (np.arange(2.5, 360, 5), np.arange(2.5, 93, 5)),
        (np.arange(0, 360, 24 / 7), np.arange(0, 96, 5)),
    ],
    ids=["from -180", "360 twice", "the other way", "middles of cells", "an odd number"],
)
def test_grids_begin_anywhere_and_run_either_way(tmp_path, azimuth, zenith_angle):
    beam = rt.StandingPattern.read(some_file(tmp_path), SITE)
    other = rt.StandingPattern.read(some_file(tmp_path, "other", azimuth * DEG, zenith_angle * DEG), SITE)
    np.testing.assert_allclose(jones(other), jones(beam), rtol=0, atol=3e-4)


def test_vectors_units_and_axes_of_any_kind(tmp_path):
    expected = jones(rt.StandingPattern.read(some_file(tmp_path), SITE))
    same = jones(rt.StandingPattern.read(some_file(tmp_path, unit="rad", axes=("FREQ", *AXES[:2], *AXES[3:])), SITE))
    np.testing.assert_allclose(same, expected, rtol=0, atol=1e-12)
    # Fields along other vectors: by a turn that differs from place to place.
    turn = 0.3 + AZIMUTH + np.zeros((len(ZENITH_ANGLE), 1))
    vectors = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    table = np.einsum("vcza,cpfza->vpfza", vectors, some_pattern(BEAM_HZ, AZIMUTH, ZENITH_ANGLE))
    file = write_beamfits(tmp_path / "v.beamfits", table, BEAM_HZ, AZIMUTH, ZENITH_ANGLE, vectors=vectors)
    np.testing.assert_allclose(jones(rt.StandingPattern.read(file, SITE)), expected, rtol=0, atol=1e-12)
    # Frequencies that descend.
    table = some_pattern(BEAM_HZ[::-1], AZIMUTH, ZENITH_ANGLE)
    file = write_beamfits(tmp_path / "d.beamfits", table, BEAM_HZ[::-1], AZIMUTH, ZENITH_ANGLE)
    np.testing.assert_allclose(jones(rt.StandingPattern.read(file, SITE)), expected, rtol=0, atol=1e-12)
    # Feeds in the other order.
    table = some_pattern(BEAM_HZ, AZIMUTH, ZENITH_ANGLE)[:, ::-1]
    file = write_beamfits(tmp_path / "f.beamfits", table, BEAM_HZ, AZIMUTH, ZENITH_ANGLE, FEEDLIST="['y', 'x']")
    np.testing.assert_allclose(jones(rt.StandingPattern.read(file, SITE)), expected, rtol=0, atol=1e-12)


def test_physical_fields_are_those_of_their_peak(tmp_path):
    table = some_pattern(BEAM_HZ, AZIMUTH, ZENITH_ANGLE)
    table /= np.linalg.norm(table, axis=0).max(axis=(0, 2, 3))[:, None, None]
    file = write_beamfits(tmp_path / "peak.beamfits", table, BEAM_HZ, AZIMUTH, ZENITH_ANGLE)
    expected = jones(rt.StandingPattern.read(file, SITE))
    table = table * np.array([3.0, 40.0, 5.0, 6.0])[:, None, None]
    file = write_beamfits(tmp_path / "p.beamfits", table, BEAM_HZ, AZIMUTH, ZENITH_ANGLE, NORMSTD="physical")
    np.testing.assert_allclose(jones(rt.StandingPattern.read(file, SITE)), expected, rtol=0, atol=1e-12)


def test_physical_fields_along_both_vectors_count_together(tmp_path):
    """A pattern of pyuvdata's AiryBeam is [[1, 1], [1, 1]] / sqrt(2) times the root of the power: it had twice the
    flux, as the largest component was made 1."""
    table = np.full((2, 2, 1, len(ZENITH_ANGLE), len(AZIMUTH)), 0.3 + 0j)
    file = write_beamfits(tmp_path / "a.beamfits", table, [1.4e8], AZIMUTH, ZENITH_ANGLE, NORMSTD="physical")
    up = directions()[2].T > 0.2  # and near the zenith it is not smooth
    power = (np.abs(jones(rt.StandingPattern.read(file, SITE))[..., 0]) ** 2).sum(axis=2)  # [source,feed,time]
    far = up & (directions()[2].T < 0.9)
    np.testing.assert_allclose(np.moveaxis(power, 1, 2)[far.T], 1.0, rtol=0, atol=2e-3)


def test_antennas_whose_feeds_follow_the_sky_do_not_go_with_it_unsaid(tmp_path):
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (1.0, 0, 0, 0))])
    beam, station = rt.StandingPattern.read(some_file(tmp_path), SITE), rt.StationBeam.mwa_tile(SITE)
    with pytest.warns(UserWarning, match=r"X of the standing pattern some.* and that of the airy beam .* on the sky"):
        sky.seen_through([beam, rt.Beam.of_dish(14.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sky.seen_through([beam, station])


def test_beams_that_stand_do_not_ask_where_the_phase_centre_is(tmp_path):
    """A model that is predicted for another one had been refused, though they say where they point."""
    dish, station = rt.Beam.of_dish(14.0), rt.StationBeam.mwa_tile(SITE)
    standing = [beam.standing_at((0.0, 1.5), tuple(SITE)) for beam in (dish, station)]
    require_pointing([rt.StandingPattern.read(some_file(tmp_path), SITE), *standing])
    for beam in (dish, station):
        with pytest.raises(rt.Error, match="give the beams a pointing_rad"):
            require_pointing([*standing, beam])
        require_pointing(beam.pointed_at(CENTRE))


def test_visibilities_of_a_polarised_sky(tmp_path):
    """Of antennas that are alike, and of two kinds, by PSV and from a node for each source."""
    sky = rt.sky.SkyModel(
        [rt.sky.Source(f"s{k}", *place, tuple(RNG.uniform(-0.3, 1, 4))) for k, place in enumerate(RADEC[:20])]
    )
    beam, station = rt.StandingPattern.read(some_file(tmp_path), SITE), rt.StationBeam.mwa_tile(SITE)
    uvw = rt.Constant([30.0, -12.0, 5.0])
    i, q, u, v = sky.stokes_jy.T
    brightness = np.moveaxis(np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]]), 2, 0)
    for beams in (beam, [beam, station], [beam, replace(beam, site_m=(*SITE[:2], SITE[2] + 5e5))]):
        ns = rt.NodeScope()
        seen = rt.sky_nodes(ns, sky.seen_through(beams), CENTRE)
        ns.V << seen.psv(0, 1, uvw)
        ns.K << rt.VisPhaseShift(lmn=seen.lmn, uvw=uvw)
        forest = rt.Forest(ns)
        found, phase = forest.evaluate(ns.V, CELLS), forest.evaluate(ns.K, CELLS)
        one, other = (jones(each, sky.radec_rad) for each in (beams if isinstance(beams, list) else [beams] * 2))
        expected = np.einsum("stf,sijtf,sjk,slktf->iltf", phase, one, brightness, np.conj(other))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_patterns_are_the_same_where_their_numbers_and_places_are(tmp_path):
    one, again = (rt.StandingPattern.read(some_file(tmp_path), SITE) for _ in range(2))
    assert one == again and hash(one) == hash(again) and replace(one, site_m=(5e6, 2e6, 0.0)) != one
    assert re.fullmatch(r"the standing pattern some.beamfits \([0-9a-f]{8}\)", beams_text(one))
    assert one.standing_at((0.3, np.pi / 2), SITE) is one
    with pytest.raises(rt.Error, match="give no other"):
        one.standing_at((0.3, 1.2), SITE)
    with pytest.raises(rt.Error, match="cannot be pointed"):
        one.pointed_at(CENTRE)


@pytest.mark.parametrize("profile", ["airy", "gaussian", "cosine"])
def test_dishes_that_stand_see_nothing_through_the_ground(profile):
    """A wide beam of a dish that points low had three quarters of sources below the horizon."""
    beam = rt.Beam(profile, 0.6, 1.4e8, azel_rad=(0.3, 0.1), site_m=tuple(SITE))
    ns = rt.NodeScope()
    jones_nodes(ns, [beam], Place.of(ns, RADEC, CENTRE))
    found, up = rt.Forest(ns).evaluate(ns.voltage(0), CELLS)[..., 0], directions()[2]
    assert (found[up < 0] == 0).all() and (found[up > 0] != 0).any() and (up < 0).any()
    east, north = np.sin(0.3) * np.cos(0.1), np.cos(0.3) * np.cos(0.1)
    towards = np.einsum("k,kst->st", [east, north, np.sin(0.1)], directions())
    lmn = np.stack([np.sqrt(1 - towards**2), 0 * towards, towards], axis=1)
    ns = rt.NodeScope()
    ns.V << beam.voltage(rt.Constant(lmn, cells_rank=1), len(lmn))
    free = np.broadcast_to(rt.Forest(ns).evaluate(ns.V, CELLS)[..., 0], found.shape)
    np.testing.assert_allclose(found[up > 0], free[up > 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"BTYPE": "power"}, "BTYPE is 'power', expected efield"),
        ({"COORDSYS": "healpix"}, "COORDSYS is 'healpix', expected az_za"),
        ({"NORMSTD": "solid_angle"}, "NORMSTD is 'solid_angle', expected physical or peak"),
        ({"MNTSTA": "alt-az"}, "expected the pattern of an antenna that stands"),
        ({"FEEDLIST": "[r, l]"}, r"FEEDLIST is '\[r, l\]', expected"),
        ({"CUNIT1": "arcmin"}, "axis AZIMUTH is in arcmin, expected deg, rad"),
        ({"CDELT1": 4.0}, "azimuths are 0 to 284 deg in 72 steps, expected all around"),
        ({"CRVAL2": 5.0}, "zenith angles are 5 to 95 deg, expected all from the zenith"),
        ({"CDELT2": 3.0}, "zenith angles are 0 to 54 deg, expected all"),
        ({"CUNIT3": "MHz", "CRVAL3": 1.2e-4}, "is below what reaches the ground"),
        ({"CTYPE6": "OTHER"}, "there is no axis VECIND in it"),
        ({"CDELT3": "fast"}, "CDELT3 is no number"),
    ],
)
def test_what_is_no_such_pattern_is_told(tmp_path, how, message):
    file = some_file(tmp_path, **how)
    with pytest.raises(rt.Error, match=f"some.beamfits: .*{message}"):
        rt.StandingPattern.read(file, SITE)


def test_coarse_grids_are_refused(tmp_path):
    with pytest.raises(rt.Error, match="azimuths and zenith angles are 45 and 5 deg apart, too far"):
        rt.StandingPattern.read(some_file(tmp_path, azimuth=np.arange(0, 360, 45) * DEG), SITE)


def test_damaged_files_are_told(tmp_path):
    with pytest.raises(rt.Error, match="no FITS file that can be read"):
        rt.StandingPattern.read(tmp_path / "none.beamfits", SITE)
    (tmp_path / "text.beamfits").write_text("beam")
    with pytest.raises(rt.Error, match="no FITS file that can be read"):
        rt.StandingPattern.read(tmp_path / "text.beamfits", SITE)
    with pytest.raises(rt.Error, match="no BASISVEC"):
        rt.StandingPattern.read(some_file(tmp_path, vectors=np.ones((2, 2, 3, 3))), SITE)
    table = some_pattern(BEAM_HZ, AZIMUTH, ZENITH_ANGLE)
    table[0, 0, 0, 0, 0] = np.nan
    file = write_beamfits(tmp_path / "nan.beamfits", table, BEAM_HZ, AZIMUTH, ZENITH_ANGLE)
    with pytest.raises(rt.Error, match="some values are no numbers"):
        rt.StandingPattern.read(file, SITE)
    with pytest.raises(rt.Error, match="site_m"):
        rt.StandingPattern.read(some_file(tmp_path), (1.0, 2.0))
    table[:, :, 1] = 0
    file = write_beamfits(
        tmp_path / "0.beamfits", np.nan_to_num(table), BEAM_HZ, AZIMUTH, ZENITH_ANGLE, NORMSTD="physical"
    )
    with pytest.raises(rt.Error, match="nothing comes through"):
        rt.StandingPattern.read(file, SITE)
