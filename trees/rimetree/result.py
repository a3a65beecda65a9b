"""What a node gives on cells, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ._core import Error


@dataclass(frozen=True)
class Result:
    """A node's values on cells.

    `value`: [tensor dimensions..., time, freq], length 1 along axes on which it does not vary; None if there is no
    data. `flags`: int32, 0 where good, as many dimensions as `value`, to which they broadcast: length 1 along tensor
    dimensions where they are the same for all elements, and along time or freq where they do not vary; None if nothing
    is flagged. `derivatives`: {(Parm's name, coefficient): array like `value`}.
    """

    value: np.ndarray | None
    flags: np.ndarray | None = None
    derivatives: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)


def result_from_runtime(raw: dict, rank: int) -> Result:
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
        {(parm, k): trimmed(value) for parm, k, value in raw["derivatives"]},
    )


def _flags_of(value: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Flags [planes, cells...] with the dimensions of a tensor [dimensions..., cells...]."""
    cells = flags.shape[1:]
    dims = value.shape[: value.ndim - len(cells)]
    return flags.reshape((*(dims if flags.shape[0] == np.prod(dims) else [1] * len(dims)), *cells))


def failure_text(failures) -> str:
    return "\n".join(
        f"{origin + ': ' if origin else ''}node {name!r} ({class_name}): {message}"
        for name, class_name, origin, message in failures
    )
