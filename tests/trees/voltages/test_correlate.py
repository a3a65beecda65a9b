"""rt.correlate: products of voltages in memory, against NumPy's."""

import numpy as np
import pytest

import rimetree as rt


def expected(samples, integration):
    """Means of x_i x_j* [integration, channel, product] of complex whole numbers [time, channel, input]."""
    i, j = rt.product_inputs(samples.shape[2]).T
    parts = [samples[first : first + integration] for first in range(0, len(samples), integration)]
    return np.stack([(part[:, :, i] * part[:, :, j].conj()).mean(axis=0) for part in parts])


@pytest.fixture
def samples():
    rng = np.random.default_rng(5)
    return rng.integers(-8, 8, (301, 3, 19)) + 1j * rng.integers(-8, 8, (301, 3, 19))


@pytest.mark.parametrize("strategy", ["automatic", "bytes", "packed", "pairs"])
def test_products_of_chime_samples(samples, strategy):
    codes = ((samples.real + 8) * 16 + samples.imag + 8).astype(np.uint8)
    found = rt.correlate(codes, format="chime", integration=100, strategy=strategy)
    assert found.shape == (4, 3, 190)
    # Sums are exact; their means differ by the rounding of one division.
    np.testing.assert_allclose(found, expected(samples, 100), rtol=1e-15)


@pytest.mark.parametrize("strategy", ["automatic", "packed", "pairs"])
def test_a_device_gives_the_same_bits(samples, strategy):
    codes = ((samples.real + 8) * 16 + samples.imag + 8).astype(np.uint8)
    given = {"format": "chime", "integration": 100, "strategy": strategy}
    assert (rt.correlate(codes, device="simulated", **given) == rt.correlate(codes, **given)).all()


@pytest.mark.parametrize("gates", [1, 3])
def test_channels_and_products_on_a_device_are_those_of_the_host(tmp_path, gates):
    """M5, M7, C9: samples of 5 bits to channels to products, whole chain, with delays and gates."""
    rng = np.random.default_rng(3)
    (tmp_path / "v").write_bytes((rng.integers(0, 1024, (40 * 32, 5))).astype("<u2").tobytes())
    ns = rt.NodeScope()
    ns.v << rt.Voltages(source=str(tmp_path / "v"), format="mwa32t", n_input=5, sample_interval_s=1e-6)
    ns.c << rt.Channelise(ns.v, n_channel=32, taps=4, window="hann", gain=4.0, delay_s=[0, 1e-6, 2.3e-6, 0, -5e-6])
    ns.V << rt.Correlate(ns.c, integration=10, gates=gates, gate_length=2)
    cells = rt.Cells((np.arange(4) + 0.5) * 320e-6, np.arange(1.0, 33), time_width_s=320e-6, freq_width_hz=1.0)
    host, device = (rt.Forest(ns, device=name) for name in ("none", "simulated"))
    values = host.evaluate(ns.V, cells)
    assert np.isfinite(values).all() and (np.abs(values) > 0).any()
    assert (device.evaluate(ns.V, cells) == values).all()
    assert (device.evaluate(ns.V, cells) == values).all()
    assert any("matrix units" in note for note in device.notes())


def test_products_of_bytes_and_of_their_codes(samples):
    pairs = np.stack([samples.real * 16, samples.imag * 16], axis=-1).astype(np.int8)
    found = rt.correlate(pairs, format="int8", integration=301)
    np.testing.assert_allclose(found, expected(16 * samples, 301), rtol=1e-15)
    assert (rt.correlate(pairs.view("<u2")[..., 0], format="int8", integration=301) == found).all()


def test_products_of_words(samples):
    re, im = samples.real.astype(int) * 2, samples.imag.astype(int) * 2
    codes = ((re & 31) | (im & 31) << 5).astype(np.uint16)
    found = rt.correlate(codes, format="mwa32t", integration=7)
    np.testing.assert_allclose(found, expected(2 * samples, 7), rtol=1e-15)
    swapped = rt.correlate(codes, format="mwa32t-swapped", integration=7)
    np.testing.assert_allclose(swapped, expected(2 * (samples.imag + 1j * samples.real), 7), rtol=1e-15)


@pytest.mark.parametrize("strategy", ["automatic", "pairs", "groups2", "hybrid4"])
def test_products_of_floats(samples, strategy):
    """Noise of any scale, within what single precision loses; whole numbers are exact."""
    given = {"format": "float32", "integration": 100, "strategy": strategy}
    whole = samples[..., :16].astype(np.complex64)
    assert (rt.correlate(whole, **given) * 100 == expected(samples[..., :16], 100) * 100).all()
    swapped = (whole.imag + 1j * whole.real).astype(np.complex64)
    assert (rt.correlate(swapped, **(given | {"format": "float32-swapped"})) == rt.correlate(whole, **given)).all()
    noise = (1e-5 * samples[..., :16] * np.random.default_rng(1).normal(size=(301, 3, 16))).astype(np.complex64)
    wanted = expected(noise.astype(complex), 100)
    i, j = rt.product_inputs(16).T
    power = np.sqrt(wanted[..., i == j].real)
    assert np.abs((rt.correlate(noise, **given) - wanted) / (power[..., i] * power[..., j])).max() < 1e-6


