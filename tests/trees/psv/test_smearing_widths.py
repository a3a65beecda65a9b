"""Smearing over widths of its own, not over those of the cells: the same as on cells that have these widths."""

import numpy as np
import pytest

import rimetree as rt

WIDTH_S, WIDTH_HZ = 7.0, 3e5
N_SOURCE, N_TIME = 6, 4
RNG = np.random.default_rng(3)
LM = RNG.uniform(0.01, 0.03, (N_SOURCE, 2))
LMN = np.column_stack([LM, np.sqrt(1 - (LM**2).sum(axis=1))])
STOKES = RNG.normal([1, 0, 0, 0], 0.2, (N_SOURCE, 4))
UVW = RNG.uniform(-300, 300, (3, 2, 3, N_TIME)) * [[[[1.0]], [[0.1]]]]
JONES = RNG.normal(size=(3, N_SOURCE, 2, 2)) + 1j * RNG.normal(size=(3, N_SOURCE, 2, 2))
FREQ_HZ = 1e9 + 1e6 * np.arange(8)
OWN = {"time_width_s": WIDTH_S, "freq_width_hz": WIDTH_HZ}


def cells(time_width_s=WIDTH_S, freq_width_hz=WIDTH_HZ, freq_hz=FREQ_HZ):
    return rt.Cells(10.0 * np.arange(N_TIME), freq_hz, time_width_s=time_width_s, freq_width_hz=freq_width_hz)


OTHER = {"time_width_s": 10.0, "freq_width_hz": 1e6}


def sky(ns, kind):
    lmn, brightness = rt.Constant(LMN), rt.Stokes(rt.Constant(STOKES))
    if kind == "moving":
        drift = rt.Constant(np.column_stack([np.full((N_SOURCE, 2), 1e-5), np.zeros(N_SOURCE)]))
        lmn = lmn + drift * rt.Time()
    if kind == "solvable":
        rows = [rt.Composer(rt.Parm(LMN[s, 0], solvable=True), rt.Constant(LMN[s, 1:])) for s in range(N_SOURCE)]
        lmn = rt.Composer(*rows, dims=[N_SOURCE, 3])
    if kind == "solvable flux":
        fluxes = [
            rt.Composer(rt.Parm(STOKES[s, 0], solvable=True), rt.Constant(STOKES[s, 1:])) for s in range(N_SOURCE)
        ]
        brightness = rt.Stokes(rt.Composer(*fluxes, dims=[N_SOURCE, 4]))
    return lmn, brightness


def tree(kind, widths, **options):
    ns = rt.NodeScope()
    lmn, brightness = sky(ns, kind)
    ns.lmn << lmn
    ns.B << brightness
    for p in range(3):
        ns.uvw(p) << rt.Constant(UVW[p], cells_rank=1)
        ns.J(p) << rt.Constant(JONES[p])
    roots = []
    for p, q in [(0, 1), (0, 2), (1, 2)]:
        more = [None, ns.J(p), rt.ConjTranspose(ns.J(q))] if kind == "jones" else []
        ns.V(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p) - ns.uvw(q), *more, **widths)
        roots.append(f"V:{p}:{q}")
    ns.chi << rt.ChiSquare(*(rt.Condeq(rt.Constant(np.ones((2, 2)) * 0.3j), ns.V(p, q)) for p, q in [(0, 1), (0, 2)]))
    return rt.Forest(ns, **options), roots


@pytest.mark.parametrize("device", ["none", "simulated"])
@pytest.mark.parametrize("kind", ["plain", "jones", "moving", "solvable", "solvable flux"])
def test_sums_over_sources(kind, device):
    forest, roots = tree(kind, OWN, device=device)
    reference = tree(kind, {})[0]
    derivatives = "solvable" in kind
    got = forest.results(roots, cells(**OTHER), derivatives=derivatives)
    wanted = reference.results(roots, cells(), derivatives=derivatives)
    unsmeared = tree(kind, {"smear_time": False, "smear_frequency": False})[0].results(roots, cells())
    for own, other, without in zip(got, wanted, unsmeared, strict=True):
        np.testing.assert_allclose(own.value, other.value, rtol=0, atol=1e-11)
        assert np.abs(own.value - without.value).max() > 1e-3, "a test of smearing without any"
        assert bool(other.derivatives) == derivatives
        for parameter, slope in other.derivatives.items():
            scale = max(1.0, np.abs(slope).max())
            np.testing.assert_allclose(own.derivatives[parameter], slope, rtol=0, atol=1e-11 * scale)
    if derivatives:
        (value, gradient), (chi_square, expected) = (
            forest.value_and_gradient("chi", cells(**OTHER)),
            reference.value_and_gradient("chi", cells()),
        )
        assert value == pytest.approx(chi_square, rel=1e-11)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9)


