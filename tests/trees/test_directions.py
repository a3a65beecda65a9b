"""Directions on the sky, against rotations of vectors, and where formulas of other forms lose all digits."""

import math

import astropy.units as u
import numpy as np
import pytest

import rimetree as rt
from rimetree.directions import angles_from, direction_cosines, mean_direction, unit_vectors

CENTRE = (1.1, -0.6)
SITE = (5109270.0, 2006780.0, -3239050.0)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (1.0, 0.0, 0.0, 0.0))])
RADEC = np.array([[1.1, -0.6], [1.3, -0.5], [4.5, 0.9], [0.0, -math.pi / 2], [1.1 + 2 * math.pi, 0.2]])


def turned_to(centre, vectors):
    """Vectors [..., 3] along east, north and the centre: turned around z, then around the new y."""
    ra, dec = centre
    around_z = np.array([[math.cos(ra), math.sin(ra), 0], [-math.sin(ra), math.cos(ra), 0], [0, 0, 1]])
    around_y = np.array([[math.cos(dec), 0, math.sin(dec)], [0, 1, 0], [-math.sin(dec), 0, math.cos(dec)]])
    towards, east, north = np.moveaxis(vectors @ (around_y @ around_z).T, -1, 0)
    return np.stack([east, north, towards], axis=-1)


def test_unit_vectors():
    axes = [(0, 0), (math.pi / 2, 0), (0, math.pi / 2), (math.pi, 0)]
    np.testing.assert_allclose(unit_vectors(axes), [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0]], atol=1e-15)


def test_direction_cosines():
    found = direction_cosines(RADEC, CENTRE)
    np.testing.assert_allclose(found, turned_to(CENTRE, unit_vectors(RADEC)), atol=1e-15)
    node = rt.NodeScope()
    node.lmn << rt.LMN(rt.Constant(RADEC), rt.Constant(CENTRE))
    of_node = rt.Forest(node).evaluate(node.lmn, rt.Cells([0.0], [1e9]))[..., 0, 0]
    np.testing.assert_allclose(found, of_node, atol=1e-15)


def test_angles():
    cosine = unit_vectors(RADEC) @ unit_vectors(CENTRE)
    np.testing.assert_allclose(angles_from(CENTRE, RADEC), np.arccos(np.clip(cosine, -1, 1)), atol=1e-7)
    assert angles_from(CENTRE, (CENTRE[0], CENTRE[1] + 1e-10)) == pytest.approx(1e-10, rel=1e-5)  # its cosine is 1
    assert angles_from((0.0, 0.3), (math.pi, -0.3)) == pytest.approx(math.pi)


def test_the_mean_of_directions_on_both_sides_of_the_meridian():
    ra, dec = mean_direction([(0.1, 0.2), (2 * math.pi - 0.1, 0.2)], [1.0, 1.0])
    assert ra == pytest.approx(0.0, abs=1e-12) or ra == pytest.approx(2 * math.pi)
    assert 0.2 < dec < 0.2 * 1.01  # along the great circle
    assert mean_direction([(0.1, 0.2), (3.0, 0.2)], [1.0, 0.0]) == pytest.approx((0.1, 0.2))


@pytest.mark.parametrize(
    "use",
    [
        lambda place: rt.sky_nodes(rt.NodeScope(), SKY, place),
        lambda place: rt.many_node_tree(rt.NodeScope(), SKY, place, [(0, 1)]),
        lambda place: rt.Beam.of_dish(12.0, pointing_rad=place),
        lambda place: rt.Beam.of_dish(12.0).pointed_at(place),
        lambda place: rt.StationBeam.mwa_tile(SITE).pointed_at(place),
        lambda place: rt.parallactic_angle(place, SITE),
        lambda place: rt.azimuth_elevation(place, SITE),
        lambda place: rt.ms.Scan(place, 60.0),
    ],
)
def test_degrees_are_told(use):
    """Most of them took them for radians: visibilities were those of another place on the sky."""
    use(CENTRE)
    use(CENTRE * u.rad)
    with pytest.raises(rt.Error, match=r"within \+-pi/2, in radians, not \[60.0, -30.0\]"):
        use((60.0, -30.0))
