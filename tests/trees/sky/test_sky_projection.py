"""Gaussians on the sky in the (l, m) plane of a phase centre, against ellipses projected point by point."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rimetree as rt
from rimetree import sky
from rimetree.sky import SkyModel, Source

ARCSEC = math.pi / 648000


def vector(ra, dec):
    return np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])


def in_plane(points, centre):
    """(l, m) of unit vectors [3, ...]: their components along east and north at the phase centre."""
    ra, dec = centre
    east = np.array([-math.sin(ra), math.cos(ra), 0.0])
    north = np.cross(vector(ra, dec), east)
    return np.array([east @ points, north @ points])


def ellipse_on_the_sphere(ra, dec, major, minor, angle, scale):
    """Points of the ellipse, `scale` times its half widths: arcs of great circles at position angles on the sphere."""
    phase = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    along, across = 0.5 * scale * major * np.cos(phase), 0.5 * scale * minor * np.sin(phase)
    length = np.hypot(along, across)
    position_angle = angle + np.arctan2(across, along)
    # The end of an arc of this length and position angle (north through east): spherical trigonometry.
    end_dec = np.arcsin(np.sin(dec) * np.cos(length) + np.cos(dec) * np.sin(length) * np.cos(position_angle))
    turn = np.arctan2(
        np.sin(position_angle) * np.sin(length) * np.cos(dec), np.cos(length) - np.sin(dec) * np.sin(end_dec)
    )
    return vector(ra + turn, end_dec)


def fitted(points):
    """(major, minor, angle) of a set of (l, m) on an ellipse around its middle: conic by least squares."""
    offsets = points - points.mean(axis=1, keepdims=True)
    x, y = offsets / np.abs(offsets).max()
    (a, b, c), *_ = np.linalg.lstsq(np.column_stack([x * x, 2 * x * y, y * y]), np.ones(len(x)), rcond=None)
    sharpness, axes = np.linalg.eigh([[a, b], [b, c]])
    widths = 2 / np.sqrt(sharpness) * np.abs(offsets).max()
    return widths[0], widths[1], math.atan2(axes[0, 0], axes[1, 0]) % math.pi


@pytest.mark.parametrize("centre", [(0.9, -0.5), (0.0, 1.45), (3.0, 0.0)])
def test_ellipses_projected_point_by_point(centre):
    rng = np.random.default_rng(3)
    sources = []
    for index in range(40):
        # Anywhere within 60 degrees, poles and the other side of the pole too.
        distance, direction = rng.uniform(0, 1.0), rng.uniform(0, 2 * np.pi)
        dec = math.asin(
            math.sin(centre[1]) * math.cos(distance) + math.cos(centre[1]) * math.sin(distance) * math.cos(direction)
        )
        turn = math.atan2(
            math.sin(direction) * math.sin(distance) * math.cos(centre[1]),
            math.cos(distance) - math.sin(centre[1]) * math.sin(dec),
        )
        shape = (rng.uniform(50, 200) * ARCSEC, rng.uniform(5, 40) * ARCSEC, rng.uniform(0, math.pi))
        sources.append(Source(f"s{index}", centre[0] + turn, dec, (1, 0, 0, 0), gaussian=shape))
    found = SkyModel(sources).shapes_in_plane(centre)
    for source, shape in zip(sources, found, strict=True):
        points = ellipse_on_the_sphere(source.ra_rad, source.dec_rad, *source.gaussian, scale=1e-3)
        expected = fitted(in_plane(points, centre))
        # Curvature: a thousandth of 200 arcsec over the radius of the sphere, 1e-6, times tan(60 deg); squared in the
        # middle, so that the conic is good to 1e-6 of its axes.
        assert 1e-3 * shape[:2] == pytest.approx(expected[:2], rel=3e-6), source
        turned = math.remainder(shape[2] - expected[2], math.pi)
        assert abs(turned) < 1e-5, source


def test_at_the_phase_centre_nothing_changes_and_planes_stay():
    shape = (3e-4, 1e-4, 0.7)
    model = SkyModel(
        [
            Source("centre", 0.9, -0.5, (1, 0, 0, 0), gaussian=shape),
            Source("away", 1.1, -0.7, (1, 0, 0, 0), gaussian=shape),
            Source("plane", 1.1, -0.7, (1, 0, 0, 0), gaussian=shape, shape_in_plane=True),
            Source("point", 1.1, -0.7, (1, 0, 0, 0)),
            Source("line", 0.9, -0.5, (1, 0, 0, 0), gaussian=(2e-4, 0.0, 0.3)),
        ]
    )
    found = model.shapes_in_plane((0.9, -0.5))
    np.testing.assert_allclose(found[0], shape, rtol=1e-14)
    assert abs(found[1] - shape).max() > 1e-6
    np.testing.assert_array_equal(found[2], shape)
    np.testing.assert_array_equal(found[3], 0)
    np.testing.assert_allclose(found[4], (2e-4, 0.0, 0.3), atol=1e-18)


def test_trees_take_the_shapes_of_their_phase_centre():
    source = Source("s", 1.0, -0.5, (1, 0, 0, 0), gaussian=(3e-4, 1e-4, 0.2))
    ns = rt.NodeScope()
    centre = (0.9, -0.5)
    seen = rt.sky_nodes(ns, SkyModel([source]), centre)
    shape = rt.Forest(ns).evaluate(seen.shape)[..., 0, 0]
    np.testing.assert_array_equal(shape, SkyModel([source]).shape_axes(centre))
    # The meridian of a source 0.1 rad to the east leans by about 0.1 sin(dec), in the south to the east.
    assert math.atan2(shape[0, 0], shape[0, 1]) - 0.2 == pytest.approx(-0.1 * math.sin(-0.5), abs=3e-3)
    # Both axes are tangents of the sphere, as long as they are on the sky.
    lmn = rt.Forest(ns).evaluate(seen.lmn)[0, :, 0, 0]
    axes = shape.reshape(2, 3)
    np.testing.assert_allclose(axes @ lmn, 0, atol=1e-18)
    np.testing.assert_allclose(axes @ axes.T, np.diag([9e-8, 1e-8]), atol=1e-21)
    in_plane = replace(source, shape_in_plane=True)
    seen = rt.sky_nodes(ns.Subscope("plane"), SkyModel([in_plane]), centre)
    np.testing.assert_array_equal(rt.Forest(ns).evaluate(seen.shape)[..., 0, 0], [in_plane.shape])
    mixed = SkyModel([in_plane, replace(source, name="t"), Source("p", 1.0, -0.5, (1, 0, 0, 0))]).shapes_seen_from(
        centre
    )
    np.testing.assert_allclose(mixed[0, [0, 1]], 3e-4 * np.array([math.sin(0.2), math.cos(0.2)]), rtol=1e-14)
    np.testing.assert_array_equal(mixed[1:], [SkyModel([source]).shape_axes(centre)[0], np.zeros(6)])


BBS = "format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation, OrientationIsAbsolute\n"


def test_bbs_says_what_an_orientation_is_relative_to(tmp_path):
    path = tmp_path / "a.skymodel"
    path.write_text(
        BBS
        + "sky, GAUSSIAN, 01:00:00, 45.00.00, 1, 30, 10, 20, true\n"
        + "plane, GAUSSIAN, 01:00:00, 45.00.00, 1, 30, 10, 20, false\n"
        + "unsaid, GAUSSIAN, 01:00:00, 45.00.00, 1, 30, 10, 20\n"
    )
    model = sky.read(path)
    assert [source.shape_in_plane for source in model] == [False, True, True]
    back = tmp_path / "b.skymodel"
    sky.write(model, back)
    assert all(a.isclose(b) for a, b in zip(model, sky.read(back), strict=True))
    assert not model[0].isclose(model[1])
    wsclean = tmp_path / "c-sources.txt"
    sky.write(model, wsclean)
    assert [source.shape_in_plane for source in sky.read(wsclean)] == [False, True, True]


def test_a_file_says_which_frame_and_others_are_refused(tmp_path):
    path = tmp_path / "a.skymodel"
    path.write_text("format = Name, Ra, Dec, I, RefType\ns, 01:00:00, 45.00.00, 1, ICRS\n")
    assert sky.read(path)[0].dec_rad == pytest.approx(math.pi / 4)


def test_errors_of_sky_models_are_rimetree_errors(tmp_path):
    assert issubclass(sky.SkyModelError, rt.Error) and issubclass(sky.SkyModelError, ValueError)
    with pytest.raises(rt.Error):
        sky.read(tmp_path / "none.skymodel")
    with pytest.raises(rt.Error):
        rt.telescopes.get("no such telescope")
