"""Sums of products as the whole numbers that other correlators hand on, with their codes for what is too large or
missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._core import Error
from ..arguments import checked
from ..units import refuse_mask
from .product_orders import from_order, input_count, product_order, to_order

_LARGEST = 2**31 - 1
#: MeerKAT's (katgpucbf) code of a baseline without data: real part, imaginary part.
MEERKAT_MISSING = (-(2**31), 1)


@checked
def integers_to_order(
    sums: np.ndarray, order: str, *, missing: np.ndarray | None = None
) -> tuple[NDArray[np.int32], int]:
    """(int32, how many numbers were cut off) of sums of products [..., product] in another correlator's order.

    `sums`: complex whole numbers (means of `correlate` times counts). The result is [..., *, 2], real part first, with
    * as `product_order` has it; "xgpu-tiles" has its real and its imaginary parts in planes, [2, ..., *]. Numbers
    beyond 32 bits: "meerkat" cuts them off at +-(2^31 - 1) and counts them; "chime" and "chime-blocks" wrap, as CHIME's
    sums do; for others they are an error. `missing` [..., product]: whether a product has no data, which "meerkat"
    writes as (-2^31, 1) and others cannot say, so that zeros are written.
    """
    sums = np.asarray(refuse_mask(sums, "sums"), complex)
    try:
        n_input = input_count(sums.shape[-1] if sums.ndim else 0)
    except Error as problem:
        raise Error(f"sums have shape {list(sums.shape)}, expected [..., product]: {problem}") from None
    values = to_order(sums, order)
    parts = np.stack([values.real, values.imag], axis=-1)
    whole = np.rint(parts)
    if not np.isfinite(parts).all() or (np.abs(parts - whole) > 1e-6 * np.maximum(1, np.abs(parts))).any():
        raise Error("sums are not whole numbers: multiply means by the counts of their samples")
    large = np.abs(whole) > _LARGEST
    cut_off = 0
    if order == "meerkat":
        cut_off = int(np.count_nonzero(large))
        numbers = np.clip(whole, -_LARGEST, _LARGEST).astype(np.int32)
    elif order.startswith("chime"):
        numbers = whole.astype(np.int64).astype(np.int32)
    elif large.any():
        raise Error(f"sums reach {np.abs(whole).max():.0f}, beyond the 32 bits of {order!r}: integrate for less time")
    else:
        numbers = whole.astype(np.int32)
    if missing is not None:
        missing = np.broadcast_to(np.asarray(missing, bool), sums.shape)
        index, _ = product_order(order, n_input)
        numbers[missing[..., index]] = MEERKAT_MISSING if order == "meerkat" else (0, 0)
    return (np.moveaxis(numbers, -1, 0).copy() if order == "xgpu-tiles" else numbers), cut_off


@checked
def integers_from_order(
    numbers: np.ndarray, order: str, n_input: int
) -> tuple[NDArray[np.complex128], NDArray[np.bool_], NDArray[np.bool_]]:
    """(sums, whether they are missing, whether they were cut off), [..., product] each, of another correlator's int32,
    as `integers_to_order` lays them out. Only "meerkat" says what is missing or was cut off."""
    numbers = np.asarray(refuse_mask(numbers, "numbers"))
    if numbers.dtype != np.int32:
        raise Error(f"numbers are {numbers.dtype}, expected int32")
    if order == "xgpu-tiles":
        numbers = np.moveaxis(numbers, 0, -1)
    if numbers.ndim == 0 or numbers.shape[-1] != 2:
        raise Error(f"numbers have shape {list(numbers.shape)}, expected real and imaginary part on an axis of 2")
    meerkat = order == "meerkat"
    missing = meerkat & (numbers == np.array(MEERKAT_MISSING)).all(axis=-1)
    cut_off = meerkat & ~missing & (np.abs(numbers.astype(np.int64)) >= _LARGEST).any(axis=-1)
    values = np.where(missing, 0, numbers[..., 0] + 1j * numbers[..., 1])
    sums, *flags = (from_order(one, order, n_input) for one in (values, missing, cut_off))
    return sums, *(one.real != 0 for one in flags)
