"""Jones terms per source and antenna that vary in frequency, as beams do, for benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KINDS = ("real scalar", "complex scalar", "diagonal", "full 2x2")


def terms(kind: str, n_source: int, n_freq: int, generator: np.random.Generator) -> NDArray:
    """Terms of one antenna near 1, dimensionless, [source, 1, freq] or [source, 2, 2, 1, freq].

    Raises `ValueError` where `kind` is none of `KINDS`.
    """
    if kind not in KINDS:
        raise ValueError(f"kind: {', '.join(KINDS)}; got {kind!r}")

    def near(value: float) -> NDArray:
        noise = generator.standard_normal((2, n_source, 1, n_freq))
        return value + 0.1 * (noise[0] if kind == "real scalar" else noise[0] + 1j * noise[1])

    if kind.endswith("scalar"):
        return near(1)
    off = [near(0), near(0)] if kind == "full 2x2" else [np.zeros((n_source, 1, n_freq))] * 2
    return np.stack([np.stack([near(1), off[0]], axis=1), np.stack([off[1], near(1)], axis=1)], axis=1)
