"""Solutions with known values."""

from __future__ import annotations

import numpy as np
import pytest
from planted_chains import CENTRE, N_CHANNEL, N_TIME, SKY
from planted_columns import predicted_by_psv, write_column

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, Solutions, TermSolutions, parse_terms


def _term(kind="diag", elements=("0", "1"), quantities=("amplitude", "phase"), name="G", directions=("",), seed=3):
    """Random solutions: 4 times of 60 s, 3 frequencies of 1 MHz, 5 antennas; one antenna and one interval flagged."""
    rng = np.random.default_rng(seed)
    shape = (4, 3, 5, len(directions), len(elements))
    scale = {
        "amplitude": (1.0, 0.2),
        "phase": (0.0, 1.0),
        "clock": (0.0, 2e-9),
        "rate": (0.0, 2e-12),
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


@pytest.fixture
def predicted():
    """A function: predicted(tile, sky, centre) -> visibilities [baseline, time, channel, 2, 2]."""
    return predicted_by_psv


@pytest.fixture
def observe():
    """A function that fills a column with what antennas with given Jones matrices see.

    observe(path, sky, centre, jones, noise_jy=0, flag=None, column="DATA", **rows): jones(antenna, patch, time_s,
    frequency_hz) -> [time, channel, 2, 2], patch None for the whole sky; noise_jy: standard deviation of real and
    imaginary parts; flag: bool [baseline, time, channel] or [baseline, time, channel, 2, 2]. Returns the noiseless
    visibilities.
    """

    def fill(path, sky, centre, jones, *, noise_jy=0.0, flag=None, column="DATA", seed=0, **rows):
        (tile,) = rt.ms.tiles(path, [], time_slots=10000, **rows)
        axes = (tile["time_s"], tile["frequency_hz"])
        is_circular = rt.ms.CORRELATION_NAMES[tile["correlation_type"][0]] in ("RR", "RL", "LR", "LL")
        to_feeds = np.array([[1, 1j], [1, -1j]]) / np.sqrt(2) if is_circular else np.eye(2)
        total = np.zeros((*tile["row"].shape, len(axes[1]), 2, 2), complex)
        for patch in sky.patches or [None]:
            seen = to_feeds @ predicted_by_psv(tile, sky if patch is None else sky.select(patches=[patch]), centre)
            seen = seen @ to_feeds.conj().T
            for k, (p, q) in enumerate(tile["baselines"]):
                left, right = (np.eye(2) if patch is None else jones(a, patch, *axes) for a in (p, q))
                total[k] += left @ seen[k] @ np.conj(np.swapaxes(right, -1, -2))
        for k, (p, q) in enumerate(tile["baselines"]):
            left, right = (jones(a, None, *axes) for a in (p, q))
            total[k] = left @ total[k] @ np.conj(np.swapaxes(right, -1, -2))
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=(2, *total.shape)) * noise_jy
        write_column(path, tile, total + noise[0] + 1j * noise[1], column, flag, rows)
        return total

    return fill


@pytest.fixture
def planted(tmp_path, observe):
    """planted(jones, sky, of_patch, ...): the path of a Measurement Set of data that antennas with jones(antenna) and
    of_patch(antenna, patch), both as [time, channel, 2, 2] or what becomes that if repeated, see. `slots` of `slot_s`
    seconds, `channels` of `width_hz` around `middle_hz`; noise, flags and seed as of `observe`; `how`: as of
    `rt.ms.create`."""

    def plant(
        jones,
        sky=SKY,
        of_patch=lambda *_: np.eye(2),
        *,
        telescope="kat-7",
        centre_rad=CENTRE,
        slots=N_TIME,
        slot_s=10.0,
        channels=N_CHANNEL,
        middle_hz=1.3e9,
        width_hz=2e6,
        noise_jy=1.0,
        flag=None,
        seed=0,
        **how,
    ):
        path = str(tmp_path / "a.ms")
        bands = rt.ms.Band.regular(middle_hz, width_hz * channels, channels)
        times = {"duration_s": slot_s * slots, "integration_s": slot_s}
        rt.ms.create(path, telescope, phase_centre_rad=centre_rad, bands=bands, overwrite=True, **times, **how)

        def seen(antenna, patch, time_s, frequency_hz):
            own = jones(antenna) if patch is None else of_patch(antenna, patch)
            return np.broadcast_to(own, (slots, channels, 2, 2))

        observe(path, sky, centre_rad, seen, noise_jy=noise_jy, flag=flag, seed=seed)
        return path

    return plant


@pytest.fixture
def solved(tmp_path, planted):
    """solved(terms, jones, sky, of_patch, ...): the report, the solutions and the file, of data as of `planted` and
    its options. `model`: the sky that is fitted, if it is another; `options`: of the calibration."""

    def solve(terms, jones, sky=SKY, of_patch=lambda *_: np.eye(2), *, model=None, options=None, **data):
        path, out = planted(jones, sky, of_patch, **data), tmp_path / "sol.h5"
        chosen = CalibrationOptions(**{"overwrite": True, "reference": "ANT-0", **(options or {})})
        report = calibration.calibrate(path, model or sky, parse_terms(terms), out, chosen)
        return report, report.solutions[0], out

    return solve
