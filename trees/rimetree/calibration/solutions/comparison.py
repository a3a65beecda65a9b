"""How far solutions are from others, as from the truth of a simulation.

What data tell of Jones terms is J_p X J_q^H on their baselines: a phase that all antennas have in common, or a factor
that terms exchange, changes nothing there. So that is what is compared, for X = 1: what visibilities of an unpolarised
source of 1 Jy in a direction would be off by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arguments import checked
from ..errors import CalibrationError
from .solutions import WINDOWS, Solutions

_MOST_TIMES, _MOST_FREQUENCIES = 256, 64


@dataclass(frozen=True)
class SolutionDifference:
    """Of one solution set and direction ("" for the whole sky).

    `difference`: root mean square of J_p J_q^H - T_p T_q^H over baselines, times, frequencies and elements, relative to
    that of the true T_p T_q^H; `largest`: the largest of them, likewise; `antennas`: {name: `difference` on its
    baselines}; `missing`: part of the cells of baselines that have no solution in one or the other, and do not count;
    `time_s`, `frequency_hz`: where it was looked.
    """

    name: str
    direction: str
    difference: float
    largest: float
    antennas: dict[str, float]
    missing: float
    time_s: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]


@checked
def compare_solutions(
    true: Sequence[Solutions], found: Sequence[Solutions], *, method: str = "nearest"
) -> list[SolutionDifference]:
    """Compare each of the true solution sets, in all its directions, with that of the nearest frequencies.

    `method`: between solutions, "nearest" or "linear". Compared are at most 256 times and 64 frequencies at which
    either has solutions, and both have some near. Raises `CalibrationError` where they have no two antennas, or no
    times, in common, and where feeds differ.
    """
    if not true or not found:
        raise CalibrationError("there are no solutions to compare")
    compared = []
    for own in true:
        other = min(found, key=lambda one: abs(_middle_hz(one) - _middle_hz(own)))
        if own.feed != other.feed:
            raise CalibrationError(f"the one are of {own.feed} feeds, the others of {other.feed} feeds")
        directions = list(dict.fromkeys([*own.directions, *other.directions])) or [""]
        compared += [_compared(own, other, direction, method) for direction in directions]
    return compared


def _compared(true: Solutions, found: Solutions, direction: str, method: str) -> SolutionDifference:
    known = direction or None
    antennas = [name for name in _antennas(true) if true.knows(name, known) and found.knows(name, known)]
    if len(antennas) < 2:
        raise CalibrationError("they have no two antennas in common, by name")
    time_s, frequency_hz = _times(true, found), _frequencies(true, found)
    n, pair = len(antennas), ~np.eye(len(antennas), dtype=bool)
    error, power, count = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n), int)
    largest = 0.0
    for at in time_s:  # one by one: matrices of all baselines are many
        sides = []
        for one in (true, found):
            jones, bad = one.jones_of(antennas, np.array([at]), frequency_hz, direction=known, method=method)
            sides.append((np.einsum("fpij,fqkj->fpqik", jones[0], jones[0].conj()), bad[0].any(axis=-1)))
        (wanted, lacks), (got, lacks_too) = sides
        there = ~(lacks | lacks_too)
        good = there[:, :, None] & there[:, None, :] & pair
        off = np.where(good, (np.abs(got - wanted) ** 2).sum(axis=(-2, -1)), 0.0)
        error += off.sum(axis=0)
        power += np.where(good, (np.abs(wanted) ** 2).sum(axis=(-2, -1)), 0.0).sum(axis=0)
        count += good.sum(axis=0)
        largest = max(largest, float(off.max(initial=0.0)))
    total = count.sum()
    mean = power.sum() / total if total else np.nan
    per_antenna = np.sqrt(
        np.divide(error.sum(axis=1), power.sum(axis=1), out=np.full(n, np.nan), where=power.any(axis=1))
    )
    return SolutionDifference(
        true.name,
        direction,
        float(np.sqrt(error.sum() / power.sum())) if power.any() else float("nan"),
        float(np.sqrt(largest / mean)) if total else float("nan"),
        dict(zip(antennas, per_antenna.tolist(), strict=True)),
        float(1 - total / (n * (n - 1) * len(time_s) * len(frequency_hz))),
        time_s,
        frequency_hz,
    )


def _antennas(solutions: Solutions) -> list[str]:
    return list(dict.fromkeys(name for term in solutions.terms for name in term.antennas))


def _times(true: Solutions, found: Solutions) -> NDArray[np.float64]:
    """Middles of intervals of either that both have some around, or, where they have one each, of the true."""
    spans = [
        (
            min((t.time_s - t.time_width_s / 2).min() for t in one.terms),
            max((t.time_s + t.time_width_s / 2).max() for t in one.terms),
        )
        for one in (true, found)
    ]
    low, high = max(span[0] for span in spans), min(span[1] for span in spans)
    times = np.unique(np.concatenate([term.time_s for one in (true, found) for term in one.terms]))
    times = times[(low <= times) & (times <= high)]
    if not len(times):
        raise CalibrationError("they have no times in common")
    return _some(times, _MOST_TIMES)


def _frequencies(true: Solutions, found: Solutions) -> NDArray[np.float64]:
    """Of intervals of the true ones, and the ends of their window; of the others where these have none."""
    for one in (true, found):
        own = [term.frequency_hz for term in one.terms]
        own += [
            np.array([float(edge) for edge in band.split("~")]) for band in str(one.provenance.get(WINDOWS, "")).split()
        ]
        every = np.unique(np.concatenate(own))
        if (every > 0).any():
            return _some(every[every > 0], _MOST_FREQUENCIES)
    raise CalibrationError("neither says of which frequencies it is")


def _some(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    return values[np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))]


def _middle_hz(solutions: Solutions) -> float:
    every = np.concatenate([term.frequency_hz for term in solutions.terms])
    every = every[every > 0]
    return float(every.mean()) if len(every) else 0.0
