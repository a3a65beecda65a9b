"""Solutions with known values."""

from __future__ import annotations

import numpy as np
import pytest

from rimetree.calibration import Solutions, TermSolutions


def _term(kind="diag", elements=("0", "1"), quantities=("amplitude", "phase"), name="G", directions=("",), seed=3):
    """Random solutions: 4 times of 60 s, 3 frequencies of 1 MHz, 5 antennas; one antenna and one interval flagged."""
    rng = np.random.default_rng(seed)
    shape = (4, 3, 5, len(directions), len(elements))
    scale = {
        "amplitude": (1.0, 0.2),
        "phase": (0.0, 1.0),
        "clock": (0.0, 2e-9),
        "tec": (0.0, 0.1),
        "rotation": (0, 0.5),
    }
    value = {q: rng.normal(*scale[q], size=shape) for q in quantities}
    flag = np.zeros(shape, dtype=bool)
    flag[:, :, 4] = True
    flag[1, 2, 0] = True
    return TermSolutions(
        name=name,
        kind=kind,
        elements=tuple(elements),
        time_s=5e9 + 30 + 60.0 * np.arange(4),
        time_width_s=np.full(4, 60.0),
        frequency_hz=1.4e9 + 1e6 * np.arange(3),
        frequency_width_hz=np.full(3, 1e6),
        antennas=tuple(f"A{i}" for i in range(5)),
        directions=tuple(directions),
        value=value,
        sigma={q: np.abs(v) * 0.01 + 1e-12 for q, v in value.items()},
        flag=flag,
        text=f"{name}: {kind}, 1min",
    )


@pytest.fixture
def made_term():
    """The function that makes solutions of a term."""
    return _term


@pytest.fixture
def solutions():
    """A diagonal term G of the whole sky, and phases P of two directions."""
    return Solutions(
        (
            _term(),
            _term("phase", quantities=("phase",), name="P", directions=("north", "south"), seed=4),
        ),
        "linear",
        {f"A{i}": np.array([5e6 + i, 2e6, -3e6]) for i in range(5)},
        {"north": (0.9, -0.49), "south": (0.9, -0.51)},
        {"command": "rimetree calibrate a.ms", "data_desc_id": 0.0},
    )
