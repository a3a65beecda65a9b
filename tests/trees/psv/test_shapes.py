"""Extended sources of all profiles, against transforms of their brightness by quadrature."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import j0, j1

import rimetree as rt
from rimetree.sky import WRITERS, SkyModel, SkyModelError, Source, read, write
from rimetree.sky.source import PROFILES

C_M_S = 299792458.0
FREQUENCY_HZ = 1.2e9 + 1e6 * np.arange(21)
BRIGHTNESS = {  # at a distance in units of the axes, and how far it reaches
    "gaussian": (lambda r: np.exp2(-4 * r**2), 4.0),
    "exponential_disk": (lambda r: np.exp(-r), 50.0),
    "uniform_disk": (np.ones_like, 0.5),
}


def transform(profile: str, q: np.ndarray) -> np.ndarray:
    """int b(r) J0(2 pi q r) r dr / int b(r) r dr, by Gauss-Legendre quadrature in panels."""
    brightness, reach = BRIGHTNESS[profile]
    node, weight = np.polynomial.legendre.leggauss(24)
    panels = 60
    r = (reach / panels * (np.arange(panels)[:, np.newaxis] + 0.5 * (node + 1))).ravel()
    b = np.tile(weight, panels) * brightness(r) * r
    return (b * j0(2 * np.pi * q[..., np.newaxis] * r)).sum(axis=-1) / b.sum()


def tapers(profile: str, axes: np.ndarray, uvw_m: np.ndarray) -> np.ndarray:
    """[row, channel]"""
    major, minor, angle = axes
    u, v = (uvw_m[:, i, np.newaxis] * FREQUENCY_HZ / C_M_S for i in (0, 1))
    along = major * (u * math.sin(angle) + v * math.cos(angle))
    across = minor * (u * math.cos(angle) - v * math.sin(angle))
    return transform(profile, np.hypot(along, across))


def random_sky(seed: int, n_source: int):
    rng = np.random.default_rng(seed)
    lm = rng.uniform(-0.02, 0.02, (n_source, 2))
    lmn = np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))])
    stokes = rng.uniform(0.1, 1, (n_source, 4))
    axes = np.column_stack([rng.uniform(0, 2e-3, (n_source, 2)), rng.uniform(-3, 3, n_source)])
    uvw_m = rng.uniform(-100, 100, (13, 3))
    return lmn, stokes, axes, uvw_m


#: Sources by a digit each, the number of their profile, or p for a point.
KINDS = [*map(str, range(len(PROFILES))), "10p", "pp1", "0123456789"[: len(PROFILES)] + "p1011p00", "01p1011p00" * 12]


def test_all_profiles_have_a_brightness():
    assert tuple(BRIGHTNESS) == PROFILES


@pytest.mark.parametrize("precision, tolerance", [("double", 1e-12), ("single", 1e-6)])
@pytest.mark.parametrize("kinds", KINDS)
def test_visibilities_are_those_of_the_brightness(kinds, precision, tolerance):
    lmn, stokes, axes, uvw_m = random_sky(len(kinds), len(kinds))
    shapes = {
        profile: np.where([[kind == str(number)] for kind in kinds], axes, 0.0)
        for number, profile in enumerate(PROFILES)
        if str(number) in kinds
    }
    expected = np.zeros((len(uvw_m), len(FREQUENCY_HZ), 2, 2), complex)
    for kind, s, iquv, own in zip(kinds, lmn, stokes, axes, strict=True):
        one = rt.predict(uvw_m, FREQUENCY_HZ, s[np.newaxis], iquv[np.newaxis])
        taper = 1.0
        if kind != "p":
            taper = tapers(PROFILES[int(kind)], own, uvw_m)[..., None, None]
        expected += one * taper
    got = rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, **shapes, precision=precision)
    flux = 2 * stokes.sum()
    assert np.abs(got - expected).max() < tolerance * flux
    with_zeros = rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, **dict.fromkeys(PROFILES, 0 * axes))
    np.testing.assert_array_equal(with_zeros, rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes))


#: Diameters from much less than a fringe to hundreds of them, in no order: near and far parts of Bessel functions meet
#: in one vector.
DIAMETERS = np.random.default_rng(2).permutation(np.logspace(-6, 0, 40))


def disks(sizes: np.ndarray):
    """lmn, stokes, axes and uvw_m of disks of these diameters in the phase centre; 2 J_1(x)/x [row, channel, disk]."""
    lmn = np.tile([0.0, 0, 1], (len(sizes), 1))
    stokes = np.outer(1 + np.arange(len(sizes)) % 3, [1.0, 0, 0, 0])
    axes = np.column_stack([sizes, sizes, np.zeros(len(sizes))])
    uvw_m = np.column_stack([np.linspace(20, 90, 11), np.zeros((11, 2))])
    x = np.pi * sizes * (uvw_m[:, :1] * FREQUENCY_HZ / C_M_S)[..., None]
    return lmn, stokes, axes, uvw_m, 2 * j1(x) / x


@pytest.mark.parametrize("sizes", [DIAMETERS, DIAMETERS[DIAMETERS < 1e-3], DIAMETERS[DIAMETERS > 0.1]], ids=len)
def test_disks_from_unresolved_to_hundreds_of_fringes(sizes):
    lmn, stokes, axes, uvw_m, tapers = disks(sizes)
    got = rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, uniform_disk=axes)
    np.testing.assert_allclose(got[..., 0, 0], tapers @ stokes[:, 0], rtol=0, atol=2e-14 * stokes.sum())


def test_disks_whose_diameter_is_no_number_have_no_visibility():
    lmn, stokes, axes, uvw_m, _ = disks(DIAMETERS)
    axes[3] = np.nan
    shapes = np.column_stack([axes, np.full(len(axes), PROFILES.index("uniform_disk"))])
    ns = rt.NodeScope()
    ns.V << rt.PSV(rt.Constant(lmn), rt.Stokes(rt.Constant(stokes)), rt.Constant(uvw_m[0]), rt.Constant(shapes))
    assert np.isnan(rt.Forest(ns).evaluate(ns.V, rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[0.0]))[0, 0]).all()


def test_derivatives_by_diameters_of_disks():
    lmn, stokes, axes, uvw_m, _ = disks(DIAMETERS[:16])
    ns = rt.NodeScope()
    for k, diameter in enumerate(axes[:, 0]):
        ns.d(k) << rt.Parm(diameter, solvable=True)
        ns.shape(k) << rt.Composer(ns.d(k), ns.d(k), 0.0, float(PROFILES.index("uniform_disk")))
    shapes = rt.Composer(*(ns.shape(k) for k in range(len(axes))), dims=[len(axes), 4])
    brightness = rt.Stokes(rt.Constant(stokes))
    terms = []
    for i, uvw in enumerate(uvw_m):
        ns.V(i) << rt.PSV(rt.Constant(lmn), brightness, rt.Constant(uvw), shapes)
        terms.append(rt.Condeq(rt.Constant(0.3 * np.eye(2)), ns.V(i)))
    ns.chi << rt.ChiSquare(*terms)
    forest, cells = rt.Forest(ns), rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[0.0])
    at = forest.parameter_vector()
    _, gradient = forest.value_and_gradient(ns.chi, cells)
    for k, diameter in enumerate(at):
        step = 1e-5 * min(diameter, 1e-2)
        ends = [
            forest.value_and_gradient(ns.chi, cells, at + sign * step * (np.arange(len(at)) == k))[0]
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-7 * np.abs(gradient).max()), k


@pytest.mark.parametrize("profile", PROFILES)
def test_axes_may_be_vectors(profile):
    """A shape that is turned out of the plane sees a baseline as one in the plane sees the turned baseline."""
    lmn, stokes, axes, uvw_m = random_sky(6, 5)
    lmn = np.broadcast_to([0.0, 0.0, 1.0], lmn.shape)  # no phases
    turn = np.linalg.qr(np.random.default_rng(8).normal(size=(3, 3)))[0]
    c, s = np.cos(axes[:, 2, None]), np.sin(axes[:, 2, None])
    vectors = np.hstack([axes[:, :1] * (s * turn[0] + c * turn[1]), axes[:, 1:2] * (c * turn[0] - s * turn[1])])
    got = rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, **{profile: vectors}, verify=10)
    expected = rt.predict(uvw_m @ turn.T, FREQUENCY_HZ, lmn, stokes, **{profile: axes})
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13 * stokes.sum())
    # Beside others in the plane, and in single precision.
    other = PROFILES[PROFILES.index(profile) - 1]
    half = np.arange(len(axes))[:, None] % 2 == 0
    both = {profile: np.where(half, vectors, 0), other: np.where(half, 0, axes)}
    apart = [
        rt.predict(uvw_m, FREQUENCY_HZ, lmn[k::2], stokes[k::2], **{p: x[k::2]})
        for k, (p, x) in enumerate(both.items())
    ]
    for precision, tolerance in (("double", 1e-12), ("single", 1e-6)):
        got = rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, **both, precision=precision)
        assert np.abs(got - sum(apart)).max() < tolerance * stokes.sum()
    with pytest.raises(rt.Error, match=r"gaussian has shape \[5, 5\], expected \[5, 3\]"):
        rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, gaussian=vectors[:, :5])


def test_series_of_the_delay_method_see_w():
    """Shapes that lean so that they see nothing of a baseline but w, over a wide band."""
    rng, n_source, n_channel = np.random.default_rng(4), 100, 4096
    lm = rng.uniform(-0.01, 0.01, (n_source, 2))
    lmn = np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))])
    stokes = np.column_stack([rng.uniform(0.5, 1, n_source), np.zeros((n_source, 3))])
    axes = np.zeros((n_source, 6))
    axes[:, [2, 5]] = rng.uniform(5e-4, 1e-3, (n_source, 2))
    uvw_m = np.column_stack([np.zeros((8, 2)), rng.uniform(50, 150, 8)])
    frequency_hz = np.linspace(0.8e9, 1.6e9, n_channel)
    found = []
    got = rt.predict(uvw_m, frequency_hz, lmn, stokes, gaussian=axes, tolerance=1e-6, verify=100, found=found)
    assert found[0].passed and found[0].count == 100
    tapers = np.abs(got[:, :, 0, 0]).min(axis=1) / stokes[:, 0].sum()
    assert tapers.min() < 0.5  # so that they matter


def test_verification_knows_disks():
    lmn, stokes, axes, uvw_m = random_sky(5, 4)
    found = []
    rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, exponential_disk=axes, verify=20, found=found)
    assert found[0].passed


def test_a_source_has_one_shape():
    lmn, stokes, axes, uvw_m = random_sky(6, 2)
    with pytest.raises(rt.Error, match="source 1 has axes both as gaussian and as exponential_disk"):
        rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, gaussian=[[0, 0, 0], axes[1]], exponential_disk=axes)
    with pytest.raises(rt.Error, match="exponential_disk: widths must not be negative"):
        rt.predict(uvw_m, FREQUENCY_HZ, lmn, stokes, exponential_disk=-np.abs(axes))
    with pytest.raises(SkyModelError, match="gaussian and exponential_disk"):
        Source("s", 0, 0, (1, 0, 0, 0), gaussian=(1e-5, 1e-5, 0), exponential_disk=(1e-5, 1e-5, 0))


def test_profiles_without_a_number_are_refused():
    ns = rt.NodeScope()
    shape = [[1e-3, 1e-3, 0, 0.5]]
    ns.V << rt.PSV(np.array([[0.0, 0, 1]]), np.array([1.0]), np.array([50.0, 3, 0]), np.array(shape))
    with pytest.raises(rt.Error, match=r"source 0 has 0.5.* 0 \(gaussian.*1 \(exponential_disk"):
        rt.Forest(ns).evaluate(ns.V, rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[0.0]))


def test_numbers_of_profiles_are_those_of_the_nodes():
    text = " ".join(rt.PSV.__doc__.split())
    places = [text.index(f"{number} ({name}:") for number, name in enumerate(PROFILES)]
    assert places == sorted(places)


DISK = Source("d", 0.1, 0.2, (2.0, 0, 0, 0), exponential_disk=(3e-5, 1e-5, 0.4))
GAUSSIAN = Source("g", 0.1001, 0.2, (1.0, 0, 0, 0), gaussian=(2e-5, 1e-5, 0.1))
POINT = Source("p", 0.1, 0.2001, (1.5, 0, 0, 0))


def test_models_hold_profiles():
    model = SkyModel((POINT, DISK, GAUSSIAN))
    assert [s.profile for s in model] == [None, "exponential_disk", "gaussian"]
    np.testing.assert_array_equal(model.profile, [0, 1, 0])
    np.testing.assert_array_equal(model.shape_rad, [[0, 0, 0], DISK.shape, GAUSSIAN.shape])
    assert model.shapes_in_plane((0.1, 0.2)).shape == (3, 4)
    assert SkyModel((POINT, GAUSSIAN)).shapes_in_plane((0.1, 0.2)).shape == (2, 3)
    assert not DISK.isclose(replace(DISK, exponential_disk=None, gaussian=DISK.shape))


def test_bbs_files_hold_disks_and_others_refuse_them(tmp_path):
    model = SkyModel((POINT, DISK, GAUSSIAN, replace(DISK, name="e", shape_in_plane=True)))
    file = tmp_path / "sky.skymodel"
    write(model, file, "bbs")
    assert "EXPONENTIAL_DISK" in file.read_text()
    back = read(file)
    assert all(a.isclose(b) for a, b in zip(model, back, strict=True))
    with pytest.raises(SkyModelError, match=r"'d'.*shapes but Gaussians"):
        write(model, tmp_path / "list.txt", "wsclean")


@pytest.mark.parametrize("in_plane", [False, True])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("format", WRITERS)
def test_shapes_come_back_from_every_format_that_is_written(tmp_path, format, profile, in_plane):
    shapes = [(3e-5, 1e-5, 0.4), (2.123456789e-4, 2.123456789e-4, 0.0), (7e-6, 0.0, 3.1)]
    model = SkyModel(
        Source(f"s{k}", 0.1 + 1e-3 * k, 0.2, (1.0, 0, 0, 0), shape_in_plane=in_plane, **{profile: shape})
        for k, shape in enumerate(shapes)
    )
    file = tmp_path / "sky.txt"
    if format == "wsclean" and profile != PROFILES[0]:  # of which the format knows nothing
        with pytest.raises(SkyModelError, match="shapes but Gaussians"):
            write(model, file, format)
        return
    if format == "skyh5":
        with pytest.raises(SkyModelError, match="SkyH5 holds no shapes"):
            write(model, file, format)
        return
    if format == "hyperdrive" and in_plane:
        with pytest.raises(SkyModelError, match="on the sky in hyperdrive"):
            write(model, file, format)
        return
    write(model, file, format)
    for text in (None, format):  # as found from the content, and as told
        back = read(file, text)
        assert [s.profile for s in back] == [profile] * len(shapes)
        np.testing.assert_allclose(back.shape_rad, shapes, rtol=1e-13)
        assert (back.shape_in_plane == in_plane).all()
    again = tmp_path / "again.txt"
    write(read(file), again, format)
    assert again.read_text() == file.read_text()


BBS = "format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation\na,{},1rad,0.5rad,1,20,10,5\n"
HYPERDRIVE = """a:
- ra: 1
  dec: 2
  comp_type:
    {}: {{maj: 20, min: 10, pa: 5}}
  flux_type:
    power_law: {{si: -0.7, fd: {{freq: 1.5e+8, i: 1}}}}
