"""Sets that hold Stokes I alone, as scalar simulations do, against skies that are polarised."""

import os
import struct

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import parse_terms

CENTRE = (0.9, -0.5)


@pytest.mark.parametrize("term", ["G: scalar", "G: diag"])
def test_polarisation_is_no_part_of_stokes_i(small_ms, small_sky, tmp_path, patched, term):
    """The model of XX and of YY had each been compared with Stokes I: gains made up for Q, and 1 % of the power of a
    sky that is polarised by a tenth was left."""
    path = small_ms(correlation_type=(9,))
    xx, stokes_i = (struct.pack("<iii", 1, 1, number) for number in (9, 1))  # an array of one element
    patched(os.path.join(path, "POLARIZATION"), xx, stokes_i)
    assert rt.ms.inspect(path)["data_descriptions"][0]["correlations"] == ["I"]
    assert any(source.stokes_jy[1] for source in small_sky)
    ns = rt.NodeScope()
    rt.psv_tree(ns, small_sky, CENTRE, rt.ms.baselines(path), column="DATA")
    rt.Forest(ns).run(path)
    report = calibration.calibrate(path, small_sky, parse_terms([term]), tmp_path / "s.h5")
    assert report.left < 1e-10
    (found,) = calibration.read_h5parm(tmp_path / "s.h5")
    np.testing.assert_allclose(np.abs(found["G"].gain()[..., 0, 0]), 1.0, rtol=1e-5)
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, found, subtract=small_sky)
    rt.Forest(ns).run(path)
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=10)
    assert np.abs(tile["columns"]["CORRECTED_DATA"]).max() < 1e-4
