"""Orders of other correlators, by their own formulae for where a product stands."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.voltages.product_orders import PRODUCT_ORDERS, from_order, product_order, to_order


@pytest.fixture
def samples():
    rng = np.random.default_rng(3)
    return rng.integers(-8, 8, 64) + 1j * rng.integers(-8, 8, 64)


@pytest.fixture
def products(samples):
    i, j = rt.product_inputs(64).T
    return samples[i] * samples[j].conj()


def test_blocks_of_chime(samples, products):
    found = to_order(products, "chime-blocks")
    assert found.shape == (3, 32, 32)
    # Blocks (x, y): (0, 0), (1, 0), (1, 1); at block * 2048 + 256 * LY + 64 * r + 8 * LX + 2 * c the real part.
    flat = np.stack([found.real, found.imag], axis=-1).ravel()
    for block, (x, y) in enumerate([(0, 0), (1, 0), (1, 1)]):
        for row, column in [(0, 0), (5, 30), (31, 2)]:
            value = samples[32 * x + column] * samples[32 * y + row].conj()
            at = block * 2048 + 256 * (row // 4) + 64 * (row % 4) + 8 * (column // 4) + 2 * (column % 4)
            assert (flat[at], flat[at + 1]) == (value.real, value.imag)


def test_what_chime_hands_on(samples, products):
    found, n = to_order(products, "chime"), 64
    for i, j in [(0, 0), (0, 63), (3, 4), (62, 63), (63, 63)]:
        at = n * (n + 1) // 2 - (n - i) * (n - i + 1) // 2 + (j - i)
        assert found[at] == samples[j] * samples[i].conj()


@pytest.mark.parametrize("order", ["xgpu", "tcc"])
def test_pairs_of_stations(samples, products, order):
    found = to_order(products, order)
    for row, column in [(0, 0), (5, 2), (31, 31), (31, 0)]:
        for p in range(2):
            for q in range(2):
                value = samples[2 * row + p] * samples[2 * column + q].conj()
                assert found[row * (row + 1) // 2 + column, p, q] == value


def test_baselines_of_meerkat(samples, products):
    found = to_order(products, "meerkat")
    for first, second in [(0, 0), (2, 5), (31, 31)]:
        for p_1 in range(2):
            for p_2 in range(2):
                value = samples[2 * first + p_1] * samples[2 * second + p_2].conj()
                assert found[second * (second + 1) // 2 + first, p_1 + 2 * p_2] == value


@pytest.mark.parametrize("order", PRODUCT_ORDERS)
def test_there_and_back(products, order):
    many = np.stack([products, 2j * products])
    autos = rt.product_inputs(64)[:, 0] == rt.product_inputs(64)[:, 1]
    many[1, autos] = 5
    np.testing.assert_array_equal(from_order(to_order(many, order), order, 64), many)


def test_what_does_not_fit_is_said():
    with pytest.raises(rt.Error, match="33 inputs are no multiple of 32"):
        product_order("chime-blocks", 33)
    with pytest.raises(rt.Error, match="3 inputs are not two feeds"):
        product_order("tcc", 3)
    with pytest.raises(rt.Error, match="order is 'difx', expected 'chime-blocks'"):
        product_order("difx", 4)
    with pytest.raises(rt.Error, match="there are 4 products"):
        to_order(np.zeros(4), "tcc")
    with pytest.raises(rt.Error, match=r"values have shape \[3, 4\], expected \[..., 10, 2, 2\]"):
        from_order(np.zeros((3, 4)), "tcc", 8)
