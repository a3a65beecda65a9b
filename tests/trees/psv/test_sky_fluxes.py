"""Fluxes that are printed, and by which directions are compared, are those at the middle of the band."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration.model.models import PredictedSky
from rimetree.sky_fluxes import flux_text, stokes_i_at


@pytest.fixture
def steep():
    """Two sources of 1 Jy at different reference frequencies, one of them steep: 8 and 0.5 Jy at 1.4 GHz."""
    return rt.sky.SkyModel(
        [
            rt.sky.Source("up", 0.9, -0.5, (1, 0, 0, 0), 0.7e9, (3.0,), patch="a"),
            rt.sky.Source("down", 0.9, -0.5, (1, 0, 0, 0), 0.7e9, (-1.0,), patch="b"),
        ]
    )


def test_at_the_middle_of_the_band(small_ms, steep):
    (group,) = rt.ms.groups(small_ms(frequency_hz=1.4e9 + 1e6 * np.arange(-3, 4)))
    np.testing.assert_allclose(stokes_i_at(steep, 1.4e9), [8.0, 0.5], rtol=1e-14)
    assert flux_text(steep, [group]) == "8.5 Jy at 1400 MHz"
    model = PredictedSky(steep)
    assert model.flux_jy(group) == pytest.approx(8.5, rel=1e-14)
    assert model.fluxes_jy("patch", group) == pytest.approx({"a": 8.0, "b": 0.5}, rel=1e-14)
    assert model.fluxes_jy("source", group) == pytest.approx({"up": 8.0, "down": 0.5}, rel=1e-14)


@pytest.mark.parametrize("tree", [rt.psv_tree, rt.many_node_tree])
def test_no_sources_are_no_flux(small_ms, steep, tree):
    path = small_ms(frequency_hz=1.4e9 + 1e6 * np.arange(-3, 4))
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    tree(ns, steep.select(where=lambda source: False), group.phase_centre_rad, group.baselines, column="NOTHING")
    rt.Forest(ns).run(path)
    (tile,) = rt.ms.tiles(path, ["NOTHING"])
    assert (tile["row"] >= 0).any() and not tile["columns"]["NOTHING"].any()


def test_polarised_sources_without_stokes_i_come_through_beams(small_ms, recwarn):
    """They had been said not to: only Stokes I was looked at."""
    (group,) = rt.ms.groups(small_ms())
    place = np.add(group.phase_centre_rad, (0.001, 0.0))
    sky = rt.sky.SkyModel([rt.sky.Source("q", *place, (0, 1, 0, 0))]).seen_through(rt.Beam.of_dish(12.0))
    assert ", of which 0 Jy through the airy beam" in flux_text(sky, [group])
    assert not recwarn.list
    away = rt.Beam("gaussian", 1e-5, 1e9)
    with pytest.warns(UserWarning, match="nothing of the sky model comes through.* or far from where the antennas"):
        flux_text(sky.seen_through(away), [group])


@pytest.mark.parametrize(
    ("ref_freq_hz", "is_told"), [(1.4e9, False), (1.25e9, False), (1.6e9, False), (1.1e9, True), (2e9, True)]
)
def test_fluxes_of_a_frequency_that_is_not_in_the_band(small_ms, recwarn, ref_freq_hz, is_told):
    """As of a model image of one frequency, whose sources have no spectrum."""
    (group,) = rt.ms.groups(small_ms(frequency_hz=1.4e9 + 1e6 * np.arange(-3, 4)))
    sky = rt.sky.SkyModel([rt.sky.Source("a", 0.9, -0.5, (1, 0, 0, 0), ref_freq_hz)])
    assert flux_text(sky, [group]) == "1 Jy at 1400 MHz"
    told = [str(one.message) for one in recwarn.list]
    expected = f"1 sources of the sky model have fluxes of {ref_freq_hz / 1e6:g} MHz, no spectrum, and the band is 1397"
    assert [expected in one for one in told] == [True] * is_told


def test_sources_that_become_negative(small_ms):
    """A straight line through two planes of an image, far from them: half as bright, but negative."""
    (group,) = rt.ms.groups(small_ms(frequency_hz=1.4e9 + 1e6 * np.arange(-3, 4)))
    source = rt.sky.Source("a", 0.9, -0.5, (1, 0, 0, 0), 1e9, (-3.75,), logarithmic=False)
    with pytest.warns(UserWarning, match=r"1 sources have -0.5112 Jy by their spectra, and 1 Jy at their reference"):
        flux_text(rt.sky.SkyModel([source]), [group])
