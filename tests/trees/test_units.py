"""Numbers that bring a unit or a mask: converted and flagged where that can be, refused with a message where not."""

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import Angle, SkyCoord

import rimetree as rt


def value_of(definition, cells=None):
    ns = rt.NodeScope()
    ns.x << definition
    return rt.Forest(ns).evaluate(ns.x, cells)


def refused(definition) -> str:
    """What a forest says of a node."""
    ns = rt.NodeScope()
    ns.x << definition
    with pytest.raises(rt.ForestError) as caught:
        rt.Forest(ns)
    ((node, origin, message),) = caught.value.errors
    assert node == "x" and __file__ in origin
    return message


CONSTANTS = [
    (90 * u.deg, np.pi / 2),
    (Angle("1h"), np.pi / 12),
    (1.4 * u.GHz, 1.4e9),
    (2 * u.hour, 7200.0),
    (3 * u.km, 3000.0),
    (5 * u.mJy, 0.005),
    (1 * u.km / u.s, 1000.0),
    (30 * u.percent, 0.3),
    ([60, -30] * u.deg, np.radians([60, -30])),
    ((1 + 2j) * u.mJy, 0.001 + 0.002j),
    (4 / u.mJy**2, 4e6),
    (4 / u.ms**2, 4e6),
    (4 / u.mm**2, 4e6),
    (4 / u.mrad**2, 4e6),
]


@pytest.mark.parametrize("quantity, expected", CONSTANTS, ids=lambda value: str(value))
def test_quantities_without_a_declared_unit_take_that_of_trees(quantity, expected):
    for definition in (rt.Constant(quantity), rt.Identity(quantity), rt.Constant(0.0) + quantity):
        np.testing.assert_allclose(value_of(definition)[..., 0, 0], expected, rtol=1e-15)
    ns = rt.NodeScope()
    ns.x << quantity
    ns.y << quantity * ns.one
    ns.one << 1.0
    np.testing.assert_allclose(rt.Forest(ns).evaluate(ns.y)[..., 0, 0], expected, rtol=1e-15)


def test_quantities_take_the_declared_unit():
    np.testing.assert_allclose(value_of(rt.Cos(60 * u.deg)).item(), 0.5, rtol=1e-15)
    np.testing.assert_allclose(value_of(rt.Freq() / (700 * u.MHz), rt.Cells(freq_hz=1.4e9)).item(), 2.0)
    lmn = value_of(rt.LMN([0, 1] * u.deg, radec_0=[0, 0] * u.deg))
    np.testing.assert_allclose(lmn[:, 0, 0], [0, np.sin(np.radians(1)), np.cos(np.radians(1))], atol=1e-16)
    ns = rt.NodeScope()
    ns.p << rt.Parm(
        10 * u.deg, time_scale_s=1 * u.hour, freq_0_hz=1 * u.GHz, minimum=-1 * u.rad, prior_sigma=[1] * u.arcmin
    )
    forest = rt.Forest(ns)
    state = forest.get_state(ns.p)
    assert state["value"] == pytest.approx(np.radians(10)) and state["time_scale_s"] == 3600
    assert state["freq_0_hz"] == 1e9 and state["minimum"] == -1 and state["prior_sigma"] == pytest.approx(np.pi / 10800)
    forest.set_state(ns.p, value=1 * u.deg, freq_scale_hz=3 * u.kHz)
    assert forest.get_state(ns.p)["value"] == pytest.approx(np.pi / 180)
    assert forest.get_state(ns.p)["freq_scale_hz"] == 3000
    with pytest.raises(rt.Error, match="'time_0_s' is in m, expected s"):
        forest.set_state(ns.p, time_0_s=3 * u.m)


def test_wrong_dimensions_name_argument_and_units():
    assert "child 'x' is in m, expected rad" in refused(rt.Cos(3 * u.m))
    assert "child 'x' is in deg, expected a pure number" in refused(rt.Exp(x=3 * u.deg))
    assert "child 'lmn' is in deg, expected a pure number" in refused(
        rt.PSV([[0, 0, 1]] * u.deg, [1.0], [1.0, 2.0, 3.0])
    )
    assert "child 'uvw' is in s, expected m" in refused(rt.PSV([[0.0, 0.0, 1.0]], [1.0] * u.Jy, uvw=[1, 2, 3] * u.s))
    assert "operand 2 is in m, expected a pure number" in refused(rt.Constant(2.0) ** (2 * u.m))
    assert "'time_scale_s' is in GHz, expected s" in refused(rt.Parm(1.0, time_scale_s=1 * u.GHz))
    assert "'seed' takes no unit" in refused(rt.GaussNoise(seed=3 * u.m))
    assert "is in K, expected one of the units that trees compute in" in refused(rt.Constant(3 * u.K))
    assert "'value', whose unit 'minimum' has, is in deg" in refused(rt.Parm(3 * u.deg, minimum=1 * u.m))
    assert "a unit stands outside the list" in refused(rt.Constant([1 * u.deg, 2 * u.rad]))


