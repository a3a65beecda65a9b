"""Opinions on nodes that read voltages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .registry import Call, opinion
from .values import RefusedError, Value, exact

#: [bits, where the real and the imaginary part begin, whether codes are two's complement], and NumPy's type of a code.
FORMATS = {
    "mwa32t": ((5, 0, 5, True), "<u2"),
    "mwa32t-swapped": ((5, 5, 0, True), "<u2"),
    "chime": ((4, 4, 0, False), "u1"),
    "chime-low": ((4, 0, 4, False), "u1"),
    "int4": ((4, 4, 0, True), "u1"),
    "int4-low": ((4, 0, 4, True), "u1"),
    "int8": ((8, 0, 8, True), "<u2"),
    "int8-swapped": ((8, 8, 0, True), "<u2"),
}


def decoded(codes: np.ndarray, name: str) -> np.ndarray:
    """Complex whole numbers of codes."""
    (bits, re, im, twos), _ = FORMATS[name]
    half = 2 ** (bits - 1)
    parts = [codes.astype(int) // 2**shift % 2**bits for shift in (re, im)]
    if twos:
        parts = [(part + half) % (2 * half) for part in parts]
    return (parts[0] - half) + 1j * (parts[1] - half)


@dataclass
class Samples:
    """What a source gives: complex whole numbers [time, channel, input] from number `first` on."""

    numbers: np.ndarray
    first: int
    start_s: float
    interval_s: float
    unit: float = 1.0
    independent: float = 1.0
    doubt: bool = False  # whether some number was next to half a one when it was rounded


def source(call: Call, samples: Samples) -> Value:
    value = exact(np.full((samples.numbers.shape[2], 1, 1, 1, 1), samples.interval_s))
    value.samples = samples
    return value


def samples_of(call: Call) -> Samples:
    samples = getattr(call.child("voltages"), "samples", None)
    if samples is None:
        raise RefusedError("the child gives no samples")
    return samples


@opinion("Voltages")
def voltages(call: Call) -> Value:
    state = call.state
    n_channel, n_input = int(state["n_channel"]), int(state["n_input"])
    codes = np.fromfile(state["source"][0], FORMATS[state["format"]][1])
    if len(codes) % (n_channel * n_input):
        raise RefusedError(f"{len(codes)} samples of {n_channel} channels and {n_input} inputs")
    if state["order"] == "time,channel,input":
        numbers = decoded(codes, state["format"]).reshape(-1, n_channel, n_input)
    else:
        numbers = decoded(codes, state["format"]).reshape(n_channel, n_input, -1).transpose(2, 0, 1)
    return source(call, Samples(numbers, 0, float(state["start_s"]), float(state["sample_interval_s"])))


def windows(n: int, taps: int, name: str) -> np.ndarray:
    """Weights of n * taps samples, of the power of n ones."""
    t = np.arange(n * taps) + 0.5
    weight = {
        "rectangular": np.ones(n * taps),
        "hann": np.sin(np.pi * t / (n * taps)) ** 2,
        "hamming": 0.08 + 0.92 * np.sin(np.pi * t / (n * taps)) ** 2,
    }[name]
    if taps > 1:
        weight = weight * np.sinc((t - n * taps / 2) / n)
    return weight * np.sqrt(n / np.sum(weight**2))


@opinion("Channelise")
def channelise(call: Call) -> Value:
    state, samples = call.state, samples_of(call)
    n, taps = int(state["n_channel"]), int(state["taps"])
    if samples.numbers.shape[1] != 1:
        raise RefusedError("only one channel can be channelised")
    weight, lead = windows(n, taps, state["window"]), (taps - 1) * n // 2
    x = samples.numbers[:, 0]
    first = -(-(samples.first + lead) // n)
    count = max(0, (samples.first + len(x) - n * taps + lead) // n + 1 - first)
    spectra = np.zeros((count, n, x.shape[1]), complex)
    phase = np.exp(-2j * np.pi * np.outer(np.arange(n) - n // 2, np.arange(n * taps) - lead) / n)
    for m in range(count):
        begin = (first + m) * n - lead - samples.first
        spectra[m] = phase @ (weight[:, None] * x[begin : begin + n * taps])
    spectra *= state["gain"] / np.sqrt(n)
    bits = FORMATS[state["format"]][0][0]
    parts = np.stack([spectra.real, spectra.imag])
    doubt = bool(np.any(np.abs(parts - np.floor(parts) - 0.5) < 1e-3))
    re, im = np.clip(np.rint(parts), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    overlap = [np.sum(weight[k * n :] * weight[: len(weight) - k * n]) / n for k in range(1, taps)]
    independent = samples.independent / (1 + 2 * np.sum(np.square(overlap)))
    interval, unit = samples.interval_s * n, samples.unit / state["gain"]
    return source(call, Samples(re + 1j * im, first, samples.start_s, interval, unit, independent, doubt))


@opinion("Correlate")
def correlate(call: Call) -> Value:
    state, samples = call.state, samples_of(call)
    x, n = samples.numbers, int(state["integration"])
    if call.extents[1:] != (x.shape[1], 1, 1):
        raise RefusedError(f"{x.shape[1]} channels for a request of {call.extents}")
    length = n * samples.interval_s
    number = (call.axis("time").ravel() - samples.start_s) / length - 0.5
    widths = call.axis("time", "width").ravel()
    if not np.allclose(number, np.round(number), atol=1e-3) or not np.allclose(widths, length, rtol=1e-3):
        raise RefusedError("cells are no integrations")
    i, j = np.tril_indices(x.shape[2])
    gates = int(state["gates"])
    means = np.zeros((gates, len(i), len(number), x.shape[1], 1, 1), complex)
    counts = np.zeros((gates, len(i), len(number), 1, 1, 1))
    for t, begin in enumerate(np.round(number).astype(int) * n):
        time = np.arange(max(begin, samples.first), max(samples.first, min(begin + n, samples.first + len(x))))
        gate = (time + int(state["gate_offset"])) // int(state["gate_length"]) % gates
        for g in range(gates):
            part = x[time[gate == g] - samples.first]
            counts[g, :, t] = len(part)
            if len(part):
                means[g, :, t, :, 0, 0] = (part[:, :, i] * part[:, :, j].conj()).mean(axis=0).T * samples.unit**2
    if gates == 1:
        means, counts = means[0], counts[0]
    value = call.result(exact(means).x)
    value.flags = value.flags | (counts == 0).astype(int)
    value.doubt = value.doubt | samples.doubt
    value.counts = counts * samples.independent
    value.weight = np.broadcast_to(value.counts, (len(value.x), *value.counts.shape))
    return value


@opinion("Correlation")
def correlation(call: Call) -> Value:
    state, child = call.state, call.child("products")
    feeds, quantity = int(state["feeds"]), state["quantity"]
    inputs = np.asarray(state["inputs"], int)
    if inputs.size == 0:
        inputs = np.arange(8).reshape(-1, feeds)
    if inputs.ndim != 2 or inputs.shape[1] != feeds:
        raise RefusedError(f"inputs {inputs.shape} for {feeds} feeds")
    first, second = (inputs[int(state[f"station_{k}_index"])] for k in (1, 2))
    if quantity != "visibility" and not hasattr(child, "counts"):
        raise RefusedError("the child has no counts")
    if len(child.dims) != 1 or max(np.max(first), np.max(second)) * (np.max([first, second]) + 3) // 2 >= child.dims[0]:
        raise RefusedError(f"inputs {first} and {second} of products {child.dims}")
    x = np.zeros((len(child.x), 2, 2, *child.extents), complex if quantity == "visibility" else float)
    flags, doubt = np.ones((2, 2, *child.extents), int), np.zeros((2, 2, *child.extents), bool)
    for a in range(feeds):
        for b in range(feeds):
            i, j = int(first[a]), int(second[b])
            k = max(i, j) * (max(i, j) + 1) // 2 + min(i, j)
            flags[a, b], doubt[a, b] = child.flags[k], child.doubt[k]
            if quantity == "visibility":
                x[:, a, b] = child.x[:, k] if i >= j else child.x[:, k].conj()
                continue
            x[:, a, b] = child.counts[k]
            if quantity == "weight":
                power = child.x[:, i * (i + 3) // 2].real * child.x[:, j * (j + 3) // 2].real
                x[:, a, b] *= np.where(power > 0, (1 if i == j else 2) / np.where(power > 0, power, 1), 0)
    value = call.result(x)
    value.flags, value.doubt = flags, doubt
    return value
