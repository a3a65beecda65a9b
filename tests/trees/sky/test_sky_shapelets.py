"""Sources that are sums of shapelets: what they look like, from lists of hyperdrive to visibilities."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import eval_hermite, factorial

import rimetree as rt
from rimetree.sky import WRITERS, Shapelets, SkyModel, SkyModelError, Source, UnsupportedError
from rimetree.sky_fluxes import stokes_i_at

CENTRE = (0.3, -0.5)
FREQUENCY_HZ = np.linspace(120e6, 180e6, 4)
PER_METRE = FREQUENCY_HZ / 299792458.0
LOOK = Shapelets(9e-4, 5e-4, 0.6, {(0, 0): 1.0, (1, 0): 0.4, (0, 1): -0.3, (2, 0): 0.2, (3, 2): 0.15})
SOURCE = Source("s", 0.42, -0.44, (3.0, 0.3, -0.2, 0.1), 1.5e8, (-0.7,), shapelets=LOOK)
OTHERS = (
    Source("point", 0.31, -0.5, (2.0, 0, 0, 0)),
    Source("disk", 0.29, -0.51, (1.0, 0.2, 0, 0), uniform_disk=(1e-3, 7e-4, 0.3)),
    Source("wide", 0.3, -0.49, (1.5, 0, 0, 0), shapelets=Shapelets(1e-3, 1e-3, 0.0, {(0, 0): 1.0, (9, 4): 0.2})),
)


def shapelet(n, x):
    return eval_hermite(n, x) * np.exp(-(x**2) / 2) / np.sqrt(2.0**n * factorial(n))


def baselines(n, longest_m=200.0):
    return np.random.default_rng(3).uniform(-longest_m, longest_m, (n, 3))


def seen(sky, uvw_m, pair=(0, 1), **options):
    """[row,freq,2,2] visibilities by the ready-made nodes."""
    ns = rt.NodeScope()
    nodes = rt.sky_nodes(ns, sky, CENTRE, **options)
    ns.uvw << rt.Constant(np.moveaxis(uvw_m, 0, -1), cells_rank=1)
    ns.V << nodes.psv(*pair, ns.uvw)
    cells = rt.Cells(np.arange(len(uvw_m)), FREQUENCY_HZ, time_width_s=1.0, freq_width_hz=1e5)
    return rt.Forest(ns).evaluate(ns.V, cells).transpose(2, 3, 0, 1)


def drawn(look: Shapelets, step=0.1, reach=8.0):
    """Offsets (east, north) of points in the tangent plane, and what each has of the flux. The first axis is `pa_rad`
    east of north, the second 90 degrees before it."""
    x = np.arange(-reach, reach + step / 2, step)
    first, second = np.meshgrid(x, x, indexing="ij")
    part = sum(c * shapelet(j, first) * shapelet(k, second) for j, k, c in look.coefficients) * step**2 / (2 * math.pi)
    per_axis = 1 / math.sqrt(8 * math.log(2))
    first, second = look.major_rad * per_axis * first, look.minor_rad * per_axis * second
    c, s = math.cos(look.pa_rad), math.sin(look.pa_rad)
    return (first * s - second * c).ravel(), (first * c + second * s).ravel(), part.ravel()


def test_visibilities_are_those_of_the_brightness():
    """Of thousands of points on the sphere: also far from the phase centre and with w, but for the sky's curvature."""
    east, north, part = drawn(LOOK)
    a, dec = SOURCE.ra_rad, SOURCE.dec_rad
    middle = np.array([math.cos(dec) * math.cos(a), math.cos(dec) * math.sin(a), math.sin(dec)])
    to_east, to_north = np.array([-math.sin(a), math.cos(a), 0]), np.array(
        [-math.sin(dec) * math.cos(a), -math.sin(dec) * math.sin(a), math.cos(dec)]
    )  # fmt: skip
    at = middle + east[:, None] * to_east + north[:, None] * to_north
    at /= np.linalg.norm(at, axis=1, keepdims=True)
    ra, sin_dec = np.arctan2(at[:, 1], at[:, 0]) - CENTRE[0], at[:, 2]
    cos_dec = np.hypot(at[:, 0], at[:, 1])
    l = cos_dec * np.sin(ra)  # noqa: E741
    m = sin_dec * math.cos(CENTRE[1]) - cos_dec * math.sin(CENTRE[1]) * np.cos(ra)
    n = sin_dec * math.sin(CENTRE[1]) + cos_dec * math.cos(CENTRE[1]) * np.cos(ra)
    uvw = baselines(6)
    phase = 2 * math.pi * (uvw @ [l, m, n - 1])[:, None, :] * PER_METRE[:, None]
    expected = (part * np.exp(1j * phase)).sum(axis=-1)
    i, q, u, v = SOURCE.stokes_jy
    brightness = np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])
    expected = expected[..., None, None] * brightness * ((FREQUENCY_HZ / 1.5e8) ** -0.7)[:, None, None]
    found = seen(SkyModel((SOURCE,)), uvw)
    assert np.abs(expected).max() > 0.3 and np.abs(expected.imag).max() > 0.3
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