def test_floats_that_are_not_finite_are_refused():
    voltages = np.ones((4, 2, 3), np.complex64)
    voltages[2, 1, 0] = np.nan
    with pytest.raises(rt.Error, match="sample 2, channel 1, input 0 is not finite"):
        rt.correlate(voltages, format="float32", integration=4)
    with pytest.raises(rt.Error, match='strategy "packed" takes whole numbers'):
        rt.correlate(np.ones((4, 2, 4), np.complex64), format="float32", integration=4, strategy="packed")


def test_any_order_in_memory(samples):
    codes = ((samples.real + 8) * 16 + samples.imag + 8).astype(np.uint8)
    found = rt.correlate(codes, format="chime", integration=50)
    assert (rt.correlate(np.asfortranarray(codes), format="chime", integration=50) == found).all()
    assert (rt.correlate(codes[:, ::-1], format="chime", integration=50) == found[:, ::-1]).all()


@pytest.mark.parametrize("shape", [(0, 2, 3), (4, 0, 3), (4, 2, 0)])
def test_nothing(shape):
    found = rt.correlate(np.zeros(shape, np.uint8), format="chime", integration=2)
    assert found.shape == (shape[0] // 2, shape[1], shape[2] * (shape[2] + 1) // 2)


@pytest.mark.parametrize(
    "voltages, format, message",
    [
        (np.zeros((2, 1, 3)), "chime", "voltages are float64, expected uint8"),
        (np.zeros((2, 1, 3), np.uint8), "mwa32t", "voltages are uint8, expected uint16"),
        (np.zeros((2, 3), np.uint8), "chime", r"voltages have shape \[2, 3\], expected \[time, channel, input\]"),
        (np.zeros((2, 1, 3), np.int8), "int8", r"expected \[time, channel, input, 2\] of int8"),
        (np.zeros((2, 1, 3), np.uint8), "int8", r"uint8, expected uint16 or int8 \[time, channel, input, 2\]"),
        (np.zeros((2, 1, 3), np.uint8), "CHIME", "format is 'CHIME', expected 'mwa32t'"),
    ],
)
def test_what_does_not_fit_is_said(voltages, format, message):
    with pytest.raises(rt.Error, match=message):
        rt.correlate(voltages, format=format, integration=1)


def test_masked_samples_and_products_are_refused():
    """What was masked had been correlated like the rest."""
    codes = np.ma.array(np.zeros((2, 1, 4), np.uint8), mask=np.arange(8).reshape(2, 1, 4) == 3)
    products = np.ma.array(np.zeros((1, 10), complex), mask=np.arange(10)[np.newaxis] == 3)
    for what, refused in (
        ("voltages", lambda: rt.correlate(codes, format="chime", integration=1)),
        ("codes", lambda: rt.samples_to_order(codes, "chime", "chime")),
        ("samples", lambda: rt.samples_from_order(codes, "chime")),
        ("products", lambda: rt.to_order(products, "chime")),
        ("values", lambda: rt.from_order(products, "chime", 4)),
        ("sums", lambda: rt.integers_to_order(products, "chime")),
        ("numbers", lambda: rt.integers_from_order(np.ma.array(np.zeros((1, 10, 2), int), mask=True), "chime", 4)),
    ):
        with pytest.raises(rt.Error, match=f"{what} has masked elements"):
            refused()
    assert rt.correlate(np.ma.array(codes.data), format="chime", integration=1).shape == (2, 1, 10)


def test_an_unknown_strategy_is_refused_with_the_line():
    with pytest.raises(rt.ForestError, match='"strategy" is "fast", expected "automatic", "bytes", "groups2"'):
        rt.correlate(np.zeros((2, 1, 3), np.uint8), format="chime", integration=1, strategy="fast")


def test_of_two_thousand_inputs():
    """C3: N = 2048, and one more than a multiple of every tile."""
    rng = np.random.default_rng(2)
    for n_input in (2048, 2049):
        codes = rng.integers(0, 256, (4, 1, n_input), np.uint8)
        found = rt.correlate(codes, format="chime", integration=4)[0, 0] * 4
        whole = (codes[:, 0] >> 4).astype(float) - 8 + 1j * ((codes[:, 0] & 15).astype(float) - 8)
        i, j = rt.product_inputs(n_input).T
        assert (found == (whole.T @ whole.conj())[i, j]).all()


def test_more_inputs_than_can_be_counted_are_refused():
    with pytest.raises(rt.Error, match='state field "n_input" is 65536, expected 1 to 65535'):
        rt.correlate(np.zeros((1, 1, 65536), np.uint8), format="chime", integration=1)
