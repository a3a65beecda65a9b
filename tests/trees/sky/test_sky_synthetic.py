"""Made-up skies: reproducible, inside their field, with the fractions asked for."""

import math

import numpy as np
import pytest

from rimetree import Error
from rimetree.sky import SkyModelError, synthetic
from rimetree.sky.source import PROFILES
from rimetree.sky.synthetic import SyntheticSky


def distances(model, sky):
    """Great-circle distances from the phase centre, by unit vectors."""
    ra, dec = model.radec_rad.T
    vectors = np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)], axis=-1)
    a, d = sky.ra_rad, sky.dec_rad
    centre = np.array([math.cos(d) * math.cos(a), math.cos(d) * math.sin(a), math.sin(d)])
    return 2 * np.arcsin(np.linalg.norm(vectors - centre, axis=-1) / 2)


@pytest.mark.parametrize("dec_deg", [-90.0, -30.0, 0.0, 89.9])
def test_random_sources_fill_the_field_evenly(dec_deg):
    sky = SyntheticSky(ra_rad=0.01, dec_rad=math.radians(dec_deg), fov_rad=0.1)
    model = synthetic.random(4000, sky)
    distance = distances(model, sky)
    assert distance.max() <= 0.05 * (1 + 1e-9)
    # Half the area lies within 1/sqrt(2) of the radius; 4000 sources scatter by 0.008 (5 sigma: 0.04).
    assert np.mean(distance < 0.05 / math.sqrt(2)) == pytest.approx(0.5, abs=0.04)


def test_fluxes_and_fractions():
    sky = SyntheticSky(
        flux_jy=(0.1, 10),
        polarised_fraction=0.3,
        extended_fraction=0.5,
        spectral_fraction=1.0,
        major_rad=(1e-5, 1e-4),
    )
    model = synthetic.random(2000, sky)
    i, q, u, v = model.stokes_jy.T
    assert i.min() >= 0.1 and i.max() <= 10
    assert np.mean(i < 1) > 0.7  # steep counts
    assert np.mean(q != 0) == pytest.approx(0.3, abs=0.06)
    assert np.all(np.sqrt(q**2 + u**2 + v**2) <= 0.1 * i * (1 + 1e-12))
    major, minor, _ = model.shape_rad.T
    assert np.mean(major > 0) == pytest.approx(0.5, abs=0.06)
    assert np.all(minor <= major) and major[major > 0].min() >= 1e-5 and major.max() <= 1e-4
    assert model.spectrum.shape == (2000, 2) and np.mean(model.spectrum[:, 0]) == pytest.approx(-0.7, abs=0.03)


@pytest.mark.parametrize("profile", PROFILES)
def test_any_profile_with_the_same_axes(profile):
    first, own = (
        synthetic.random(50, SyntheticSky(extended_fraction=0.5, profile=one)) for one in (PROFILES[0], profile)
    )
    assert {source.profile for source in own} == {None, profile}
    np.testing.assert_array_equal(own.shape_rad, first.shape_rad)
    np.testing.assert_array_equal(own.radec_rad, first.radec_rad)


def test_a_profile_that_there_is_not():
    with pytest.raises(SkyModelError, match=f"profile must be one of {', '.join(PROFILES)}, not 'sersic'"):
        SyntheticSky(profile="sersic")


@pytest.mark.parametrize(
    "name, value",
    [("flux_jy", (0.0, 1.0)), ("flux_jy", (2.0, 1.0)), ("major_rad", (-1.0, 1.0)), ("fov_rad", -1.0)]
    + [(f"{what}_fraction", 1.5) for what in ("polarised", "extended", "spectral")],
)
def test_numbers_outside_of_their_range_are_refused(name, value):
    with pytest.raises(SkyModelError, match=f"^{name} must be"):
        SyntheticSky(**{name: value})


def test_seeds_are_not_negative():
    with pytest.raises(Error, match="seed must be a whole number from 0 on, or a list of these, not -1"):
        synthetic.random(3, SyntheticSky(seed=-1))


def test_seeds():
    assert synthetic.random(20) == synthetic.random(20)
    assert synthetic.random(20) != synthetic.random(20, SyntheticSky(seed=2))
    assert synthetic.random(0).names == [] and synthetic.random(2).names == ["s0", "s1"]


def test_grid():
    sky = SyntheticSky(ra_rad=1.0, dec_rad=0.0, fov_rad=0.02)
    model = synthetic.grid(3, sky)
    assert len(model) == 9
    ra, dec = model.radec_rad.T
    # On the equator, small angles: offsets are those of the grid to third order (1e-6 relative here).
    np.testing.assert_allclose(dec.reshape(3, 3), [[-0.01] * 3, [0] * 3, [0.01] * 3], atol=2e-6)
    np.testing.assert_allclose(ra.reshape(3, 3) - 1.0, [[0.01, 0, -0.01]] * 3, atol=2e-6)
    np.testing.assert_allclose(distances(model[4:5], sky), 0, atol=1e-12)
    assert len(synthetic.grid(1)) == 1