def test_the_first_one_is_a_gaussian():
    shape = (9e-4, 5e-4, 0.6)
    one = replace(SOURCE, shapelets=Shapelets(*shape, {(0, 0): 1.0}))
    uvw = baselines(6)
    for in_plane in (False, True):
        looks = [replace(one, shape_in_plane=in_plane), replace(one, shapelets=None, gaussian=shape)]
        looks[1] = replace(looks[1], shape_in_plane=in_plane)
        found, expected = (seen(SkyModel((look,)), uvw) for look in looks)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_sources_of_all_kinds_add_up():
    uvw = baselines(5)
    for circular in (False, True):
        options = {"feed": "circular"} if circular else {}
        sky = SkyModel((*OTHERS, SOURCE))
        single = [seen(SkyModel((source,)), uvw, **options) for source in sky]
        np.testing.assert_allclose(seen(sky, uvw, **options), sum(single), rtol=0, atol=1e-12)


@pytest.mark.parametrize("as_written", [False, True])
@pytest.mark.parametrize("differ", [None, False, True])
def test_trees_of_small_nodes_see_the_same(differ, as_written, tmp_path):
    path = str(tmp_path / "obs.ms")
    rt.ms.create(
        path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=20.0,
        bands=rt.ms.Band.regular(1.3e9, 4e6, 3), correlations="XX XY YX YY",
    )  # fmt: skip
    (group,) = rt.ms.groups(path)
    sky = SkyModel((*OTHERS, replace(SOURCE, ra_rad=0.302, dec_rad=-0.502)))
    if differ is not None:
        beams = [rt.Beam("gaussian", width, 1.3e9) for width in (0.03, 0.05)]
        sky = sky.seen_through([beams[k % 2] for k in range(7)] if differ else beams[0])
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, CENTRE, group.baselines)
    many = ns.Subscope("many")
    rt.many_node_tree(many, sky, CENTRE, group.baselines, column="MANY")
    for p, q in group.baselines:
        ns.difference(p, q) << ns.V(p, q) - many.V(p, q)
        ns.difference_sink(p, q) << rt.Sink(
            ns.difference(p, q), station_1_index=p, station_2_index=q, output_column="DIFFERENCE"
        )
    ns.differences << rt.VisDataMux(None, None, *(ns.difference_sink(p, q) for p, q in group.baselines))
    rt.Forest(ns, as_written=as_written).run(path)
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA", "DIFFERENCE"])
    assert np.abs(tile["columns"]["MODEL_DATA"]).max() > 1
    assert np.abs(tile["columns"]["DIFFERENCE"]).max() < 1e-11


def test_fluxes():
    assert Shapelets(1e-3, 1e-3, 0, {(0, 0): 2.0, (1, 0): 5, (1, 1): 7}).flux == 2
    _, _, part = drawn(LOOK)
    assert LOOK.flux == pytest.approx(part.sum(), rel=1e-12)
    high = Shapelets(1e-3, 1e-3, 0, {(4, 6): 1.0, (2, 0): 0.5})
    assert high.flux == pytest.approx(drawn(high)[2].sum(), rel=1e-10)
    assert LOOK.times(2).flux == 2 * LOOK.flux


