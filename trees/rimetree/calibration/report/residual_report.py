"""What residuals say of a calibration, as text and as JSON: how much is left, against what noise, and where there is no
signal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ...some_names import some_names
from .powers import Powers
from .residual_data import GroupResiduals

_SIGNIFICANT = 5.0  # standard deviations of the power that a model explains
_FEW = 0.1  # of what the model explains of others in the median
_MOST_NAMED = 12


@dataclass(frozen=True)
class WithoutSignal:
    """What the model with its solutions explains nothing of, or much less than of others: `windows`: (field, window),
    `antennas`: names, `times`: (field, window, MJD in seconds), `empty`: names of antennas without any good data."""

    windows: list[tuple[int, tuple[int, ...]]]
    antennas: list[str]
    times: list[tuple[int, tuple[int, ...], float]]
    empty: list[str]


@checked
def without_signal(found: Sequence[GroupResiduals]) -> WithoutSignal:
    """Windows, antennas and times of parallel hands in which the model explains less than 5 standard deviations of the
    power, or less than a tenth of what it explains of the others in the median. Antennas and times are those of windows
    with signal, if there are any."""
    windows = _weak([_total(one.of_correlations, one.parallel) for one in found])
    told = [one for one, weak in zip(found, windows, strict=True) if not weak] or list(found)
    names = list(dict.fromkeys(name for one in found for name in _antenna_names(one)))
    of_antennas = {name: [] for name in names}
    good = dict.fromkeys(names, 0)
    for one in found:
        for k, name in enumerate(_antenna_names(one)):
            own = _total(one.of_antennas.at(k), one.parallel)
            if one in told:
                of_antennas[name].append(own)
            good[name] += own[2] + one.missing[k]
    sums = [tuple(np.sum(of_antennas[name] or [(0.0, 0.0, 0)], axis=0)) for name in names]
    weak_antennas = [name for name, weak in zip(names, _weak(sums), strict=True) if weak]
    times = []
    for one in told:
        each = [_total(one.of_times.at(t), one.parallel) for t in range(len(one.time_s))]
        times += [
            (one.group.field_id, one.group.data_desc_ids, float(t))
            for t, weak in zip(one.time_s, _weak(each), strict=True)
            if weak
        ]
    return WithoutSignal(
        [(one.group.field_id, one.group.data_desc_ids) for one, weak in zip(found, windows, strict=True) if weak],
        weak_antennas,
        times,
        [name for name in names if good[name] == 0],
    )


def _antenna_names(one: GroupResiduals) -> list[str]:
    return [one.group.antenna_names[antenna] for antenna in one.group.antennas]


def _total(powers: Powers, parallel: Sequence[int]) -> tuple[float, float, int]:
    """(data, residual, count) of the parallel hands."""
    return float(powers.data[parallel].sum()), float(powers.residual[parallel].sum()), int(powers.count[parallel].sum())


def _weak(sums: Iterable[tuple[float, float, int]]) -> list[bool]:
    """Of each (data, residual, number): whether the model explains too little of it; False where there are no data."""
    sums = list(sums)
    explained = [1 - after / data if data > 0 else math.nan for data, after, _ in sums]
    usual = float(np.nanmedian(explained)) if not all(map(math.isnan, explained)) else math.nan
    weak = []
    for (data, after, count), share in zip(sums, explained, strict=True):
        if not data > 0:
            weak.append(False)
            continue
        # The mean square of n complex numbers of normal noise has a relative deviation of 1/sqrt(n).
        significant = (data - after) * math.sqrt(count) > _SIGNIFICANT * after
        weak.append(not significant or share < _FEW * usual)
    return weak


@checked
def residual_json(found: Sequence[GroupResiduals]) -> dict:
    """All figures as JSON types; powers over that of the data, times in MJD seconds, frequencies in Hz. What is not
    known is None."""
    quiet = without_signal(found)
    return {
        "windows": [_group_json(one) for one in found],
        "without_signal": {
            "windows": [{"field": f, "window": list(w)} for f, w in quiet.windows],
            "antennas": quiet.antennas,
            "times": [{"field": f, "window": list(w), "time_s": t} for f, w, t in quiet.times],
            "antennas_without_data": quiet.empty,
        },
    }


def _group_json(one: GroupResiduals) -> dict:
    power = one.of_correlations
    mean = np.divide(power.data, power.count, out=np.full(len(power.data), np.nan), where=power.count > 0)

    def over_data(noise: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.divide(noise, mean, out=np.full(len(mean), np.nan), where=mean > 0)

    by_channels, by_times = over_data(one.noise_by_channels), over_data(one.noise_by_times)
    correlations = {
        name: {
            "visibilities": int(power.count[k]),
            "data_power": _number(mean[k]),
            "residual_before": _number(one.left_before[k]),
            "residual_after": _number(power.left[k]),
            "noise_by_channels": _number(by_channels[k]),
            "noise_by_times": _number(by_times[k]),
        }
        for k, name in enumerate(one.correlations)
    }

    def by(powers: Powers) -> dict:
        return {name: [_number(x) for x in powers.left[:, k]] for k, name in enumerate(one.correlations)}

    return {
        "field": one.group.field_id,
        "field_name": one.group.field_name,
        "window": list(one.group.data_desc_ids),
        "data_over_model_before": _number(one.factor),
        "correlations": correlations,
        "antennas": {
            "name": _antenna_names(one),
            "residual_after": by(one.of_antennas),
            "without_solution": one.missing.tolist(),
            "flagged": one.flagged.tolist(),
        },
        "times": {"time_s": one.time_s.tolist(), "residual_after": by(one.of_times)},
        "channels": {"frequency_hz": np.asarray(one.frequency_hz).tolist(), "residual_after": by(one.of_channels)},
        "directions": {
            name: {"left_before": _number(a), "left_after": _number(b), "share_of_data": _number(c)}
            for name, (a, b, c) in one.directions.items()
        },
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@checked
def residual_rows(found: Sequence[GroupResiduals]) -> tuple[list[str], list[list[str]]]:
    """(headers, rows) of a table: a row for each field, window and correlation."""
    headers = ["field", "window", "corr", "visibilities", "residual/data before", "after", "noise/data", "after/noise"]
    rows = []
    for one in found:
        power, noise = one.of_correlations, one.noise
        for k, name in enumerate(one.correlations):
            ratio = power.left[k] / noise[k] if noise[k] > 0 else math.nan
            cells = [_text(x) for x in (one.left_before[k], power.left[k], noise[k], ratio)]
            window = "+".join(map(str, one.group.data_desc_ids))
            rows.append([str(one.group.field_id), window, name, str(power.count[k]), *cells])
    return headers, rows


@checked
def direction_rows(found: Sequence[GroupResiduals]) -> tuple[list[str], list[list[str]]]:
    """(headers, rows): a row for each field, window and direction; no rows where no direction has a name."""
    headers = ["field", "window", "direction", "power/data", "left before", "left after"]
    rows = [
        [
            str(one.group.field_id),
            "+".join(map(str, one.group.data_desc_ids)),
            name,
            *map(_text, (share, before, after)),
        ]
        for one in found
        for name, (before, after, share) in one.directions.items()
    ]
    return headers, rows


@checked
def worst_antennas(found: Sequence[GroupResiduals], most: int = 8) -> list[tuple[str, float]]:
    """(name, residual over data power in parallel hands) of the antennas of which most is left."""
    sums: dict[str, NDArray[np.float64]] = {}
    for one in found:
        for k, name in enumerate(_antenna_names(one)):
            own = [getattr(one.of_antennas, x)[k][one.parallel].sum() for x in ("residual", "data")]
            sums[name] = sums.get(name, np.zeros(2)) + own
    left = [(name, float(after / data)) for name, (after, data) in sums.items() if data > 0]
    return sorted(left, key=lambda item: -item[1])[:most]


def _text(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"


@checked
def signal_lines(found: Sequence[GroupResiduals]) -> list[str]:
    """What is without signal, in lines of text; none where everything has some."""
    quiet = without_signal(found)
    lines = []
    for what, names in (
        ("windows", [f"field {f} window {'+'.join(map(str, w))}" for f, w in quiet.windows]),
        ("antennas", quiet.antennas),
        ("times", [f"field {f} window {'+'.join(map(str, w))} {_utc(t)}" for f, w, t in quiet.times]),
    ):
        if names:
            lines.append(f"{what} without signal: {some_names(names, _MOST_NAMED)}")
    if quiet.empty:
        lines.append(f"antennas without good data: {some_names(quiet.empty, _MOST_NAMED)}")
    return lines


def _utc(time_s: float) -> str:
    return str(np.datetime64("1858-11-17T00:00:00") + np.timedelta64(round(time_s), "s"))