def test_units_of_another_kind_are_refused():
    class WithUnits(np.ndarray):
        units = "degrees"

    assert "unit of an unknown kind" in refused(rt.Constant(np.ones(2).view(WithUnits)))


def test_cells_take_quantities():
    cells = rt.Cells([1, 2] * u.min, [1.4, 1.5] * u.GHz, time_width_s=1 * u.min, freq_width_hz=[1, 2] * u.kHz)
    np.testing.assert_array_equal(cells.time_s, [60, 120])
    np.testing.assert_allclose(cells.freq_hz, [1.4e9, 1.5e9])
    np.testing.assert_array_equal(cells.time_width_s, [60, 60])
    np.testing.assert_array_equal(cells.freq_width_hz, [1000, 2000])
    with pytest.raises(rt.Error, match="time_s is in MHz, expected s"):
        rt.Cells([1, 2] * u.MHz)
    with pytest.raises(rt.Error, match="l is in deg, expected a pure number"):
        rt.Cells(l=[1, 2] * u.deg)
    with pytest.raises(rt.Error, match="freq_width_hz is in s"):
        rt.Cells(freq_hz=1e9, freq_width_hz=1 * u.s)


def test_predict_takes_quantities_in_any_argument():
    random = np.random.default_rng(3)
    plain = {
        "uvw_m": random.normal(scale=500, size=(4, 3)),
        "frequency_hz": np.array([1.4e9, 1.41e9]),
        "lmn": np.array([[0.01, 0.02, np.sqrt(1 - 5e-4)], [0, 0, 1.0]]),
        "stokes": np.array([[1.0, 0.1, 0, 0], [2.0, 0, 0, 0]]),
        "duvw_m_s": random.normal(scale=0.05, size=(4, 3)),
        "exposure_s": 10.0,
        "channel_width_hz": 1e6,
        "gaussian": np.array([[1e-4, 5e-5, 0.3], [0, 0, 0]]),
        "exponential_disk": np.array([[0, 0, 0], [3e-5, 2e-5, 0.1]]),
    }
    units = {
        "uvw_m": (u.m, u.km),
        "frequency_hz": (u.Hz, u.MHz),
        "lmn": (u.one, u.percent),
        "stokes": (u.Jy, u.mJy),
        "duvw_m_s": (u.m / u.s, u.km / u.hour),
        "exposure_s": (u.s, u.min),
        "channel_width_hz": (u.Hz, u.kHz),
        "gaussian": (u.rad, u.arcsec),
        "exponential_disk": (u.rad, u.arcsec),
    }
    expected = rt.predict(**plain)
    quantities = {name: (value * units[name][0]).to(units[name][1]) for name, value in plain.items()}
    np.testing.assert_allclose(rt.predict(**quantities), expected, rtol=1e-10)
    for name, value in plain.items():
        with pytest.raises(rt.Error, match=rf"^{name} is in K, expected "):
            rt.predict(**{**plain, name: value * u.K})


def test_sky_models_telescopes_and_sets_take_quantities(tmp_path):
    source = rt.sky.Source(
        "a",
        10 * u.deg,
        Angle("-30d"),
        [1, 0, 0, 0] * u.mJy,
        1.4 * u.GHz,
        gaussian=(2 * u.arcmin, 1 * u.arcmin, 0 * u.deg),
    )
    same = rt.sky.Source(
        "a", np.radians(10), np.radians(-30), (1e-3, 0, 0, 0), 1.4e9, gaussian=(np.pi / 5400, np.pi / 10800, 0.0)
    )
    assert source.isclose(same)
    with pytest.raises(rt.sky.SkyModelError, match="source 'a': ra_rad is in m, expected rad"):
        rt.sky.Source("a", 10 * u.m, 0.0, (1, 0, 0, 0))
    kat = rt.telescopes.get("kat-7")
    again = rt.telescopes.Telescope(
        "k", kat.antenna_names, (kat.ecef_m * u.m).to(u.km), kat.dish_diameter_m * u.m, band_centre_hz=1.4 * u.GHz
    )
    np.testing.assert_allclose(again.ecef_m, kat.ecef_m, rtol=1e-15)
    assert again.band_centre_hz == 1.4e9
    with pytest.raises(rt.telescopes.TelescopeError, match="ecef_m is in s"):
        rt.telescopes.Telescope("k", kat.antenna_names, kat.ecef_m * u.s, kat.dish_diameter_m)
    made = rt.ms.create(
        tmp_path / "a.ms",
        kat,
        phase_centre_rad=[15, -30] * u.deg,
        duration_s=1 * u.min,
        integration_s=20 * u.s,
        bands=rt.ms.Band.regular(1.4 * u.GHz, 2 * u.MHz, 2),
    )
    assert made.n_time == 3
    (group,) = rt.ms.groups(made.path)
    assert group.phase_centre_rad == pytest.approx(np.radians([15, -30]))
    assert group.frequency_hz == pytest.approx((1.3995e9, 1.4005e9))
    model, centre = rt.sky.SkyModel([source]), [12, -29] * u.deg
    for function in (model.shapes_in_plane, model.shape_axes, model.shapes_seen_from, model.tangents):
        np.testing.assert_array_equal(function(centre), function(tuple(centre.to_value("rad"))))


