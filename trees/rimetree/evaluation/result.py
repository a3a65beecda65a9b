"""What a node gives on cells, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._core import Error


@dataclass(frozen=True)
class Result:
    """A node's values on cells.

    `value`: [tensor dimensions..., time, freq], then l and m on cells that have one of them, length 1 along axes on
    which it does not vary; None if there is no data. `flags`: int32, 0 where good, as many dimensions as `value`, to
    which they broadcast: length 1 along tensor dimensions where they are the same for all elements, and along axes on
    which they do not vary; None if nothing is flagged. `derivatives`: {(Parm's name, coefficient): array like `value`}.
    Of a Parm with several solution tiles that is, on each cell, the derivative with respect to the coefficient of the
    tile that the cell is in. Above a node that looks at several cells (a Mean, say) there is one derivative for each
    tile along the axes that it looks along: (Parm's name, coefficient, time tile, freq tile), -1 along an axis where it
    is that of the cell. Where a value depends on a tile in both ways both are there, and the derivative is their sum.
    """

    value: np.ndarray | None
    flags: np.ndarray | None = None
    derivatives: dict[tuple[str | int, ...], np.ndarray] = field(default_factory=dict)


def result_from_runtime(raw: dict, rank: int) -> Result:
    """Of what the extension module gives: arrays [tensor..., 4 axes of cells], of which the cells have `rank`. Raises
    `Error` for a node that has failed."""
    if raw["status"] == "failed":
        raise Error(failure_text(raw["failures"]))
    if raw["status"] == "missing":
        return Result(None)

    def trimmed(array):
        array = np.asarray(array)
        return array.reshape(array.shape[: array.ndim - (4 - rank)])

    value = trimmed(raw["value"])
    return Result(
        value,
        _flags_of(value, trimmed(raw["flags"])) if "flags" in raw else None,
        {_key(*key): trimmed(value) for *key, value in raw["derivatives"]},
    )


def _flags_of(value: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Flags [planes, cells...] with the dimensions of a tensor [dimensions..., cells...]."""
    cells = flags.shape[1:]
    dims = value.shape[: value.ndim - len(cells)]
    return flags.reshape((*(dims if flags.shape[0] == np.prod(dims) else [1] * len(dims)), *cells))


def _key(parm: str, coefficient: int, time_tile: int, freq_tile: int) -> tuple[str | int, ...]:
    """Tiles are only named where a derivative is with respect to one of them."""
    return (parm, coefficient) if time_tile < 0 and freq_tile < 0 else (parm, coefficient, time_tile, freq_tile)


def failure_text(failures) -> str:
    return "\n".join(
        f"{origin + ': ' if origin else ''}node {name!r} ({class_name}): {message}"
        for name, class_name, origin, message in failures
    )
