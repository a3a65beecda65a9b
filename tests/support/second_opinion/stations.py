"""Opinions on the beams of aperture arrays, from docs/nodes.md; by right ascensions and declinations of sources."""

from __future__ import annotations

import numpy as np

from .registry import Call, opinion
from .sky import C_M_S, TWO_PI, checked_lmn, column, column_like, required
from .values import Value


def horizon_of(call: Call, like: np.ndarray) -> list[list[np.ndarray]]:
    """Components u, v, w of the unit vectors to the east, the north and the zenith, beside columns of `like`."""
    x = call.child("horizon").x
    required(x.shape[1:-4] == (3, 3), "a horizon of other than three vectors")
    return [[column_like(x[:, axis], k, like) for k in range(3)] for axis in range(3)]


@opinion("ArrayFactor")
def array_factor(call: Call) -> Value:
    x = checked_lmn(call.child("lmn").x)
    l, m, n = (column(x, k) for k in range(3))  # noqa: E741
    axes = horizon_of(call, x)
    elements = call.child("elements").x
    required(elements.ndim == 7 and elements.shape[1] > 0 and elements.shape[2] == 3, "elements of other dimensions")
    weights = None if call.child("weights") is None else call.child("weights").x
    required(weights is None or weights.shape[1:-4] == elements.shape[1:2], "other than a weight for each element")
    total, size = 0.0, 0.0
    for e in range(elements.shape[1]):
        where = [column_like(elements[:, e], k, x) for k in range(3)]
        u, v, w = (sum(where[axis] * axes[axis][k] for axis in range(3)) for k in range(3))
        turns = (u * l + v * m + w * (n - 1)) * call.axis("freq") / float(C_M_S)
        weight = 1 / elements.shape[1] if weights is None else column_like(weights, e, x)
        total = total + weight * np.exp(1j * float(TWO_PI) * turns)
        lengths = sum(np.abs(where[axis]) for axis in range(3)) * 3 * np.max(np.abs(call.child("horizon").x), initial=0)
        size = size + np.abs(weight) * (1 + float(TWO_PI) * lengths * call.axis("freq") / float(C_M_S))
    up = axes[2][0] * l + axes[2][1] * m + axes[2][2] * n
    return call.result(np.where(up < 0, 0, total), size)


@opinion("CrossedDipoles")
def crossed_dipoles(call: Call) -> Value:
    x = checked_lmn(call.child("lmn").x)
    l, m, n = (column(x, k) for k in range(3))  # noqa: E741
    required(call.child("radec_0").x.shape[1:-4] == (2,), "a centre of other than two numbers")
    required(call.state["length"] in ("short", "half-wave"), "such a length")
    axes = horizon_of(call, x)
    dec_0 = column_like(call.child("radec_0").x, 1, x)
    # Right ascension from the centre's, and declination; north and east are where these grow.
    towards_pole = m * np.cos(dec_0) + n * np.sin(dec_0)
    ra = np.arctan2(l, n * np.cos(dec_0) - m * np.sin(dec_0))
    dec = np.arctan2(towards_pole, np.hypot(l, n * np.cos(dec_0) - m * np.sin(dec_0)))
    east = [np.cos(ra), np.sin(dec_0) * np.sin(ra), -np.cos(dec_0) * np.sin(ra)]
    north = [
        -np.sin(dec) * np.sin(ra),
        np.cos(dec) * np.cos(dec_0) + np.sin(dec) * np.sin(dec_0) * np.cos(ra),
        np.cos(dec) * np.sin(dec_0) - np.sin(dec) * np.cos(dec_0) * np.cos(ra),
    ]
    up, k = sum(axes[2][i] * part for i, part in enumerate((l, m, n))), float(TWO_PI) * call.axis("freq") / float(C_M_S)
    height = call.state["height_m"]
    gain = np.sin(k * height * up) / np.sin(k * height) if height else 1.0 + 0 * k
    rows = []
    for azimuth in (call.state["x_azimuth_rad"], call.state["y_azimuth_rad"]):
        axis = [np.cos(azimuth) * axes[1][i] + np.sin(azimuth) * axes[0][i] for i in range(3)]
        c = sum(axis[i] * part for i, part in enumerate((l, m, n)))
        f = gain
        if call.state["length"] == "half-wave":
            square = np.where(np.abs(c) == 1, 0.0, c) ** 2
            f = gain * np.where(np.abs(c) == 1, np.pi / 4, np.cos(np.pi / 2 * np.sqrt(square)) / (1 - square))
        rows.append([sum(axis[i] * towards[i] for i in range(3)) * f for towards in (north, east)])
    matrix = np.stack([np.stack(np.broadcast_arrays(*row), axis=-5) for row in np.broadcast_arrays(*rows)], axis=-6)
    # Near the pole of the sky north is the less certain.
    size = 10 * (1 + np.max(np.abs(call.child("horizon").x), initial=0.0)) * np.max(np.abs(gain), initial=1.0)
    size = size / np.maximum(np.abs(np.cos(dec)), 1e-300)
    above = np.asarray(up >= 0)[..., None, None, :, :, :, :]
    return call.result(np.where(above, matrix, 0.0), size[..., None, None, :, :, :, :])
