"""Opinions on nodes that read voltages."""

from __future__ import annotations

import numpy as np

from .registry import Call, opinion
from .values import RefusedError, Value, exact

#: [bits, where the real and the imaginary part begin, whether codes are two's complement], and NumPy's type of a code.
FORMATS = {
    "mwa32t": ((5, 0, 5, True), "<u2"),
    "mwa32t-swapped": ((5, 5, 0, True), "<u2"),
    "chime": ((4, 4, 0, False), "u1"),
    "int4": ((4, 4, 0, True), "u1"),
    "int4-low": ((4, 0, 4, True), "u1"),
    "int8": ((8, 0, 8, True), "<u2"),
}


def decoded(codes: np.ndarray, name: str) -> np.ndarray:
    """Complex whole numbers of codes."""
    (bits, re, im, twos), _ = FORMATS[name]
    half = 2 ** (bits - 1)
    parts = [codes.astype(int) // 2**shift % 2**bits for shift in (re, im)]
    if twos:
        parts = [(part + half) % (2 * half) for part in parts]
    return (parts[0] - half) + 1j * (parts[1] - half)


@opinion("Correlator")
def correlator(call: Call) -> Value:
    state = call.state
    n_channel, n_input, n = (int(state[name]) for name in ("n_channel", "n_input", "integration"))
    if call.extents[1:] != (n_channel, 1, 1):
        raise RefusedError(f"{n_channel} channels for a request of {call.extents}")
    codes = np.fromfile(state["file"], FORMATS[state["format"]][1])
    if state["order"] == "time,channel,input":
        samples = decoded(codes, state["format"]).reshape(-1, n_channel, n_input)
    else:
        samples = decoded(codes, state["format"]).reshape(n_channel, n_input, -1).transpose(2, 0, 1)
    length = n * state["sample_interval_s"]
    first = np.round((call.axis("time").ravel() - state["start_s"]) / length - 0.5).astype(int) * n
    i, j = np.tril_indices(n_input)
    x = np.zeros((len(i), len(first), n_channel, 1, 1), complex)
    empty = np.zeros(len(first), bool)
    for t, begin in enumerate(first):
        part = samples[begin : begin + n] if begin >= 0 else samples[:0]
        empty[t] = len(part) == 0
        if len(part):
            x[:, t, :, 0, 0] = (part[:, :, i] * part[:, :, j].conj()).mean(axis=0).T
    value = call.result(exact(x).x)
    value.flags = value.flags | empty[:, None, None, None].astype(int)
    return value
