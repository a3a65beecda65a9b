"""Averaging on reading by baseline: each over as many time slots and channels as lose at most a stated part of the
amplitude of a source at a stated distance from the phase centre, and never over the ends of solution intervals.

A baseline b sees a source at direction cosines (l, m, n) turn by 2 pi nu/c (db/dt . (l, m, n - 1)) per second and by
2 pi/c (b . (l, m, n - 1)) per Hz. Of all sources at a distance theta from the phase centre none turns faster than with
sin(theta) |(u, v)| + (1 - cos(theta)) |w|. The mean over N cells, each turned by phi against the one before, has the
amplitude D = sin(N phi/2) / (N sin(phi/2)) of one of them (Bridle & Schwab 1999, ASP 180, chapter 18); what is lost is
1 - D_time D_frequency, at the highest frequency of the band. What cells as they are stored have lost before does not
count. The model is smeared over averaged cells as the data are, so that this costs signal, and not accuracy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..._core import SPEED_OF_LIGHT_M_S
from ...directions import angles_from
from ...ms import OpenSet, sample_coordinates, without_averaging
from ..errors import CalibrationError
from ..plan.averaged_like import AveragedLike, BaselineAveraging
from ..plan.held_edges import HeldEdges
from ..plan.planning import CalibrationOptions, GroupPlan
from ..terms.kinds import FREQUENCY_QUANTITIES, TIME_QUANTITIES

Float64Array = NDArray[np.float64]

_SAMPLED_SLOTS = 512  # between which UVW turn by little
_MOST_SLOTS = 16  # that are averaged, so that tiles may be short; more would save next to nothing
_MOST_KINDS = 8  # of averaging: data are looked at once for each
_SMALL = 0.005  # of the cells: so many more are made for a kind less
_FINE = 1.3  # ratio of two numbers of channels that are tried
_GAP = 1.5  # as cells that are averaged on reading


def cells_averaged(plan: GroupPlan, slot_s: Float64Array, tile: dict) -> float:
    """How many cells, as they are stored, one of a tile stands for in the mean, where baselines are averaged by their
    loss (else 1); `slot_s`: of the set."""
    if plan.averaging is None:
        return 1.0
    times, width = tile["time_s"], tile["interval_s"]
    stored = (slot_s >= times[0] - 0.5 * width[0]) & (slot_s <= times[-1] + 0.5 * width[-1])
    channels = len(plan.bands[int(tile["data_desc_id"])][0])
    return max(1, int(stored.sum())) * channels / (len(times) * len(tile["frequency_hz"]))


def baseline_averaging(
    opened: OpenSet, plan: GroupPlan, options: CalibrationOptions, radius_rad: float, held: HeldEdges
) -> BaselineAveraging:
    """How the baselines of a plan are averaged for `options.average_loss` at this distance from the phase centre."""
    kept = dict(held.moving)
    for term in plan.terms:
        if FREQUENCY_QUANTITIES & set(term.kind.quantities):
            kept["channels"] = term.name
        if TIME_QUANTITIES & set(term.kind.quantities):
            kept["time"] = term.name
    slots, bands = [chunk.slot_s for chunk in plan.chunks], [frequency for frequency, _ in plan.bands.values()]
    times = _Cuts(slots, _time_edges(plan, held), _only_one if "time" in kept else _numbers_of_slots)
    channels = _Cuts(bands, _frequency_edges(plan, held), _only_one if "channels" in kept else _numbers_of_channels)
    pairs = list(plan.group.baselines)
    per_s, per_hz = _turns(opened, plan, radius_rad)
    left_by_time = _left(per_s * times.step, times.factors, times.longest)
    left_by_channels = _left(per_hz * channels.step, channels.factors, channels.longest)
    cells = np.outer(times.cells, channels.cells)
    best = np.zeros(len(pairs), np.intp)  # place in `cells`; 0: as they are stored
    for place in np.argsort(cells, axis=None, kind="stable")[::-1]:
        t, f = np.unravel_index(place, cells.shape)
        best[1 - left_by_time[:, t] * left_by_channels[:, f] <= options.average_loss] = place
    chosen = _few(best, cells)
    t, f = np.unravel_index(chosen, cells.shape)
    lost = 1 - left_by_time[np.arange(len(pairs)), t] * left_by_channels[np.arange(len(pairs)), f]
    kinds = []
    for place in sorted(np.unique(chosen), key=lambda one: -cells.ravel()[one]):
        t, f = np.unravel_index(place, cells.shape)
        own = np.flatnonzero(chosen == place)
        some = [pairs[k] for k in own]
        kinds.append(AveragedLike(int(times.factors[t]), int(channels.factors[f]), some, float(lost[own].max())))
    return BaselineAveraging(
        kinds,
        options.average_loss,
        radius_rad,
        float(lost.mean()) if len(lost) else 0.0,
        int(cells[0, 0]) * len(pairs),
        int(cells.ravel()[chosen].sum()),
        times.edges,
        channels.edges,
        kept,
    )


def _time_edges(plan: GroupPlan, held: HeldEdges) -> Float64Array:
    inner = [axis.edges[1:-1] for chunk in plan.chunks for axis in chunk.times.values()]
    between = [0.5 * (one.slot_s[-1] + other.slot_s[0]) for one, other in itertools.pairwise(plan.chunks)]
    return np.unique(np.concatenate([*inner, between, held.time_s]))


def _frequency_edges(plan: GroupPlan, held: HeldEdges) -> Float64Array:
    inner = [axis.edges[1:-1] for axis in plan.frequencies.values()]
    for frequency_hz, chosen in plan.bands.values():  # channels between chosen ones are no data
        inner.append((0.5 * (frequency_hz[1:] + frequency_hz[:-1]))[chosen[1:] != chosen[:-1]])
    return np.unique(np.concatenate([*inner, held.frequency_hz]))


class _Cuts:
    """An axis of several stretches of cells, each cut at edges and gaps.

    `factors`: over how many cells may be averaged, 1 first; `cells`: of each, how many that leaves; `longest`: cells
    between cuts; `step`: largest of the usual distances of cells, in the unit of the axis.
    """

    def __init__(self, stretches: Sequence[Float64Array], edges: Float64Array, factors: Callable[..., list[int]]):
        self.edges = edges
        steps = [np.abs(np.diff(one)) for one in stretches]
        self.step = max((float(np.median(one)) for one in steps if len(one)), default=0.0)
        runs: list[int] = []
        for centre, step in zip(stretches, steps, strict=True):
            inside = np.searchsorted(edges, centre, side="right")
            cut = (np.diff(inside) != 0) | (step > _GAP * step.min(initial=np.inf))
            runs += np.diff([0, *(np.flatnonzero(cut) + 1), len(centre)]).tolist()
        lengths, counts = np.unique(runs, return_counts=True)
        self.longest = int(lengths[-1])
        self.factors = np.array(factors(lengths, counts))
        self.cells = np.array([int((-(-lengths // f) * counts).sum()) for f in self.factors])


def _only_one(lengths: NDArray[np.intp], counts: NDArray[np.intp]) -> list[int]:
    return [1]


def _numbers_of_slots(lengths: NDArray[np.intp], counts: NDArray[np.intp]) -> list[int]:
    """Over how many slots may be averaged in so many stretches of such lengths."""
    longest = int(lengths[-1])
    if longest <= _MOST_SLOTS:
        return sorted({-(-longest // k) for k in range(1, longest + 1)})
    return [one for one in _powers(longest) if one <= _MOST_SLOTS]


def _numbers_of_channels(lengths: NDArray[np.intp], counts: NDArray[np.intp]) -> list[int]:
    """Over how many channels: parts of the usual length, if there are some, for a model is predicted several times as
    fast on channels that are regular."""
    usual = int(lengths[np.argmax(counts * lengths)])
    found = [1]
    for one in (one for one in range(2, usual + 1) if usual % one == 0):
        if one >= _FINE * found[-1] or one == usual:
            found.append(one)
    few = len(found) < 0.9 * math.log2(usual)  # as of prime numbers
    return sorted({*_powers(usual), usual}) if few else found


def _powers(most: int) -> list[int]:
    return [1 << k for k in range(most.bit_length())]


def _turns(opened: OpenSet, plan: GroupPlan, radius_rad: float) -> tuple[Float64Array, Float64Array]:
    """The largest turns of a source at a distance: [baseline] radians per second, and per Hz."""
    highest_hz = max(float(frequency.max()) for frequency, _ in plan.bands.values())
    place = {pair: k for k, pair in enumerate(plan.group.baselines)}
    per_s, per_hz = np.zeros((2, len(place)))
    across, along = math.sin(min(radius_rad, math.pi / 2)), 1 - math.cos(radius_rad)
    # Any channel has the same UVW, and ranges of channels may be of one window only.
    whole = without_averaging(plan.group.selection) | {"channel_ranges": [], "frequency_ranges_hz": []}
    for tile in sample_coordinates(opened, _SAMPLED_SLOTS, **whole):
        own = np.array([place[pair] for pair in tile["baselines"]], dtype=np.intp)
        for largest, name, factor in ((per_hz, "uvw_m", 1.0), (per_s, "uvw_rate_m_s", highest_hz)):
            u, v, w = np.moveaxis(tile[name], -1, 0)
            path = np.where(tile["row"] >= 0, np.hypot(u, v) * across + np.abs(w) * along, 0.0)
            turn = 2 * math.pi / SPEED_OF_LIGHT_M_S * factor * np.nan_to_num(path, nan=0.0, posinf=0.0)
            np.maximum.at(largest, own, turn.max(axis=1))
    return per_s, per_hz


def _left(turn: Float64Array, factors: NDArray[np.intp], longest: int) -> Float64Array:
    """[baseline, factor] of the amplitude; 0 beyond the first zero."""
    n = np.minimum(factors, longest)[None, :]
    half = 0.5 * turn[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(half > 1e-9, np.sin(n * half) / (n * np.sin(half)), 1.0)
    return np.where(n == 1, 1.0, np.where(n * half < math.pi, ratio, 0.0))


def _few(best: NDArray[np.intp], cells: NDArray[np.intp]) -> NDArray[np.intp]:
    """A choice of averaging [baseline] with few kinds, near the best one: some baselines are averaged less."""
    chosen = best.copy()
    flat = cells.ravel()
    total = flat[chosen].sum()
    while True:
        present, counts = np.unique(chosen, return_counts=True)
        at = dict(zip(present.tolist(), counts.tolist(), strict=True))
        merges = []
        for one, other in itertools.permutations(at, 2):
            less = np.array(np.unravel_index(other, cells.shape)) <= np.array(np.unravel_index(one, cells.shape))
            if less.all():
                merges.append(((flat[other] - flat[one]) * at[one], one, other))
        if not merges:
            return chosen
        cost, one, other = min(merges)
        if len(at) <= _MOST_KINDS and cost > _SMALL * total:
            return chosen
        chosen[chosen == one] = other


def radius_of(model, plan: GroupPlan, options: CalibrationOptions) -> float:
    """Up to which distance from the phase centre (rad) sources count: as asked for, or the farthest of the sky model.
    Raises `CalibrationError` where nobody says."""
    if options.average_radius_rad is not None:
        return options.average_radius_rad
    sky = getattr(model, "sky", None)
    if sky is None:
        raise CalibrationError(
            "how far baselines can be averaged depends on how far sources are from the phase centre, and without a sky "
            "model nobody says: give that distance (--average-radius)"
        )
    centre_rad = options.phase_centre_rad or plan.group.phase_centre_rad
    return float(angles_from(centre_rad, sky.radec_rad).max(initial=0.0))
