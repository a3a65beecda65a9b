"""Visibilities from voltages in memory, without a tree."""

from __future__ import annotations

import os

import numpy as np

from .._core import Error
from ..arguments import checked
from ..evaluation.asking import count
from ..evaluation.cells import Cells
from ..forest import Forest
from ..nodes import Correlate, Voltages
from ..units import refuse_mask
from ..writing.scope import NodeScope

#: Bytes of a complex sample in each format.
BYTES_OF_FORMATS = {
    "mwa32t": 2, "mwa32t-swapped": 2, "chime": 1, "chime-low": 1, "int4": 1, "int4-low": 1,
    "int8": 2, "int8-swapped": 2, "real8": 1, "float32": 8, "float32-swapped": 8,
}  # fmt: skip


def check_format(name: str) -> None:
    """Raises `Error` for what is no format of samples."""
    if name not in BYTES_OF_FORMATS:
        raise Error(f"format is {name!r}, expected {', '.join(map(repr, BYTES_OF_FORMATS))}")


@checked
def correlate(
    voltages: np.ndarray,
    *,
    format: str,
    integration: int,
    strategy: str = "automatic",
    threads: int | None = None,
    device: str = "none",
) -> np.ndarray:
    """Products of all inputs of channelised voltages, averaged over integrations: the Correlate node on an array.

    V_ij = mean over the samples of an integration of x_i x_j*, for i >= j. Sums are exact integers; of floats they are
    sums in double precision over sums of 32 samples in single precision.
    (Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203.)

    Parameters
    ----------
    voltages: codes [time, channel, input], uint8 or uint16 as the format has them, or for "int8" int8
        [time, channel, input, 2], real part first. For "float32" complex64 [time, channel, input], for
        "float32-swapped" the same with the imaginary part in the place of the real one.
    format: "chime", "chime-low" (nibbles in excess-8, real part high or low), "int4", "int4-low" (in two's complement),
        "int8", "int8-swapped" (codes of two bytes, imaginary part first), "mwa32t", "mwa32t-swapped" (5 + 5 bits in a
        word, real part low or high), "float32" or "float32-swapped" (two floats, imaginary part first).
    integration: samples in an integration; the last one may have fewer.
    strategy: how products are formed, which changes no bit of them: "automatic", "bytes", "packed", "pairs",
        or as a reference blocks of inputs, "groups2", "groups4", "hybrid2", "hybrid4", of which the number of inputs
        must be a multiple.
    threads: number of threads; None: as `Forest` has it.
    device: "none" for the host, or which devices are to form the products, as of `Forest`; they change no bit either.

    Returns
    -------
    complex128 [integration, channel, product], in squares of the format's least significant bit, a read-only view.
    Product i (i + 1) / 2 + j is that of inputs i >= j; `product_inputs` lists them.

    Raises `Error` for arrays that do not fit the format.
    """
    integration = count(integration, "integration", 1)
    codes = _codes(voltages, format)
    n_time, n_channel, n_input = codes.shape
    n_integration = -(-n_time // integration)
    if 0 in codes.shape:
        return np.zeros((n_integration, n_channel, n_input * (n_input + 1) // 2), np.complex128)
    ns = NodeScope()
    with _memory_file(codes) as file:
        path = f"/proc/self/fd/{file.fileno()}"
        ns.voltages << Voltages(source=path, format=format, n_channel=n_channel, n_input=n_input)
        ns.V << Correlate(ns.voltages, integration=integration, strategy=strategy)
        cells = Cells(
            (np.arange(n_integration) + 0.5) * integration,
            np.arange(1.0, n_channel + 1),
            time_width_s=float(integration),
            freq_width_hz=1.0,
        )
        values = Forest(ns, threads=threads, device=device).evaluate(ns.V, cells)
    return values.transpose(1, 2, 0)


@checked
def product_inputs(n_input: int) -> np.ndarray:
    """The inputs i >= j of each product of `n_input` inputs, in their order: int64 [product, 2]."""
    n_input = count(n_input, "n_input")
    return np.stack(np.tril_indices(n_input), axis=1)


def _memory_file(codes: np.ndarray):
    """The array as a file that exists in memory only."""
    file = os.fdopen(os.memfd_create("voltages"), "r+b")
    file.write(np.ascontiguousarray(codes).data)
    file.flush()
    return file


def _codes(voltages, name: str) -> np.ndarray:
    """The samples' codes, little-endian, [time, channel, input]."""
    check_format(name)
    array = np.asarray(refuse_mask(voltages, "voltages"))
    if name == "int8" and array.dtype == np.int8:
        if array.ndim != 4 or array.shape[3] != 2:
            raise Error(f"voltages have shape {list(array.shape)}, expected [time, channel, input, 2] of int8")
        return np.ascontiguousarray(array).view("<u2")[..., 0]
    wanted = np.dtype({1: "u1", 2: "<u2", 8: "<c8"}[BYTES_OF_FORMATS[name]])
    if array.dtype.newbyteorder("<") != wanted:
        also = " or int8 [time, channel, input, 2]" if name == "int8" else ""
        raise Error(f"voltages are {array.dtype}, expected {wanted.name}{also}: the codes of format {name!r}")
    if array.ndim != 3:
        raise Error(f"voltages have shape {list(array.shape)}, expected [time, channel, input]")
    return array.astype(wanted, copy=False)
