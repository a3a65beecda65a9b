"""Where sources stand on the sky of a place, and how feeds turn there."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration

PLACES = {"Karoo": (5109270.0, 2006780.0, -3239050.0), "Exloo": (3826896.2, 460979.5, 5064658.2)}
RADEC = (0.93, -0.3)
TIME_S = 5.2e9 + 3600.0 * np.arange(0, 24, 5)
ABERRATION_RAD = 2e-4  # and UT1 - UTC


def values(definition, time_s=TIME_S):
    ns = rt.NodeScope()
    ns.x << definition
    return rt.Forest(ns).evaluate(ns.x, rt.Cells(time_s))[..., 0]


def by_astropy(xyz_m):
    """Azimuth and elevation of RADEC, and the position angle of the zenith there, at each time."""
    from astropy import units as u
    from astropy.coordinates import AltAz, EarthLocation, SkyCoord
    from astropy.time import Time
    from astropy.utils import iers

    with iers.conf.set_temp("auto_download", False):
        place = EarthLocation.from_geocentric(*xyz_m, unit="m")
        frame = AltAz(obstime=Time(TIME_S / 86400, format="mjd", scale="utc"), location=place)
        source = SkyCoord(*RADEC, unit="rad")
        there = source.transform_to(frame)
        zenith = SkyCoord(alt=90 * u.deg, az=0 * u.deg, frame=frame).transform_to("icrs")
        return there.az.rad, there.alt.rad, source.position_angle(zenith).rad


@pytest.mark.parametrize("place", PLACES)
def test_places_on_the_sky_are_those_of_astropy(place):
    azimuth, elevation, angle = by_astropy(PLACES[place])
    found = values(rt.azimuth_elevation(RADEC, PLACES[place]))
    assert found.shape == (2, len(TIME_S))
    np.testing.assert_allclose(found[1], elevation, rtol=0, atol=ABERRATION_RAD)
    turn = np.exp(1j * found[0]) - np.exp(1j * azimuth)
    np.testing.assert_allclose(np.cos(elevation) * turn, 0, rtol=0, atol=ABERRATION_RAD)
    turn = np.exp(1j * values(rt.parallactic_angle(RADEC, PLACES[place]))) - np.exp(1j * angle)
    np.testing.assert_allclose(np.cos(elevation) * turn, 0, rtol=0, atol=ABERRATION_RAD)


def test_directions_may_be_nodes_and_the_zenith_is_no_hole():
    ns = rt.NodeScope()
    ns.radec << rt.Composer(rt.Parm(RADEC[0], solvable=True), rt.Parm(RADEC[1], solvable=True))
    ns.there << rt.azimuth_elevation(ns.radec, PLACES["Karoo"])
    ns.angle << rt.parallactic_angle(ns.radec, PLACES["Karoo"])
    forest, cells = rt.Forest(ns), rt.Cells(TIME_S)
    np.testing.assert_array_equal(
        forest.evaluate(ns.there, cells)[..., 0], values(rt.azimuth_elevation(RADEC, PLACES["Karoo"]))
    )
    for node in (ns.there, ns.angle):
        assert forest.check_derivatives(node, cells).good(1e-6)
    pole = values(rt.azimuth_elevation((0.0, np.pi / 2), (0.0, 0.0, 6.4e6)), [5.2e9])
    assert np.isfinite(pole).all() and abs(pole[1, 0] - np.pi / 2) < 0.01


@pytest.mark.parametrize("feed", ["linear", "circular"])
def test_turned_feeds_see_turned_polarisation(feed):
    angle, (stokes_i, q, u, v) = 0.4, (2.0, 0.3, -0.2, 0.1)
    ns = rt.NodeScope()
    ns.P << rt.feed_rotation(angle, feed=feed)
    ns.seen << ns.P @ rt.Stokes([stokes_i, q, u, v], feed=feed) @ ns.P.H
    turned = (q + 1j * u) * np.exp(-2j * angle)
    ns.turned << rt.Stokes([stokes_i, turned.real, turned.imag, v], feed=feed)
    forest = rt.Forest(ns)
    np.testing.assert_allclose(forest.evaluate(ns.seen), forest.evaluate(ns.turned), rtol=0, atol=1e-15)


@pytest.mark.parametrize("feed", ["linear", "circular"])
def test_a_calibration_takes_out_what_a_tree_has_turned(feed, tmp_path):
    path = str(tmp_path / "a.ms")
    telescope = rt.telescopes.get("kat-7")
    rt.ms.create(
        path,
        telescope,
        phase_centre_rad=RADEC,
        duration_s=14400.0,
        integration_s=1800.0,
        correlations="RR RL LR LL" if feed == "circular" else "XX XY YX YY",
    )
    model = rt.sky.SkyModel([rt.sky.Source("a", *RADEC, (20.0, 2.0, -3.0, 0.5))])
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, model, group.phase_centre_rad, feed=group.feed)
    for p in group.antennas:
        ns.P(p) << rt.feed_rotation(
            rt.parallactic_angle(group.phase_centre_rad, group.antenna_xyz_m[p]), feed=group.feed
        )
    for p, q in group.baselines:
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
        ns.V(p, q) << ns.P(p) @ rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q)) @ ns.P(q).H
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(path)
    terms = calibration.parse_terms(["G: diag", "P: parallactic"])
    report = calibration.calibrate(path, model, terms, str(tmp_path / "a.h5"))
    assert report.left < 1e-12


def test_what_is_no_place_is_refused():
    for function in (rt.parallactic_angle, rt.azimuth_elevation):
        with pytest.raises(rt.Error, match=rf"{function.__name__}: xyz_m is \[0.0, 0.0, 0.0\], which is no place"):
            function(RADEC, np.zeros(3))