def test_many_channels_at_once():
    """By the method for long regular bands."""
    freq_hz = 1e9 + 1e6 * np.arange(4096)
    got = tree("plain", OWN)[0].results(["V:0:1"], cells(**OTHER, freq_hz=freq_hz))[0]
    wanted = tree("plain", {})[0].results(["V:0:1"], cells(freq_hz=freq_hz))[0]
    np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-11)


def test_results_are_verified_against_their_widths():
    forest, roots = tree("plain", OWN)
    forest.results(roots, cells(**OTHER), verify=20)
    assert forest.verification().passed and forest.verification().count == 20


def test_factors_of_smearing():
    ns = rt.NodeScope()
    ns.uvw << rt.Constant(UVW[0], cells_rank=1)
    ns.own << rt.TFSmearFactor(rt.Constant(LMN), ns.uvw, **OWN)
    ns.of_cells << rt.TFSmearFactor(rt.Constant(LMN), ns.uvw)
    forest = rt.Forest(ns)
    wanted = forest.evaluate("of_cells", cells())
    np.testing.assert_allclose(forest.evaluate("own", cells(**OTHER)), wanted, rtol=0, atol=1e-14)
    assert np.abs(wanted - 1).max() > 1e-3


@pytest.mark.parametrize("field", OWN)
def test_what_is_no_width_is_an_error(field):
    ns = rt.NodeScope()
    ns.uvw << rt.Constant(UVW[0], cells_rank=1)
    ns.S << rt.TFSmearFactor(rt.Constant(LMN), ns.uvw, **{field: -1.0})
    ns.V << rt.PSV(rt.Constant(LMN), rt.Constant(np.ones(N_SOURCE)), ns.uvw, **{field: -1.0})
    with pytest.raises(rt.Error) as error:
        rt.Forest(ns)
    assert str(error.value).count(f'"{field}" is -1, expected at least 0') == 2


def test_widths_that_are_not_given_are_distances_of_neighbours_in_any_order():
    centres, widths = [1.0, 2.0, 4.0, 8.0], [1.0, 1.5, 3.0, 4.0]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        shuffled, wanted = np.array(centres)[order], np.array(widths)[order]
        cells = rt.Cells(shuffled, shuffled)
        np.testing.assert_allclose(cells.time_width_s, wanted, rtol=1e-15)
        np.testing.assert_allclose(cells.freq_width_hz, wanted, rtol=1e-15)
        sign = -1 if order[0] == 3 else 1
        np.testing.assert_allclose(rt.ms.Band.of(1e9 * shuffled).width_hz, sign * 1e9 * wanted, rtol=1e-15)


@pytest.mark.parametrize("second", [{"smear_frequency": False}, OWN | {"freq_width_hz": 2e6}, {"freq_width_hz": 9e5}])
@pytest.mark.parametrize("first", [{"smear_frequency": False}, {}, OWN])
def test_sums_of_one_equation_over_different_widths(first, second):
    """A device compares the sums of an equation with data together, and had taken the widths of the first for all."""

    def gradient(device):
        ns = rt.NodeScope()
        lmn, brightness = sky(ns, "solvable flux")
        ns.uvw << rt.Constant(UVW[0], cells_rank=1)
        ns.V << rt.PSV(lmn, brightness, ns.uvw, **first) + rt.PSV(lmn, brightness, ns.uvw, **second)
        ns.chi << rt.ChiSquare(rt.Condeq(rt.Constant(np.ones((2, 2)) * 0.3j), ns.V))
        return rt.Forest(ns, device=device).value_and_gradient("chi", cells(**OTHER))

    (value, got), (chi_square, wanted) = gradient("simulated"), gradient("none")
    assert value == pytest.approx(chi_square, rel=1e-11)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("distance_m", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("rates", [False, True])
def test_widths_and_frequencies_that_are_rounded(rates, distance_m):
    """Widths that somebody made as differences of rounded frequencies: the same but for the last bits."""
    freq_hz = np.linspace(1e9, 1.2e9, 64)
    ns = rt.NodeScope()
    uvw = UVW[0] * distance_m if rates else UVW[0][0] * distance_m
    ns.V << rt.PSV(rt.Constant(LMN), rt.Constant(STOKES[:, 0]), rt.Constant(uvw, cells_rank=1))
    forest = rt.Forest(ns)
    on = rt.Cells(10.0 * np.arange(N_TIME), freq_hz, freq_width_hz=np.gradient(freq_hz))
    assert len(set(on.freq_width_hz)) > 1, "widths that do not differ"
    forest.results(["V"], on, verify=40)
    assert forest.verification().passed and forest.verification().count == 40
