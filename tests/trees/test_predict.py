"""rt.predict against an extended-precision direct sum and the exact average over cells."""

import itertools
import warnings

import numpy as np
import pytest

import rimetree as rt

C = np.longdouble(299792458)
PI = np.longdouble("3.14159265358979323846264338327950288")
# Agreed accuracy, as fractions of the total flux: what a plain sum in this precision attains for phases of 1e6 rad.
TOLERANCE = {"double": 1e-12, "single": 1e-6}


def sinc(x):
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.sin(safe) / safe)


def direct_sum(uvw, frequency, lm, stokes_sf4, rates=None, exposure=0.0, width=0.0, gaussian=None):
    """Written out in 80-bit arithmetic, source by source. [row, channel, 2, 2]."""
    ld = np.longdouble
    uvw, frequency, lm = ld(uvw), ld(frequency), ld(lm)
    n_1 = np.sqrt(1 - lm[:, 0] ** 2 - lm[:, 1] ** 2) - 1
    k = frequency / C
    total = np.zeros((len(uvw), len(frequency), 2, 2), np.clongdouble)
    for s in range(len(lm)):
        direction = np.array([lm[s, 0], lm[s, 1], n_1[s]])
        path = uvw @ direction
        turns = np.outer(path, k)
        factor = np.exp(2j * PI * (turns - np.rint(turns)))
        factor = factor * sinc(PI * np.outer(path, np.broadcast_to(ld(width), frequency.shape)) / C)
        if rates is not None:
            change = (ld(rates) @ direction) * np.broadcast_to(ld(exposure), path.shape)
            factor = factor * sinc(PI * np.outer(change, k))
        if gaussian is not None:
            major, minor, angle = ld(gaussian[s])
            along = major * (uvw[:, 0] * np.sin(angle) + uvw[:, 1] * np.cos(angle))
            across = minor * (uvw[:, 0] * np.cos(angle) - uvw[:, 1] * np.sin(angle))
            factor = factor * np.exp(-(PI**2) / (4 * np.log(ld(2))) * np.outer(along**2 + across**2, k**2))
        i, q, u, v = np.moveaxis(ld(stokes_sf4[s]), -1, 0)
        brightness = np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])  # [2, 2, channel]
        total += factor[..., np.newaxis, np.newaxis] * np.moveaxis(brightness, -1, 0)
    return total


