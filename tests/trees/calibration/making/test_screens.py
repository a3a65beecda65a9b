"""Screens: their structure function in its closed form, the wind, and where lines of sight cross them."""

import math

import numpy as np
import pytest
from scipy import special

from rimetree.calibration import Screen
from rimetree.calibration.making.screens import _sum_of_waves, crossings, over_ground, screen_values

OUTER_M = 20e3


def von_karman(distance_m, outer_m):
    """The structure function of a two-dimensional field with P(k) ~ (k^2 + k0^2)^(-11/6), but for a factor: 1 - the
    Matern correlation of order 5/6."""
    x = 2 * math.pi * distance_m / outer_m
    return 1 - 2 ** (1 / 6) / special.gamma(5 / 6) * x ** (5 / 6) * special.kv(5 / 6, x)


def test_the_structure_function_is_von_karmans():
    distances = np.array([30.0, 300.0, 3e3, 10e3, 100e3])
    screen = Screen(1e3, OUTER_M, 0.0, spread=0.5, at_m=3e3)
    squares = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        first = random.uniform(-1e5, 1e5, (40, 2))
        angle = random.uniform(0, 2 * math.pi, 40)
        apart = distances[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        places = np.concatenate([first[None], first + apart])
        values = screen_values(screen, places[None], np.zeros(1), random)[0]
        squares.append(((values[1:] - values[0]) ** 2).mean(axis=-1))
    expected = 0.5**2 * von_karman(distances, OUTER_M) / von_karman(3e3, OUTER_M)
    # 60 skies of about ten independent places each: 2 / sqrt(600) of a mean square is one standard deviation.
    np.testing.assert_allclose(np.mean(squares, axis=0), expected, rtol=0.25)


def test_waves_are_added_up():
    random = np.random.default_rng(2)
    waves, parts = 10.0 ** random.uniform(-6, 1, (50, 1)) * random.normal(size=(50, 2)), random.normal(size=(2, 50))
    places = random.uniform(-1e4, 1e4, (3, 4, 2))
    turned = places @ waves.T
    expected = (parts[0] * np.cos(turned) + parts[1] * np.sin(turned)).sum(axis=-1)
    np.testing.assert_allclose(_sum_of_waves(waves, parts, places), expected, atol=1e-8)


def test_the_wind_moves_it():
    screen = Screen(1e3, OUTER_M, wind_m_s=10.0, spread=1.0, at_m=1e3, towards_rad=math.radians(90))
    time_s = 5e9 + np.array([0.0, 100.0])
    # What is over a place is 1 km further to the east 100 s later.
    places = np.array([[[0.0, 0.0], [1000.0, 0.0]], [[0.0, 0.0], [1000.0, 0.0]]])
    values = screen_values(screen, places, time_s, np.random.default_rng(1))
    assert values[1, 1] == pytest.approx(values[0, 0], abs=1e-5)  # so long after the epoch
    assert abs(values[1, 0] - values[0, 0]) > 0.05


def test_any_wind_is_one_for_all_places():
    screen = Screen(1e3, OUTER_M, wind_m_s=10.0, spread=1.0, at_m=1e3)
    still = np.zeros((5, 2, 2))
    still[:, 1] = 1e-3  # next to each other
    values = screen_values(screen, still, 60.0 * np.arange(5), np.random.default_rng(1))
    np.testing.assert_allclose(values[:, 0], values[:, 1], atol=1e-3)
    assert np.ptp(values[:, 0]) > 0.1


def test_many_places_are_as_if_each_were_alone():
    screen = Screen(1e3, OUTER_M, 0.0, spread=1.0, at_m=1e3)
    places = np.stack(np.meshgrid(np.linspace(0, 5e3, 600), np.linspace(0, 4e3, 450)), axis=-1)  # more than one part
    values = screen_values(screen, places[None], np.zeros(1), np.random.default_rng(3))[0]
    some = screen_values(screen, places[None, :2, :2], np.zeros(1), np.random.default_rng(3))[0]
    np.testing.assert_allclose(values[:2, :2], some, atol=1e-9)


@pytest.mark.parametrize("height_m", [1e3, 300e3])
def test_lines_of_sight_cross_it_where_triangles_say(height_m):
    radius_m = 6.37e6
    centre = np.array([0.0, 0.0, radius_m])
    for zenith in (0.0, 0.5, 1.2):
        towards = np.array([math.sin(zenith), 0.0, math.cos(zenith)])
        place, slant = crossings(centre, towards, height_m)
        # The sine theorem, in the triangle of the middle of the Earth, the antenna and the crossing.
        there = math.asin(radius_m * math.sin(zenith) / (radius_m + height_m))
        assert slant == pytest.approx(1 / math.cos(there), rel=1e-12)
        at_middle = zenith - there
        expected = (radius_m + height_m) * np.array([math.sin(at_middle), 0.0, math.cos(at_middle)])
        np.testing.assert_allclose(place, expected, rtol=1e-12, atol=1e-5)


def test_an_array_as_wide_as_a_continent_has_horizons_of_its_own():
    """At the zenith of each antenna the way is 1, and places are as far apart as along the ground."""
    longitude = np.radians([-120.0, -90.0, -64.0])
    xyz = 6.371e6 * np.stack([np.cos(longitude), np.sin(longitude), 0 * longitude], axis=-1)
    places, slant = crossings(xyz, xyz / 6.371e6, 300e3)
    np.testing.assert_allclose(slant, 1, rtol=1e-12)
    ground = over_ground(places, xyz[1])
    np.testing.assert_allclose(ground[:, 0], 6.671e6 * (longitude - longitude[1]), rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(ground[:, 1], 0, atol=1e-3)
