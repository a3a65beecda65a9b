"""Tables of CASA with random values, and the matrices that they stand for."""

from __future__ import annotations

import numpy as np

from rimetree import _core

TIMES_S = 5.0e9 + 10.0 * np.arange(3)  # slots of `small_ms`
FREQUENCY_HZ = 1.4e9 + 1e6 * np.arange(8)
MIDDLE_HZ = FREQUENCY_HZ.mean()
N_ANTENNA = 4


def gains(v, t, f):
    return np.diag(v)


def delays(v, t, f):
    return np.diag(np.exp(2j * np.pi * v.real * 1e-9 * (f - MIDDLE_HZ)))


def leakages(v, t, f):
    return np.array([[1, v[0]], [v[1], 1]])


def fringes(v, t, f):
    phase, delay_ns, rate, _ = v.real.reshape(2, 4).T
    return np.diag(np.exp(1j * (phase + 2 * np.pi * (delay_ns * 1e-9 * (f - MIDDLE_HZ) + rate * t * f))))


#: Kind: (parameters, channels, scale of each, matrix of them so long after the interval's middle, at a frequency)
KINDS = {
    "G": (2, 1, 1.0, gains),
    "B": (2, 8, 1.0, gains),
    "T": (1, 1, 1.0, lambda v, t, f: v[0] * np.eye(2)),
    "Tf": (1, 8, 1.0, lambda v, t, f: v[0] * np.eye(2)),
    "K": (2, 1, 20.0, delays),
    "Kcross": (2, 1, 20.0, delays),
    "D": (2, 1, 0.2, leakages),
    "Df": (2, 8, 0.2, leakages),
    "X": (1, 1, 1.0, lambda v, t, f: np.diag([v[0], 1])),
    "Xf": (1, 8, 1.0, lambda v, t, f: np.diag([v[0], 1])),
    "Fringe": (8, 1, np.array([1, 20, 1e-11, 0] * 2), fringes),
}
REAL = ("K", "Kcross", "Fringe")


def rows_of(kind, times_s=TIMES_S, *, window_id=0, field_id=0, interval_s=10.0, seed=1):
    """Rows with random values: those of an antenna and a time follow each other along antennas."""
    n_parameter, n_channel, scale, _ = KINDS[kind]
    n = len(times_s) * N_ANTENNA
    rng = np.random.default_rng(seed)
    shape = (n, n_channel, n_parameter)
    values = rng.normal(size=shape) * scale + (0 if kind in REAL else 1j * scale * rng.normal(size=shape))
    return {
        "window_id": window_id,
        "time_s": np.repeat(times_s, N_ANTENNA),
        "interval_s": np.full(n, interval_s),
        "field_id": np.full(n, field_id, np.int32),
        "antenna_id": np.tile(np.arange(N_ANTENNA, dtype=np.int32), len(times_s)),
        "values": values.astype(np.complex64),
        "errors": np.full(shape, 0.01, np.float32),
        "flags": np.zeros(shape, np.uint8),
    }


def make(path, ms, kind, rows, *, basis="unknown", named=None, version="6.7.0-31"):
    table = {
        "kind": f"{kind} Jones",
        "casa_version": version,
        "basis": basis,
        "ms_name": named or str(ms),
        "is_complex": kind not in REAL,
    }
    _core.create_calibration_table(str(path), table | {"rows": rows}, str(ms), False)
    return path
