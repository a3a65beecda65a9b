"""Fixtures shared by the Python tests."""

from __future__ import annotations

import itertools
import os
import signal
import struct

import numpy as np
import pytest

import rimetree as rt
from rimetree import _core

# A shell that starts tests in the background has them ignore SIGINT: what is said of Ctrl-C would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def small_ms(tmp_path):
    """A function that makes a small Measurement Set: make(name="a.ms", **changes) -> path.

    4 antennas within a few kilometres, all 6 baselines, `n_time` times of 10 s, 8 channels of 1 MHz at 1.4 GHz, linear
    feeds, one field at (0.9, -0.5) rad. UVW are arbitrary but consistent per antenna (family p-q; or q-p, with
    `uvw_sign` -1). `pairs`: the baselines, if not all 6. `n_window`: so many windows, all alike. `time_s`: times, if
    not `n_time` of them 10 s apart.
    """

    def make(
        name="a.ms",
        *,
        pairs=None,
        uvw_sign=1,
        n_time=3,
        frequency_hz=None,
        correlation_type=(9, 10, 11, 12),
        columns=("DATA",),
        n_field=1,
        n_window=1,
        time_s=None,
        exposure_s=10.0,
    ):
        n_antenna = 4
        time_s = 5.0e9 + 10.0 * np.arange(n_time) if time_s is None else np.asarray(time_s, dtype=float)
        n_time = len(time_s)
        rng = np.random.default_rng(7)
        frequency = np.asarray(1.4e9 + 1e6 * np.arange(8) if frequency_hz is None else frequency_hz, dtype=float)
        width = np.full(len(frequency), 1e6)
        station = rng.normal(scale=800.0, size=(n_time, n_antenna, 3))
        pairs = pairs or list(itertools.combinations(range(n_antenna), 2))
        uvw = np.stack([station[:, p] - station[:, q] for p, q in pairs], axis=1)
        position = np.array([5109943.0, 2006852.0, -3239192.0]) + rng.normal(scale=500.0, size=(n_antenna, 3))
        path = tmp_path / name
        description = {
            "telescope": "MeerKAT",
            "antennas": [
                {"name": f"A{i}", "station": f"S{i}", "mount": "ALT-AZ", "position_m": position[i], "diameter_m": 13.5}
                for i in range(n_antenna)
            ],
            "fields": [{"name": f"field{i}", "ra_rad": 0.9 + 0.1 * i, "dec_rad": -0.5} for i in range(n_field)],
            "spectral_windows": [{"name": "spw", "frequency_hz": frequency, "width_hz": width}] * n_window,
            "correlation_type": list(correlation_type),
            "antenna1": [p for p, _ in pairs],
            "antenna2": [q for _, q in pairs],
            "time_s": time_s,
            "field_of_time": [i % n_field for i in range(n_time)],
            "interval_s": 10.0,
            "exposure_s": exposure_s,
            "uvw_m": np.ascontiguousarray(uvw_sign * uvw),
            "columns": list(columns),
        }
        _core.create_ms(str(path), description)
        return str(path)

    return make


@pytest.fixture
def small_sky():
    """Three sources near (0.9, -0.5) rad: a polarised point, a spectral point, a Gaussian."""
    return rt.sky.SkyModel(
        [
            rt.sky.Source("a", 0.9003, -0.5002, (1.0, 0.1, -0.2, 0.05), ref_freq_hz=1.4e9),
            rt.sky.Source("b", 0.8996, -0.4995, (2.0, 0.0, 0.0, 0.0), ref_freq_hz=1.3e9, spectrum=(-0.7, 0.1)),
            rt.sky.Source("c", 0.9001, -0.5007, (0.5, 0.0, 0.1, 0.0), ref_freq_hz=1.4e9, gaussian=(1e-4, 5e-5, 0.6)),
        ]
    )


@pytest.fixture
def patched():
    """A function: patched(table, old, new) replaces all bytes, or floating-point numbers, `old` in the files of a table
    (a folder). So sets get what no program should write."""

    def patch(table, old: bytes | float, new: bytes | float) -> None:
        old, new = (one if isinstance(one, bytes) else struct.pack("=d", one) for one in (old, new))
        assert len(old) == len(new)
        found = 0
        for entry in list(os.scandir(table)):
            if not entry.is_file():
                continue
            with open(entry.path, "r+b") as file:
                data = file.read()
                found += data.count(old)
                file.seek(0)
                file.write(data.replace(old, new))
        assert found

    return patch