FREQUENCIES = {
    "regular": 1.0e9 + 0.5e6 * np.arange(19),
    "descending": 1.5e9 - 1.0e6 * np.arange(12),
    "irregular": 1.0e9 + np.cumsum([0, 1e6, 2.5e6, 0.3e6, 7e6, 1e6, 1e6]),
    "single": np.array([1.4e9]),
}


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("channels", FREQUENCIES)
@pytest.mark.parametrize(
    "polarised,spectral,gaussian,smeared", list(itertools.product([False, True], repeat=4)), ids=lambda flag: "ny"[flag]
)
def test_against_extended_precision(precision, channels, polarised, spectral, gaussian, smeared):
    rng = np.random.default_rng([len(channels), polarised, spectral, gaussian, smeared])
    frequency = FREQUENCIES[channels]
    n_row, n_source = 13, 21
    # Phases of up to about 1e6 radians: 40 km, 0.5 of the sky, 1.4 GHz.
    uvw = rng.uniform(-4e4, 4e4, (n_row, 3))
    lm = rng.uniform(-0.35, 0.35, (n_source, 2))
    stokes = np.zeros((n_source, len(frequency) if spectral else 1, 4))
    stokes[..., 0] = rng.uniform(0.1, 2, stokes.shape[:2])
    if polarised:
        stokes[..., 1:] = rng.normal(scale=0.2, size=(*stokes.shape[:2], 3))
    options, oracle = {}, {}
    if smeared:
        oracle = {"rates": rng.normal(scale=1.0, size=(n_row, 3)), "exposure": rng.uniform(0, 8, n_row)}
        oracle["width"] = rng.uniform(1e3, 1e4, len(frequency))
        options = {"duvw_m_s": oracle["rates"], "exposure_s": oracle["exposure"], "channel_width_hz": oracle["width"]}
    if gaussian:
        shapes = np.column_stack([rng.uniform(0, 2e-6, (n_source, 2)), rng.uniform(0, 3, n_source)])
        shapes[::3] = 0  # some are points
        options["gaussian"] = oracle["gaussian"] = shapes
    lmn = np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))])
    given = stokes if spectral else stokes[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = rt.predict(uvw, frequency, lmn, given, precision=precision, **options)
    full = np.broadcast_to(stokes, (n_source, len(frequency), 4))
    expected = direct_sum(uvw, frequency, lm, full, **oracle)
    assert got.shape == (n_row, len(frequency), 2, 2)
    flux = np.abs(full).sum(axis=(0, 2)).max()
    # n is formed from l and m in double precision here and in extended precision there: 1e-16 of the path each.
    assert np.abs(got - expected).max() / flux < TOLERANCE[precision]


def exact_average(uvw, rate, frequency, width, exposure, lm):
    """A point source of 1 Jy averaged over exposure and channel by 40-point Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    n_1 = -(lm @ lm) / (1 + np.sqrt(1 - lm @ lm))
    direction = np.array([*lm, n_1])
    path = (uvw + np.outer(nodes * exposure / 2, rate)) @ direction
    nu = frequency + nodes * width / 2
    values = np.exp(2j * np.pi * np.outer(path, nu) / 299792458.0)
    return weights @ values @ weights / 4


def test_small_cells_smear_as_the_exact_average():
    uvw, rate, lm = np.array([3000.0, -2000.0, 500.0]), np.array([0.15, 0.2, -0.05]), np.array([0.01, -0.02])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # cells this small deserve no warning
        got = rt.predict(
            uvw[np.newaxis],
            [1.4e9],
            [[*lm, np.sqrt(1 - lm @ lm)]],
            [[1.0, 0, 0, 0]],
            duvw_m_s=rate[np.newaxis],
            exposure_s=8.0,
            channel_width_hz=2e5,
        )[0, 0, 0, 0]
    expected = exact_average(uvw, rate, 1.4e9, 2e5, 8.0, lm)
    assert abs(expected) < 0.9999  # there is something to get right
    # What the product of sincs leaves out is the rate's change across the channel: (dnu/nu) x dphi_t/12 here.
    assert abs(got - expected) < 2e-4


def test_large_cells_are_warned_of():
    with pytest.warns(UserWarning, match="cells are large"):
        got = rt.predict(
            [[30000.0, 0, 0]],
            [1e9],
            [[0.1, 0, np.sqrt(0.99)]],
            [[1.0, 0, 0, 0]],
            duvw_m_s=[[200.0, 0, 0]],
            exposure_s=10.0,
            channel_width_hz=5e7,
        )[0, 0, 0, 0]
    expected = exact_average(np.array([30000.0, 0, 0]), np.array([200.0, 0, 0]), 1e9, 5e7, 10.0, np.array([0.1, 0]))
    assert abs(got - expected) > 1e-3


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(5)
    arguments = (
        rng.normal(scale=1e3, size=(203, 3)),
        1e9 + 1e6 * np.arange(9),
        [[0.1, 0.2, np.sqrt(0.95)]],
        [[1, 0.1, 0, 0]],
    )
    np.testing.assert_array_equal(rt.predict(*arguments, threads=1), rt.predict(*arguments, threads=3))


def test_result_is_a_view():
    value = rt.predict([[1.0, 2, 3]], [1e9], [[0, 0, 1.0]], [[1.0, 0, 0, 0]])
    assert not value.flags.owndata
    np.testing.assert_array_equal(value[0, 0], np.eye(2))


def test_bandwidth_smearing_needs_no_rates():
    value = rt.predict([[1000.0, 0, 0]], [1e9], [[0.1, 0, np.sqrt(0.99)]], [[1.0, 0, 0, 0]], channel_width_hz=1e6)
    x = np.pi * 1000 * 0.1 * 1e6 / 299792458
    assert abs(value[0, 0, 0, 0]) == pytest.approx(np.sin(x) / x, rel=1e-12)


@pytest.mark.parametrize("n_row,n_source", [(0, 3), (4, 0)])
def test_nothing_gives_nothing(n_row, n_source):
    lmn = np.tile([0.0, 0.0, 1.0], (n_source, 1))
    value = rt.predict(np.zeros((n_row, 3)), [1e9, 2e9], lmn.reshape(-1, 3), np.ones((n_source, 4)))
    assert value.shape == (n_row, 2, 2, 2) and not value.any()


GOOD = {
    "uvw_m": np.zeros((2, 3)),
    "frequency_hz": [1e9],
    "lmn": [[0.0, 0.0, 1.0]],
    "stokes": [[1.0, 0.0, 0.0, 0.0]],
}


@pytest.mark.parametrize(
    "change,message",
    [
        ({"uvw_m": np.zeros((2, 2))}, r"uvw_m has shape \[2, 2\], expected \[any, 3\]"),
        ({"uvw_m": [[np.nan, 0, 0]]}, r"uvw_m\[0, 0\] is nan"),
        ({"lmn": [[0.8, 0.8, 0.0]]}, r"l\^2 \+ m\^2 = 1.28 exceeds 1"),
        ({"lmn": [[0.1, 0.0, -0.005]]}, "the third component is n, not n - 1"),
        ({"stokes": [[np.inf, 0, 0, 0]]}, r"stokes\[0, 0\] is inf"),
        ({"stokes": np.zeros((1, 7, 4))}, r"stokes has shape \[1, 7, 4\], expected \[1, 1, 4\]"),
        ({"frequency_hz": [-1e9]}, "frequency_hz must be positive"),
        ({"exposure_s": 1.0}, "needs the rates of change"),
        ({"duvw_m_s": np.zeros((3, 3)), "exposure_s": 1.0}, r"duvw_m_s has shape \[3, 3\], expected \[2, 3\]"),
        ({"duvw_m_s": np.zeros((2, 3)), "exposure_s": -1.0}, "must not be negative"),
        ({"gaussian": [[-1.0, 0, 0]]}, "widths must not be negative"),
        ({"precision": "half"}, 'must be "double" or "single"'),
        ({"device": "warp"}, "there is no device"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(rt.Error, match=message):
        rt.predict(**{**GOOD, **change})


def test_both_shapes_of_fluxes_are_named():
    """Only that with channels had been."""
    with pytest.raises(rt.Error, match=r"stokes has shape \[4\], expected \[1, 4\] or \[1, 2, 4\]"):
        rt.predict([[100.0, 0.0, 0.0]], [1.0e9, 1.1e9], [[0.0, 0.0, 1.0]], [1.0, 0.0, 0.0, 0.0])


def test_time_smearing_needs_rates_and_exposure():
    """With rates alone nothing had been smeared."""
    arrays = ([[30.0, 20.0, 5.0]], [1e9], [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0, 0.0]])
    with pytest.raises(rt.Error, match="duvw_m_s is given without exposure_s"):
        rt.predict(*arrays, duvw_m_s=[[1.0, 0.0, 0.0]])
    with pytest.raises(rt.Error, match="exposure_s is given without duvw_m_s"):
        rt.predict(*arrays, exposure_s=1.0)
