"""Sets that hold Stokes I alone, as scalar simulations do, against skies that are polarised."""

import os
import struct

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import parse_terms

CENTRE = (0.9, -0.5)


@pytest.fixture
def stokes_i_ms(small_ms, patched):
    """A function: makes a set as `small_ms` does, of Stokes I alone."""

    def make(**changes):
        path = small_ms(correlation_type=(9,), **changes)
        xx, stokes_i = (struct.pack("<iii", 1, 1, number) for number in (9, 1))  # an array of one element
        patched(os.path.join(path, "POLARIZATION"), xx, stokes_i)
        assert rt.ms.inspect(path)["data_descriptions"][0]["correlations"] == ["I"]
        return path

    return make


def expect_no_gains(path, sky, term, folder, rtol):
    """Of data of this very sky: gains are 1, and nothing is left when they are applied and the sky is subtracted."""
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, CENTRE, rt.ms.baselines(path), column="DATA")
    rt.Forest(ns).run(path)
    report = calibration.calibrate(path, sky, parse_terms([term]), folder / "s.h5")
    assert report.left < 1e-10
    (found,) = calibration.read_h5parm(folder / "s.h5")
    np.testing.assert_allclose(np.abs(found["G"].gain()[..., 0, 0]), 1.0, rtol=rtol)
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, found, subtract=sky)
    rt.Forest(ns).run(path)
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=10)
    assert np.abs(tile["columns"]["CORRECTED_DATA"]).max() < 1e-4


@pytest.mark.parametrize("term", ["G: scalar", "G: diag"])
def test_polarisation_is_no_part_of_stokes_i(stokes_i_ms, small_sky, tmp_path, term):
    """The model of XX and of YY had each been compared with Stokes I: gains made up for Q, and 1 % of the power of a
    sky that is polarised by a tenth was left."""
    path = stokes_i_ms()
    assert any(source.stokes_jy[1] for source in small_sky)
    expect_no_gains(path, small_sky, term, tmp_path, rtol=1e-5)


@pytest.mark.parametrize("term", ["G: scalar", "G: diag", "G: diag, per source"])
def test_feeds_that_see_the_sky_differently(stokes_i_ms, small_sky, tmp_path, term):
    """Dipoles see much less of a low source along their length than across, and some of its polarisation is in their
    Stokes I: each feed of the model had been compared with the mean of both."""
    path = stokes_i_ms()
    site_m = [5.5e6, 0.0, -3.2e6]
    dipoles = rt.beams.StationBeam.of_elements(np.zeros((1, 3)), site_m, element="short")
    sky = small_sky.seen_through(dipoles)
    expect_no_gains(path, sky, term, tmp_path, rtol=1e-4)


def test_solutions_of_feeds_that_differ_are_refused(stokes_i_ms, small_sky, made_term, tmp_path):
    """They had been applied, half by that of one feed and half by that of the other."""
    found, path = calibration.Solutions((made_term(),)), stokes_i_ms()
    (group,) = rt.ms.groups(path)
    message = "Stokes I alone, and the solutions of the two feeds differ"
    for apply in (calibration.correct, lambda *of: calibration.apply_tree(rt.NodeScope(), *of)):
        with pytest.raises(calibration.CalibrationError, match=message):
            apply(group, found)
    options = calibration.CalibrationOptions(held=[found])
    with pytest.raises(rt.Error, match=message):
        calibration.calibrate(path, small_sky, parse_terms(["G: diag", "H: phase"]), tmp_path / "t.h5", options)
