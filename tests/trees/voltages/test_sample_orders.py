"""Samples and sums of products in the orders and codes of other correlators, there and back."""

import numpy as np
import pytest

import rimetree as rt

RNG = np.random.default_rng(3)


def bytes_of(n_time=64, n_channel=3, n_input=8, lowest=-127):
    """(codes of int8, the numbers [time, channel, input, 2])."""
    numbers = RNG.integers(lowest, 128, (n_time, n_channel, n_input, 2)).astype(np.int8)
    return numbers.view("<u2")[..., 0], numbers


def nibbles_of(n_time=64, n_channel=3, n_input=8, lowest=-7):
    numbers = RNG.integers(lowest, 8, (n_time, n_channel, n_input, 2))
    return ((numbers[..., 0] + 8) << 4 | (numbers[..., 1] + 8)).astype(np.uint8), numbers


# By the axes that each system documents, one number after the other.
def test_xgpu_takes_time_channel_station_pol():
    codes, numbers = bytes_of()
    made = rt.samples_to_order(codes, "xgpu", "int8")
    assert made.shape == (64, 3, 4, 2, 2) and made.dtype == np.int8
    assert (made[5, 2, 3, 1] == numbers[5, 2, 7]).all()
    four = rt.samples_to_order(codes, "xgpu-dp4a", "int8")
    assert four.shape == (16, 3, 4, 2, 2, 4)
    assert four[3, 1, 2, 1, 0, 2] == numbers[14, 1, 5, 0] and four[3, 1, 2, 1, 1, 2] == numbers[14, 1, 5, 1]


def test_the_tensor_core_correlator_takes_blocks_of_16_bytes():
    codes, numbers = bytes_of()
    made = rt.samples_to_order(codes, "tcc", "int8")
    assert made.shape == (3, 4, 4, 2, 16, 2)
    assert (made[2, 3, 1, 1, 9] == numbers[57, 2, 3]).all()
    codes, numbers = nibbles_of()
    made = rt.samples_to_order(codes, "tcc", "chime")
    assert made.shape == (3, 2, 4, 2, 32) and made.dtype == np.uint8
    re, im = numbers[33, 1, 6]
    assert made[1, 1, 3, 0, 1] == (re & 15) | (im & 15) << 4  # the real part in the low nibble, two's complement


def test_meerkat_takes_antenna_channel_time_pol():
    codes, numbers = bytes_of()
    made = rt.samples_to_order(codes, "meerkat", "int8")
    assert made.shape == (4, 3, 64, 2, 2)
    assert (made[2, 1, 60, 1] == numbers[60, 1, 5]).all()


@pytest.mark.parametrize("order", ["xgpu", "xgpu-dp4a", "tcc", "meerkat"])
def test_there_and_back(order):
    codes, _ = bytes_of()
    back, format = rt.samples_from_order(rt.samples_to_order(codes, order, "int8"), order)
    assert format == "int8" and (back == codes).all()
    wanted = rt.correlate(codes, format="int8", integration=64)
    assert (rt.correlate(back, format=format, integration=64) == wanted).all()


@pytest.mark.parametrize("order", ["chime", "tcc"])
@pytest.mark.parametrize("format", ["chime", "int4", "int4-low"])
def test_nibbles_there_and_back(order, format):
    codes, _ = nibbles_of(lowest=-7 if order == "tcc" else -8)
    own = {"chime": codes, "int4": codes ^ 0x88, "int4-low": ((codes ^ 0x88) >> 4) | ((codes ^ 0x88) << 4)}[format]
    back, found = rt.samples_from_order(rt.samples_to_order(own, order, format), order)
    wanted = rt.correlate(own, format=format, integration=64)
    assert (rt.correlate(back, format=found, integration=64) == wanted).all()