"""
TIGGER = (
    "<HTML><BODY mdltype=SkyModel><TABLE><TR mdltype=Source><TD mdltype=str mdlval=\"'a'\"></TD> <TD mdltype=Position>"
    '<A mdltype=float mdlval="1"></A> <A mdltype=float mdlval="0.5"></A> </TD> <TD mdltype=Flux><A mdltype=float '
    'mdlval="1"></A> </TD> <TD mdltype={} mdlattr="shape"><A mdltype=float mdlval="9.69627362e-05"></A> '
    '<A mdltype=float mdlval="4.84813681e-05"></A> '
    '<A mdltype=float mdlval="0.0872664626"></A> </TD></TR></TABLE></BODY></HTML>'
)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "file, text, spell",
    [
        ("a.osm", "format = Type, RaD, DecD, I, Maj, Min, PA\n{}, 1, 2, 1, 20, 10, 5\n", str.upper),
        ("a.txt", BBS, str.upper),
        ("a.yaml", HYPERDRIVE, str),
        ("a.lsm.html", TIGGER, lambda name: name.title().replace("_", "")),
    ],
    ids=["oskar", "bbs", "hyperdrive", "tigger"],
)  # fmt: skip
def test_formats_take_every_profile_by_its_name(tmp_path, file, text, spell, profile):
    path = tmp_path / file
    path.write_text(text.format(spell(profile)))
    (source,) = read(path)
    assert source.profile == profile
    assert source.shape == pytest.approx((20 / 206264.80625, 10 / 206264.80625, np.radians(5)), rel=1e-8)
    path.write_text(text.format("Sersic"))
    with pytest.raises(SkyModelError, match=r"type Sersic (is|are) not supported"):
        read(path)


@pytest.mark.parametrize("order", [(POINT, DISK, GAUSSIAN), (DISK, POINT), (GAUSSIAN, DISK, DISK)], ids=len)
def test_one_node_and_many_nodes_agree(order):
    model = SkyModel(tuple(replace(s, name=f"s{i}") for i, s in enumerate(order)))
    uvw_m = np.array([[2000.0, -500, 300], [100, 3000, 0]])
    centre = (0.1, 0.2)
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, model, centre)
    terms = []
    for i, row in enumerate(uvw_m):
        uvw = ns.uvw(i) << rt.Constant(row)
        ns.V(i) << rt.PSV(seen.lmn, seen.brightness, uvw, seen.shape)
        for s in range(len(model)):
            lmn, b = rt.Selector(seen.lmn, index=[s, -1]), rt.Selector(seen.brightness, index=[s, -1, -1])
            shape = rt.Selector(seen.shape, index=[s, -1])
            ns.T(i, s) << rt.MatrixMultiply(rt.VisPhaseShift(lmn, uvw), rt.SourceShape(shape, uvw), b)
        terms.append(ns.W(i) << rt.Add(*(ns.T(i, s) for s in range(len(model)))))
    cells = rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[0.0])
    flux = 2 * model.total_flux_jy
    for as_written in (False, True):
        forest = rt.Forest(ns, as_written=as_written)
        for i in range(len(uvw_m)):
            difference = forest.evaluate(ns.V(i), cells) - forest.evaluate(ns.W(i), cells)
            assert np.abs(difference).max() < 1e-12 * flux


def test_shapes_with_and_without_the_number_of_a_profile_are_one_sum():
    """A stack, single shapes of three numbers or four, and a point: one PSV, and what the tree as written gives."""
    ns = rt.NodeScope()
    uvw = ns.uvw << rt.Constant(np.array([200.0, -50, 30]))
    lmn = np.array([[0.01 * i, 0.02, np.sqrt(1 - 1e-4 * i * i - 4e-4)] for i in range(6)])
    b = np.array([(1.0 + i) * np.eye(2) for i in range(6)])
    shapes = [[1e-3, 5e-4, 0.3], [2e-3, 1e-3, 0.1], [1e-3, 8e-4, 0.5, 1], [3e-3, 1e-3, 0.7]]
    stack = rt.MatrixMultiply(rt.VisPhaseShift(lmn[:2], uvw), rt.SourceShape(np.array(shapes[:2]), uvw), b[:2])
    singles = [
        rt.MatrixMultiply(rt.VisPhaseShift(lmn[i], uvw), rt.SourceShape(np.array(shapes[i]), uvw), b[i]) for i in (2, 3)
    ]
    points = [rt.MatrixMultiply(rt.VisPhaseShift(lmn[i], uvw), b[i]) for i in (4, 5)]
    ns.V << rt.Sum(
        stack, *(rt.Composer(*pair, dims=[2, 2, 2]) for pair in (singles, points)), reduction_axes=[], tensor_axis=0
    )
    cells = rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[0.0])
    forest = rt.Forest(ns)
    expected = rt.Forest(ns, as_written=True).evaluate(ns.V, cells)
    assert np.abs(forest.evaluate(ns.V, cells) - expected).max() < 1e-12 * np.abs(expected).max()
    notes = " ".join(str(note) for note in forest.notes())
    assert "PSV: 6 sources" in notes, notes


def test_a_profile_that_there_is_not_is_refused_by_name():
    ns = rt.NodeScope()
    ns.T << rt.SourceShape(np.array([1e-3, 1e-3, 0, 7]), np.array([50.0, 3, 0]))
    with pytest.raises(rt.Error, match=r"has 7.* for the number of its profile, expected one of 0"):
        rt.Forest(ns).evaluate(ns.T, rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[0.0]))
