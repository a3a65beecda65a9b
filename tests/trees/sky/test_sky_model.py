"""Sources and models as data: validation, canonical form, selection, arrays."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from rimetree.sky import SkyModel, SkyModelError, Source

POINT = Source("a", 1.0, -0.5, (1.0, 0.1, -0.2, 0.0), patch="p")
SHAPED = Source("b", 1.1, -0.5, (2.0, 0, 0, 0), 1.4e9, (-0.7, 0.1), gaussian=(2e-5, 1e-5, 0.3), patch="q")
PLAIN = Source("c", 1.2, -0.5, (-3.0, 0, 0, 0), 1e9, (5.0,), logarithmic=False, spectrum_scales_polarisation=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "no name"),
        ({"name": "a\nb"}, "not a single line"),
        ({"ra_rad": math.nan}, "ra_rad is nan, expected a finite number"),
        ({"dec_rad": 1.6}, r"outside \[-90, 90\]"),
        ({"dec_rad": "north"}, "dec_rad is 'north', expected a number"),
        ({"stokes_jy": (1.0, 0.0)}, "2 values, expected I, Q, U, V"),
        ({"stokes_jy": (math.inf, 0, 0, 0)}, "Stokes I is inf"),
        ({"spectrum": (-0.7,)}, "a spectrum but no reference frequency"),
        ({"rm_rad_m2": 3.0}, "a rotation measure but no reference frequency"),
        ({"ref_freq_hz": -1.0}, "is negative"),
        ({"ref_freq_hz": 150.0}, "150 Hz is below what reaches the ground; is it in MHz?"),
        ({"gaussian": (0.0, 0.0, 1.0)}, "not both 0"),
        ({"gaussian": (1e-5, -1e-5, 1.0)}, "must be >= 0"),
        ({"gaussian": (1e-5, 1e-5)}, "needs major, minor and position angle"),
        ({"gaussian": (1e-5, math.nan, 0.0)}, "minor axis is nan"),
        ({"stokes_jy": (0, 1, 0, 0), "ref_freq_hz": 1e9, "spectrum": (1,), "logarithmic": False}, "I0 is zero"),
    ],
)
def test_wrong_values_are_refused(change, message):
    with pytest.raises(SkyModelError, match=message):
        replace(POINT, **change)


def test_sources_are_immutable_and_canonical():
    with pytest.raises(FrozenInstanceError):
        POINT.ra_rad = 2.0
    assert replace(SHAPED, spectrum=[-0.7, 0, 0]).spectrum == (-0.7,)
    assert replace(POINT, spectrum=(0.0, 0.0)).spectrum == ()  # without effect: needs no reference frequency
    assert replace(POINT, stokes_jy=[np.float32(1), 0, 0, 0]).stokes_jy == (1.0, 0.0, 0.0, 0.0)


def test_isclose_ignores_what_has_no_effect():
    assert POINT.isclose(replace(POINT, ref_freq_hz=1e9, logarithmic=False, spectrum_scales_polarisation=False))
    assert POINT.isclose(replace(POINT, ra_rad=1.0 + 2 * math.pi))
    assert SHAPED.isclose(replace(SHAPED, spectrum_scales_polarisation=False))  # Q, U, V are zero
    assert SHAPED.isclose(replace(SHAPED, gaussian=(2e-5, 1e-5, 0.3 + math.pi)))
    circular = replace(SHAPED, gaussian=(1e-5, 1e-5, 0.3))
    assert circular.isclose(replace(circular, gaussian=(1e-5, 1e-5, 0.9)))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x"},
        {"patch": ""},
        {"ra_rad": 1.1 + 1e-10},
        {"dec_rad": -0.5 - 1e-10},
        {"stokes_jy": (2.0 + 1e-10, 0, 0, 0)},
        {"ref_freq_hz": 1.4e9 + 1},
        {"spectrum": (-0.7,)},
        {"spectrum": (-0.7, 0.1 + 1e-11)},
        {"logarithmic": False},
        {"rm_rad_m2": 1e-3},
        {"gaussian": None},
        {"gaussian": (2e-5, 1e-5, 0.3 + 1e-9)},
    ],
)
def test_isclose_sees_what_has_an_effect(change):
    assert not SHAPED.isclose(replace(SHAPED, **change))


def test_isclose_sees_the_scaling_of_polarisation():
    polarised = replace(SHAPED, stokes_jy=(2.0, 0.1, 0, 0))
    assert not polarised.isclose(replace(polarised, spectrum_scales_polarisation=False))


def test_arrays():
    model = SkyModel((POINT, SHAPED, PLAIN))
    assert len(model) == 3 and model.names == ["a", "b", "c"] and model.patches == ["p", "q"]
    assert model.total_flux_jy == 0.0  # 1 + 2 - 3
    np.testing.assert_array_equal(model.radec_rad, [[1.0, -0.5], [1.1, -0.5], [1.2, -0.5]])
    np.testing.assert_array_equal(model.stokes_jy, [[1, 0.1, -0.2, 0], [2, 0, 0, 0], [-3, 0, 0, 0]])
    np.testing.assert_array_equal(model.ref_freq_hz, [0, 1.4e9, 1e9])
    np.testing.assert_array_equal(model.spectrum, [[0, 0], [-0.7, 0.1], [5, 0]])
    np.testing.assert_array_equal(model.logarithmic, [True, True, False])
    np.testing.assert_array_equal(model.spectrum_scales_polarisation, [True, True, False])
    np.testing.assert_array_equal(model.rm_rad_m2, [0, 0, 0])
    np.testing.assert_array_equal(model.shape_rad, [[0, 0, 0], [2e-5, 1e-5, 0.3], [0, 0, 0]])
    for array in (model.radec_rad, model.spectrum, model.shape_rad):
        assert array.dtype == np.float64 and not array.flags.writeable
    assert model.logarithmic.dtype == np.bool_


def test_arrays_of_an_empty_model():
    empty = SkyModel(())
    assert empty.radec_rad.shape == (0, 2) and empty.spectrum.shape == (0, 0) and empty.shape_rad.shape == (0, 3)
    assert empty.total_flux_jy == 0.0 and list(empty) == []


def test_access_and_selection():
    model = SkyModel((POINT, SHAPED, PLAIN), patch_radec_rad={"p": (1.0, 2.0)})
    assert model["b"] is model[1] is SHAPED
    assert model[1:].names == ["b", "c"] and isinstance(model[1:], SkyModel)
    assert model.select(names=["c", "a"]).names == ["a", "c"]
    assert model.select(names="c").names == ["c"]
    assert model.select(patches=["q"]).names == ["b"]
    assert model.select(min_flux_jy=2.0).names == ["b", "c"]
    assert model.select(lambda s: s.gaussian is None, min_flux_jy=2.0).names == ["c"]
    assert model.select(names="a").patch_radec_rad == {"p": (1.0, 2.0)}
    assert model.without_patches().patches == []
    with pytest.raises(SkyModelError, match="no source is named 'x'"):
        model.select(names=["x", "a"])
    with pytest.raises(KeyError, match="no source is named 'x'"):
        model["x"]


def test_names_are_distinct():
    with pytest.raises(SkyModelError, match="two sources are named 'a'"):
        SkyModel((POINT, replace(SHAPED, name="a")))


def test_a_sky_says_what_it_is_in_a_line():
    sources = [Source(f"s{i}", 1.0, -0.5, (2.0, 0.0, 0.0, 0.0), patch="p") for i in range(3)]
    assert repr(SkyModel(sources)) == "<SkyModel: 3 sources, 6 Jy, 1 patches>"
    assert repr(SkyModel([])) == "<SkyModel: 0 sources, 0 Jy>"
