"""Orders of samples in files, packets and arrays, and those of other correlators; within RimeTree samples are codes
[time, channel, input]."""

from __future__ import annotations

import numpy as np

from .._core import Error
from ..arguments import checked
from ..units import refuse_mask

#: Samples as other correlators take them: the axes of each (see `samples_to_order`).
SAMPLE_ORDERS = ("chime", "xgpu", "xgpu-dp4a", "tcc", "meerkat")


def order_axes(order: str) -> tuple[str, ...]:
    """The axes of an order of the node `Voltages`, the slowest first, or ("groups",). Raises `Error` for others."""
    axes = tuple(order.split(","))
    plain, apart = ["channel", "input", "time"], ["antenna", "channel", "feed", "time"]
    if order != "groups" and sorted(axes) not in (plain, apart):
        raise Error(
            f"order is {order!r}, expected time, channel and input, or time, channel, antenna and feed, in any order "
            "with commas between them (the last is the fastest; e.g. 'time,channel,input'), or 'groups'"
        )
    return axes


def in_order(codes: np.ndarray, axes: tuple[str, ...]) -> np.ndarray:
    """A view of samples [time, channel, input] with the axes in another order."""
    if "feed" not in axes:
        return codes.transpose([("time", "channel", "input").index(axis) for axis in axes])
    n_time, n_channel, n_input = codes.shape
    if n_input % 2:
        raise Error(f"{n_input} inputs are not two feeds of each antenna")
    apart = codes.reshape(n_time, n_channel, n_input // 2, 2)
    return apart.transpose([("time", "channel", "antenna", "feed").index(axis) for axis in axes])


@checked
def samples_to_order(codes: np.ndarray, order: str, format: str) -> np.ndarray:
    """Samples' codes [time, channel, input] as another correlator takes them.

    - "chime": uint8 [time, freq, input] of nibbles in excess-8, real part high.
    - "xgpu": int8 [time, channel, station, pol, 2] (real part first); "xgpu-dp4a": four times side by side,
      [time / 4, channel, station, pol, 2, 4].
    - "tcc": of 4 bits uint8 [channel, time / 32, receiver, pol, 32], of 8 bits int8 [.., 16, 2]: 16 bytes of times.
      The lowest number (-8, -128) cannot be taken there, and is refused.
    - "meerkat": int8 [antenna, channel, time, pol, 2] (one batch of katgpucbf); -128 is refused.

    `format`: of the codes, as `correlate` has it: "chime", "int4", "int4-low" or "int8" (the codes, uint16); "chime",
    and "tcc" of 4 bits, take nibbles, and all others bytes. Raises `Error` where something does not fit.
    """
    re, im = _numbers(codes, format)
    n_time, n_channel, n_input = re.shape
    if order == "chime":
        _check_range(re, im, 7, -8, order)
        return ((re + 8) << 4 | (im + 8)).astype(np.uint8)
    if order not in SAMPLE_ORDERS:
        raise Error(f"order is {order!r}, expected {', '.join(map(repr, SAMPLE_ORDERS))}")
    if n_input % 2:
        raise Error(f"{n_input} inputs are not two feeds of each station")
    if order in ("tcc", "meerkat"):
        lowest = -8 if order == "tcc" and format != "int8" else -128
        if min(re.min(initial=0), im.min(initial=0)) == lowest:
            raise Error(f"samples hold {lowest}, which {order} cannot take: cut them off at {lowest + 1}")
    both = np.stack([re, im], axis=-1).reshape(n_time, n_channel, n_input // 2, 2, 2).astype(np.int8)
    if order == "xgpu":
        return both
    if order == "meerkat":
        return np.ascontiguousarray(both.transpose(2, 1, 0, 3, 4))
    block = 4 if order == "xgpu-dp4a" else 16 if format == "int8" else 32
    if n_time % block:
        raise Error(f"{n_time} times are no multiple of {block}, the block of {order}")
    blocks = both.reshape(n_time // block, block, n_channel, n_input // 2, 2, 2)
    if order == "xgpu-dp4a":
        return np.ascontiguousarray(blocks.transpose(0, 2, 3, 4, 5, 1))
    blocks = blocks.transpose(2, 0, 3, 4, 1, 5)
    if format == "int8":
        return np.ascontiguousarray(blocks)
    return (blocks[..., 0] & 15 | (blocks[..., 1] & 15) << 4).astype(np.uint8)


@checked
def samples_from_order(samples: np.ndarray, order: str) -> tuple[np.ndarray, str]:
    """(codes [time, channel, input], their format): what `samples_to_order` undoes, of another correlator's samples."""
    samples = np.asarray(refuse_mask(samples, "samples"))
    if order == "chime":
        _check_shape(samples, np.uint8, 3, (), order)
        return samples, "chime"
    if order == "xgpu":
        _check_shape(samples, np.int8, 5, (2, 2), order)
        both = samples
    elif order == "xgpu-dp4a":
        _check_shape(samples, np.int8, 6, (2, 2, 4), order)
        both = samples.transpose(0, 5, 1, 2, 3, 4).reshape(-1, *samples.shape[1:5])
    elif order == "meerkat":
        _check_shape(samples, np.int8, 5, (2, 2), order)
        both = samples.transpose(2, 1, 0, 3, 4)
    elif order == "tcc" and samples.dtype == np.uint8:
        _check_shape(samples, np.uint8, 5, (2, 32), order)
        times = samples.transpose(1, 4, 0, 2, 3)
        return times.reshape(-1, samples.shape[0], 2 * samples.shape[2]), "int4-low"
    elif order == "tcc":
        _check_shape(samples, np.int8, 6, (2, 16, 2), order)
        both = samples.transpose(1, 4, 0, 2, 3, 5).reshape(-1, samples.shape[0], *samples.shape[2:4], 2)
    else:
        raise Error(f"order is {order!r}, expected {', '.join(map(repr, SAMPLE_ORDERS))}")
    n_time, n_channel, n_station = both.shape[:3]
    codes = np.ascontiguousarray(both).reshape(n_time, n_channel, 2 * n_station, 2).view("<u2")[..., 0]
    return codes, "int8"


def _numbers(codes: np.ndarray, format: str) -> tuple[np.ndarray, np.ndarray]:
    codes = np.asarray(refuse_mask(codes, "codes"))
    wanted = np.dtype(np.uint16 if format == "int8" else np.uint8)
    if format not in ("chime", "int4", "int4-low", "int8"):
        raise Error(f"format is {format!r}, expected 'chime', 'int4', 'int4-low' or 'int8'")
    if codes.ndim != 3 or codes.dtype != wanted:
        raise Error(f"codes are {codes.dtype} {list(codes.shape)}, expected {wanted} [time, channel, input]")
    if format == "int8":
        pair = np.ascontiguousarray(codes.astype("<u2")).view(np.int8).reshape(*codes.shape, 2).astype(np.int16)
        return pair[..., 0], pair[..., 1]
    nibbles = [(codes >> shift & 15).astype(np.int16) for shift in ((0, 4) if format == "int4-low" else (4, 0))]
    re, im = (one - 8 if format == "chime" else (one ^ 8) - 8 for one in nibbles)
    return re, im


def _check_range(re: np.ndarray, im: np.ndarray, highest: int, lowest: int, order: str) -> None:
    for numbers in (re, im):
        if numbers.size and (numbers.max() > highest or numbers.min() < lowest):
            raise Error(f"samples reach from {numbers.min()} to {numbers.max()}; {order} takes {lowest} to {highest}")


def _check_shape(samples: np.ndarray, kind, rank: int, end: tuple[int, ...], order: str) -> None:
    if samples.dtype != kind or samples.ndim != rank or samples.shape[rank - len(end) :] != end:
        raise Error(
            f"samples are {samples.dtype} {list(samples.shape)}, expected {np.dtype(kind)} of {rank} axes"
            f"{' that end in ' + str(list(end)) if end else ''} for {order!r}"
        )