def test_what_shapelets_are():
    assert Shapelets(1.0, 2.0, 0.0, np.array([[1.0, 0], [0, 2]])).coefficients == ((0, 0, 1.0), (1, 1, 2.0))
    assert Shapelets(1.0, 2.0, 0.0, [[3, 1, 2.0], (0, 0, 1)]).size == (4, 2)
    np.testing.assert_array_equal(LOOK.matrix[:2, :2], [[1, -0.3], [0.4, 0]])
    for change, message in (
        ({"major_rad": 0.0}, "must be > 0"),
        ({"pa_rad": math.nan}, "pa_rad of shapelets is nan"),
        ({"coefficients": {}}, "no coefficient that is not 0"),
        ({"coefficients": {(0, 0): 0.0}}, "no coefficient that is not 0"),
        ({"coefficients": {(0, -1): 1.0}}, "orders of shapelets are whole numbers from 0 to 500, not -1"),
        ({"coefficients": {(0, 501): 1.0}}, "orders of shapelets"),
        ({"coefficients": {(0, 0.5): 1.0}}, "orders of shapelets"),
        ({"coefficients": {(0, 1): math.inf}}, "coefficient 0, 1 of shapelets is inf"),
        ({"coefficients": [(0, 1, 1.0), (0, 1, 2.0)]}, "two coefficients of orders 0, 1"),
        ({"coefficients": [(0, 1)]}, "two orders and a value"),
        ({"coefficients": np.ones(3)}, r"must be \[j,k\]"),
        ({"coefficients": "none"}, "a mapping, an array or a list"),
    ):
        with pytest.raises(SkyModelError, match=message):
            replace(LOOK, **change)


def test_a_source_has_one_look():
    with pytest.raises(SkyModelError, match="gaussian and shapelets: it can be one only"):
        replace(SOURCE, gaussian=(1e-3, 1e-3, 0))
    with pytest.raises(SkyModelError, match="must be Shapelets or None"):
        replace(SOURCE, shapelets={(0, 0): 1.0})
    assert SOURCE.is_extended and SOURCE.shape is None and SOURCE.profile is None
    assert SOURCE.isclose(replace(SOURCE, shapelets=LOOK.times(1 + 1e-15)))
    for other in (LOOK.times(1.01), replace(LOOK, pa_rad=0.61), replace(LOOK, major_rad=1e-3), None):
        assert not SOURCE.isclose(replace(SOURCE, shapelets=other))
    for format in WRITERS.keys() - {"hyperdrive"}:
        with pytest.raises(UnsupportedError, match="'s'"):
            WRITERS[format](SkyModel((replace(SOURCE, stokes_jy=(1, 0, 0, 0)),)))


LIST = """
ForA:
- ra: 50.67
  dec: -37.2
  comp_type:
    shapelet:
      maj: 600.0
      min: 300.0
      pa: 70
      coeffs:
      - {n1: 0, n2: 0, value: 0.5}
      - {n1: 2, n2: 0, value: 0.2}
      - n1: 0
        n2: 3
        value: 1.0e-1
  flux_type:
    power_law: {si: -0.8, fd: {freq: 1.5e8, i: 10, q: 1}}
"""


def test_lists_of_hyperdrive(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text(LIST)
    (source,) = rt.sky.read(path)
    at_zero = 0.5 + 0.2 * math.sqrt(0.5)
    assert source.stokes_jy == pytest.approx((10 * at_zero, at_zero, 0, 0))
    assert source.shapelets.flux == pytest.approx(1)
    arcsec = math.pi / 648000
    expected = Shapelets(600 * arcsec, 300 * arcsec, math.radians(70), {(0, 0): 0.5, (2, 0): 0.2, (0, 3): 0.1})
    assert source.shapelets.isclose(expected.times(1 / at_zero))
    assert stokes_i_at(rt.sky.read(path), 1.5e8)[0] == pytest.approx(10 * at_zero)
    # Of odd orders alone there is no flux.
    path.write_text(LIST.replace("n1: 0, n2: 0", "n1: 0, n2: 1").replace("n1: 2", "n1: 1"))
    (source,) = rt.sky.read(path)
    assert source.stokes_jy[:2] == (10, 1) and source.shapelets.flux == 0


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("n1: 2", "n1: 2.5", 12, "n1 is 2.5, expected a whole number"),
        ("n1: 2", "n1: -2", 6, "orders of shapelets"),
        ("n1: 2", "n1: 0", 6, "two coefficients of orders 0, 0"),
        (", value: 0.2", "", 12, "value is missing"),
        ("maj: 600.0", "maj: 0", 6, "must be > 0"),
        ("      coeffs:\n", "      other:\n", 7, "coeffs is missing"),
    ],
)
def test_errors_of_lists_have_a_line(tmp_path, old, new, line, message):
    path = tmp_path / "list.yaml"
    path.write_text(LIST.replace(old, new, 1))
    with pytest.raises(SkyModelError, match=message) as caught:
        rt.sky.read(path)
    assert caught.value.line == line