def test_directions_of_astropy_are_refused_by_name(tmp_path):
    """They hold several directions, or one, and are no sequence then."""
    centre = SkyCoord("1h00m00s", "-30d00m")
    with pytest.raises(rt.Error, match=r"phase_centre_rad must be a sequence \(each a number\).* not <SkyCoord"):
        rt.ms.create(tmp_path / "a.ms", "kat-7", phase_centre_rad=centre, duration_s=60, integration_s=20)
    model = rt.sky.SkyModel([rt.sky.Source("a", 0.2, -0.5, (1, 0, 0, 0))])
    for function in (model.shape_axes, lambda centre: rt.sky_nodes(rt.NodeScope(), model, centre)):
        with pytest.raises(rt.Error, match=r"phase_centre_rad must be a sequence \(each a number\).* not <SkyCoord"):
            function(centre)


def test_masked_constants_are_flagged():
    values = np.ma.array([[1.0, np.nan, 3.0]], mask=[[False, True, False]])
    ns = rt.NodeScope()
    ns.given << rt.Constant(values, cells_rank=2)
    ns.quantity << rt.Constant(value=np.ma.array([1.0, 2.0], mask=[1, 0]))
    ns.operand << rt.Constant([1.0, 1.0]) * np.ma.array([1.0, 2.0], mask=[0, 1])
    ns.bound << np.ma.array([1.0, 2.0], mask=[0, 1])
    ns.unmasked << np.ma.array([1.0, 2.0])
    ns.mean << rt.Mean(ns.given)
    forest = rt.Forest(ns)
    cells = rt.Cells([1.0], [1.0, 2.0, 3.0])
    given = forest.result(ns.given, cells)
    np.testing.assert_array_equal(given.flags != 0, values.mask)
    np.testing.assert_array_equal(given.value[given.flags == 0], [1, 3])
    assert forest.evaluate(ns.mean, cells).item() == 2.0
    for name, masked in (("quantity", [1, 0]), ("operand", [0, 1]), ("bound", [0, 1])):
        np.testing.assert_array_equal(forest.result(ns[name]).flags[:, 0, 0] != 0, masked, err_msg=name)
    assert forest.result(ns.unmasked).flags is None and ns.unmasked.classname == "Constant"


def test_masks_are_refused_where_there_are_no_flags():
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    assert "'value' has masked elements (1)" in refused(rt.Parm(masked))
    assert "'index' has masked elements" in refused(rt.Selector([1.0, 2.0], index=masked))
    for call in (
        lambda: rt.Cells(time_s=masked),
        lambda: rt.predict([[1.0, 2.0, 3.0]], masked, [[0.0, 0.0, 1.0]], [[1.0, 0, 0, 0]]),
    ):
        with pytest.raises(rt.Error, match="masked elements"):
            call()
    cells = rt.Cells(np.ma.array([1.0, 2.0], mask=False))
    np.testing.assert_array_equal(cells.time_s, [1, 2])


def test_python_written_nodes_return_units_and_no_masks():
    np.testing.assert_allclose(value_of(rt.PyNode(evaluate=lambda cells: 90 * u.deg)).item(), np.pi / 2, rtol=1e-15)
    for wrong, message in ((np.ma.masked_all(2), "masked elements"), (3 * u.K, "is in K, expected one of the units")):
        with pytest.raises(rt.Error, match=f"node 'x' .*what the function returned.* {message}"):
            value_of(rt.PyNode(evaluate=lambda cells, wrong=wrong: wrong, dims=np.shape(wrong)))


def test_flags_have_the_dimensions_of_the_value():
    """[2,2] with flags of its own for each element, and with one flag for all of them: both broadcast."""
    ns = rt.NodeScope()
    ns.matrix << rt.ZeroFlagger(rt.Constant([[1.0, 0.0], [0.0, 1.0]]) * rt.Time(), oper="EQ")
    ns.scalar << rt.ZeroFlagger(rt.Time() - 2.0, oper="EQ")
    ns.both << rt.MergeFlags(rt.Constant(np.ones((2, 2))), ns.scalar)
    forest = rt.Forest(ns)
    cells = rt.Cells([1.0, 2.0], [1e9])
    matrix, scalar, both = forest.results([ns.matrix, ns.scalar, ns.both], cells)
    assert matrix.flags.shape == (2, 2, 2, 1)
    np.testing.assert_array_equal(matrix.flags[:, :, 0, 0], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(scalar.flags, [[0], [1]])
    assert both.flags.ndim == 4
    good = np.where(both.flags == 0, both.value, np.nan)
    np.testing.assert_array_equal(good, np.array([1.0, np.nan])[:, None] * np.ones((2, 2, 1, 1)))