@pytest.mark.parametrize(
    "order, format, codes, message",
    [
        ("tcc", "int8", np.full((16, 1, 2), 0x0080, np.uint16), "samples hold -128, which tcc cannot take"),
        ("tcc", "chime", np.zeros((32, 1, 2), np.uint8), "samples hold -8, which tcc cannot take"),
        ("meerkat", "int8", np.full((4, 1, 2), 0x8000, np.uint16), "samples hold -128, which meerkat cannot take"),
        ("tcc", "int8", np.zeros((15, 1, 2), np.uint16), "15 times are no multiple of 16, the block of tcc"),
        ("xgpu", "int8", np.zeros((4, 1, 3), np.uint16), "3 inputs are not two feeds of each station"),
        ("chime", "int8", np.full((4, 1, 2), 9, np.uint16), "samples reach from 9 to 9; chime takes -8 to 7"),
        ("casper", "int8", np.zeros((4, 1, 2), np.uint16), "order is 'casper', expected 'chime', 'xgpu'"),
        ("xgpu", "float32", np.zeros((4, 1, 2), np.uint16), "format is 'float32', expected"),
        ("xgpu", "int8", np.zeros((4, 1, 2), np.uint8), r"codes are uint8 \[4, 1, 2\], expected uint16"),
    ],
)
def test_what_does_not_fit_is_said(order, format, codes, message):
    with pytest.raises(rt.Error, match=message):
        rt.samples_to_order(codes, order, format)


def test_foreign_samples_of_another_shape_are_refused():
    with pytest.raises(
        rt.Error, match=r"samples are int8 \[4, 1, 2, 3, 2\], expected int8 of 5 axes that end in \[2, 2\]"
    ):
        rt.samples_from_order(np.zeros((4, 1, 2, 3, 2), np.int8), "xgpu")


def sums(n_input=32, largest=1000):
    n = n_input * (n_input + 1) // 2
    return RNG.integers(-largest, largest, (2, n)) + 1j * RNG.integers(-largest, largest, (2, n))


@pytest.mark.parametrize("order", ["chime-blocks", "chime", "xgpu", "xgpu-tiles", "tcc", "meerkat"])
def test_sums_there_and_back(order):
    given = sums()
    n_input = 32
    i, j = rt.product_inputs(n_input).T
    given[:, i == j] = given[:, i == j].real  # blocks on the diagonal have both halves
    numbers, cut_off = rt.integers_to_order(given, order)
    assert numbers.dtype == np.int32 and cut_off == 0
    found, missing, large = rt.integers_from_order(numbers, order, n_input)
    assert (found == given).all() and not missing.any() and not large.any()


def test_meerkat_says_what_was_cut_off_or_is_missing():
    given = sums(4)
    given[0, 3], given[1, 5] = 2.0**31 + 7j, -(2.0**40) - 3j
    missing = np.zeros((2, 10), bool)
    missing[1, 2] = True
    numbers, cut_off = rt.integers_to_order(given, "meerkat", missing=missing)
    assert cut_off >= 2 and numbers.max() == 2**31 - 1
    assert (numbers == [-(2**31), 1]).all(axis=-1).any()
    found, lost, large = rt.integers_from_order(numbers, "meerkat", 4)
    assert (lost == missing).all() and found[1, 2] == 0
    assert large[0, 3] and large[1, 5] and large.sum() == 2
    assert found[0, 3] == 2**31 - 1 + 7j and found[1, 5] == -(2**31) + 1 - 3j
    kept = ~lost & ~large
    assert (found[kept] == given[kept]).all()


def test_chime_wraps_and_others_refuse():
    given = sums(4)
    given[0, 3] = 2.0**31 + 5
    numbers, _ = rt.integers_to_order(given, "chime")
    found, *_ = rt.integers_from_order(numbers, "chime", 4)
    assert found[0, 3] == -(2**31) + 5
    for order in ("xgpu", "tcc", "xgpu-tiles"):
        with pytest.raises(rt.Error, match="beyond the 32 bits"):
            rt.integers_to_order(given, order)
    with pytest.raises(rt.Error, match="not whole numbers: multiply means by the counts"):
        rt.integers_to_order(given + 0.5, "chime")


def test_xgpu_tiles_are_planes_of_pairs_of_stations():
    """2 s + r: row 2 i + r times column* 2 j + s; i, j is number i (i + 1) / 2 + j; real parts first."""
    n_input = 8
    i, j = rt.product_inputs(n_input).T
    given = (100 * i + j) + 1j * (i - j)
    numbers, _ = rt.integers_to_order(given, "xgpu-tiles")
    assert numbers.shape == (2, 4, 3, 2, 2)
    # stations 3 and 0: i = 1, r = 1, j = 0, s = 0; feeds 1 and 0: inputs 7 and 0
    assert numbers[0, 1, 1, 1, 0] == 700 and numbers[1, 1, 1, 1, 0] == 7
    # on the diagonal the upper half is conjugated: station 0 times station 1*
    assert numbers[0, 2, 0, 0, 1] == 300 and numbers[1, 2, 0, 0, 1] == -3
