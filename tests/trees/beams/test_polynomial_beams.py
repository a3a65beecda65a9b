"""Beams that are polynomials: against their definition, CASA's images of them, and where they end."""

import dataclasses

import numpy as np
import pytest

import rimetree as rt
from rimetree.beams import voltages
from rimetree.beams.polynomial import TELESCOPES

CENTRE = (1.0, 0.3)


def power(beam, arcmin, frequency_hz):
    """At angles to the north of the centre."""
    radec = np.column_stack([np.full(len(arcmin), CENTRE[0]), CENTRE[1] + np.radians(np.asarray(arcmin) / 60)])
    return voltages([beam], radec, CENTRE, np.atleast_1d(frequency_hz))[0] ** 2


@pytest.mark.parametrize(
    ("name", "frequency_hz", "step_arcmin", "expected"),
    [  # of CASA 6.7: the primary beams that tclean makes for these telescopes, along the declination
        ("vla", 1.424e9, 5.0, [1, 0.92803, 0.73584, 0.48698, 0.25793, 0.09654]),
        ("vla", 5.052e9, 1.5, [1, 0.92420, 0.72242, 0.46337, 0.23055, 0.07819]),
        ("vla", 344e6, 20.0, [1, 0.95481, 0.82976, 0.65363, 0.46572, 0.30454]),
        ("atca", 2.1e9, 3.5, [1, 0.94810, 0.80431, 0.60535, 0.39763, 0.22191]),
    ],
)
def test_as_in_casa(name, frequency_hz, step_arcmin, expected):
    """CASA looks its beams up in a table of 10000 steps, and those of the nearest frequency."""
    found = power(rt.PolynomialBeam.of_telescope(name), step_arcmin * np.arange(6), frequency_hz)[:, 0]
    np.testing.assert_allclose(found, expected, atol=3e-4)


