"""Products of inputs in the orders of other correlators; within RimeTree there is one order only (`product_inputs`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..arguments import checked
from ..units import refuse_mask

#: What each order is, as `product_order` gives it.
PRODUCT_ORDERS = ("chime-blocks", "chime", "xgpu", "xgpu-tiles", "tcc", "meerkat")
_CHIME_TILE = 32


@checked
def product_order(order: str, n_input: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Which product stands where in another order, and whether it is conjugated there: two arrays of one shape.

    - "chime-blocks": [block, row 32, column 32] of CHIME's X-engine (Klages et al. 2015): x_column x_row*, blocks with
      columns not before rows, row of blocks by row of blocks; blocks on the diagonal are whole.
    - "chime": what it hands on: pairs i <= j row by row, x_j x_i*.
    - "xgpu": [pair of stations, feed of the first, feed of the second] of xGPU's triangular order: row * conj(column),
      row >= column, two feeds each; blocks of a station with itself are whole.
    - "xgpu-tiles": [4, pair of pairs of stations, feed of the first, feed of the second] of the order that xGPU leaves
      in memory (REGISTER_TILE): 2 s + r is row 2 i + r times column* 2 j + s, i >= j; an even number of stations.
    - "tcc": that of the Tensor-Core Correlator, [baseline, feed of receiver 1, feed of receiver 0].
    - "meerkat": [baseline, 4] of katgpucbf: e_1 e_2* of antennas 1 <= 2, feeds p_1 + 2 p_2.

    Raises `Error` where the number of inputs does not fit the order.
    """
    if order == "chime-blocks":
        if n_input % _CHIME_TILE:
            raise Error(f"{n_input} inputs are no multiple of {_CHIME_TILE}, the side of CHIME's blocks")
        first, second = _chime_blocks(n_input)
    elif order == "chime":
        second, first = np.triu_indices(n_input)
    elif order in PRODUCT_ORDERS:
        if n_input % 2:
            raise Error(f"{n_input} inputs are not two feeds of each station")
        if order == "xgpu-tiles" and n_input % 4:
            raise Error(f"{n_input} inputs are no even number of stations with two feeds")
        row, column = _tiles(n_input // 4) if order == "xgpu-tiles" else np.tril_indices(n_input // 2)
        feed = np.arange(2)
        if order == "meerkat":
            first = np.broadcast_to(2 * column[:, None] + np.tile(feed, 2), (len(row), 4))
            second = np.broadcast_to(2 * row[:, None] + np.repeat(feed, 2), (len(row), 4))
        else:
            first = np.broadcast_to((2 * row[..., None] + feed)[..., :, None], (*row.shape, 2, 2))
            second = np.broadcast_to((2 * column[..., None] + feed)[..., None, :], (*row.shape, 2, 2))
    else:
        raise Error(f"order is {order!r}, expected {', '.join(map(repr, PRODUCT_ORDERS))}")
    high, low = np.maximum(first, second).astype(np.int64), np.minimum(first, second).astype(np.int64)
    return high * (high + 1) // 2 + low, first < second


def _tiles(n_pair: int) -> tuple[np.ndarray, np.ndarray]:
    """Stations [4, pair of pairs]."""
    i, j = np.tril_indices(n_pair)
    r, s = np.arange(4)[:, None] % 2, np.arange(4)[:, None] // 2
    return 2 * i + r, 2 * j + s


def _chime_blocks(n_input: int) -> tuple[np.ndarray, np.ndarray]:
    y, x = np.triu_indices(n_input // _CHIME_TILE)
    tile = np.arange(_CHIME_TILE)
    shape = (len(y), _CHIME_TILE, _CHIME_TILE)
    rows = np.broadcast_to((_CHIME_TILE * y[:, None] + tile)[:, :, None], shape)
    columns = np.broadcast_to((_CHIME_TILE * x[:, None] + tile)[:, None, :], shape)
    return columns, rows


@checked
def to_order(products: np.ndarray, order: str) -> NDArray[np.complex128]:
    """Products [..., product] as [..., *] of another order."""
    products = np.asarray(refuse_mask(products, "products"), complex)
    index, conjugated = product_order(order, input_count(products.shape[-1]))
    chosen = products[..., index]
    return np.where(conjugated, chosen.conj(), chosen)


@checked
def from_order(values: np.ndarray, order: str, n_input: int) -> NDArray[np.complex128]:
    """Products [..., product] from those of another order; of what stands there twice the last counts."""
    index, conjugated = product_order(order, n_input)
    values = np.asarray(refuse_mask(values, "values"), complex)
    if values.shape[values.ndim - index.ndim :] != index.shape:
        raise Error(f"values have shape {list(values.shape)}, expected [..., {', '.join(map(str, index.shape))}]")
    products = np.zeros((*values.shape[: values.ndim - index.ndim], n_input * (n_input + 1) // 2), complex)
    products[..., index] = np.where(conjugated, values.conj(), values)
    return products


def input_count(n_product: int) -> int:
    """The number of inputs that have so many products. Raises `Error` where none has."""
    n_input = (math.isqrt(8 * n_product + 1) - 1) // 2
    if n_input * (n_input + 1) // 2 != n_product:
        raise Error(f"there are {n_product} products, which is n (n + 1) / 2 for no number n of inputs")
    return n_input
