"""Places of antennas in a plane, and what slopes say of antennas."""

import numpy as np
import pytest

from rimetree.calibration import CalibrationError, parse_term
from rimetree.calibration.terms.planes import Plane, Planes, places_in_plane
from rimetree.evaluation.solving import SolvedParm, SolveReport

NAMES = {k: f"A{k}" for k in range(9)}


def array(east_m, north_m):
    """Positions around one on the Earth, some height aside."""
    east, north, up = np.array([-0.6, 0.8, 0.0]), np.array([0.32, 0.24, 0.9165]), np.array([-0.733, -0.55, 0.4])
    centre = 6.37e6 * up
    height = 3 * np.sin(np.arange(len(east_m)))
    return {
        k: centre + e * east + n * north + h * up
        for k, (e, n, h) in enumerate(zip(east_m, north_m, height, strict=True))
    }


def test_the_option():
    assert parse_term("D: tec, 1slot, plane, per patch").plane and not parse_term("D: tec, 1slot").plane
    assert parse_term("D: delay, scalar, plane").plane and parse_term("D: phase, plane, scalar, 1chan").plane


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D: delay, plane", '"plane" is an option of tec and phase and delay, the same for both feeds'),
        ("D: rate, scalar, plane", '"plane" is an option of'),
        ("D: scalar, plane", '"plane" is an option of'),
        ("D: tec, plane, common A*", "antennas in a plane have no solutions in common"),
        ("D: tec, plane, plane", "'plane' says again what was said before"),
        ("D: tec, plain", "did you mean plane?"),
    ],
)
def test_where_there_is_none(text, message):
    with pytest.raises(CalibrationError) as error:
        parse_term(text)
    assert message in str(error.value)


def test_places_are_coordinates_along_the_axes_of_the_array():
    rng = np.random.default_rng(0)
    east, north = rng.normal(0, 1000, 9), rng.normal(0, 300, 9)
    places = np.array(list(places_in_plane(array(east, north), NAMES).values()))
    assert places.shape == (9, 2)
    np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(places.T @ places / 9, np.eye(2), atol=1e-9)
    # All that lies in a plane over the array is a sum of both; heights of 3 m are not in it.
    design = np.column_stack([np.ones(9), places])
    for plane in (east, north):
        left = plane - design @ np.linalg.lstsq(design, plane, rcond=None)[0]
        assert np.abs(left).max() < 5


def test_an_array_on_a_line_has_one_slope():
    positions = array(np.array([0.0, 144.0, 288.0, 1440.0]), np.zeros(4))
    positions = {k: xyz - 3 * np.sin(k) * np.array([-0.733, -0.55, 0.4]) for k, xyz in positions.items()}
    places = places_in_plane(positions, NAMES)
    assert all(place.shape == (1,) for place in places.values())


@pytest.mark.parametrize("positions", [{0: np.zeros(3), 1: np.ones(3)}, {0: np.ones(3), 1: np.ones(3)}])
def test_antennas_without_positions(positions):
    with pytest.raises(CalibrationError, match="a plane over the array wants"):
        places_in_plane(positions, NAMES)


def parm(value, sigma, flag=0):
    shape = (2, 1, 1, 1)
    return SolvedParm(
        np.reshape(value, shape), np.reshape(sigma, shape), np.zeros(shape), np.full(shape, flag), np.zeros(shape, int)
    )


@pytest.fixture
def plane():
    places = {"t0": np.array([1.0, 0.5]), "t1": np.array([-1.0, 2.0]), "t2": np.array([0.25, -2.0]), "t3": np.zeros(2)}
    return Plane(("s0", "s1"), places, {f"t{k}": k for k in range(4)})


def test_slopes_of_antennas_and_back(plane):
    slopes = [np.array([[0.3], [0.1]]), np.array([[-0.2], [0.5]])]
    values = {node: 7.0 + place[0] * slopes[0] + place[1] * slopes[1] for node, place in plane.places.items()}
    for found, wanted in zip(plane.slopes_of(values), slopes, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
    solved = plane.at_antennas([parm(slopes[0], [0.1, 0.2]), parm(slopes[1], [0.3, 0.1], flag=4)], reference=1)
    for node, own in solved.items():
        np.testing.assert_allclose(own.value[:, :, 0, 0], values[node] - values["t1"], atol=1e-14)
        apart = plane.places[node] - plane.places["t1"]
        np.testing.assert_allclose(
            own.sigma.ravel(), np.hypot(apart[0] * np.array([0.1, 0.2]), apart[1] * np.array([0.3, 0.1]))
        )
        assert (own.flag == 4).all()


def test_reports_are_of_antennas(plane):
    planes = Planes([plane])
    assert planes.parms({"t2", "t0", "x"}) == ["s0", "s1", "x"]
    given = {node: (np.full((1, 1), 3.0 + place[0]), {"state": 1}) for node, place in plane.places.items()}
    starts = planes.starts(given | {"x": (np.zeros((1, 1)), {})})
    assert list(starts) == ["x", "s0", "s1"] and starts["s0"][1] == {"state": 1}
    np.testing.assert_allclose([starts["s0"][0], starts["s1"][0]], [[[1.0]], [[0.0]]], atol=1e-14)
    parms = {"s0": parm([1, 2], [1, 1]), "s1": parm([0, 0], [1, 1]), "x": parm([5, 5], [0, 0])}
    report = SolveReport("solver", "sums", [], parms, [1.0], 0.0, 0.0)
    assert list(planes.expanded(report, 0).parms) == ["x", "t0", "t1", "t2", "t3"]
    assert planes.expanded(None, 0) is None and Planes([]).expanded(report, 0) is report