@pytest.mark.parametrize("name", TELESCOPES)
def test_by_definition(name):
    """At frequencies of the table, between two, and beyond the ends."""
    beam = rt.PolynomialBeam.of_telescope(name.upper())
    hertz, table = np.array(beam.frequency_hz), np.array(beam.coefficients)
    frequency_hz = np.array([0.5 * hertz[0], hertz[0], hertz[2], 0.3 * hertz[2] + 0.7 * hertz[3], 1.3 * hertz[-1]])
    x = np.linspace(0, 1.2 * max(beam.reach), 40)
    for frequency in frequency_hz:
        own = [np.interp(frequency, hertz, column) for column in table.T]
        reach = np.sqrt(np.interp(frequency, hertz, np.square(beam.reach)))
        expected = 1 + sum(c * x ** (2 * k) for k, c in enumerate(own, 1))
        expected = np.where(x < reach, np.maximum(1 / expected if beam.inverse else expected, 0), 0)
        found = power(beam, x / (frequency / 1e9), frequency)[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("name", TELESCOPES)
def test_main_lobes_fall_all_the_way(name):
    beam = rt.PolynomialBeam.of_telescope(name)
    for frequency in beam.frequency_hz:
        found = power(beam, np.linspace(0, 80, 400) / (frequency / 1e9), frequency)[:, 0]
        assert found[0] == 1 and (np.diff(found) <= 1e-12).all() and found[-1] == 0
        half = np.interp(-0.5, -found, np.linspace(0, 80, 400))  # of dishes of 22 to 45 m
        assert 11 < half < 30, frequency
    assert max(beam.reach) <= beam.largest


def test_behind_the_dish_there_is_nothing():
    beam = rt.PolynomialBeam.of_telescope("vla")
    radec = np.array([[CENTRE[0] + np.pi, -CENTRE[1]], [CENTRE[0], CENTRE[1]]])
    np.testing.assert_array_equal(voltages([beam], radec, CENTRE, [1.4e9])[0, :, 0], [0, 1])


def test_one_frequency_and_pointing():
    beam = rt.PolynomialBeam("mine", (1e9,), ((-1e-3,),))
    assert beam.reach == (pytest.approx(np.sqrt(1000)),)
    found = power(beam, [0, 10, 31, 32], [1e9, 2e9])
    np.testing.assert_allclose(found, [[1, 1], [0.9, 0.6], [0.039, 0], [0, 0]], atol=1e-9)
    away = beam.pointed_at((CENTRE[0], CENTRE[1] + np.radians(10 / 60)))
    np.testing.assert_allclose(power(away, [0, 10], 1e9)[:, 0], [0.9, 1], atol=1e-9)
    assert not away.follows_phase_centre and beam.follows_phase_centre
    assert str(beam) == "beam of the dishes of mine" and " towards " in str(away)
    assert rt.PolynomialBeam.of_telescope("vla", pointing_rad=CENTRE).pointing_rad == CENTRE
    assert rt.PolynomialBeam.of_telescope("EVLA") == rt.PolynomialBeam.of_telescope("vla")
    assert hash(rt.PolynomialBeam.of_telescope("vla")) == hash(rt.PolynomialBeam.of_telescope("VLA"))


def test_dishes_that_stand():
    site = (5109270.0, 2006780.0, -3239050.0)
    beam = rt.PolynomialBeam("mine", (1e9,), ((-1e-7,),), largest=4000.0).standing_at((0.0, np.pi / 2), site)
    assert beam.varies_in_time and beam.pointing_rad is None
    times = 5.24e9 + np.arange(0, 86400, 3600.0)
    found = voltages([beam], np.array([[1.0, -0.5], [2.0, 1.5]]), CENTRE, [1e9], times)[0, :, 0]
    assert found[0] > 0 and found[1] == 0  # which never rises


def test_gradients_go_through():
    """Also where a dish points at a source."""
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (1, 0, 0, 0)), rt.sky.Source("b", 1.001, 0.301, (1, 0, 0, 0))])
    ns = rt.NodeScope()
    ns.lmn << rt.LMN(rt.Constant(sky.radec_rad), rt.Composer(rt.Parm(1.0, solvable=True), rt.Parm(0.3, solvable=True)))
    ns.E << rt.Sum(rt.PolynomialBeam.of_telescope("vla").voltage(ns.lmn, 2))
    check = rt.Forest(ns).check_derivatives(ns.E, rt.Cells(freq_hz=[1.1e9, 1.4e9]))
    assert check.good(1e-5), str(check)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frequency_hz": ()}, "as many coefficients"),
        ({"coefficients": ((-1e-3,),)}, "as many coefficients"),
        ({"coefficients": ((-1e-3,), (-1e-3, 1e-7))}, "as many coefficients"),
        ({"coefficients": ((), ())}, "as many coefficients"),
        ({"frequency_hz": (2e9, 1e9)}, "must be positive, finite and ascend"),
        ({"frequency_hz": (0.0, 1e9)}, "must be positive, finite and ascend"),
        ({"coefficients": ((np.nan,), (-1e-3,))}, "must be finite"),
        ({"largest": 0.0}, "must be known up to some arcmin GHz, not 0.0"),
        ({"azel_rad": (0.0, 1.0)}, "has azel_rad and site_m"),
    ],
)
def test_what_is_no_beam(change, message):
    good = {"name": "a", "frequency_hz": (1e9, 2e9), "coefficients": ((-1e-3,), (-1.1e-3,))}
    rt.PolynomialBeam(**good)
    with pytest.raises(rt.Error, match=message):
        rt.PolynomialBeam(**(good | change))


def test_telescopes_that_are_not_known():
    with pytest.raises(rt.Error, match="polynomials are known of the dishes of vla, gmrt, atca, not of 'effelsberg'"):
        rt.PolynomialBeam.of_telescope("effelsberg")


def test_as_a_sky_sees_it():
    """In a tree with many baselines, of two kinds of antennas."""
    sky = rt.sky.SkyModel([rt.sky.Source("a", 1.002, 0.302, (2, 0.1, 0.2, 0.3))])
    vla, atca = map(rt.PolynomialBeam.of_telescope, ("vla", "atca"))
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky.seen_through([vla, vla, atca]), CENTRE)
    p, q = rt.each([(0, 1), (0, 2)])
    ns.V(p, q) << seen.psv(p, q, rt.Constant([0.0, 0.0, 0.0]))
    cells = rt.Cells(freq_hz=[1.4e9, 2.0e9])
    found = [np.trace(rt.Forest(ns).evaluate(ns.V(0, k), cells)).real[0] / 2 for k in (1, 2)]
    own = voltages([vla, atca], sky.radec_rad, CENTRE, [1.4e9, 2.0e9])[:, 0]
    np.testing.assert_allclose(found, [2 * own[0] ** 2, 2 * own[0] * own[1]], rtol=1e-12)
    assert dataclasses.replace(vla, name="b") != vla
